// Generates test values for every shape that a schema allows: optional members present and absent, lists empty and long.
import { readFileSync } from 'node:fs';

interface Schema {
  $ref?: string;
  type?: string;
  enum?: unknown[];
  anyOf?: Schema[];
  format?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
}

interface Document {
  paths: Record<string, Record<string, { responses: { 200: { content: Record<string, { schema: Schema }> } } }>>;
  components: { schemas: Record<string, Schema> };
}

const MOST = 64; // maximum number of values per schema; if a schema has fewer combinations of members, all combinations are generated
const LONG = 12;
const FEW = 2; // number of items of a nested list
const ABSENT = Symbol('absent');
const TIMES = ['2026-03-01T12:00:00.000Z', '2026-11-21T10:40:00Z'];
const TEXTS = ['abfss://lake@account/silver/customers', '', '<b>\u202e"🦆', '__proto__', 'long/'.repeat(100), '\u0000\ud800../\n'];
const KEYS = ['__proto__', 'COMPLETE', 'FAIL', 'identifiers', 'symlinks', 'sql', 'query', 'parent', 'run', 'errorMessage', 'message'];
const LEAVES = [null, true, -1, '', 'text', [], [null, 'x', {}], {}];

export const openapi = JSON.parse(readFileSync('openapi.json', 'utf8')) as Document;
const known = new Map<string, unknown[]>();

/** Return test values for a named schema, the same values in each test run. inList: whether the values are items of a list. */
export function shapesOf(name: string, inList = false): unknown[] {
  const key = inList ? `${name}[]` : name;
  const found = known.get(key) ?? shapes(openapi.components.schemas[name] ?? {}, { draw: draws(name), inList });
  known.set(key, found);
  return found;
}

interface Within {
  draw: Draw;
  inList: boolean;
}

function shapes(schema: Schema, within: Within): unknown[] {
  if (schema.$ref) return shapesOf(schema.$ref.split('/').at(-1) ?? '', within.inList);
  if (schema.enum) return schema.enum;
  if (schema.anyOf) return schema.anyOf.flatMap((each) => shapes(each, within));
  switch (schema.type) {
    case 'string': return schema.format === 'date-time' ? TIMES : TEXTS;
    case 'boolean': return [true, false];
    case 'null': return [null];
    case 'integer': return [schema.minimum ?? -7, 1, Number.MAX_SAFE_INTEGER];
    case 'number': return [schema.exclusiveMinimum === undefined ? (schema.minimum ?? -7) : 0.001, 60, 1e300];
    case 'array': return lists(shapes(schema.items ?? {}, { ...within, inList: true }), within.inList);
    case 'object': return schema.properties ? objects(schema, within) : mappings(schema, within);
    default: return [...LEAVES, ...LEAVES.map((leaf) => Object.fromEntries(KEYS.map((key) => [key, leaf])))];
  } // prettier-ignore
}

/** Return lists with no item, with one item, and with all items. */
function lists(items: unknown[], inList: boolean): unknown[][] {
  const many = Array.from({ length: Math.max(LONG, items.length) }, (_, at) => items[at % items.length]);
  return inList ? [[], ...items.map((item) => [item, items.at(-1)]).slice(0, 8), items.slice(0, FEW)] : [[], many, items.slice(0, 1)];
}

/** Return an empty mapping, and mappings in which every key has every value once. */
function mappings({ additionalProperties }: Schema, within: Within): unknown[] {
  const values = shapes(typeof additionalProperties === 'object' ? additionalProperties : {}, within);
  const mixed = values.map((_, at) => Object.fromEntries(KEYS.map((key, by) => [key, values[(at + by) % values.length]])));
  return [{}, ...mixed];
}

function objects({ properties = {}, required = [] }: Schema, within: Within): unknown[] {
  const { draw } = within;
  const members = Object.entries(properties).map(([name, schema]): [string, unknown[]] => [name, [...shapes(schema, within), ...(required.includes(name) ? [] : [ABSENT])]]);
  const all = members.reduce((many, [, values]) => many * values.length, 1);
  if (all <= MOST) return combined(members);
  const enough = Math.max(MOST, ...members.map(([, values]) => values.length));
  const begin = members.map(([, values]) => draw(values.length));
  return Array.from({ length: enough }, (_, at) =>
    made(members.map(([name, values], of) => [name, values[at < values.length ? (at + (begin[of] ?? 0)) % values.length : draw(values.length)]])),
  );
}

function combined(members: [string, unknown[]][]): unknown[] {
  const rows = members.reduce<[string, unknown][][]>((before, [name, values]) => before.flatMap((row) => values.map((value): [string, unknown][] => [...row, [name, value]])), [[]]);
  return rows.map(made);
}

const made = (members: [string, unknown][]): unknown => Object.fromEntries(members.filter(([, value]) => value !== ABSENT));

type Draw = (below: number) => number;

/** Return a generator of pseudo-random numbers. The same seed yields the same numbers. */
function draws(seed: string): Draw {
  let state = 7;
  for (let at = 0; at < seed.length; at += 1) state = (Math.imul(state, 31) + seed.charCodeAt(at)) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
