// The incidents since yesterday: what failed, is late or broke, what it affects, and whom to contact.
import { useState } from 'react';

import type { Schemas } from '../api/client';
import { ownPace, useQuestion } from '../api/hooks';
import { Badge, Button, EmptyState } from '../design/components';
import { Icon } from '../design/Icon';
import type { IconName } from '../design/icons';
import { DataTable } from './DataTable';
import { ago, count, time } from './format';
import { Chip, DatasetLink, JobLink, RunLink } from './Names';
import { Section } from './Page';
import { SIGNS } from './signs';
import { Answered } from './States';

type Incident = Schemas['Incident'];

const FRESH_MS = 30_000;
const NAMED = 3;
/** The incidents that are shown before the table of all incidents. */
const FIRST = 6;

export function Incidents() {
  const query = useQuestion('incidents', { limit: 1_000 }, ownPace(FRESH_MS));
  const [isTable, showTable] = useState(false);
  const all = query.data?.totalCount ?? 0;
  return (
    <Section title="Incidents since yesterday" tools={all > 0 && <Button look="quiet" isPressed={isTable} onClick={() => showTable(!isTable)}>{all > FIRST ? `All ${count(all)} as a table` : 'As a table'}</Button>}>
      <Answered query={query}>
        {({ items, totalCount, truncated }) =>
          items.length === 0 ? <EmptyState icon="ok" title="No incidents since yesterday.">Failed runs and tests, late or emptied tables, schema changes and silent producers appear here.</EmptyState>
            : isTable ? <Table items={items} total={totalCount} truncated={truncated} />
              : <ul className="incidents">{items.slice(0, FIRST).map((each) => <Row key={each.id} incident={each} />)}</ul>
        }
      </Answered>
    </Section>
  );
}

const ICONS: readonly (readonly [kind: string, icon: IconName])[] = [
  ['test', 'test'], ['dataset.late', 'late'], ['producer', 'unreported'], ['schema', 'changes'], ['run', 'failed'],
]; // prettier-ignore

const WORDS: Readonly<Record<Incident['kind'], string>> = {
  'run.failed': 'Run failed', 'run.lost': 'Run lost', 'test.failed': 'Test failed', 'dataset.late': 'Late', 'dataset.emptied': 'Emptied', 'producer.silent': 'No events',
  'schema.changed': 'Schema changed', 'volume.unusual': 'Unusual volume',
}; // prettier-ignore

/** The kind of an incident in words: `Run failed` for `run.failed`. */
const kindText = (kind: Incident['kind']): string => WORDS[kind];

function Row({ incident }: { incident: Incident }) {
  const { kind, state, severity, subject, opened, owners, affectedCount } = incident;
  const tone = state === 'resolved' ? 'good' : severity === 'error' ? 'bad' : 'warn';
  return (
    <li className={`incident is-${tone}`}>
      <Icon name={ICONS.find(([start]) => kind.startsWith(start))?.[1] ?? 'warning'} size={18} />
      <div className="incident-text">
        <p className="incident-head"><Subject subject={subject} /> <State incident={incident} /></p>
        <p><span className="strong">{kindText(kind)}:</span> <Happened incident={incident} /></p>
        {affectedCount > 0 && <p className="dim">Not up to date: <Affected incident={incident} /></p>}
      </div>
      <div className="incident-end">
        <time dateTime={opened} title={`${time(opened)} UTC`}>{ago(opened)}</time>
        {owners.map((owner) => <Badge key={owner.name} icon="owner" title={owner.type ?? 'owner'}>{owner.name}</Badge>)}
      </div>
    </li>
  );
}

function Table({ items, total, truncated }: { items: Incident[]; total: number; truncated: boolean }) {
  return (
    <DataTable
      name="incidents" rows={items} total={total} truncated={truncated} empty="No incidents since yesterday."
      columns={[
        { id: 'state', title: 'State', value: (row) => `${row.state} ${row.severity}`, width: '8rem', show: (row) => <State incident={row} /> },
        { id: 'kind', title: 'Kind', value: (row) => row.kind, width: '9rem', show: (row) => kindText(row.kind) },
        { id: 'subject', title: 'Subject', value: (row) => row.subject.name || row.subject.namespace, width: 'minmax(10rem, 2fr)', show: (row) => <Subject subject={row.subject} /> },
        { id: 'error', title: 'What happened', value: errorText, width: 'minmax(14rem, 4fr)', show: (row) => <Happened incident={row} /> },
        { id: 'affected', title: 'Not up to date', value: (row) => row.affectedCount, width: 'minmax(9rem, 2fr)', show: (row) => <><span>{count(row.affectedCount)}</span> <Affected incident={row} /></> },
        { id: 'owners', title: 'Owners', value: (row) => row.owners.map(({ name }) => name).join(' '), width: 'minmax(7rem, 1fr)',
          show: (row) => row.owners.map((owner) => <bdi key={owner.name} className="chip" title={owner.type ?? ''}>{owner.name}</bdi>) },
        { id: 'opened', title: 'Since', value: (row) => row.opened, width: '12rem', show: (row) => time(row.opened) },
      ]}
    />
  );
}

/** The error of the cause. Without one, the summary without the affected datasets, which are listed separately. */
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
      {named.map((each, at) => <span key={each.namespace + each.dataset}>{at > 0 && ', '}<DatasetLink id={{ ...each, name: each.dataset }} /></span>)}
      {affectedCount > named.length && ` and ${count(affectedCount - named.length)} more`}
    </>
  );
}
