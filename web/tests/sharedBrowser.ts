// Starts one browser for all test files of a run.
import type { TestProject } from 'vitest/node';

import { serve } from './launching';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The WebSocket address of the browser. */
    browser: string;
  }
}

export default async function sharedBrowser(project: TestProject): Promise<() => Promise<void>> {
  const browser = await serve();
  project.provide('browser', browser.wsEndpoint());
  return () => browser.close();
}
