// What is drawn as a table: for who does not see the graph, and for who wants to copy it.
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

export function DrawnList({ picture, view }: { picture: Picture; view: View }) {
  const [open, setOpen] = useState(false);
  const rows = open ? rowsOf(picture, view) : [];
  return (
    <details className="section" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What is drawn, as a table</summary>
      {open && (
        <DataTable<Row>
          name="lineage" rows={rows} empty="Nothing is drawn."
          columns={[
            { id: 'far', title: 'Where', value: ({ table, column }) => where(column?.distance ?? table.distance, table.kind), width: '9rem' },
            { id: 'name', title: 'Table or group', value: ({ table }) => table.name || table.namespace, width: 'minmax(14rem, 3fr)',
              show: ({ table }) => table.kind === 'table' ? <Link className="name" to={to.lineage({ namespace: table.namespace, dataset: table.name })}><bdi>{table.name}</bdi></Link>
                : <button type="button" onClick={() => view.openGroup(table.id)}><bdi>{table.name || table.namespace}</bdi></button> },
            { id: 'column', title: 'Column', value: ({ column }) => column?.name, width: 'minmax(10rem, 2fr)',
              show: ({ table, column }) => column && <Link className="name mono" to={to.lineage({ namespace: table.namespace, dataset: table.name, column: column.name })}><bdi>{column.name}</bdi></Link> },
            { id: 'way', title: 'Way', value: ({ column }) => way(column), width: '9rem' },
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
  return distance === 0 ? 'asked' : distance < 0 ? `feeds it, ${-distance}` : `made of it, ${distance}`;
}

/** Of the way, never of the column: a source may be plain text behind a step that masks. */
function way(column: PictureColumn | undefined): string {
  if (!column || column.subject) return '';
  return column.maskedOnTheWay ? MASKED_ON_THE_WAY : 'not masked';
}
