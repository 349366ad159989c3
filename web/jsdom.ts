// What jsdom lacks and pages need to be drawn in the unit tests: sizes, observers of them, and the layout's worker.
import { URL, URLSearchParams } from 'node:url';

import { cleanup } from '@testing-library/react';
import { afterEach, vi } from 'vitest';

import { createLayoutPipeline, type LayoutRequest } from './src/graph/layoutPipeline';

const WINDOW_PX = 2_700; // eighty rows of a table are in sight
const ROW_PX = 34;

/** The layout's worker without a thread. */
class LayoutWorker extends EventTarget {
  private readonly pipeline = createLayoutPipeline();
  postMessage(request: LayoutRequest): void {
    queueMicrotask(() => this.dispatchEvent(new MessageEvent('message', { data: this.pipeline(request) })));
  }
}

class Observer {
  constructor(private readonly callback: (entries: { target: Element; contentRect: { width: number; height: number } }[]) => void) {}
  observe(target: Element): void {
    this.callback([{ target, contentRect: { width: WINDOW_PX, height: WINDOW_PX } }]);
  }
  unobserve = () => undefined;
  disconnect = () => undefined;
}

const sized = (name: string, px: (element: Element) => number): void => {
  Object.defineProperty(HTMLElement.prototype, name, { configurable: true, get(this: Element) { return px(this); } });
};

for (const name of ['offsetHeight', 'clientHeight']) sized(name, (element) => (element.classList.contains('grid') ? WINDOW_PX : ROW_PX));
for (const name of ['offsetWidth', 'clientWidth']) sized(name, () => 800);
vi.stubGlobal('URL', URL); // as quick as a browser's: jsdom's took a sixth of the time of a page full of links
vi.stubGlobal('URLSearchParams', URLSearchParams);
vi.stubGlobal('ResizeObserver', Observer);
vi.stubGlobal('Worker', LayoutWorker);
vi.stubGlobal('DOMMatrixReadOnly', class { m22 = 1; });
vi.stubGlobal('scrollTo', () => undefined);
afterEach(cleanup);
