// What console.js has and map.js uses too: one copy of it on the page (console.js is loaded first).
import type { Advance, tellBody } from './advance';
import type { Pill } from './pill';
import type { typing } from './shortcuts';
import type { LiveSocket, browserClock, socketUrl } from './socket';

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
