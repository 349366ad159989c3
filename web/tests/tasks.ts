// Measures the tasks of a page's main thread, in wall time and CPU time, with Chromium's trace.
import type { Browser, CDPSession, Page } from 'playwright-core';

export interface Task {
  /** ms since the navigation. */
  start: number;
  /** ms of wall time and of CPU time; on a busy machine, a task waits for the CPU. */
  wall: number;
  cpu: number;
}

interface Traced {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds. */
  ts: number;
  dur?: number;
  tdur?: number;
  args: { name?: string; data?: { documentLoaderURL?: string } };
}

const CATEGORIES = ['blink.user_timing', 'devtools.timeline', 'disabled-by-default-devtools.timeline', '__metadata'];

/** Trace all tasks of a page's main thread while `work` runs. */
export async function traced<T>(browser: Browser, page: Page, work: () => Promise<T>): Promise<{ found: T; tasks: Task[] }> {
  await browser.startTracing(page, { categories: CATEGORIES });
  const found = await work();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: Traced[] };
  return { found, tasks: mainTasks(traceEvents, new URL(page.url()).origin) };
}

function mainTasks(events: readonly Traced[], origin: string): Task[] {
  const began = events.find((each) => each.name === 'navigationStart' && each.args.data?.documentLoaderURL?.startsWith(origin));
  const main = events.find((each) => each.name === 'thread_name' && each.pid === began?.pid && each.args.name === 'CrRendererMain');
  if (!began || !main) throw new Error('The trace does not contain the page.');
  return events
    .filter((each) => each.name === 'RunTask' && each.ph === 'X' && each.pid === main.pid && each.tid === main.tid)
    .map((each) => ({ start: (each.ts - began.ts) / 1_000, wall: (each.dur ?? 0) / 1_000, cpu: (each.tdur ?? NaN) / 1_000 }));
}

/** Return the CPU seconds that all pages of a browser and their workers have used. */
export async function pagesCpu(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  return processInfo.filter((each) => each.type === 'renderer').reduce((sum, each) => sum + each.cpuTime, 0);
}

/** Return the heap of a page after garbage collection (MB), and how much of it is compiled code. */
export async function heapOf(session: CDPSession): Promise<{ all: number; code: number }> {
  let text = '';
  const add = ({ chunk }: { chunk: string }) => (text += chunk);
  session.on('HeapProfiler.addHeapSnapshotChunk', add);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.send('HeapProfiler.takeHeapSnapshot');
  session.off('HeapProfiler.addHeapSnapshotChunk', add);
  const { snapshot, nodes } = JSON.parse(text) as Snapshot;
  const { node_fields: fields, node_types: [types] } = snapshot.meta; // prettier-ignore
  const [type, size] = [fields.indexOf('type'), fields.indexOf('self_size')];
  let code = 0;
  for (let at = 0; at < nodes.length; at += fields.length) if (types[nodes[at + type] ?? 0] === 'code') code += nodes[at + size] ?? 0;
  return { all: usedSize / 1e6, code: code / 1e6 };
}

interface Snapshot {
  snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
  nodes: number[];
}
