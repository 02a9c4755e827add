// The map page: holds model, layout and scene together, and answers what people and the feed do. On a page of the
// past there is no feed: past/past.ts, loaded there only, brings the picture.
import type { Advance } from '../lib/advance';
import type { LiveState, Pill } from '../lib/pill';
import { shared } from '../lib/shared';
import type { LiveSocket } from '../lib/socket';
import { Refused, candidates as fetchCandidates, source } from './api';
import { Controls } from './controls';
import { Words, type Candidates } from './describe';
import { NONE, found, named, nodesOf, step } from './cursor';
import type { Detail } from './detail';
import { Feed } from './feed';
import { Frame } from './frame';
import { bindInput, type MapActions } from './input';
import { hit, layout, nodeY, slotX, slotY, type Hit, type Layout } from './layout';
import { Links } from './links';
import { pageMessages } from './messages';
import { Model, NOBODY, type Touched } from './model';
import type * as PastModule from '../modules/past';
import type { Past } from '../past/past';
import { palette } from './palette';
import type { Delta, Kpi, Message, Snapshot } from './protocol';
import { Renderer, type Mark, type Scene } from './render';
import type { Test } from './search';
import type * as Extra from '../modules/extra';
import { read, written, type ViewState } from './url';
import { View } from './view';

const { browserClock, tellBody, ...lib } = shared();
const HUES = 7;
/** Outlined domains of a picked group. */
const RANKED = 8;
const FREE_AT_LEAST = 8;
const EXPLAIN_MS = 3000;

/** What a comparison of two moments has in place of the picture's own look and words. */
export interface Compared {
  faded(node: number): boolean;
  mark: Mark;
  node(node: number): string;
  domain(name: string, nodes: number[]): string;
}

export class MapApp implements MapActions {
  readonly messages = pageMessages();
  readonly frame: Frame;
  private readonly renderer: Renderer;
  readonly words = new Words(this.messages);
  readonly links: Links;
  /** Search, side panel, colours by group: loaded when they are asked for. */
  private extra: typeof Extra | null = null;
  private detail: Detail | null = null;
  readonly controls: Controls;
  private readonly feed: Feed;
  private readonly socket: LiveSocket;
  readonly pill: Pill = new lib.Pill();
  private readonly advance: Advance = new lib.Advance(browserClock, (seq) => this.advanced(seq));
  private readonly view = new View();
  readonly url: ViewState;
  /** The seq of a picture of the past, 0 on the live map. */
  at = 0;
  compared: Compared | null = null;
  private past: Past | null = null;
  model = new Model();
  private layout: Layout;
  private colours;
  private loaded = false;
  private query: Test | null = null;
  private candidates: Candidates | null = null;
  private candidateDomains = new Set<number>();
  private hues = new Map<number, number>();
  private hovered: Hit = NONE;
  private cursor: Hit = NONE;
  private socketKey: string | null = null;
  private explainedAt = 0;

  constructor(readonly host: HTMLElement) {
    const { dataset } = host;
    this.url = read(location.search);
    this.url.key ||= dataset['key'] ?? '';
    this.frame = new Frame(host, this.messages);
    this.renderer = new Renderer(host);
    this.frame.buttons([['+', 'zoomIn', () => this.zoom(1.4)], ['−', 'zoomOut', () => this.zoom(1 / 1.4)], ['⤢', 'fit', () => this.fit()]]);
    this.colours = palette(document.documentElement);
    this.layout = layout(this.model, 1, 1);
    this.links = new Links(dataset);
    this.controls = new Controls(this.messages, {
      key: (key) => this.switchKey(key),
      color: (color) => this.setColor(color),
      query: (line) => void this.search(line),
      filters: () => this.recolour(),
      pick: (group) => this.pick(group),
    });
    this.controls.restore(this.url);
    this.feed = new Feed(source(dataset['snapshotUrl']!, dataset['deltasUrl']!, () => this.url.key), {
      reset: (snapshot) => this.reset(snapshot),
      apply: (delta) => this.apply(delta),
      state: (state, seq, asOf) => this.showState(state, seq, asOf),
      failed: (error) => this.failed(error),
    }, browserClock);
    this.socket = new lib.LiveSocket(() => lib.socketUrl(dataset['wsUrl']!, this.socketKey ?? this.url.key), {
      message: (body) => this.receive(body as Message),
      closed: (refused) => {
        this.feed.disconnected();
        if (refused) this.failed(new Refused('socket refused'));
      },
      silent: () => this.feed.disconnected(),
    });
  }

