// Starts one Headwater for all tests that only read.
import type { TestProject } from 'vitest/node';

import { circle, consumers } from './cases';
import { generated, hostile, recorded } from './events';
import { CONTRACTS, Headwater, SINKS } from './headwater';

declare module 'vitest' {
  export interface ProvidedContext {
    url: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const headwater = await new Headwater({}, SINKS, CONTRACTS).start();
  await headwater.post(recorded());
  await headwater.post([...generated(60), ...hostile(), ...circle(), ...consumers(60)]);
  project.provide('url', headwater.url);
  return () => headwater.end();
}
