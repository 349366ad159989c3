// Computes the positions of boxes and the routes of edges. Boxes are in layers from left to right; edges pass layers in lanes
// between the boxes, so that no edge runs behind a box. Edges that close a cycle run backwards around the boxes.
import type { Box, Point } from './geometry';
import { placeLayers, sortLayers, type Item, type Link } from './layers';
import { rank, type Ranked } from './ranks';

export interface Graph {
  width: number;
  nodes: readonly { id: string; height: number }[];
  edges: readonly GraphEdge[];
}

/** fromY, toY: distance of each end below the upper edge of its box (px). own: the edge shares no lane with other edges of its source. */
export interface GraphEdge {
  id: string;
  from: string;
  to: string;
  fromY: number;
  toY: number;
  own: boolean;
  /** Whether the layout ignores this edge when it positions boxes. */
  weak: boolean;
}

/** Positions of boxes and routes of edges. A route has its source, then two points per lane (straight through a layer), then its target. */
export interface Layout {
  places: Map<string, Box>;
  routes: Map<string, Point[]>;
}

const [GAP, TRACK, LANE, BETWEEN, ASPECT] = [80, 5, 6, 60, 1.6];

interface Vertex extends Ranked {
  item: Item;
}

export function layOut(graph: Graph): Layout {
  const vertices = new Map(
    graph.nodes.map((node, at): [string, Vertex] => [node.id, { item: { ...itemOf(node.id, node.height, true), at }, ins: [], outs: [], layer: 0 }]),
  );
  const edges = graph.edges.filter((edge) => vertices.has(edge.from) && vertices.has(edge.to));
  for (const strong of [true, false]) {
    for (const edge of edges) if (edge.weak !== strong) join(vertices.get(edge.from), vertices.get(edge.to));
    if (strong) rank([...vertices.values()]);
  }
  const parts = components([...vertices.values()]);
  const drawn = parts.map(({ members, names }) => drawPart(graph.width, members, vertices, edges.filter((edge) => names.has(edge.from))));
  return packComponents(drawn);
}

function join(from: Vertex | undefined, to: Vertex | undefined): void {
  if (!from || !to || from === to || from.outs.includes(to)) return;
  from.outs.push(to);
  to.ins.push(from);
}

const itemOf = (id: string, height: number, isBox: boolean): Item => ({ id, isBox, layer: 0, height, y: 0, at: 0, left: [], right: [], near: [] });

function components(vertices: readonly Vertex[]): { members: Vertex[]; names: Set<string> }[] {
  const seen = new Set<Ranked>();
  return vertices.flatMap((start) => {
    if (seen.has(start)) return [];
    seen.add(start);
    const members = [start];
    for (const each of members)
      for (const next of [...each.ins, ...each.outs] as Vertex[])
        if (!seen.has(next)) {
          seen.add(next);
          members.push(next);
        }
    members.sort((a, b) => a.item.at - b.item.at); // the input order decides between boxes with equal positions
    return [{ members, names: new Set(members.map((each) => each.item.id)) }];
  });
}

interface Part extends Layout {
  width: number;
  height: number;
}

function drawPart(width: number, members: readonly Vertex[], vertices: ReadonlyMap<string, Vertex>, edges: readonly GraphEdge[]): Part {
  const first = Math.min(...members.map((each) => each.layer));
  const layers: Item[][] = [];
  const put = (item: Item, layer: number) => {
    item.layer = layer;
    (layers[layer] ??= []).push(item);
  };
  for (const { item, layer } of members) put(item, layer - first);
  for (let at = 0; at < layers.length; at += 1) layers[at] ??= [];
  const edgeRoutes = assignLanes(edges, vertices, put);
  sortLayers(layers);
  placeLayers(layers);
  const top = Math.min(...layers.flat().map((item) => item.y));
  for (const item of layers.flat()) item.y -= top;
  const x = (item: Item) => item.layer * (width + GAP);
  return {
    width: layers.length * (width + GAP) - GAP,
    height: Math.max(...layers.flat().map((item) => item.y + item.height)),
    places: new Map(members.map(({ item }) => [item.id, { x: x(item), y: item.y, width, height: item.height }])),
    routes: new Map(edgeRoutes.map((route) => [route.edge.id, routeOf(route, width, x)])),
  };
}

interface EdgeRoute {
  edge: GraphEdge;
  from: Item;
  to: Item;
  lanes: Item[];
  back: boolean;
  track: number;
}