  start(): void {
    this.frame.showNote(this.messages.say('loading'));
    bindInput(this.host, this);
    this.renderer.resize(this.host.clientWidth, this.host.clientHeight);
    new ResizeObserver(() => this.resized()).observe(this.host);
    document.addEventListener('tas:theme', () => this.retheme());
    matchMedia('(forced-colors: active)').addEventListener('change', () => this.retheme());
    void this.begin().catch((error) => this.failed(error));
  }

  private async begin(): Promise<void> {
    // What the address asks for is there before the first picture.
    if (this.url.q || this.url.color === 'podgroup') await this.load();
    const script = this.host.dataset['pastScript'];
    if (script) {
      const { start } = await import(script) as typeof PastModule;
      this.past = start(this, { Model, written, browserClock, ...lib });
      return;
    }
    document.getElementById('map-past')?.addEventListener('click', (event) => {
      event.preventDefault();
      this.step(-1);
    });
    this.socket.watchPage();
    // The socket first, so that nothing is missed between snapshot and first message; it needs to know the key.
    if (this.url.key) this.connect(this.url.key);
    this.feed.restart();
  }

  // ------------------------------------------------------------ what the feed brings

  private receive(message: Message): void {
    if (message.t === 'hello') this.feed.hello(message.epoch, message.seq);
    else if (message.t === 'delta') this.feed.push(message);
    else if (message.t === 'hb') this.feed.heartbeat(message.seq);
  }

  private reset(snapshot: Snapshot): void {
    const first = !this.loaded;
    this.connect(snapshot.key);
    this.show(Model.from(snapshot), snapshot);
    this.explain();
    // The page was rendered a moment ago; only a later snapshot is news to it.
    if (!first) this.advance.to(snapshot.seq);
  }

  private async load(): Promise<void> {
    if (this.extra) return;
    this.extra = await import(this.host.dataset['extraScript']!) as typeof Extra;
    this.detail ??= new this.extra.Detail(document.getElementById('map-detail'), this.words, this.messages, this.links);
    this.query = this.extra.parse(this.url.q);
  }

  /** Another picture as a whole. */
  show(model: Model, { key, keys, kpi }: Pick<Snapshot, 'key' | 'keys' | 'kpi'>): void {
    const at = this.selection();
    this.model = model;
    this.url.key = key;
    this.controls.keys(keys, key);
    this.controls.kpi(kpi);
    this.relayout();
    this.restoreSelection(this.loaded ? at : this.url.sel);
    this.noteEmpty();
    this.writeUrl();
    this.loaded = true;
  }

  private noteEmpty(): void {
    if (this.layout.order.length) this.frame.hideNote();
    else this.frame.showNote(this.messages.say('empty'), this.messages.say('emptyHint'));
  }

  private apply(delta: Delta): void {
    this.patched(this.model.apply(delta), delta.kpi);
    this.advance.to(delta.to);
  }

  /** The same picture with some nodes changed. */
  patched({ nodes, moved }: Touched, kpi: Kpi): void {
    this.controls.kpi(kpi);
    if (moved) {
      const at = this.selection();
      this.relayout();
      this.restoreSelection(at);
      this.noteEmpty();
    } else if (nodes.length) {
      this.renderer.touch(nodes);
      this.resay(nodes);
    }
    if (!this.at) this.frame.changed(nodes);
  }

  private showState(state: LiveState, seq: number, asOf: number): void {
    this.pill.show(state, Math.max(0, seq), asOf);
    this.frame.stale(state === 'stale');
  }

  failed(error: unknown): void {
    if (error instanceof Refused) {
      this.frame.showNote(this.messages.say('signedOut'));
      this.frame.stale(true);
    } else if (!this.loaded) {
      this.frame.showNote(this.messages.say('failed'), '', { text: this.messages.say('retry'), act: () => location.reload() });
    }
  }

  /** The log has grown: the page's partials refresh, and what the picked group could do may be another. */
  private advanced(seq: number): void {
    tellBody(seq);
    if (this.url.color === 'podgroup') this.recolour(); // the largest groups may be others now
    if (this.url.pg && Date.now() - this.explainedAt >= EXPLAIN_MS) this.explain();
  }

  private connect(key: string): void {
    if (this.socketKey === key) return;
    const first = this.socketKey === null;
    this.socketKey = key;
    if (first) this.socket.connect();
    else this.socket.reconnect();
  }

  // ------------------------------------------------------------ scene

  private relayout(): void {
    this.layout = layout(this.model, this.host.clientWidth - 8, this.host.clientHeight - 8);
    this.fitView(true);
    this.hovered = NONE;
    this.recolour();
  }

