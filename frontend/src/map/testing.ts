// For unit tests: a clock that is moved by hand, and a made-up server whose log can be listened to badly.
import type { Clock } from '../lib/socket';
import type { Delta, NodePatch, Snapshot } from './protocol';

export class TestClock implements Clock {
  private time = 1_000_000;
  private timers: { at: number; run: () => void }[] = [];

  now(): number { return this.time; }

  random(): number { return 0.5; }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.time + ms, run };
    this.timers.push(timer);
    return () => { this.timers = this.timers.filter((other) => other !== timer); };
  }

  /** Moves on and runs what is due, in order, letting promises settle in between. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.timers = this.timers.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.run();
      await settle();
    }
    this.time = end;
  }
}

export async function settle(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

const KPI = { nodes: 0, gpus: 0, gpus_used: 0, pending: 0, unlabelled: 0, largest: 0, domains_64: 0 };

/** Nodes in racks of `per`; every event takes or frees GPUs of one node. */
export class TestServer {
  seq = 1;
  epoch = 1;
  down = false;
  asked: string[] = [];
  readonly rows: { name: string; domain: string | null; state: number; gpus: number; runs: [string, number][]; changed: number }[] = [];

  constructor(nodes: number, per = 4) {
    for (let i = 0; i < nodes; i++) this.rows.push({ name: `node-${i}`, domain: `rack-${Math.floor(i / per)}`, state: 0, gpus: 8, runs: [], changed: 1 });
  }

  /** The delta of the new event. */
  change(node: number, group: string, gpus: number): Delta {
    this.seq++;
    const row = this.rows[node]!;
    row.runs = gpus ? [[group, gpus]] : [];
    row.changed = this.seq;
    return this.since(this.seq - 1);
  }

  since(seq: number): Delta {
    const groups: string[] = [];
    const nodes = this.rows.flatMap((row, index): NodePatch[] => {
      if (row.changed <= seq) return [];
      const runs = row.runs.map(([group, gpus]): [number, number] => {
        if (group && !groups.includes(group)) groups.push(group);
        return [group ? groups.indexOf(group) : -1, gpus];
      });
      return [[index, row.name, row.domain, row.state, row.gpus, ...runs]];
    });
    return { t: 'delta', epoch: this.epoch, from: seq, to: this.seq, ts: 0, groups, nodes, kpi: KPI };
  }

  async snapshot(): Promise<Snapshot> {
    this.asked.push('snapshot');
    if (this.down) throw new Error('down');
    return this.now();
  }

  async deltas(since: number): Promise<Delta | null> {
    this.asked.push(`deltas ${since}`);
    if (this.down) throw new Error('down');
    return since > this.seq ? null : this.since(since);
  }

  now(): Snapshot {
    const domains = [...new Set(this.rows.map((row) => row.domain).filter((name) => name !== null))];
    const groups: string[] = [];
    const owners = this.rows.flatMap((row) => [row.runs.length, ...row.runs.flatMap(([group, gpus]) => {
      if (group && !groups.includes(group)) groups.push(group);
      return [group ? groups.indexOf(group) : -1, gpus];
    })]);
    return {
      v: 1, epoch: this.epoch, seq: this.seq, key: 'rack', keys: [], domains, groups,
      nodes: {
        index: this.rows.map((_, index) => index), name: this.rows.map((row) => row.name),
        domain: this.rows.map((row) => (row.domain === null ? -1 : domains.indexOf(row.domain))),
        state: this.rows.map((row) => row.state), gpus: this.rows.map((row) => row.gpus), owners,
      },
      kpi: KPI,
    };
  }
}

/** A repeatable row of numbers in [0, 1). */
export function sequence(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}
