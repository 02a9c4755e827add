import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../map/testing';
import { Loader } from './loader';
import { TestHistory } from './testing';
import { CHUNK, Timeline } from './timeline';

function rig(events: number) {
  const history = new TestHistory(1, events);
  const timeline = new Timeline();
  const period = { first: 1, head: history.head };
  const rig = { history, timeline, period, came: 0, anew: 0, errors: [] as unknown[], loader: null as unknown as Loader };
  rig.loader = new Loader(timeline, history, period, { came: () => { rig.came++; }, anew: () => { rig.anew++; }, failed: (error) => { rig.errors.push(error); } });
  return rig;
}

async function until(done: () => boolean): Promise<void> {
  for (let n = 0; n < 200 && !done(); n++) await settle();
  assert.ok(done());
}

test('the picture comes first, then its own events, then those around', async () => {
  const r = rig(4 * CHUNK);
  r.loader.want(2 * CHUNK + 7);
  await until(() => r.history.asked.length === 5);
  assert.deepEqual(r.history.asked, [
    `snapshot ${2 * CHUNK + 7}`, `chunk ${2 * CHUNK} ${CHUNK}`, `chunk ${CHUNK} ${CHUNK}`, `chunk ${3 * CHUNK} ${CHUNK}`, `chunk 0 ${CHUNK}`,
  ]);
});

test('a chunk that the server cut short is asked on', async () => {
  const r = rig(60);
  r.history.bound = 20;
  r.loader.want(60);
  await until(() => r.timeline.missing(1, 1, 60) === null);
  assert.ok(r.history.asked.length > 3);
  assert.ok(r.timeline.way(60, 1));
});

test('a moment that is wanted meanwhile goes before what is only near', async () => {
  const r = rig(30 * CHUNK);
  r.loader.want(CHUNK);
  r.loader.want(20 * CHUNK);
  await until(() => r.history.asked.length >= 3);
  assert.deepEqual(r.history.asked.slice(0, 3), [`snapshot ${CHUNK}`, `snapshot ${20 * CHUNK}`, `chunk ${19 * CHUNK} ${CHUNK}`]);
});

test('events that came are asked for when they are wanted', async () => {
  const r = rig(40);
  r.loader.want(40);
  await until(() => r.timeline.missing(40, 1, 40) === null);
  r.history.states.push(r.history.states[40]!);
  r.period.head = 41;
  r.loader.want(41);
  await until(() => r.timeline.way(40, 41) !== null);
});

test('a failure is told, and the next wish tries again', async () => {
  const r = rig(40);
  const { snapshot } = r.history;
  r.history.snapshot = async () => { throw new Error('down'); };
  r.loader.want(20);
  await until(() => r.errors.length === 1);
  r.history.snapshot = snapshot;
  r.loader.want(20);
  await until(() => r.timeline.way(null, 20) !== null);
});

test('tables that were made anew: everything is asked for again', async () => {
  const r = rig(40);
  r.loader.want(20);
  await until(() => r.timeline.missing(20, 1, 40) === null);
  r.history.epoch = 2;
  r.history.states.push(r.history.states[40]!);
  r.period.head = 41;
  r.loader.want(41);
  await until(() => r.timeline.epoch === 2 && r.timeline.way(null, 41) !== null);
  assert.equal(r.timeline.epoch, 2);
  assert.equal(r.anew, 1);
});

test('an answer to an older question is dropped after a change of key', async () => {
  const r = rig(40);
  r.loader.want(20);
  r.loader.reset();
  await settle();
  assert.equal(r.timeline.way(null, 20), null);
  r.loader.want(30);
  await until(() => r.timeline.way(null, 30) !== null);
});

test('a log that is shorter than was said is not asked for ever', async () => {
  const r = rig(40);
  r.period.head = 900;
  r.loader.want(20);
  await until(() => r.period.head === 40);
  await settle();
  const { length } = r.history.asked;
  await settle();
  assert.equal(r.history.asked.length, length);
});
