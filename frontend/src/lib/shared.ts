// What one script of a page has and later ones use too: theme.js comes first, then console.js, then map.js.
import type { Advance, tellBody } from './advance';
import type { Pill } from './pill';
import type { typing } from './shortcuts';
import type { LiveSocket, browserClock, socketUrl } from './socket';
import type { store, stored, toggle } from './theme';

export interface Shared {
  Advance: typeof Advance;
  LiveSocket: typeof LiveSocket;
  Pill: typeof Pill;
  browserClock: typeof browserClock;
  socketUrl: typeof socketUrl;
  tellBody: typeof tellBody;
  typing: typeof typing;
}

export function share(shared: Shared): void { Object.assign(globalThis, { tas: shared }); }

export function shared(): Shared { return (globalThis as unknown as { tas: Shared }).tas; }

export interface Theme {
  store: typeof store;
  stored: typeof stored;
  toggle: typeof toggle;
}

export function shareTheme(theme: Theme): void { Object.assign(globalThis, { tasTheme: theme }); }

export function sharedTheme(): Theme { return (globalThis as unknown as { tasTheme: Theme }).tasTheme; }
