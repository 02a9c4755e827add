"""The Chromium that browser tests drive: from TAS_CHROMIUM or PATH, installed by apt where we may."""

import os
import shutil
import subprocess
from pathlib import Path

from tasweb.stack import StackError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium", "fonts-noto-cjk", "fonts-dejavu")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)


def find() -> Path:
    """The binary; StackError with the command that would install one."""
    named = os.environ.get("TAS_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise StackError(
            "Browser tests need Chromium: `sudo apt install chromium fonts-noto-cjk`, "
            "or name a binary in TAS_CHROMIUM."
        )
    if not os.access(found, os.X_OK):
        raise StackError(f"TAS_CHROMIUM names {found}, which is no program.")
    return Path(found)


def install() -> None:
    """Install Chromium and fonts for Japanese where it is missing and apt may; else leave it to `find` to
    say so."""
    if os.environ.get("TAS_CHROMIUM") or any(map(shutil.which, NAMES)):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (("update",), ("install", "-y", "--no-install-recommends", *PACKAGES)):
        done = subprocess.run(["apt-get", "-qq", *arguments], env=quiet, capture_output=True, text=True)
        if done.returncode:
            raise StackError(
                f"apt-get {arguments[0]} failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
            )
