// Why a run failed: the root cause first, with folded stack traces, and the failed tests.
import type { Schemas } from '../api/client';
import { Code } from '../parts/Facets';
import { count } from '../parts/format';
import { DataTable } from '../parts/DataTable';
import { DatasetLink } from '../parts/Names';
import { Section } from '../parts/Page';

export function Failures({ errors, tests }: { errors: readonly Schemas['RunError'][]; tests: readonly Schemas['FailedTest'][] }) {
  return (
    <>
      {errors.map((error, at) => (
        <Section key={at} title={error.of === 'run' ? 'Error' : 'Lineage could not be extracted'}>
          <p className="error-what whole"><bdi>{error.causes[0]?.what ?? error.message}</bdi></p>
          <p className="dim">From the facet <bdi className="mono">{error.facet}</bdi>{error.causes.length > 1 && `: ${count(error.causes.length)} exceptions, root cause first`}</p>
          {error.task && <Code text={error.task} label="Task without lineage" />}
          {error.causes.map((cause, place) => <Cause key={place} cause={cause} place={place} />)}
          {error.causes.length > 0 && <details><summary>Full message</summary><Code text={error.message} label="Message" /></details>}
        </Section>
      ))}
      {tests.length > 0 && <Tests tests={tests} />}
    </>
  );
}

function Cause({ cause, place }: { cause: Schemas['ErrorCause']; place: number }) {
  const more = cause.trace.length - cause.telling.length + cause.lines_left_out;
  const label = `Stack trace of ${cause.what.slice(0, 80)}`;
  return (
    <div className="cause">
      {place > 0 && <p className="whole">caused <bdi>{cause.what}</bdi></p>}
      {cause.telling.length > 0 && <Code text={cause.telling.join('\n')} label={label} />}
      {more > 0 && (
        <details>
          <summary>Full stack trace, {count(more)} more lines{cause.lines_left_out > 0 && `, ${count(cause.lines_left_out)} of them only in the facet below`}</summary>
          <Code text={cause.trace.join('\n')} label={`Full ${label.toLowerCase()}`} />
        </details>
      )}
    </div>
  );
}

function Tests({ tests }: { tests: readonly Schemas['FailedTest'][] }) {
  return (
    <Section title="Failed tests">
      <DataTable
        name="tests" rows={tests} empty="None."
        columns={[
          { id: 'name', title: 'Test', value: (row) => row.name, width: 'minmax(10rem, 2fr)' },
          { id: 'dataset', title: 'Dataset', value: (row) => row.dataset?.dataset, width: 'minmax(8rem, 2fr)',
            show: (row) => row.dataset && <DatasetLink id={{ namespace: row.dataset.namespace, name: row.dataset.dataset }} /> },
          { id: 'column', title: 'Column', value: (row) => row.column, width: 'minmax(6rem, 1fr)' },
          { id: 'severity', title: 'Severity', value: (row) => row.severity, width: '6rem' },
          { id: 'expected', title: 'Expected', value: (row) => row.expected, width: 'minmax(6rem, 1fr)' },
          { id: 'actual', title: 'Actual', value: (row) => row.actual, width: 'minmax(6rem, 1fr)' },
          { id: 'description', title: 'Description', value: (row) => row.description, width: 'minmax(8rem, 2fr)' },
        ]}
      />
    </Section>
  );
}
