// Two pictures of one fork side by side. Both have the same nodes at the same places, so one cursor and one view do for
// both; what is pointed at in one is marked in the other.
import { NONE, nodesOf, step } from '../map/cursor';
import { Words } from '../map/describe';
import { bindKeys, bindPointer, type KeyActions, type PointerActions } from '../map/input';
import { hit, layout, nodeY, slotX, slotY, type Hit, type Layout } from '../map/layout';
import { pageMessages } from '../map/messages';
import { ABSENT, Model, NOBODY } from '../map/model';
import { palette } from '../map/palette';
import type { Snapshot } from '../map/protocol';
import { Renderer, type Scene } from '../map/render';
import { View } from '../map/view';
import { ADDED, GONE, OWNERS, STATE, align, difference, place, type Difference } from './difference';
import { drawMark, tones } from './marks';

interface Side { host: HTMLElement; renderer: Renderer; drawn: Model; told: Model; layout: Layout; absent: number }

const GAP = 8;
/** A map is as high as what is in it, within bounds. */
const LEAST_HEIGHT = 120, MOST_HEIGHT = 400;

export class Pair implements PointerActions, KeyActions {
  private readonly messages = pageMessages();
  private readonly words = new Words(this.messages);
  private readonly view = new View();
  private readonly sides: Side[];
  private readonly only = document.getElementById('pair-only');
  private found: Difference | null = null;
  private colours = palette(document.documentElement);
  private tones = tones();
  private hovered: Hit = NONE;
  private cursor: Hit = NONE;

  constructor(private readonly host: HTMLElement) {
    const empty = new Model();
    this.sides = [...host.querySelectorAll<HTMLElement>('.pair-map')].map((side) => ({
      host: side, renderer: new Renderer(side), drawn: empty, told: empty, layout: layout(empty, 1, 1),
      absent: side.dataset['side'] === 'before' ? ADDED : GONE,
    }));
  }

