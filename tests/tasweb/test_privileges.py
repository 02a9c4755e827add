"""How the private PostgreSQL sheds root: it must not be root, yet reach files below root's closed
directories."""

import os
import subprocess
import sys
from functools import partial

import pytest

from tasweb.stack import privileges


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has anything to shed")
@pytest.mark.parametrize("identity", ["namespace", "nobody"])
def test_an_identity_is_not_root_and_still_reaches_closed_directories(identity, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    code = f"import os; print(os.geteuid()); open({str(closed / 'file')!r}, 'w').write('reached')"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            preexec_fn=partial(privileges.assume, identity),
            capture_output=True,
            text=True,
        )
    except subprocess.SubprocessError:
        assert privileges.unprivileged() != identity, "it was found to work here"
        pytest.skip(f"this system denies the identity {identity!r}")
    assert done.stdout.strip() == str(privileges.NOBODY), done.stderr
    assert (closed / "file").read_text() == "reached"


def test_where_we_are_not_root_nothing_is_shed(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert privileges.unprivileged.__wrapped__() == "same"
