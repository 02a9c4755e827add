"""Whether the engine still decides what it decided under its number, to the byte."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from scheduling.engine.version import ENGINE
from scheduling.ledger import codec
from scheduling.ledger.events import Event
from scheduling.services.conformance.cases import perform, read_cases
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.deciding import cycle_events
from tests.engine.generate import random_case, tight_case

CASES = Path(__file__).parents[1] / "conformance"

DECIDED = {"2": "ab100e4a385118349e5178a7d3cd5f0d4e5af744edd77126dbdb19e1c4d2226a"}
"""Engine -> SHA-256 over all that it decides here. Where the cases are the same and the digest is not, raise
ENGINE and add the next; where a case was added, take the new digest.
"""


def decisions() -> Iterator[Event]:
    """In the profile that binds: the conformance cases, and groups of several shapes in little room."""
    for path in sorted(CASES.glob("*.jsonl")):
        for case in read_cases(path):
            stream = MemoryStream()
            for stage in case["stages"]:
                perform(stream, stage, case["directory"])
                yield from stream.settle()
    dice = Random(1)
    for number in range(60):
        draw = tight_case if number % 2 else random_case
        made = draw(dice, nodes=6 + number % 7, kinds=2 + number % 3)
        yield from cycle_events(made.state(), 0)


def test_another_decision_is_that_of_another_engine() -> None:
    digest, made = hashlib.sha256(), 0
    for event in decisions():
        digest.update(f"{type(event).__name__} {codec.encode(event)}\n".encode())
        made += 1
    assert made > 600
    assert DECIDED.get(ENGINE) == digest.hexdigest(), (
        "some state gives another decision than under this number: raise ENGINE in engine/version.py, so "
        "that older decisions are told to be of another engine, and add the digest here"
    )
