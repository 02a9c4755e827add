// Times in the reader's zone, and about when an event was that is not known here yet.
import type { Point } from './protocol';

/** Zones whose short names browsers do not agree on. */
const NAMED: Record<string, string> = { UTC: 'UTC', 'Asia/Tokyo': 'JST' };

export class Times {
  private readonly parts: Intl.DateTimeFormat;
  private readonly relative: Intl.RelativeTimeFormat;
  marks: { seq: number; at: number }[] = [];

  constructor(private readonly zone: string, lang = document.documentElement.lang) {
    const two = '2-digit';
    this.parts = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone, year: 'numeric', month: two, day: two, hour: two, minute: two, second: two, hourCycle: 'h23', timeZoneName: 'short',
    });
    this.relative = new Intl.RelativeTimeFormat(lang || undefined, { numeric: 'always' });
  }

  learn(marks: Point[]): void { this.marks = marks.map(({ seq, recorded_at }) => ({ seq, at: Date.parse(recorded_at) })); }

  /** `2026-11-29 16:24:07 JST`, as the server writes it. */
  text(at: number): string {
    const part: Record<string, string> = {};
    for (const { type, value } of this.parts.formatToParts(at)) part[type] = value;
    return `${part['year']}-${part['month']}-${part['day']} ${part['hour']}:${part['minute']}:${part['second']} ${NAMED[this.zone] ?? part['timeZoneName']}`;
  }

  /** `2 hours ago`. */
  ago(at: number, now: number): string {
    const seconds = Math.max(0, (now - at) / 1000);
    const units: [Intl.RelativeTimeFormatUnit, number][] = [['day', 86400], ['hour', 3600], ['minute', 60], ['second', 1]];
    const [unit, length] = units.find(([, size]) => seconds >= size) ?? ['second', 1];
    return this.relative.format(-Math.floor(seconds / length), unit);
  }

  /** Whether the time of the event is known from a mark. */
  exact(seq: number): boolean { return this.marks.some((mark) => mark.seq === seq); }

  /** Between the marks around it, in proportion; null where there are none. */
  about(seq: number): number | null {
    const { marks } = this;
    const after = marks.findIndex((mark) => mark.seq >= seq);
    if (after < 0) return marks[marks.length - 1]?.at ?? null;
    const right = marks[after]!, left = marks[Math.max(0, after - 1)]!;
    if (right.seq === left.seq) return right.at;
    return left.at + ((right.at - left.at) * (seq - left.seq)) / (right.seq - left.seq);
  }

  /** Events a second between neighbouring marks within a span, with where they begin and end. */
  rates(low: number, high: number): { from: number; to: number; rate: number }[] {
    const rates: { from: number; to: number; rate: number }[] = [];
    for (let n = 1; n < this.marks.length; n++) {
      const left = this.marks[n - 1]!, right = this.marks[n]!;
      if (right.seq <= low || left.seq >= high) continue;
      rates.push({ from: left.seq, to: right.seq, rate: ((right.seq - left.seq) * 1000) / Math.max(1, right.at - left.at) });
    }
    return rates;
  }
}
