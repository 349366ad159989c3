// The duration of each run of a job as bars, coloured by state.
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';

import type { Item } from '../api/lists';
import { duration, tick, time } from './format';

const COLOURS = new Map([['COMPLETE', 'var(--good)'], ['FAIL', 'var(--bad)'], ['ABORT', 'var(--warn)']]);

export default function Durations({ runs }: { runs: readonly Item<'runs'>[] }) {
  const rows = [...runs].reverse().map((run) => ({ at: time(run.started), took: (run.duration ?? 0) * 1_000, state: run.state, fill: COLOURS.get(run.state) ?? 'var(--accent)' }));
  const failed = rows.filter((row) => row.state === 'FAIL').length;
  const begun = runs.flatMap((run) => (run.started ? [Date.parse(run.started)] : []));
  const span = (Math.max(...begun) - Math.min(...begun)) / 1_000;
  return (
    <figure className="chart" aria-label={`Duration of the newest ${rows.length} runs, ${failed} failed`}>
      <ResponsiveContainer width="100%" height={150}>
        <BarChart data={rows} accessibilityLayer={false} margin={{ left: 0, right: 4, top: 4 }} barCategoryGap={1}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="at" tickFormatter={(text: string) => tick(text, span)} minTickGap={50} stroke="var(--dim)" fontSize={11} />
          <YAxis tickFormatter={(value: number) => duration(value)} stroke="var(--dim)" fontSize={11} width={70} />
          <Tooltip
            formatter={(value, _, item) => [duration(Number(value)), (item.payload as { state: string }).state]}
            contentStyle={{ background: 'var(--panel)', borderColor: 'var(--line)', color: 'var(--text)' }} cursor={{ fill: 'var(--hover)' }}
          />
          <Bar dataKey="took" isAnimationActive={false} />
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
