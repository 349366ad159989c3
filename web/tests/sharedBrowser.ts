// One browser for all files of a run.
import type { TestProject } from 'vitest/node';

import { serve } from './launching';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the browser listens. */
    browser: string;
  }
}

export default async function sharedBrowser(project: TestProject): Promise<() => Promise<void>> {
  const browser = await serve();
  project.provide('browser', browser.wsEndpoint());
  return () => browser.close();
}
