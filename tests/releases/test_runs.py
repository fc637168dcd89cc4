"""Values along releases: what a table answers is what the rows say, release by release."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from gradcompat.curation.module_store import FileKey
from gradcompat.curation.release_row import ReleaseRow
from gradcompat.curation.resolution import State
from gradcompat.curation.stored_facts import worth_storing
from gradcompat.curation.table_rows import SECTIONS, table_bytes
from gradcompat.releases.lines import packed, unpacked
from gradcompat.releases.runs import Growing, runs_of, runs_of_spans, value_at, values_of
from gradcompat.releases.table import ReleaseTable
from gradcompat.releases.table_file import TableFile

Rows = dict[int, dict[str, dict[str, dict[str, int | str]]]]

VALUES = st.one_of(st.integers(0, 2), st.sampled_from(["", "a", ">m n"]))
BY_NUMBER = st.dictionaries(st.integers(0, 9), VALUES)
KEYS = st.dictionaries(st.sampled_from(["a", "b.c", "m:n"]), VALUES, min_size=1)
FACTS = st.dictionaries(st.sampled_from(["one", "one.a", "one.b"]), KEYS)


@given(BY_NUMBER)
def test_runs_say_what_the_values_are(values: dict[int, int | str]) -> None:
    runs = runs_of(values, 10)
    assert values_of(runs, 10) == values
    assert {number: value_at(runs, number) for number in range(10)} == {n: values.get(n) for n in range(10)}
    assert unpacked(packed({"k": runs})) == ({"k": runs} if runs else {"k": []})


@given(st.lists(st.tuples(st.integers(0, 9), VALUES)))
def test_runs_that_grow_in_any_order(added: list[tuple[int, int | str]]) -> None:
    growing = Growing()
    for number, value in added:
        growing.add(number, value)
    assert growing.runs(10) == runs_of(dict(added), 10)


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), VALUES))


@given(SPANS)
def test_runs_of_spans(drawn: list[tuple[int, int, int | str]]) -> None:
    values: dict[int, int | str] = {}
    spans = []
    for start, end, value in drawn:
        if start < end and values.keys().isdisjoint(range(start, end)):
            values |= dict.fromkeys(range(start, end), value)
            spans.append((start, end, value))
    assert runs_of_spans(spans, 10) == runs_of(values, 10)


def states(rows: Rows, numbers: list[int]) -> list[tuple[str, list[State]]]:
    """Each module of some rows; a state for each release that has it."""
    modules = sorted({module for number in numbers for facts in rows[number].values() for module in facts})
    return [
        (
            module,
            [
                State(place, place + 1, {section: facts.get(module, {}) for section, facts in rows[number].items()})
                for place, number in enumerate(numbers)
            ],
        )
        for module in modules
    ]


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(0, 6), st.fixed_dictionaries(dict.fromkeys(SECTIONS, FACTS)), min_size=1), st.data())
def test_a_table_answers_as_the_rows_do(rows: Rows, data: st.DataObject) -> None:
    """Whatever of the rows is written first, and whatever extends it."""
    first = data.draw(st.sets(st.sampled_from(sorted(rows))))
    files = {"one": FileKey("one", True, 0, 0)}
    made = {number: ReleaseRow(version=Version(f"1.{number}"), files=files) for number in rows}
    with tempfile.TemporaryDirectory() as folder, patch("gradcompat.curation.table_rows.reduce_lines"):
        path = Path(folder, "one.table")
        before = None
        for numbers in (sorted(first), sorted(rows.keys() - first)):
            if numbers:
                path.write_bytes(table_bytes("one", [made[n] for n in numbers], states(rows, numbers), before))
                before = TableFile(path)
        table = ReleaseTable(path)
        assert table.versions == tuple(Version(f"1.{number}") for number in sorted(rows))
        for number, sections in rows.items():
            for module in ("one", "one.a", "one.b", "one.c"):
                answers = {
                    (section, key, value)
                    for section in SECTIONS
                    for key, value in table.facts(made[number].version, section, module).items()
                }
                said = {section: facts.get(module, {}) for section, facts in sections.items()}
                assert answers == set(worth_storing(said))
