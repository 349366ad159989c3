// What a saved picture is made of: written as SVG (`svg.ts`), or painted (`painting.ts`). Places are px, y downwards.

interface Titled {
  /** What is said to who points at it. */
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

/** d: as SVG has it. */
export interface Path extends Titled {
  kind: 'path';
  d: string;
  stroke: string;
  width: number;
  dash?: string;
}

/** y: of its base line. */
export interface Words extends Titled {
  kind: 'words';
  x: number;
  y: number;
  said: string;
  fill: string;
  size?: number;
  bold?: boolean;
  anchor?: 'middle' | 'end';
}

export interface Group extends Titled {
  kind: 'group';
  marks: readonly Mark[];
  /** How far it is moved down. */
  down?: number;
}

export type Mark = Rectangle | Path | Words | Group;

/** The size of text that says none. */
export const TEXT_PX = 12;
export const FONT = 'system-ui, sans-serif';

export interface Drawing {
  title: string;
  /** Its upper left corner. */
  x: number;
  y: number;
  width: number;
  height: number;
  marks: readonly Mark[];
}
