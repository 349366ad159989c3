// How a box of a graph fares: a sign on it, told in words to who cannot see it; nothing where that is not known.
import { useContext } from 'react';

import { useFaring } from '../parts/health';
import { SIGNS } from '../parts/signs';
import { badgeOf, faresAs, GatheredContext, type Badge } from './badges';
import type { PictureTable } from './picture';

export function HealthBadge({ table }: { table: PictureTable }) {
  const kind = faresAs(table);
  const ofMany = useContext(GatheredContext).get(table.id);
  if (kind) return <OwnBadge kind={kind} table={table} />;
  return ofMany ? <Sign badge={ofMany} /> : null;
}

function OwnBadge({ kind, table }: { kind: 'dataset' | 'job'; table: PictureTable }) {
  const { data } = useFaring(kind, table);
  return data ? <Sign badge={badgeOf(data)} /> : null;
}

function Sign({ badge: { status, said, told } }: { badge: Badge }) {
  return (
    <span className={`health-badge is-${status}`} title={`${said || status}: ${told}`}>
      <span aria-hidden="true">{SIGNS[status]}</span>
      <span className={said ? '' : 'sr'}>{said || status}</span>
      <span className="sr">: {told}</span>
    </span>
  );
}

export function HealthLegend() {
  return (
    <li>
      <span aria-hidden="true">{SIGNS.failed} {SIGNS.late} {SIGNS.stale} {SIGNS.ok} {SIGNS.unknown}</span> on a box, now: failed, late by its own rhythm, stale (not written since something upstream
      failed or was due), on time, not known; on a group or a stack how many of it do not fare well
    </li>
  );
}
