// Light or dark: what the person chose here before, else what the system prefers.
export type Theme = 'light' | 'dark';

const KEY = 'tas-theme';

export function chosen(): Theme {
  const kept = stored(KEY);
  if (kept === 'light' || kept === 'dark') return kept;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

export function apply(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
}

/** Switches and keeps the choice; the event lets the canvas take its colours again. */
export function toggle(): void {
  const theme: Theme = document.documentElement.dataset['theme'] === 'dark' ? 'light' : 'dark';
  apply(theme);
  store(KEY, theme);
  document.dispatchEvent(new CustomEvent('tas:theme'));
}

/** localStorage, or null where the browser forbids it (then nothing is remembered, and nothing breaks). */
export function stored(key: string): string | null {
  try { return localStorage.getItem(key); } catch { return null; }
}

export function store(key: string, value: string): void {
  try { localStorage.setItem(key, value); } catch { /* private mode: the choice lasts for this page */ }
}
