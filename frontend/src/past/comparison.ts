// Two moments on one map: only what is different is painted, one key flips between the two, each at the same place.
import type { Compared, MapApp } from '../map/app';
import { ABSENT, type Model } from '../map/model';
import { ADDED, GONE, OWNERS, STATE, align, difference, place, type Difference } from './difference';
import { drawMark, tones } from './marks';
import type { Past, Tools } from './past';
import type { PastSnapshot } from './protocol';
import type { Source } from './source';

export class Comparison implements Past, Compared {
  private snapshots: [PastSnapshot, PastSnapshot] | null = null;
  /** The moments as they were, for words; and as they are drawn, on one layout. */
  private told: [Model, Model] | null = null;
  private drawn: [Model, Model] | null = null;
  private found: Difference | null = null;
  private flipped = false;
  private tones = tones();
  private readonly button = document.getElementById('past-flip');

  constructor(
    private readonly app: MapApp, private readonly tools: Tools, private readonly source: Source,
    private readonly a: number, private readonly b: number, private readonly leave: () => void,
  ) {
    app.compared = this;
    document.addEventListener('tas:theme', () => {
      this.tones = tones();
      app.recolour();
    });
    this.button?.addEventListener('click', () => this.flip());
    document.addEventListener('keydown', (event) => {
      if (!event.defaultPrevented && !tools.typing(event) && event.key === 'f') this.flip();
    });
    this.reload();
  }

  reload(): void {
    Promise.all([this.source.snapshot(this.a), this.source.snapshot(this.b)]).then(async ([a, b]) => {
      // Without a key in the address each moment may have another default: the later one's is taken.
      this.app.url.key = b.key;
      if (a.key !== b.key) a = await this.source.snapshot(this.a);
      this.compare([a, b]);
    }).catch((error) => this.app.failed(error));
  }

  private compare([a, b]: [PastSnapshot, PastSnapshot]): void {
    const { Model } = this.tools;
    this.snapshots = [a, b];
    this.told = [Model.from(a), Model.from(b)];
    this.drawn = [Model.from(a), Model.from(b)];
    this.found = difference(...this.told);
    const [left, right] = this.drawn;
    place(right, left);
    place(left, right);
    align(left, right);
    this.draw();
    const text = this.app.messages.say('pastCounts', this.found.counts);
    const said = document.getElementById('past-said');
    if (said) said.textContent = text;
  }

  private draw(): void {
    const side = this.flipped ? 0 : 1;
    if (!this.drawn) return;
    this.app.pill.show('paused', this.flipped ? this.a : this.b, 0);
    this.app.show(this.drawn[side]!, this.snapshots![side]!);
    this.app.host.dataset['shown'] = String(this.flipped ? this.a : this.b);
    this.button?.setAttribute('aria-pressed', String(this.flipped));
  }

  private flip(): void {
    this.flipped = !this.flipped;
    this.draw();
    this.app.frame.announce(this.app.messages.say('pastEvent', { seq: this.flipped ? this.a : this.b }));
  }

  step(): void { /* two moments stand still */ }

  back(): void { this.leave(); }

  faded(node: number): boolean { return !this.found?.bits[node]; }

  readonly mark = (ctx: CanvasRenderingContext2D, node: number, x: number, y: number, w: number, h: number): void => {
    const bits = this.found?.bits[node] ?? 0;
    drawMark(ctx, bits, (bits & (this.flipped ? ADDED : GONE)) !== 0, this.tones, x, y, w, h);
  };

  node(node: number): string {
    const [a, b] = this.told!;
    const { messages, words } = this.app;
    const say = (model: Model): string =>
      node < model.size && model.domain[node] !== ABSENT ? words.node(model, node) : messages.say('pastAbsent');
    if (!this.found?.bits[node]) return say(b);
    return messages.say('pastChanged', { a: this.a, b: this.b, before: say(a), after: say(b) });
  }

  domain(name: string, nodes: number[]): string {
    const count = (bit: number): number => nodes.filter((node) => (this.found?.bits[node] ?? 0) & bit).length;
    const counts = { all: nodes.length, added: count(ADDED), removed: count(GONE), state: count(STATE), owners: count(OWNERS) };
    const same = nodes.filter((node) => !this.found?.bits[node]).length;
    return `${name}: ${this.app.messages.say('pastCounts', { ...counts, same })}`;
  }
}
