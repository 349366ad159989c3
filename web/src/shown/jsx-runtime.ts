// React's own, but elements show characters that are not seen or turn text around: wherever a name is shown, so that no
// page has to remember it. tsconfig.json and vite.config.ts name this module as the source of JSX.
import { Fragment, jsx as element, jsxs as elements } from 'react/jsx-runtime';

import { shownProps } from './elements';

export type { JSX } from 'react/jsx-runtime';
export { Fragment };

export const jsx: typeof element = (type, props, key) => element(type, shownProps(type, props), key);
export const jsxs: typeof elements = (type, props, key) => elements(type, shownProps(type, props), key);
