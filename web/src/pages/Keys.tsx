// Keys of producers and readers: list, create and revoke them.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';

import { part, request, type Schemas } from '../api/client';
import { queryClient, useQuestion } from '../api/hooks';
import { DataTable } from '../parts/DataTable';
import { time } from '../parts/format';
import { Page, Section } from '../parts/Page';
import { Answered, Failure } from '../parts/States';

const KEYS = '/api/headwater/v1/keys';
const ROLES = ['write', 'read', 'admin'];

const order = (path: string, query: object = {}) => request<Schemas['KeyMade']>(path, query, { method: 'POST' });
const again = () => queryClient.invalidateQueries();

export function Keys() {
  const keys = useQuestion('keys', {});
  const revoke = useMutation({ mutationFn: (id: string) => order(`${KEYS}/${part(id)}/revoke`), onSuccess: again });
  return (
    <Page title="Keys" hint="Headwater stores only hashes of keys and shows a key once, when you create it. Administrators see all keys; people who signed in see their own.">
      <Make />
      {revoke.error && <Failure error={revoke.error} />}
      <Answered query={keys}>
        {(answer) => (
          <DataTable<Schemas['KeyShown']>
            name="keys" rows={answer.items} empty="You have no keys."
            columns={[
              { id: 'name', title: 'Name', value: (row) => row.name, width: 'minmax(10rem, 2fr)' },
              { id: 'owner', title: 'Owner', value: (row) => row.owner, width: 'minmax(8rem, 1fr)',
                show: (row) => <bdi title={row.owner_subject === null ? 'Only administrators can revoke this key' : ['subject', row.owner_subject, row.owner_object_id && `object id ${row.owner_object_id}`].filter(Boolean).join(' ')}>{row.owner}</bdi> },
              { id: 'roles', title: 'Roles', value: (row) => row.roles.join(', '), width: '7rem' },
              { id: 'namespaces', title: 'Namespaces', value: (row) => row.namespaces.join(', ') || 'all', width: 'minmax(8rem, 1fr)' },
              { id: 'expires', title: 'Expires', value: (row) => (row.valid ? time(row.expires) : 'expired'), width: '11rem' },
              { id: 'used', title: 'Last use', value: (row) => time(row.last_used), width: '12rem' },
              { id: 'kept', title: 'Stored in', value: (row) => row.kept, width: '8rem' },
              { id: 'revoke', title: '', value: (row) => row.id, width: '7rem',
                show: (row) => row.id === '' ? null : <button type="button" className="quiet" disabled={revoke.isPending} onClick={() => revoke.mutate(row.id)}>Revoke<span className="sr"> {row.name} {row.id}</span></button> },
            ]}
          />
        )}
      </Answered>
    </Page>
  );
}

function Make() {
  const [name, setName] = useState('');
  const [role, setRole] = useState('read');
  const make = useMutation({ mutationFn: () => order(`${KEYS}/add`, { name, role }), onSuccess: again });
  return (
    <Section title="Create a key">
      <form onSubmit={(event) => { event.preventDefault(); make.mutate(); }}>
        <label>Name <input value={name} maxLength={99} onChange={(event) => setName(event.target.value)} /></label>{' '}
        <label>Role <select value={role} onChange={(event) => setRole(event.target.value)}>{ROLES.map((each) => <option key={each}>{each}</option>)}</select></label>{' '}
        <button type="submit" disabled={!name.trim() || make.isPending}>Create</button>
      </form>
      {make.error && <Failure error={make.error} />}
      {make.data && <p role="status">Copy this key now. Headwater cannot show it again: <code>{make.data.key}</code></p>}
    </Section>
  );
}
