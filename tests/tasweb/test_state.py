"""The state directory of `up`: one owner, secrets for its user only, nothing stale believed."""

import os
import subprocess
import sys

import pytest

from tasweb.stack import StackError, postgres, state


@pytest.fixture
def directory(tmp_path):
    found = state.StateDirectory(tmp_path / "state")
    found.prepare()
    return found


def test_the_directory_and_its_key_are_closed_to_others_and_the_key_stays(directory):
    key = directory.secret_key()
    assert len(key) > 40
    assert directory.secret_key() == key
    assert directory.path.stat().st_mode & 0o777 == 0o700
    assert (directory.path / "secret_key").stat().st_mode & 0o777 == 0o600


def test_a_second_owner_is_refused(directory):
    with (
        directory.owned(),
        pytest.raises(StackError, match="Another `up` already runs on"),
        directory.owned(),
    ):
        pytest.fail("both own it")


def test_other_commands_learn_the_servers_of_a_running_up_only(directory, tmp_path):
    sockets = tmp_path / "tas-sockets"
    sockets.mkdir()
    with directory.owned():
        directory.publish({"DATABASE_URL": "postgres:///x"}, sockets)
        assert directory.running_environment() == {"DATABASE_URL": "postgres:///x"}
    # The lock is free: that `up` was killed, and its servers with it.
    assert directory.running_environment() == {}
    directory.withdraw()
    assert not sockets.exists()
    with directory.owned():
        assert directory.running_environment() == {}


def test_the_address_of_a_running_up_never_overrides_one_that_is_given(directory, monkeypatch):
    monkeypatch.setattr(state, "DEFAULT", directory.path)
    with directory.owned():
        directory.publish({"DATABASE_URL": "postgres:///private"}, directory.path / "tas-none")
        monkeypatch.setenv("DATABASE_URL", "postgres:///given")
        state.join_running()
        assert os.environ["DATABASE_URL"] == "postgres:///given"
        monkeypatch.delenv("DATABASE_URL")
        state.join_running()
        assert os.environ["DATABASE_URL"] == "postgres:///private"


def test_a_pid_file_whose_number_went_to_another_process_is_removed(tmp_path):
    file = tmp_path / "postmaster.pid"
    file.write_text(f"{os.getpid()}\n")
    assert postgres.living_postmaster(tmp_path) is None
    assert not file.exists()


def test_a_postmaster_that_still_runs_is_waited_for(tmp_path):
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", "-D", str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as old:
        old.stdout.readline()
        (tmp_path / "postmaster.pid").write_text(f"{old.pid}\n")
        assert postgres.living_postmaster(tmp_path) == old.pid
    assert postgres.living_postmaster(tmp_path) is None


def test_a_data_directory_of_another_major_version_is_left_alone(tmp_path):
    import asyncio

    from tasweb.stack.supervisor import Supervisor

    data = tmp_path / "pg"
    data.mkdir()
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(StackError, match="was made by PostgreSQL 9"):
        asyncio.run(postgres.initialise(Supervisor(tmp_path), postgres.find(), data))
    assert sorted(path.name for path in data.iterdir()) == ["PG_VERSION"]


def test_no_database_program_is_one_sentence_that_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(postgres, "_candidates", lambda: [tmp_path])
    with pytest.raises(StackError, match=r"No PostgreSQL 15 or newer runs here: install one"):
        postgres.find()
