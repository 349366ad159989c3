// The elements of a saved picture, rendered as SVG (`svg.ts`) or PNG (`painting.ts`). Positions are in px, y downwards.

interface Titled {
  /** The tooltip. */
  title?: string;
}

export interface Rectangle extends Titled {
  kind: 'rectangle';
  x: number;
  y: number;
  width: number;
  height: number;
  radius?: number;
  fill: string;
  stroke?: string;
  strokeWidth?: number;
}

/** A line or shape. d: its SVG path data. */
export interface Path extends Titled {
  kind: 'path';
  d: string;
  stroke: string;
  width: number;
  dash?: string;
}

/** A text. y: position of its base line. */
export interface Words extends Titled {
  kind: 'words';
  x: number;
  y: number;
  text: string;
  fill: string;
  size?: number;
  bold?: boolean;
  anchor?: 'middle' | 'end';
}

export interface Group extends Titled {
  kind: 'group';
  marks: readonly Mark[];
  /** Offset downwards (px). */
  down?: number;
}

export type Mark = Rectangle | Path | Words | Group;

/** The default text size. */
export const TEXT_PX = 12;
export const FONT = 'system-ui, sans-serif';

export interface Drawing {
  title: string;
  /** The upper left corner. */
  x: number;
  y: number;
  width: number;
  height: number;
  marks: readonly Mark[];
}
