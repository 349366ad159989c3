import { expect, test } from 'vitest';

import { addSample, perSecond, type Sample } from './throughput';

const samples = (...counts: [number, number][]): Sample[] => counts.reduce<Sample[]>((before, [s, delivered]) => addSample(before, { at: s * 1_000, delivered }), []);

test('one count tells no throughput, two do', () => {
  expect(perSecond([])).toBeUndefined();
  expect(perSecond(samples([0, 500]))).toBeUndefined();
  expect(perSecond(samples([0, 500], [10, 700]))).toBe(20);
  expect(perSecond(samples([0, 500], [0, 700]))).toBeUndefined();
});

test('it is that of the last minute', () => {
  expect(perSecond(samples([0, 0], [10, 6_000], [70, 6_060], [80, 6_070]))).toBe(1);
});

test('what stands still falls to nothing', () => {
  expect(perSecond(samples([0, 0], [10, 100], [70, 100], [130, 100]))).toBe(0);
});

test('a count that fell begins anew', () => {
  expect(perSecond(samples([0, 500], [10, 3]))).toBeUndefined();
  expect(perSecond(samples([0, 500], [10, 3], [20, 13]))).toBe(1);
});
