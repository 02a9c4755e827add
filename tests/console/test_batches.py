"""Pages of batches and of the verification matrix: forms that lose nothing, maps, points, words for all."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from scheduling.models import Cluster, Run
from scheduling.scenarios import axes, batches, conditions, matrix, measurements, runs, workbench
from scheduling.scenarios.documents import read, read_yaml
from scheduling.wording import batches as batch_words
from scheduling.wording import matrix as matrix_words
from tests.console.support import GPU, RACK

SCENARIO = f"""
steps:
- step: submit
  namespace: team-b
  name: tried
  min_count: 1
  topology_key: {RACK}
  templates:
  - count: 1
    requests: {{{GPU}: "8"}}
"""
FORM: dict[str, str] = {
    "scenario": "", "document": SCENARIO, "group": "", "a0-axis": "members", "a0-step": "0",
    "a0-template": "0", "a0-first": "1", "a0-last": "3", "a0-by": "1", "a1-axis": "", "action": "run",
}  # fmt: skip
LOST = {
    "a1-axis": "lost_nodes", "a1-key": RACK, "a1-domain": "r1", "a1-first": "0", "a1-last": "1",
    "a1-by": "1", "a1-order": "name", "a1-before": "0",
}  # fmt: skip

SignedIn = Callable[..., Client]


@pytest.fixture
def client(signed_in: SignedIn) -> Client:
    return signed_in("view_cluster", "run_scenario")


def carried_out(run: Run) -> Run:
    for first, last in runs.spread(run.pk):
        runs.points(run.pk, first, last)
    run.refresh_from_db()
    assert run.status == "done", run.error
    return run


def shown(response: Any) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))


class TestNewBatch:
    def test_the_form_begins_with_a_scenario_that_can_be_read(self, client: Client, cluster: Cluster) -> None:
        response = client.get(reverse("batch-new", args=["demo"]))
        document = read_yaml(response.context["form"].head["document"].value())
        assert document.steps[0].step == "submit"

    def test_it_is_run_and_shown(self, client: Client, cluster: Cluster) -> None:
        response = client.post(reverse("batch-new", args=["demo"]), FORM | LOST)
        run = Run.objects.get()
        assert response.status_code == 302 and response.url == reverse("run", args=["demo", run.number])
        assert batches.count(run) == 6
        assert run.document["axes"][1]["key"] == RACK

    def test_a_saved_scenario_may_be_chosen(self, client: Client, cluster: Cluster) -> None:
        workbench.save(cluster=cluster, document=read_yaml("name: saved" + SCENARIO), actor="ada")
        page = client.get(reverse("batch-new", args=["demo"]) + "?scenario=saved")
        assert page.context["form"].head["scenario"].value() == "saved"
        client.post(reverse("batch-new", args=["demo"]), FORM | {"scenario": "saved", "document": ""})
        run = Run.objects.get()
        assert run.scenario == "saved" and read(run.document["scenario"]).name == "saved"

    def test_a_saved_scenario_has_its_page_also_when_batches_of_it_are_done(
        self, client: Client, cluster: Cluster
    ) -> None:
        workbench.save(cluster=cluster, document=read_yaml("name: saved" + SCENARIO), actor="ada")
        client.post(reverse("batch-new", args=["demo"]), FORM | {"scenario": "saved", "document": ""})
        run = carried_out(Run.objects.get())
        page = client.get(reverse("scenario", args=["demo", "saved"]))
        assert page.status_code == 200
        assert reverse("run", args=["demo", run.number]) in page.content.decode()

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"a0-last": "0"}, "a0-last"),
            ({"a0-step": "7"}, "a0-step"),
            ({"a0-by": "0"}, "a0-by"),
            ({"a1-domain": "r99"}, "a1-domain"),
            ({"a1-key": "no/such"}, "a1-key"),
            ({"a1-last": "99"}, "a1-last"),
            ({"document": "steps: [{step: cordon}]"}, "document"),
            ({"document": "steps: ["}, "document"),
            ({"group": "no-slash"}, "group"),
        ],
    )
    def test_an_error_stands_at_its_field_and_nothing_typed_is_lost(
        self, client: Client, cluster: Cluster, change: dict[str, str], field: str
    ) -> None:
        sent = FORM | LOST | change
        response = client.post(reverse("batch-new", args=["demo"]), sent)
        assert response.status_code == 422
        assert not Run.objects.exists()
        text = response.content.decode()
        control = re.search(rf'<(?:input|select|textarea)[^>]*name="{field}"[^>]*>', text)
        assert control is not None and 'aria-invalid="true"' in control[0], field
        form = response.context["form"]
        for part in (form.head, *form.axes):
            for bound in part:
                assert str(bound.value()) == sent[bound.html_name]

    def test_other_fields_are_shown_for_another_kind_and_what_was_typed_stays(
        self, client: Client, cluster: Cluster
    ) -> None:
        sent = FORM | {"a0-axis": "range", "action": "shape", "a0-last": "77", "document": "half: written ["}
        response = client.post(reverse("batch-new", args=["demo"]), sent)
        form = response.context["form"]
        assert response.status_code == 200
        assert set(form.axes[0].fields) == {"axis", "path", "first", "last", "by"}
        assert form.axes[0]["last"].value() == "77"
        assert form.head["document"].value() == "half: written ["
        assert "errorlist" not in response.content.decode()

    def test_values_are_read_as_numbers_and_words(self, client: Client, cluster: Cluster) -> None:
        values = {"a0-axis": "values", "a0-path": "steps[0].queue", "a0-values": "a\n\n12\ntrue"}
        client.post(reverse("batch-new", args=["demo"]), FORM | values)
        assert Run.objects.get().document["axes"][0]["values"] == ["a", 12, True]


class TestResultOfABatch:
    @pytest.fixture
    def run(self, cluster: Cluster) -> Run:
        scenario = read_yaml(SCENARIO).model_dump(mode="json")
        found = [
            {"axis": "members", "first": 1, "last": 3},
            {"axis": "lost_nodes", "key": RACK, "domain": "r1", "last": 1},
        ]
        document = axes.read({"scenario": scenario, "axes": found})
        return carried_out(batches.request(cluster=cluster, document=document, actor="ada"))

    @pytest.mark.parametrize("measure", batch_words.MEASURES)
    @pytest.mark.parametrize("language", ["en", "ja"])
    def test_every_cell_of_the_map_says_its_point(
        self, client: Client, run: Run, measure: str, language: str
    ) -> None:
        address = reverse("run", args=["demo", run.number]) + f"?show={measure}"
        response = client.get(address, headers={"accept-language": language})
        text = response.content.decode()
        labels = re.findall(
            r'<td class="h-\w+"><a href="[^"]+"(?: tabindex="-1")? aria-label="([^"]+)">', text
        )
        assert len(labels) == len(set(labels)) == 6
        assert text.count('tabindex="-1" aria-label') == 5, "one of them is a tab stop"

    def test_a_strip_for_one_axis(self, client: Client, cluster: Cluster) -> None:
        scenario = read_yaml(SCENARIO).model_dump(mode="json")
        document = axes.read({"scenario": scenario, "axes": [{"axis": "members", "first": 1, "last": 3}]})
        run = carried_out(batches.request(cluster=cluster, document=document, actor="ada"))
        response = client.get(reverse("run", args=["demo", run.number]))
        assert len(response.context["grid"]) == 1 and len(response.context["grid"][0]["cells"]) == 3

    def test_a_point_is_a_scenario(self, client: Client, run: Run) -> None:
        response = client.get(reverse("run-point", args=["demo", run.number, 5]))
        document = read_yaml(response.context["yaml"])
        assert [step.step for step in document.steps] == ["lose_nodes", "submit"]
        assert document.at == str(run.base_seq)
        assert client.get(reverse("run-point", args=["demo", run.number, 6])).status_code == 404

    def test_the_table_as_csv(self, client: Client, run: Run) -> None:
        response = client.get(reverse("run-table", args=["demo", run.number]))
        assert response.content.decode("utf-8-sig").count("\r\n") == 7

    def test_while_it_runs_it_says_what_there_is(self, client: Client, run: Run) -> None:
        Run.objects.filter(pk=run.pk).update(status="running", result=None, ended_at=None)
        response = client.get(reverse("run", args=["demo", run.number]))
        assert response.status_code == 200 and "heat" not in response.content.decode().split("<main")[1]


class TestMatrix:
    def test_the_form_begins_with_a_gang_that_the_cluster_can_hold(
        self, client: Client, cluster: Cluster
    ) -> None:
        response = client.get(reverse("matrix", args=["demo"]))
        form = response.context["form"]
        assert form.gang["topology_key"].value() == RACK
        data = {bound.html_name: bound.value() or "" for part in (form.gang, form.model) for bound in part}
        assert client.post(reverse("matrix", args=["demo"]), data).status_code == 302
        assert Run.objects.get().kind == "matrix"

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            ({"members": "1"}, "members"),
            ({"topology_key": "no/such"}, "topology_key"),
            ({"cpu": "lots"}, "cpu"),
            ({"node_selector": "x"}, "node_selector"),
            ({"m-between_bandwidth_mb_s": "0"}, "m-between_bandwidth_mb_s"),
            ({"at": "tomorrow"}, "at"),
        ],
    )
    def test_an_error_stands_at_its_field_and_nothing_typed_is_lost(
        self, client: Client, cluster: Cluster, change: dict[str, str], field: str
    ) -> None:
        form = client.get(reverse("matrix", args=["demo"])).context["form"]
        data = {bound.html_name: bound.value() or "" for part in (form.gang, form.model) for bound in part}
        response = client.post(reverse("matrix", args=["demo"]), data | change)
        assert response.status_code == 422 and not Run.objects.exists()
        control = re.search(
            rf'<(?:input|select|textarea)[^>]*name="{field}"[^>]*>', response.content.decode()
        )
        assert control is not None and 'aria-invalid="true"' in control[0]
        assert change[field] in control[0] or change[field] in response.content.decode()

    def test_it_takes_the_right_to_run(self, signed_in: SignedIn, cluster: Cluster) -> None:
        viewer = signed_in("view_cluster")
        assert "matrix-form" not in viewer.get(reverse("matrix", args=["demo"])).content.decode()
        assert viewer.post(reverse("matrix", args=["demo"]), {}).status_code == 403

    @pytest.mark.parametrize("language", ["en", "ja"])
    def test_every_row_is_explained(self, client: Client, cluster: Cluster, language: str) -> None:
        document = matrix.read({"topology_key": RACK, "members": 2, "template": {"requests": {GPU: "8"}}})
        run = carried_out(matrix.request(cluster=cluster, document=document, actor="ada"))
        sent = {"condition": "tight", "mode": "tas", "steps_thousandths": 700, "crossing_bytes": 0}
        measurements.send(
            cluster=cluster,
            number=run.number,
            source="job 17",
            measured_at=datetime(2026, 1, 1, tzinfo=UTC),
            actor="ada",
            **sent,  # type: ignore[arg-type]
        )
        response = client.get(
            reverse("run", args=["demo", run.number]), headers={"accept-language": language}
        )
        text = shown(response)
        for row in response.context["rows"]:
            assert str(row["name"]) and str(row["made"])
            for cell in row["cells"]:
                assert cell["told"] and all(cell["told"]) and str(cell["expected"])
        assert "job 17" in text and "(+4.9 %)" in text
        assert client.get(reverse("run-point", args=["demo", run.number, 0])).status_code == 200


class TestWords:
    def test_every_code_has_a_word(self) -> None:
        assert set(matrix_words.CONDITIONS) == set(matrix_words.MADE) == set(conditions.CONDITIONS)
        assert set(matrix_words.MODES) == set(conditions.MODES)
        assert {each.why for each in matrix.EXPECTED.values()} == set(matrix_words.EXPECTED)
        assert set(batch_words.AXES) == {kind.model_fields["axis"].default for kind in axes.AXES}
        assert set(batch_words.VERDICTS) == set(batch_words.SIGNS)

    def test_every_reason_why_a_condition_cannot_be_made_has_a_sentence(self) -> None:
        import inspect

        raised = set(re.findall(r'Unmade\(\s*"(\w+)"', inspect.getsource(conditions)))
        assert raised | {"unsettled", "refused"} == set(matrix_words._UNMADE)
