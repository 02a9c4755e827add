// Keys that work anywhere: never while typing, never while an input method composes, and they can be switched off.
import { store, stored, toggle as toggleTheme } from './theme';

const OFF = 'tas-shortcuts-off';
const CHORD_MS = 1500;

export function typing(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  return event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey
    || !!target?.closest('input, textarea, select, [contenteditable], dialog[open]');
}

function follow(address: string | undefined): void {
  if (address) location.assign(address);
}

export function bindShortcuts(): void {
  const { dataset } = document.body;
  const places: Record<string, string | undefined> = { m: dataset['gMap'], p: dataset['gPending'], h: dataset['gHistory'], s: dataset['gSettings'] };
  let chordUntil = 0;
  const actions: Record<string, () => void> = {
    '/': () => {
      const search = document.getElementById('search') as HTMLInputElement | null;
      search?.focus();
      search?.select();
    },
    '?': showHelp,
    '[': () => follow(dataset['prev']),
    ']': () => follow(dataset['next']),
    '{': () => follow(dataset['prevSame']),
    '}': () => follow(dataset['nextSame']),
    t: toggleTheme,
    g: () => { chordUntil = Date.now() + CHORD_MS; },
  };
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || typing(event) || stored(OFF)) return;
    const chord = Date.now() < chordUntil;
    chordUntil = 0;
    const act = chord ? places[event.key] && (() => follow(places[event.key])) : actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  document.getElementById('theme-toggle')?.addEventListener('click', toggleTheme);
  document.getElementById('help-toggle')?.addEventListener('click', showHelp);
  const off = document.getElementById('shortcuts-toggle') as HTMLInputElement | null;
  if (off) {
    off.checked = !stored(OFF);
    off.addEventListener('change', () => store(OFF, off.checked ? '' : '1'));
  }
}

function showHelp(): void {
  const help = document.getElementById('help');
  if (help instanceof HTMLDialogElement && !help.open) help.showModal();
}
