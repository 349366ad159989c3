// The steps of a path: jobs, transformations and SQL in one text, for reading and copying.
import { useQueries } from '@tanstack/react-query';

import { ask, type Answer } from '../api/client';
import { Code } from '../parts/Facets';
import { Section } from '../parts/Page';
import { download } from '../parts/csv';
import { Loading } from '../parts/States';

type Path = Answer<'path'>['path'];

export function PathSteps({ path, lens }: { path: Path; lens: Readonly<Record<string, string>> }) {
  const queries = path.map((step) => questionOf(step, lens));
  const distinct = [...new Map(queries.map((query) => [JSON.stringify(query), query])).values()];
  const text = useQueries({
    queries: distinct.map((query) => ({ queryKey: ['edge', query], queryFn: ({ signal }: { signal: AbortSignal }) => ask('edge', query, signal) })),
    combine: (found) => {
      if (found.some(({ isPending }) => isPending)) return undefined; // wait for all answers, so that the text does not change with each answer
      const answers = new Map(distinct.map((query, at) => [JSON.stringify(query), found[at]?.data]));
      return path.map((step, at) => stepText(step, answers.get(JSON.stringify(queries[at])), at)).join('\n\n');
    },
  });
  if (text === undefined) return <Section title="Steps of this path"><Loading /></Section>;
  return (
    <Section title="Steps of this path">
      <p className="tools">
        <button type="button" onClick={() => void copy(text)}>Copy</button>
        <button type="button" onClick={() => download('path.sql', new Blob([text], { type: 'text/plain' }))}>Save</button>
      </p>
      <Code text={text} label="SQL and expressions of every step" />
    </Section>
  );
}

function questionOf({ via, ...into }: Path[number], lens: Readonly<Record<string, string>>) {
  return {
    fromNamespace: via.namespace, fromDataset: via.dataset, fromColumn: via.column,
    toNamespace: into.namespace, toDataset: into.dataset, toColumn: into.column, ...lens,
  }; // prettier-ignore
}

/** Format one step: a comment with its jobs and transformations, then its SQL. */
function stepText(step: Path[number], answer: Answer<'edge'> | undefined, at: number): string {
  const name = (end: { dataset: string; column?: string | null }) => (end.column ? `${end.dataset}#${end.column}` : end.dataset);
  const reported = (answer?.items ?? []).map(({ job, transformations }) => {
    const what = transformations.map((each) => [each.type, each.subtype, each.masking && 'masks', each.description].filter(Boolean).join(' · '));
    return [`job ${job.namespace}/${job.name}`, ...new Set(what)].join('\n');
  });
  const lines = [`${at + 1}. ${name(step.via)} → ${name(step)}`, ...new Set(reported)];
  const sql = [...new Set((answer?.items ?? []).flatMap((item) => item.sql ?? []))];
  return [...lines.map((line) => `-- ${line.replaceAll('\n', '\n-- ')}`), ...(sql.length ? sql : ['-- no SQL was reported'])].join('\n');
}

/** Copy the text. Browsers offer the clipboard only on https and localhost; on other pages, select the text for Ctrl-C. */
async function copy(text: string): Promise<void> {
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) return clipboard.writeText(text);
  const code = document.querySelector('[aria-label="SQL and expressions of every step"]');
  if (code) getSelection()?.selectAllChildren(code);
}
