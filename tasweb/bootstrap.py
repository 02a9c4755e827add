"""Makes ``.venv`` from the hashed lock where it is missing or old, and re-executes inside it.

Runs before anything is installed, so it uses the standard library only, and no syntax that would keep a
Python that is too old from reading as far as the sentence that says so (3.6 at least).
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent.parent


class BootstrapError(Exception):
    """One sentence: what is missing and how to get it."""


def enter():
    """Return inside the project's environment; replaces this process when it runs outside of it."""
    if os.environ.get("TAS_NO_BOOTSTRAP") == "1":
        return
    try:
        python, made = ensure(ROOT)
    except BootstrapError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    if made or Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        os.execv(str(python), [str(python), str(ROOT / "manage.py"), *sys.argv[1:]])


def ensure(root):
    """(the environment's Python, whether the environment was made now); BootstrapError when it cannot be
    made."""
    if sys.version_info < OLDEST:
        raise BootstrapError(
            f"This needs Python {OLDEST[0]}.{OLDEST[1]} or newer and was started with "
            f"{sys.version_info[0]}.{sys.version_info[1]}: "
            "run it with a newer one, for example `python3.12 manage.py`."
        )
    python = root / ".venv" / "bin" / "python"
    wanted = hashlib.sha256((root / "requirements.lock").read_bytes()).hexdigest()
    if _is_whole(python, wanted):
        return python, False
    import fcntl  # not on Windows, where the sentence above about Python must still come out

    try:
        lock = (root / ".venv.lock").open("w")
    except OSError as error:
        raise BootstrapError(f"The environment .venv cannot be made: {error}.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making it: wait, then look again
        if _is_whole(python, wanted):
            return python, False
        print(
            "Installing the locked packages into .venv (once, about a minute) ...",
            file=sys.stderr,
            flush=True,
        )
        _make(root, python)
        # Written last: an environment without this mark was interrupted and is made anew.
        (root / ".venv" / "lock.sha256").write_text(wanted)
    return python, True


def _is_whole(python, wanted):
    mark = python.parent.parent / "lock.sha256"
    return mark.is_file() and mark.read_text() == wanted and os.access(str(python), os.X_OK)


def _make(root, python):
    shutil.rmtree(str(root / ".venv"), ignore_errors=True)
    base = getattr(sys, "_base_executable", sys.executable)
    lock = ["--require-hashes", "--no-deps", "-r", str(root / "requirements.lock")]
    if _has_uv():
        _run("uv", "venv", "--quiet", "--python", base, str(root / ".venv"))
        _run("uv", "pip", "install", "--quiet", "--python", str(python), *lock)
        return
    if not _imports(base, "ensurepip"):
        sudo = "" if os.geteuid() == 0 else "sudo "
        raise BootstrapError(
            f"This Python cannot make virtual environments: "
            f"`{sudo}apt install python3-venv`, then run this again."
        )
    _run(base, "-m", "venv", str(root / ".venv"))
    _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *lock)


def _has_uv():
    if shutil.which("uv") is None:
        return False
    # A version manager's shim may be on PATH without a uv behind it.
    return (
        subprocess.run(["uv", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        == 0
    )


def _imports(python, module):
    return subprocess.run([python, "-c", "import " + module], stderr=subprocess.DEVNULL).returncode == 0


def _run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        last = [line for line in done.stdout.splitlines() if line.strip()][-5:]
        raise BootstrapError(
            "\n".join([f"The environment .venv could not be made; `{' '.join(command[:4])}` said:", *last])
        )
