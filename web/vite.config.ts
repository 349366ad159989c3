import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const api = process.env.HEADWATER_URL ?? 'http://127.0.0.1:5000';

export default defineConfig({
  plugins: [react({ jsxImportSource: '#shown' })],
  build: {
    outDir: '../headwater/api/web/assets',
    emptyOutDir: true,
    cssCodeSplit: false, // a style that failed to come is not asked for again
    assetsInlineLimit: 0, // a data: URL for a worker or an icon would need a weaker content policy
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': api, '/auth': api, '/health': api, '/docs': api, '/openapi.json': api } },
  test: {
    fileParallelism: false, // the browser tests share one machine
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: ['src/**/*.test.{ts,tsx}'], exclude: ['src/pages/*'], environment: 'jsdom', setupFiles: 'jsdom.ts' },
      },
      {
        extends: true,
        esbuild: { jsxDev: false },
        test: { name: 'shapes', include: ['src/pages/*.test.tsx'], environment: 'jsdom', setupFiles: 'jsdom.ts', env: { NODE_ENV: 'production' } },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['tests/**/*.test.ts'],
          environment: 'node',
          globalSetup: ['tests/sharedBrowser.ts', 'tests/setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true, // not tests: what `make screenshots` and `python -m bench.dashboard` run
        test: {
          name: 'tools',
          include: ['bench/*.ts'],
          environment: 'node',
          globalSetup: 'tests/sharedBrowser.ts',
          testTimeout: 600_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
