import json, time, statistics
from typing import Any
from scheduling.ledger import store
from scheduling.services.cycles import run_cycle
from scheduling.services.nodes import cordon, uncordon
from scheduling.services.workloads import end_group
from tests.api.support import gang, node
from tests.browser.support import grown
from tests.browser.test_time_travel import ready

DRAG = """async ([from, to, by]) => {
  const slider = document.getElementById('past-slider'), map = document.getElementById('rack-map');
  const js = [], frames = [], miss = [];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  for (let seq = from; by > 0 ? seq <= to : seq >= to; seq += by) {
    const start = performance.now();
    slider.value = String(seq);
    slider.dispatchEvent(new Event('input'));
    js.push(performance.now() - start);
    await frame();   // the paint runs in the frame callbacks before this one or in this frame
    await frame();
    frames.push((performance.now() - start) / 1);
    if (map.dataset.shown !== String(seq)) miss.push(seq);
  }
  return { js, frames, miss: miss.length };
}"""
PAINT = """() => { const raf = window.requestAnimationFrame; window.paints = []; window.requestAnimationFrame = (f) => raf((t) => { const s = performance.now(); f(t); window.paints.push(performance.now() - s); }); }"""

def q(values, p): values = sorted(values); return round(values[min(len(values) - 1, int(len(values) * p))], 2)

def test_measure(live_stack: Any, visit: Any) -> None:
    cluster = grown(625, *[o for g in range(150) for o in gang(f"g{g}", 8)])
    t = time.monotonic(); run_cycle(cluster.pk); print("cycle", time.monotonic() - t)
    for g in range(0, 150, 2):
        end_group(cluster=cluster, namespace="team-a", name=f"g{g}", actor="t")
    for n in range(300):
        cordon(cluster=cluster, node=f"gpu-{n:04d}-00", actor="t")
    last = store.head(cluster.pk).seq
    print("events", last)
    t = time.monotonic()
    page = visit(f"/c/demo/map?at={last}", ready=ready(last))
    print("open", time.monotonic() - t)
    deadline = time.monotonic() + 60
    lo = last - 4000
    page.evaluate(PAINT)
    # wait until prefetch is done: walk back with misses allowed
    while time.monotonic() < deadline:
        r = page.evaluate(DRAG, [last, lo, -500])
        if not r["miss"]: break
        page.wait_for_timeout(500)
    print("prefetched after", time.monotonic() - t)
    for name, args in {"1 event": [last, last - 300, -1], "1 event on": [last - 300, last, 1], "placements": [last - 2700, last - 300, 16], "50 events": [last, lo, -50], "500 events": [lo, last, 500]}.items():
        page.evaluate("window.paints.length = 0")
        r = page.evaluate(DRAG, args)
        paints = page.evaluate("window.paints.filter(p => p > 0.3)")
        tot = [a + b for a, b in zip(r["js"], paints)] if paints else r["js"]
        print(name, "steps", len(r["js"]), "miss", r["miss"], "js p50", q(r["js"], .5), "p95", q(r["js"], .95), "paint p50", q(paints, .5) if paints else None, "p95", q(paints, .95) if paints else None, "2 frames p50", q(r["frames"], .5), "p95", q(r["frames"], .95))
    # the import: nodes appear
    page.goto(f"/c/demo/map?at=9000"); page.wait_for_selector(ready(9000))
    page.evaluate(PAINT)
    for _ in range(60):
        r = page.evaluate(DRAG, [9000, 8000, -250])
        if not r["miss"]: break
        page.wait_for_timeout(500)
    for name, args in {"nodes leave": [9000, 8500, -5], "nodes join": [8500, 9000, 5]}.items():
        page.evaluate("window.paints.length = 0")
        r = page.evaluate(DRAG, args)
        paints = page.evaluate("window.paints.filter(p => p > 0.3)")
        print(name, "steps", len(r["js"]), "miss", r["miss"], "js p50", q(r["js"], .5), "p95", q(r["js"], .95), "paint p50", q(paints, .5), "p95", q(paints, .95), "2 frames", q(r["frames"], .5), q(r["frames"], .95))
