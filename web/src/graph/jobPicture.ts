// Converts a job graph to a picture: jobs become boxes, data flow and control flow become edges.
import type { Answer } from '../api/client';
import { flowsOf } from '../parts/flows';
import { edgeId, type Picture, type PictureEdge, type PictureTable } from './picture';

type Jobs = Answer<'job-graph'>;

export const FLOW_FILTERS = ['both', 'data', 'control'] as const;
export type FlowFilter = (typeof FLOW_FILTERS)[number];

export const flowFilterOf = (text: string): FlowFilter => FLOW_FILTERS.find((each) => each === text) ?? 'both';

export const jobId = ({ namespace, name }: { namespace: string; name: string }): string => `job:${namespace}/${name}`;

/** hasSubject: whether the graph is about one job. This job has the distance 0 and becomes the subject of the picture. */
export function jobPicture(answer: Jobs, hasSubject: boolean, shown: FlowFilter): Picture {
  const tables = answer.nodes.map((node): PictureTable => ({
    id: jobId(node), kind: 'job', namespace: node.namespace, name: node.name, level: node.level, jobs: node.jobs,
    columns: [], more: 0, distance: node.distance ?? 0, moreUp: 0, moreDown: 0, columnLineage: true, subject: hasSubject && node.distance === 0,
  })); // prettier-ignore
  const edges = flowsOf(answer).flatMap(({ kind, flow }): PictureEdge[] => {
    const [from, to] = [answer.nodes[flow.from], answer.nodes[flow.to]];
    if (!from || !to || (shown !== 'both' && shown !== kind)) return [];
    const ends = { from: jobId(from), to: jobId(to), control: kind === 'control' };
    return [{ ...ends, id: edgeId(ends), indirect: false, masked: false, opaque: false, many: kind === 'data' ? flow.datasets : 1, jobs: [] }];
  });
  const hubs = shown === 'control' ? [] : answer.hubs;
  return {
    tables: [...tables, ...hubs.map((hub) => hubTable(answer, hub))],
    edges: [...edges, ...hubs.flatMap((hub) => hubEdges(answer, hub, hasSubject))],
    truncated: answer.truncated,
  };
}

export const hubId = ({ namespace, dataset }: { namespace: string; dataset: string }): string => `dataset:${namespace}/${dataset}`;

/** Return a box for a dataset with many writers and readers. The box replaces the edges from each writer to each reader. */
function hubTable(answer: Jobs, hub: Jobs['hubs'][number]): PictureTable {
  const readers = hub.readers.map((at) => answer.nodes[at]?.distance ?? 0);
  return {
    id: hubId(hub), kind: 'table', namespace: hub.namespace, name: hub.dataset, columns: [], more: 0,
    distance: Math.min(...readers, 0), moreUp: 0, moreDown: 0, columnLineage: true, subject: false,
  }; // prettier-ignore
}

/** Return the edges of a hub, without edges to the subject job: the answer already has direct edges for this job. */
function hubEdges(answer: Jobs, hub: Jobs['hubs'][number], hasSubject: boolean): PictureEdge[] {
  const jobs = (places: readonly number[]) => places.flatMap((at) => answer.nodes[at] ?? []).filter((node) => !(hasSubject && node.distance === 0));
  const ends = [
    ...jobs(hub.writers).map((node) => ({ from: jobId(node), to: hubId(hub), control: false })),
    ...jobs(hub.readers).map((node) => ({ from: hubId(hub), to: jobId(node), control: false })),
  ];
  return ends.map((each) => ({ ...each, id: edgeId(each), indirect: false, masked: false, opaque: false, many: 1, jobs: [] }));
}
