// Selects the time of the lineage graph: a slider over the times of changes, a field for any time, and an earlier time to compare with.
import { useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Label, Slider, SliderThumb, SliderTrack } from 'react-aria-components';

import { ask } from '../api/client';
import { useAddress } from '../api/hooks';
import { marquez, type Namespaces } from '../api/marquez';
import { fieldOf, isoOf, time } from '../parts/format';

const LOOKED_AT = 25;
const STEPS = 48;

interface Props {
  asOf: string;
  since: string;
  moments: readonly string[];
  onChange: (changes: { asOf?: string; since?: string }) => void;
}

/** Evenly spaced times between the first and the newest event in the lake. The map uses them, because it has no times of changes. */
export function useLifetime(enabled: boolean): string[] {
  const { data } = useAddress<Namespaces>(marquez.namespaces, { limit: 1_000 }, { enabled });
  return useMemo(() => {
    const times = (enabled && data ? data.namespaces : []).flatMap((each) => [Date.parse(each.createdAt), Date.parse(each.updatedAt)]);
    return evenly(Math.min(...times), Math.max(...times), STEPS);
  }, [enabled, data]);
}

/** Return `steps` evenly spaced times from first to last (ms since 1970), or an empty list if first is not before last. */
function evenly(first: number, last: number, steps: number): string[] {
  if (!(first < last)) return [];
  return Array.from({ length: steps }, (_, step) => new Date(first + ((last - first) * step) / (steps - 1)).toISOString());
}

/** The times at which the upstream lineage of the first LOOKED_AT tables changed, oldest first. */
export function useMoments(tables: readonly { namespace: string; dataset: string }[]): string[] {
  return useQueries({
    queries: tables.slice(0, LOOKED_AT).map(({ namespace, dataset }) => ({
      queryKey: ['timeline', { namespace, dataset, limit: 500 }],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask('timeline', { namespace, dataset, limit: 500 }, signal),
      staleTime: 30_000,
    })),
    combine: (found) => [...new Set(found.flatMap(({ data }) => data?.items.map((item) => item.time) ?? []))].sort(),
  });
}

export function TimeBar({ asOf, since, moments, onChange }: Props) {
  const at = asOf ? moments.filter((moment) => moment <= asOf).length - 1 : moments.length;
  return (
    <div className="time-bar" role="group" aria-label="Time">
      {moments.length > 0 && (
        <Slider
          className="slider" minValue={0} maxValue={moments.length} value={Math.max(0, at)}
          onChange={(value) => onChange({ asOf: moments[value] ?? '' })}
        >
          <Label>As of</Label>
          <output className="slider-value">{asOf ? `${time(asOf)} UTC` : 'now'}</output>
          <SliderTrack className="slider-track"><SliderThumb className="slider-thumb" aria-valuetext={asOf ? time(asOf) : 'now'} /></SliderTrack>
        </Slider>
      )}
      <label>
        {moments.length > 0 ? 'or' : 'As of'} (UTC){' '}
        <input type="datetime-local" step={1} value={fieldOf(asOf || null)} onChange={(event) => onChange({ asOf: isoOf(event.target.value) })} />
      </label>
      <label>
        compared with{' '}
        <input type="datetime-local" step={1} value={fieldOf(since || null)} onChange={(event) => onChange({ since: isoOf(event.target.value) })} />
      </label>
      {(asOf || since) && <button type="button" className="quiet" onClick={() => onChange({ asOf: '', since: '' })}>Now</button>}
    </div>
  );
}
