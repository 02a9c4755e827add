"""A roll over packed objects is a dict of them, in every way that can be seen."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.packed import Names
from scheduling.engine.roll import Made, Objects, Roll, settled

KEYS = tuple("abcdefg")
Step = tuple[str, str]


class Letters(Made[str, str]):
    """Packs keys; each object says when it was made."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__()
        self.names = Names.of(keys)
        self.made: list[str] = []

    def every(self) -> list[str]:
        return list(self.names)

    def count(self) -> int:
        return len(self.names)

    def find(self, key: str) -> int | None:
        return self.names.find(key)

    def make(self, key: str, row: int) -> str:
        self.made.append(key)
        return f"{key}{row}"


def seen(table: Any) -> list[Any]:
    return [
        list(table.items()),
        len(table),
        list(table),
        [(key in table, table.get(key), table.get(key, "none")) for key in KEYS],
    ]


def change(table: Any, step: Step, number: int) -> Any:
    what, key = step
    if what == "set":
        table[key] = f"new {number}"
    elif what == "pop":
        return table.pop(key, None)
    elif what == "again":
        table[key] = f"again {number} {table.pop(key, None)}"
    return None


steps = st.lists(st.tuples(st.sampled_from(["set", "pop", "again", "ask", "copy"]), st.sampled_from(KEYS)))


@given(packed=st.lists(st.sampled_from(KEYS), unique=True), told=steps)
def test_a_roll_is_what_a_dict_would_be(packed: list[str], told: list[Step]) -> None:
    roll: Objects[str, str] = Roll(Letters(packed))
    plain: dict[str, str] = {key: f"{key}{row}" for row, key in enumerate(packed)}
    origins: list[tuple[Objects[str, str], dict[str, str]]] = []
    for number, step in enumerate(told):
        if step[0] == "copy":
            origins.append((roll, plain))
            roll, plain = settled(roll).copy(), plain.copy()
        elif step[0] == "ask":
            assert roll.get(step[1]) == plain.get(step[1])
        assert change(roll, step, number) == change(plain, step, number)
    for found, expected in (*origins, (roll, plain)):
        assert seen(found) == seen(expected)
        assert found == expected


def test_an_object_is_made_when_it_is_asked_for_and_once_for_all_copies() -> None:
    letters = Letters(["a", "b", "c"])
    roll = Roll(letters)
    other = roll.copy()
    assert "a" in roll and "x" not in roll and len(roll) == 3 and letters.made == []
    assert (roll["b"], other["b"], other.get("b")) == ("b1", "b1", "b1")
    assert letters.made == ["b"]


def test_a_roll_that_was_mostly_changed_becomes_a_dict() -> None:
    roll = Roll(Letters(["a", "b", "c", "d"]))
    roll["a"] = "x"
    del roll["b"]
    assert settled(roll) is roll
    roll["e"] = "y"
    assert settled(roll) == {"a": "x", "c": "c2", "d": "d3", "e": "y"}
    assert isinstance(settled(roll), dict)


@given(st.lists(st.text(max_size=5)), st.lists(st.text(max_size=5)))
def test_names_are_found_and_read_one_by_one(names: list[str], others: list[str]) -> None:
    packed = Names.of(names)
    assert [packed[row] for row in range(len(packed))] == names
    for name in (*names, *others) * 2:  # again: by then there is a dict of them
        row = packed.find(name)
        assert (name in names) if row is not None else (name not in names)
        assert row is None or names[row] == name
    assert (list(packed), len(packed)) == (names, len(names))
