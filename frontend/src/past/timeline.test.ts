import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Model } from '../map/model';
import { sequence } from '../map/testing';
import { TestHistory, shown } from './testing';
import { CHUNK, Timeline } from './timeline';

/** A picture that is led along the ways of a timeline. */
class Picture {
  model = new Model();
  seq: number | null = null;
  anew = 0;

  constructor(private readonly timeline: Timeline) {}

  /** False when the way is not known. */
  to(seq: number): boolean {
    const way = this.timeline.way(this.seq, seq);
    if (!way) return false;
    if (way.snapshot) {
      this.model = Model.from(way.snapshot);
      this.anew++;
    }
    for (const patches of way.patches) this.model.apply(patches);
    this.seq = seq;
    return true;
  }
}

async function known(history: TestHistory, limit = CHUNK): Promise<Timeline> {
  const timeline = new Timeline();
  for (let seq = 1; seq <= history.head; seq += CHUNK) {
    for (let missing = timeline.missing(seq, 1, history.head); missing; missing = timeline.missing(seq, 1, history.head)) {
      timeline.addChunk(await history.chunk(missing.after, Math.min(limit, missing.limit)));
    }
  }
  return timeline;
}

for (let seed = 1; seed <= 12; seed++) {
  test(`scrubbing to and fro shows every moment as it was (history ${seed})`, async () => {
    const history = new TestHistory(seed, 150);
    const timeline = await known(history, 1 + seed * 5);
    timeline.addSnapshot(await history.snapshot(75));
    const picture = new Picture(timeline);
    const random = sequence(seed);
    for (let n = 0; n < 300; n++) {
      const seq = 1 + Math.floor(random() * history.head);
      assert.ok(picture.to(seq));
      assert.deepEqual(shown(picture.model), history.rows(seq), `event ${seq}`);
      assert.deepEqual(timeline.way(seq, seq)?.kpi, history.kpi(seq));
    }
    assert.equal(picture.anew, 1, 'made once, then led');
  });
}

test('step by step, forward over every event and back', async () => {
  const history = new TestHistory(99, 60);
  const timeline = await known(history);
  timeline.addSnapshot(await history.snapshot(1));
  const picture = new Picture(timeline);
  for (let seq = 1; seq <= 60; seq++) {
    picture.to(seq);
    assert.deepEqual(shown(picture.model), history.rows(seq));
  }
  for (let seq = 60; seq >= 1; seq--) {
    picture.to(seq);
    assert.deepEqual(shown(picture.model), history.rows(seq));
  }
});

test('over the seam of two chunks', async () => {
  const history = new TestHistory(5, CHUNK + 40);
  const timeline = await known(history);
  timeline.addSnapshot(await history.snapshot(CHUNK));
  const picture = new Picture(timeline);
  for (const seq of [CHUNK, CHUNK + 1, CHUNK - 1, CHUNK + 40, CHUNK - 30, CHUNK]) {
    assert.ok(picture.to(seq));
    assert.deepEqual(shown(picture.model), history.rows(seq));
  }
});

test('there is no way over events that are not known', async () => {
  const history = new TestHistory(7, 3 * CHUNK);
  const timeline = new Timeline();
  timeline.addSnapshot(await history.snapshot(CHUNK + 10));
  assert.equal(timeline.way(CHUNK + 10, CHUNK + 11), null);
  timeline.addChunk(await history.chunk(CHUNK, 20));
  assert.ok(timeline.way(CHUNK + 10, CHUNK + 20));
  assert.equal(timeline.way(CHUNK + 10, CHUNK + 21), null);
  assert.equal(timeline.way(null, CHUNK - 1), null);
  assert.deepEqual(timeline.missing(CHUNK + 5, 1, history.head), { after: CHUNK + 20, limit: CHUNK - 20 });
});

test('a far moment is led to from the snapshot that is nearest', async () => {
  const history = new TestHistory(3, 9 * CHUNK);
  const timeline = await known(history);
  timeline.addSnapshot(await history.snapshot(10));
  timeline.addSnapshot(await history.snapshot(8 * CHUNK));
  assert.equal(timeline.way(5, 8 * CHUNK + 20)?.snapshot?.seq, 8 * CHUNK);
  assert.equal(timeline.way(5, CHUNK)?.snapshot, null, 'near: along the events');
});

test('a log that is kept from a later event on is asked for from there', () => {
  const timeline = new Timeline();
  assert.deepEqual(timeline.missing(CHUNK + 300, CHUNK + 200, 10 * CHUNK), { after: CHUNK + 200, limit: CHUNK - 200 });
  assert.deepEqual(timeline.missing(1, 1, 10 * CHUNK), { after: 0, limit: CHUNK });
});

test('what is of another epoch is not kept: its indices may mean other nodes', async () => {
  const history = new TestHistory(11, 40);
  const timeline = await known(history);
  history.epoch = 2;
  assert.equal(timeline.addSnapshot(await history.snapshot(20)), false);
  assert.equal(timeline.addChunk(await history.chunk(0, 40)), false);
  assert.equal(timeline.way(null, 20), null);
  timeline.clear();
  assert.equal(timeline.addSnapshot(await history.snapshot(20)), true);
});

test('the chunks that were not looked at for longest are forgotten', async () => {
  const history = new TestHistory(13, 1);
  const timeline = new Timeline();
  const empty = await history.chunk(0, 1);
  const frame = empty.frames[0]!;
  for (let chunk = 0; chunk <= 121; chunk++) {
    timeline.addChunk({ ...empty, from: chunk * CHUNK, to: chunk * CHUNK + 1, frames: [{ ...frame, seq: chunk * CHUNK + 1 }] });
  }
  assert.equal(timeline.step(1), null);
  assert.equal(timeline.step(121 * CHUNK + 1)?.sentence, 'what event 1 did');
});
