"""`manage.py retention`, stopped where a test kills it: `python -m tests.faults.retaining ARGUMENTS`.

TAS_WIDTH is the width of partitions that the test made. At the point TAS_STOP_AT it says so on standard
output and waits to be killed.
"""

from __future__ import annotations

import os
import signal
import sys

import django

django.setup()

from django.core.management import call_command  # noqa: E402

from scheduling.ledger import store  # noqa: E402
from scheduling.services.signals import retention_reached  # noqa: E402


def stop(*, point: str, **_: object) -> None:
    if point == os.environ["TAS_STOP_AT"]:
        print(f"reached {point}", flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    store.PARTITION_WIDTH = int(os.environ["TAS_WIDTH"])
    retention_reached.connect(stop)
    call_command("retention", *sys.argv[1:])
