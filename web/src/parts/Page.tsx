// The frame of a page: title, tools and sections. It also sets the window title.
import { useEffect, type ReactNode } from 'react';

import { visible } from '../shown/invisible';

const SITE = ' · Headwater';

/** The title of the current page, for the names of saved files. */
export const titleNow = (): string => document.title.replace(SITE, '');

export function Page({ title, hint, tools, children }: { title: string; hint?: ReactNode; tools?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = visible(title) + SITE;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <h1><bdi>{title || 'No name'}</bdi></h1>
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
