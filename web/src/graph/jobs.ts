// Adds jobs as boxes between the tables that they read and write.
import { edgeId, type Picture, type PictureEdge, type PictureTable } from './picture';

/** Route each edge through the boxes of its jobs. Edges without known jobs stay unchanged. */
export function withJobs(picture: Picture): Picture {
  const jobs = new Map<string, PictureTable>();
  const edges = new Map<string, PictureEdge>();
  const distances = new Map(picture.tables.map((table) => [table.id, table.distance]));
  for (const edge of picture.edges) {
    if (!edge.jobs.length) edges.set(edge.id, edge);
    for (const { namespace, name } of edge.jobs) {
      const id = `job:${namespace}/${name}`;
      const distance = distances.get(edge.from) ?? 0;
      const known = jobs.get(id);
      jobs.set(id, known ?? { id, kind: 'job', namespace, name, columns: [], more: 0, distance, moreUp: 0, moreDown: 0, columnLineage: true, subject: false });
      for (const ends of [{ from: edge.from, to: id }, { from: id, to: edge.to }]) {
        const was = edges.get(edgeId(ends));
        const opaque = edge.opaque && was?.opaque !== false;
        edges.set(edgeId(ends), { ...edge, ...ends, id: edgeId(ends), fromColumn: undefined, toColumn: undefined, opaque, jobs: [] });
      }
    }
  }
  return { ...picture, tables: [...picture.tables, ...jobs.values()], edges: [...edges.values()] };
}
