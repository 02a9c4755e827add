"""The form of replays keeps what was typed and what was sent, and says at which field something is wrong."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from scheduling.engine.model import TAS_GATES
from scheduling.models import Cluster, Run
from scheduling.scenarios import runs, trace_files
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.console.support import dump, node
from tests.scenarios.test_virtual_time import gang, trace

ADDRESS = "/c/demo/traces"
FILE = trace_files.write(trace(*(gang(number * 50, f"g{number}", 1 + number % 6) for number in range(9))))
FORM = {
    "source": "ndjson",
    "nodes": "trace",
    "profile": "exact",
    "gates": list(TAS_GATES),
    "topology_key": "",
    "soft": "required",
    "parts": "milli",
    "gang": "1",
    "denser": "1",
    "one_rack": "on",
    "every": "60",
    "run": "3600",
}


@pytest.fixture
def tester(db: None) -> Client:
    import_cluster(
        name="demo", request=ImportRequest(data=dump(node("n1", "r1")), mode="simulated"), actor="ops"
    )
    user = User.objects.create_user("eve")
    user.user_permissions.add(*Permission.objects.filter(codename__in=("view_cluster", "run_scenario")))
    client = Client()
    client.force_login(user)
    return client


def upload(data: bytes = FILE) -> SimpleUploadedFile:
    return SimpleUploadedFile("load.ndjson", data)


def test_a_replay_is_asked_for_and_shown_when_it_is_over(tester: Client) -> None:
    sent = tester.post(ADDRESS, {**FORM, "trace": upload()})
    run = Run.objects.get()
    assert sent["Location"] == f"/c/demo/runs/{run.number}"
    assert run.document["file"] == "load.ndjson"
    runs.work(run.pk)
    page = tester.get(sent["Location"]).content.decode()
    assert "9 of 9 workloads were placed." in page
    assert "plots.js" in page and 'id="plots-data"' in page
    for form in ("series.csv", "waits.csv", "result.json", "trace.ndjson"):
        answer = tester.get(f"/c/demo/runs/{run.number}/trace/{form}")
        assert answer.status_code == 200 and form in answer["Content-Disposition"]


def test_a_file_in_which_something_is_wrong_is_told_at_its_field_with_the_line(tester: Client) -> None:
    answer = tester.post(ADDRESS, {**FORM, "gang": "7", "trace": upload(FILE + b"{}\n")})
    page = answer.content.decode()
    assert answer.status_code == 422 and not Run.objects.exists()
    errors = re.search(r'<ul class="errorlist" id="id_trace-errors">(.*?)</ul>', page, re.DOTALL)
    assert errors is not None and "line 15: kind" in errors[1]
    assert 'name="gang" value="7"' in page
    assert 'name="drafts_of" value=""' in page, "a file with a fault is not kept"


def test_a_file_need_not_be_chosen_again_after_another_fields_fault(tester: Client) -> None:
    page = tester.post(ADDRESS, {**FORM, "topology_key": "no key", "trace": upload()}).content.decode()
    assert 'id="id_topology_key-errors"' in page
    kept = re.search(r'name="drafts_of" value="([^"]+)"', page)
    assert kept is not None
    tester.post(ADDRESS, {**FORM, "drafts_of": kept[1]})
    assert Run.objects.count() == 1


def test_a_draft_of_nobody_is_no_file(tester: Client) -> None:
    answer = tester.post(ADDRESS, {**FORM, "drafts_of": "trace:forged"})
    assert answer.status_code == 422 and not Run.objects.exists()


def test_another_replay_is_drawn_beside_it_only_where_there_is_one(tester: Client) -> None:
    for _ in range(2):
        tester.post(ADDRESS, {**FORM, "trace": upload()})
    first, second = Run.objects.order_by("number")
    for run in (first, second):
        runs.work(run.pk)
    page = tester.get(f"/c/demo/runs/{second.number}?with={first.number}").content.decode()
    assert f"waiting ({first.number})" in page and f"waiting ({second.number})" in page
    for other in ("", "x", "99999", "9" * 30, str(second.number)):
        page = tester.get(f"/c/demo/runs/{second.number}?with={other}").content.decode()
        assert f"waiting ({first.number})" not in page


def test_who_may_only_look_is_offered_no_form_and_refused(tester: Client) -> None:
    User.objects.get(username="eve").user_permissions.remove(Permission.objects.get(codename="run_scenario"))
    assert 'enctype="multipart/form-data"' not in tester.get(ADDRESS).content.decode()
    assert tester.post(ADDRESS, {**FORM, "trace": upload()}).status_code == 403
    assert Cluster.objects.get().runs.count() == 0
