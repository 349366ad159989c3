// Every address and its page; a page that fails leaves the shell around it as it is.
import type { RouteObject } from 'react-router';

import { Overview } from '../pages/Overview';
import { loaded } from './coming';
import { Lost, PageFault } from './faults';
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
  { path: '*', element: <Lost /> },
];

/** A page whose part is waited for while Headwater is away. */
function patient(page: RouteObject): RouteObject {
  const { lazy } = page;
  return typeof lazy === 'function' ? ({ ...page, lazy: () => loaded(lazy) }) : page;
}

/** Routes around these pages, for a browser or for a test. */
export const routesOf = (pages: RouteObject[] = PAGES): RouteObject[] => [
  {
    element: <Shell />,
    errorElement: <main className="main"><PageFault /></main>,
    HydrateFallback: Starting,
    children: [{ errorElement: <PageFault />, children: pages.map(patient) }],
  },
];
