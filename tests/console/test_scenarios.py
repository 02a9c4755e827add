"""Scenarios in the console: the list, the form with its cards and its YAML tab, and what it refuses."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from scheduling.console import scenario_offers
from scheduling.console.forms.scenario import ScenarioForm, typed_document
from scheduling.console.forms.scenario_steps import MODELS, look
from scheduling.console.forms.scenario_steps import fields as fields_of
from scheduling.models import Cluster, Event, Run, Scenario
from scheduling.scenarios import documents, templates, workbench
from scheduling.scenarios.fork import Fork
from scheduling.services.state import state_of
from tests.console.support import RACK, text
from tests.console.test_submit import at_field, value_of
from tests.console.test_submit import form as submit_form

NEW = "/c/demo/scenarios/new"


@pytest.fixture
def author(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "run_scenario")


def card(index: int, kind: str, **fields: str) -> dict[str, str]:
    return {f"s{index}-step": kind} | {f"s{index}-{name}": value for name, value in fields.items()}


def form(action: str, *cards: dict[str, str], **changes: Any) -> dict[str, Any]:
    fields = {
        "action": action,
        "tab": "form",
        "name": "what-if",
        "about": "",
        "at": "",
        "profile": "exact",
        "revision": "0",
        "steps": str(len(cards)),
    }
    for one in cards:
        fields |= one
    return fields | changes


CORDON = card(0, "cordon", node="n11", key="", domain="")
CLOCK = card(1, "advance_clock", seconds="60")


def saved(cluster: Cluster, name: str = "what-if", **fields: Any) -> Scenario:
    document = documents.read({"name": name, **fields})
    return workbench.save(cluster=cluster, document=document, actor="ops")


def test_the_list_tells_what_each_scenario_does_and_offers_some_to_begin_with(
    author: Client, cluster: Cluster
) -> None:
    assert "No scenario is saved yet." in text(author.get("/c/demo/scenarios/"))
    saved(cluster, steps=[{"step": "cordon", "node": "n11"}, {"step": "advance_clock", "seconds": 90}])

    page = text(author.get("/c/demo/scenarios/"))

    assert "what-if Cordon node n11. The clock goes forward: 1 min 30 s. not run yet ops" in page
    assert "Lose the fullest domain All nodes of the domain in which most GPUs are in use are gone." in page


def test_viewers_see_scenarios_and_are_offered_nothing_they_may_not_do(
    viewer: Client, cluster: Cluster
) -> None:
    saved(cluster, steps=[{"step": "cordon", "node": "n11"}])

    for path in ("/c/demo/scenarios/", "/c/demo/scenarios/what-if"):
        page = viewer.get(path)
        assert page.status_code == 200
        assert "/new" not in page.content.decode()
        assert "/edit" not in page.content.decode()
    assert "Cordon node n11." in text(viewer.get("/c/demo/scenarios/what-if"))


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        ("lose-fullest", {"s0-step": "lose_nodes", "s0-key": RACK, "s0-domain": "r1"}),
        ("one-node-short", {"s0-step": "cordon", "s0-node": "n21", "s1-step": "submit", "s1-t0-count": "2"}),
        ("other-gpu", {"s0-step": "change_gpu", "s0-domain": "r1", "s0-product": "another-gpu"}),
        ("clock-forward", {"s0-step": "advance_clock", "s0-seconds": "3600"}),
    ],
)
def test_a_template_is_a_scenario_of_this_cluster_that_can_be_done(
    template: str, fields: dict[str, str], author: Client, cluster: Cluster
) -> None:
    page = author.get(f"{NEW}?template={template}")

    assert {name: value_of(page, name) for name in fields} == fields
    assert "errorlist" not in page.content.decode()
    steps = templates.template(template, state_of(cluster), RACK)
    told = Fork(state_of(cluster), 0)
    for step in documents.read(steps).steps:
        told.play(step)


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_step_has_a_card_with_a_label_for_each_of_its_fields(
    kind: str, author: Client, cluster: Cluster
) -> None:
    page = author.post(NEW, form("add-step", CORDON, kind=kind))

    assert page.status_code == 200
    assert value_of(page, "s1-step") == kind
    assert value_of(page, "s0-node") == "n11"
    for name in fields_of(kind):
        assert f'<label for="id_s1-{name}">' in page.content.decode()
        assert str(look(kind, name).label) != name or name in ("minCount",)
    assert "errorlist" not in page.content.decode()


def test_steps_are_added_moved_duplicated_and_removed_without_losing_a_letter(
    author: Client, cluster: Cluster
) -> None:
    typed = {"name": "Not Yet A Name", "about": "why", "s0-node": "no such node"}

    page = author.post(NEW, form("down:0", CORDON, CLOCK, **typed))
    assert [value_of(page, f"s{index}-step") for index in (0, 1)] == ["advance_clock", "cordon"]
    assert value_of(page, "s0-seconds") == "60"
    assert value_of(page, "s1-node") == "no such node"
    assert value_of(page, "name") == "Not Yet A Name"

    page = author.post(NEW, form("copy:0", CORDON, CLOCK, **typed))
    assert value_of(page, "steps") == "3"
    assert [value_of(page, f"s{index}-node") for index in (0, 1)] == ["no such node"] * 2
    assert value_of(page, "s2-seconds") == "60"

    page = author.post(NEW, form("drop:0", CORDON, CLOCK, **typed))
    assert value_of(page, "steps") == "1"
    assert value_of(page, "s0-seconds") == "60"
    assert Scenario.objects.count() == 0


def test_a_step_at_the_edge_stays_where_it_is(author: Client, cluster: Cluster) -> None:
    for action in ("up:0", "down:1", "up:7", "copy:x", "nothing"):
        page = author.post(NEW, form(action, CORDON, CLOCK))
        assert [value_of(page, f"s{index}-step") for index in (0, 1)] == ["cordon", "advance_clock"]


SUBMIT = card(
    0,
    "submit",
    namespace="ml",
    name="job",
    policy="gang",
    min_count="3",
    topology_key=RACK,
    priority="5",
    queue="",
    templates="2",
) | {
    "s0-t0-role": "leader",
    "s0-t0-count": "1",
    "s0-t0-cpu": "4",
    "s0-t0-resources": "1",
    "s0-t0-r0-resource": "rdma/hca",
    "s0-t0-r0-amount": "1",
    "s0-t1-role": "worker",
    "s0-t1-count": "2",
    "s0-t1-gpu": "8",
    "s0-t1-node_selector": "a=b",
    "s0-t1-tolerations": "reserved=eval:NoSchedule\n"
    '{"key": "x", "operator": "Exists", "tolerationSeconds": 9}',
    "s0-t1-spread": "?kubernetes.io/hostname=1",
    "s0-t1-resources": "0",
}


def test_a_submission_has_kinds_of_members_as_the_submit_form_has(author: Client, cluster: Cluster) -> None:
    page = author.post(NEW, form("s0:add", SUBMIT))
    assert value_of(page, "s0-templates") == "3"
    page = author.post(NEW, form("s0:remove:0", SUBMIT))
    assert value_of(page, "s0-t0-role") == "worker"
    page = author.post(NEW, form("s0:remove-resource:0:0", SUBMIT))
    assert value_of(page, "s0-t0-resources") == "0"

    author.post(NEW, form("save", SUBMIT))

    step = Scenario.objects.get().document["steps"][0]
    assert step["templates"] == [
        {"role": "leader", "requests": {"cpu": "4", "rdma/hca": "1"}},
        {
            "role": "worker",
            "count": 2,
            "requests": {"nvidia.com/gpu": "8"},
            "node_selector": {"a": "b"},
            "tolerations": [
                {"key": "reserved", "operator": "Equal", "value": "eval", "effect": "NoSchedule"},
                {"key": "x", "operator": "Exists", "tolerationSeconds": 9},
            ],
            "spread": [
                {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
            ],
        },
    ]


def test_the_form_and_the_yaml_tab_lead_to_each_other_and_lose_nothing(
    author: Client, cluster: Cluster
) -> None:
    half = card(1, "set_label", node="", key="", domain="", label="", value="")
    written = author.post(NEW, form("yaml", SUBMIT, half, name="half-done", at="3"))
    assert written.status_code == 200
    yaml = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", written.content.decode(), re.S)[1])
    assert yaml.startswith('name: half-done\nat: "3"\nsteps:\n- step: submit\n')

    back = author.post(NEW, {"action": "form", "tab": "yaml", "text": yaml, "revision": "0"})

    for name, value in SUBMIT.items():
        if name not in ("s0-t1-node_selector", "s0-t1-tolerations", "s0-t1-spread", "s0-policy"):
            assert value_of(back, name) == value, name
    body = html.unescape(back.content.decode())
    for area in ("s0-t1-tolerations", "s0-t1-spread", "s0-t1-node_selector"):
        assert f">\n{SUBMIT[area]}</textarea>" in body
    assert value_of(back, "s1-step") == "set_label"
    assert back.status_code == 422  # and it says what is missing, at its field
    assert at_field(back, "s1-label") == "a value is required."


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("steps: [", "line"),
        ("- a\n- b", "one document with the steps is needed"),
        ("steps:\n- step: fly", "steps[0]"),
        ("colour: red", "colour"),
        ("steps:\n- step: cordon\n  node: [a]", "steps[0].node"),
    ],
)
def test_what_no_card_can_show_stays_in_the_yaml_tab_with_its_line_or_path(
    written: str, said: str, author: Client, cluster: Cluster
) -> None:
    page = author.post(NEW, {"action": "form", "tab": "yaml", "text": written})

    assert page.status_code == 422
    assert said in text(page)
    assert f">\n{html.escape(written)}</textarea>" in page.content.decode()


def test_yaml_is_saved_and_run_as_it_is_written(author: Client, cluster: Cluster) -> None:
    written = "name: by-hand\nsteps:\n- step: end_group\n  group: team-a/fits\n"

    page = author.post(NEW, {"action": "save-run", "tab": "yaml", "text": written})

    run = Run.objects.get()
    assert page["Location"] == f"/c/demo/runs/{run.number}"
    assert (run.scenario, run.document["name"]) == ("by-hand", "by-hand")


def test_what_the_document_refuses_stands_at_its_field(author: Client, cluster: Cluster) -> None:
    nowhere = card(2, "recreate_members", group="fits", pod="", count="0")
    page = author.post(NEW, form("save", card(0, "cordon"), CLOCK | {"s1-seconds": "x"}, nowhere, name="A B"))
    assert page.status_code == 422
    assert at_field(page, "s1-seconds") == "Enter a whole number."

    page = author.post(NEW, form("save", card(0, "cordon"), CLOCK | {"s1-seconds": "0"}, nowhere, name="A B"))

    assert page.status_code == 422
    assert "Input should be greater than or equal to 1" in at_field(page, "s1-seconds")
    assert "should match pattern" in at_field(page, "name")
    assert "pattern" in at_field(page, "s2-group")
    assert value_of(page, "s2-group") == "fits"
    assert "name either a node, or a topology key and a domain" in text(page)
    assert Scenario.objects.count() == 0


def test_a_check_plays_the_steps_and_says_which_one_the_cluster_refuses(
    author: Client, cluster: Cluster
) -> None:
    before = Event.objects.count()
    page = author.post(NEW, form("check", CORDON, CLOCK))
    assert page.status_code == 200
    assert "All steps can be done." in text(page)
    assert "Cordon node n11. 1 event" in text(page)

    page = author.post(NEW, form("check", CORDON, CLOCK, card(2, "end_group", group="team-a/gone")))

    assert page.status_code == 422
    assert "there is no open PodGroup team-a/gone" in at_field(page, "s2-group")
    assert value_of(page, "s0-node") == "n11"
    assert Event.objects.count() == before


def test_a_scenario_may_begin_in_the_past_and_nowhere_else(author: Client, cluster: Cluster) -> None:
    # Before the import of the gang there is nothing to end.
    page = author.post(NEW, form("check", card(0, "end_group", group="team-a/fits"), at="1"))
    assert "there is no open PodGroup team-a/fits" in at_field(page, "s0-group")

    page = author.post(NEW, form("check", CORDON, at="soon"))
    assert page.status_code == 422
    assert "soon" in at_field(page, "at")


def test_a_saved_scenario_is_edited_and_what_somebody_else_saved_meanwhile_is_not_lost(
    author: Client, cluster: Cluster
) -> None:
    first = saved(cluster, steps=[{"step": "cordon", "node": "n11"}])
    edit = "/c/demo/scenarios/what-if/edit"
    page = author.get(edit)
    assert value_of(page, "revision") == str(first.revision)
    theirs = saved(cluster, steps=[{"step": "cordon", "node": "n12"}])

    page = author.post(edit, form("save", CORDON, CLOCK, revision=str(first.revision)))
    assert page.status_code == 422
    assert "what-if was saved by ops" in text(page)
    assert value_of(page, "s1-seconds") == "60"
    assert Scenario.objects.get().document["steps"] == [{"step": "cordon", "node": "n12"}]

    over = {"over": value_of(page, "over"), "revision": str(first.revision)}
    assert over["over"] == str(theirs.revision)
    author.post(edit, form("save-over", CORDON, CLOCK, **over))
    assert len(Scenario.objects.get().document["steps"]) == 2


def test_saved_under_another_name_it_is_another_scenario(author: Client, cluster: Cluster) -> None:
    first = saved(cluster, steps=[{"step": "cordon", "node": "n11"}])

    author.post(
        "/c/demo/scenarios/what-if/edit", form("save", CORDON, name="b", revision=str(first.revision))
    )

    assert set(Scenario.objects.values_list("name", flat=True)) == {"what-if", "b"}


def test_a_long_list_is_cut_and_asked_for_by_what_is_typed(
    author: Client, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "new/names" not in author.get(f"{NEW}?node=n11").content.decode()
    monkeypatch.setattr(scenario_offers, "MOST", 3)

    page = author.get(f"{NEW}?node=n11").content.decode()
    found = author.get("/c/demo/scenarios/new/names/nodes?s0-node=n1&s1-node=&s2-like=n22").content.decode()

    assert 'hx-get="/c/demo/scenarios/new/names/nodes"' in page
    assert found == '<option value="n11"><option value="n12"><option value="n22">'
    assert author.get("/c/demo/scenarios/new/names/colours?q=n").content == b""


def test_a_button_of_the_wrong_tab_does_nothing(author: Client, cluster: Cluster) -> None:
    page = author.post(NEW, {"action": "yaml", "tab": "yaml", "text": "name: a\nsteps: []\n"})

    assert page.status_code == 200
    assert Scenario.objects.count() == 0


def test_the_page_leads_to_the_steps_that_have_a_problem(author: Client, cluster: Cluster) -> None:
    page = author.post(NEW, form("save", CORDON, CLOCK | {"s1-seconds": "soon"}))

    assert "Nothing was stored. Look at: 2. Advance the clock" in text(page)
    assert 'href="#step-1"' in page.content.decode()
    assert "Look at" not in text(author.post(NEW, form("check", CORDON, CLOCK)))


def test_as_many_steps_as_one_may_have_fit_into_the_form(author: Client, cluster: Cluster) -> None:
    cards = [
        card(place, "change_gpu", node="n11", key="", domain="", product="x", label="l", gpus="")
        for place in range(200)
    ]

    author.post(NEW, form("save", *cards))

    assert len(Scenario.objects.get().document["steps"]) == 200


def test_lines_end_as_in_documents_whatever_a_browser_sends(author: Client, cluster: Cluster) -> None:
    manifest = card(0, "submit_manifest", manifest="kind: PodGroup\r\nspec:\r\n  a: 1\r\n")

    page = author.post(NEW, form("yaml", manifest, about="one\r\ntwo"))
    assert "manifest: |\n    kind: PodGroup\n    spec:\n      a: 1\n" in page.content.decode()
    author.post(NEW, form("save", manifest, about="one\r\ntwo"))

    assert Scenario.objects.get().document["about"] == "one\ntwo"


def test_a_name_is_needed_to_save_and_not_to_run(author: Client, cluster: Cluster) -> None:
    page = author.post(NEW, form("save", CORDON, name=""))
    assert at_field(page, "name") == "a value is required."
    assert "new is no name for a scenario" in at_field(
        author.post(NEW, form("save", CORDON, name="new")), "name"
    )

    author.post(NEW, form("run", CORDON, name=""))

    run = Run.objects.get()
    assert run.document["steps"] == [{"step": "cordon", "node": "n11"}]
    assert run.scenario == ""


def test_the_same_form_sent_twice_saves_and_runs_once(author: Client, cluster: Cluster) -> None:
    sent = form("save-run", CORDON, command_id="one")

    assert author.post(NEW, sent)["Location"] == author.post(NEW, sent)["Location"]

    assert Run.objects.count() == 1


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("?node=n11", {"s0-step": "lose_nodes", "s0-node": "n11"}),
        (f"?key={RACK}&domain=r1", {"s0-step": "lose_nodes", "s0-key": RACK, "s0-domain": "r1"}),
        ("?at=3", {"at": "3", "steps": "0"}),
        ("?copy=what-if", {"name": "", "s0-node": "n12"}),
    ],
)
def test_other_pages_lead_to_a_form_that_is_filled_in(
    query: str, fields: dict[str, str], author: Client, cluster: Cluster
) -> None:
    saved(cluster, steps=[{"step": "cordon", "node": "n12"}])

    page = author.get(NEW + query)

    assert {name: value_of(page, name) or "" for name in fields} == fields
    assert Scenario.objects.count() == 1


@pytest.mark.parametrize("query", ["?copy=gone", "?run=99", "?run=x", "?group=team-a/no&change=1"])
def test_what_is_not_there_is_404(query: str, author: Client, cluster: Cluster) -> None:
    assert author.get(NEW + query).status_code == 404


def test_what_is_typed_into_the_submit_form_can_be_tried_first(author: Client, cluster: Cluster) -> None:
    typed = submit_form("try-first", **{"t0-node_selector": "half typed", "min_count": "x"})

    page = author.post(NEW, typed)

    assert page.status_code == 200
    assert value_of(page, "s0-step") == "submit"
    assert value_of(page, "s0-name") == "job"
    assert value_of(page, "s0-t0-gpu") == "8"
    assert "half typed</textarea>" in page.content.decode()

    page = author.post(NEW, {"action": "try-first", "text": "kind: PodGroup"})
    assert value_of(page, "s0-step") == "submit_manifest"
    assert "kind: PodGroup</textarea>" in page.content.decode()


def test_removing_a_scenario_keeps_its_runs(author: Client, cluster: Cluster) -> None:
    author.post(NEW, form("save-run", CORDON))

    author.post("/c/demo/scenarios/what-if/remove")

    assert Scenario.objects.count() == 0
    assert Run.objects.count() == 1
    assert author.get("/c/demo/scenarios/what-if").status_code == 404


_names = st.text("abcdefgh-0123456789", min_size=1, max_size=8)
_line = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=12
)
_stripped = _line.map(str.strip)
_toleration = st.fixed_dictionaries(
    {},
    optional={
        "key": _names,
        "operator": st.sampled_from(["Exists", "Equal"]),
        "value": _names,
        "effect": st.just("NoSchedule"),
    },
)
_members = st.fixed_dictionaries(
    {"count": st.integers(2, 99)},
    optional={
        "role": _names,
        "requests": st.dictionaries(
            st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "a/b"]), _names, min_size=1
        ),
        "node_selector": st.dictionaries(_names, _names, min_size=1, max_size=2),
        "tolerations": st.lists(_toleration, min_size=1, max_size=3),
        "spread": st.lists(
            st.fixed_dictionaries(
                {"topologyKey": _names, "maxSkew": st.integers(1, 9)},
                optional={
                    "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
                    "minDomains": st.integers(1, 9),
                },
            ),
            min_size=1,
            max_size=2,
        ),
    },
)
_steps = st.one_of(
    st.builds(
        lambda rows, name: {"step": "submit", "namespace": "ns", "name": name, "templates": rows},
        st.lists(_members, min_size=1, max_size=3),
        _names,
    ),
    st.builds(lambda node: {"step": "lose_nodes", "node": node}, _names),
    st.builds(
        lambda key, domain: {"step": "cordon", "key": key, "domain": domain},
        _names,
        st.one_of(st.just(""), _names),
    ),
    st.builds(
        lambda node, value: {"step": "set_label", "node": node, "label": "l", "value": value},
        _names,
        st.one_of(st.just(""), _names),
    ),
    st.builds(lambda count: {"step": "add_nodes", "count": count, "type": "t"}, st.integers(1, 5000)),
    st.builds(
        lambda gpus: {"step": "change_gpu", "node": "n", "product": "p"} | gpus,
        st.one_of(st.just({}), st.builds(lambda n: {"gpus": n}, st.integers(0, 9))),
    ),
    st.builds(lambda on: {"step": "switch_gate", "gate": "g", "enabled": on}, st.booleans()),
    st.builds(
        lambda manifest: {"step": "submit_manifest", "manifest": manifest},
        st.sampled_from(["a: 1", "  a\n\nb\n", "---\nx: |\n  y\n"]),
    ),
)


@given(st.lists(_steps, max_size=4), _stripped)
def test_every_document_comes_out_of_its_form_and_its_yaml_as_it_went_in(
    steps: list[Any], about: str
) -> None:
    document = documents.read({"name": "a", "steps": steps} | ({"about": about} if about else {}))
    value = documents.to_json(document)

    filled = ScenarioForm(typed_document(value))

    assert filled.is_valid()
    assert documents.read(filled.value()) == document
    assert documents.read_yaml(documents.to_yaml(document)) == document


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40))
def test_a_manifest_comes_out_of_yaml_to_the_letter(manifest: str) -> None:
    document = documents.read({"steps": [{"step": "submit_manifest", "manifest": f"a\n{manifest}"}]})

    assert documents.read_yaml(documents.to_yaml(document)) == document
