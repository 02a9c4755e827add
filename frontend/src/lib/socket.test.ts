import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Advance } from './advance';
import { LiveSocket, SILENCE_MS, backoff } from './socket';
import { TestClock } from '../map/testing';

class FakeSocket {
  closed = false;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  close(): void { this.closed = true; }
}

function rig() {
  const clock = new TestClock();
  const opened: FakeSocket[] = [];
  const seen: string[] = [];
  const socket = new LiveSocket(() => 'ws://x/', {
    message: (body) => seen.push(`message ${(body as { t: string }).t}`),
    closed: (refused) => seen.push(refused ? 'refused' : 'closed'),
    silent: () => seen.push('silent'),
  }, clock, () => {
    const made = new FakeSocket();
    opened.push(made);
    return made as unknown as WebSocket;
  });
  socket.connect();
  return { clock, opened, seen, socket, say: () => opened.at(-1)!.onmessage!({ data: '{"t":"hb"}' }) };
}

test('waits double from 0.3 s to 15 s, half of it random', () => {
  assert.deepEqual([0, 1, 2].map((attempt) => backoff(attempt, 1)), [300, 600, 1200]);
  assert.equal(backoff(30, 1), 15_000);
  assert.equal(backoff(30, 0), 7_500);
});

test('a closed connection is made again, with longer waits while it fails', async () => {
  const r = rig();
  r.say();
  r.opened[0]!.onclose!({ code: 1006 });
  await r.clock.pass(300);
  assert.equal(r.opened.length, 2);
  r.opened[1]!.onclose!({ code: 1006 });
  await r.clock.pass(300);
  assert.equal(r.opened.length, 2);
  await r.clock.pass(300);
  assert.equal(r.opened.length, 3);
});

test('a refusal is final', async () => {
  const r = rig();
  r.opened[0]!.onclose!({ code: 4403 });
  await r.clock.pass(60_000);
  assert.deepEqual(r.seen, ['refused']);
  assert.equal(r.opened.length, 1);
});

test('being too slow is no refusal', async () => {
  const r = rig();
  r.opened[0]!.onclose!({ code: 4408 });
  await r.clock.pass(1000);
  assert.deepEqual(r.seen, ['closed']);
  assert.equal(r.opened.length, 2);
});

test('an open and silent connection is given up and made again', async () => {
  const r = rig();
  r.say();
  await r.clock.pass(SILENCE_MS - 1);
  assert.deepEqual(r.seen, ['message hb']);
  await r.clock.pass(1);
  assert.deepEqual(r.seen, ['message hb', 'silent', 'closed']);
  assert.ok(r.opened[0]!.closed);
  await r.clock.pass(500);
  assert.equal(r.opened.length, 2);
});

test('silence is counted from what was heard last, however many connections fail meanwhile', async () => {
  const r = rig();
  r.say();
  let lost = 0;
  for (let passed = 0; passed < SILENCE_MS - 1; passed++) {
    for (; lost < r.opened.length; lost++) r.opened[lost]!.onclose!({ code: 1006 });
    await r.clock.pass(1);
    assert.ok(!r.socket.quiet);
  }
  assert.ok(lost > 3);
  assert.ok(!r.seen.includes('silent'));
  await r.clock.pass(1);
  assert.deepEqual(r.seen.filter((what) => what === 'silent'), ['silent']);
  assert.ok(r.socket.quiet);
  await r.clock.pass(60_000);
  assert.ok(r.socket.quiet, 'until something is heard again');
  r.say();
  assert.ok(!r.socket.quiet);
});

test('messages of a connection that was given up are not heard', async () => {
  const r = rig();
  const old = r.opened[0]!;
  r.socket.reconnect();
  old.onmessage!({ data: '{"t":"late"}' });
  assert.deepEqual(r.seen, []);
});

test('after sleep the connection is checked at once', async () => {
  const r = rig();
  r.say();
  await r.clock.pass(SILENCE_MS / 2);
  r.socket.check();
  assert.equal(r.opened.length, 1);
});

test('news are told at most once a second and the last is never lost', async () => {
  const clock = new TestClock();
  const told: number[] = [];
  const advance = new Advance(clock, (seq) => told.push(seq));
  for (let seq = 1; seq <= 30; seq++) {
    advance.to(seq);
    await clock.pass(100);
  }
  await clock.pass(1000);
  assert.ok(told.length <= 5, `${told.length}`);
  assert.equal(told.at(-1), 30);
});
