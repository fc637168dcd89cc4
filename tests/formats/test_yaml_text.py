"""YAML as nodes: what a hostile file cannot do, and where things stand."""

from __future__ import annotations

import time

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.yaml_composer import MAX_DEPTH
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.formats.yaml_text import parse, parse_mapping


def plain(node: Node) -> object:
    """The node as Python's own values, with text as written."""
    if isinstance(node, Scalar):
        return node.text
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key: plain(value) for key, value in node.entries.items()}


def one(text: str) -> Node:
    documents = parse(text, "a.yml")
    assert len(documents) == 1
    return documents[0]


def value(text: str) -> object:
    node = one(text)
    assert isinstance(node, Scalar)
    return node.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2e-5", 2e-5),
        ("1e-5", 1e-5),
        ("5.0e-5", 5e-5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1_000", 1000),
        ("-3", -3),
        ("1.10", 1.1),
        ("'1.10'", "1.10"),
        ("yes", True),
        ("'no'", "no"),
        ("off", False),
        ("~", None),
        ("null", None),
        ("2.5.1", "2.5.1"),
        ("1e", "1e"),
        ("auto", "auto"),
        ("9" * 5000, "9" * 5000),
        ("2024-01-01", "2024-01-01"),
    ],
)
def test_values(text: str, expected: object) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


def test_a_version_stays_as_it_is_written() -> None:
    assert plain(one("a: 1.10\nb: 1.0\nc: 0x10")) == {"a": "1.10", "b": "1.0", "c": "0x10"}


def test_places() -> None:
    top = parse_mapping("# a comment\na:\n  - b: 1\n  - 'c=2'\n  - |\n    d\n", "a.yml")
    sequence = top.entries["a"]
    assert isinstance(sequence, Sequence)
    assert [(item.line, item.column) for item in sequence.items] == [(3, 5), (4, 5), (5, 5)]
    assert (top.keys["a"].line, top.keys["a"].column) == (2, 1)
    quoted, block = sequence.items[1], sequence.items[2]
    assert isinstance(quoted, Scalar)
    assert isinstance(block, Scalar)
    assert quoted.column_of(2) == 8
    assert block.column_of(2) == 5
    assert Scalar("c=2", True, 1, 5).column_of(2) == 7


def test_the_last_of_duplicate_keys_counts_and_all_others_are_told() -> None:
    top = parse_mapping("a: 1\nb: 2\na: 3\n", "a.yml")
    assert plain(top) == {"a": "3", "b": "2"}
    assert [(key.text, key.line) for key in top.duplicates] == [("a", 3)]


def test_text_of_a_key() -> None:
    top = parse_mapping("a: 1.10\nb:\nc: [d]\ne: ''\n", "a.yml")
    assert [top.text(key) for key in "abcef"] == ["1.10", None, None, "", None]


def test_an_alias_is_the_node_it_names() -> None:
    top = parse_mapping("a: &x [1]\nb: *x\n", "a.yml")
    assert top.entries["a"] is top.entries["b"]


def test_anchors_end_with_their_document() -> None:
    with pytest.raises(Malformed, match=r"^`a\.yml:3`: an alias has no anchor$"):
        parse("a: &x 1\n---\nb: *x\n", "a.yml")


def test_merge_keys_give_what_is_not_said() -> None:
    top = parse_mapping("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  <<: [*x, *y]\n  a: 5\n", "a.yml")
    assert plain(top.entries["z"]) == {"a": "5", "b": "2", "c": "4"}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert plain(one("'<<': 1")) == {"<<": "1"}


def test_a_bomb_of_aliases_is_not_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    before = time.process_time()
    assert isinstance(one("\n".join(lines)), Mapping)
    assert time.process_time() - before < 1


def test_a_bomb_of_merges_is_refused() -> None:
    keys = ", ".join(f"k{n}: 1" for n in range(2000))
    merges = "\n".join(f"m{n}: {{<<: *a}}" for n in range(2000))
    with pytest.raises(Malformed, match="copies too much through `<<`"):
        parse(f"a: &a {{{keys}}}\n{merges}\n", "a.yml")


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "a:\n "])
def test_depth_is_limited(opening: str) -> None:
    text = opening * 100_000
    if opening == "a:\n ":
        text = "\n".join(" " * n + "a:" for n in range(MAX_DEPTH + 5))
    # From 6.0.4 on PyYAML has a limit of its own for brackets, which it meets first.
    with pytest.raises(Malformed, match=f"nested more than {MAX_DEPTH} levels deep|exceeded maximum nesting depth"):
        parse(text, "a.yml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "`a.yml:1`: an alias contains itself"),
        ("a: *b", "`a.yml:1`: an alias has no anchor"),
        ("? [a]\n: b", "`a.yml:1`: a key that is not a word"),
        ("a:\n  <<: 1", "`a.yml:2`: `<<` takes mappings"),
        ("a: 1\n\tb: 2", "`a.yml:2`: not valid YAML: found a tab character that violates indentation"),
        ("a: [1", "`a.yml:1`: not valid YAML: did not find expected ',' or ']'"),
        ("a: 'x\n", "`a.yml:1`: not valid YAML: found unexpected end of stream"),
        ("a: \ud800", "`a.yml`: not valid YAML: contains invalid characters"),
    ],
)
def test_what_is_no_yaml(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text, "a.yml")
    assert str(caught.value) == message


def test_control_characters() -> None:
    with pytest.raises(Malformed, match=r"^`a\.yml`: not valid YAML: unacceptable character #x0007"):
        parse("a: \x07", "a.yml")


def test_tags_make_nothing() -> None:
    assert plain(one("!!python/object/apply:os.system [echo]")) == ["echo"]


def test_empty_text_has_no_documents() -> None:
    assert parse("", "a.yml") == []
    assert parse("# nothing\n", "a.yml") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`a.yml`: holds 0 YAML documents instead of one"),
        ("a: 1\n---\nb: 2\n", "`a.yml:3`: holds 2 YAML documents instead of one"),
        ("- a\n", "`a.yml:1`: has no `key: value` lines at its top"),
    ],
)
def test_one_mapping_is_expected(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_mapping(text, "a.yml")
    assert str(caught.value) == message


def test_long_numbers_take_no_time() -> None:
    before = time.process_time()
    for text in ("9" * 1_000_000, "9" * 1_000_000 + "x", "1_" * 500_000):
        assert isinstance(value(text), str)
    assert time.process_time() - before < 1
