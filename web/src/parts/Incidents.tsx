// The incidents since yesterday: what failed, is late or broke, what it affects, and whom to contact.
import type { Schemas } from '../api/client';
import { ownPace, useQuestion } from '../api/hooks';
import { DataTable } from './DataTable';
import { count, time } from './format';
import { Chip, DatasetLink, JobLink, RunLink } from './Names';
import { Section } from './Page';
import { SIGNS } from './signs';
import { Answered, Empty } from './States';

type Incident = Schemas['Incident'];

const FRESH_MS = 30_000;
const NAMED = 3;

export function Incidents() {
  const query = useQuestion('incidents', { limit: 1_000 }, ownPace(FRESH_MS));
  return (
    <Section title="Incidents since yesterday">
      <Answered query={query}>
        {({ items, totalCount, truncated }) =>
          items.length === 0 ? <Empty>No incidents since yesterday.</Empty> : <List items={items} total={totalCount} truncated={truncated} />
        }
      </Answered>
    </Section>
  );
}

function List({ items, total, truncated }: { items: Incident[]; total: number; truncated: boolean }) {
  return (
    <DataTable
      name="incidents" rows={items} total={total} truncated={truncated} empty="No incidents since yesterday."
      columns={[
        { id: 'state', title: 'State', value: (row) => `${row.state} ${row.severity}`, width: '8rem', show: (row) => <State incident={row} /> },
        { id: 'kind', title: 'Kind', value: (row) => row.kind, width: '10.5rem' },
        { id: 'subject', title: 'Subject', value: (row) => row.subject.name || row.subject.namespace, width: 'minmax(10rem, 2fr)', show: (row) => <Subject subject={row.subject} /> },
        { id: 'error', title: 'What happened', value: errorText, width: 'minmax(14rem, 4fr)', show: (row) => <Happened incident={row} /> },
        { id: 'affected', title: 'Not up to date', value: (row) => row.affectedCount, width: 'minmax(9rem, 2fr)', show: (row) => <Affected incident={row} /> },
        { id: 'owners', title: 'Owners', value: (row) => row.owners.map(({ name }) => name).join(' '), width: 'minmax(7rem, 1fr)',
          show: (row) => row.owners.map((owner) => <bdi key={owner.name} className="chip" title={owner.type ?? ''}>{owner.name}</bdi>) },
        { id: 'opened', title: 'Since', value: (row) => row.opened, width: '12rem', show: (row) => time(row.opened) },
      ]}
    />
  );
}

/** The error of the cause. Without one, the summary without the affected datasets, which have a column of their own. */
function errorText({ error, summary }: Incident): string {
  return error ? error.message : summary.replace(/ Not up to date: .*$/s, '');
}

function State({ incident: { state, severity } }: { incident: Incident }) {
  if (state === 'resolved') return <Chip kind="complete">{`${SIGNS.ok} resolved`}</Chip>;
  return severity === 'error' ? <Chip kind="fail">{`${SIGNS.failed} open`}</Chip> : <Chip kind="late">{`${SIGNS.late} warning`}</Chip>;
}

function Subject({ subject }: { subject: Incident['subject'] }) {
  if (subject.kind === 'job') return <JobLink id={subject} />;
  if (subject.kind === 'namespace') return <bdi>{subject.namespace}</bdi>;
  return (
    <>
      <DatasetLink id={subject} />
      {subject.column && <> · <bdi className="mono">{subject.column}</bdi></>}
      {subject.test && <> · <bdi>{subject.test}</bdi></>}
    </>
  );
}

function Happened({ incident }: { incident: Incident }) {
  const [first] = incident.failures;
  return (
    <>
      <bdi title={incident.summary}>{errorText(incident)}</bdi>{' '}
      {first && <RunLink id={first.id} />}
      {incident.failureCount > 1 && ` and ${count(incident.failureCount - 1)} more failed`}
    </>
  );
}

function Affected({ incident: { affected, affectedCount } }: { incident: Incident }) {
  const named = affected.slice(0, NAMED);
  return (
    <>
      {count(affectedCount)}
      {named.map((each) => <span key={each.namespace + each.dataset}> <DatasetLink id={{ ...each, name: each.dataset }} /></span>)}
      {affectedCount > named.length && ' …'}
    </>
  );
}
