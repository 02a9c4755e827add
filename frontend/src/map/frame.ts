// The element the map lives in: canvases, zoom buttons, the hidden cell that screen readers follow, notes over the map.
import type { Key, Messages } from './messages';

const ANNOUNCE_MS = 5000;

export class Frame {
  private readonly cell = document.createElement('div');
  private readonly note = document.createElement('div');
  private readonly sentenceElement = document.getElementById('map-sentence');
  private readonly changedNodes = new Set<number>();
  private readonly announcer = document.getElementById('map-announce');

  constructor(readonly host: HTMLElement, private readonly messages: Messages) {
    const row = document.createElement('div');
    row.setAttribute('role', 'row');
    row.className = 'vh';
    this.cell.id = 'map-cell';
    this.cell.setAttribute('role', 'gridcell');
    row.append(this.cell);
    this.note.className = 'map-note';
    this.note.hidden = true;
    host.setAttribute('aria-activedescendant', this.cell.id);
    host.append(row, this.note);
  }

  /** Zoom buttons; outside the grid's role, they have their own names. */
  buttons(actions: [text: string, name: Key, act: () => void][]): void {
    const bar = document.createElement('div');
    bar.className = 'map-zoom';
    for (const [text, name, act] of actions) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = text;
      button.setAttribute('aria-label', this.messages.say(name));
      button.title = this.messages.say(name);
      button.addEventListener('click', act);
      bar.append(button);
    }
    this.host.after(bar);
  }

  /** What is under the pointer; `spoken`: the cursor moved, so the cell that screen readers follow says it. */
  sentence(text: string, spoken: boolean): void {
    if (this.sentenceElement && this.sentenceElement.textContent !== text) this.sentenceElement.textContent = text;
    if (spoken) this.cell.textContent = text;
  }

  /** Changes are told to screen readers summed up, at most every five seconds. */
  changed(nodes: number[]): void {
    if (nodes.length && this.changedNodes.size === 0) {
      setTimeout(() => {
        this.announce(this.messages.say('changed', { count: this.changedNodes.size }));
        this.changedNodes.clear();
      }, ANNOUNCE_MS);
    }
    for (const node of nodes) this.changedNodes.add(node);
  }

  announce(text: string): void {
    if (this.announcer) this.announcer.textContent = text;
  }

  showNote(title: string, hint = '', action?: { text: string; act: () => void }): void {
    const strong = document.createElement('strong');
    strong.textContent = title;
    const parts: (Node | string)[] = [strong];
    if (hint) parts.push(hint);
    if (action) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = action.text;
      button.addEventListener('click', action.act);
      parts.push(button);
    }
    this.note.replaceChildren(...parts);
    this.note.hidden = false;
  }

  hideNote(): void { this.note.hidden = true; }

  stale(stale: boolean): void { this.host.classList.toggle('stale', stale); }
}
