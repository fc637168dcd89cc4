"""Places in TOML: every value is found where it stands, in every way to write it."""

from __future__ import annotations

import json

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.model.environment import Location

TEXT = """\
# a comment with a [header] and a = "value"
top = "level"
dotted.key."with a.dot" = 'literal'
strings = [  # "not this"
    "torch==2.5.1", "torch==2.5.1",  # "nor this"
    \"\"\"
several
[lines]""\"\"\",
    '''quote'd''', "esc\\"aped]",
]

[project]
dependencies = ["torch==2.5.1"]
inline = {version = "1.0", extras = ["a", {b = [[], ["c"]]}], nested.table = 1979-05-27 07:32:00}  # end

[[package]]
name = "a"

[package.source]
type = "git"

[[package]]
name = "b"
  [[ package . wheels ]]
  name = "w"
"""


def at(line: int, column: int) -> Location:
    return Location(path="a.toml", line=line, column=column)


def test_values_and_keys() -> None:
    places = TomlPlaces(TEXT, "a.toml")
    assert places.of("top") == at(2, 7)
    assert places.key("top") == at(2, 1)
    assert places.of("dotted", "key", "with a.dot") == at(3, 27)
    assert places.key("dotted", "key", "with a.dot") == at(3, 12)
    assert [places.of("strings", index) for index in range(6)] == [
        at(5, 5),
        at(5, 21),
        at(6, 5),
        at(9, 5),
        at(9, 20),
        at(4, 11),  # there is no sixth: the array itself
    ]
    assert places.of("project", "dependencies", 0) == at(13, 17)
    assert places.of("project", "inline", "extras", 1, "b", 1, 0) == at(14, 54)
    assert places.of("project", "inline", "nested", "table") == at(14, 78)
    assert places.of("package", 0, "source", "type") == at(20, 8)
    assert places.of("package", 1) == at(22, 1)
    assert places.of("package", 1, "wheels", 0, "name") == at(25, 10)
    assert places.key("project") == at(12, 2)


@pytest.mark.parametrize("text", ["", "=", "a", "a =", "a = [", "a = {b", '"', "[", "[a", "a = '", "[[a]]\n]", "a = ]"])
def test_what_is_no_toml_does_no_harm(text: str) -> None:
    assert TomlPlaces(text, "a.toml").of("missing").path == "a.toml"


def test_the_pass_does_not_recurse() -> None:
    depth = 20_000
    assert TomlPlaces("a = " + "[" * depth + "1" + "]" * depth, "a.toml").of("a", *[0] * depth) == at(1, depth + 5)
    dotted = ".".join(["a"] * depth)
    assert TomlPlaces(f"{dotted} = 1", "a.toml").of(*["a"] * depth) == at(1, 2 * depth + 3)


_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x7f", min_codepoint=32))
_values = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=12,
)


def _toml(value: object, *, spread: bool) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)} = {_toml(one, spread=False)}" for key, one in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        ends = (" # [comment\n  ", ",\n") if spread else ("", ",")
        return "[" + ends[0] + ends[1].join(_toml(one, spread=spread) for one in value) + "]"
    if isinstance(value, str) and spread and "'''" not in value and not value.endswith("'"):
        return f"'''{value}'''"
    return json.dumps(value, ensure_ascii=False)


@given(st.dictionaries(_texts, _values, max_size=4), st.booleans(), st.booleans())
def test_each_value_can_be_read_at_its_place(content: dict[str, object], spread: bool, tables: bool) -> None:
    text = ""
    for key, value in content.items():
        name = json.dumps(key, ensure_ascii=False)
        if tables and isinstance(value, dict):
            lines = (f"{json.dumps(k, ensure_ascii=False)} = {_toml(v, spread=spread)}\n" for k, v in value.items())
            text += f"[{name}]\n" + "".join(lines)
        else:
            text = f"{name} = {_toml(value, spread=spread)} # end\n" + text
    assert tomli.loads(text) == content
    places = TomlPlaces(text, "a.toml")
    lines_of_text = text.split("\n")
    todo: list[tuple[tuple[str | int, ...], object]] = [((key,), value) for key, value in content.items()]
    while todo:
        keys, expected = todo.pop()
        place = places.of(*keys)
        assert place.line is not None
        assert place.column is not None
        rest = "\n".join([lines_of_text[place.line - 1][place.column - 1 :], *lines_of_text[place.line :]])
        if not isinstance(expected, dict):
            assert rest.startswith(("[", _toml(expected, spread=False), _toml(expected, spread=True)))
        if isinstance(expected, dict):
            todo += [((*keys, key), inner) for key, inner in expected.items()]
        elif isinstance(expected, list):
            todo += [((*keys, index), inner) for index, inner in enumerate(expected)]
