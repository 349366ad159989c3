import js from '@eslint/js';
import a11y from 'eslint-plugin-jsx-a11y';
import hooks from 'eslint-plugin-react-hooks';
import ts from 'typescript-eslint';

export default ts.config(
  { ignores: ['src/api/schema.d.ts', 'node_modules', 'eslint.config.js'] },
  js.configs.recommended,
  ...ts.configs.strictTypeChecked,
  ...ts.configs.stylisticTypeChecked,
  a11y.flatConfigs.recommended,
  hooks.configs.flat.recommended,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-syntax': ['error', {
        selector: "ImportExpression:not(CallExpression[callee.name='loadWithRetry'] > ArrowFunctionExpression > ImportExpression)",
        message: 'Use `loadWithRetry(() => import(…))`: it tries again while Headwater does not respond.',
      }],
      'react-hooks/incompatible-library': 'off', // TanStack's hooks return functions that the compiler would not memoise
    },
  },
  // every route is waited for in `routesOf`; what is no part of the page needs no patience
  { files: ['src/shell/routes.tsx', 'tests/**', 'bench/**', '*.ts'], rules: { 'no-restricted-syntax': 'off' } },
);
