// The routes of all pages. If a page fails, the frame around it stays usable.
import type { RouteObject } from 'react-router';

import { Overview } from '../pages/Overview';
import { loadWithRetry } from './codeLoading';
import { NotFound, PageFault } from './faults';
import { Starting } from './Notice';
import { Shell } from './Shell';

const PAGES: RouteObject[] = [
  { index: true, element: <Overview /> },
  { path: 'lineage', lazy: async () => ({ Component: (await import('../pages/Lineage')).Lineage }) },
  { path: 'search', lazy: async () => ({ Component: (await import('../pages/SearchPage')).SearchPage }) },
  { path: 'datasets', lazy: async () => ({ Component: (await import('../pages/Datasets')).Datasets }) },
  { path: 'jobs', lazy: async () => ({ Component: (await import('../pages/Jobs')).Jobs }) },
  { path: 'runs', lazy: async () => ({ Component: (await import('../pages/Runs')).Runs }) },
  { path: 'dataset', lazy: async () => ({ Component: (await import('../pages/Dataset')).Dataset }) },
  { path: 'column', lazy: async () => ({ Component: (await import('../pages/Column')).Column }) },
  { path: 'job', lazy: async () => ({ Component: (await import('../pages/Job')).Job }) },
  { path: 'job-graph', lazy: async () => ({ Component: (await import('../pages/JobGraph')).JobGraph }) },
  { path: 'run', lazy: async () => ({ Component: (await import('../pages/Run')).Run }) },
  { path: 'surface', lazy: async () => ({ Component: (await import('../pages/Surface')).Surface }) },
  { path: 'unused', lazy: async () => ({ Component: (await import('../pages/Unused')).Unused }) },
  { path: 'diff', lazy: async () => ({ Component: (await import('../pages/Diff')).Diff }) },
  { path: 'health', lazy: async () => ({ Component: (await import('../pages/Health')).Health }) },
  { path: 'contracts', lazy: async () => ({ Component: (await import('../pages/Contracts')).Contracts }) },
  { path: 'coverage', lazy: async () => ({ Component: (await import('../pages/Coverage')).Coverage }) },
  { path: 'events', lazy: async () => ({ Component: (await import('../pages/Events')).Events }) },
  { path: 'rejected', lazy: async () => ({ Component: (await import('../pages/Rejected')).Rejected }) },
  { path: 'unreported', lazy: async () => ({ Component: (await import('../pages/Unreported')).Unreported }) },
  { path: 'connect', lazy: async () => ({ Component: (await import('../pages/Connect')).Connect }) },
  { path: 'sinks', lazy: async () => ({ Component: (await import('../pages/Sinks')).Sinks }) },
  { path: 'keys', lazy: async () => ({ Component: (await import('../pages/Keys')).Keys }) },
  { path: 'settings', lazy: async () => ({ Component: (await import('../pages/Settings')).Settings }) },
  { path: 'design', lazy: async () => ({ Component: (await import('../pages/Design')).Design }) },
  { path: '*', element: <NotFound /> },
];

/** Let a page wait for its code while the server does not respond. */
function withRetry(page: RouteObject): RouteObject {
  const { lazy } = page;
  return typeof lazy === 'function' ? ({ ...page, lazy: () => loadWithRetry(lazy) }) : page;
}

/** Wrap pages in the frame, for the browser and for tests. */
export const routesOf = (pages: RouteObject[] = PAGES): RouteObject[] => [
  {
    element: <Shell />,
    errorElement: <main className="main"><PageFault /></main>,
    HydrateFallback: Starting,
    children: [{ errorElement: <PageFault />, children: pages.map(withRetry) }],
  },
];
