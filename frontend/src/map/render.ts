// Draws the map on two canvases: nodes below, outlines and cursor above. A patch repaints the nodes it touched only.
import { nodeY, slotX, slotY, type Hit, type Layout } from './layout';
import { ABSENT, HELD, NO_GROUP, UNLABELLED, type Model } from './model';
import type { Palette } from './palette';
import { CORDONED, NOT_READY } from './protocol';
import type { View } from './view';

/** Paints over a node at its place on the canvas, in device pixels. */
export type Mark = (ctx: CanvasRenderingContext2D, node: number, x: number, y: number, w: number, h: number) => void;

export interface Scene {
  model: Model;
  layout: Layout;
  view: View;
  palette: Palette;
  byGroup: boolean;
  /** Group index → number of its colour, for the largest groups. */
  hues: Map<number, number>;
  /** Index of the picked group, NOBODY for none. */
  picked: number;
  faded(node: number): boolean;
  mark: Mark | null;
  /** Domains to outline, best first, by index. */
  ranked: number[];
  /** Block under the pointer and selected block, -1 for none; nodes likewise. */
  hover: Hit;
  cursor: Hit;
  unlabelledTitle: string;
}

/** On-screen heights (CSS pixels) from which there is room for words. */
const NAME_H = 11, OWNER_H = 22, CROSS_H = 5, DIVIDER_W = 7, TITLE_PX = 9;

export class Renderer {
  readonly base = document.createElement('canvas');
  readonly over = document.createElement('canvas');
  private readonly ctx = this.base.getContext('2d', { alpha: false })!;
  private readonly octx = this.over.getContext('2d')!;
  private scene: Scene | null = null;
  private hatch: CanvasPattern | null = null;
  private heldHatch: CanvasPattern | null = null;
  private dpr = 1;
  private dirty = new Set<number>();
  private full = false;
  private overlay = false;
  private frame = 0;

  constructor(private readonly host: HTMLElement) {
    host.append(this.base, this.over);
    document.addEventListener('visibilitychange', () => { if (!document.hidden) this.schedule(); });
  }

  resize(width: number, height: number): void {
    this.dpr = devicePixelRatio || 1;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(width * this.dpr);
      canvas.height = Math.round(height * this.dpr);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
  }

  show(scene: Scene | null): void {
    if (scene?.palette !== this.scene?.palette) this.hatch = this.heldHatch = null;
    this.scene = scene;
    this.redraw();
  }

  redraw(): void { this.full = true; this.schedule(); }

  touch(nodes: Iterable<number>): void {
    for (const node of nodes) this.dirty.add(node);
    this.overlay = true;
    this.schedule();
  }

  /** What is under the pointer and what is selected: the upper canvas only. */
  point(hover: Hit, cursor: Hit): void {
    if (!this.scene) return;
    this.scene.hover = hover;
    this.scene.cursor = cursor;
    this.overlay = true;
    this.schedule();
  }

