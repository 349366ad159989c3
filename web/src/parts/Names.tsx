// Names as links. `bdi` isolates them from the surrounding text, because a name may run right to left.
import { Link } from 'react-router';

import type { Id } from '../api/marquez';
import { shortName, to, type ColumnName } from './links';

/** A dataset by its display name or, without one, by the last parts of its canonical name. */
export function DatasetLink({ id, whole = false }: { id: Id & { display_name?: string | undefined }; whole?: boolean }) {
  return (
    <Link to={to.dataset(id)} title={`${id.namespace}/${id.name}`} className="name">
      <bdi>{id.display_name ?? (whole ? id.name : shortName(id.name))}</bdi>
    </Link>
  );
}

export function JobLink({ id }: { id: Id }) {
  return (
    <Link to={to.job(id)} title={`${id.namespace}/${id.name}`} className="name">
      <bdi>{id.name}</bdi>
    </Link>
  );
}

export function RunLink({ id }: { id: string }) {
  return (
    <Link to={to.run(id)} className="name mono" title={id}>
      <bdi>{/^[0-9a-f-]{36}$/i.test(id) ? `${id.slice(0, 13)}…` : id}</bdi>
    </Link>
  );
}

/** A column, linked to its page; a whole dataset, linked to its lineage. */
export function ColumnLink({ column }: { column: ColumnName }) {
  return (
    <Link to={column.column ? to.column(column) : to.lineage(column)} title={`${column.namespace}/${column.dataset}`} className="name">
      <bdi>{column.display_name ?? shortName(column.dataset)}</bdi>
      {column.column && <> · <bdi className="mono">{column.column}</bdi></>}
    </Link>
  );
}

export function Chip({ kind, children }: { kind: string; children: string }) {
  return <span className={`chip is-${kind.toLowerCase()}`}>{children}</span>;
}
