// Selects whether jobs are shown as statements, jobs, applications, tasks or DAGs.
import { GRANULARITIES, useGranularity, type Granularity } from './granularity';

const LABELS: Record<Granularity, string> = { statement: 'statements', job: 'jobs', application: 'applications', task: 'tasks', dag: 'DAGs' };

export function GranularitySwitch({ defaultValue = 'statement' }: { defaultValue?: Granularity }) {
  const [granularity, change] = useGranularity(defaultValue);
  return (
    <label>
      Jobs as{' '}
      <select value={granularity} onChange={(event) => change(event.target.value)}>
        {GRANULARITIES.map((each) => <option key={each} value={each}>{LABELS[each]}</option>)}
      </select>
    </label>
  );
}
