// Pointer, wheel and keys on the map, turned into the few things that one can do with it.
import { shared } from '../lib/shared';

export interface MapActions {
  hover(x: number, y: number): void;
  leave(): void;
  select(x: number, y: number): void;
  pan(dx: number, dy: number): void;
  zoom(factor: number, x?: number, y?: number): void;
  fit(): void;
  /** One step from the cursor; `within`: from node to node of a domain. */
  move(dx: number, dy: number, within: boolean): void;
  open(): void;
  escape(): void;
  nextAnomaly(): void;
  togglePause(): void;
  /** An event back (-1) or on (1). */
  step(by: number): void;
  cycleColor(): void;
}

const DRAG_PX = 4;
const STEP = 1.4;

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function bindInput(host: HTMLElement, actions: MapActions): void {
  bindPointer(host, actions);
  bindKeys(host, actions);
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || shared().typing(event)) return;
    if (event.key === 'Escape') actions.escape();
    else if (event.key === '.') actions.nextAnomaly();
    else if (event.key === 'l') actions.togglePause();
    else if (event.key === 'c') actions.cycleColor();
    else if (event.key === '[') actions.step(-1);
    else if (event.key === ']') actions.step(1);
  });
}

export type PointerActions = Pick<MapActions, 'hover' | 'leave' | 'select' | 'pan' | 'zoom'>;
export type KeyActions = Pick<MapActions, 'move' | 'open' | 'escape' | 'zoom' | 'fit'>;

/** Keys while the host has the focus. */
export function bindKeys(host: HTMLElement, actions: KeyActions): void {
  host.addEventListener('keydown', (event) => {
    if (event.target !== host || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) actions.move(arrow[0], arrow[1], event.shiftKey);
    else if (event.key === 'Enter') actions.open();
    else if (event.key === 'Escape') actions.escape();
    else if (event.key === '+' || event.key === '=') actions.zoom(STEP);
    else if (event.key === '-') actions.zoom(1 / STEP);
    else if (event.key === '0') actions.fit();
    else return;
    event.preventDefault();
  });
}

/** `scrolls`: the wheel scrolls the page, and zooms only with Ctrl. */
export function bindPointer(host: HTMLElement, actions: PointerActions, scrolls = false): void {
  let pressedAt: [number, number] | null = null;
  let last: [number, number] = [0, 0];
  let dragging = false;
  const at = (event: MouseEvent): [number, number] => {
    const box = host.getBoundingClientRect();
    return [event.clientX - box.left - host.clientLeft, event.clientY - box.top - host.clientTop];
  };
  host.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || (event.target as Element).closest('button, a')) return;
    pressedAt = last = at(event);
    dragging = false;
    host.setPointerCapture(event.pointerId);
  });
  host.addEventListener('pointermove', (event) => {
    const here = at(event);
    if (pressedAt && !dragging && Math.hypot(here[0] - pressedAt[0], here[1] - pressedAt[1]) > DRAG_PX) {
      dragging = true;
      host.classList.add('dragging');
    }
    if (dragging) actions.pan(here[0] - last[0], here[1] - last[1]);
    else actions.hover(here[0], here[1]);
    last = here;
  });
  const release = (event: PointerEvent, click: boolean): void => {
    if (pressedAt && !dragging && click) actions.select(...at(event));
    pressedAt = null;
    dragging = false;
    host.classList.remove('dragging');
  };
  host.addEventListener('pointerup', (event) => release(event, true));
  host.addEventListener('pointercancel', (event) => release(event, false));
  host.addEventListener('pointerleave', () => { if (!pressedAt) actions.leave(); });
  host.addEventListener('dblclick', (event) => actions.zoom(2, ...at(event)));
  host.addEventListener('wheel', (event) => {
    if (scrolls && !event.ctrlKey) return;
    event.preventDefault();
    // One notch is 100 or so pixels, 3 lines in a browser that counts lines.
    const amount = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 33 : event.deltaY;
    actions.zoom(Math.exp(-amount / 400), ...at(event));
  }, { passive: false });
}
