import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Times } from './times';

const AT = Date.parse('2026-11-29T07:24:07Z');

test('a time is written in the zone of the reader, with the zone', () => {
  assert.equal(new Times('Asia/Tokyo', 'en').text(AT), '2026-11-29 16:24:07 JST');
  assert.equal(new Times('UTC', 'en').text(AT), '2026-11-29 07:24:07 UTC');
});

test('how long ago, in the largest unit', () => {
  const times = new Times('UTC', 'en');
  assert.equal(times.ago(AT, AT + 2 * 3_600_000 + 5), '2 hours ago');
  assert.equal(times.ago(AT, AT + 61_000), '1 minute ago');
  assert.equal(times.ago(AT, AT), '0 seconds ago');
  assert.equal(times.ago(AT, AT - 5_000), '0 seconds ago', 'the clock of the browser is behind');
});

test('the time of an event between two marks is told in proportion', () => {
  const times = new Times('UTC', 'en');
  assert.equal(times.about(5), null);
  times.learn([{ seq: 1, recorded_at: '2026-11-29T07:00:00Z' }, { seq: 11, recorded_at: '2026-11-29T07:10:00Z' }]);
  assert.equal(times.text(times.about(6)!), '2026-11-29 07:05:00 UTC');
  assert.equal(times.text(times.about(1)!), '2026-11-29 07:00:00 UTC');
  assert.equal(times.text(times.about(99)!), '2026-11-29 07:10:00 UTC', 'past the last mark');
});

test('rates are of the stretches that the span touches', () => {
  const times = new Times('UTC', 'en');
  times.learn([1, 11, 111].map((seq, n) => ({ seq, recorded_at: new Date(n * 10_000).toISOString() })));
  assert.deepEqual(times.rates(1, 111).map(({ rate }) => rate), [1, 10]);
  assert.deepEqual(times.rates(11, 50).map(({ from, to }) => [from, to]), [[11, 111]]);
});
