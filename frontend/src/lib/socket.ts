// One WebSocket that comes back by itself: backoff with jitter, and a watchdog that knows silence from health.
export interface Clock {
  now(): number;
  after(ms: number, run: () => void): () => void;
  random(): number;
}

export const browserClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const id = setTimeout(run, ms);
    return () => clearTimeout(id);
  },
  random: () => Math.random(),
};

/** Silence after which a connection counts as dead. The server beats every 5 s. */
export const SILENCE_MS = 12_000;
const FIRST_MS = 300;
const LAST_MS = 15_000;

/** Wait before the n-th attempt in a row (from 0): 0.3 s doubling to 15 s, half of it random. */
export function backoff(attempt: number, random: number): number {
  const full = Math.min(LAST_MS, FIRST_MS * 2 ** attempt);
  return full / 2 + (full / 2) * random;
}

export interface SocketEvents {
  message(body: unknown): void;
  /** The connection is gone; it is being made again unless `refused` (the server's 44xx codes: asking again is no use). */
  closed(refused: boolean, code: number): void;
  /** Nothing was heard for SILENCE_MS, connected or not. Told once a silence. */
  silent(): void;
}

/** `open` makes the transport, so that tests can do without a network. */
export class LiveSocket {
  heard = 0;
  private socket: WebSocket | null = null;
  private attempt = 0;
  private cancelRetry: (() => void) | null = null;
  private cancelWatch: (() => void) | null = null;
  private cancelSilence: (() => void) | null = null;
  private told = false;
  private ended = false;

  constructor(
    private readonly url: () => string,
    private readonly events: SocketEvents,
    private readonly clock: Clock = browserClock,
    private readonly open: (url: string) => WebSocket = (address) => new WebSocket(address),
  ) {}

  /** Nothing has been heard for SILENCE_MS. */
  get quiet(): boolean {
    return this.told;
  }

  connect(): void {
    if (this.ended) return;
    this.cancelRetry?.();
    this.cancelRetry = null;
    const socket = this.open(this.url());
    this.socket = socket;
    if (!this.cancelSilence) this.listen();
    this.watch();
    socket.onmessage = (event) => {
      if (socket !== this.socket) return;
      this.attempt = 0;
      this.heard = this.clock.now();
      this.told = false;
      this.listen();
      this.watch();
      this.events.message(JSON.parse(event.data as string));
    };
    socket.onclose = (event) => {
      if (socket === this.socket) this.lost(event.code);
    };
  }

  /** After sleep or a hidden tab: timers may have stood still, so look now. */
  check(): void {
    if (this.ended) return;
    if (this.clock.now() - this.heard >= SILENCE_MS) {
      this.silence();
      this.giveUp();
    } else if (!this.socket) {
      this.connect();
    }
  }

  /** Ends this connection and makes another at once (a new key, a changed address). */
  reconnect(): void {
    this.drop();
    this.attempt = 0;
    this.connect();
  }

  /** Looks again when the page is shown or the network is back. */
  watchPage(): void {
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.check(); });
    addEventListener('online', () => this.check());
  }

  stop(): void {
    this.ended = true;
    this.drop();
    this.cancelSilence?.();
    this.cancelWatch?.();
    this.cancelRetry?.();
  }

  private lost(code: number): void {
    this.socket = null;
    const refused = code >= 4400 && code < 4408;
    this.events.closed(refused, code);
    if (refused) {
      this.stop();
      return;
    }
    this.cancelRetry = this.clock.after(backoff(this.attempt++, this.clock.random()), () => this.connect());
  }

  /** Counted from what was heard last: connections that are made and lost meanwhile are no news. */
  private listen(): void {
    this.cancelSilence?.();
    this.cancelSilence = this.clock.after(SILENCE_MS, () => this.silence());
  }

  private silence(): void {
    if (this.told) return;
    this.told = true;
    this.events.silent();
  }

  /** Each connection has as long to say something. */
  private watch(): void {
    this.cancelWatch?.();
    this.cancelWatch = this.clock.after(SILENCE_MS, () => this.giveUp());
  }

  /** A connection that is open and silent is dead without knowing it; a retry under way goes on by itself. */
  private giveUp(): void {
    if (!this.socket) return;
    this.drop();
    this.lost(0);
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }
}

/** The address of a live socket on this origin. */
export function socketUrl(path: string, key?: string): string {
  const url = new URL(path, location.href);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  if (key) url.searchParams.set('key', key);
  return url.href;
}
