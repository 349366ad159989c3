// A page: its title, which is also the window's, and its parts.
import { useEffect, type ReactNode } from 'react';

export function Page({ title, hint, tools, children }: { title: string; hint?: ReactNode; tools?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Headwater`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <h1><bdi>{title}</bdi></h1>
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
