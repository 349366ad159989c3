// Events of wide and deep lakes, and of jobs that form cycles.
import { run } from './events';

export const WIDE = 'abfss://wide@lake.dfs.core.windows.net';

const named = (name: string) => ({ namespace: WIDE, name });
const TIME = '2026-11-21T10:00:00Z';
const range = (many: number): number[] => Array.from({ length: many }, (_, at) => at);

/** One table that `many` jobs read. */
export const consumers = (many: number): unknown[] => range(many).map((at) => run(`mart ${at}`, named('core/orders'), named(`marts/department_${at % 20}/orders_${at}`), { id: 'order_id' }, TIME));

/** One table with `many` source tables. */
export const inputs = (many: number): unknown[] => range(many).map((at) => run(`load ${at}`, named(`landing/shop_${at}/sales`), named('core/all_sales'), { amount: 'amount' }, TIME));

/** A chain of `many` tables. */
export const layers = (many: number): unknown[] => range(many - 1).map((at) => run(`step ${at}`, named(`deep/step_${at}`), named(`deep/step_${at + 1}`), { value: 'value' }, TIME));

/** `many` tables in 40 schemas; each table feeds three others. */
export const tables = (many: number): unknown[] => {
  const name = (at: number) => `schema_${at % 40}/t${at}`;
  return range(many - 1).map((at) => run(`many_${at}`, { namespace: 's3://many', name: name(Math.floor(at / 3)) }, { namespace: 's3://many', name: name(at + 1) }, { c: 'c' }, TIME));
};

/** Three tables in a cycle, one that feeds itself, and tables before and after them. */
export const circle = (): unknown[] =>
  [['circle/in', 'circle/a'], ['circle/a', 'circle/b'], ['circle/b', 'circle/c'], ['circle/c', 'circle/a'], ['circle/b', 'circle/b'], ['circle/c', 'circle/out'], ['circle/in', 'circle/out']].map(
    ([from = '', into = ''], at) => run(`turn ${at}`, named(from), named(into), { id: 'id', amount: 'amount' }, TIME),
  );
