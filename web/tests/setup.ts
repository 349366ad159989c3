// One Headwater for all tests that only look, and one browser for all.
import type { TestProject } from 'vitest/node';

import { circle, consumers } from './cases';
import { generated, hostile, recorded } from './events';
import { Headwater, SINKS } from './headwater';
import { serve } from './launching';

declare module 'vitest' {
  export interface ProvidedContext {
    url: string;
    /** Where the browser listens. */
    browser: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = await serve();
  project.provide('browser', browser.wsEndpoint());
  const headwater = await new Headwater({}, SINKS).start();
  await headwater.post(recorded());
  await headwater.post([...generated(60), ...hostile(), ...circle(), ...consumers(60)]);
  project.provide('url', headwater.url);
  return async () => {
    await browser.close();
    await headwater.end();
  };
}
