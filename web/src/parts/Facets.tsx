// Facets as the producer sent them, including custom facets.
import type { Facets as Sent } from '../api/marquez';
import { Empty } from './States';

export function Facets({ facets }: { facets: Sent }) {
  const names = Object.keys(facets).sort();
  if (!names.length) return <Empty>No facets were sent.</Empty>;
  return (
    <div className="facets">
      {names.map((name) => (
        <details key={name}>
          <summary><bdi>{name}</bdi></summary>
          <Code text={JSON.stringify(facets[name], null, 2)} label={`Facet ${name}`} />
        </details>
      ))}
    </div>
  );
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- keyboard users must be able to scroll it
    <pre tabIndex={0} role="group" aria-label={label}><code>{text}</code></pre>
  );
}

/** Return the text at a path inside facets, or undefined. */
export function facetText(facets: Sent | undefined, ...path: string[]): string | undefined {
  let value: unknown = facets;
  for (const name of path) value = typeof value === 'object' && value !== null ? (value as Sent)[name] : undefined;
  return typeof value === 'string' && value ? value : undefined;
}
