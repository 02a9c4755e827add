"""The supervisor, on small processes of its own."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tasweb.stack import ProcessDied, StackError
from tasweb.stack.supervisor import Service, Supervisor, lives


def python(name, code, *, ready=None, **more):
    async def at_once():
        return True

    return Service(name, [sys.executable, "-c", code], ready or at_once, **more)


@pytest.fixture
async def supervisor(tmp_path):
    running = Supervisor(tmp_path)
    yield running
    await running.stop()


FOREVER = "import signal; signal.pause()"


async def test_a_service_is_started_when_it_answers_not_before(supervisor, tmp_path):
    mark = tmp_path / "serves"

    async def answers():
        return mark.exists()

    code = f"import pathlib, signal; pathlib.Path({str(mark)!r}).touch(); signal.pause()"
    await supervisor.start(python("server", code, ready=answers))
    assert mark.exists()


async def test_a_service_that_dies_while_it_starts_is_named_with_its_last_words(supervisor):
    async def never():
        return False

    with pytest.raises(ProcessDied, match=r"(?s)server exited with code 7.*no such port"):
        await supervisor.start(python("server", "print('no such port'); raise SystemExit(7)", ready=never))


async def test_a_service_that_does_not_answer_in_time_is_named(supervisor):
    async def refuses():
        raise ConnectionRefusedError

    with pytest.raises(ProcessDied, match="server did not answer within 0 s"):
        await supervisor.start(python("server", FOREVER, ready=refuses, start_seconds=0.3))


async def test_the_one_that_dies_later_is_named(supervisor):
    await supervisor.start(python("first", FOREVER), python("second", FOREVER))
    supervisor.find("second").process.kill()
    died = await supervisor.until_one_dies()
    assert str(died).startswith("second was killed by SIGKILL")


async def test_a_step_returns_what_it_printed_and_a_failed_one_shows_it(supervisor):
    assert await supervisor.run("step", [sys.executable, "-c", "print(42)"]) == "42\n"
    with pytest.raises(ProcessDied, match=r"(?s)step failed with exit code 3.*went wrong"):
        await supervisor.run("step", [sys.executable, "-c", "print('went wrong'); raise SystemExit(3)"])


async def test_a_missing_program_is_one_sentence(supervisor):
    with pytest.raises(StackError, match="server could not be started"):
        await supervisor.start(Service("server", ["/nonexistent/server"], ready=None))


async def test_groups_stop_in_reverse_order(supervisor, tmp_path):
    log = tmp_path / "order"

    def recorder(name):
        ready = tmp_path / f"{name}.up"

        async def up():
            return ready.exists()

        code = (
            "import pathlib, signal, sys\n"
            f"def stop(*_): open({str(log)!r}, 'a').write('{name} '); sys.exit()\n"
            f"signal.signal(signal.SIGTERM, stop); pathlib.Path({str(ready)!r}).touch(); signal.pause()"
        )
        return python(name, code, ready=up)

    await supervisor.start(recorder("database"))
    await supervisor.start(recorder("web"))
    await supervisor.stop()
    assert log.read_text() == "web database "


async def test_what_does_not_stop_is_killed_with_the_children_it_left(supervisor, tmp_path):
    pid_file = tmp_path / "grandchild"

    async def up():
        return pid_file.exists() and pid_file.read_text() != ""

    code = (
        "import pathlib, signal, subprocess, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(child.pid)); signal.pause()"
    )
    await supervisor.start(python("stubborn", code, ready=up, stop_seconds=0.3))
    process = supervisor.find("stubborn").process
    await supervisor.stop()
    assert process.returncode == -signal.SIGKILL
    await until_gone(int(pid_file.read_text()))


async def until_gone(pid):
    """Wait until the process is dead (a zombie that nobody reaps counts as dead)."""
    async with asyncio.timeout(10):
        while True:
            try:
                os.kill(pid, 0)
                if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                    return
            except (ProcessLookupError, FileNotFoundError):
                return
            await asyncio.sleep(0.02)


async def test_killing_takes_children_in_sessions_of_their_own_and_the_supervisor_forgets_them(
    supervisor, tmp_path
):
    """As the backends of PostgreSQL are: the group that is killed does not have them."""
    mark = tmp_path / "child"
    code = (
        "import os, pathlib, signal, subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}], start_new_session=True)\n"
        f"pathlib.Path({str(mark)!r}).write_text(str(child.pid)); signal.pause()"
    )

    async def answers():
        return mark.exists() and mark.read_text() != ""

    await supervisor.start(python("parent", code, ready=answers), python("other", FOREVER))
    parent, child = supervisor.find("parent").process.pid, int(mark.read_text())
    assert os.getsid(child) == child

    killed = await supervisor.kill("parent")

    assert [service.name for service in killed] == ["parent"]
    assert not lives(parent) and not lives(child)
    assert [running.service.name for group in supervisor.groups for running in group] == ["other"]


async def test_a_service_is_prepared_before_every_start(supervisor, tmp_path):
    """A mark of readiness that the process before left would tell of a process that does not serve."""
    mark = tmp_path / "serves"
    mark.write_text("left")

    async def answers():
        return mark.exists()

    code = f"import pathlib, signal; pathlib.Path({str(mark)!r}).write_text('mine'); signal.pause()"
    service = python("server", code, ready=answers, prepare=lambda: mark.unlink(missing_ok=True))
    for _ in range(2):
        await supervisor.start(service)
        assert mark.read_text() != "left"
        await supervisor.kill("server")
        mark.write_text("left")
