"""What a child process does to itself between fork and exec: lose root where PostgreSQL insists, die with
its parent.

PostgreSQL refuses to run as root. Three identities, tried in this order:

- ``same``: we are not root; nothing to do.
- ``namespace``: a user namespace in which root is uid 65534. Files stay root's and closed directories stay
  closed.
- ``nobody``: where namespaces are denied (containers), uid 65534 with the one capability to reach files below
  closed directories. The data directory then belongs to 65534.
"""

import ctypes
import os
import signal
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from typing import Literal

NOBODY = 65534
Identity = Literal["same", "namespace", "nobody"]

_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG, _PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 1, 8, 47, 2
_CAP_DAC_OVERRIDE, _CAPABILITY_VERSION_3 = 1, 0x20080522
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def _enter_namespace() -> None:
    _call("unshare", _CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} 0 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} 0 1")


def _become_nobody() -> None:
    _call("prctl", _PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    mask = 1 << _CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)(mask, mask, mask, 0, 0, 0))
    _call("prctl", _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)


def assume(identity: Identity) -> None:
    """In the child: take on the identity. Raises OSError where the system denies it."""
    if identity == "namespace":
        _enter_namespace()
    elif identity == "nobody":
        _become_nobody()


@cache
def unprivileged() -> Identity | None:
    """The first identity that works here, tried in a child; None when root can be shed in no way."""
    if os.geteuid() != 0:
        return "same"
    candidates: tuple[Identity, ...] = ("namespace", "nobody")
    for identity in candidates:
        try:
            subprocess.run(
                [sys.executable, "-c", ""],
                preexec_fn=partial(assume, identity),
                check=True,
                capture_output=True,
            )
        except (OSError, subprocess.SubprocessError):
            continue
        return identity
    return None


def follow_parent(parent: int, death_signal: signal.Signals) -> None:
    """In the child, after `assume`: a session of its own, and `death_signal` when the parent dies (Linux)."""
    os.setsid()
    if sys.platform == "linux":
        _call("prctl", _PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above took effect
            os._exit(1)
