// What the past is told with: frames of events and the period of the log, as scheduling/api/map.py has them.
import type { Kpi, NodePatch, Snapshot } from '../map/protocol';

export interface Frame { seq: number; recorded_at: string; type: string; sentence: string; nodes: NodePatch[]; kpi: Kpi | null }

/** Events after `from` up to `to`. `base`: the nodes that they change, as they were at `from`. */
export interface Chunk {
  v: number; epoch: number; key: string; from: number; to: number; head: number;
  groups: string[]; base: NodePatch[]; kpi: Kpi; frames: Frame[];
}

export interface PastSnapshot extends Snapshot { recorded_at: string }

export interface Point { seq: number; recorded_at: string }

export interface Period { first: Point; last: Point; marks: Point[] }
