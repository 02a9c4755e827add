// Where every node is drawn: domains as columns of node rows, side by side on shelves. Arithmetic only, no scene graph.
import { ABSENT, UNLABELLED, type Model } from './model';

/** Lengths are in layout pixels; a *slot* is one column of at most `rows` nodes, on shelf `slot / cols`. */
export interface Layout {
  cols: number;
  rows: number;
  slotW: number;
  shelfH: number;
  nodeW: number;
  nodeH: number;
  pitch: number;
  band: number;
  width: number;
  height: number;
  slotBlock: Int32Array;
  slotStart: Int32Array;
  slotCount: Uint16Array;
  order: Int32Array;
  slotOf: Int32Array;
  rowOf: Uint16Array;
  blocks: Block[];
  /** Position of a domain's block in `blocks`, by domain index + 1 (0: the unlabelled nodes); -1 without one. */
  blockOf: Int32Array;
}

export interface Block { domain: number; first: number; slots: number; nodes: number }

const MAX_ROWS = 48;
const MAX_NODE = 16;
const TALL_NODE = 24;
const collator = new Intl.Collator('en', { numeric: true });

export function layout(model: Model, viewW: number, viewH: number): Layout {
  const members = nodesByDomain(model);
  const named = [...members.keys()].filter((domain) => domain >= 0).sort((a, b) => collator.compare(model.domains[a]!, model.domains[b]!));
  const domains = members.has(UNLABELLED) ? [...named, UNLABELLED] : named;
  const sizes = domains.map((domain) => members.get(domain)!.length);
  const rows = rowsFor(named.map((domain) => members.get(domain)!.length));
  const slots = sizes.map((size) => Math.ceil(size / rows));
  const units = Math.min(8, Math.max(4, maxGpus(model)));
  const fit = fitInto(slots, rows, units, viewW, viewH);

  const first = pack(slots, fit.cols);
  const slotTotal = first.end;
  const result: Layout = {
    ...fit, rows,
    width: fit.cols * fit.slotW,
    height: Math.ceil(slotTotal / fit.cols) * fit.shelfH,
    slotBlock: new Int32Array(slotTotal).fill(-1),
    slotStart: new Int32Array(slotTotal),
    slotCount: new Uint16Array(slotTotal),
    order: new Int32Array(sizes.reduce((sum, size) => sum + size, 0)),
    slotOf: new Int32Array(model.size).fill(-1),
    rowOf: new Uint16Array(model.size),
    blocks: [],
    blockOf: new Int32Array(model.domains.length + 1).fill(-1),
  };
  let position = 0;
  domains.forEach((domain, b) => {
    const nodes = members.get(domain)!.sort((x, y) => collator.compare(model.names[x]!, model.names[y]!));
    result.blockOf[domain + 1] = b;
    result.blocks.push({ domain, first: first.at[b]!, slots: slots[b]!, nodes: nodes.length });
    nodes.forEach((node, n) => {
      const slot = first.at[b]! + Math.floor(n / rows);
      if (n % rows === 0) {
        result.slotBlock[slot] = b;
        result.slotStart[slot] = position;
      }
      result.slotCount[slot]!++;
      result.slotOf[node] = slot;
      result.rowOf[node] = n % rows;
      result.order[position++] = node;
    });
  });
  return result;
}

function nodesByDomain(model: Model): Map<number, number[]> {
  const members = new Map<number, number[]>();
  for (let i = 0; i < model.size; i++) {
    const domain = model.domain[i]!;
    if (domain === ABSENT) continue;
    const list = members.get(domain);
    if (list) list.push(i);
    else members.set(domain, [i]);
  }
  return members;
}

function maxGpus(model: Model): number {
  let most = 0;
  for (let i = 0; i < model.size; i++) if (model.domain[i] !== ABSENT) most = Math.max(most, model.gpus[i]!);
  return most;
}

/** A rack is one column where racks are of like size; a zone of thousands of nodes becomes several columns. */
export function rowsFor(sizes: number[]): number {
  if (sizes.length === 0) return 16;
  const sorted = sizes.slice().sort((a, b) => a - b);
  const most = sorted[sorted.length - 1]!;
  const median = sorted[sorted.length >> 1]!;
  if (most <= MAX_ROWS && most <= 3 * median) return most;
  return median <= MAX_ROWS ? median : 16;
}

/** First slot of each block; a block does not cross shelves unless it is longer than one. */
function pack(slots: number[], cols: number): { at: number[]; end: number } {
  let next = 0;
  const at = slots.map((count) => {
    const left = cols - (next % cols);
    if (count > left && left < cols) next += left;
    const start = next;
    next += count;
    return start;
  });
  return { at, end: next };
}

type Fit = Pick<Layout, 'cols' | 'slotW' | 'shelfH' | 'nodeW' | 'nodeH' | 'pitch' | 'band'>;

/** The largest nodes with which everything fits into the view, else the smallest there are (then one pans). */
function fitInto(slots: number[], rows: number, units: number, viewW: number, viewH: number): Fit {
  const at = (nodeH: number, nodeW: number): Fit => {
    const pitch = nodeH + (nodeH >= 4 ? 2 : 1);
    const band = nodeH >= 6 ? 16 : nodeH >= 4 ? 10 : 6;
    const slotW = nodeW + Math.max(3, Math.min(8, nodeH));
    return { cols: Math.max(1, Math.floor(viewW / slotW)), slotW, shelfH: rows * pitch + band, nodeW, nodeH, pitch, band };
  };
  const fits = (fit: Fit): boolean => Math.ceil(pack(slots, fit.cols).end / fit.cols) * fit.shelfH <= viewH;
  let nodeH = MAX_NODE;
  while (nodeH > 1 && !fits(at(nodeH, nodeH * units))) nodeH--;
  let best = at(nodeH, nodeH * units);
  for (let nodeW = best.nodeW + 1; nodeW <= nodeH * units * 1.6; nodeW++) {
    const wider = at(nodeH, nodeW);
    if (wider.nodeW > viewW || !fits(wider)) break;
    best = wider;
  }
  // What height is left makes the rows taller, for the names in them.
  for (nodeH = best.nodeH + 1; nodeH <= TALL_NODE && best.nodeH >= 6; nodeH++) {
    const taller = at(nodeH, best.nodeW);
    if (!fits(taller)) break;
    best = taller;
  }
  return best;
}

export function slotX(l: Layout, slot: number): number { return (slot % l.cols) * l.slotW; }

/** Top of the first node row of a slot; the label band is above it. */
export function slotY(l: Layout, slot: number): number { return Math.floor(slot / l.cols) * l.shelfH + l.band; }

export function nodeY(l: Layout, node: number): number { return slotY(l, l.slotOf[node]!) + l.rowOf[node]! * l.pitch; }

export interface Hit { block: number; node: number }

/** What is at a point of the layout, in constant time: block and node, -1 where there is none. */
export function hit(l: Layout, x: number, y: number): Hit {
  const none = { block: -1, node: -1 };
  const col = Math.floor(x / l.slotW);
  const shelf = Math.floor(y / l.shelfH);
  if (col < 0 || col >= l.cols || shelf < 0) return none;
  const slot = shelf * l.cols + col;
  if (slot >= l.slotBlock.length || l.slotBlock[slot]! < 0) return none;
  const block = l.slotBlock[slot]!;
  const inside = y - shelf * l.shelfH - l.band;
  const row = Math.floor(inside / l.pitch);
  if (inside < 0 || row >= l.slotCount[slot]! || x - col * l.slotW >= l.nodeW) return { block, node: -1 };
  return { block, node: l.order[l.slotStart[slot]! + row]! };
}
