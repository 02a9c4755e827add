import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from './model';
import { CORDONED } from './protocol';
import { parse } from './search';
import { TestServer } from './testing';
import { read, written } from './url';

function found(line: string): number[] {
  const server = new TestServer(8);
  server.change(0, 'team-a/train', 8);
  server.change(1, 'team-b/eval', 2);
  server.rows[5]!.state = CORDONED;
  server.rows[7]!.domain = null;
  const model = Model.from(server.now());
  const test = parse(line);
  return test ? [...Array(model.size).keys()].filter((i) => test(model, i)) : [];
}

test('an empty line asks nothing', () => assert.equal(parse('  '), null));
test('node:, rack:, pg:, ns:', () => {
  assert.deepEqual(found('node:NODE-3'), [3]);
  assert.deepEqual(found('rack:rack-1'), [4, 5, 6]);
  assert.deepEqual(found('pg:train'), [0]);
  assert.deepEqual(found('ns:team-b'), [1]);
  assert.deepEqual(found('ns:team'), []);
});
test('state: and free compare; a cordoned node has nothing free', () => {
  assert.deepEqual(found('state:cordoned'), [5]);
  assert.deepEqual(found('state:unlabelled'), [7]);
  assert.deepEqual(found('state:nonsense'), []);
  assert.deepEqual(found('free>=8'), [2, 3, 4, 6, 7]);
  assert.deepEqual(found('free<8'), [0, 1, 5]);
  assert.deepEqual(found('free=6'), [1]);
});
test('plain words look at node, domain and group, and all words must hold', () => {
  assert.deepEqual(found('eval'), [1]);
  assert.deepEqual(found('rack-1 free>=8'), [4, 6]);
});
test('the address keeps what differs from the default and leaves other parameters', () => {
  const state = read('?key=k/x&color=podgroup&q=free%3E%3D8&pg=a/b&sel=node:n&view=x');
  assert.deepEqual(state, { key: 'k/x', color: 'podgroup', q: 'free>=8', pg: 'a/b', sel: 'node:n' });
  assert.deepEqual(read(written('?view=x', state)), state);
  assert.equal(written('?view=x&pg=a', { key: '', color: 'occupancy', q: '', pg: '', sel: '' }), '?view=x');
});
