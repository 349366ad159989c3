// Lineage as of a moment: a slider over the moments at which it changed, or any moment; and an earlier one to compare with.
import { useQueries } from '@tanstack/react-query';
import { Label, Slider, SliderThumb, SliderTrack } from 'react-aria-components';

import { ask } from '../api/client';
import { fieldOf, isoOf, time } from '../parts/format';
import type { Picture } from './picture';

const LOOKED_AT = 25;

interface Props {
  asOf: string;
  since: string;
  moments: readonly string[];
  onChange: (changes: { asOf?: string; since?: string }) => void;
}

/** The moments at which what feeds the tables of a picture changed, oldest first. */
export function useMoments(picture: Picture | undefined): string[] {
  const tables = (picture?.tables ?? []).filter((table) => table.kind === 'table').slice(0, LOOKED_AT);
  return useQueries({
    queries: tables.map(({ namespace, name }) => ({
      queryKey: ['timeline', { namespace, dataset: name, limit: 500 }],
      queryFn: ({ signal }: { signal: AbortSignal }) => ask('timeline', { namespace, dataset: name, limit: 500 }, signal),
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
