// Notices above every page: the setting `notice`, and a notice if the code of a page cannot be loaded or the server has a newer build.
import { useEffect, useRef } from 'react';
import { useNavigation } from 'react-router';

import { useLiveState } from '../api/live';
import { useMe } from '../api/me';
import { Loading } from '../parts/States';
import { checkForNewBuild, useLoadState } from './codeLoading';

/** Shown until the code of the first page is loaded. */
export function Starting() {
  return <main className="main"><Notice wanted="" /><Loading /></main>;
}

/** The text of the setting `notice`. */
export function ServerNotice() {
  const { data: me } = useMe();
  return me?.notice ? <p className="state server-notice" role="note">{me.notice}</p> : null;
}

export function PageNotice() {
  const { location } = useNavigation();
  const state = useLiveState();
  const before = useRef(state);
  useEffect(() => {
    if (state === 'live' && before.current === 'away') void checkForNewBuild();
    before.current = state;
  }, [state]);
  return <Notice wanted={location ? location.pathname + location.search + location.hash : ''} />;
}

/** wanted: the address of the page that is being opened, or empty. */
function Notice({ wanted }: { wanted: string }) {
  const loadState = useLoadState();
  if (loadState === 'whole') return null;
  const go = () => (wanted ? window.location.assign(wanted) : window.location.reload());
  return (
    <p className="state notice" role="status">
      {loadState === 'late' ? 'Part of this page could not be loaded. Trying again.' : 'Headwater was updated. Reload to use the new version.'}{' '}
      <button type="button" onClick={go}>Reload</button>
      {loadState === 'newer' && <span className="hint"> The address keeps your current view.</span>}
    </p>
  );
}