/** Assign lanes to edges. Edges of one source share lanes, unless they are marked `own`. */
function assignLanes(edges: readonly GraphEdge[], vertices: ReadonlyMap<string, Vertex>, put: (item: Item, layer: number) => void): EdgeRoute[] {
  const known = new Map<string, Item>();
  const tracks = new Map<string, number>();
  return edges.flatMap((edge) => {
    const [from, to] = [vertices.get(edge.from)?.item, vertices.get(edge.to)?.item];
    if (!from || !to) return [];
    const back = from !== to && to.layer <= from.layer;
    const name = JSON.stringify([back, edge.weak, edge.from, edge.own ? edge.to : '']);
    const track = edge.own ? (tracks.get(name) ?? 0) : 0;
    tracks.set(name, track + 1);
    const lanes: Item[] = [];
    const [start, stop, step] = back ? [from.layer, to.layer, -1] : [from.layer + 1, to.layer - 1, 1];
    for (let layer = start; back ? layer >= stop : layer <= stop; layer += step) lanes.push(lane(`${name}${layer}`, layer));
    const weight = edge.weak ? 0.02 : 1;
    connect({ edge, from, to, lanes, back, track }, weight, seen);
    return [{ edge, from, to, lanes, back, track }];
  });

  function lane(id: string, layer: number): Item {
    let item = known.get(id);
    if (!item) {
      item = itemOf(id, 0, false);
      known.set(id, item);
      put(item, layer);
    }
    return item;
  }

  function seen(a: Item, b: Item): boolean {
    const id = JSON.stringify([a.id, b.id]);
    const was = tracks.has(id);
    tracks.set(id, 1);
    return was;
  }
}

function connect({ edge, from, to, lanes, back, track }: EdgeRoute, weight: number, seen: (a: Item, b: Item) => boolean): void {
  const inLane = track * TRACK + LANE / 2;
  for (const item of lanes) item.height = Math.max(item.height, edge.weak ? 1 : track * TRACK + LANE);
  const [first, last] = [lanes[0], lanes.at(-1)];
  if (!first || !last) {
    if (from !== to) link(from, to, edge.fromY, edge.toY, weight);
    return;
  }
  if (back) {
    first.near.push({ item: from, here: inLane, there: from.height + 12, weight: weight / 4 });
    last.near.push({ item: to, here: inLane, there: to.height + 12, weight: weight / 4 });
  } else {
    if (edge.own || !seen(from, first)) link(from, first, edge.fromY, inLane, 2 * weight);
    link(last, to, inLane, edge.toY, 2 * weight);
  }
  for (const [at, item] of lanes.entries()) {
    const next = lanes[at + 1];
    if (next && !seen(item, next)) link(...(back ? ([next, item] as const) : ([item, next] as const)), inLane, inLane, 8 * weight);
  }
}

function link(left: Item, right: Item, leftY: number, rightY: number, weight: number): void {
  const there = (item: Item, here: number, far: number): Link => ({ item, here, there: far, weight });
  left.right.push(there(right, leftY, rightY));
  right.left.push(there(left, rightY, leftY));
}

function routeOf({ edge, from, to, lanes, back, track }: EdgeRoute, width: number, x: (item: Item) => number): Point[] {
  const start = { x: x(from) + width, y: from.y + edge.fromY };
  if (from === to) return [start, { x: start.x, y: from.y + (edge.toY === edge.fromY ? edge.toY + 16 : edge.toY) }];
  const inLanes = lanes.flatMap((item) => {
    const y = item.y + (edge.weak ? 0 : track * TRACK + LANE / 2);
    const ends = [{ x: x(item), y }, { x: x(item) + width, y }];
    return back ? ends.reverse() : ends;
  });
  return [start, ...inLanes, { x: x(to), y: to.y + edge.toY }];
}

/** Arrange the components in rows, tallest first. */
function packComponents(parts: readonly Part[]): Layout {
  const area = parts.reduce((sum, part) => sum + (part.width + BETWEEN) * (part.height + BETWEEN), 0);
  const widest = Math.max(Math.sqrt(area * ASPECT), ...parts.map((part) => part.width));
  const whole: Layout = { places: new Map(), routes: new Map() };
  let [x, y, row] = [0, 0, 0];
  for (const part of [...parts].sort((a, b) => b.height - a.height)) {
    if (x > 0 && x + part.width > widest) [x, y, row] = [0, y + row + BETWEEN, 0];
    for (const [id, box] of part.places) whole.places.set(id, { ...box, x: x + box.x, y: y + box.y });
    for (const [id, route] of part.routes) whole.routes.set(id, route.map((point) => ({ x: x + point.x, y: y + point.y })));
    x += part.width + BETWEEN;
    row = Math.max(row, part.height);
  }
  return whole;
}
