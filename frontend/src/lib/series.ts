// Lines of a plot as its library wants them, and the unit of its time axis.
export interface Line { label: string; dashed: boolean; at: number[]; values: (number | null)[] }
export interface Chart { title: string; unit: string; by: number; lines: Line[] }

/** The times of all lines, in order, and each line's values at these: undefined where it has no point. */
export function merged(chart: Chart): (number | null | undefined)[][] {
  const times = [...new Set(chart.lines.flatMap((line) => line.at))].sort((a, b) => a - b);
  const lines = chart.lines.map((line) => {
    const known = new Map(line.at.map((at, place) => [at, line.values[place]]));
    return times.map((time) => {
      const value = known.get(time);
      return typeof value === 'number' ? value / chart.by : value;
    });
  });
  return [times, ...lines];
}

const UNITS: [string, number][] = [['d', 86_400_000], ['h', 3_600_000], ['min', 60_000], ['s', 1000], ['ms', 1]];

/** The largest unit of which there are at least three up to `last` (milliseconds). */
export function unitOf(last: number): { unit: string; by: number } {
  const found = UNITS.find(([, by]) => last >= 3 * by) ?? ['ms', 1];
  return { unit: found[0], by: found[1] };
}
