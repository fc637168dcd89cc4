"""A campaign makes the same inputs of the same seed, goes on where it was stopped, and survives what it tries."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest

from fuzz.campaign import Campaign
from fuzz.command import main
from fuzz.corpus import Corpus, reduced
from fuzz.findings import Findings
from fuzz.folders import TEMPLATES, materialize_tree
from fuzz.generation import SHARES, generated
from fuzz.grammars.table import GRAMMARS
from fuzz.inputs import Entry, Input, loads
from fuzz.mutation import mutated
from fuzz.oracles import Finding
from fuzz.seeds import Seeds
from fuzz.targets import READ_KINDS, SCAN_KINDS, TARGETS
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment
from gradcompat.sources import setup_cfg

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fuzzer forks its processes")


@pytest.fixture(autouse=True)
def without_collection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADCOMPAT_CORPUS", str(tmp_path / "none"))


@pytest.fixture(scope="module")
def seeds() -> Seeds:
    return Seeds.collected()


def test_every_grammar_is_of_a_format() -> None:
    """A format without a grammar gets any text; fixtures of it are damaged all the same."""
    assert set(GRAMMARS) - {*READ_KINDS, *SCAN_KINDS} == {"log", "gradcompat.toml"}


def test_every_target_has_a_share() -> None:
    assert {share.removesuffix("-file").removesuffix("-folder") for share in SHARES} == set(TARGETS)
    assert sum(SHARES.values()) == pytest.approx(1)


@pytest.mark.parametrize("kind", GRAMMARS)
def test_a_grammar_makes_texts_of_its_seed_alone(kind: str) -> None:
    for grammar in GRAMMARS[kind]:
        texts = [grammar(Random(number)) for number in range(12)]
        assert texts == [grammar(Random(number)) for number in range(12)]
        assert len(set(texts)) > 6


def test_the_seed_and_the_number_decide_an_input(seeds: Seeds) -> None:
    inputs = [generated(5, number, seeds) for number in range(120)]
    assert inputs == [generated(5, number, seeds) for number in range(120)]
    assert inputs != [generated(6, number, seeds) for number in range(120)]
    assert {one.target for one in inputs} >= {"read", "scan", "edit"}
    assert {one.origin for one in inputs} == {"grammar", "mutation"}


def test_one_class_of_inputs(seeds: Seeds) -> None:
    assert {generated(0, number, seeds, only="uv.lock").kind for number in range(9)} == {"uv.lock"}
    assert {generated(0, number, seeds, only="check-folder").target for number in range(9)} == {"check"}


def test_a_program_without_statements_is_mutated() -> None:
    assert all(isinstance(mutated(b"# import x\n", b"", Random(number)), bytes) for number in range(60))


def test_mutation_changes(seeds: Seeds) -> None:
    data = b'{"a": [1, 2, {"b": "c"}], "d": null}'
    assert len({mutated(data, b"x", Random(number)) for number in range(40)}) > 30


def test_an_input_is_written_and_read() -> None:
    entries = (Entry(path="a\udce9b", data=b"\xff\x00", named=True), Entry(path="l", data=b"x", kind="link"))
    one = Input(target="check", kind="folder x", entries=entries, origin="mutation")
    assert loads(one.dumps()) == one


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_folder_is_laid_out(kind: str, tmp_path: Path) -> None:
    for number in range(6):
        entries = TEMPLATES[kind](Random(number))
        materialize_tree(tuple(entries), tmp_path / f"{number}" / "project")
        laid_out = [entry for entry in entries if (tmp_path / f"{number}" / "project" / entry.path).exists()]
        assert len(laid_out) == len(entries)


def test_a_campaign_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    once = Campaign(tmp_path / "once", seed=3, only="setup.cfg")
    once.run(60, processes=1)
    first = Campaign(tmp_path / "twice", seed=3, only="setup.cfg")
    first.run(25, processes=1)
    assert first.state.done == 25
    second = Campaign(tmp_path / "twice")
    second.run(60, processes=1)
    assert (second.state.done, second.state.seed, second.state.open) == (60, 3, [])
    assert second.state.inputs == once.state.inputs
    assert second.corpus.size > 0


def test_a_batch_that_was_not_finished_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(
        json.dumps({"seed": 1, "only": "setup.cfg", "begun": 10, "open": [[4, 6, 0]], "inputs": {"read file": 4}}),
        "utf-8",
    )
    campaign = Campaign(tmp_path)
    campaign.state.spent, campaign.state.most = {"read file": 0.0}, {"read file": [0.0, 0.0, 0.0]}
    campaign.run(10, processes=1)
    assert campaign.state.done == 10


def test_an_input_that_ends_the_process_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, once = setup_cfg.read, tmp_path / "once"

    def read(document: Document) -> Environment:
        if not once.exists():
            once.touch()
            os._exit(1)
        return original(document)

    monkeypatch.setattr(setup_cfg, "read", read)
    campaign = Campaign(tmp_path / "state", only="setup.cfg")
    campaign.run(12, processes=1)
    assert campaign.state.done == 12
    hangs = [one.finding.signature for one in campaign.findings.all() if one.finding.oracle == "hang"]
    assert hangs == ["hang: read setup.cfg: the process died"]


def test_the_corpus_keeps_what_is_new(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path / "corpus")
    one = Input(target="read", kind="x", entries=(Entry(path="x", data=b"1"),))
    assert corpus.keep(one, {("a", 1, 2)})
    assert not corpus.keep(one, {("a", 1, 2)})
    assert corpus.keep(one, {("a", 1, 2), ("a", 2, 3)})
    corpus.save()
    again = Corpus(tmp_path / "corpus")
    assert (again.size, again.arcs) == (2, {("a", 1, 2), ("a", 2, 3)})
    assert [kept() for kept in again.first(2)] == [one, one]


def test_an_input_is_made_smaller() -> None:
    noise = b"".join(b"line %d\n" % number for number in range(64))
    one = Input(target="read", kind="x", entries=(Entry(path="x", data=noise + b"bug\n" + noise),))
    assert reduced(one, lambda other: b"bug" in other.entries[0].data, trials=300).entries[0].data == b"bug"


def test_findings_alike_are_counted(tmp_path: Path) -> None:
    findings = Findings(tmp_path)
    for size in (9, 3, 6):
        cause = Input(target="read", kind="x", entries=(Entry(path="x", data=b"a" * size),))
        findings.add(Finding("time", "x", f"{size}"), cause)
    (stored,) = findings.all()
    assert (stored.count, stored.input.size, stored.finding.detail) == (3, 3, "3")


def test_the_command_prints_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--inputs", "8", "--only", "setup.cfg", "--state", str(tmp_path), "--processes", "1"]
    assert main(arguments) in (0, 1)
    printed = capsys.readouterr().out
    assert printed.startswith("8 inputs of seed 0 in 0 minutes")
    assert "| read file | 8 | 100.0% |" in printed


def test_a_finding_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cause = Input(target="read", kind="requirements", entries=(Entry(path="requirements.txt", data=b"torch==2.5.1\n"),))
    Findings(tmp_path).add(Finding("time", "x"), cause)
    (file,) = tmp_path.glob("*.json")
    assert main(["--reproduce", str(file)]) == 0
    assert capsys.readouterr().out == "nothing is wrong with it\n"


def test_a_finding_that_is_gone_is_taken_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Fuzzing\n\n<!-- fuzzing: begin -->\nold\n<!-- fuzzing: end -->\nThe end.\n", "utf-8")
    cause = Input(target="read", kind="requirements", entries=(Entry(path="requirements.txt", data=b"torch==2.5.1\n"),))
    Findings(tmp_path / "findings").add(Finding("time", "x"), cause, 3)
    assert main(["--recheck", "--state", str(tmp_path), "--report", str(page)]) == 0
    assert "gone: time: x" in capsys.readouterr().err
    text = page.read_text("utf-8")
    assert "| 3 | time: x |" in text
    assert "No findings.\n" in text
    assert (text.startswith("# Fuzzing\n"), text.endswith("The end.\n"), "old" in text) == (True, True, False)
    assert Campaign(tmp_path).state.gone == {"time: x": 3}
