"""Standard library only: makes ``.venv`` from the hashed lock where it is missing or old, and re-executes inside it."""

import hashlib
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)


def enter():
    """Return inside the project's environment, having replaced this process if need be."""
    if os.environ.get("TAS_NO_BOOTSTRAP") == "1":
        return
