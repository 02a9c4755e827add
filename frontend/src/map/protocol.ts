// The messages of the wire as scheduling/live/protocol.py and scheduling/selectors/rack_map.py have them.
export const CORDONED = 1, NOT_READY = 2, TAINTED = 4, REMOVED = 8;

export interface TopologyKey { key: string; domains: number; groups: number }

export interface Kpi {
  nodes: number; gpus: number; gpus_used: number; pending: number; unlabelled: number; largest: number; domains_64: number;
}

/** Columns of equal length but `owners`: per node the number of its runs, then (group index or -1, gpus) for each. */
export interface Columns {
  index: number[]; name: string[]; domain: number[]; state: number[]; gpus: number[]; owners: number[];
}

export interface Snapshot {
  v: number; epoch: number; seq: number; key: string; keys: TopologyKey[];
  domains: string[]; groups: string[]; nodes: Columns; kpi: Kpi;
}

export type NodePatch = [index: number, name: string, domain: string | null, state: number, gpus: number, ...runs: [group: number, gpus: number][]];

export interface Delta {
  t: 'delta'; epoch: number; from: number; to: number; ts: number; groups: string[]; nodes: NodePatch[]; kpi: Kpi;
}

export type Message =
  | { t: 'hello'; epoch: number; seq: number }
  | { t: 'advanced'; seq: number; ts: number }
  | { t: 'hb'; seq: number; ts: number }
  | Delta;
