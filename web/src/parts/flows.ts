// Data flows and control flows between jobs.
import type { Answer } from '../api/client';
import { count } from './format';
import { shortName } from './links';

type Jobs = Answer<'job-graph'>;
export type Flow = { kind: 'data'; flow: Jobs['dataFlow'][number] } | { kind: 'control'; flow: Jobs['controlFlow'][number] };

/** List all flows of an answer, data flows first. */
export function flowsOf(answer: Jobs): Flow[] {
  return [...answer.dataFlow.map((flow): Flow => ({ kind: 'data', flow })), ...answer.controlFlow.map((flow): Flow => ({ kind: 'control', flow }))];
}

/** The datasets of a data flow, or the type and trigger rule of a control flow. */
export function flowWords({ kind, flow }: Flow): string {
  if (kind === 'control') return [flow.type, flow.rule].filter(Boolean).join(', ');
  const more = flow.datasets - flow.first.length;
  return flow.first.map((each) => shortName(each.dataset)).join(', ') + (more > 0 ? ` and ${count(more)} more` : '');
}
