"""What tests of the map look at: pixels, sentences, and a cluster of racks."""

from __future__ import annotations

import time
from typing import Any

from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import dump, node

LIVE = "#live-pill[data-state=live]"
CORDON = (240, 196, 25)  # --cordon of the light theme
PICK = (200, 80, 10)  # --pick
FITS = (0, 95, 184)  # --fits

COUNT_PIXELS = """([which, colour]) => {
  const canvas = document.querySelectorAll('#rack-map canvas')[which];
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 200 && colour.every((part, n) => Math.abs(data[i + n] - part) < 8)) count++;
  }
  return count;
}"""


def pixels(page: Any, colour: tuple[int, int, int], *, overlay: bool = False) -> int:
    """How many pixels of a colour the lower or upper canvas has."""
    count: int = page.evaluate(COUNT_PIXELS, [int(overlay), list(colour)])
    return count


def until(page: Any, expression: str, argument: Any = None, *, seconds: float = 10) -> None:
    """Wait for an expression to be true. Playwright's own waiting evaluates text in the page, which the
    page's policy forbids."""
    deadline = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < deadline, f"not within {seconds} s: {expression}"
        page.wait_for_timeout(50)


def wait_for_pixels(
    page: Any, colour: tuple[int, int, int], *, overlay: bool = False, none: bool = False
) -> None:
    comparison = "=== 0" if none else "> 0"
    until(page, f"argument => ({COUNT_PIXELS})(argument) {comparison}", [int(overlay), list(colour)])


def sentence(page: Any) -> str:
    text: str = page.locator("#map-sentence").inner_text()
    return text


def grown(racks: int, *more: dict[str, Any]) -> Cluster:
    """`demo`: racks of 16 nodes with 8 GPUs."""
    nodes = [node(f"gpu-{r:04d}-{n:02d}", f"rack-{r:04d}") for r in range(racks) for n in range(16)]
    request = ImportRequest(data=dump(*nodes, *more), mode="simulated", gates=None)
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")
