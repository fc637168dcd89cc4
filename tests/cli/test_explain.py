"""``gradcompat explain``."""

from __future__ import annotations

import json
import re

import pytest

from gradcompat.cli.commands.explain import _is_about
from gradcompat.knowledge.load import load
from gradcompat.model.issue import (
    ModelTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    VirtualTerm,
)
from gradcompat.requirements.versions import ALL
from gradcompat.vocabulary import KEYS
from tests.conftest import Run


@pytest.mark.parametrize("identifier", [record["id"] for record in load().records][:3])
def test_a_record_is_shown_in_full(run: Run, identifier: str) -> None:
    outcome = run("explain", identifier.lower())
    assert outcome.status == 0
    assert outcome.out.startswith(f"{identifier} ")
    for title in ("Affected when", "Evidence (ranges: ", "References"):
        assert f"\n{title}" in outcome.out


def test_an_unknown_record_is_a_usage_error(run: Run) -> None:
    outcome = run("explain", "GC-9999")
    assert outcome.status == 2
    assert outcome.err == (
        "error: there is no record `GC-9999`\n\nhint: ids look like GC-0002; --knowledge names records of your own\n"
    )


def test_settings_lists_the_whole_vocabulary(run: Run) -> None:
    lines = run("explain", "settings").out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list(KEYS)


def test_a_setting_shows_its_sources_and_the_records_that_depend_on_it(run: Run) -> None:
    outcome = run("explain", "training.gradient_accumulation_steps")
    assert outcome.status == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "training.gradient_accumulation_steps: micro-batches in one optimizer step (int)"
    sections = dict(section.split("\n", 1) for section in outcome.out.split("\n\n")[1:])
    assert list(sections) == ["Read from", "Records that depend on it", "Records that a change of it cures"]
    assert "`gradient_accumulation_steps`" in sections["Read from"]
    assert "llamafactory" in sections["Read from"]
    base = load()
    for title, where in (("Records that depend on it", "affected"), ("Records that a change of it cures", "remedies")):
        expected = [
            record["id"]
            for record in base.records
            if record["withdrawn"] is None and '"training.gradient_accumulation_steps"' in json.dumps(record[where])
        ]
        found = re.findall(r"(?:^ +|, )(GC-\d+)", sections[title], re.MULTILINE)
        assert found == expected


@pytest.mark.parametrize("key", KEYS)
def test_every_setting_can_be_explained(run: Run, key: str) -> None:
    outcome = run("explain", key)
    assert outcome.status == 0
    assert outcome.out.startswith(f"{key}: ")


def test_facts_of_the_host_have_their_records() -> None:
    assert _is_about(VirtualTerm(name="__cuda_arch", versions=ALL), "host.cuda_arch")
    assert not _is_about(VirtualTerm(name="__cuda_arch", versions=ALL), "host.cuda")
    assert not _is_about(VirtualTerm(name="__cuda_arch", versions=ALL), "training.seed")
    assert _is_about(ModelTerm(classes=("A",)), "model.architecture")
    assert _is_about(SymbolTerm(symbols=("a.B",)), "code.symbols")
    assert _is_about(SymbolAbsentTerm(symbols=("a.B",)), "code.symbols")
    assert _is_about(PythonTerm(versions=ALL), "host.python")
    assert _is_about(PlatformTerm(platforms=("win32",)), "host.platform")
    assert not _is_about(PackageTerm(name="torch", versions=ALL), "host.cuda")


def test_an_unknown_setting_is_a_usage_error(run: Run) -> None:
    outcome = run("explain", "training.gradient_acumulation_steps")
    assert outcome.status == 2
    assert outcome.err == (
        "error: `training.gradient_acumulation_steps` is not a known setting\n\n"
        "hint: did you mean `training.gradient_accumulation_steps`?\n"
    )
