// Makes invisible characters visible in the text of elements; see jsx-runtime.ts.
import { jsx, jsxs } from 'react/jsx-runtime';
import { Link, NavLink } from 'react-router';
import type { ElementType, ReactNode } from 'react';

import { partsOf, visible } from './invisible';

type Props = Record<string, unknown>;

const TEXT_ATTRIBUTES = ['title', 'aria-label', 'aria-valuetext', 'placeholder', 'alt'];
const TEXT_ONLY = new Set(['option', 'title', 'text', 'tspan', 'textarea', 'style', 'script']);
const CODE = new Set(['pre', 'code']);
const LINKS = new Set<unknown>([Link, NavLink]); // components that render one element

/** Return an element's properties with invisible characters made visible. Properties of components stay unchanged. */
export function shownProps(type: ElementType, props: unknown): unknown {
  const isElement = typeof type === 'string' || typeof type === 'symbol' || LINKS.has(type);
  if (!isElement || typeof props !== 'object' || props === null) return props;
  const given = props as Props;
  let shown = given;
  for (const name of TEXT_ATTRIBUTES) {
    const text = given[name];
    const visibleText = typeof text === 'string' ? visible(text) : text;
    if (visibleText !== text) shown = { ...shown, [name]: visibleText };
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

/** Text with marks for invisible characters. Copying it yields the original text. */
function Marked({ parts }: { parts: { text: string; mark?: string }[] }) {
  return jsxs('span', {
    children: parts.map((part, at) => (part.mark === undefined ? part.text : jsx('span', { className: 'odd', 'data-mark': part.mark, children: jsx('bdi', { children: part.text }) }, at))),
  });
}
