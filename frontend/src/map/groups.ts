// Colours by PodGroup: which groups have one of their own, and their legend.
import { ABSENT, type Model } from './model';

/** The groups that hold most GPUs, largest first. */
export function largestGroups(model: Model, count: number): number[] {
  const held = new Map<number, number>();
  for (let i = 0; i < model.size; i++) {
    if (model.domain[i] === ABSENT) continue;
    for (let at = model.runStart[i]!, end = at + model.runCount[i]!; at < end; at++) {
      const group = model.runGroup[at]!;
      if (group >= 0) held.set(group, (held.get(group) ?? 0) + model.runGpus[at]!);
    }
  }
  return [...held].sort((a, b) => b[1] - a[1] || model.groups[a[0]]!.localeCompare(model.groups[b[0]]!)).slice(0, count).map(([group]) => group);
}

/** Names in the order of their colours, and a word for all others; no names hide the legend. */
export function legend(names: string[], others: string): void {
  const host = document.getElementById('map-groups');
  if (!host) return;
  host.hidden = names.length === 0;
  const entries = names.length ? [...names, others] : [];
  host.replaceChildren(...entries.map((name, n) => {
    const swatch = document.createElement('i');
    swatch.className = `sw sw-g${n === names.length ? 7 : n}`;
    const entry = document.createElement('span');
    entry.append(swatch, name);
    return entry;
  }));
}
