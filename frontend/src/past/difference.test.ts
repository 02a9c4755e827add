import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layout } from '../map/layout';
import { Model } from '../map/model';
import { ADDED, GONE, OWNERS, STATE, align, difference, place } from './difference';
import { TestHistory } from './testing';

const model = async (history: TestHistory, seq: number): Promise<Model> => Model.from(await history.snapshot(seq));

for (let seed = 1; seed <= 10; seed++) {
  test(`the bits say what is different between any two moments (history ${seed})`, async () => {
    const history = new TestHistory(seed, 80);
    for (const [a, b] of [[10, 80], [80, 10], [40, 41], [33, 33]] as const) {
      const { bits, counts } = difference(await model(history, a), await model(history, b));
      const expected = Array.from({ length: 12 }, (_, i) => {
        const left = history.states[a]![i] ?? null, right = history.states[b]![i] ?? null;
        if (!left && !right) return 0;
        if (!left) return ADDED;
        if (!right) return GONE;
        const state = left.state !== right.state || left.domain !== right.domain || left.gpus !== right.gpus;
        return (state ? STATE : 0) | (JSON.stringify(left.runs) !== JSON.stringify(right.runs) ? OWNERS : 0);
      });
      assert.deepEqual(Array.from({ length: 12 }, (_, i) => bits[i] ?? 0), expected);
      assert.equal(counts.added, expected.filter((bit) => bit & ADDED).length);
      assert.equal(counts.removed, expected.filter((bit) => bit & GONE).length);
      assert.equal(counts.state, expected.filter((bit) => bit & STATE).length);
      assert.equal(counts.owners, expected.filter((bit) => bit & OWNERS).length);
      assert.equal(counts.same + expected.filter(Boolean).length, counts.all);
    }
  });

  test(`both moments are drawn with every node at the same place (history ${seed})`, async () => {
    const history = new TestHistory(seed, 80);
    const a = await model(history, 20), b = await model(history, 80);
    place(b, a);
    place(a, b);
    align(a, b);
    const left = layout(a, 800, 400), right = layout(b, 800, 400);
    assert.deepEqual([...left.order], [...right.order]);
    assert.deepEqual([...left.slotOf], [...right.slotOf]);
    assert.deepEqual([...left.rowOf], [...right.rowOf]);
  });
}
