// Says above every page that a part of it does not come, or that Headwater has a newer one.
import { useEffect, useRef } from 'react';
import { useNavigation } from 'react-router';

import { useLiveState } from '../api/live';
import { Loading } from '../parts/States';
import { lookForNewer, useComing } from './coming';

/** What stands in place of a page whose own part has not come yet. */
export function Starting() {
  return <main className="main"><Notice wanted="" /><Loading /></main>;
}

export function PageNotice() {
  const { location } = useNavigation();
  const state = useLiveState();
  const before = useRef(state);
  useEffect(() => {
    if (state === 'live' && before.current === 'away') void lookForNewer();
    before.current = state;
  }, [state]);
  return <Notice wanted={location ? location.pathname + location.search + location.hash : ''} />;
}

/** wanted: the address that one was on the way to. */
function Notice({ wanted }: { wanted: string }) {
  const coming = useComing();
  if (coming === 'whole') return null;
  const go = () => (wanted ? window.location.assign(wanted) : window.location.reload());
  return (
    <p className="state notice" role="status">
      {coming === 'late' ? 'A part of this page does not come; trying again.' : 'Headwater was changed, and this page is of before.'}{' '}
      <button type="button" onClick={go}>Reload</button>
      {coming === 'newer' && <span className="hint"> The address keeps what you look at.</span>}
    </p>
  );
}
