// Loading, empty and error states, with advice on what to do.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import { key, isTransient, ApiError, Unreachable } from '../api/client';

export function Failure({ error }: { error: Error }) {
  const fix = error instanceof ApiError || error instanceof Unreachable ? error.fix : 'Reload the page.';
  const nearest = error instanceof ApiError ? error.nearest : [];
  return (
    <div className="state failure" role="alert">
      <strong><bdi>{error.message}</bdi></strong> <span>{fix}</span>
      {error instanceof ApiError && (error.status === 401 || error.status === 403) && <> <button type="button" onClick={() => key.openPrompt(`${error.message} ${error.fix}`)}>Use another key</button></>}
      {nearest.length > 0 && (
        <p>
          Similar names: {nearest.map((name) => <bdi key={name} className="chip">{name}</bdi>)}
        </p>
      )}
    </div>
  );
}

export function Loading({ what = 'Loading' }: { what?: string }) {
  return <p className="state loading" role="status">{what} …</p>;
}

export function Empty({ children }: { children: ReactNode }) {
  return <p className="state empty">{children}</p>;
}

/** The empty state of a list for which no events have arrived, with a link to the set-up page. */
export function NothingYet({ children }: { children: string }) {
  return <>{children} <Link to="/connect">Connect a producer</Link> to see data here.</>;
}

/** Show an answer when it arrives. If a refresh fails temporarily, the previous answer stays, with the error above it. */
export function Answered<T>({ query, children }: { query: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  const { data, error } = query;
  return (
    <>
      {error && <Failure error={error} />}
      {data !== undefined && (!error || isTransient(error)) ? children(data) : !error && <Loading />}
    </>
  );
}
