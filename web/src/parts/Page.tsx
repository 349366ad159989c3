// A page: its title, which is also the window's, and its parts.
import { useEffect, type ReactNode } from 'react';

import { visible } from '../shown/odd';

const SITE = ' · Headwater';

/** The title of the page that is shown, as files are named after it. */
export const titleNow = (): string => document.title.replace(SITE, '');

export function Page({ title, hint, tools, children }: { title: string; hint?: ReactNode; tools?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = visible(title) + SITE;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <h1><bdi>{title || 'No name was given'}</bdi></h1>
        {tools && <div className="tools">{tools}</div>}
        {hint && <p className="hint">{hint}</p>}
      </header>
      {children}
    </>
  );
}

export function Section({ title, tools, children }: { title: string; tools?: ReactNode; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        {tools}
      </div>
      {children}
    </section>
  );
}
