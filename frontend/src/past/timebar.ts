// The controls of time and what they say: slider, buttons, span, the band on top and the sentence of the event.
import type { MapApp } from '../map/app';
import type { Timeline } from './timeline';
import type { Times } from './times';

export interface TimeEvents {
  seek(seq: number): void;
  step(by: number): void;
  play(): void;
}

const AGO_MS = 30_000;

export class TimeBar {
  private readonly slider = id<HTMLInputElement>('past-slider');
  private readonly span = id<HTMLSelectElement>('past-span');
  private readonly playButton = id<HTMLButtonElement>('past-play');
  private readonly density = id<HTMLCanvasElement>('past-density');
  private first = 1;
  private head = 1;
  private seq = 0;
  private told = '';

  constructor(private readonly app: MapApp, private readonly timeline: Timeline, private readonly times: Times, events: TimeEvents) {
    this.slider?.addEventListener('input', () => events.seek(Number(this.slider!.value)));
    id('past-prev')?.addEventListener('click', () => events.step(-1));
    id('past-next')?.addEventListener('click', () => events.step(1));
    this.playButton?.addEventListener('click', () => events.play());
    this.span?.addEventListener('change', () => this.bounds());
    document.addEventListener('tas:theme', () => this.draw());
    if (this.density) new ResizeObserver(() => this.draw()).observe(this.density);
    setInterval(() => this.when(), AGO_MS);
  }

  /** The log goes from one event to the other. */
  range(first: number, head: number): void {
    this.first = first;
    this.head = head;
    this.bounds();
  }

  /** Events came: the slider is longer, the picture is what it was. */
  grown(head: number, shown: number | null): void {
    if (head !== this.head) this.range(this.first, head);
    this.ahead(head - (shown ?? this.seq));
  }

  unheard(): void { write('past-ahead', ''); }

  /** `wanted` is where the slider is, `shown` what the picture is of. */
  show(wanted: number, shown: number | null, head: number): void {
    const { slider, app: { messages } } = this;
    this.seq = wanted;
    if (slider) {
      if (Number(slider.min) > wanted || Number(slider.max) < wanted) this.bounds();
      if (slider.value !== String(wanted)) slider.value = String(wanted);
      const text = messages.say('pastValue', { seq: wanted, time: this.time(wanted), sentence: this.sentence(wanted) });
      if (text !== this.told) slider.setAttribute('aria-valuetext', this.told = text);
    }
    const step = this.timeline.step(wanted);
    write('past-said-event', messages.count(wanted));
    id('past-said-event')?.setAttribute('href', this.address(wanted));
    write('past-sentence', shown !== wanted ? messages.say('pastLoading') : step?.sentence ?? '');
    if (shown !== null) {
      write('past-event', messages.say('pastEvent', { seq: shown }));
      id('past-event')?.setAttribute('href', this.address(shown));
      const from = id('past-scenario');
      from?.setAttribute('href', from.getAttribute('href')!.replace(/at=\d+/, `at=${shown}`));
      this.ahead(head - shown);
    }
    this.when();
  }

  /** The forms and links beside the map follow once the slider rests. */
  settled(seq: number): void {
    const compare = id<HTMLInputElement>('past-compare-at');
    if (compare) compare.value = String(seq);
    for (const input of document.querySelectorAll<HTMLInputElement>('#past-time input[name=key]')) input.value = this.app.url.key;
    const table = id<HTMLAnchorElement>('map-table');
    if (table) {
      const query = new URLSearchParams(location.search);
      query.set('view', 'table');
      table.href = `?${query}`;
    }
  }

  playing(on: boolean): void {
    this.playButton?.setAttribute('aria-pressed', String(on));
    write('past-play', this.app.messages.say(on ? 'pastStop' : 'pastPlay'));
  }

  failed(text: string): void { write('past-sentence', text); }

  /** What the event says, in one sentence; "" while it is not known. */
  sentence(seq: number): string { return this.timeline.step(seq)?.sentence ?? ''; }

  private time(seq: number): string {
    const step = this.timeline.step(seq);
    if (step) return this.times.text(step.at);
    const about = this.times.about(seq);
    return about === null ? '' : `${this.times.exact(seq) ? '' : '≈ '}${this.times.text(about)}`;
  }

  private when(): void {
    const at = this.timeline.step(this.seq)?.at ?? this.times.about(this.seq);
    if (at === null) return;
    write('past-when', this.time(this.seq));
    write('past-ago', this.times.ago(at, Date.now()));
  }

  private ahead(count: number): void {
    write('past-ahead', this.app.messages.say(count > 1 ? 'pastAhead' : count === 1 ? 'pastAheadOne' : 'pastAheadNone', { count }));
  }

  private address(seq: number): string { return this.app.host.dataset['eventUrl']!.replace('__seq__', String(seq)); }

  /** What the slider spans: the whole log, or so many events around the moment. */
  private bounds(): void {
    const { slider } = this;
    if (!slider) return;
    const width = Number(this.span?.value ?? 0);
    const low = width ? Math.max(this.first, this.seq - width / 2) : this.first;
    const high = width ? Math.min(this.head, this.seq + width / 2) : this.head;
    slider.min = String(low);
    slider.max = String(high);
    if (this.seq) slider.value = String(this.seq);
    write('past-from', this.time(low));
    write('past-to', this.time(high));
    this.draw();
  }

  /** How fast events came, over the slider: the higher the more a second. The scale is logarithmic. */
  private draw(): void {
    const { density: canvas, slider } = this;
    const pen = canvas?.getContext('2d');
    if (!canvas || !pen || !slider) return;
    const low = Number(slider.min), high = Number(slider.max);
    const rates = this.times.rates(low, high);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * devicePixelRatio));
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--busy').trim();
    const logs = rates.map(({ rate }) => Math.log(rate));
    const least = Math.min(...logs), most = Math.max(...logs);
    rates.forEach(({ from, to }, n) => {
      const x = ((Math.max(from, low) - low) / Math.max(1, high - low)) * canvas.width;
      const right = ((Math.min(to, high) - low) / Math.max(1, high - low)) * canvas.width;
      const share = most > least ? 0.15 + (0.85 * (logs[n]! - least)) / (most - least) : 0.5;
      pen.fillRect(x, canvas.height * (1 - share), Math.max(1, right - x - 1), canvas.height * share);
    });
  }
}

function id<T extends HTMLElement = HTMLElement>(name: string): T | null { return document.getElementById(name) as T | null; }

function write(name: string, text: string): void {
  const element = id(name);
  if (element && element.textContent !== text) element.textContent = text;
}
