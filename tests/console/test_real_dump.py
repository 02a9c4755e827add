"""A dump that a real control plane printed goes through the import page as a file."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from scheduling.models import NodeRow
from tests.console.support import text


def test_a_dump_of_a_real_cluster_is_previewed_and_imported(operator: Client, real_inputs: Path) -> None:
    data = (real_inputs / "dumps" / "openb-70-gangs.json.gz").read_bytes()
    fields = {"name": "openb", "action": "preview", "file": SimpleUploadedFile("dump.json.gz", data)}

    previewed = operator.post("/clusters/import/", fields)

    assert previewed.status_code == 200
    assert "Node 1,213 1,213 0 0 0" in text(previewed)
    kept = {
        name: re.search(rf'name="{name}" value="([^"]*)"', previewed.content.decode())[1]  # type: ignore[index]
        for name in ("draft", "proposed_for", "command_id")
    }
    gates = re.findall(r'name="gates" value="(\w+)"[^>]* checked', previewed.content.decode())
    assert len(gates) == 3
    answer = operator.post(
        "/clusters/import/", {"name": "openb", "action": "import", "mode": "observed", "gates": gates, **kept}
    )

    assert answer.status_code == 302
    assert NodeRow.objects.filter(cluster__name="openb").count() == 1213
    said = text(operator.get("/c/openb/podgroups/?status=scheduled"))
    assert "are bound in rack" in said
    assert "Observed cluster" in said
