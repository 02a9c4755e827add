// Tells the page that the log has grown: `tas:advanced` on <body>, at most once a second, the last news never lost.
import type { Clock } from './socket';

export class Advance {
  private last = -Infinity;
  private waiting = false;
  private seq = 0;

  constructor(private readonly clock: Clock, private readonly tell: (seq: number) => void) {}

  to(seq: number): void {
    this.seq = Math.max(this.seq, seq);
    if (this.waiting) return;
    const wait = this.last + 1000 - this.clock.now();
    if (wait <= 0) this.now();
    else {
      this.waiting = true;
      this.clock.after(wait, () => { this.waiting = false; this.now(); });
    }
  }

  private now(): void {
    this.last = this.clock.now();
    this.tell(this.seq);
  }
}

export function tellBody(seq: number): void {
  document.body.dispatchEvent(new CustomEvent('tas:advanced', { detail: { seq } }));
}
