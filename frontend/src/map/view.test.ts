import assert from 'node:assert/strict';
import { test } from 'node:test';
import { View } from './view';

function fitted(): View {
  const view = new View();
  view.fit(1000, 600, 1000, 600);
  return view;
}

test('everything is on screen at first, a narrow map in the middle', () => {
  const view = new View();
  view.fit(1000, 600, 800, 500);
  assert.deepEqual([view.k, view.tx, view.ty], [1, 100, 0]);
  view.fit(1000, 600, 4000, 1200);
  assert.equal(view.k, 0.25);
});

test('the point under the pointer stays under it while zooming', () => {
  const view = fitted();
  const before = view.toLayout(700, 100);
  view.zoom(3, 700, 100);
  view.toLayout(700, 100).forEach((value, n) => assert.ok(Math.abs(value - before[n]!) < 1e-9));
});

test('zooming ends where all is seen, and at sixteen times that', () => {
  const view = fitted();
  view.zoom(0.1);
  assert.ok(view.fitted);
  view.zoom(1e6);
  assert.equal(view.k, 16);
});

test('one cannot pan past the edge', () => {
  const view = fitted();
  view.zoom(2, 0, 0);
  view.pan(500, 500);
  assert.deepEqual([view.tx, view.ty], [0, 0]);
  view.pan(-9999, -9999);
  assert.deepEqual([view.tx, view.ty], [-1000, -600]);
});

test('what is revealed is on screen, and what is on screen already moves nothing', () => {
  const view = fitted();
  view.zoom(4, 0, 0);
  view.reveal(10, 10, 20, 20);
  assert.deepEqual([view.tx, view.ty], [0, 0]);
  view.reveal(900, 500, 50, 50);
  const [x0, y0] = view.toLayout(0, 0), [x1, y1] = view.toLayout(1000, 600);
  assert.ok(x0 <= 900 && x1 >= 950 && y0 <= 500 && y1 >= 550);
});

test('a node that joins leaves a zoomed view where it is', () => {
  const view = fitted();
  view.zoom(4, 300, 300);
  const before = [view.k, view.tx, view.ty];
  view.fit(1000, 600, 1000, 620, true);
  assert.deepEqual([view.k, view.tx, view.ty], before);
  view.fit(1000, 600, 1000, 620);
  assert.ok(view.fitted);
});
