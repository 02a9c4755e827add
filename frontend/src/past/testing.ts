// For unit tests: a made-up history of nodes that come, go, move and are taken, told as the server tells it.
import type { Model } from '../map/model';
import { ABSENT, NO_GROUP } from '../map/model';
import { REMOVED, type Kpi, type NodePatch } from '../map/protocol';
import { sequence } from '../map/testing';
import type { Chunk, Frame, PastSnapshot } from './protocol';

interface Row { name: string; domain: string | null; state: number; gpus: number; runs: [string, number][] }

type State = (Row | null)[];

/** `states[seq]`: every node after that event, null where there is none. Event 1 registers the cluster. */
export class TestHistory {
  readonly states: State[] = [[], []];
  asked: string[] = [];
  epoch = 1;
  /** Most patches in one chunk. */
  bound = Infinity;

  constructor(seed: number, events: number, private readonly nodes = 12) {
    const random = sequence(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    for (let seq = 2; seq <= events; seq++) {
      const state = this.states[seq - 1]!.slice();
      for (let n = 0; n <= pick(3); n++) {
        const i = pick(this.nodes);
        const row = state[i] ?? null;
        if (!row) state[i] = { name: `node-${i}`, domain: pick(5) ? `rack-${pick(3)}` : null, state: 0, gpus: 8, runs: [] };
        else if (pick(6) === 0) state[i] = null;
        else if (pick(3) === 0) state[i] = { ...row, state: pick(4), domain: `rack-${pick(3)}` };
        else {
          const names = ['', 'ns/a', 'ns/b', 'ns/c', 'ns/d'].slice(pick(5));
          state[i] = { ...row, runs: names.slice(0, pick(4)).map((name) => [name, 1 + pick(2)]) };
        }
      }
      this.states.push(state);
    }
  }

  get head(): number { return this.states.length - 1; }

  kpi(seq: number): Kpi {
    const there = this.states[seq]!.filter((row) => row !== null && row !== undefined);
    return { nodes: there.length, gpus: 8 * there.length, gpus_used: seq % 7, pending: 0, unlabelled: 0, largest: 0, domains_64: 0 };
  }

  async snapshot(at: number): Promise<PastSnapshot> {
    this.asked.push(`snapshot ${at}`);
    const state = this.states[at]!;
    const rows = state.flatMap((row, index) => (row ? [{ ...row, index }] : []));
    const domains = [...new Set(rows.flatMap(({ domain }) => (domain === null ? [] : [domain])))].sort();
    const groups: string[] = [];
    return {
      v: 1, epoch: this.epoch, seq: at, key: 'rack', keys: [], domains, groups, kpi: this.kpi(at), recorded_at: time(at),
      nodes: {
        index: rows.map(({ index }) => index), name: rows.map(({ name }) => name), state: rows.map((row) => row.state), gpus: rows.map(({ gpus }) => gpus),
        domain: rows.map(({ domain }) => (domain === null ? -1 : domains.indexOf(domain))),
        owners: rows.flatMap(({ runs }) => [runs.length, ...runs.flatMap(([group, gpus]) => [group ? intern(groups, group) : -1, gpus])]),
      },
    };
  }

  async chunk(after: number, limit: number): Promise<Chunk> {
    this.asked.push(`chunk ${after} ${limit}`);
    const groups: string[] = [];
    const base = new Map<number, NodePatch>();
    const frames: Frame[] = [];
    let patches = 0, kpi = this.kpi(after), to = after;
    for (let seq = after + 1; seq <= Math.min(this.head, after + limit) && patches < this.bound; seq++) {
      const before = this.states[seq - 1]!, now = this.states[seq]!;
      const nodes: NodePatch[] = [];
      for (let i = 0; i < this.nodes; i++) {
        if (JSON.stringify(before[i] ?? null) === JSON.stringify(now[i] ?? null)) continue;
        if (!base.has(i)) base.set(i, patch(i, before[i] ?? null, groups));
        nodes.push(patch(i, now[i] ?? null, groups));
      }
      const then = this.kpi(seq);
      frames.push({ seq, recorded_at: time(seq), type: 'Event', sentence: `what event ${seq} did`, nodes, kpi: JSON.stringify(then) === JSON.stringify(kpi) ? null : then });
      kpi = then;
      patches += nodes.length;
      to = seq;
    }
    return { v: 1, epoch: this.epoch, key: 'rack', from: after, to, head: this.head, groups, base: [...base.values()], kpi: this.kpi(after), frames };
  }

  /** Every node after an event, as `shown` writes a model. */
  rows(seq: number): unknown[] {
    return this.states[seq]!.flatMap((row) => (row ? [[row.name, row.domain, row.state, row.gpus, row.runs]] : []));
  }
}

/** Every node of a model by index: name, domain, state, GPUs, runs. */
export function shown(model: Model): unknown[] {
  const rows: unknown[] = [];
  for (let i = 0; i < model.size; i++) {
    if (model.domain[i] === ABSENT) continue;
    const runs: unknown[] = [];
    for (let at = model.runStart[i]!, end = at + model.runCount[i]!; at < end; at++) {
      const group = model.runGroup[at]!;
      runs.push([group === NO_GROUP ? '' : model.groups[group], model.runGpus[at]]);
    }
    rows.push([model.names[i], model.domains[model.domain[i]!] ?? null, model.state[i], model.gpus[i], runs]);
  }
  return rows;
}

function patch(index: number, row: Row | null, groups: string[]): NodePatch {
  if (!row) return [index, `node-${index}`, null, REMOVED, 0];
  return [index, row.name, row.domain, row.state, row.gpus, ...row.runs.map(([group, gpus]): [number, number] => [group ? intern(groups, group) : -1, gpus])];
}

function intern(names: string[], name: string): number {
  const at = names.indexOf(name);
  return at >= 0 ? at : names.push(name) - 1;
}

function time(seq: number): string { return new Date(1_764_500_000_000 + seq * 1000).toISOString(); }
