// The dark or light theme: the system's, unless the user has chosen one.
import { useSyncExternalStore } from 'react';

const KEY = 'headwater-theme';
const listeners = new Set<() => void>();
const system = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : undefined;

function current(): 'dark' | 'light' {
  const chosen = localStorage.getItem(KEY);
  return chosen === 'dark' || chosen === 'light' ? chosen : system?.matches ? 'dark' : 'light';
}

function apply(): void {
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener();
}

system?.addEventListener('change', apply);
apply();

export function useTheme(): ['dark' | 'light', () => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, current);
  return [
    theme,
    () => {
      localStorage.setItem(KEY, theme === 'dark' ? 'light' : 'dark');
      apply();
    },
  ];
}
