// What is known of the past here: snapshots of some moments, and what the events between changed, both ways. From any
// moment it leads to any other that it knows, over fewer nodes the nearer they are. Knows no browser and no network.
import type { Kpi, NodePatch } from '../map/protocol';
import type { Chunk, PastSnapshot } from './protocol';

/** Events that are asked for at a time; they begin at multiples of it, so that no event is asked for twice. */
export const CHUNK = 500;
const MOST_CHUNKS = 120;
const MOST_SNAPSHOTS = 24;
/** Making a picture anew costs about as much as so many events. */
const ANEW = 2000;

export interface Step {
  seq: number;
  /** Milliseconds since the epoch. */
  at: number;
  type: string;
  sentence: string;
  groups: string[];
  on: NodePatch[];
  back: NodePatch[];
  before: Kpi;
  after: Kpi;
}

/** Nodes with what groups their patches index. */
export interface Patches { groups: string[]; nodes: NodePatch[] }

/** How to come to a moment: from the picture at hand, or from a snapshot. */
export interface Way { snapshot: PastSnapshot | null; patches: Patches[]; kpi: Kpi | null }

export class Timeline {
  epoch = -1;
  private steps = new Map<number, Step>();
  /** Last event known of each chunk, by number; least recently used first. */
  private ends = new Map<number, number>();
  private snapshots = new Map<number, PastSnapshot>();

  clear(): void {
    this.steps.clear();
    this.ends.clear();
    this.snapshots.clear();
    this.epoch = -1;
  }

  /** False when it is of another epoch than what is known: then nothing of it is kept. */
  addSnapshot(snapshot: PastSnapshot): boolean {
    if (this.epoch >= 0 && snapshot.epoch !== this.epoch) return false;
    this.epoch = snapshot.epoch;
    this.snapshots.delete(snapshot.seq);
    this.snapshots.set(snapshot.seq, snapshot);
    if (this.snapshots.size > MOST_SNAPSHOTS) this.snapshots.delete(this.snapshots.keys().next().value!);
    return true;
  }

  /** False as for `addSnapshot`. */
  addChunk(chunk: Chunk): boolean {
    if (this.epoch >= 0 && chunk.epoch !== this.epoch) return false;
    this.epoch = chunk.epoch;
    const now = new Map<number, NodePatch>(chunk.base.map((patch) => [patch[0], patch]));
    let kpi = chunk.kpi;
    for (const frame of chunk.frames) {
      const after = frame.kpi ?? kpi;
      this.steps.set(frame.seq, {
        seq: frame.seq, at: Date.parse(frame.recorded_at), type: frame.type, sentence: frame.sentence, groups: chunk.groups,
        on: frame.nodes, back: frame.nodes.map((patch) => now.get(patch[0])!), before: kpi, after,
      });
      for (const patch of frame.nodes) now.set(patch[0], patch);
      kpi = after;
      this.use(number(frame.seq), frame.seq);
    }
    while (this.ends.size > MOST_CHUNKS) this.drop(this.ends.keys().next().value!);
    return true;
  }

  step(seq: number): Step | null { return this.steps.get(seq) ?? null; }

  /** Where to ask on for the chunk that has this event; null when it is known up to `head`. The log is kept from the
   * event `first` on: what that one changed is told only if it is the very first.
   */
  missing(seq: number, first: number, head: number): { after: number; limit: number } | null {
    const chunk = number(seq);
    const end = Math.max(this.ends.get(chunk) ?? chunk * CHUNK, first > 1 ? first : 0);
    const last = Math.min(head, (chunk + 1) * CHUNK);
    return end >= last ? null : { after: end, limit: last - end };
  }

  /** From one moment to another; null when what lies between is not known. `from` null: there is no picture yet. */
  way(from: number | null, to: number): Way | null {
    const start = this.start(from, to);
    return start && { snapshot: start.snapshot, patches: this.between(start.seq, to), kpi: this.kpi(to) };
  }

  private start(from: number | null, to: number): { seq: number; cost: number; snapshot: PastSnapshot | null } | null {
    let best = from !== null && this.connected(from, to) ? { seq: from, cost: Math.abs(to - from), snapshot: null as PastSnapshot | null } : null;
    for (const snapshot of this.snapshots.values()) {
      const cost = Math.abs(to - snapshot.seq) + ANEW;
      if ((!best || cost < best.cost) && this.connected(snapshot.seq, to)) best = { seq: snapshot.seq, cost, snapshot };
    }
    return best;
  }

  /** Whether a picture of the moment can be made without asking for more. */
  reachable(seq: number): boolean { return this.start(null, seq) !== null; }

  private connected(from: number, to: number): boolean {
    const [low, high] = from < to ? [from, to] : [to, from];
    for (let chunk = number(low + 1); chunk <= number(high) && low < high; chunk++) {
      if ((this.ends.get(chunk) ?? 0) < Math.min(high, (chunk + 1) * CHUNK)) return false;
    }
    return true;
  }

  /** The last values, or going back the first ones, of every node that changes on the way. */
  private between(from: number, to: number): Patches[] {
    const last = new Map<number, { patch: NodePatch; groups: string[] }>();
    if (from < to) {
      for (let seq = from + 1; seq <= to; seq++) {
        const { on, groups } = this.steps.get(seq)!;
        for (const patch of on) last.set(patch[0], { patch, groups });
      }
    } else {
      for (let seq = from; seq > to; seq--) {
        const { back, groups } = this.steps.get(seq)!;
        for (const patch of back) last.set(patch[0], { patch, groups });
      }
    }
    const result = new Map<string[], NodePatch[]>();
    for (const { patch, groups } of last.values()) {
      const nodes = result.get(groups);
      if (nodes) nodes.push(patch);
      else result.set(groups, [patch]);
    }
    for (let chunk = number(Math.min(from, to) + 1); chunk <= number(Math.max(from, to)); chunk++) {
      const end = this.ends.get(chunk);
      if (end !== undefined) this.use(chunk, end);
    }
    return [...result].map(([groups, nodes]) => ({ groups, nodes }));
  }

  private kpi(seq: number): Kpi | null {
    return this.steps.get(seq)?.after ?? this.steps.get(seq + 1)?.before ?? this.snapshots.get(seq)?.kpi ?? null;
  }

  private use(chunk: number, end: number): void {
    const known = this.ends.get(chunk) ?? 0;
    this.ends.delete(chunk);
    this.ends.set(chunk, Math.max(end, known));
  }

  private drop(chunk: number): void {
    this.ends.delete(chunk);
    for (let seq = chunk * CHUNK + 1; seq <= (chunk + 1) * CHUNK; seq++) this.steps.delete(seq);
  }
}

/** The chunk that an event is in: events 1 to CHUNK are in chunk 0. */
export function number(seq: number): number { return Math.floor((seq - 1) / CHUNK); }
