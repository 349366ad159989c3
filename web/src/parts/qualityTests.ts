// The tests of a dataset, as the last run that tested it reported them in the facet `dataQualityAssertions`.
import type { Facets } from '../api/marquez';

export interface QualityTest {
  name: string;
  /** Empty if the test is about the whole dataset. */
  column: string;
  passed: boolean;
  expected: string;
  actual: string;
}

/** Return the tests, failed ones first. Facets come from producers, so entries of another shape are ignored. */
export function testsOf(facets: Facets): QualityTest[] {
  const facet = facets.dataQualityAssertions as { assertions?: unknown } | null | undefined;
  const sent: unknown[] = Array.isArray(facet?.assertions) ? facet.assertions : [];
  const tests = sent.flatMap((each): QualityTest[] => {
    if (typeof each !== 'object' || each === null) return [];
    const { name, assertion, column, success, expected, actual } = each as Record<string, unknown>;
    if (typeof success !== 'boolean') return [];
    return [{ name: text(name) || text(assertion) || 'test', column: text(column), passed: success, expected: text(expected), actual: text(actual) }];
  });
  return tests.sort((a, b) => Number(a.passed) - Number(b.passed) || a.name.localeCompare(b.name));
}

const text = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '');
