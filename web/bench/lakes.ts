// Headwater servers for pictures, one for each lake. A server starts when the first picture of its lake is made.
import { afterAll } from 'vitest';

import { Headwater, SINKS } from '../tests/headwater';

/** Return a function that gives the server of a lake. lakes: the events of each lake. The servers end after all tests. */
export function serversOf<Lake extends string | number>(lakes: Readonly<Record<Lake, () => readonly unknown[]>>): (name: Lake) => Promise<Headwater> {
  const running = new Map<Lake, Promise<Headwater>>();
  afterAll(async () => {
    for (const each of running.values()) await (await each).end();
  });
  const start = async (name: Lake): Promise<Headwater> => {
    const headwater = await new Headwater({}, SINKS).start();
    const events = lakes[name]();
    if (events.length) await headwater.post(events);
    return headwater;
  };
  return (name) => {
    const known = running.get(name) ?? start(name);
    running.set(name, known);
    return known;
  };
}
