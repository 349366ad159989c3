// The words for the states of columns with personal data.
import type { Schemas } from '../api/client';

type Exposure = Schemas['SurfaceItem']['exposure'];

export const EXPOSURE_WORDS: Readonly<Record<Exposure, string>> = { exposed: 'readable', masked: 'masked', once_exposed: 'once readable', unknown: 'not proven' };
