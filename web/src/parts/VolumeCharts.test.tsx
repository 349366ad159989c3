import { cleanup, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, test } from 'vitest';

import type { Schemas } from '../api/client';
import { VolumeChart } from './VolumeCharts';

afterEach(cleanup);

const point = (day: number, value: number, verdict: Schemas['VolumePoint']['verdict']): Schemas['VolumePoint'] => ({
  time: `2026-03-0${day}T05:00:00Z`, value, run: `run-${day}`, state: 'COMPLETE', verdict, low: 900, high: 1_100,
}); // prettier-ignore

const SERIES: Schemas['VolumeSeries'] = {
  measure: 'rows', column: null, test: null, points: [point(1, 1_000, 'usual'), point(2, 1_010, 'usual'), point(3, 300, 'unusual')],
  judgement: { verdict: 'unusual', low: 900, expected: 1_000, high: 1_100, smallest_drop: 0.1, reason: '' },
}; // prettier-ignore

const shown = (series: Schemas['VolumeSeries']) => render(<MemoryRouter><VolumeChart series={series} /></MemoryRouter>);

test('a chart has its unusual values as marks and as text with the run', () => {
  const { container } = shown(SERIES);
  expect(screen.getByRole('img', { name: 'Rows written: 3 values, 1 unusual' })).toBeTruthy();
  expect(screen.getByText('usually 900 to 1,100')).toBeTruthy();
  expect(container.querySelectorAll('line').length).toBe(1);
  expect(screen.getByRole('listitem').textContent).toBe('◷ 2026-03-03 05:00:00: 300 run-3');
  expect(screen.getByRole('link').getAttribute('href')).toContain('run-3');
});

test('a series with one value, and failed tests, have charts too', () => {
  const judgement = { ...SERIES.judgement, verdict: 'usual' as const, low: null, high: null };
  shown({ ...SERIES, measure: 'test', test: 'unique', column: 'id', points: [point(1, 1, 'usual')], judgement });
  expect(screen.getByText('unique · id')).toBeTruthy();
  expect(screen.getByText('passed')).toBeTruthy();
});
