// Two moments side by side: which nodes came, went, changed their state or their owners. Compares columns, not objects.
import { ABSENT, UNLABELLED, type Model } from '../map/model';
import type { NodePatch } from '../map/protocol';

export const ADDED = 1, GONE = 2, STATE = 4, OWNERS = 8;

export interface Difference {
  /** Bits of every node, 0 where it is the same. */
  bits: Uint8Array;
  counts: { all: number; added: number; removed: number; state: number; owners: number; same: number };
}

/** What is different in `b`; both models have the same node at an index. */
export function difference(a: Model, b: Model): Difference {
  const size = Math.max(a.size, b.size);
  const bits = new Uint8Array(size);
  const counts = { all: 0, added: 0, removed: 0, state: 0, owners: 0, same: 0 };
  const domains = a.domains.map((name) => b.domainAt(name));
  const groups = a.groups.map((name) => b.groupAt(name));
  for (let i = 0; i < size; i++) {
    const there = i < a.size && a.domain[i] !== ABSENT, here = i < b.size && b.domain[i] !== ABSENT;
    if (!there && !here) continue;
    counts.all++;
    if (!there) bits[i] = ADDED;
    else if (!here) bits[i] = GONE;
    else {
      const domain = a.domain[i]! === UNLABELLED ? UNLABELLED : domains[a.domain[i]!];
      if (domain !== b.domain[i] || a.state[i] !== b.state[i] || a.gpus[i] !== b.gpus[i]) bits[i] = STATE;
      if (!sameOwners(a, b, i, groups)) bits[i]! |= OWNERS;
    }
    if (bits[i]! & ADDED) counts.added++;
    if (bits[i]! & GONE) counts.removed++;
    if (bits[i]! & STATE) counts.state++;
    if (bits[i]! & OWNERS) counts.owners++;
    if (!bits[i]) counts.same++;
  }
  return { bits, counts };
}

/** Runs come in the order of the groups' names, so equal owners are equal runs. */
function sameOwners(a: Model, b: Model, i: number, groups: number[]): boolean {
  if (a.runCount[i] !== b.runCount[i]) return false;
  for (let run = 0; run < a.runCount[i]!; run++) {
    const left = a.runStart[i]! + run, right = b.runStart[i]! + run;
    const group = a.runGroup[left]!;
    if ((group < 0 ? group : groups[group]) !== b.runGroup[right] || a.runGpus[left] !== b.runGpus[right]) return false;
  }
  return true;
}

/** Gives `model` the nodes that only `other` has, and every node the place that it has in `other`: so that both can be
 * drawn on one layout. What the nodes hold is not brought along.
 */
export function place(model: Model, other: Model): void {
  const nodes: NodePatch[] = [];
  for (let i = 0; i < other.size; i++) {
    if (other.domain[i] === ABSENT) continue;
    const domain = other.domain[i] === UNLABELLED ? null : other.domains[other.domain[i]!]!;
    if (i >= model.size || model.domain[i] === ABSENT) nodes.push([i, other.names[i]!, domain, 0, other.gpus[i]!]);
  }
  model.apply({ groups: [], nodes });
}

/** Moves nodes of `model` that are elsewhere in `other` to there. */
export function align(model: Model, other: Model): void {
  for (let i = 0; i < Math.min(model.size, other.size); i++) {
    if (model.domain[i] === ABSENT || other.domain[i] === ABSENT) continue;
    const domain = other.domain[i] === UNLABELLED ? UNLABELLED : model.domainOf(other.domains[other.domain[i]!]!);
    model.domain[i] = domain;
  }
}
