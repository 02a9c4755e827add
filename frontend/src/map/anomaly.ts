// The way from one anomaly to the next.
import { ofNode } from './cursor';
import type { Hit, Layout } from './layout';
import type { Model } from './model';

/** The next node in drawing order that is cordoned, not ready or without the label; it comes round. */
export function nextAnomaly(model: Model, l: Layout, from: Hit): Hit {
  const start = l.order.indexOf(from.node);
  for (let n = 1; n <= l.order.length; n++) {
    const node = l.order[(start + n) % l.order.length]!;
    if (model.anomalous(node)) return ofNode(l, node);
  }
  return from;
}
