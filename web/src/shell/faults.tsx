import { Link, useRouteError } from 'react-router';

import { Page } from '../parts/Page';

export function Lost() {
  return (
    <Page title="No such page">
      <p className="state empty">There is nothing at this address. Press Ctrl-K to search, or go to the <Link to="/">overview</Link>.</p>
    </Page>
  );
}

/** A fault of the page itself, or a part of it that did not come. */
export function PageFault() {
  const error = useRouteError();
  return (
    <div className="state failure" role="alert">
      <strong>This page failed: {error instanceof Error ? error.message : String(error)}.</strong>{' '}
      <button type="button" onClick={() => location.reload()}>Reload</button>
    </div>
  );
}
