// Details of a run: who started it, its application and links, and how much data it read and wrote.
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
      {(details) => (
        <>
          <DetailList details={details} />
          {details.statistics.length > 0 && <StatisticsTable statistics={details.statistics} />}
        </>
      )}
    </Answered>
  );
}

function DetailList({ details }: { details: Details }) {
  const rows = [
    ['Started by', details.started_by], ['Application id', details.application], ['Attempt', details.attempt === null ? null : String(details.attempt)],
    ['Nominal time', [details.nominal_start, details.nominal_end].map((each) => time(each) || each).filter(Boolean).join(' – ') || null], ['Engine', details.engine],
  ] as const; // prettier-ignore
  const known = rows.filter(([, text]) => text !== null);
  if (!known.length && !details.links.length) return null;
  return (
    <dl className="about">
      {known.map(([title, text]) => [<dt key={title}>{title}</dt>, <dd key={`${title}#`}><bdi>{text}</bdi></dd>])}
      {details.links.map((link, at) => [<dt key={at}><bdi>{link.title}</bdi></dt>, <dd key={`${at}#`}><Address link={link} /></dd>])}
    </dl>
  );
}

/** A URL from an event. It becomes a link only if a rule allows the URL and it is an https URL; otherwise it stays text. */
export function Address({ link }: { link: Schemas['RunLink'] }) {
  if (!link.href?.toLowerCase().startsWith('https://')) return <bdi className="mono">{link.text}</bdi>;
  return <a href={link.href} target="_blank" rel="noopener noreferrer nofollow"><bdi>{link.text}</bdi></a>;
}

function StatisticsTable({ statistics }: { statistics: Details['statistics'] }) {
  return (
    <Section title="Rows, bytes and files">
      <DataTable
        name="statistics" rows={statistics} empty="The run reported no counts."
        columns={[
          { id: 'side', title: 'Side', value: (row) => row.side, width: '6rem' },
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

/** Format statistics like `5 rows, 1.2 MB, 3 files`; empty without counts. */
export function statisticsText(details: Schemas['RunStatistics'] | null | undefined): string {
  if (!details) return '';
  const parts = [details.rows === null ? '' : `${count(details.rows)} rows`, details.bytes === null ? '' : bytes(details.bytes), details.files === null ? '' : `${count(details.files)} files`];
  return parts.filter(Boolean).join(', ');
}
