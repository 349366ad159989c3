// Assigns boxes to layers so that every edge leads to a later layer, except edges that close a cycle.

export interface Ranked {
  ins: Ranked[];
  outs: Ranked[];
  layer: number;
}

/** Set the layer of each vertex: first the earliest layer after its predecessors, then the layer closest to its successors. */
export function rank(vertices: readonly Ranked[]): void {
  const sorted = topological(vertices);
  const place = new Map(sorted.map((vertex, at) => [vertex, at]));
  const isAhead = (near: Ranked, far: Ranked) => (place.get(far) ?? 0) > (place.get(near) ?? 0);
  for (const vertex of sorted) vertex.layer = 0;
  for (const vertex of sorted)
    for (const next of vertex.outs) if (isAhead(vertex, next)) next.layer = Math.max(next.layer, vertex.layer + 1);
  for (const vertex of sorted.reverse()) {
    const next = vertex.outs.filter((each) => isAhead(vertex, each));
    const before = vertex.ins.filter((each) => isAhead(each, vertex));
    if (next.length > before.length) vertex.layer = Math.min(...next.map((each) => each.layer)) - 1;
  }
}

/** Sort depth first, starting with vertices without incoming edges. An edge against this order closes a cycle. */
function topological(vertices: readonly Ranked[]): Ranked[] {
  const seen = new Set<Ranked>();
  const left: Ranked[] = [];
  for (const start of [...vertices.filter((vertex) => !vertex.ins.length), ...vertices]) {
    if (seen.has(start)) continue;
    seen.add(start);
    const way = [{ vertex: start, next: 0 }];
    for (let top = way.at(-1); top; top = way.at(-1)) {
      const next = top.vertex.outs[top.next];
      top.next += 1;
      if (!next) {
        left.push(top.vertex);
        way.pop();
      } else if (!seen.has(next)) {
        seen.add(next);
        way.push({ vertex: next, next: 0 });
      }
    }
  }
  return left.reverse();
}
