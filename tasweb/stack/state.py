"""The state directory of a private stack: the one lock on it, the generated key, the data, and where its
servers answer."""

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasweb.stack import ROOT, StackError

DEFAULT = ROOT / ".state"


@contextmanager
def exclusive(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock file; yields False when another process holds it and `wait` is False. A crash frees
    it."""
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True


class StateDirectory:
    """What one `up` owns on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.postgres, self.valkey, self.logs, self.run = (
            self.path / name for name in ("pg", "valkey", "logs", "run")
        )
        self._environment = self.path / "environment.json"
        self._lock = self.path / "lock"

    def prepare(self) -> None:
        """Make it, closed to other users."""
        try:
            for directory in (self.path, self.logs, self.run):
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
        except OSError as error:
            raise StackError(f"The state directory cannot be made: {error}.") from error

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the directory; StackError when another `up` has it."""
        try:
            with exclusive(self._lock, wait=False) as mine:
                if not mine:
                    raise StackError(
                        f"Another `up` already runs on {self.path}: stop it, or give another --state-dir."
                    )
                yield
        except PermissionError as error:
            raise StackError(f"{self.path} belongs to another user: give another --state-dir.") from error

    def secret_key(self) -> str:
        """The signing key of this private stack, made at the first start."""
        file = self.path / "secret_key"
        if not file.exists():
            fresh = file.with_name("secret_key.new")
            fresh.touch(mode=0o600)
            fresh.write_text(secrets.token_urlsafe(48))
            fresh.rename(file)
        return file.read_text()

    def publish(self, environment: dict[str, str], sockets: Path) -> None:
        """Let other commands find the running servers; also what the next start sweeps up after a crash."""
        self._environment.unlink(missing_ok=True)
        self._environment.touch(mode=0o600)
        self._environment.write_text(json.dumps({"environment": environment, "sockets": str(sockets)}))

    def withdraw(self) -> None:
        """Forget what `publish` told and remove the directory of sockets, also those of an `up` that was
        killed."""
        if self._environment.exists():
            try:
                sockets = Path(json.loads(self._environment.read_text())["sockets"])
            except (ValueError, KeyError):
                sockets = None  # killed while it wrote
            if sockets is not None and sockets.name.startswith("tas-"):
                shutil.rmtree(sockets, ignore_errors=True)
            self._environment.unlink()

    def running_environment(self) -> dict[str, str]:
        """The environment of the `up` that runs here now; empty when none does or it is not ours to read."""
        try:
            with exclusive(self._lock, wait=False) as idle:
                if idle:
                    return {}
            environment: dict[str, str] = json.loads(self._environment.read_text())["environment"]
        except (OSError, ValueError):
            return {}
        return environment


def join_running() -> None:
    """Make a management command use the servers of a running `up` where the environment names none."""
    if "DATABASE_URL" not in os.environ and DEFAULT.is_dir():
        for name, value in StateDirectory(DEFAULT).running_environment().items():
            os.environ.setdefault(name, value)
