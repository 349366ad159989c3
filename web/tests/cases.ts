// Lakes that are wide and deep, and one whose jobs go in circles.
import { run } from './events';

export const WIDE = 'abfss://wide@lake.dfs.core.windows.net';

const named = (name: string) => ({ namespace: WIDE, name });
const TIME = '2026-11-21T10:00:00Z';
const range = (many: number): number[] => Array.from({ length: many }, (_, at) => at);

/** One table read by so many others. */
export const consumers = (many: number): unknown[] => range(many).map((at) => run(`mart ${at}`, named('core/orders'), named(`marts/department_${at % 20}/orders_${at}`), { id: 'order_id' }, TIME));

/** One table made of so many others. */
export const inputs = (many: number): unknown[] => range(many).map((at) => run(`load ${at}`, named(`landing/shop_${at}/sales`), named('core/all_sales'), { amount: 'amount' }, TIME));

/** One table after the other. */
export const layers = (many: number): unknown[] => range(many - 1).map((at) => run(`step ${at}`, named(`deep/step_${at}`), named(`deep/step_${at + 1}`), { value: 'value' }, TIME));

/** So many tables in 40 schemas, three made of each. */
export const tables = (many: number): unknown[] => {
  const name = (at: number) => `schema_${at % 40}/t${at}`;
  return range(many - 1).map((at) => run(`many_${at}`, { namespace: 's3://many', name: name(Math.floor(at / 3)) }, { namespace: 's3://many', name: name(at + 1) }, { c: 'c' }, TIME));
};

/** Three that feed each other in a circle, one that feeds itself, and what comes in and goes out. */
export const circle = (): unknown[] =>
  [['circle/in', 'circle/a'], ['circle/a', 'circle/b'], ['circle/b', 'circle/c'], ['circle/c', 'circle/a'], ['circle/b', 'circle/b'], ['circle/c', 'circle/out'], ['circle/in', 'circle/out']].map(
    ([from = '', into = ''], at) => run(`turn ${at}`, named(from), named(into), { id: 'id', amount: 'amount' }, TIME),
  );
