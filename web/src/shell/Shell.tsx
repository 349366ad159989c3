// The frame around every page: navigation, search, connection state and the key dialog.
import { Suspense, lazy, useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { Link, Outlet, ScrollRestoration, useLocation } from 'react-router';

import { key } from '../api/client';
import { useLiveState, type LiveState } from '../api/live';
import { IconButton } from '../design/components';
import { Icon } from '../design/Icon';
import { Logo } from '../design/Logo';
import { Loading } from '../parts/States';
import { Account } from './Account';
import { Behind } from './Behind';
import { loadWithRetry } from './codeLoading';
import { Navigation } from './Navigation';
import { OpenSearchContext } from './openSearch';
import { PageNotice, ServerNotice } from './Notice';
import { useTheme } from './theme';

const Search = lazy(() => loadWithRetry(() => import('./Search')));
const Shortcuts = lazy(() => loadWithRetry(() => import('./Shortcuts')));
const KeyPrompt = lazy(() => loadWithRetry(() => import('./KeyPrompt')));

const LABELS: Record<LiveState, string> = {
  connecting: 'Connecting',
  live: 'Live',
  away: 'Headwater does not respond; trying again',
  polling: 'Refreshing every 10 s',
  refused: 'Not live: the key needs the role read',
};

/** Pages with a graph need the width, so there the navigation shows only icons until the user chooses. */
const WIDE_PAGES = ['/lineage', '/job-graph'];

export function Shell() {
  const [searching, setSearching] = useState(false);
  const [helping, setHelping] = useState(false);
  const { key: visit, pathname } = useLocation();
  const [openAt, setOpenAt] = useState<string>(); // opening another page closes the menu of a small screen
  const [isNarrow, turnNavigation] = useNavigationWidth(WIDE_PAGES.includes(pathname));
  const openSearch = useCallback(() => setSearching(true), []);
  useShortcuts(openSearch, () => setHelping(true));
  return (
    <div className={isNarrow ? 'app is-narrow' : 'app'}>
      <a className="skip" href="#main">Skip to the page</a>
      <Top isOpen={openAt === visit} onMenu={() => setOpenAt(openAt === visit ? undefined : visit)} onSearch={openSearch} onHelp={() => setHelping(true)} />
      <nav id="pages" aria-label="Pages" className={openAt === visit ? 'side open' : 'side'}>
        <Link to="/" className="brand"><Logo /><span className="place-name">Headwater</span></Link>
        <Navigation />
        <button type="button" className="quiet turn" aria-expanded={!isNarrow} aria-label="Names of pages" title={isNarrow ? 'Show the names of pages' : 'Show only icons'} onClick={turnNavigation}><Icon name="sidebar" /></button>
      </nav>
      <main id="main" className="main" tabIndex={-1}>
        <ServerNotice />
        <PageNotice />
        <Suspense fallback={<Loading />}>
          <OpenSearchContext value={openSearch}><Outlet /></OpenSearchContext>
        </Suspense>
      </main>
      <Suspense>
        {searching && <Search onClose={() => setSearching(false)} />}
        {helping && <Shortcuts onClose={() => setHelping(false)} />}
        <KeyWanted />
      </Suspense>
      <ScrollRestoration />
    </div>
  );
}

interface TopProps {
  isOpen: boolean;
  onMenu: () => void;
  onSearch: () => void;
  onHelp: () => void;
}

function Top({ isOpen, onMenu, onSearch, onHelp }: TopProps) {
  const [theme, turn] = useTheme();
  return (
    <header className="top">
      <Link to="/" className="brand"><Logo /> Headwater</Link>
      <button type="button" className="menu quiet" aria-expanded={isOpen} aria-controls="pages" onClick={onMenu}><Icon name="menu" /> Pages</button>
      <button type="button" className="search-button" onClick={onSearch}>
        <Icon name="search" /><span>Search</span> <kbd>Ctrl K</kbd>
      </button>
      <span className="top-end">
        <Behind />
        <LiveMark />
        <Account />
        <IconButton icon="keyboard" label="Keyboard shortcuts" onClick={onHelp} />
        <IconButton icon={theme === 'dark' ? 'sun' : 'moon'} label={`Use ${theme === 'dark' ? 'light' : 'dark'} colours`} onClick={turn} />
      </span>
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

/** Open the search with Ctrl-K, and outside of input fields with `/`, and the list of shortcuts with `?`. */
function useShortcuts(openSearch: () => void, openHelp: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, select, [contenteditable], [role=dialog]');
      const wanted = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !typing) ? openSearch : event.key === '?' && !typing ? openHelp : undefined;
      if (!wanted) return;
      event.preventDefault();
      wanted();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [openSearch, openHelp]);
}

const WIDTH_KEY = 'headwater-navigation';

/** Return whether the navigation shows only icons, and a function that changes it. The choice stays in this browser. */
function useNavigationWidth(isNarrowAtFirst: boolean): [boolean, () => void] {
  const [chosen, choose] = useState(() => localStorage.getItem(WIDTH_KEY));
  const isNarrow = chosen === null ? isNarrowAtFirst : chosen === 'narrow';
  return [
    isNarrow,
    () => {
      const next = isNarrow ? 'wide' : 'narrow';
      localStorage.setItem(WIDTH_KEY, next);
      choose(next);
    },
  ];
}
