// The controls around the map that the template renders: key, colours, filters, search, headline numbers.
import type { Messages } from './messages';
import type { Kpi, TopologyKey } from './protocol';
import type { ViewState } from './url';

export interface ControlEvents {
  key(key: string): void;
  color(color: ViewState['color']): void;
  query(line: string): void;
  filters(): void;
  pick(group: string): void;
}

export class Controls {
  private readonly keySelect = find<HTMLSelectElement>('map-key');
  private readonly colorSelect = find<HTMLSelectElement>('map-color');
  private readonly search = find<HTMLInputElement>('search');
  private readonly freeToggle = find<HTMLButtonElement>('map-free');
  private readonly oddToggle = find<HTMLButtonElement>('map-anomalies');
  private readonly kpis = document.querySelectorAll<HTMLElement>('#map-kpi [data-kpi]');

  constructor(private readonly messages: Messages, events: ControlEvents) {
    this.keySelect?.addEventListener('change', () => events.key(this.keySelect!.value));
    this.colorSelect?.addEventListener('change', () => events.color(this.colorSelect!.value === 'podgroup' ? 'podgroup' : 'occupancy'));
    this.search?.addEventListener('input', (event) => {
      if (!(event as InputEvent).isComposing) events.query(this.search!.value);
    });
    this.search?.addEventListener('compositionend', () => events.query(this.search!.value));
    this.search?.form?.addEventListener('submit', (event) => {
      event.preventDefault();
      events.query(this.search!.value);
      find('rack-map')?.focus();
    });
    for (const toggle of [this.freeToggle, this.oddToggle]) {
      toggle?.addEventListener('click', () => {
        toggle.setAttribute('aria-pressed', String(!pressed(toggle)));
        events.filters();
      });
    }
    document.addEventListener('click', (event) => {
      const picker = (event.target as Element | null)?.closest<HTMLElement>('[data-pick]');
      if (!picker || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      events.pick(picker.dataset['pick']!);
    });
  }

  get freeOnly(): boolean { return pressed(this.freeToggle); }

  get anomaliesOnly(): boolean { return pressed(this.oddToggle); }

  /** What the address asked for, into the controls. */
  restore(state: ViewState): void {
    if (this.colorSelect) this.colorSelect.value = state.color;
    if (this.search) this.search.value = state.q;
  }

  /** The keys as the server lists them, and the current one even if no node carries it. */
  keys(keys: TopologyKey[], current: string): void {
    const select = this.keySelect;
    if (!select) return;
    select.replaceChildren(...keys.map(({ key, domains }) => new Option(`${key} (${this.messages.count(domains)})`, key)));
    select.value = current;
    if (select.value !== current) select.add(new Option(current, current, true, true));
  }

  kpi(kpi: Kpi): void {
    for (const element of this.kpis) {
      const value = kpi[element.dataset['kpi'] as keyof Kpi] as number | undefined;
      if (value === undefined) continue;
      const text = this.messages.count(value);
      if (element.textContent !== text) element.textContent = text;
    }
  }
}

export function find<T extends HTMLElement>(id: string): T | null { return document.getElementById(id) as T | null; }

function pressed(toggle: HTMLElement | null): boolean { return toggle?.getAttribute('aria-pressed') === 'true'; }
