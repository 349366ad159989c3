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
  const hubs = shown === 'control' ? [] : answer.hubs;
  return {
    tables: [...tables, ...hubs.map((hub) => hubTable(answer, hub))],
    edges: [...edges, ...hubs.flatMap((hub) => hubEdges(answer, hub, asked))],
    truncated: answer.truncated,
  };
}

export const hubId = ({ namespace, dataset }: { namespace: string; dataset: string }): string => `dataset:${namespace}/${dataset}`;

/** A dataset between many writers and many readers stands for the edges of all their pairs. */
function hubTable(answer: Jobs, hub: Jobs['hubs'][number]): PictureTable {
  const readers = hub.readers.map((at) => answer.nodes[at]?.distance ?? 0);
  return {
    id: hubId(hub), kind: 'table', namespace: hub.namespace, name: hub.dataset, columns: [], more: 0,
    distance: Math.min(...readers, 0), moreUp: 0, moreDown: 0, columnLineage: true, subject: false,
  }; // prettier-ignore
}

/** The asked job has edges of its own to each, so its way through the hub is not drawn a second time. */
function hubEdges(answer: Jobs, hub: Jobs['hubs'][number], asked: boolean): PictureEdge[] {
  const jobs = (places: readonly number[]) => places.flatMap((at) => answer.nodes[at] ?? []).filter((node) => !(asked && node.distance === 0));
  const ends = [
    ...jobs(hub.writers).map((node) => ({ from: jobId(node), to: hubId(hub), control: false })),
    ...jobs(hub.readers).map((node) => ({ from: hubId(hub), to: jobId(node), control: false })),
  ];
  return ends.map((each) => ({ ...each, id: edgeId(each), indirect: false, masked: false, opaque: false, many: 1, jobs: [] }));
}
