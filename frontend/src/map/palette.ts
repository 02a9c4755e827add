// The map's colours, taken from the CSS variables of the theme; faded ones are mixed with the background.
export interface Palette {
  bg: string; line: string; fg: string; muted: string; accent: string;
  free: string; busy: string; pick: string; fits: string; cordon: string; held: string; lost: string; lostLine: string;
  groups: string[];
  /** Width of the outline round every rack: forced colours need one. */
  outline: number;
  fade(colour: string): string;
  mono: string;
}

const FADE = 0.25;

export function palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const bg = rgb(read('bg'));
  const faded = new Map<string, string>();
  return {
    bg: read('bg'), line: read('line'), fg: read('fg'), muted: read('muted'), accent: read('accent'),
    free: read('free'), busy: read('busy'), pick: read('pick'), fits: read('fits'),
    cordon: read('cordon'), held: read('held'), lost: read('lost'), lostLine: read('lost-line'),
    groups: Array.from({ length: 8 }, (_, n) => read(`g${n}`)),
    outline: matchMedia('(forced-colors: active)').matches ? 1 : 0,
    mono: read('mono'),
    fade(colour) {
      let result = faded.get(colour);
      if (result === undefined) faded.set(colour, result = mix(rgb(colour), bg));
      return result;
    },
  };
}

function mix(colour: number[], bg: number[]): string {
  return `rgb(${colour.map((part, n) => Math.round(part * FADE + bg[n]! * (1 - FADE))).join(' ')})`;
}

/** #rgb or #rrggbb, as the variables are written. */
export function rgb(hex: string): number[] {
  const digits = hex.slice(1);
  const wide = digits.length === 3 ? [...digits].map((digit) => digit + digit).join('') : digits;
  return [0, 2, 4].map((at) => parseInt(wide.slice(at, at + 2), 16));
}
