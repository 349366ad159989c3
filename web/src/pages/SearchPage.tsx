import { Link } from 'react-router';

import { useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { time } from '../parts/format';
import { Page } from '../parts/Page';
import { Answered, Empty } from '../parts/States';
import { useAddressState } from '../parts/useAddressState';
import { address } from '../shell/found';

export function SearchPage() {
  const state = useAddressState();
  const q = state.get('q');
  const query = useQuestion('search', { q, limit: 60 }, { enabled: q !== '' });
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
      {q === '' ? <Empty>Type a part of a name.</Empty> : (
        <Answered query={query}>
          {(found) => (
            <DataTable
              name="found" rows={found.items} total={found.totalCount} truncated={found.truncated}
              empty="Nothing is called like this. Try fewer letters, or one word."
              columns={[
                { id: 'kind', title: 'Kind', value: (row) => row.kind, width: '6rem' },
                { id: 'name', title: 'Name', value: (row) => row.column ?? row.tag ?? row.name, width: 'minmax(10rem, 2fr)',
                  show: (row) => <Link to={address(row)} className="name"><bdi>{row.column ?? row.tag ?? row.name}</bdi></Link> },
                { id: 'in', title: 'In', value: (row) => (row.column || row.tag ? row.name : ''), width: 'minmax(10rem, 2fr)' },
                { id: 'namespace', title: 'Namespace', value: (row) => row.namespace, width: 'minmax(8rem, 2fr)' },
                { id: 'uses', title: 'Used by', value: (row) => row.uses, width: '6rem' },
                { id: 'seen', title: 'Last seen', value: (row) => time(row.last_seen), width: '11rem' },
              ]}
            />
          )}
        </Answered>
      )}
    </Page>
  );
}
