// Where the cursor goes: pure functions of model and layout. A cursor is a block (a domain) and perhaps a node in it.
import type { Hit, Layout } from './layout';
import { ABSENT, type Model } from './model';

export const NONE: Hit = { block: -1, node: -1 };

/** The nodes of a block in the order they are drawn. */
export function nodesOf(l: Layout, block: number): number[] {
  const { first, nodes } = l.blocks[block]!;
  const start = l.slotStart[first]!;
  return [...l.order.subarray(start, start + nodes)];
}

/** One step: from block to block, or (`within`) from node to node of the same block, across its columns. */
export function step(l: Layout, from: Hit, dx: number, dy: number, within: boolean): Hit {
  if (l.blocks.length === 0) return NONE;
  if (from.block < 0) return { block: 0, node: -1 };
  if (within) {
    const nodes = nodesOf(l, from.block);
    const next = nodes.indexOf(from.node) + dy + dx * l.rows;
    return { block: from.block, node: nodes[clamp(next, nodes.length)]! };
  }
  if (dx) return { block: clamp(from.block + dx, l.blocks.length), node: -1 };
  // The block above or below: past the shelves that this one fills itself, else the next that is not empty.
  const { first, slots } = l.blocks[from.block]!;
  const edge = dy > 0 ? first + Math.floor((slots - 1) / l.cols) * l.cols : first;
  for (let slot = edge + dy * l.cols; slot >= 0 && slot < l.slotBlock.length + l.cols; slot += dy * l.cols) {
    const block = l.slotBlock[slot] ?? -1;
    if (block >= 0 && block !== from.block) return { block, node: -1 };
  }
  return from;
}

function clamp(at: number, length: number): number { return Math.max(0, Math.min(length - 1, at)); }

export function ofNode(l: Layout, node: number): Hit { return { block: l.slotBlock[l.slotOf[node]!]!, node }; }

/** The cursor by name, so that it outlives layouts: `node:NAME`, `domain:VALUE` or "". */
export function named(model: Model, l: Layout, at: Hit): string {
  if (at.node >= 0) return `node:${model.names[at.node]}`;
  const domain = at.block >= 0 ? l.blocks[at.block]!.domain : ABSENT;
  return domain >= 0 ? `domain:${model.domains[domain]}` : '';
}

/** NONE when nothing has that name any more. */
export function found(model: Model, l: Layout, text: string): Hit {
  const name = text.slice(text.indexOf(':') + 1);
  const node = text.startsWith('node:') ? model.nodeAt(name) : -1;
  if (node >= 0) return ofNode(l, node);
  const domain = text.startsWith('domain:') ? model.domainAt(name) : ABSENT;
  const block = domain >= 0 ? l.blockOf[domain + 1]! : -1;
  return block >= 0 ? { block, node: -1 } : NONE;
}
