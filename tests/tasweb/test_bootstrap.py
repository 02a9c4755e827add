"""The virtual environment that manage.py makes: whole or made anew, once for however many runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tasweb import bootstrap

PROJECT = Path(bootstrap.__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A checkout whose lock holds no package, so that no network is needed."""
    (tmp_path / "requirements.lock").write_text("# nothing\n")
    monkeypatch.setattr(bootstrap, "_has_uv", lambda: False)
    return tmp_path


def test_the_environment_is_made_once(checkout):
    python, made = bootstrap.ensure(checkout)
    assert made
    prefix = subprocess.check_output([python, "-c", "import sys; print(sys.prefix)"], text=True).strip()
    assert Path(prefix) == checkout / ".venv"
    assert bootstrap.ensure(checkout) == (python, False)


@pytest.fixture
def built(monkeypatch):
    """Replaces the slow making by a link to this Python; the list of what was made, by the lock it was made
    from."""
    made = []

    def make(root, python):
        python.parent.mkdir(parents=True, exist_ok=True)
        python.unlink(missing_ok=True)
        python.symlink_to(sys.executable)
        made.append((root / "requirements.lock").read_text())
        if made[-1] == "# interrupt\n" and len(made) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "_make", make)
    return made


def test_an_interrupted_environment_is_made_anew(checkout, built):
    (checkout / "requirements.lock").write_text("# interrupt\n")
    with pytest.raises(KeyboardInterrupt):
        bootstrap.ensure(checkout)
    assert (checkout / ".venv" / "bin" / "python").exists()
    assert bootstrap.ensure(checkout)[1]
    assert len(built) == 2


def test_a_changed_lock_makes_the_environment_anew(checkout, built):
    bootstrap.ensure(checkout)
    (checkout / "requirements.lock").write_text("# something else\n")
    bootstrap.ensure(checkout)
    bootstrap.ensure(checkout)
    assert built == ["# nothing\n", "# something else\n"]


CONCURRENT = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from tasweb import bootstrap

def make(root, python):
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)

bootstrap._make = make
print("imported", flush=True)
sys.stdin.readline()
print(bootstrap.ensure(pathlib.Path(sys.argv[2]))[1])
"""


def test_of_concurrent_runs_one_makes_it_and_the_others_wait(checkout):
    command = [sys.executable, "-c", CONCURRENT, PROJECT, checkout]
    runs = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for run in runs:
        assert run.stdout.readline() == "imported\n"
    answers = sorted(run.communicate("\n")[0].strip() for run in runs)
    assert answers == ["False", "False", "False", "True"]


def test_an_old_python_gets_one_sentence(checkout, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    with pytest.raises(
        bootstrap.BootstrapError, match=r"needs Python 3\.11 or newer and was started with 3\.10"
    ):
        bootstrap.ensure(checkout)


def test_a_python_without_venv_gets_the_command_that_helps(checkout, monkeypatch):
    monkeypatch.setattr(bootstrap, "_imports", lambda python, module: False)
    with pytest.raises(bootstrap.BootstrapError, match="apt install python3-venv"):
        bootstrap.ensure(checkout)


def test_what_pip_refuses_is_shown(checkout):
    (checkout / "requirements.lock").write_text("django\n")  # no version, no hash
    with pytest.raises(bootstrap.BootstrapError, match="--require-hashes"):
        bootstrap.ensure(checkout)
    assert not (checkout / ".venv" / "lock.sha256").exists()
