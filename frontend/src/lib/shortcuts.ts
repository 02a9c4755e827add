// Keys that work anywhere: never while typing, never while an input method composes, and they can be switched off.
import { sharedTheme } from './shared';

const { store, stored, toggle: toggleTheme } = sharedTheme();
const OFF = 'tas-shortcuts-off';
const CHORD_MS = 1500;

export function typing(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  return event.isComposing || event.keyCode === 229 || event.ctrlKey || event.metaKey || event.altKey
    || !!target?.closest('input:not([type=range]), textarea, select, [contenteditable], dialog[open]');
}

function follow(address: string): void { location.assign(address); }

export function bindShortcuts(): void {
  const { dataset } = document.body;
  const places: Record<string, string | undefined> = { m: dataset['gMap'], p: dataset['gPending'], h: dataset['gHistory'], s: dataset['gSettings'] };
  let chordUntil = 0;
  const to = (address: string | undefined): (() => void) | undefined => address ? () => follow(address) : undefined;
  const actions: Record<string, (() => void) | undefined> = {
    '/': () => {
      const search = document.getElementById('search') as HTMLInputElement | null;
      search?.focus();
      search?.select();
    },
    '?': showHelp,
    '[': to(dataset['prev']),
    ']': to(dataset['next']),
    '{': to(dataset['prevSame']),
    '}': to(dataset['nextSame']),
    t: toggleTheme,
    g: () => { chordUntil = Date.now() + CHORD_MS; },
  };
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || typing(event) || stored(OFF)) return;
    const chord = Date.now() < chordUntil;
    chordUntil = 0;
    const act = chord ? to(places[event.key]) : actions[event.key];
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
