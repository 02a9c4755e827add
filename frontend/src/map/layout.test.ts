import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hit, layout, nodeY, rowsFor, slotX } from './layout';
import { Model, UNLABELLED } from './model';
import { REMOVED, type Snapshot } from './protocol';

const KPI = { nodes: 0, gpus: 0, gpus_used: 0, pending: 0, unlabelled: 0, largest: 0, domains_64: 0 };

/** Racks of the given sizes, then nodes without the label. */
function cluster(sizes: number[], unlabelled = 0, gpus = 8): Model {
  const domain = [...sizes.flatMap((size, rack) => Array<number>(size).fill(rack)), ...Array<number>(unlabelled).fill(-1)];
  const count = domain.length;
  const snapshot: Snapshot = {
    v: 1, epoch: 1, seq: 1, key: 'rack', keys: [], domains: sizes.map((_, rack) => `rack-${rack}`), groups: [],
    nodes: {
      index: domain.map((_, i) => i), name: domain.map((_, i) => `n-${i}`), domain,
      state: Array<number>(count).fill(0), gpus: Array<number>(count).fill(gpus), owners: Array<number>(count).fill(0),
    },
    kpi: KPI,
  };
  return Model.from(snapshot);
}

const SHAPES: Record<string, [sizes: number[], unlabelled: number]> = {
  'racks of 16': [Array<number>(15).fill(16), 0],
  'racks of unequal size': [[16, 3, 18, 1, 9, 16, 16], 5],
  'one rack': [[7], 0],
  'no rack at all': [[], 40],
  'zones of thousands': [[3333, 3333, 3334], 12],
  'one node a domain': [Array<number>(300).fill(1), 0],
  'ten thousand nodes': [Array<number>(625).fill(16), 19],
};

for (const [name, [sizes, unlabelled]] of Object.entries(SHAPES)) {
  test(`${name}: every node has a place of its own and is found there`, () => {
    const model = cluster(sizes, unlabelled);
    const l = layout(model, 1000, 600);
    const places = new Set<string>();
    for (let i = 0; i < model.size; i++) {
      const x = slotX(l, l.slotOf[i]!), y = nodeY(l, i);
      places.add(`${x} ${y}`);
      assert.ok(x + l.nodeW <= Math.max(1000, l.width) && y + l.nodeH <= l.height, 'inside the layout');
      for (const [px, py] of [[x, y], [x + l.nodeW - 0.5, y + l.nodeH - 0.5]] as const) {
        const found = hit(l, px, py);
        assert.equal(found.node, i);
        assert.equal(l.blocks[found.block]!.domain, model.domain[i]);
      }
    }
    assert.equal(places.size, model.size);
  });
}

test('ten thousand nodes fit into a usual window without panning', () => {
  const l = layout(cluster(Array<number>(625).fill(16), 19), 1040, 660);
  assert.ok(l.height <= 660, `${l.height}`);
  assert.ok(l.width <= 1040);
});

test('a small cluster is drawn large', () => {
  const l = layout(cluster(Array<number>(15).fill(16)), 1040, 660);
  assert.ok(l.nodeH >= 12, `${l.nodeH}`);
});

test('a point between racks, above the rows or outside hits no node', () => {
  const l = layout(cluster([4, 4, 2]), 1000, 600);
  assert.deepEqual(hit(l, -1, 5), { block: -1, node: -1 });
  assert.deepEqual(hit(l, 5, 1e6), { block: -1, node: -1 });
  assert.deepEqual(hit(l, l.nodeW + 1, l.band + 1), { block: 0, node: -1 });
  assert.deepEqual(hit(l, 1, 1), { block: 0, node: -1 });
  assert.equal(hit(l, 2 * l.slotW + 1, l.band + 3 * l.pitch).node, -1, 'below the last node of a short rack');
});

test('racks are in natural order, rack-10 after rack-2, the unlabelled last', () => {
  const model = cluster(Array<number>(12).fill(2), 3);
  const l = layout(model, 1000, 600);
  assert.deepEqual(l.blocks.map(({ domain }) => domain), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, UNLABELLED]);
});

test('a delta that adds, moves and removes nodes changes the layout and nothing else', () => {
  const model = cluster([2, 2]);
  const touched = model.apply({
    t: 'delta', epoch: 1, from: 1, to: 2, ts: 0, groups: ['a/b'], kpi: KPI,
    nodes: [[4, 'n-4', 'rack-7', 0, 4, [0, 3]], [0, 'n-0', null, 0, 8], [1, 'n-1', 'rack-0', REMOVED, 8]],
  });
  assert.ok(touched.moved);
  const l = layout(model, 800, 600);
  assert.deepEqual(l.blocks.map(({ domain, nodes }) => [domain < 0 ? null : model.domains[domain], nodes]), [['rack-1', 2], ['rack-7', 1], [null, 1]]);
  assert.equal(model.free(4), 1);
  assert.ok(model.holds(4, model.groupAt('a/b')));
});

test('a delta of occupants alone leaves the layout', () => {
  const model = cluster([2]);
  const touched = model.apply({ t: 'delta', epoch: 1, from: 1, to: 2, ts: 0, groups: ['a/b'], kpi: KPI, nodes: [[1, 'n-1', 'rack-0', 1, 8, [0, 8]]] });
  assert.equal(touched.moved, false);
  assert.deepEqual(touched.nodes, [1]);
});

test('runs that grow again and again stay right and do not grow the pool without end', () => {
  const model = cluster([4, 4]);
  for (let n = 1; n <= 5000; n++) {
    const runs = Array.from({ length: 1 + (n % 4) }, (_, run): [number, number] => [run, 1]);
    model.apply({ t: 'delta', epoch: 1, from: n, to: n + 1, ts: 0, groups: ['a/0', 'a/1', 'a/2', 'a/3'], kpi: KPI, nodes: [[n % 8, `n-${n % 8}`, `rack-${n % 8 < 4 ? 0 : 1}`, 0, 8, ...runs]] });
    assert.equal(model.used(n % 8), 1 + (n % 4));
  }
  assert.ok(model.runGroup.length < 1000, `${model.runGroup.length}`);
});

test('rows of a column follow the racks, and large domains are wrapped', () => {
  assert.equal(rowsFor([16, 16, 16]), 16);
  assert.equal(rowsFor([16, 18, 12]), 18);
  assert.equal(rowsFor([1, 1, 1, 40]), 1);
  assert.equal(rowsFor([5000, 5000]), 16);
  assert.equal(rowsFor([]), 16);
});
