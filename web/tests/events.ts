// Events for the tests: the recorded pipeline, a generated lake, and hostile names.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { PYTHON, ROOT } from './headwater';

const facet = (members: object) => ({ _producer: 'https://example.com/tests', _schemaURL: 'https://example.com/facet.json', ...members });

interface Named {
  namespace: string;
  name: string;
}

/** Return the events that the Spark listener sent for a medallion pipeline. */
export function recorded(): unknown[] {
  return lines(readFileSync(join(ROOT, 'tests/fixtures/events/spark-3.5.7-listener-1.53.0.ndjson'), 'utf8'));
}

/** Return the events of a generated warehouse with jobs in layers. */
export function generated(jobs: number): unknown[] {
  const program = `from bench.generate import generate\nfor line in generate(${2 * jobs}, 8, jobs=${jobs}): print(line.decode())`;
  return lines(execFileSync(PYTHON, ['-c', program], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 28 }));
}

const lines = (text: string): unknown[] => text.split('\n').filter(Boolean).map((line) => JSON.parse(line) as unknown);

let runs = 0;

/** Return a run that derives one table from another, column by column. */
export function run(job: string, from: Named, to: Named, columns: Record<string, string>, time: string): Record<string, unknown> {
  const fields = Object.fromEntries(
    Object.entries(columns).map(([into, source]) => [into, {
      inputFields: [{ ...from, field: source, transformations: [{ type: 'DIRECT', subtype: 'IDENTITY', description: '', masking: false }] }],
    }]),
  ); // prettier-ignore
  const schema = (names: string[]) => facet({ fields: names.map((name) => ({ name, type: 'string' })) });
  runs += 1;
  return {
    eventTime: time, eventType: 'COMPLETE', producer: 'https://example.com/tests',
    schemaURL: 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent',
    run: { runId: `0195c000-0000-7000-8000-${String(runs).padStart(12, '0')}` },
    job: { namespace: 'tests', name: job },
    inputs: [{ ...from, facets: { schema: schema(Object.values(columns)) } }],
    outputs: [{ ...to, facets: { schema: schema(Object.keys(columns)), columnLineage: facet({ fields }) } }],
  }; // prettier-ignore
}

export const HOSTILE = {
  namespace: 'odd://näme "spaces"',
  names: [
    '<img src=x onerror=alert(1)>',
    '🦆 family 👩‍👩‍👧',
    '\u202egnp.elif\u202c שלום',
    `${'long_'.repeat(39)}names`,
    "</script><script>alert('x')</script>",
    '../../etc/passwd/..\\win',
    'nul\u0000 and \u200b nothing\ttab',
    '__proto__',
    'x'.repeat(5_000),
    'half \ud800 a pair',
  ],
} as const;

/** Return a chain of tables with hostile names; columns, jobs, tags and descriptions also have these names. */
export function hostile(): unknown[] {
  const { namespace, names } = HOSTILE;
  return names.map((name, at) => {
    const before = names.at(at - 1) ?? '';
    const sent = run(`job ${before}`, { namespace, name: before }, { namespace, name }, { [`${name} column`]: `${before} column` }, '2026-11-21T10:00:00Z');
    const [output] = sent.outputs as { facets: Record<string, unknown> }[];
    Object.assign(output?.facets ?? {}, {
      documentation: facet({ description: name }), ownership: facet({ owners: [{ name, type: name }] }), tags: facet({ tags: [{ key: name, value: name, source: name }, { key: 'odd', value: 'true', field: `${name} column` }] }),
      symlinks: facet({ identifiers: [{ namespace, name: `alias of ${name}`, type: name }] }), [`custom_${name.slice(0, 30)}`]: facet({ [name]: name }),
    }); // prettier-ignore
    const job = sent.job as Record<string, unknown>;
    job.facets = { sql: facet({ query: `SELECT '${name}'` }), documentation: facet({ description: name }), ownership: facet({ owners: [{ name, type: name }] }), sourceCodeLocation: facet({ type: 'git', url: `javascript:alert('${name}')` }) };
    const runMember = sent.run as Record<string, unknown>;
    runMember.facets = { errorMessage: facet({ message: name, programmingLanguage: name, stackTrace: `${name}\n  at ${name}` }), parent: facet({ run: { runId: '0195c000-0000-7000-8000-0000000000ff' }, job: { namespace, name } }) };
    return { ...sent, eventType: at % 2 ? 'COMPLETE' : 'FAIL' };
  });
}
