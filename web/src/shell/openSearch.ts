// Lets a page open the search dialog of the frame around it.
import { createContext } from 'react';

export const OpenSearchContext = createContext<() => void>(() => undefined);
