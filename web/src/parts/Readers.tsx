// The readers of a dataset: runs per day or week as bars, and the jobs.
import { useQuestion } from '../api/hooks';
import type { Id } from '../api/marquez';
import { DataTable } from './DataTable';
import { count, time } from './format';
import { JobLink } from './Names';
import { Section } from './Page';
import { Answered } from './States';
import { useAddressState } from './useAddressState';

const DAY_MS = 86_400_000;
/** The maximum number of bars: enough for more than a year of days. */
const MOST_BARS = 400;

interface Reads {
  day: string;
  runs: number;
}

export function Readers({ id }: { id: Id }) {
  const state = useAddressState();
  const by = state.get('reads') === 'week' ? 'week' : 'day';
  const found = useQuestion('readers', { namespace: id.namespace, dataset: id.name });
  const tools = (
    <label>
      Runs by{' '}
      <select value={by} onChange={(event) => state.set({ reads: event.target.value === 'week' ? 'week' : '' })}>
        <option value="day">day</option>
        <option value="week">week</option>
      </select>
    </label>
  );
  return (
    <Section title="Readers" tools={tools}>
      <Answered query={found}>
        {(answer) => (
          <>
            {answer.runs > 0 && <ReadBars reads={by === 'week' ? answer.weeks : answer.days} step={by === 'week' ? 7 : 1} />}
            <DataTable
              name="readers" rows={answer.items} total={answer.totalCount} truncated={answer.truncated} empty="No run has read this dataset in the last 90 days."
              columns={[
                { id: 'job', title: 'Job', value: (row) => row.job.name, width: 'minmax(14rem, 3fr)', show: (row) => <JobLink id={row.job} /> },
                { id: 'runs', title: 'Runs', value: (row) => row.runs, width: '7rem', show: (row) => count(row.runs) },
                { id: 'users', title: 'Started by', value: (row) => row.users.join(', '), width: 'minmax(8rem, 1fr)' },
                { id: 'last', title: 'Last read', value: (row) => time(row.last_read), width: '12rem' },
              ]}
            />
          </>
        )}
      </Answered>
    </Section>
  );
}

/** Return an entry for every day (or week) from the first to the last, at most the newest MOST_BARS entries. Skips invalid dates. */
export function fillGaps(reads: readonly Reads[], step: number): Reads[] {
  const known = new Map(reads.flatMap(({ day, runs }) => (Number.isNaN(Date.parse(day)) ? [] : [[Date.parse(day), runs] as const])));
  if (!known.size) return [];
  const days = [...known.keys()].sort((a, b) => a - b);
  const [first, last] = [days[0] ?? 0, days.at(-1) ?? 0];
  const many = Math.min(MOST_BARS, Math.round((last - first) / (step * DAY_MS)) + 1);
  return Array.from({ length: many }, (_, at) => {
    const day = last - (many - 1 - at) * step * DAY_MS;
    return { day: new Date(day).toISOString().slice(0, 10), runs: known.get(day) ?? 0 };
  });
}

const HEIGHT = 60;

function ReadBars({ reads, step }: { reads: readonly Reads[]; step: number }) {
  const bars = fillGaps(reads, step);
  if (!bars.length) return null;
  const most = Math.max(1, ...bars.map((each) => each.runs));
  const label = `Runs per ${step === 7 ? 'week' : 'day'}, at most ${count(most)}`;
  return (
    <figure className="reads">
      <svg role="img" aria-label={label} viewBox={`0 0 ${Math.max(30, bars.length) * 8} ${HEIGHT}`} preserveAspectRatio="none">
        {bars.map((each, at) => {
          const height = each.runs === 0 ? 0 : Math.max(2, (HEIGHT * each.runs) / most);
          return <rect key={each.day} x={at * 8 + 1} width={6} y={HEIGHT - height} height={height}><title>{`${each.day}: ${count(each.runs)}`}</title></rect>;
        })}
      </svg>
      <figcaption className="dim">{label}; {bars[0]?.day} – {bars.at(-1)?.day} (UTC)</figcaption>
    </figure>
  );
}
