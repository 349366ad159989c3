// Counts over time as stacked bars. The label contains the totals for screen readers.
import { memo } from 'react';
import { Bar, BarChart, CartesianGrid, Legend, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';

import { tick, time } from './format';

interface Props {
  label: string;
  series: Readonly<Record<string, readonly number[]>>;
  from: string;
  bucketSeconds: number;
}

// a Map and not an object, because a name may be `__proto__`, and the chart freezes each value that it looks up
const COLOURS = new Map([
  ['COMPLETE', 'var(--good)'], ['FAIL', 'var(--bad)'], ['ABORT', 'var(--warn)'], ['RUNNING', 'var(--accent)'], ['events', 'var(--accent)'],
]); // prettier-ignore
const MORE = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)'];

/** Memoised, so that live events do not redraw an unchanged chart. */
export default memo(Bars);

function Bars({ label, series, from, bucketSeconds }: Props) {
  const names = Object.keys(series);
  const start = new Date(from).getTime();
  const rows = (series[names[0] ?? ''] ?? []).map((_, at) => ({
    at: time(start + at * bucketSeconds * 1_000),
    ...Object.fromEntries(names.map((name) => [name, series[name]?.[at] ?? 0])),
  }));
  const total = names.map((name) => `${name}: ${(series[name] ?? []).reduce((sum, each) => sum + each, 0)}`).join(', ');
  return (
    <figure className="chart" aria-label={`${label}. ${total}`}>
      <ResponsiveContainer width="100%" height={150}>
        <BarChart data={rows} accessibilityLayer={false} margin={{ left: -20, right: 4, top: 4 }} barCategoryGap={1}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis dataKey="at" tickFormatter={(text: string) => tick(text, rows.length * bucketSeconds)} minTickGap={40} stroke="var(--dim)" fontSize={11} />
          <YAxis allowDecimals={false} stroke="var(--dim)" fontSize={11} />
          <Tooltip contentStyle={{ background: 'var(--panel)', borderColor: 'var(--line)', color: 'var(--text)' }} cursor={{ fill: 'var(--hover)' }} />
          {names.length > 1 && <Legend iconSize={9} />}
          {names.map((name, at) => (
            <Bar key={name} dataKey={name} stackId="all" isAnimationActive={false} fill={COLOURS.get(name) ?? MORE[at % MORE.length] ?? 'var(--c1)'} />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
