"""The fixtures that other rooms build on: real processes on the test database, as the runtime role."""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psycopg
import pytest

from tasweb.stack import ROOT, postgres, privileges, throwaway


def test_the_live_stack_serves_and_its_worker_can_be_killed_and_started_again(live_stack):
    with urllib.request.urlopen(f"{live_stack.url}/health") as answer:
        assert answer.status == 200
    before = live_stack.processes.pids()
    assert sorted(before) == ["beat", "web", "workbench", "worker"]
    live_stack.processes.kill("worker")
    assert sorted(live_stack.processes.pids()) == ["beat", "web", "workbench"]
    live_stack.processes.start("worker")
    after = live_stack.processes.pids()
    assert after["worker"] != before["worker"]
    assert (after["web"], after["beat"]) == (before["web"], before["beat"])


@pytest.mark.django_db
def test_the_servers_listen_on_no_network(stack):
    with stack.connect(postgres.OWNER) as connection:
        assert connection.execute("show listen_addresses").fetchone() == ("",)


@pytest.mark.django_db
def test_the_runtime_role_may_append_to_the_log_but_not_rewrite_it(stack):
    with stack.connect(postgres.RUNTIME) as connection:
        for statement in (
            "update scheduling_event set actor = 'somebody else'",
            "delete from scheduling_event",
            "truncate scheduling_event",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_this_system_lets_the_servers_run_without_root():
    assert privileges.unprivileged() in ("same", "namespace", "nobody")


def test_the_sign_in_page_loads_in_a_browser_without_breaking_its_own_policy(page, screenshot):
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    answer = page.goto("/login/")
    page.wait_for_load_state("networkidle")
    assert answer.status == 200
    assert complaints == []
    assert screenshot(page, "sign-in").stat().st_size > 0


def test_servers_and_their_folder_are_gone_after_the_run_that_used_them_is_killed():
    directory = throwaway.short_directory()
    code = (
        "from pathlib import Path; from tasweb.stack import throwaway; import signal, sys\n"
        f"with throwaway.servers(Path({str(directory)!r})) as held:\n"
        "    print(held.holder.pid, *held.pids().values(), flush=True); signal.pause()"
    )
    run = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    pids = [int(word) for word in run.stdout.readline().split()]
    assert len(pids) == 3
    assert directory.exists()
    run.kill()
    run.communicate()
    deadline = time.monotonic() + 20
    while directory.exists() or any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
        assert time.monotonic() < deadline, "still there"
        time.sleep(0.05)  # polls the process table