  /** Nothing is painted in a hidden tab; what came meanwhile is painted in one go when it is shown again. */
  private schedule(): void {
    if (this.frame || document.hidden) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.paint();
    });
  }

  private paint(): void {
    const { scene } = this;
    if (!scene) return;
    if (this.full || this.dirty.size * 2 > scene.layout.order.length) this.drawAll(scene);
    else for (const node of this.dirty) this.drawNode(scene, node, true);
    if (this.full || this.overlay) this.drawOverlay(scene);
    this.full = this.overlay = false;
    this.dirty.clear();
  }

  private px(value: number): number { return Math.round(value * this.dpr); }

  private x(view: View, x: number): number { return this.px(x * view.k + view.tx); }

  private y(view: View, y: number): number { return this.px(y * view.k + view.ty); }

  private drawAll(scene: Scene): void {
    const { ctx } = this;
    const { layout: l, view, palette, model } = scene;
    ctx.fillStyle = palette.bg;
    ctx.fillRect(0, 0, this.base.width, this.base.height);
    const [x0, y0] = view.toLayout(0, 0);
    const [x1, y1] = view.toLayout(this.base.width / this.dpr, this.base.height / this.dpr);
    const firstCol = Math.max(0, Math.floor(x0 / l.slotW)), lastCol = Math.min(l.cols - 1, Math.floor(x1 / l.slotW));
    const firstShelf = Math.max(0, Math.floor(y0 / l.shelfH)), lastShelf = Math.floor(y1 / l.shelfH);
    const titled = l.band * view.k >= TITLE_PX;
    for (let shelf = firstShelf; shelf <= lastShelf; shelf++) {
      for (let col = firstCol; col <= lastCol; col++) {
        const slot = shelf * l.cols + col;
        if (slot >= l.slotBlock.length) return;
        const block = l.slotBlock[slot]!;
        if (block < 0) continue;
        this.drawFrame(scene, slot);
        for (let row = 0; row < l.slotCount[slot]!; row++) this.drawNode(scene, l.order[l.slotStart[slot]! + row]!, false);
        if (titled && (l.blocks[block]!.first === slot || col === firstCol)) {
          const { domain, slots } = l.blocks[block]!;
          const room = Math.min(slots, l.cols - col) * l.slotW * view.k - 4;
          this.label(domain === UNLABELLED ? scene.unlabelledTitle : model.domains[domain]!,
            this.x(view, slotX(l, slot)), this.y(view, slotY(l, slot)) - this.px(3), Math.min(12, l.band * view.k - 2), room, palette.muted);
        }
      }
    }
  }

  /** The outline of a column of nodes: light fills alone would not stand out; dashed where the label is missing. */
  private drawFrame(scene: Scene, slot: number): void {
    const { ctx } = this;
    const { layout: l, view, palette } = scene;
    const unlabelled = l.blocks[l.slotBlock[slot]!]!.domain === UNLABELLED;
    if (!unlabelled && l.nodeH * view.k < 2) return;
    const x = this.x(view, slotX(l, slot)), y = this.y(view, slotY(l, slot));
    const right = this.x(view, slotX(l, slot) + l.nodeW), bottom = this.y(view, slotY(l, slot) + l.slotCount[slot]! * l.pitch - (l.pitch - l.nodeH));
    ctx.strokeStyle = unlabelled ? palette.fg : palette.outline ? palette.fg : palette.busy;
    ctx.lineWidth = Math.max(1, Math.round(this.dpr));
    ctx.setLineDash(unlabelled ? [3 * this.dpr, 2 * this.dpr] : []);
    ctx.strokeRect(x - 0.5, y - 0.5, right - x + 1, bottom - y + 1);
    ctx.setLineDash([]);
  }

  private drawNode(scene: Scene, node: number, clear: boolean): void {
    const { ctx } = this;
    const { model, layout: l, view, palette } = scene;
    if (model.domain[node] === ABSENT || l.slotOf[node] === undefined || l.slotOf[node]! < 0) return;
    const slot = l.slotOf[node]!;
    const left = this.x(view, slotX(l, slot)), right = this.x(view, slotX(l, slot) + l.nodeW);
    const top = this.y(view, nodeY(l, node)), bottom = Math.max(top + 1, this.y(view, nodeY(l, node) + l.nodeH));
    if (right < 0 || left > this.base.width || bottom < 0 || top > this.base.height) return;
    const w = right - left, h = bottom - top;
    const faded = scene.faded(node);
    const tone = (colour: string): string => (faded ? palette.fade(colour) : colour);
    const state = model.state[node]!, gpus = model.gpus[node]!;
    if (clear) {
      ctx.fillStyle = palette.bg;
      ctx.fillRect(left, top, w, h);
    }
    if (state & NOT_READY) {
      this.drawLost(tone(palette.lost), tone(palette.lostLine), left, top, w, h);
    } else {
      // Runs of GPUs with one owner are one rectangle each; most nodes are one or two rectangles.
      ctx.fillStyle = gpus === 0 ? tone(palette.line) : state & CORDONED ? palette.bg : tone(palette.free);
      ctx.fillRect(left, top, w, h);
      let taken = 0;
      for (let at = model.runStart[node]!, end = at + model.runCount[node]!; at < end; at++) {
        const from = gpus ? Math.round((w * Math.min(taken, gpus)) / gpus) : 0;
        taken += model.runGpus[at]!;
        // Members without GPUs show on nodes without GPUs, and where they are what was picked (as a sliver).
        const group = model.runGroup[at]!;
        const to = gpus && model.runGpus[at] ? Math.round((w * Math.min(taken, gpus)) / gpus) : gpus === 0 ? w : group === scene.picked ? from + Math.max(2, Math.round(w / 16)) : from;
        if (to <= from) continue;
        if (group === HELD) {
          this.drawHeld(palette, faded, left + from, top, to - from, h);
          continue;
        }
        ctx.fillStyle = tone(this.owner(scene, group));
        ctx.fillRect(left + from, top, to - from, h);
      }
      if (state & CORDONED) this.drawHatch(palette, faded, left, top, w, h);
      if (gpus > 1 && w / gpus >= DIVIDER_W * this.dpr) {
        ctx.fillStyle = palette.bg;
        for (let g = 1; g < gpus; g++) ctx.fillRect(left + Math.round((w * g) / gpus), top, Math.max(1, Math.round(this.dpr / 2)), h);
      }
    }
    scene.mark?.(ctx, node, left, top, w, h);
    if (h / this.dpr >= NAME_H) this.drawWords(scene, node, left, top, w, h);
  }

  private owner(scene: Scene, group: number): string {
    const { palette } = scene;
    if (group === scene.picked) return palette.pick;
    if (!scene.byGroup || group === NO_GROUP) return palette.busy;
    return palette.groups[scene.hues.get(group) ?? palette.groups.length - 1]!;
  }

  private drawLost(fill: string, stroke: string, x: number, y: number, w: number, h: number): void {
    const { ctx } = this;
    ctx.fillStyle = fill;
    ctx.fillRect(x, y, w, h);
    ctx.strokeStyle = stroke;
    ctx.lineWidth = 1;
    if (h > 2) ctx.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    if (h / this.dpr < CROSS_H) return;
    ctx.strokeStyle = '#fff';
    ctx.beginPath();
    const s = Math.min(h, w) - 2, cx = x + w - s, cy = y + h / 2;
    ctx.moveTo(cx - s / 2, cy - s / 2);
    ctx.lineTo(cx + s / 2, cy + s / 2);
    ctx.moveTo(cx + s / 2, cy - s / 2);
    ctx.lineTo(cx - s / 2, cy + s / 2);
    ctx.stroke();
  }

  /** Stripes over the whole node, so that what is free on a cordoned node does not look free. */
  private drawHatch(palette: Palette, faded: boolean, x: number, y: number, w: number, h: number): void {
    const { ctx } = this;
    this.hatch ??= hatch(ctx, palette.cordon, Math.max(1, Math.round(this.dpr)));
    ctx.globalAlpha = faded ? 0.35 : 1;
    ctx.fillStyle = this.hatch;
    ctx.fillRect(x, y, w, h);
    ctx.globalAlpha = 1;
  }

  /** Stripes over what is held: free to the eye of whoever holds it, and to nobody else. */
  private drawHeld(palette: Palette, faded: boolean, x: number, y: number, w: number, h: number): void {
    const { ctx } = this;
    this.heldHatch ??= hatch(ctx, palette.held, Math.max(1, Math.round(this.dpr)));
    ctx.globalAlpha = faded ? 0.35 : 1;
    ctx.fillStyle = this.heldHatch;
    ctx.fillRect(x, y, w, h);
    ctx.globalAlpha = 1;
  }

  private drawWords(scene: Scene, node: number, x: number, y: number, w: number, h: number): void {
    const { model, palette } = scene;
    const size = Math.min(12, (h / this.dpr) * 0.7);
    const line = h / this.dpr >= OWNER_H ? y + h / 2 - this.px(2) : y + h / 2 + this.px(size * 0.36);
    this.label(model.names[node]!, x + this.px(3), line, size, (w / this.dpr) - 6, palette.fg, palette.bg);
    if (h / this.dpr < OWNER_H) return;
    const gpus = model.gpus[node]!;
    let taken = 0;
    for (let at = model.runStart[node]!, end = at + model.runCount[node]!; at < end; at++) {
      const from = gpus ? taken / gpus : 0;
      taken += model.runGpus[at]!;
      const group = model.runGroup[at]!;
      const room = gpus ? (model.runGpus[at]! / gpus) * (w / this.dpr) - 6 : w / this.dpr - 6;
      if (group >= 0) this.label(`${Math.round(from * gpus)}–${taken - 1} ${model.groups[group]!}`, x + from * w + this.px(3), y + h - this.px(3), 10, room, palette.fg, palette.bg);
    }
  }

  /** A line of text cut to its room, with a halo where it lies over a fill. */
  private label(text: string, x: number, y: number, size: number, room: number, colour: string, halo?: string): void {
    const { ctx } = this;
    if (room < size * 2) return;
    ctx.font = `${size * this.dpr}px ${this.scene!.palette.mono}`;
    const fits = Math.floor(room / (size * 0.61));
    const shown = text.length <= fits ? text : fits < 3 ? '' : `${text.slice(0, fits - 1)}…`;
    if (!shown) return;
    if (halo) {
      // A halo instead of a plate: the colours under the words stay to be seen.
      ctx.lineJoin = 'round';
      ctx.lineWidth = this.px(2.5);
      ctx.strokeStyle = halo;
      ctx.strokeText(shown, x, y);
    }
    ctx.fillStyle = colour;
    ctx.fillText(shown, x, y);
  }

  private drawOverlay(scene: Scene): void {
    const { octx: ctx } = this;
    const { layout: l, palette } = scene;
    ctx.clearRect(0, 0, this.over.width, this.over.height);
    scene.ranked.forEach((domain, rank) => {
      const block = l.blockOf[domain + 1] ?? -1;
      if (block < 0) return;
      this.outline(scene, block, palette.fits, rank === 0 ? 2.5 : 1.5);
      this.badge(scene, block, String(rank + 1));
    });
    const { hover, cursor } = scene;
    if (hover.block >= 0 && hover.block !== cursor.block) this.outline(scene, hover.block, palette.muted, 1);
    if (hover.node >= 0) this.outlineNode(scene, hover.node, palette.muted, 1);
    if (cursor.block >= 0) this.outline(scene, cursor.block, palette.fg, 2);
    if (cursor.node >= 0) this.outlineNode(scene, cursor.node, palette.accent, 2);
  }

  private outline(scene: Scene, block: number, colour: string, width: number): void {
    const { layout: l, view } = scene;
    const { first, slots } = l.blocks[block]!;
    // A block longer than a shelf is outlined shelf by shelf.
    for (let slot = first; slot < first + slots;) {
      const count = Math.min(first + slots - slot, l.cols - (slot % l.cols));
      let rows = 0;
      for (let n = slot; n < slot + count; n++) rows = Math.max(rows, l.slotCount[n]!);
      this.rect(view, slotX(l, slot), slotY(l, slot), (count - 1) * l.slotW + l.nodeW, rows * l.pitch - (l.pitch - l.nodeH), colour, width);
      slot += count;
    }
  }

  private outlineNode(scene: Scene, node: number, colour: string, width: number): void {
    const { layout: l, view } = scene;
    this.rect(view, slotX(l, l.slotOf[node]!), nodeY(l, node), l.nodeW, l.nodeH, colour, width);
  }

  private rect(view: View, x: number, y: number, w: number, h: number, colour: string, width: number): void {
    const { octx: ctx } = this;
    const left = this.x(view, x), top = this.y(view, y), grow = (width / 2 + 0.5) * this.dpr;
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * this.dpr;
    ctx.strokeRect(left - grow, top - grow, this.x(view, x + w) - left + 2 * grow, this.y(view, y + h) - top + 2 * grow);
  }

  /** The rank, in the upper right corner: names begin at the left. */
  private badge(scene: Scene, block: number, text: string): void {
    const { octx: ctx } = this;
    const { layout: l, view, palette } = scene;
    const { first } = l.blocks[block]!;
    ctx.font = `bold ${this.px(9)}px ${palette.mono}`;
    const width = ctx.measureText(text).width + this.px(5);
    const x = this.x(view, slotX(l, first) + l.nodeW) + this.px(1) - width, y = this.y(view, slotY(l, first)) - this.px(1);
    ctx.fillStyle = palette.fits;
    ctx.fillRect(x, y, width, this.px(11));
    ctx.fillStyle = palette.bg;
    ctx.fillText(text, x + this.px(2.5), y + this.px(8.5));
  }
}

function hatch(ctx: CanvasRenderingContext2D, colour: string, scale: number): CanvasPattern {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 4 * scale;
  const pen = tile.getContext('2d')!;
  pen.scale(scale, scale);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.6;
  for (const shift of [-4, 0, 4]) {
    pen.moveTo(shift - 1, 5);
    pen.lineTo(shift + 5, -1);
  }
  pen.stroke();
  return ctx.createPattern(tile, 'repeat')!;
}