  /** The scene anew: after every change of filter, pick, colours or layout. */
  recolour(): void {
    const { model } = this;
    const largest = this.url.color === 'podgroup' && this.extra ? this.extra.largestGroups(model, HUES) : [];
    this.hues = new Map(largest.map((group, hue) => [group, hue]));
    this.extra?.legend(largest.map((group) => model.groups[group]!), this.messages.say('others'));
    this.candidateDomains = new Set(this.ranked());
    this.renderer.show(this.scene());
  }

  private scene(): Scene {
    const { model } = this;
    const picked = this.url.pg ? model.groupAt(this.url.pg) : NOBODY;
    const { freeOnly, anomaliesOnly } = this.controls;
    return {
      model, layout: this.layout, view: this.view, palette: this.colours, byGroup: this.url.color === 'podgroup', hues: this.hues, picked,
      mark: this.compared?.mark ?? null,
      faded: (node) => this.compared?.faded(node) || (this.query !== null && !this.query(model, node))
        || (freeOnly && model.free(node) < FREE_AT_LEAST)
        || (anomaliesOnly && !model.anomalous(node))
        || (this.url.pg !== '' && !this.candidateDomains.has(model.domain[node]!) && !model.holds(node, picked)),
      ranked: this.ranked(), hover: this.hovered, cursor: this.cursor,
      unlabelledTitle: this.messages.say('unlabelled', { key: model.key.slice(model.key.indexOf('/') + 1) }),
    };
  }

  private ranked(): number[] {
    if (!this.candidates || !this.url.pg) return [];
    return this.candidates.domains.filter(({ fits }) => fits > 0).slice(0, RANKED).map(({ domain }) => this.model.domainAt(domain)).filter((domain) => domain >= 0);
  }

  private retheme(): void {
    this.colours = palette(document.documentElement);
    this.recolour();
  }

  private resized(): void {
    this.renderer.resize(this.host.clientWidth, this.host.clientHeight);
    if (!this.loaded) return;
    const at = this.selection();
    this.relayout();
    this.restoreSelection(at);
  }

  // ------------------------------------------------------------ what people do

  hover(x: number, y: number): void {
    const [lx, ly] = this.view.toLayout(x, y);
    const found = hit(this.layout, lx, ly);
    if (found.block === this.hovered.block && found.node === this.hovered.node) return;
    this.hovered = found;
    this.frame.sentence(found.block >= 0 ? this.sentence(found) : this.cursor.block >= 0 ? this.sentence(this.cursor) : '', false);
    this.repoint();
  }

  leave(): void { this.hover(-1, -1); }

  select(x: number, y: number): void {
    const [lx, ly] = this.view.toLayout(x, y);
    this.setCursor(hit(this.layout, lx, ly));
  }

  pan(dx: number, dy: number): void {
    this.view.pan(dx, dy);
    this.renderer.redraw();
  }

  zoom(factor: number, x?: number, y?: number): void {
    this.view.zoom(factor, x, y);
    this.renderer.redraw();
  }

  fit(): void {
    this.fitView(false);
    this.renderer.redraw();
  }

  private fitView(keep: boolean): void {
    this.view.fit(this.host.clientWidth, this.host.clientHeight, this.layout.width, this.layout.height + 4, keep);
  }

  move(dx: number, dy: number, within: boolean): void { this.setCursor(step(this.layout, this.cursor, dx, dy, within)); }

  nextAnomaly(): void { void this.load().then(() => this.setCursor(this.extra!.nextAnomaly(this.model, this.layout, this.cursor))); }

  open(): void {
    const { cursor, model } = this;
    if (cursor.node >= 0) location.assign(this.links.node(model.names[cursor.node]!));
    else if (cursor.block >= 0) {
      const { domain } = this.layout.blocks[cursor.block]!;
      if (domain >= 0) location.assign(this.links.domain(model.domains[domain]!, model.key));
    }
  }

  /** Takes back the last thing first: node, domain, picked group, search. */
  escape(): void {
    if (this.cursor.node >= 0) this.setCursor({ block: this.cursor.block, node: -1 });
    else if (this.cursor.block >= 0) this.setCursor(NONE);
    else if (this.url.pg) this.pick('');
    else if (this.url.q) {
      void this.search('');
      this.controls.restore(this.url);
    } else if (!this.view.fitted) this.fit();
  }

  /** From the live map into the past, at what is shown; there to the event before or after. */
  step(by: number): void {
    if (this.past) this.past.step(by);
    else if (!this.at && by < 0 && this.feed.seq > 0) location.assign(written(`?at=${this.feed.seq}`, this.url));
  }

  togglePause(): void {
    if (this.past) this.past.back();
    else if (this.feed.isPaused) this.feed.resume();
    else this.feed.pause();
  }

