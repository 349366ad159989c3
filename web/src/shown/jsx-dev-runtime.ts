// jsx-runtime.ts for development and tests.
import { Fragment, jsxDEV as element } from 'react/jsx-dev-runtime';

import { shownProps } from './elements';

export type { JSX } from 'react/jsx-dev-runtime';
export { Fragment };

export const jsxDEV: typeof element = (type, props, ...rest) => element(type, shownProps(type, props), ...rest);
