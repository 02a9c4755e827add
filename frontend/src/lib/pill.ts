// The status pill of every page: it never says live when nothing has been heard.
export type LiveState = 'live' | 'catching' | 'stale' | 'paused';

/** `data-live`, `data-catching`, `data-stale` (with {time}) and `data-paused` hold the words; see entries/console.ts. */
export class Pill {
  private readonly element = document.getElementById('live-pill');
  private shown = '';

  show(state: LiveState, seq: number, heard: number): void {
    const { element } = this;
    if (!element) return;
    const time = heard ? new Date(heard).toLocaleTimeString(document.documentElement.lang || undefined, { hour12: false }) : '—';
    const text = (element.dataset[state] ?? state).replace('{time}', time);
    // A live region speaks when its text changes: the number is kept out of that.
    if (text !== this.shown) {
      element.dataset['state'] = state;
      const label = element.querySelector('[data-text]');
      if (label) label.textContent = text;
      this.shown = text;
    }
    const number = element.querySelector('[data-seq]');
    if (number) number.textContent = seq > 0 ? seq.toLocaleString('en') : '';
  }
}
