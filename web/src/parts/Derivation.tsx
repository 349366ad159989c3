// How a column is computed: the jobs that write it, their transformations and SQL, and what this rests on.
import { useQuestion } from '../api/hooks';
import type { Schemas } from '../api/client';
import { Badge } from '../design/components';
import { Code } from './Facets';
import { ago, count, time } from './format';
import { ColumnLink, JobLink, RunLink } from './Names';
import { statisticsText } from './RunDetails';
import { Empty } from './States';

type Reason = Schemas['EdgeReason'];
interface Named {
  namespace: string;
  dataset: string;
  column: string;
}

const MOST = 1_000;
const NAMED = 4;

/** The nearest source of a column, and the reasons for the edge from it. */
export function useDerivation(column: Named, lens: Readonly<Record<string, string>> = {}) {
  const upstream = useQuestion('upstream', { ...column, ...lens, limit: MOST });
  const sources = upstream.data?.columns.filter((each) => each.distance === 1) ?? [];
  const [first] = sources;
  const edge = useQuestion(
    'edge',
    { fromNamespace: first?.namespace, fromDataset: first?.dataset, fromColumn: first?.column, toNamespace: column.namespace, toDataset: column.dataset, toColumn: column.column, ...lens },
    { enabled: first !== undefined },
  ); // prettier-ignore
  return { sources, reasons: byJob(edge.data?.items ?? []), error: edge.error, isPending: upstream.isPending || (first !== undefined && edge.isPending) };
}

/** Merge the periods of one job, the newest period first: the job may have lost and regained the edge. */
function byJob(items: readonly Reason[]): Reason[] {
  const merged = new Map<string, Reason>();
  for (const each of [...items].sort((a, b) => (b.last_seen ?? '').localeCompare(a.last_seen ?? ''))) {
    const newer = merged.get(reasonKey(each));
    merged.set(reasonKey(each), newer ? { ...newer, runs: newer.runs + each.runs, first_seen: each.first_seen } : each);
  }
  return [...merged.values()];
}

const reasonKey = ({ job, origin }: Reason): string => JSON.stringify([job, origin]);

const ORIGINS: Readonly<Record<string, string>> = { observed: 'reported by its runs', declared: 'declared without a run', inferred: 'inferred from SQL' };

/** The jobs that report the edge, with the number of runs and the newest run. */
export function Evidence({ reasons }: { reasons: readonly Reason[] }) {
  return (
    <ul>
      {reasons.slice(0, NAMED).map((each) => (
        <li key={reasonKey(each)}>
          <JobLink id={each.job} /> <span className="dim">{ORIGINS[each.origin] ?? each.origin}, {count(each.runs)} {each.runs === 1 ? 'run' : 'runs'}</span> {each.newest_run && <RunLink id={each.newest_run} />}
        </li>
      ))}
    </ul>
  );
}

export const sinceOf = (reasons: readonly Reason[]): string | undefined => reasons.map((each) => each.first_seen ?? '').filter(Boolean).sort()[0];
export const lastOf = (reasons: readonly Reason[]): string | undefined => reasons.map((each) => each.last_seen ?? '').filter(Boolean).sort().at(-1);

export function LastConfirmed({ reasons }: { reasons: readonly Reason[] }) {
  const last = lastOf(reasons);
  return last ? <p className="dim">Last confirmed {ago(last)} ({time(last)} UTC).</p> : null;
}

/** The sources, transformations and SQL of a column. */
export function Derivation({ column, lens }: { column: Named; lens?: Readonly<Record<string, string>> }) {
  const { sources, reasons, isPending } = useDerivation(column, lens);
  if (isPending) return null;
  if (!sources.length) return <Empty>No job reports from which columns this column is computed.</Empty>;
  return (
    <>
      <p>From {sources.slice(0, NAMED).map((each, at) => <span key={`${each.namespace}/${each.dataset}#${each.column ?? ''}`}>{at > 0 && ', '}<ColumnLink column={each} /></span>)}{sources.length > NAMED && ` and ${count(sources.length - NAMED)} more`}</p>
      {reasons.slice(0, NAMED).map((each) => (
        <div key={reasonKey(each)}>
          <p className="badges">
            <JobLink id={each.job} />
            {each.transformations.map((step, at) => <Badge key={at} tone={step.masking ? 'good' : 'plain'}>{[step.type, step.subtype, step.masking ? 'masks' : ''].filter(Boolean).join(' ').toLowerCase()}</Badge>)}
          </p>
          {each.transformations.map((step, at) => step.description && <p key={at} className="mono"><bdi>{step.description}</bdi></p>)}
          {each.written && <p className="dim">Last run wrote: {statisticsText(each.written) || 'no counts reported'}</p>}
          {each.sql && <Code text={each.sql} label={`SQL of ${each.job.name}`} />}
        </div>
      ))}
    </>
  );
}
