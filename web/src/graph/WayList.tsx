// What every step of a way does: its jobs, transformations and SQL in one list, to be read and copied.
import { useQueries } from '@tanstack/react-query';

import { ask, type Answer } from '../api/client';
import { Code } from '../parts/Facets';
import { Section } from '../parts/Page';
import { download } from '../parts/csv';
import { Loading } from '../parts/States';

type Way = Answer<'path'>['path'];

export function WayList({ way, lens }: { way: Way; lens: Readonly<Record<string, string>> }) {
  const asked = way.map((step) => questionOf(step, lens));
  const distinct = [...new Map(asked.map((query) => [JSON.stringify(query), query])).values()];
  const text = useQueries({
    queries: distinct.map((query) => ({ queryKey: ['edge', query], queryFn: ({ signal }: { signal: AbortSignal }) => ask('edge', query, signal) })),
    combine: (found) => {
      if (found.some(({ isPending }) => isPending)) return undefined; // written once, not anew with each step's answer
      const answers = new Map(distinct.map((query, at) => [JSON.stringify(query), found[at]?.data]));
      return way.map((step, at) => stepText(step, answers.get(JSON.stringify(asked[at])), at)).join('\n\n');
    },
  });
  if (text === undefined) return <Section title="What this way does"><Loading what="Asking" /></Section>;
  return (
    <Section title="What this way does">
      <p className="tools">
        <button type="button" onClick={() => void copy(text)}>Copy</button>
        <button type="button" onClick={() => download('way.sql', new Blob([text], { type: 'text/plain' }))}>Save</button>
      </p>
      <Code text={text} label="SQL and expressions of every step" />
    </Section>
  );
}

function questionOf({ via, ...into }: Way[number], lens: Readonly<Record<string, string>>) {
  return {
    fromNamespace: via.namespace, fromDataset: via.dataset, fromColumn: via.column,
    toNamespace: into.namespace, toDataset: into.dataset, toColumn: into.column, ...lens,
  }; // prettier-ignore
}

/** One step as a comment with what was reported of it, and its SQL. */
function stepText(step: Way[number], answer: Answer<'edge'> | undefined, at: number): string {
  const name = (end: { dataset: string; column?: string | null }) => (end.column ? `${end.dataset}#${end.column}` : end.dataset);
  const reported = (answer?.items ?? []).map(({ job, transformations }) => {
    const what = transformations.map((each) => [each.type, each.subtype, each.masking && 'masks', each.description].filter(Boolean).join(' · '));
    return [`job ${job.namespace}/${job.name}`, ...new Set(what)].join('\n');
  });
  const lines = [`${at + 1}. ${name(step.via)} → ${name(step)}`, ...new Set(reported)];
  const sql = [...new Set((answer?.items ?? []).flatMap((item) => item.sql ?? []))];
  return [...lines.map((line) => `-- ${line.replaceAll('\n', '\n-- ')}`), ...(sql.length ? sql : ['-- no SQL was reported'])].join('\n');
}

/** Browsers give the clipboard to https and to localhost only; elsewhere the text is marked, for Ctrl-C. */
async function copy(text: string): Promise<void> {
  const clipboard = navigator.clipboard as Clipboard | undefined;
  if (clipboard) return clipboard.writeText(text);
  const code = document.querySelector('[aria-label="SQL and expressions of every step"]');
  if (code) getSelection()?.selectAllChildren(code);
}
