import { Link } from 'react-router';

import { time } from '../parts/format';
import { ListTable } from '../parts/ListTable';
import { Page } from '../parts/Page';
import { Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { address } from '../shell/found';

export function SearchPage() {
  const state = useAddressState();
  const q = state.get('q');
  return (
    <Page
      title="Search"
      tools={
        <input
          type="search" aria-label="Search for" placeholder="Jobs, datasets, columns, tags, aliases" value={q}
          onChange={(event) => state.set({ q: event.target.value }, true)}
        />
      }
    >
      {q === '' ? <Empty>Type part of a name.</Empty> : (
        <ListTable
          question="search" parameters={{ q }} usual="match" filtered={false} empty="No results. Try fewer letters, or one word."
          columns={[
            { id: 'kind', sort: 'kind', title: 'Kind', value: (row) => row.kind, width: '6rem' },
            { id: 'name', sort: 'name', title: 'Name', value: (row) => row.column ?? row.tag ?? row.display_name ?? row.name, width: 'minmax(10rem, 2fr)',
              show: (row) => <Link to={address(row)} className="name"><bdi>{row.column ?? row.tag ?? row.display_name ?? row.name}</bdi></Link> },
            { id: 'in', title: 'In', value: (row) => (row.column || row.tag ? (row.display_name ?? row.name) : ''), width: 'minmax(10rem, 2fr)' },
            { id: 'namespace', sort: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(8rem, 2fr)' },
            { id: 'uses', sort: 'uses', down: true, title: 'Used by', value: (row) => row.uses, width: '6rem' },
            { id: 'seen', sort: 'last_seen', down: true, title: 'Last seen', value: (row) => time(row.last_seen), width: '12rem' },
          ]}
        />
      )}
    </Page>
  );
}
