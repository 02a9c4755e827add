// A table of many small cells is one tab stop: arrow keys go from cell to cell, Home and End along a row, and the
// line that the table names says what the cell is. Without scripts each point has a link in the table of points.
//
// Markup: <p id="said">, <table class="heat" data-said="said"> with <td><a aria-label>; the first link alone can be
// reached by Tab. Listens on the document, since parts of a page are exchanged.

const STEPS: Record<string, [number, number]> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
};

/** The cell to go to from (row, column) in rows of such lengths; null for a key that goes nowhere. */
export function target(key: string, row: number, column: number, lengths: readonly number[]): [number, number] | null {
  const step = STEPS[key];
  if (!step) return null;
  const to = Math.min(Math.max(row + step[0], 0), lengths.length - 1);
  const last = (lengths[to] ?? 1) - 1;
  return [to, Math.min(Math.max(column + step[1], 0), last)];
}

function link(event: Event): HTMLAnchorElement | null {
  const found = event.target instanceof Element ? event.target.closest('table.heat td a') : null;
  return found instanceof HTMLAnchorElement ? found : null;
}

function say(event: Event): void {
  const found = link(event);
  const said = document.getElementById(found?.closest('table')?.dataset['said'] ?? '');
  if (found && said) said.textContent = found.getAttribute('aria-label');
}

function go(event: KeyboardEvent): void {
  const from = link(event);
  const body = from?.closest('tbody');
  const cell = from?.closest('td');
  if (!from || !body || !cell || event.altKey || event.ctrlKey || event.metaKey) return;
  const rows = Array.from(body.rows, (row) => Array.from(row.querySelectorAll<HTMLAnchorElement>('td a')));
  const row = rows.findIndex((links) => links.includes(from));
  const to = target(event.key, row, rows[row]?.indexOf(from) ?? 0, rows.map((links) => links.length));
  const next = to && rows[to[0]]?.[to[1]];
  if (!next) return;
  event.preventDefault();
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

export function bindHeat(): void {
  document.addEventListener('keydown', go);
  document.addEventListener('focusin', say);
  document.addEventListener('pointerover', say);
}
