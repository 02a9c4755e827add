// The cluster as columns: one slot a node index, so that a patch is a few typed-array writes.
import { CORDONED, NOT_READY, REMOVED, type Delta, type NodePatch, type Snapshot } from './protocol';

export const ABSENT = -2; // value of `domain`: no node at this index
export const UNLABELLED = -1; // value of `domain`: the node does not carry the key
export const NO_GROUP = -1; // value in `runGroup`: pods that belong to no PodGroup
export const HELD = -2; // value in `runGroup`: room that a reservation holds and its holder does not use
export const NOBODY = -3; // no value in `runGroup`: a group that is not there

export interface Touched {
  nodes: number[];
  /** A node came, went or changed its domain: the layout has to be made again. */
  moved: boolean;
}

export class Model {
  key = '';
  size = 0;
  names: string[] = [];
  domains: string[] = [];
  groups: string[] = [];
  domain = new Int32Array(0);
  state = new Uint8Array(0);
  gpus = new Uint16Array(0);
  /** Runs of node i: runCount[i] entries of runGroup/runGpus from runStart[i]. */
  runStart = new Int32Array(0);
  runCount = new Uint16Array(0);
  runGroup = new Int32Array(0);
  runGpus = new Uint16Array(0);
  private runEnd = 0;
  private domainIndex = new Map<string, number>();
  private groupIndex = new Map<string, number>();

  static from(snapshot: Snapshot): Model {
    const model = new Model();
    const { nodes } = snapshot;
    const count = nodes.index.length;
    model.key = snapshot.key;
    model.domains = snapshot.domains.slice();
    model.groups = snapshot.groups.slice();
    model.domains.forEach((name, index) => model.domainIndex.set(name, index));
    model.groups.forEach((name, index) => model.groupIndex.set(name, index));
    model.reserve(count ? nodes.index[count - 1]! + 1 : 0);
    model.runGroup = new Int32Array(nodes.owners.length);
    model.runGpus = new Uint16Array(nodes.owners.length);
    for (let row = 0, at = 0; row < count; row++) {
      const i = nodes.index[row]!;
      model.names[i] = nodes.name[row]!;
      model.domain[i] = nodes.domain[row]!;
      model.state[i] = nodes.state[row]!;
      model.gpus[i] = nodes.gpus[row]!;
      const runs = nodes.owners[at++]!;
      model.runStart[i] = model.runEnd;
      model.runCount[i] = runs;
      for (let run = 0; run < runs; run++, at += 2) {
        model.runGroup[model.runEnd] = nodes.owners[at]!;
        model.runGpus[model.runEnd++] = nodes.owners[at + 1]!;
      }
    }
    return model;
  }

  apply(delta: Pick<Delta, 'groups' | 'nodes'> & Partial<Delta>): Touched {
    const groups = delta.groups.map((name) => this.intern(name, this.groups, this.groupIndex));
    const touched: Touched = { nodes: [], moved: false };
    for (const patch of delta.nodes) {
      if (this.patch(patch, groups)) touched.moved = true;
      touched.nodes.push(patch[0]);
    }
    return touched;
  }

  private patch(patch: NodePatch, groups: number[]): boolean {
    const [i, name, domainName, state, gpus, ...runs] = patch;
    if (i >= this.size) this.reserve(i + 1);
    const domain = state & REMOVED ? ABSENT : domainName === null ? UNLABELLED : this.intern(domainName, this.domains, this.domainIndex);
    const moved = domain !== this.domain[i] || name !== this.names[i];
    this.names[i] = name;
    this.domain[i] = domain;
    this.state[i] = state;
    this.gpus[i] = gpus;
    if (runs.length > this.runCount[i]!) {
      if (this.runEnd + runs.length > this.runGroup.length) this.compact(runs.length);
      this.runStart[i] = this.runEnd;
      this.runEnd += runs.length;
    }
    this.runCount[i] = runs.length;
    runs.forEach(([group, amount], run) => {
      const at = this.runStart[i]! + run;
      this.runGroup[at] = group < 0 ? group : groups[group]!;
      this.runGpus[at] = amount;
    });
    return moved;
  }

  /** Moves the runs together and makes room; the places of runs that grew before are given back. */
  private compact(more: number): void {
    let live = 0;
    for (let i = 0; i < this.size; i++) live += this.runCount[i]!;
    const group = new Int32Array((live + more) * 2 + 64);
    const gpus = new Uint16Array(group.length);
    let end = 0;
    for (let i = 0; i < this.size; i++) {
      const start = this.runStart[i]!;
      group.set(this.runGroup.subarray(start, start + this.runCount[i]!), end);
      gpus.set(this.runGpus.subarray(start, start + this.runCount[i]!), end);
      this.runStart[i] = end;
      end += this.runCount[i]!;
    }
    this.runGroup = group;
    this.runGpus = gpus;
    this.runEnd = end;
  }

  private reserve(size: number): void {
    const capacity = this.domain.length;
    if (size > capacity) {
      const more = Math.max(size, Math.ceil(capacity * 1.5));
      this.domain = grown(this.domain, new Int32Array(more).fill(ABSENT));
      this.state = grown(this.state, new Uint8Array(more));
      this.gpus = grown(this.gpus, new Uint16Array(more));
      this.runStart = grown(this.runStart, new Int32Array(more));
      this.runCount = grown(this.runCount, new Uint16Array(more));
    }
    this.size = size;
  }

  private intern(name: string, names: string[], index: Map<string, number>): number {
    let at = index.get(name);
    if (at === undefined) {
      at = names.push(name) - 1;
      index.set(name, at);
    }
    return at;
  }

  groupAt(key: string): number { return this.groupIndex.get(key) ?? NOBODY; }

  /** The index of a domain, a new one if need be. */
  domainOf(name: string): number { return this.intern(name, this.domains, this.domainIndex); }

  domainAt(name: string): number { return this.domainIndex.get(name) ?? ABSENT; }

  nodeAt(name: string): number { return this.names.findIndex((other, i) => other === name && this.domain[i] !== ABSENT); }

  used(i: number): number {
    let used = 0;
    for (let at = this.runStart[i]!, end = at + this.runCount[i]!; at < end; at++) if (this.runGroup[at] !== HELD) used += this.runGpus[at]!;
    return Math.min(used, this.gpus[i]!);
  }

  /** GPUs that reservations hold and that are not in use; null when nothing of the node is held. */
  held(i: number): number | null {
    const last = this.runStart[i]! + this.runCount[i]! - 1;
    if (!this.runCount[i] || this.runGroup[last] !== HELD) return null;
    return Math.min(this.runGpus[last]!, this.gpus[i]! - this.used(i));
  }

  /** Free GPUs that can be used, held ones included: none on a cordoned node or one that is not ready. */
  free(i: number): number {
    return this.state[i]! & (CORDONED | NOT_READY) ? 0 : this.gpus[i]! - this.used(i);
  }

  holds(i: number, group: number): boolean {
    for (let at = this.runStart[i]!, end = at + this.runCount[i]!; at < end; at++) if (this.runGroup[at] === group) return true;
    return false;
  }

  /** Cordoned, not ready, or without the label: what "anomalies only" leaves. */
  anomalous(i: number): boolean {
    return (this.state[i]! & (CORDONED | NOT_READY)) !== 0 || this.domain[i] === UNLABELLED;
  }
}

function grown<T extends Int32Array | Uint8Array | Uint16Array>(from: T, into: T): T {
  into.set(from);
  return into;
}
