// Fills the timeline: what is wanted first, then what is near it. One question at a time, so that a server under load
// is not asked for much that nobody will look at.
import type { Chunk, PastSnapshot } from './protocol';
import { CHUNK, Timeline } from './timeline';

export interface Asked {
  snapshot(at: number): Promise<PastSnapshot>;
  chunk(after: number, limit: number, epoch: number): Promise<Chunk>;
}

/** Chunks to each side of what is shown that are fetched before anybody asks. */
const AHEAD = 8;

export class Loader {
  private running = false;
  private wanted = 0;
  private generation = 0;

  constructor(
    private readonly timeline: Timeline,
    private readonly source: Asked,
    private readonly period: { first: number; head: number },
    /** `anew`: indices mean other nodes from here on, also those of the picture. */
    private readonly events: { came(): void; anew(): void; failed(error: unknown): void },
  ) {}

  /** Another key or another history: nothing that was known is true any more. */
  reset(): void {
    this.generation++;
    this.running = false;
    this.timeline.clear();
  }

  /** `seq` is to be shown. */
  want(seq: number): void {
    this.wanted = seq;
    if (!this.running) void this.run(this.generation);
  }

  private async run(generation: number): Promise<void> {
    this.running = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        const add = await next();
        if (generation !== this.generation) return;
        if (!add()) {
          this.timeline.clear();
          this.events.anew();
        }
        this.events.came();
      }
    } catch (error) {
      if (generation === this.generation) this.events.failed(error);
    } finally {
      if (generation === this.generation) this.running = false;
    }
  }

  /** The next question, null when there is none. Its answer is a function that keeps what came. */
  private next(): (() => Promise<() => boolean>) | null {
    const { timeline, source, wanted, period: { first, head } } = this;
    if (!timeline.reachable(wanted)) {
      return async () => {
        const snapshot = await source.snapshot(wanted);
        return () => timeline.addSnapshot(snapshot);
      };
    }
    for (let far = 0; far <= AHEAD; far++) {
      for (const seq of far ? [wanted - far * CHUNK, wanted + far * CHUNK] : [wanted]) {
        const missing = seq >= first && seq <= Math.max(head, 1) ? timeline.missing(seq, first, head) : null;
        if (!missing) continue;
        return async () => {
          const chunk = await source.chunk(missing.after, missing.limit, timeline.epoch);
          // A log that is shorter than it was said to be (a database that was restored) is not asked for ever.
          if (!chunk.frames.length) this.period.head = Math.min(this.period.head, chunk.head);
          return () => timeline.addChunk(chunk);
        };
      }
    }
    return null;
  }
}
