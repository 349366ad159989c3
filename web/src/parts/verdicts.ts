// The answers to the question whether a column can be dropped.
import type { Schemas } from '../api/client';
import type { Tone } from '../design/components';

export const VERDICTS: Readonly<Record<Schemas['Verdict']['verdict'], readonly [answer: string, tone: Tone]>> = {
  used: ['No, it is used', 'plain'], unused: ['Yes, no reported job reads it', 'good'], unknown: ['Not proven', 'warn'],
}; // prettier-ignore
