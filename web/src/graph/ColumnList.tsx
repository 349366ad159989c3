// All columns of a table, including those that its box does not draw.
import { Link } from 'react-router';

import { useAddress } from '../api/hooks';
import { marquez, type Dataset } from '../api/marquez';
import { DataTable } from '../parts/DataTable';
import { to } from '../parts/links';
import { Answered } from '../parts/States';
import { MASKED_ON_THE_WAY, type PictureTable } from './picture';

interface Row {
  name: string;
  type: string;
  way: string;
}

/** related: whether the graph shows the lineage of one column. If so, the columns on its path come first. */
export function ColumnList({ table, related }: { table: PictureTable; related: boolean }) {
  const { namespace, name } = table;
  const described = useAddress<Dataset>(marquez.dataset({ namespace, name }));
  const ways = new Map(table.columns.map((column) => [column.name.toLowerCase(), column.maskedOnTheWay ? MASKED_ON_THE_WAY : related ? 'related' : '']));
  return (
    <Answered query={described}>
      {({ fields }) => {
        const rows = fields.map((field): Row => ({ name: field.name, type: field.type ?? '', way: ways.get(field.name.toLowerCase()) ?? '' }));
        const known = new Set(fields.map((field) => field.name.toLowerCase()));
        const unlisted = table.columns.filter((column) => !known.has(column.name.toLowerCase())).map((column): Row => ({ name: column.name, type: '', way: ways.get(column.name.toLowerCase()) ?? '' }));
        const all = [...rows, ...unlisted];
        return (
          <DataTable<Row>
            name="table columns" rows={related ? [...all].sort((a, b) => Number(!a.way) - Number(!b.way)) : all} empty="No columns are known."
            columns={[
              { id: 'name', title: 'Column', value: (row) => row.name, width: 'minmax(8rem, 2fr)',
                show: (row) => <Link className="name mono" to={to.lineage({ namespace, dataset: name, column: row.name })}><bdi>{row.name}</bdi></Link> },
              { id: 'type', title: 'Type', value: (row) => row.type, width: 'minmax(4rem, 1fr)' },
              ...(related ? [{ id: 'way', title: 'Path', value: (row: Row) => row.way, width: '6rem' }] : []),
            ]}
          />
        );
      }}
    </Answered>
  );
}
