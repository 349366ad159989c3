// React's JSX runtime with an extension: every element marks characters that are invisible or change the text direction.
// So no page can forget the marks. tsconfig.json and vite.config.ts set this module as the source of JSX.
import { Fragment, jsx as element, jsxs as elements } from 'react/jsx-runtime';

import { shownProps } from './elements';

export type { JSX } from 'react/jsx-runtime';
export { Fragment };

export const jsx: typeof element = (type, props, key) => element(type, shownProps(type, props), key);
export const jsxs: typeof elements = (type, props, key) => elements(type, shownProps(type, props), key);
