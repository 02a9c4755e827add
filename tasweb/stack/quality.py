"""The checks that `lint` runs and `test` runs first."""

import subprocess
import sys
from collections.abc import Callable

from tasweb.stack import ROOT, ProcessDied, node

_PYTHON = {
    "ruff check": ("-m", "ruff", "check", "--quiet", "--output-format", "concise", "."),
    "ruff format": ("-m", "ruff", "format", "--check", "."),
    "mypy": ("-m", "mypy", "--no-error-summary"),
    "import floors": ("-c", "from importlinter.cli import lint_imports_command as c; c(['--no-logo'])"),
}


def lint(say: Callable[[str], None]) -> None:
    """Run every check, also after one has failed; ProcessDied names those that failed."""
    failed = []
    for name, arguments in _PYTHON.items():
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        say(f"{name}: {'ok' if done.returncode == 0 else 'FAILED'}")
        if done.returncode:
            say(done.stdout)
            failed.append(name)
    try:
        node.check_types()
        say("tsc: ok")
    except ProcessDied as error:
        say(f"tsc: FAILED\n{error}")
        failed.append("tsc")
    if failed:
        raise ProcessDied(f"Lint failed: {', '.join(failed)}.")
