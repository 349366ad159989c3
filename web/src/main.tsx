import './app.css';

import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createBrowserRouter, RouterProvider } from 'react-router';

import { queryClient } from './api/hooks';
import { listen } from './api/live';
import { Overview } from './pages/Overview';
import { Loading } from './parts/States';
import { Shell } from './shell/Shell';
import { Lost, PageFault } from './shell/faults';

const router = createBrowserRouter([
  {
    element: <Shell />,
    errorElement: <PageFault />,
    HydrateFallback: Loading,
    children: [
      { index: true, element: <Overview /> },
      { path: 'lineage', lazy: async () => ({ Component: (await import('./pages/Lineage')).Lineage }) },
      { path: 'search', lazy: async () => ({ Component: (await import('./pages/SearchPage')).SearchPage }) },
      { path: 'dataset', lazy: async () => ({ Component: (await import('./pages/Dataset')).Dataset }) },
      { path: 'job', lazy: async () => ({ Component: (await import('./pages/Job')).Job }) },
      { path: 'run', lazy: async () => ({ Component: (await import('./pages/Run')).Run }) },
      { path: 'surface', lazy: async () => ({ Component: (await import('./pages/Surface')).Surface }) },
      { path: 'unused', lazy: async () => ({ Component: (await import('./pages/Unused')).Unused }) },
      { path: 'diff', lazy: async () => ({ Component: (await import('./pages/Diff')).Diff }) },
      { path: 'coverage', lazy: async () => ({ Component: (await import('./pages/Coverage')).Coverage }) },
      { path: 'events', lazy: async () => ({ Component: (await import('./pages/Events')).Events }) },
      { path: 'rejected', lazy: async () => ({ Component: (await import('./pages/Rejected')).Rejected }) },
      { path: 'settings', lazy: async () => ({ Component: (await import('./pages/Settings')).Settings }) },
      { path: '*', element: <Lost /> },
    ],
  },
]);

void listen();

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
