import assert from 'node:assert/strict';
import { test } from 'node:test';
import { merged, unitOf } from './series';

test('lines with other times share one axis, with no value where a line has no point', () => {
  const chart = { title: '', unit: '', by: 10, lines: [
    { label: 'a', dashed: false, at: [0, 20], values: [10, null] },
    { label: 'b', dashed: true, at: [0, 10], values: [30, 40] },
  ] };
  assert.deepEqual(merged(chart), [[0, 10, 20], [1, undefined, null], [3, 4, undefined]]);
});

test('a time axis has at least three of its unit', () => {
  assert.deepEqual([2999, 3000, 66_100, 180_000, 12_902_960_000].map((last) => unitOf(last).unit), ['ms', 's', 's', 'min', 'd']);
});
