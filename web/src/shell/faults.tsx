import { Link, useRouteError } from 'react-router';

import { Page } from '../parts/Page';

export function NotFound() {
  return (
    <Page title="Page not found">
      <p className="state empty">This address does not exist. Press Ctrl-K to search, or go to the <Link to="/">overview</Link>.</p>
    </Page>
  );
}

/** Shown if a page throws, or if its code cannot be loaded. */
export function PageFault() {
  const error = useRouteError();
  return (
    <div className="state failure" role="alert">
      <strong>This page failed: {error instanceof Error ? error.message : String(error)}.</strong>{' '}
      <button type="button" onClick={() => location.reload()}>Reload</button>
    </div>
  );
}
