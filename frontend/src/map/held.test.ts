import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Words } from './describe';
import { Messages } from './messages';
import { HELD, Model } from './model';
import type { Snapshot } from './protocol';

const KPI = { nodes: 0, gpus: 0, gpus_used: 0, pending: 0, unlabelled: 0, largest: 0, domains_64: 0 };

function snapshot(): Snapshot {
  return {
    v: 1, epoch: 1, seq: 1, key: 'rack', keys: [], domains: ['r1'], groups: ['ml/a'], kpi: KPI,
    nodes: { index: [0, 1], name: ['n0', 'n1'], domain: [0, 0], state: [0, 0], gpus: [8, 8], owners: [2, 0, 2, HELD, 4, 0] },
  };
}

const words = new Words(new Messages({ node: '{node} {free}/{gpus}', domain: '{domain} {free}/{gpus}', held: '{held} held', holders: 'by {groups}' }, 'en'));

test('what is held is free, told apart, and nobody who uses it', () => {
  const model = Model.from(snapshot());
  assert.deepEqual([model.free(0), model.held(0), model.held(1)], [6, 4, null]);
  assert.equal(words.node(model, 0), 'n0 6/8 · 4 held · by ml/a (2)');
  assert.equal(words.domain(model, 0, [0, 1], null), 'r1 14/16 · 4 held');
});

test('a patch takes a reservation away and brings one', () => {
  const model = Model.from(snapshot());
  model.apply({ groups: ['ml/a'], nodes: [[0, 'n0', 'r1', 0, 8, [0, 2]], [1, 'n1', 'r1', 0, 8, [HELD, 8]]] });
  assert.deepEqual([model.held(0), model.held(1), model.used(1)], [null, 8, 0]);
});
