// Orders the items within each layer to avoid crossings, and sets their y positions to keep lines straight.

/** A box, or a lane in which edges pass through a layer between boxes. */
export interface Item {
  id: string;
  isBox: boolean;
  layer: number;
  height: number;
  /** y: position of the item's upper edge (px). at: rank of the item in its layer. */
  y: number;
  at: number;
  left: Link[];
  right: Link[];
  /** Links within the layer: boxes whose edges turn back into this lane. */
  near: Link[];
}

/** here, there: the distance of each end below the upper edge of its item (px). */
export interface Link {
  item: Item;
  here: number;
  there: number;
  weight: number;
}

type Side = 'left' | 'right';

const [ORDERINGS, IDLE, PLACINGS] = [16, 4, 10];
const SPACE = { box: 15, lane: 3 };

/** Sort every layer by the positions of its neighbours, sweeping left to right and back. Keeps the order with the fewest crossings. */
export function sortLayers(layers: Item[][]): void {
  layers.forEach(number);
  let [fewest, best, idle] = [crossings(layers), layers.map((layer) => [...layer]), 0];
  for (let turn = 0; turn < ORDERINGS && fewest > 0 && idle < IDLE; turn += 1) {
    const side: Side = turn % 2 ? 'right' : 'left';
    for (const layer of side === 'left' ? layers : layers.toReversed()) {
      const wanted = new Map(layer.map((item) => [item, middle(item, side)]));
      layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      number(layer);
    }
    const many = crossings(layers);
    idle = many < fewest ? 0 : idle + 1;
    if (many < fewest) [fewest, best] = [many, layers.map((layer) => [...layer])];
  }
  layers.forEach((layer, at) => {
    layer.splice(0, layer.length, ...(best[at] ?? []));
    number(layer);
  });
}

const number = (layer: Item[]): void => layer.forEach((item, at) => (item.at = at));

function middle(item: Item, side: Side): number {
  const links = item[side].length ? item[side] : item.near;
  if (!links.length) return item.at;
  let [sum, weight] = [0, 0];
  for (const link of links) {
    sum += link.weight * (link.item.at + link.there / (link.item.height + 1));
    weight += link.weight;
  }
  return sum / weight;
}

function crossings(layers: readonly Item[][]): number {
  let many = 0;
  for (const layer of layers) {
    const ends = layer.flatMap((item) =>
      item.right.map((link): [number, number] => [item.at + link.here / (item.height + 1), link.item.at + link.there / (link.item.height + 1)]),
    );
    many += inversions(ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((each) => each[1]));
  }
  return many;
}

/** Return the number of pairs of values in the wrong order, computed by merge sort. */
function inversions(values: number[]): number {
  if (values.length < 2) return 0;
  const [left, right] = [values.slice(0, values.length / 2), values.slice(values.length / 2)];
  let [many, at] = [inversions(left) + inversions(right), 0];
  left.sort((a, b) => a - b);
  right.sort((a, b) => a - b);
  for (const value of left) {
    while (at < right.length && (right[at] ?? 0) < value) at += 1;
    many += at;
  }
  return many;
}

/** Set the y position of each item as close to its neighbours as the order and the spacing of the layer allow. */
export function placeLayers(layers: readonly Item[][]): void {
  for (const layer of layers) {
    const room = layer.reduce((sum, item, at) => sum + item.height + apart(layer[at - 1], item), 0);
    let y = -room / 2;
    layer.forEach((item, at) => {
      item.y = y + apart(layer[at - 1], item);
      y = item.y + item.height;
    });
  }
  for (let turn = 0; turn < PLACINGS; turn += 1) {
    const side: Side = turn % 2 ? 'right' : 'left';
    for (const layer of side === 'left' ? layers : layers.toReversed()) settle(layer, turn < PLACINGS - 4 ? [side] : ['left', 'right']);
  }
}

const apart = (above: Item | undefined, item: Item): number => (above ? SPACE[above.isBox ? 'box' : 'lane'] + SPACE[item.isBox ? 'box' : 'lane'] : 0);

/** Minimise the squared distances to the neighbours, keeping order and spacing (pool adjacent violators algorithm). */
function settle(layer: readonly Item[], sides: readonly Side[]): void {
  const pools: { sum: number; weight: number; items: Item[] }[] = [];
  const offsets = new Map<Item, number>();
  let offset = 0;
  layer.forEach((item, at) => {
    offset += apart(layer[at - 1], item);
    offsets.set(item, offset);
    let pool = { ...pull(item, sides, offset), items: [item] };
    offset += item.height;
    for (let above = pools.at(-1); above && above.sum / above.weight > pool.sum / pool.weight; above = pools.at(-1)) {
      pools.pop();
      for (const each of pool.items) above.items.push(each);
      pool = { sum: above.sum + pool.sum, weight: above.weight + pool.weight, items: above.items };
    }
    pools.push(pool);
  });
  for (const { sum, weight, items } of pools) for (const item of items) item.y = sum / weight + (offsets.get(item) ?? 0);
}

const STAYS = 0.01;

function pull(item: Item, sides: readonly Side[], offset: number): { sum: number; weight: number } {
  let [sum, weight] = [STAYS * (item.y - offset), STAYS];
  for (const links of [...sides.map((side) => item[side]), item.near])
    for (const link of links) {
      sum += link.weight * (link.item.y + link.there - link.here - offset);
      weight += link.weight;
    }
  return { sum, weight };
}
