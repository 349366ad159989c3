// Symbols of health states, for readers who cannot rely on colour.
import type { Schemas } from '../api/client';

/** The symbol of each state, on the page and in saved pictures. */
export const SIGNS: Readonly<Record<Schemas['HealthItem']['status'], string>> = { failed: '✕', late: '◷', stale: '↯', ok: '✓', unknown: '?' };

export const LEGEND_OF_HEALTH = `${SIGNS.failed} failed  ${SIGNS.late} late  ${SIGNS.stale} stale  ${SIGNS.ok} on time  ${SIGNS.unknown} unknown, at the time of saving`;
