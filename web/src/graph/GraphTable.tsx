// The content of the graph as a table, for screen readers and for copying.
import { useState } from 'react';
import { Link } from 'react-router';

import { DataTable } from '../parts/DataTable';
import { to } from '../parts/links';
import { MASKED_ON_THE_WAY, type Picture, type PictureColumn, type PictureTable } from './picture';
import type { View } from './view';

interface Row {
  table: PictureTable;
  column: PictureColumn | undefined;
}

export function GraphTable({ picture, view }: { picture: Picture; view: View }) {
  const [open, setOpen] = useState(false);
  const rows = open ? rowsOf(picture, view) : [];
  return (
    <details className="section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Graph as a table</summary>
      {open && (
        <DataTable<Row>
          name="lineage" rows={rows} empty="The graph is empty."
          columns={[
            { id: 'far', title: 'Position', value: ({ table, column }) => where(column?.distance ?? table.distance, table.kind), width: '9rem' },
            { id: 'name', title: 'Table or group', value: ({ table }) => table.name || table.namespace, width: 'minmax(14rem, 3fr)',
              show: ({ table }) => table.kind === 'table' ? <Link className="name" to={to.lineage({ namespace: table.namespace, dataset: table.name })}><bdi>{table.name}</bdi></Link>
                : <button type="button" onClick={() => view.openGroup(table.id)}><bdi>{table.name || table.namespace}</bdi></button> },
            { id: 'column', title: 'Column', value: ({ column }) => column?.name, width: 'minmax(10rem, 2fr)',
              show: ({ table, column }) => column && <Link className="name mono" to={to.lineage({ namespace: table.namespace, dataset: table.name, column: column.name })}><bdi>{column.name}</bdi></Link> },
            { id: 'way', title: 'Path', value: ({ column }) => way(column), width: '9rem' },
            { id: 'change', title: 'Change', value: ({ table, column }) => column?.change ?? table.change, width: '7rem' },
            { id: 'namespace', title: 'Namespace', value: ({ table }) => table.namespace, width: 'minmax(10rem, 2fr)' },
          ]}
        />
      )}
    </details>
  );
}

function rowsOf(picture: Picture, view: View): Row[] {
  return picture.tables.flatMap((table): Row[] =>
    view.column && table.columns.length ? table.columns.map((column) => ({ table, column })) : [{ table, column: undefined }],
  );
}

function where(distance: number, kind: PictureTable['kind']): string {
  if (kind === 'group') return 'group';
  return distance === 0 ? 'selected' : distance < 0 ? `upstream, ${-distance}` : `downstream, ${distance}`;
}

/** Whether the path masks values. It does not describe the column itself: the source of a masked path contains plain values. */
function way(column: PictureColumn | undefined): string {
  if (!column || column.subject) return '';
  return column.maskedOnTheWay ? MASKED_ON_THE_WAY : 'not masked';
}
