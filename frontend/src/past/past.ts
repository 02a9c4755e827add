// The map of the past. The picture is one moment of the log; a slider over the events, two keys and a player lead to
// others, from what the timeline knows here. Nothing live is painted: the socket only tells how far the log has got.
// Beside what entries/map.ts names it uses parts/past_band.html and parts/past_time.html; data-shown on #rack-map is the
// seq that the picture is of.
import type { MapApp } from '../map/app';
import type { Model } from '../map/model';
import type { Message } from '../map/protocol';
import type { written } from '../map/url';
import type { Shared } from '../lib/shared';
import { Comparison } from './comparison';
import { Loader } from './loader';
import { Failed, Source } from './source';
import { TimeBar } from './timebar';
import { Timeline } from './timeline';
import { Times } from './times';

/** What the script of the map has and this one needs: no code twice on the page. */
export interface Tools extends Pick<Shared, 'LiveSocket' | 'browserClock' | 'socketUrl' | 'typing'> {
  Model: typeof Model;
  written: typeof written;
}

export interface Past {
  step(by: number): void;
  back(): void;
  reload(): void;
}

const SETTLED_MS = 250;

export function start(app: MapApp, tools: Tools): Past {
  const { dataset } = app.host;
  const source = new Source({ snapshot: dataset['snapshotUrl']!, replay: dataset['replayUrl']!, period: dataset['periodUrl']! }, () => app.url.key);
  const at = Number(dataset['at']), against = Number(dataset['against'] || 0);
  app.at = at;
  app.pill.show('paused', at, 0);
  const leave = (): void => location.assign(addressOf(tools, app, dataset['liveUrl']!, 0));
  const link = document.getElementById('past-live');
  link?.addEventListener('click', (event) => {
    event.preventDefault();
    leave();
  });
  return against ? new Comparison(app, tools, source, against, at, leave) : new Travel(app, tools, source, at, leave);
}

/** The address of the map at another moment (0: live), with what else is shown now. */
function addressOf(tools: Tools, app: MapApp, path: string, at: number): string {
  const query = new URLSearchParams(location.search);
  for (const name of ['at', 'against']) query.delete(name);
  if (at) query.set('at', String(at));
  return path + tools.written(query.toString(), app.url);
}

class Travel implements Past {
  private readonly timeline = new Timeline();
  private readonly times: Times;
  private readonly bar: TimeBar;
  private readonly period = { first: 1, head: 0 };
  private loader: Loader;
  /** The moment that is asked for, and the one that the picture is of: null before there is one. */
  private wanted: number;
  private shown: number | null = null;
  private entered = false;
  private playing = false;
  /** Whether the event that was stepped to has been told to screen readers. */
  private announced = true;
  private cancelSettled: (() => void) | null = null;
  private cancelTick: (() => void) | null = null;

  constructor(private readonly app: MapApp, private readonly tools: Tools, private readonly source: Source, at: number, private readonly leave: () => void) {
    this.times = new Times(app.host.dataset['zone'] ?? 'UTC');
    this.wanted = at;
    this.period.head = at;
    this.loader = new Loader(this.timeline, source, this.period, {
      came: () => this.show(),
      anew: () => { this.shown = null; },
      failed: (error) => this.failed(error),
    });
    this.bar = new TimeBar(app, this.timeline, this.times, {
      seek: (seq) => this.seek(seq),
      step: (by) => this.step(by),
      play: () => this.play(!this.playing),
    });
    this.bar.range(at, at);
    document.addEventListener('keydown', (event) => {
      if (!event.defaultPrevented && !tools.typing(event) && event.key === 'p') this.play(!this.playing);
    });
    this.listen();
    source.period().then((period) => {
      this.period.first = period.first.seq;
      this.period.head = Math.max(this.period.head, period.last.seq);
      this.times.learn(period.marks);
      this.bar.range(this.period.first, this.period.head);
      this.loader.want(this.wanted);
    }, (error) => this.failed(error));
  }

