// The switch that folds jobs into applications, tasks or DAGs.
import { GRANULARITIES, useGranularity, type Granularity } from './granularity';

const SAID: Record<Granularity, string> = { statement: 'statements', job: 'jobs', application: 'applications', task: 'tasks', dag: 'DAGs' };

export function GranularitySwitch({ standing = 'statement' }: { standing?: Granularity }) {
  const [granularity, change] = useGranularity(standing);
  return (
    <label>
      Jobs as{' '}
      <select value={granularity} onChange={(event) => change(event.target.value)}>
        {GRANULARITIES.map((each) => <option key={each} value={each}>{SAID[each]}</option>)}
      </select>
    </label>
  );
}
