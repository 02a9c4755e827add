import { strict as assert } from 'node:assert';
import { test } from 'node:test';

import { target } from './heat';

test('arrow keys stay inside of the table', () => {
  const lengths = [3, 3, 2];
  assert.deepEqual(target('ArrowRight', 0, 0, lengths), [0, 1]);
  assert.deepEqual(target('ArrowRight', 0, 2, lengths), [0, 2]);
  assert.deepEqual(target('ArrowLeft', 1, 0, lengths), [1, 0]);
  assert.deepEqual(target('ArrowUp', 0, 1, lengths), [0, 1]);
  assert.deepEqual(target('ArrowDown', 1, 2, lengths), [2, 1]);
  assert.deepEqual(target('Home', 1, 2, lengths), [1, 0]);
  assert.deepEqual(target('End', 2, 0, lengths), [2, 1]);
});

test('other keys go nowhere', () => {
  assert.equal(target('Enter', 0, 0, [3]), null);
  assert.equal(target('Tab', 0, 0, [3]), null);
});