  start(): void {
    const { host } = this;
    host.dataset['begun'] = '1';
    for (const side of this.sides) bindPointer(side.host, this, true);
    bindKeys(host, this);
    const key = document.getElementById('pair-key') as HTMLSelectElement | null;
    key?.addEventListener('change', () => this.load(key.value));
    this.only?.addEventListener('click', () => {
      this.only!.setAttribute('aria-pressed', String(!this.onlyChanges));
      this.redraw();
    });
    const zooms: Record<string, () => void> = { in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), fit: () => this.fit() };
    for (const button of document.querySelectorAll<HTMLElement>('[data-zoom]')) button.addEventListener('click', zooms[button.dataset['zoom']!]!);
    const retheme = (): void => {
      this.colours = palette(document.documentElement);
      this.tones = tones();
      this.redraw();
    };
    document.addEventListener('tas:theme', retheme);
    matchMedia('(forced-colors: active)').addEventListener('change', retheme);
    new ResizeObserver(() => this.relayout()).observe(this.sides[0]!.host);
    this.load(host.dataset['key'] ?? '');
  }

  private load(key: string): void {
    this.say(this.messages.say('loading'));
    const { dataset } = this.host;
    Promise.all([fetched(dataset['beforeUrl']!, key), fetched(dataset['afterUrl']!, key)])
      .then(([before, after]) => this.show(before, after), (error: unknown) => this.say(`${this.messages.say('failed')} ${String(error)}`));
  }

  private show(before: Snapshot, after: Snapshot): void {
    const [left, right] = this.sides as [Side, Side];
    left.told = Model.from(before);
    right.told = Model.from(after);
    this.found = difference(left.told, right.told);
    left.drawn = Model.from(before);
    right.drawn = Model.from(after);
    place(right.drawn, left.drawn);
    place(left.drawn, right.drawn);
    align(left.drawn, right.drawn);
    this.cursor = this.hovered = NONE;
    this.relayout();
    this.say(this.messages.say('pastCounts', this.found.counts));
    this.tell();
    this.host.dataset['shown'] = after.key;
  }

  private say(text: string): void {
    const said = document.getElementById('pair-said');
    if (said) said.textContent = text;
  }

  private relayout(): void {
    const width = this.sides[0]!.host.clientWidth;
    for (const side of this.sides) side.layout = layout(side.drawn, width - GAP, MOST_HEIGHT);
    const { layout: l } = this.sides[0]!;
    const height = Math.max(LEAST_HEIGHT, Math.min(MOST_HEIGHT, Math.ceil(l.height)) + GAP);
    for (const side of this.sides) {
      side.host.style.height = `${height + 2}px`;
      side.renderer.resize(width, height);
    }
    this.view.fit(width, height, l.width, l.height + 4, true);
    this.redraw();
  }

  private get onlyChanges(): boolean { return this.only?.getAttribute('aria-pressed') === 'true'; }

  private redraw(): void { for (const side of this.sides) side.renderer.show(this.scene(side)); }

  private scene(side: Side): Scene {
    const { drawn: model } = side;
    const group = this.host.dataset['group'] ?? '';
    const bits = (node: number): number => this.found?.bits[node] ?? 0;
    return {
      model, layout: side.layout, view: this.view, palette: this.colours, byGroup: false, hues: new Map(),
      picked: group ? model.groupAt(group) : NOBODY,
      faded: (node) => this.onlyChanges && !bits(node),
      mark: (ctx, node, x, y, w, h) => drawMark(ctx, bits(node), (bits(node) & side.absent) !== 0, this.tones, x, y, w, h),
      ranked: [], hover: this.hovered, cursor: this.cursor,
      unlabelledTitle: this.messages.say('unlabelled', { key: model.key.slice(model.key.indexOf('/') + 1) }),
    };
  }

  hover(x: number, y: number): void {
    const found = hit(this.sides[0]!.layout, ...this.view.toLayout(x, y));
    if (found.block === this.hovered.block && found.node === this.hovered.node) return;
    this.hovered = found;
    this.tell();
  }

  leave(): void { this.hover(-1, -1); }

  select(x: number, y: number): void { this.choose(hit(this.sides[0]!.layout, ...this.view.toLayout(x, y))); }

  pan(dx: number, dy: number): void {
    this.view.pan(dx, dy);
    for (const side of this.sides) side.renderer.redraw();
  }

  zoom(factor: number, x?: number, y?: number): void {
    this.view.zoom(factor, x, y);
    for (const side of this.sides) side.renderer.redraw();
  }

  fit(): void {
    const { host, layout: l } = this.sides[0]!;
    this.view.fit(host.clientWidth, host.clientHeight, l.width, l.height + 4);
    for (const side of this.sides) side.renderer.redraw();
  }

  move(dx: number, dy: number, within: boolean): void { this.choose(step(this.sides[0]!.layout, this.cursor, dx, dy, within)); }

  open(): void { /* a node of a fork has no page of its own */ }

  /** Takes back the last thing first: node, domain, zoom. */
  escape(): void {
    if (this.cursor.node >= 0) this.choose({ block: this.cursor.block, node: -1 });
    else if (this.cursor.block >= 0) this.choose(NONE);
    else if (!this.view.fitted) this.fit();
  }

  private choose(at: Hit): void {
    this.cursor = at;
    if (at.block >= 0) {
      const { layout: l } = this.sides[0]!;
      const slot = at.node >= 0 ? l.slotOf[at.node]! : l.blocks[at.block]!.first;
      const y = at.node >= 0 ? nodeY(l, at.node) : slotY(l, slot);
      this.view.reveal(slotX(l, slot), y - l.band, l.slotW, (at.node >= 0 ? l.nodeH : l.shelfH) + l.band);
      for (const side of this.sides) side.renderer.redraw();
    }
    this.tell();
    const cell = document.getElementById('pair-cell');
    if (cell) cell.textContent = this.sentence(at);
  }

  /** Points at the same place in both maps, and says what is there. */
  private tell(): void {
    for (const side of this.sides) side.renderer.point(this.hovered, this.cursor);
    const line = document.getElementById('pair-sentence');
    const text = this.sentence(this.hovered.block >= 0 ? this.hovered : this.cursor);
    if (line && line.textContent !== text) line.textContent = text;
  }

  private sentence(at: Hit): string {
    if (at.block < 0) return '';
    return at.node >= 0 ? this.ofNode(at.node) : this.ofDomain(at.block);
  }

  private ofNode(node: number): string {
    const [before, after] = this.sides.map(({ told }) =>
      node < told.size && told.domain[node] !== ABSENT ? this.words.node(told, node) : this.messages.say('pastAbsent'));
    return this.found?.bits[node] ? this.messages.say('pairChanged', { before: before!, after: after! }) : after!;
  }

  private ofDomain(block: number): string {
    const { drawn, layout: l } = this.sides[1]!;
    const nodes = nodesOf(l, block);
    const count = (bit: number): number => nodes.filter((node) => (this.found?.bits[node] ?? 0) & bit).length;
    const same = nodes.filter((node) => !this.found?.bits[node]).length;
    const counts = { all: nodes.length, added: count(ADDED), removed: count(GONE), state: count(STATE), owners: count(OWNERS), same };
    return `${this.words.domainName(drawn, l.blocks[block]!.domain)}: ${this.messages.say('pastCounts', counts)}`;
  }
}

async function fetched(path: string, key: string): Promise<Snapshot> {
  const url = new URL(path, location.href);
  if (key) url.searchParams.set('key', key);
  const response = await fetch(url, { credentials: 'same-origin', headers: { Accept: 'application/json' } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return (await response.json()) as Snapshot;
}
