// The graph of jobs as a picture: jobs as boxes, data and control flow as edges of their own.
import type { Answer } from '../api/client';
import { flowsOf } from '../parts/flows';
import { edgeId, type Picture, type PictureEdge, type PictureTable } from './picture';

type Jobs = Answer<'job-graph'>;

export const SHOWN = ['both', 'data', 'control'] as const;
export type Shown = (typeof SHOWN)[number];

export const shownOf = (text: string): Shown => SHOWN.find((each) => each === text) ?? 'both';

export const jobId = ({ namespace, name }: { namespace: string; name: string }): string => `job:${namespace}/${name}`;

/** asked: a job is, and stands in the middle; without one nothing does. */
export function jobPicture(answer: Jobs, asked: boolean, shown: Shown): Picture {
  const tables = answer.nodes.map((node): PictureTable => ({
    id: jobId(node), kind: 'job', namespace: node.namespace, name: node.name, level: node.level, jobs: node.jobs,
    columns: [], more: 0, distance: node.distance ?? 0, moreUp: 0, moreDown: 0, columnLineage: true, subject: asked && node.distance === 0,
  })); // prettier-ignore
  const edges = flowsOf(answer).flatMap(({ kind, flow }): PictureEdge[] => {
    const [from, to] = [answer.nodes[flow.from], answer.nodes[flow.to]];
    if (!from || !to || (shown !== 'both' && shown !== kind)) return [];
    const ends = { from: jobId(from), to: jobId(to), control: kind === 'control' };
    return [{ ...ends, id: edgeId(ends), indirect: false, masked: false, opaque: false, many: kind === 'data' ? flow.datasets : 1, jobs: [] }];
  });
  return { tables, edges, truncated: answer.truncated };
}
