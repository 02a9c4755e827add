// Snapshot and numbered deltas kept in order: buffers, finds gaps, recovers over HTTP, knows when it is behind.
// Knows no socket and no browser, so that its tests can lose, double and shuffle messages.
import type { LiveState } from '../lib/pill';
import { SILENCE_MS, backoff, type Clock } from '../lib/socket';
import type { Delta, Snapshot } from './protocol';

export interface Source {
  snapshot(): Promise<Snapshot>;
  /** What came after `since`; null when the server cannot tell (410), then a snapshot is due. */
  deltas(since: number): Promise<Delta | null>;
}

export interface Sink {
  reset(snapshot: Snapshot): void;
  apply(delta: Delta): void;
  /** `asOf`: when the picture was last known to be the newest (ms), 0 before the first snapshot. */
  state(state: LiveState, seq: number, asOf: number): void;
  /** Fetching failed; it is being tried again. */
  failed(error: unknown): void;
}

/** Deltas kept while a recovery is under way; more are a gap of their own and come with the next recovery. */
const BUFFER = 256;

export class Feed {
  seq = -1;
  epoch = -1;
  gaps = 0;
  resyncs = 0;
  private buffer: Delta[] = [];
  private newest = -1;
  private needSnapshot = true;
  private running = false;
  private connected = false;
  private paused = false;
  private attempt = 0;
  private generation = 0;
  private asOf = 0;
  private startedAt: number;
  private cancelRetry: (() => void) | null = null;
  private cancelStale: (() => void) | null = null;

  constructor(private readonly source: Source, private readonly sink: Sink, private readonly clock: Clock) {
    this.startedAt = clock.now();
  }

  /** Takes a snapshot, now and whenever the key changes; answers under way to older questions are dropped. */
  restart(): void {
    this.generation++;
    this.running = false;
    this.needSnapshot = true;
    this.buffer = [];
    this.newest = -1;
    this.epoch = -1;
    this.startedAt = this.clock.now();
    this.asOf = 0;
    this.go();
  }

  hello(epoch: number, seq: number): void {
    this.connected = true;
    if (this.epoch >= 0 && epoch !== this.epoch) {
      this.needSnapshot = true;
      this.buffer = [];
    }
    this.heartbeat(seq);
  }

  push(delta: Delta): void {
    if (this.paused) return;
    if (this.epoch >= 0 && delta.epoch !== this.epoch) this.needSnapshot = true;
    if (this.buffer.length >= BUFFER) this.buffer = [];
    this.buffer.push(delta);
    this.go();
  }

  /** The server's newest seq: reveals a loss at the tail. One behind ours means a race or a log that went back: ask. */
  heartbeat(seq: number): void {
    this.connected = true;
    this.newest = seq;
    this.go(seq < this.seq);
  }

  disconnected(): void {
    this.connected = false;
    this.tell();
  }

  pause(): void {
    this.paused = true;
    this.buffer = [];
    this.tell();
  }

  resume(): void {
    this.paused = false;
    this.startedAt = this.clock.now();
    this.go(true);
  }

  get isPaused(): boolean { return this.paused; }

  private get behind(): boolean { return this.needSnapshot || this.buffer.length > 0 || this.newest > this.seq; }

  /** Works until nothing is left to do; `probe` asks the server once although nothing seems to be missing. */
  private go(probe = false): void {
    if (this.paused || this.running) return;
    this.cancelRetry?.();
    this.cancelRetry = null;
    this.running = true;
    const generation = this.generation;
    void this.run(generation, probe).then(
      () => {
        if (generation !== this.generation) return;
        this.running = false;
        this.attempt = 0;
        if (this.behind && !this.paused) this.go();
        else this.tell();
      },
      (error: unknown) => {
        if (generation !== this.generation) return;
        this.running = false;
        this.sink.failed(error);
        this.cancelRetry = this.clock.after(backoff(this.attempt++, this.clock.random()), () => this.go(true));
        this.tell();
      },
    );
  }

  private async run(generation: number, probe: boolean): Promise<void> {
    while (!this.paused) {
      if (this.needSnapshot) {
        this.tell();
        const snapshot = await this.source.snapshot();
        if (generation !== this.generation) return;
        this.needSnapshot = false;
        this.resyncs++;
        this.epoch = snapshot.epoch;
        this.seq = snapshot.seq;
        this.sink.reset(snapshot);
        this.buffer = this.buffer.filter((delta) => delta.epoch === snapshot.epoch);
        continue;
      }
      this.drain();
      if (!this.behind && !probe) return;
      if (this.behind) {
        this.gaps++;
        this.tell();
      }
      probe = false;
      const delta = await this.source.deltas(this.seq);
      if (generation !== this.generation) return;
      if (delta === null || delta.epoch !== this.epoch) {
        this.needSnapshot = true;
        continue;
      }
      this.take(delta);
      // The server has just said what the newest is; a stray larger number must not be asked for for ever.
      this.newest = Math.min(this.newest, this.seq);
      this.buffer = this.buffer.filter((held) => held.from <= this.seq);
    }
  }

  /** Applies what is in order and forgets what is old; what is left starts beyond a gap. */
  private drain(): void {
    this.buffer.sort((a, b) => a.from - b.from);
    while (this.buffer.length > 0 && this.buffer[0]!.from <= this.seq) this.take(this.buffer.shift()!);
  }

  private take(delta: Delta): void {
    if (delta.to <= this.seq || delta.from > this.seq) return;
    this.sink.apply(delta);
    this.seq = delta.to;
  }

  private tell(): void {
    const now = this.clock.now();
    const current = this.connected && !this.running && !this.needSnapshot && this.cancelRetry === null && !this.paused;
    if (current) this.asOf = now;
    const deadline = (this.asOf || this.startedAt) + SILENCE_MS;
    this.cancelStale?.();
    this.cancelStale = null;
    if (!this.paused && now < deadline) this.cancelStale = this.clock.after(deadline - now, () => this.tellStale());
    const state: LiveState = this.paused ? 'paused' : current ? 'live' : now >= deadline ? 'stale' : 'catching';
    this.sink.state(state, this.seq, this.asOf);
  }

  private tellStale(): void {
    if (!this.paused) this.sink.state('stale', this.seq, this.asOf);
  }
}
