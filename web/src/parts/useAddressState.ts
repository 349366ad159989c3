// The state of a page is in its address, so reloading and sharing keep it.
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';

type Changes = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

export interface AddressState {
  get: (name: string) => string;
  all: (name: string) => string[];
  set: (changes: Changes, replace?: boolean) => void;
}

export function useAddressState(): AddressState {
  const [parameters, setParameters] = useSearchParams();
  return useMemo(
    () => ({
      get: (name) => parameters.get(name) ?? '',
      all: (name) => parameters.getAll(name),
      set: (changes, replace = false) => setParameters((before) => changed(before, changes), { replace }),
    }),
    [parameters, setParameters],
  );
}

/** Return a copy of the parameters with these changes. Parameters with an empty value are removed. */
export function changed(before: URLSearchParams, changes: Changes): URLSearchParams {
  const next = new URLSearchParams(before);
  for (const [name, value] of Object.entries(changes)) {
    next.delete(name);
    for (const each of typeof value === 'object' && value !== null ? value : [value])
      if (each !== null && each !== undefined && each !== '') next.append(name, String(each));
  }
  return next;
}
