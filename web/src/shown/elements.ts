// What elements show of text; see jsx-runtime.ts.
import { jsx, jsxs } from 'react/jsx-runtime';
import { Link, NavLink } from 'react-router';
import type { ElementType, ReactNode } from 'react';

import { partsOf, visible } from './odd';

type Props = Record<string, unknown>;

const SAID = ['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt'];
const TEXT_ONLY = new Set(['option', 'title', 'text', 'tspan', 'textarea', 'style', 'script']);
const CODE = new Set(['pre', 'code']);
const LINKS = new Set<unknown>([Link, NavLink]); // elements in all but name

/** Return an element's properties with text that can be seen; those of components are theirs. */
export function shownProps(type: ElementType, props: unknown): unknown {
  const isElement = typeof type === 'string' || typeof type === 'symbol' || LINKS.has(type);
  if (!isElement || typeof props !== 'object' || props === null) return props;
  const given = props as Props;
  let shown = given;
  for (const name of SAID) {
    const text = given[name];
    const seen = typeof text === 'string' ? visible(text) : text;
    if (seen !== text) shown = { ...shown, [name]: seen };
  }
  const children = shownChildren(type, given.children);
  return children === given.children ? shown : { ...shown, children };
}

function shownChildren(type: ElementType, children: unknown): unknown {
  if (typeof children === 'string') return shownText(type, children, undefined);
  if (!Array.isArray(children)) return children;
  const shown = children.map((each: unknown, at) => (typeof each === 'string' ? shownText(type, each, `text ${at}`) : each));
  return shown.some((each, at) => each !== children[at]) ? shown : children;
}

function shownText(type: ElementType, text: string, key: string | undefined): ReactNode {
  if (TEXT_ONLY.has(type as string)) return visible(text);
  const parts = partsOf(text, CODE.has(type as string));
  return parts ? jsx(Marked, { parts }, key) : text;
}

/** Text whose odd characters are seen; what is copied is the text itself. */
function Marked({ parts }: { parts: { text: string; mark?: string }[] }) {
  return jsxs('span', {
    children: parts.map((part, at) => (part.mark === undefined ? part.text : jsx('span', { className: 'odd', 'data-mark': part.mark, children: jsx('bdi', { children: part.text }) }, at))),
  });
}
