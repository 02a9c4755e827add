"""Every document is read on its own; a bad one is one message with its number and line."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.kube import documents
from scheduling.kube.documents import read_documents


def bodies(data):
    found = read_documents(data)
    assert not found.problems
    return [item.body for item in found.objects]


def problem(data):
    [found] = read_documents(data).problems
    return found


NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}


def test_a_list_without_item_kinds_gives_its_items_their_kind():
    text = json.dumps({"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]})
    assert bodies(text) == [{"metadata": {"name": "a"}, "kind": "Node", "apiVersion": "v1"}]


def test_a_list_in_a_list_is_opened_and_each_item_knows_its_place():
    text = "kind: List\napiVersion: v1\nitems:\n- kind: List\n  items:\n  - kind: Node\n  - kind: Pod\n"
    places = [(item.place.line, item.place.item) for item in read_documents(text).objects]
    assert places == [(6, "items[0].items[0]"), (7, "items[0].items[1]")]


def test_json_documents_may_follow_each_other():
    assert bodies(json.dumps(NODE) + "\n" + json.dumps(NODE) + json.dumps(NODE)) == [NODE] * 3


def test_json_and_yaml_may_be_mixed_between_separators():
    assert (
        bodies(f"{json.dumps(NODE)}\n---\nkind: Node\napiVersion: v1\nmetadata: {{name: a}}\n") == [NODE] * 2
    )


def test_flow_style_yaml_is_not_mistaken_for_json():
    assert bodies("{kind: Node, apiVersion: v1, metadata: {name: a}}") == [NODE]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(encoding, newline):
    text = newline.join(["kind: Node", "apiVersion: v1", "metadata:", "  name: a", "---", "kind: Pod", ""])
    assert bodies(text.encode(encoding)) == [NODE, {"kind": "Pod"}]


def test_gzip_is_unpacked_member_by_member():
    packed = gzip.compress(b'{"kind": "A"}') + gzip.compress(b'{"kind": "B"}')
    assert bodies(packed) == [{"kind": "A"}, {"kind": "B"}]


def test_gzip_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(documents, "MAX_UNPACKED", 1000)
    assert "more than 1000 bytes" in problem(gzip.compress(b" " * 100_000)).message


@pytest.mark.parametrize(
    ("data", "words"), [(gzip.compress(b"a: b", mtime=0)[:-4], "too early"), (b"\x1f\x8bxxxxxxxx", "damaged")]
)
def test_damaged_gzip_is_refused(data, words):
    assert words in problem(data).message


@pytest.mark.parametrize(
    ("bad", "line", "words"),
    [
        ("metadata:\n\tname: tab", 5, "cannot start any token"),
        ("spec:\n  ...\n  more: x", 6, "mapping values are not allowed"),
        ("a: 1\nb: 2\na: 3", 6, 'the key "a" is given twice'),
        ("? {a: b}\n: c", 4, "a key must be plain text"),
        ("{a: b}: c", 4, "not readable as JSON"),
        ("a: !!python/object:os.system x", 4, "tag"),
        ("a: !secret x", 4, "tag"),
        ("a: *nothing", 4, "nothing"),
        ("a: &a [*a]", 4, "stands for nothing before it"),
        ("- a\n- b", 4, "must be one object, not a list"),
        ("just words", 4, 'must be one object, not "just words"'),
        ('{"a": 1, "a": 2}', 4, 'the key "a" is given twice'),
        ('{"a":\n 1, ]', 5, "not readable as JSON"),
        ('{"a": ' + "9" * 5000 + "}", 4, "not readable as JSON"),
        ("kind: List\nitems: 3", 4, "items must be a list"),
        ("a: \x07", 4, "control characters"),
    ],
)
def test_a_bad_document_is_one_message_with_number_and_line_and_the_others_are_read(bad, line, words):
    found = read_documents(f"kind: First\n# comment\n---\n{bad}\n---\nkind: Third\n")
    assert [item.body for item in found.objects] == [{"kind": "First"}, {"kind": "Third"}]
    [message] = found.problems
    assert (message.place.document, message.place.line) == (2, line)
    assert words in message.message
    assert found.objects[1].place.document == 3


def test_aliases_that_multiply_are_stopped():
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "aliases stand for more than" in problem("\n".join(lines)).message


def test_plain_aliases_and_merge_keys_are_read():
    [body] = bodies("base: &b {x: 1, y: 2}\nmerged: {<<: *b, y: 3}\nsame: *b\n'<<': kept\n")
    assert body["merged"] == {"x": 1, "y": 3}
    assert body["same"] == {"x": 1, "y": 2}
    assert body["<<"] == "kept"
    [body] = bodies("a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n")
    assert body["c"] == {"x": 1, "z": 3}
    assert "<< merges mappings only" in problem("a:\n  <<:\n  b: 1\n").message


@pytest.mark.parametrize("text", ["[" * 5000, "{a: " * 5000, "- " * 5000, '{"a":' * 100_000])
def test_deep_nesting_is_one_message(text):
    assert problem(text).message


def test_times_and_dates_stay_the_text_they_were():
    [body] = bodies("a: 2017-11-02T14:00:08Z\nb: 2025-11-01\nc: 12:30\nd: !!timestamp 2001-01-01\n")
    assert body == {"a": "2017-11-02T14:00:08Z", "b": "2025-11-01", "c": "12:30", "d": "2001-01-01"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True),
        ("No", False),
        ("off", False),
        ("~", None),
        ("", None),
        ("07", 7),
        ("08", 8.0),
        ("041", 33),
        ("0o17", 15),
        ("0x1f", 31),
        ("0b11", 3),
        ("1_000", 1000),
        ("6214e9", 6214e9),
        ("0e4a51", "0e4a51"),
        ("1.10", 1.1),
        ("-5", -5),
        ("+5", 5),
        ("1.2.3", "1.2.3"),
        ("0" * 32, 0),
        ("1e400", "1e400"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("'08'", "08"),
        ('"y"', "y"),
    ],
)
def test_unquoted_scalars_are_what_kubectl_makes_of_them(text, value):
    [body] = bodies(f"a: {text}\n")
    assert body["a"] == value
    assert type(body["a"]) is type(value)


def test_a_list_that_says_more_follows_is_known_to_be_cut():
    text = json.dumps({"kind": "PodList", "metadata": {"continue": "abc"}, "items": []})
    assert len(read_documents(text).cut) == 1


def test_directives_belong_to_the_document_after_them():
    assert bodies("%YAML 1.1\n---\nkind: A\n---\n# nothing\n---\nkind: B\n") == [{"kind": "A"}, {"kind": "B"}]


def test_text_that_is_not_utf8_is_refused_with_its_line():
    found = problem(b"a: 1\nb: \xff\n")
    assert found.place.line == 2 and "UTF-8" in found.message


JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=15,
)


@given(
    st.dictionaries(
        st.text(max_size=5).filter(lambda key: key not in ("kind", "items")), JSON_LIKE, max_size=4
    )
)
def test_json_text_is_read_as_python_reads_it(value):
    assert bodies(json.dumps(value)) == [value]
