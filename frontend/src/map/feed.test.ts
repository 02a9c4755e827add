import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveState } from '../lib/pill';
import { Feed } from './feed';
import { Model } from './model';
import { TestClock, TestServer, sequence, settle } from './testing';

function rig(nodes = 32) {
  const server = new TestServer(nodes);
  const clock = new TestClock();
  const states: LiveState[] = [];
  const rig = { server, clock, states, model: new Model(), errors: 0, asOf: 0, feed: null as unknown as Feed };
  rig.feed = new Feed(server, {
    reset: (snapshot) => { rig.model = Model.from(snapshot); },
    apply: (delta) => { rig.model.apply(delta); },
    state: (state, _, asOf) => { rig.asOf = asOf; if (states[states.length - 1] !== state) states.push(state); },
    failed: () => { rig.errors++; },
  }, clock);
  return rig;
}

async function live(nodes?: number) {
  const all = rig(nodes);
  all.feed.restart();
  all.feed.hello(1, all.server.seq);
  await settle();
  return all;
}

type Rig = ReturnType<typeof rig>;

/** What the map shows is what the server has: per node name, state and who holds how many GPUs. */
function same({ model, server }: Rig): void {
  const shown = server.rows.map((_, i) => {
    const runs: [string, number][] = [];
    for (let at = model.runStart[i]!; at < model.runStart[i]! + model.runCount[i]!; at++) runs.push([model.groups[model.runGroup[at]!] ?? '', model.runGpus[at]!]);
    return { name: model.names[i], domain: model.domains[model.domain[i]!] ?? null, runs };
  });
  assert.deepEqual(shown, server.rows.map(({ name, domain, runs }) => ({ name, domain, runs })));
}

test('deltas in order are applied and nothing is asked for', async () => {
  const r = await live();
  for (let n = 0; n < 50; n++) {
    r.feed.push(r.server.change(n % 32, `g-${n % 5}`, n % 9));
    await settle();
  }
  same(r);
  assert.equal(r.feed.gaps, 0);
  assert.deepEqual(r.server.asked, ['snapshot']);
  assert.equal(r.states.at(-1), 'live');
});

test('a burst pushed at once is applied whole', async () => {
  const r = await live();
  for (let n = 0; n < 150; n++) r.feed.push(r.server.change(n % 32, `g-${n}`, 1 + (n % 8)));
  await settle();
  same(r);
  assert.equal(r.feed.seq, r.server.seq);
});

test('every tenth message lost and some doubled: the map ends as the server is', async () => {
  const r = await live();
  const random = sequence(7);
  for (let n = 0; n < 2000; n++) {
    const delta = r.server.change(Math.floor(random() * 32), `g-${n % 40}`, Math.floor(random() * 9));
    if (random() < 0.1) continue;
    r.feed.push(delta);
    if (random() < 0.15) r.feed.push(delta);
    if (random() < 0.5) await settle();
  }
  r.feed.heartbeat(r.server.seq);
  await settle();
  same(r);
  assert.ok(r.feed.gaps > 50, `${r.feed.gaps} gaps`);
  assert.equal(r.feed.resyncs, 1);
});

test('messages out of order need no question when the missing one is among them', async () => {
  const r = await live();
  const [a, b, c] = [r.server.change(1, 'a', 1), r.server.change(1, 'b', 2), r.server.change(2, 'c', 3)];
  r.feed.push(a!);
  r.feed.push(c!);
  r.feed.push(b!);
  await settle();
  same(r);
});

test('a delta that overlaps what is known is applied, an old one is ignored', async () => {
  const r = await live();
  const old = r.server.change(3, 'old', 8);
  r.feed.push(old);
  await settle();
  const since = r.server.seq - 1;
  r.server.change(3, 'new', 2);
  r.feed.push(r.server.since(since));
  r.feed.push(old);
  await settle();
  same(r);
  assert.deepEqual(r.server.asked, ['snapshot']);
});

test('a loss at the tail is found by the heartbeat', async () => {
  const r = await live();
  r.server.change(5, 'lost', 4);
  r.feed.heartbeat(r.server.seq);
  await settle();
  same(r);
  assert.equal(r.feed.gaps, 1);
});

