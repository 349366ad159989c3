// How things fare, without colours: on the page and on what is saved of it.
import type { Schemas } from '../api/client';

/** What stands beside the colour: a sign, and the word. */
export const SIGNS: Readonly<Record<Schemas['HealthItem']['status'], string>> = { failed: '✕', late: '◷', stale: '↯', ok: '✓', unknown: '?' };

export const LEGEND_OF_HEALTH = `${SIGNS.failed} failed  ${SIGNS.late} late by its own rhythm  ${SIGNS.stale} stale  ${SIGNS.ok} on time  ${SIGNS.unknown} not known, when it was saved`;
