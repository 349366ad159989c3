// What passes between jobs: data, and control apart from it.
import type { Answer } from '../api/client';
import { count } from './format';
import { shortName } from './links';

type Jobs = Answer<'job-graph'>;
export type Flow = { kind: 'data'; flow: Jobs['dataFlow'][number] } | { kind: 'control'; flow: Jobs['controlFlow'][number] };

/** Every flow of an answer, data first. */
export function flowsOf(answer: Jobs): Flow[] {
  return [...answer.dataFlow.map((flow): Flow => ({ kind: 'data', flow })), ...answer.controlFlow.map((flow): Flow => ({ kind: 'control', flow }))];
}

/** What passes, or when the one that waits is let go. */
export function flowWords({ kind, flow }: Flow): string {
  if (kind === 'control') return [flow.type, flow.rule].filter(Boolean).join(', ');
  const more = flow.datasets - flow.first.length;
  return flow.first.map((each) => shortName(each.dataset)).join(', ') + (more > 0 ? ` and ${count(more)} more` : '');
}