test('messages that come while the snapshot is on its way are not lost', async () => {
  const r = rig();
  let answer!: () => void;
  const now = r.server.now.bind(r.server);
  r.server.snapshot = () => {
    const taken = now();
    return new Promise((resolve) => { answer = () => resolve(taken); });
  };
  r.feed.restart();
  r.feed.hello(1, r.server.seq);
  r.feed.push(r.server.change(1, 'early', 5));
  answer();
  await settle();
  same(r);
});

test('another epoch takes a new snapshot', async () => {
  const r = await live();
  r.server.epoch = 2;
  r.server.rows[0]!.domain = 'rack-9';
  r.feed.hello(2, r.server.seq);
  await settle();
  same(r);
  assert.equal(r.feed.resyncs, 2);
});

test('a log that went back answers 410 and the map starts again', async () => {
  const r = await live();
  for (let n = 0; n < 5; n++) r.feed.push(r.server.change(n, 'x', 1));
  await settle();
  r.server.seq = 2;
  r.server.rows.forEach((row) => { row.runs = []; row.changed = 1; });
  r.feed.heartbeat(2);
  await settle();
  same(r);
  assert.equal(r.feed.resyncs, 2);
  assert.equal(r.feed.seq, 2);
});

test('twelve seconds of silence are called stale, and the time told is that of the last message', async () => {
  const r = await live();
  const heard = r.clock.now();
  await r.clock.pass(11_999);
  assert.equal(r.states.at(-1), 'live');
  await r.clock.pass(1);
  assert.equal(r.states.at(-1), 'stale');
  assert.equal(r.asOf, heard);
  r.feed.heartbeat(r.server.seq);
  await settle();
  assert.equal(r.states.at(-1), 'live');
});

test('a lost connection is catching up at once and stale twelve seconds later', async () => {
  const r = await live();
  r.feed.disconnected();
  assert.equal(r.states.at(-1), 'catching');
  await r.clock.pass(12_000);
  assert.equal(r.states.at(-1), 'stale');
});

test('heartbeats alone do not make a map live that cannot fetch what it missed', async () => {
  const r = await live();
  r.server.change(1, 'missed', 1);
  r.server.down = true;
  for (let n = 0; n < 4; n++) {
    r.feed.heartbeat(r.server.seq);
    await r.clock.pass(5000);
  }
  assert.equal(r.states.at(-1), 'stale');
  assert.ok(r.errors > 0);
  r.server.down = false;
  await r.clock.pass(15_000);
  r.feed.heartbeat(r.server.seq);
  await settle();
  assert.equal(r.states.at(-1), 'live');
  same(r);
});

test('a first snapshot that fails is tried again with growing waits', async () => {
  const r = rig();
  r.server.down = true;
  r.feed.restart();
  await r.clock.pass(60_000);
  const tries = r.server.asked.length;
  assert.ok(tries >= 6 && tries <= 12, `${tries} tries in a minute`);
  r.server.down = false;
  await r.clock.pass(15_000);
  same(r);
});

test('a paused map stands still and has everything after it goes on', async () => {
  const r = await live();
  r.feed.pause();
  assert.equal(r.states.at(-1), 'paused');
  r.feed.push(r.server.change(2, 'later', 8));
  r.feed.heartbeat(r.server.seq);
  await r.clock.pass(30_000);
  assert.equal(r.model.runCount[2], 0);
  assert.equal(r.states.at(-1), 'paused');
  r.feed.resume();
  await settle();
  same(r);
  assert.equal(r.states.at(-1), 'live');
});

test('a restart drops the answer to the older question', async () => {
  const r = await live();
  const answers: (() => void)[] = [];
  const now = r.server.now.bind(r.server);
  r.server.snapshot = () => {
    const taken = now();
    return new Promise((resolve) => { answers.push(() => resolve(taken)); });
  };
  r.feed.restart();
  r.server.change(4, 'second', 8);
  r.feed.restart();
  answers[1]!();
  await settle();
  answers[0]!();
  await settle();
  same(r);
});
