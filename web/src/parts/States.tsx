// Loading, empty and failing: each says what it is and what to do.
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';

import { key, mayPass, Refused, Unreachable } from '../api/client';

export function Failure({ error }: { error: Error }) {
  const fix = error instanceof Refused || error instanceof Unreachable ? error.fix : 'Reload the page.';
  const nearest = error instanceof Refused ? error.nearest : [];
  return (
    <div className="state failure" role="alert">
      <strong><bdi>{error.message}</bdi></strong> <span>{fix}</span>
      {error instanceof Refused && (error.status === 401 || error.status === 403) && <> <button type="button" onClick={() => key.ask(`${error.message} ${error.fix}`)}>Give another key</button></>}
      {nearest.length > 0 && (
        <p>
          Near it: {nearest.map((name) => <bdi key={name} className="chip">{name}</bdi>)}
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

/** What is missing where no event told of any, and where a producer learns to tell. */
export function NothingYet({ children }: { children: string }) {
  return <>{children} <Link to="/connect">Point a producer here</Link>, and it shows.</>;
}

/** Show an answer once it is there; an older one stays while a newer one cannot be had, and says so. */
export function Answered<T>({ query, children }: { query: UseQueryResult<T>; children: (answer: T) => ReactNode }) {
  const { data, error } = query;
  return (
    <>
      {error && <Failure error={error} />}
      {data !== undefined && (!error || mayPass(error)) ? children(data) : !error && <Loading />}
    </>
  );
}
