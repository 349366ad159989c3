// The health badge of a box: a symbol, with text for screen readers. Boxes with unknown health have none.
import { useContext } from 'react';

import { useBoxHealth } from '../parts/health';
import { SIGNS } from '../parts/signs';
import { badgeOf, healthKind, GroupBadgesContext, type Badge } from './badges';
import type { PictureTable } from './picture';

export function HealthBadge({ table }: { table: PictureTable }) {
  const kind = healthKind(table);
  const groupBadges = useContext(GroupBadgesContext).get(table.id);
  if (kind) return <OwnBadge kind={kind} table={table} />;
  return groupBadges ? <Sign badge={groupBadges} /> : null;
}

function OwnBadge({ kind, table }: { kind: 'dataset' | 'job'; table: PictureTable }) {
  const { data } = useBoxHealth(kind, table);
  return data && data.status !== 'unknown' ? <Sign badge={badgeOf(data)} /> : null;
}

function Sign({ badge: { status, label, detail } }: { badge: Badge }) {
  return (
    <span className={`health-badge is-${status}`} title={`${label || status}: ${detail}`}>
      <span aria-hidden="true">{SIGNS[status]}</span>
      <span className={label ? '' : 'sr'}>{label || status}</span>
      <span className="sr">: {detail}</span>
    </span>
  );
}

export function HealthLegend() {
  return (
    <li>
      <span aria-hidden="true">{SIGNS.failed} {SIGNS.late} {SIGNS.stale} {SIGNS.ok}</span> current health of a box: failed, late, stale (not written since something upstream
      failed or was due), on time; a box without a sign has no known health; on a group or a stack, the number of unhealthy members
    </li>
  );
}