  cycleColor(): void {
    this.setColor(this.url.color === 'occupancy' ? 'podgroup' : 'occupancy');
    this.controls.restore(this.url);
  }

  private setColor(color: ViewState['color']): void {
    this.url.color = color;
    void this.load().then(() => this.recolour());
    this.writeUrl();
  }

  private switchKey(key: string): void {
    this.url.key = key;
    this.setCursor(NONE);
    this.fit();
    if (this.past) {
      this.past.reload();
      return;
    }
    this.connect(key);
    this.feed.restart();
  }

  private async search(line: string): Promise<void> {
    this.url.q = line.trim();
    if (this.url.q) await this.load();
    if (line.trim() !== this.url.q) return;
    this.query = this.extra?.parse(line) ?? null;
    this.recolour();
    this.writeUrl();
    if (!this.query) {
      this.frame.sentence(this.cursor.block >= 0 ? this.sentence(this.cursor) : '', false);
      return;
    }
    let count = 0;
    for (const node of this.layout.order) if (this.query(this.model, node)) count++;
    this.frame.sentence(this.messages.say('matches', { count }), false);
    this.frame.announce(this.messages.say('matches', { count }));
  }

  private pick(group: string): void {
    this.url.pg = group;
    this.candidates = null;
    this.recolour();
    this.writeUrl();
    this.resay(null);
    this.explain();
    document.body.dispatchEvent(new CustomEvent('tas:pick', { detail: { group } }));
  }

  /** What the picked group could do was true of another moment. */
  forget(): void {
    if (!this.candidates) return;
    this.candidates = null;
    this.recolour();
  }

  explain(): void {
    const { at, url: { pg } } = this;
    if (!pg || this.compared) return;
    this.explainedAt = Date.now();
    // A failure leaves the map without outlines; the next news asks again, and the group's page tells what is wrong.
    fetchCandidates(this.links.explanation(pg) + (at ? `?at=${at}` : '')).then((found) => {
      if (pg !== this.url.pg || at !== this.at) return;
      this.candidates = found;
      this.recolour();
      this.resay(null);
    }, () => { if (pg === this.url.pg && at === this.at) this.candidates = null; });
  }

  // ------------------------------------------------------------ selection and words

  /** `reveal`: bring it on screen. */
  private setCursor(at: Hit, reveal = true): void {
    this.cursor = at;
    const selected = at.block >= 0;
    if (selected && reveal) {
      const { layout: l } = this;
      const slot = at.node >= 0 ? l.slotOf[at.node]! : l.blocks[at.block]!.first;
      const y = at.node >= 0 ? nodeY(l, at.node) : slotY(l, slot);
      const before = `${this.view.tx} ${this.view.ty}`;
      this.view.reveal(slotX(l, slot), y - l.band, l.slotW, (at.node >= 0 ? l.nodeH : l.shelfH) + l.band);
      if (before !== `${this.view.tx} ${this.view.ty}`) this.renderer.redraw();
    }
    this.repoint();
    this.resay(null);
    if (!selected) this.frame.sentence('', true);
    this.url.sel = this.selection();
    this.writeUrl();
  }

  /** Says again what is selected when it changed (null: in any case), sentence and side panel. */
  private resay(nodes: number[] | null): void {
    const { cursor } = this;
    if (cursor.block < 0) { this.detail?.clear(); return; }
    const shown = cursor.node >= 0 ? [cursor.node] : nodesOf(this.layout, cursor.block);
    if (nodes && !nodes.some((node) => shown.includes(node))) return;
    const text = this.sentence(cursor);
    this.frame.sentence(text, true);
    if (!this.detail) void this.load().then(() => this.resay(null));
    else if (cursor.node >= 0) this.detail.node(this.model, cursor.node, this.url.pg);
    else this.detail.domain(this.model, this.layout.blocks[cursor.block]!.domain, shown, text);
  }

  private sentence(at: Hit): string {
    const { compared } = this;
    if (at.node >= 0) return compared?.node(at.node) ?? this.words.node(this.model, at.node);
    if (compared) return compared.domain(this.words.domainName(this.model, this.layout.blocks[at.block]!.domain), nodesOf(this.layout, at.block));
    return this.words.domain(this.model, this.layout.blocks[at.block]!.domain, nodesOf(this.layout, at.block), this.candidates);
  }

  private repoint(): void { this.renderer.point(this.hovered, this.cursor); }

  private selection(): string { return named(this.model, this.layout, this.cursor); }

  private restoreSelection(text: string): void { this.setCursor(found(this.model, this.layout, text), !this.loaded); }

  writeUrl(): void {
    const query = written(location.search, this.url);
    if (query !== location.search) history.replaceState(history.state, '', query || location.pathname);
  }
}
