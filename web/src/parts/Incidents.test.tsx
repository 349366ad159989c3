import { QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, test, vi } from 'vitest';

import type { Answer } from '../api/client';
import { queryClient } from '../api/hooks';
import { Incidents } from './Incidents';

afterEach(() => {
  cleanup();
  queryClient.clear();
  vi.unstubAllGlobals();
});

const FAILED: Answer<'incidents'>['items'][number] = {
  id: '0123456789abcdef', kind: 'run.failed', severity: 'error', state: 'open',
  subject: { kind: 'job', namespace: 'airflow', name: 'nightly.load', column: null, test: null },
  opened: '2026-03-01T05:00:00Z', detected: '2026-03-01T05:00:00Z', resolved: null, due: null, columns: [],
  summary: 'Job nightly.load failed: disk full. Not up to date: orders.',
  error: { message: 'OSError: disk full', frame: null }, failureCount: 2,
  failures: [{ id: 'run-1', job: { namespace: 'airflow', name: 'nightly.load' }, state: 'FAIL', time: '2026-03-01T05:00:00Z' }],
  affected: [{ namespace: 's3://lake', dataset: 'orders', distance: 0 }], affectedCount: 1, owners: [{ name: 'team:sales', type: null, source: 'facet' as const }],
  downstreamOwners: [], tags: [], downstreamTags: [],
}; // prettier-ignore

function shown(items: Answer<'incidents'>['items']) {
  const answer = { since: '2026-03-01T00:00:00Z', until: '2026-03-02T00:00:00Z', items, kinds: {}, totalCount: items.length, truncated: false };
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } })));
  render(<QueryClientProvider client={queryClient}><MemoryRouter><Incidents /></MemoryRouter></QueryClientProvider>);
}

test('an incident has its cause, what it affects and whom to contact', async () => {
  shown([FAILED]);
  expect((await screen.findByRole('link', { name: 'nightly.load' })).getAttribute('href')).toBe('/job?namespace=airflow&name=nightly.load');
  expect(screen.getByText('OSError: disk full')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'orders' })).toBeTruthy();
  expect(screen.getByText('team:sales')).toBeTruthy();
  expect(screen.getByText('✕ open')).toBeTruthy();
});

test('a night without incidents says so', async () => {
  shown([]);
  expect(await screen.findByText('No incidents since yesterday.')).toBeTruthy();
});
