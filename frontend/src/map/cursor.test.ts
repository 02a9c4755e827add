import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextAnomaly } from './anomaly';
import { NONE, found, named, nodesOf, step } from './cursor';
import { layout } from './layout';
import { Model } from './model';
import { CORDONED } from './protocol';
import { TestServer } from './testing';

/** Twelve racks of four nodes on a view narrow enough for several shelves. */
function rig() {
  const server = new TestServer(48, 4);
  server.rows[9]!.state = CORDONED;
  server.rows[47]!.domain = null;
  const model = Model.from(server.now());
  return { model, l: layout(model, 400, 300) };
}

test('the first step goes to the first rack, then from rack to rack and no further than the last', () => {
  const { l } = rig();
  let at = step(l, NONE, 1, 0, false);
  assert.deepEqual(at, { block: 0, node: -1 });
  for (let n = 0; n < 50; n++) at = step(l, at, 1, 0, false);
  assert.equal(at.block, l.blocks.length - 1);
  for (let n = 0; n < 50; n++) at = step(l, at, -1, 0, false);
  assert.equal(at.block, 0);
});

test('down and up lead to the rack on the next shelf and back', () => {
  const { l } = rig();
  assert.ok(l.cols < l.blocks.length, 'several shelves');
  const down = step(l, { block: 1, node: -1 }, 0, 1, false);
  assert.equal(l.blocks[down.block]!.first, l.blocks[1]!.first + l.cols);
  assert.equal(step(l, down, 0, -1, false).block, 1);
  assert.equal(step(l, { block: 0, node: -1 }, 0, -1, false).block, 0);
});

test('with shift the nodes of one rack are walked, and no others', () => {
  const { l } = rig();
  const nodes = nodesOf(l, 2);
  let at = step(l, { block: 2, node: -1 }, 0, 1, true);
  const seen = [at.node];
  for (let n = 0; n < 6; n++) seen.push((at = step(l, at, 0, 1, true)).node);
  assert.deepEqual(seen, [...nodes, nodes[3], nodes[3], nodes[3]]);
});

test('anomalies come round', () => {
  const { model, l } = rig();
  const first = nextAnomaly(model, l, NONE);
  const second = nextAnomaly(model, l, first);
  assert.deepEqual([first.node, second.node, nextAnomaly(model, l, second).node], [9, 47, 9]);
});

test('a cursor is found again by its name, or is none when the thing is gone', () => {
  const { model, l } = rig();
  for (const at of [{ block: 3, node: -1 }, { block: 2, node: nodesOf(l, 2)[1]! }]) assert.deepEqual(found(model, l, named(model, l, at)), at);
  assert.deepEqual(found(model, l, 'node:gone'), NONE);
  assert.deepEqual(found(model, l, 'domain:gone'), NONE);
  assert.deepEqual(found(model, l, ''), NONE);
});
