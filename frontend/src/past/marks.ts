// How a node is marked that is different in another picture: a sign and a place for each kind of change, so that colour
// is not needed to tell them apart.
import { ADDED, GONE, STATE } from './difference';

export type Tones = Record<'bg' | 'ok' | 'bad' | 'wait' | 'pick', string>;

export function tones(): Tones {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return { bg: read('bg'), ok: read('ok'), bad: read('bad'), wait: read('wait'), pick: read('pick') };
}

/** Over a node at its place, in device pixels. `absent`: it is not there in this picture. */
export function drawMark(ctx: CanvasRenderingContext2D, bits: number, absent: boolean, tone: Tones, x: number, y: number, w: number, h: number): void {
  if (!bits) return;
  const sign = bits & ADDED ? '+' : bits & GONE ? '−' : bits & STATE ? '!' : '↔';
  if (absent) {
    ctx.fillStyle = tone.bg;
    ctx.fillRect(x, y, w, h);
  }
  const line = Math.max(1, Math.round(devicePixelRatio * (h >= 6 ? 2 : 1)));
  ctx.strokeStyle = ctx.fillStyle = bits & ADDED ? tone.ok : bits & GONE ? tone.bad : bits & STATE ? tone.wait : tone.pick;
  ctx.lineWidth = line;
  ctx.setLineDash(bits & GONE ? [3 * line, 2 * line] : []);
  if (h > 2 * line) ctx.strokeRect(x + line / 2, y + line / 2, w - line, h - line);
  else ctx.fillRect(x, y, bits & GONE ? w / 2 : w, h);
  ctx.setLineDash([]);
  if (h < 8 * devicePixelRatio) return;
  const size = Math.min(h, 14 * devicePixelRatio);
  ctx.fillRect(x + w - size, y, size, size);
  ctx.fillStyle = tone.bg;
  ctx.font = `bold ${size * 0.9}px monospace`;
  ctx.textAlign = 'center';
  ctx.fillText(sign, x + w - size / 2, y + size * 0.8);
  ctx.textAlign = 'start';
}
