// The frame around every page: navigation, search, connection state and the key dialog.
import { Suspense, lazy, useEffect, useState, useSyncExternalStore } from 'react';
import { NavLink, Outlet, ScrollRestoration, useLocation } from 'react-router';

import { key } from '../api/client';
import { useLiveState, type LiveState } from '../api/live';
import { Loading } from '../parts/States';
import { Account } from './Account';
import { Behind } from './Behind';
import { loadWithRetry } from './codeLoading';
import { Navigation } from './Navigation';
import { PageNotice, ServerNotice } from './Notice';
import { useTheme } from './theme';

const Search = lazy(() => loadWithRetry(() => import('./Search')));
const KeyPrompt = lazy(() => loadWithRetry(() => import('./KeyPrompt')));

const LABELS: Record<LiveState, string> = {
  connecting: 'Connecting',
  live: 'Live',
  away: 'Headwater does not respond; trying again',
  polling: 'Refreshing every 10 s',
  refused: 'Not live: the key needs the role read',
};

export function Shell() {
  const [searching, setSearching] = useState(false);
  useSearchKeys(() => setSearching(true));
  return (
    <>
      <a className="skip" href="#main">Skip to the page</a>
      <Top onSearch={() => setSearching(true)} />
      <main id="main" className="main" tabIndex={-1}>
        <ServerNotice />
        <PageNotice />
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </main>
      <Suspense>
        {searching && <Search onClose={() => setSearching(false)} />}
        <KeyWanted />
      </Suspense>
      <ScrollRestoration />
    </>
  );
}

function Top({ onSearch }: { onSearch: () => void }) {
  const [theme, turn] = useTheme();
  const { key: visit } = useLocation();
  const [openAt, setOpenAt] = useState<string>(); // opening another page closes the menu
  return (
    <header className="top">
      <NavLink to="/" className="brand">Headwater</NavLink>
      <button type="button" className="menu quiet" aria-expanded={openAt === visit} aria-controls="pages" onClick={() => setOpenAt(openAt === visit ? undefined : visit)}>
        Pages
      </button>
      <nav id="pages" aria-label="Pages" className={openAt === visit ? 'open' : ''}>
        <Navigation />
      </nav>
      <button type="button" className="search-button" onClick={onSearch}>
        Search <kbd>Ctrl K</kbd>
      </button>
      <Behind />
      <LiveMark />
      <Account />
      <button type="button" className="quiet" onClick={turn} aria-label={`Use ${theme === 'dark' ? 'light' : 'dark'} colours`}>
        <span aria-hidden="true">{theme === 'dark' ? '☀' : '☾'}</span>
      </button>
    </header>
  );
}

function LiveMark() {
  const state = useLiveState();
  return (
    <span className={`live-mark is-${state}`} role="status" title={LABELS[state]}>
      <span className={state === 'away' ? '' : 'hide-small'}>{LABELS[state]}</span>
    </span>
  );
}

function KeyWanted() {
  const wanted = useSyncExternalStore(key.subscribe, key.prompt);
  return wanted ? <KeyPrompt why={wanted.why} /> : null;
}

/** Open the search with Ctrl-K, or with `/` outside of input fields. */
function useSearchKeys(open: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select, [contenteditable]');
      const wanted = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !typing);
      if (wanted) {
        event.preventDefault();
        open();
      }
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [open]);
}
