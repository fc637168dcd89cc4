"""JSON with places: every value is found where it stands, whatever the text is like."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.environment import Location

TEXT = """{
  "packages": [
    {"name": "torch", "version": "2.5.1"},
    {"version":"4.46.0", "na\\u006de" : "transformers"}, []
  ],
  "name": {"name": -1.5e3}
}
"""


def at(line: int, column: int) -> Location:
    return Location(path="a.json", line=line, column=column)


def test_values_and_keys() -> None:
    places = Places(TEXT, "a.json")
    assert places.of("packages") == at(2, 15)
    assert places.of("packages", 0, "version") == at(3, 34)
    assert places.of("packages", 1) == at(4, 5)
    assert places.of("packages", 1, "version") == at(4, 16)
    assert places.of("packages", 1, "name") == at(4, 40)
    assert places.of("packages", 2) == at(4, 57)
    assert places.key("packages", 1, "name") == at(4, 26)
    assert places.key("packages", 0) == at(3, 5)
    assert places.key("name", "name") == at(6, 12)
    assert places.of("name", "name") == at(6, 20)


def test_what_is_not_there_is_where_it_would_be() -> None:
    places = Places(TEXT, "a.json")
    assert places.of() == at(1, 1)
    assert places.of("other") == at(1, 1)
    assert places.of("packages", 0, "marker") == at(3, 5)
    assert places.of("packages", 9) == at(2, 15)
    assert places.of("packages", -1) == at(2, 15)
    assert places.of("packages", "name") == at(2, 15)
    assert places.of("name", "name", "name") == at(6, 20)


def test_of_duplicate_keys_the_last_counts() -> None:
    text = '{"a": {"x": 1}, "a": {"y": 2}}'
    assert parse(text, "a.json") == {"a": {"y": 2}}
    places = Places(text, "a.json")
    assert places.of("a", "y") == at(1, 28)
    assert places.of("a", "x") == at(1, 22)


def test_a_scalar() -> None:
    assert parse(' "a" ', "a.json") == "a"
    assert Places(' "a" ', "a.json").of("a") == at(1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`a.json:1`: not valid JSON: Expecting value"),
        ('{"a": 1,\n', "`a.json:2`: not valid JSON: Expecting property name enclosed in double quotes"),
        ('{"a": 1,\n"b": "x', "`a.json:2`: not valid JSON: Unterminated string starting at"),
        ('["a"]\nb', "`a.json:2`: not valid JSON: Extra data"),
        ("[" * 100_000, "`a.json`: nested too deeply"),
        ('{"a":' * 100_000, "`a.json`: nested too deeply"),
    ],
)
def test_not_json(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text, "a.json")
    # The wording is Python's and changes a little from version to version; the rest is ours.
    assert str(caught.value)[:40] == message[:40]


def test_numbers_that_nobody_means() -> None:
    assert parse("[" + "9" * 10_000 + ", 12]", "a.json") == ["9" * 10_000, 12]


def test_half_characters_cannot_get_in() -> None:
    text = '{"a\\ud800": "\\ud83d\\ude00", "\\\\ud800": "\\udc00\\ud83d"}'
    content = parse(text, "a.json")
    assert content == {"a\ufffd": "\U0001f600", "\\ud800": "\ufffd\ufffd"}
    assert Places(text, "a.json").of("\\ud800") == at(1, 40)


def test_the_pass_does_not_recurse() -> None:
    # Whatever depth the parser of some Python accepts, the pass gets along with it.
    text = '{"a":' * 50_000 + "1" + "}" * 50_000
    assert Places(text, "a.json").of(*["a"] * 50_000) == at(1, 250_001)
    for broken in ("[" * 50_000, "]" * 10, '{"a', '{"a":', "[1,", '"\\', "{]}[", ":", ","):
        Places(broken, "a.json").of("a", 0)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_values, st.sampled_from([None, 0, 1]), st.booleans())
def test_each_value_can_be_read_at_its_place(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    places = Places(text, "a.json")
    lines = text.split("\n")
    todo: list[tuple[tuple[str | int, ...], object]] = [((), value)]
    while todo:
        keys, expected = todo.pop()
        place = places.of(*keys)
        assert place.line is not None
        assert place.column is not None
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        assert json.JSONDecoder().raw_decode(rest)[0] == expected
        if isinstance(expected, dict):
            todo += [((*keys, key), inner) for key, inner in expected.items()]
        elif isinstance(expected, list):
            todo += [((*keys, index), inner) for index, inner in enumerate(expected)]