  step(by: number): void {
    this.play(false);
    this.announced = false;
    this.seek(this.wanted + by);
  }

  back(): void { this.leave(); }

  /** Another topology key: the same moment, another picture. */
  reload(): void {
    this.loader.reset();
    this.shown = null;
    this.loader.want(this.wanted);
  }

  seek(seq: number): void {
    this.wanted = Math.max(this.period.first, Math.min(this.period.head, seq));
    this.show();
    this.loader.want(this.wanted);
  }

  /** Brings the picture to the moment that is wanted, as soon as the way there is known. */
  private show(): void {
    const { app, timeline, wanted } = this;
    const way = timeline.way(this.shown, wanted);
    if (way && this.shown !== wanted) {
      app.at = wanted;
      if (way.snapshot) {
        const model = this.tools.Model.from(way.snapshot);
        for (const patches of way.patches) model.apply(patches);
        app.show(model, { ...way.snapshot, kpi: way.kpi ?? way.snapshot.kpi });
      } else {
        const touched = { nodes: [] as number[], moved: false };
        for (const patches of way.patches) {
          const { nodes, moved } = app.model.apply(patches);
          for (const node of nodes) touched.nodes.push(node);
          touched.moved ||= moved;
        }
        if (way.kpi) app.patched(touched, way.kpi);
      }
      this.shown = wanted;
      app.host.dataset['shown'] = String(wanted);
      app.forget();
      app.pill.show('paused', wanted, 0);
      // The first picture is what the page was rendered for, and its address stays as it was given.
      if (this.entered) this.settle();
      else app.explain();
      this.entered = true;
    }
    this.bar.show(wanted, this.shown, this.period.head);
    const sentence = this.shown === wanted ? this.bar.sentence(wanted) : '';
    if (this.announced || !sentence) return;
    this.announced = true;
    app.frame.announce(sentence);
  }

  /** What costs the server something, or would flicker, waits until the slider rests. */
  private settle(): void {
    const { app } = this;
    this.cancelSettled?.();
    this.cancelSettled = this.tools.browserClock.after(SETTLED_MS, () => {
      const query = new URLSearchParams(location.search);
      query.set('at', String(this.shown));
      history.replaceState(history.state, '', `${location.pathname}?${query}`);
      app.writeUrl();
      this.bar.settled(this.shown!);
      app.explain();
      if (app.url.color === 'podgroup') app.recolour();
      document.body.dispatchEvent(new CustomEvent('tas:moment', { detail: { seq: this.shown } }));
    });
  }

  private play(on: boolean): void {
    if (on === this.playing) return;
    this.playing = on;
    this.bar.playing(on);
    this.cancelTick?.();
    if (on) this.tick();
  }

  private tick(): void {
    // Who asked for less motion is shown one event a second.
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    this.cancelTick = this.tools.browserClock.after(still ? 1000 : 200, () => {
      if (this.wanted >= this.period.head) {
        this.play(false);
        return;
      }
      // One that is not there yet is waited for: nothing is left out.
      if (this.shown === this.wanted) this.seek(this.wanted + 1);
      this.tick();
    });
  }

  private listen(): void {
    const { app, tools } = this;
    const socket = new tools.LiveSocket(() => tools.socketUrl(app.host.dataset['wsUrl']!, app.url.key), {
      message: (body) => {
        const message = body as Message;
        this.period.head = Math.max(this.period.head, message.t === 'delta' ? message.to : message.seq);
        this.bar.grown(this.period.head, this.shown);
      },
      closed: () => this.bar.unheard(),
      silent: () => this.bar.unheard(),
    });
    socket.connect();
    socket.watchPage();
  }

  private failed(error: unknown): void {
    this.play(false);
    if (this.shown === null) this.app.failed(error);
    this.bar.failed(this.app.messages.say('pastFailed', { error: error instanceof Failed || error instanceof Error ? error.message : String(error) }));
  }
}
