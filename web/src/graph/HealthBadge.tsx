// How a table of a graph fares: a sign on its box, told in words to who cannot see it; nothing where it is well or not known.
import { duration, time } from '../parts/format';
import { SIGNS, useFaring } from '../parts/health';
import type { PictureTable } from './picture';

export function HealthBadge({ table }: { table: PictureTable }) {
  return table.kind !== 'table' || table.change === 'removed' ? null : <Badge table={table} />;
}

function Badge({ table }: { table: PictureTable }) {
  const { data } = useFaring('dataset', table);
  if (!data) return null;
  const told = [data.reason, data.last_success && `last written ${time(data.last_success)} UTC`, data.last_run && `last run ${data.last_run.state}`].filter(Boolean).join('; ');
  const late = data.late_seconds === null ? '' : ` ${duration(data.late_seconds * 1_000)}`;
  return (
    <span className={`health-badge is-${data.status}`} title={`${data.status}: ${told}`}>
      <span aria-hidden="true">{SIGNS[data.status]}</span>
      <span className={data.status === 'ok' || data.status === 'unknown' ? 'sr' : ''}>{data.status}{late}</span>
      <span className="sr">: {told}</span>
    </span>
  );
}

export function HealthLegend() {
  return (
    <li>
      <span aria-hidden="true">{SIGNS.failed} {SIGNS.late} {SIGNS.stale} {SIGNS.ok} {SIGNS.unknown}</span> on a table, now: failed, late by its own rhythm, stale (not written since something upstream
      failed or was due), on time, not known
    </li>
  );
}
