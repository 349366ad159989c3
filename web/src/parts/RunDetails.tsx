// What a run's events say beside lineage: who started it, as what, where its log is, how much it moved.
import { part, type Schemas } from '../api/client';
import { useAddress } from '../api/hooks';
import { DataTable } from './DataTable';
import { bytes, count, time } from './format';
import { DatasetLink } from './Names';
import { Section } from './Page';
import { Answered } from './States';

type Details = Schemas['RunDetails'];

export function RunDetails({ id }: { id: string }) {
  const found = useAddress<Details>(`/api/headwater/v1/runs/${part(id)}/details`);
  return (
    <Answered query={found}>
      {(told) => (
        <>
          <Told told={told} />
          {told.statistics.length > 0 && <Moved statistics={told.statistics} />}
        </>
      )}
    </Answered>
  );
}

function Told({ told }: { told: Details }) {
  const rows = [
    ['Started by', told.started_by], ['Application id', told.application], ['Attempt', told.attempt === null ? null : String(told.attempt)],
    ['Nominal time', [told.nominal_start, told.nominal_end].map((each) => time(each) || each).filter(Boolean).join(' – ') || null], ['Engine', told.engine],
  ] as const; // prettier-ignore
  const said = rows.filter(([, text]) => text !== null);
  if (!said.length && !told.links.length) return null;
  return (
    <dl className="about">
      {said.map(([title, text]) => [<dt key={title}>{title}</dt>, <dd key={`${title}#`}><bdi>{text}</bdi></dd>])}
      {told.links.map((link, at) => [<dt key={at}><bdi>{link.title}</bdi></dt>, <dd key={`${at}#`}><Address link={link} /></dd>])}
    </dl>
  );
}

/** A link only where a rule allows it and it is https: whatever else an event holds is text. */
export function Address({ link }: { link: Schemas['RunLink'] }) {
  if (!link.href?.toLowerCase().startsWith('https://')) return <bdi className="mono">{link.text}</bdi>;
  return <a href={link.href} target="_blank" rel="noopener noreferrer nofollow"><bdi>{link.text}</bdi></a>;
}

function Moved({ statistics }: { statistics: Details['statistics'] }) {
  return (
    <Section title="Rows, bytes and files">
      <DataTable
        name="statistics" rows={statistics} empty="The run counted nothing."
        columns={[
          { id: 'side', title: 'Was', value: (row) => row.side, width: '6rem' },
          { id: 'dataset', title: 'Dataset', value: (row) => row.dataset, width: 'minmax(14rem, 3fr)', show: (row) => <DatasetLink id={{ namespace: row.namespace, name: row.dataset }} /> },
          { id: 'rows', title: 'Rows', value: (row) => row.rows, width: '9rem', show: (row) => counted(row.rows) },
          { id: 'bytes', title: 'Bytes', value: (row) => row.bytes, width: '9rem', show: (row) => (row.bytes === null ? '' : bytes(row.bytes)) },
          { id: 'files', title: 'Files', value: (row) => row.files, width: '7rem', show: (row) => counted(row.files) },
        ]}
      />
    </Section>
  );
}

const counted = (value: number | null) => (value === null ? '' : count(value));

/** `5 rows, 1.2 MB, 3 files`; empty where nothing was counted. */
export function moved(told: Schemas['RunStatistics'] | null | undefined): string {
  if (!told) return '';
  const parts = [told.rows === null ? '' : `${count(told.rows)} rows`, told.bytes === null ? '' : bytes(told.bytes), told.files === null ? '' : `${count(told.files)} files`];
  return parts.filter(Boolean).join(', ');
}
