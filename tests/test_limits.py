"""Small inputs that could cause endless work: what they need is counted, and what exceeds it is a gap."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from gradcompat.audit import auditor, change_advice
from gradcompat.audit import runs as runs_module
from gradcompat.audit.auditor import Task
from gradcompat.audit.change_advice import advise_findings
from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.runs import Contexts, in_folder
from gradcompat.audit.targets import File
from gradcompat.budget import Budget
from gradcompat.errors import SourceError, TooComplex
from gradcompat.files.root import root_of_folder
from gradcompat.formats import shell
from gradcompat.formats.document import Document
from gradcompat.knowledge.load import load
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Skipped
from gradcompat.requirements.markers import may_hold, parse_marker
from gradcompat.requirements.versions import VersionSet
from gradcompat.scanners.any_config import scan, scan_found
from gradcompat.scanners.code.python_code import MOST_MODULES
from gradcompat.scanners.configs.flat import MOST_DUPLICATES, read_config
from gradcompat.scanners.configs.training_arguments import FEEDS
from gradcompat.sources import declared, joint_ranges
from gradcompat.sources.any_format import MOST_ENTRIES, MOST_REPEATED, MOST_SKIPPED, read
from gradcompat.sources.pyproject import MOST_REQUIREMENTS
from gradcompat.sources.requirement import parse_requirement
from tests.examples import length
from website import limits

TWO = "torch==2.3.0\ntransformers==4.46.0\n"


def test_a_budget_that_is_spent_stays_spent() -> None:
    budget = Budget(10)
    assert budget.take(10)
    assert not budget.spent
    assert not budget.take()
    assert budget.spent
    assert not budget.take(0)


def test_entries_of_one_name_beyond_the_limit_are_a_gap() -> None:
    text = "".join(f"torch==2.{number}.0\n" for number in range(10_000))
    environment = read(Document("requirements.txt", text))
    assert len(environment.packages) == MOST_ENTRIES
    (gap,) = environment.skipped
    assert (gap.what, gap.gap) == ("torch", True)
    assert gap.reason == f"appears 10,000 times: only the first {MOST_ENTRIES} entries are checked"


def test_entries_beyond_the_limit_of_all_names_are_gaps() -> None:
    names = ("torch", "transformers", "accelerate", "peft")
    text = "".join(f"{name}==2.{number}.0\n" for number in range(150) for name in names)
    environment = read(Document("requirements.txt", text))
    assert len(environment.packages) == len(names) * 20 + MOST_REPEATED
    assert [gap.reason for gap in environment.skipped] == [
        "appears 150 times: only the first 120 entries are checked" for _ in names
    ]


def test_a_library_with_an_extra_for_each_build_is_read_whole() -> None:
    text = "".join(f"{name}==2.{number}.0\n" for number in range(150) for name in ("torch", "xformers"))
    environment = read(Document("requirements.txt", text))
    assert (len(environment.packages), environment.skipped) == (300, ())


def test_lines_with_more_clauses_than_the_limit_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"torch{','.join(f'!=1.{number}.{part}' for part in range(60))}\n" for number in range(40))
    assert len(read(Document("requirements.txt", text)).packages) == 40
    monkeypatch.setattr(joint_ranges, "_MOST_CLAUSES", 10_000)
    assert len(read(Document("requirements.txt", text)).packages) == 1


def test_requirements_behind_the_limit_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str, *arguments: Any, **options: Any) -> Any:
        parsed.append(text)
        return parse_requirement(text, *arguments, **options)

    monkeypatch.setattr(declared, "parse_requirement", parse)
    listed = ", ".join(f"'p{number}'" for number in range(MOST_REQUIREMENTS + 1_000))
    environment = read(Document("pyproject.toml", f"[project]\nname = 'a'\ndependencies = [{listed}]\n"))
    assert len(environment.packages) == MOST_REQUIREMENTS
    assert environment.skipped[-1].reason == "are more than 5,000: the rest is not read"
    assert len(parsed) <= MOST_REQUIREMENTS + 1


def test_unreadable_lines_beyond_the_limit_are_one_gap() -> None:
    text = "".join(f"p{number}==1.0\na b\n" for number in range(4_000))
    environment = read(Document("requirements.txt", text, Path("requirements.txt")))
    assert len(environment.skipped) == MOST_SKIPPED + 1
    assert environment.skipped[-1].what == "3,000 more parts"
    assert environment.skipped[-1].gap


def test_a_marker_of_many_extras_is_evaluated_once_for_all_of_them() -> None:
    text = " or ".join(f"(extra == 'e{number}' and python_version < '3.1')" for number in range(1_000))
    marker = parse_marker(text)
    assert marker is not None
    assert may_hold(marker, {"python_version": "3.11"}) is False
    assert may_hold(marker, {"python_version": "3.0"}) is True


def test_clauses_that_exclude_single_versions_are_joined() -> None:
    versions = VersionSet.parse(",".join(f"!=1.{number}" for number in range(300)))
    assert len(versions.intervals) == 301
    assert Version("1.7") not in versions
    assert Version("1.7.1") in versions


BASE = load()


def environment(text: str, name: str = "requirements.txt") -> Environment:
    return read(Document(name, text, Path(name)))


def config(name: str, number: int) -> Context:
    """A config that records tell apart from others by its number."""
    text = (
        f"model_name_or_path: a\nper_device_train_batch_size: 1\ngradient_accumulation_steps: {number}\n"
        f"learning_rate: 1\noutput_dir: out\ntrust_remote_code: false\nbf16: true\n"
    )
    return scan(Document(name, text, Path(name)))


def test_a_run_that_no_record_tells_apart_costs_nothing_more() -> None:
    runs = tuple(replace(config("a.yaml", 1), source=f"{number}.yaml") for number in range(50))
    one = match_runs(environment(TWO), runs[:1], BASE, AuditOptions())
    many = match_runs(environment(TWO), runs, BASE, AuditOptions())
    assert many.steps < 2 * one.steps
    assert [finding.contexts for finding in many.findings if finding.contexts != tuple(r.source for r in runs)] == []


def test_records_are_asked_once_about_runs_that_they_cannot_tell_apart() -> None:
    runs = tuple(config(f"{number}.yaml", number) for number in range(1, 31))
    one = match_runs(environment(TWO), runs[:1], BASE, AuditOptions())
    many = match_runs(environment(TWO), runs, BASE, AuditOptions())
    assert many.steps < 15 * one.steps
    for run in runs:
        alone = match_runs(environment(TWO), (run,), BASE, AuditOptions())
        wanted = {(one.issue.id, one.status) for one in alone.findings if one.status == "affected"}
        assert wanted <= {(one.issue.id, one.status) for one in many.findings if run.source in one.contexts}


def test_runs_beyond_the_steps_are_a_gap() -> None:
    runs = tuple(config(f"{number}.yaml", number) for number in range(1, 31))
    first = match_runs(environment(TWO), runs[:1], BASE, AuditOptions())
    found = match_runs(environment(TWO), runs, BASE, AuditOptions(), most_steps=first.steps + 100)
    (gap,) = found.skipped
    assert gap.gap
    assert gap.reason == (
        f"matching it with 30 training runs needs more than {first.steps + 100:,} steps: not all of them were looked "
        "at; name fewer with `--context`"
    )
    assert {one.issue.id for one in found.findings} >= {one.issue.id for one in first.findings}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Forty environments of torch and transformers, whose steps suffice for a dozen."""
    monkeypatch.setattr(auditor, "MATCH_STEPS", 6_000)
    for number in range(40):
        (tmp_path / f"requirements{number:02}.txt").write_text(TWO)
    return [Task(File(path, path.name)) for path in sorted(tmp_path.iterdir())]


@pytest.mark.parametrize("processors", [1, pytest.param(2, marks=pytest.mark.e2e)])  # two are processes
def test_environments_beyond_the_steps_are_gaps(
    folder: list[Task], processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditor, "_processors", lambda: processors)
    monkeypatch.setattr(auditor, "_BYTES_FOR_A_PROCESS", 1)
    audits = auditor.audit_each(folder, BASE, AuditOptions())
    assert len(audits) == 40
    read_ones = [audit for audit in audits if audit.kind is not None]
    assert read_ones == audits[: len(read_ones)]
    assert sum(audit.steps for audit in read_ones[:-1]) <= 6_000 < sum(audit.steps for audit in read_ones)
    beyond = audits[len(read_ones)]
    assert beyond.skipped[0].gap
    assert beyond.skipped[0].reason == (
        f"not checked: the {len(read_ones)} environments before it took all of the 6,000 steps of a run"
    )
    assert beyond.hint == "check it alone, or its folder"
    assert exit_status(audits, AuditOptions(fail_on=None)) == 3


def test_the_steps_grow_with_the_files(folder: list[Task], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditor, "_processors", lambda: 1)

    def checked() -> int:
        return sum(audit.kind is not None for audit in auditor.audit_each(folder, BASE, AuditOptions()))

    of_small = checked()
    for task in folder:
        assert isinstance(task.source, File)
        task.source.path.write_text(TWO + "# a comment\n" * 5_000)
    assert of_small < checked()


def test_where_no_plan_is_made_every_finding_keeps_the_nearest_change() -> None:
    found = environment("torch==2.1.0\nnumpy==2.0.0\n")
    matched = match_runs(found, (), BASE, AuditOptions())
    affected = [one for one in matched.findings if one.status == "affected" and one.issue.remedies]
    assert affected
    planned = advise_findings(found, matched, None, BASE, AuditOptions())
    nearest = advise_findings(found, matched, None, BASE, AuditOptions(), plan_questions=100)
    assert set(planned.advice) == set(nearest.advice) >= set(map(id, affected))
    assert planned.skipped == ()
    (note,) = nearest.skipped
    assert not note.gap
    assert note.reason.startswith("each clears its finding alone")


def test_nearest_changes_beyond_the_steps_are_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_advice, "ADVICE_STEPS", 10)
    found = environment("torch==2.1.0\nnumpy==2.0.0\n")
    matched = match_runs(found, (), BASE, AuditOptions())
    advised = advise_findings(found, matched, None, BASE, AuditOptions(), plan_questions=0)
    assert advised.advice == {}
    assert [note.what for note in advised.skipped] == ["fixes", "fixes"]


EXPORTED = "".join(f"export A{n}=1\n" for n in range(20_000)) + "torchrun train.py --bf16\n" * 200


def test_a_command_takes_no_steps_for_the_blocks_around_it() -> None:
    budget = Budget(shell.MOST_STEPS)
    count = length(10_000)
    text = "{\n" * count + "if a\n" * count + "a\n" * count
    assert len(list(shell.commands(text, {}, budget=budget))) == 2 * count
    assert budget.most - budget.left < 200 * count  # and not the depth of each


def test_variables_of_launches_beyond_the_steps_are_too_complex() -> None:
    with pytest.raises(TooComplex, match="needs more than 5,000,000 steps to read"):
        scan(Document("train.sh", EXPORTED))


def test_a_script_that_is_too_complex_is_a_gap(tmp_path: Path) -> None:
    script = tmp_path / "train.sh"
    script.write_text(EXPORTED)
    gap = scan_found(script, "train.sh", root_of_folder(tmp_path, str(tmp_path), ()))
    assert isinstance(gap, Skipped)
    assert gap.gap


def test_configs_that_are_composed_too_often_are_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "COMPOSED_FILES", 12)
    (tmp_path / "conf" / "model").mkdir(parents=True)
    (tmp_path / "conf" / "config.yaml").write_text("defaults:\n- model: a\n- _self_\ngradient_accumulation_steps: 1\n")
    (tmp_path / "conf" / "model" / "a.yaml").write_text("label_smoothing_factor: 0.1\n")
    (tmp_path / "train.py").write_text("from transformers import Trainer\nTrainer().train()\n")
    for number in range(5):
        (tmp_path / f"run{number}.sh").write_text(
            f"torchrun train.py --config-path conf --config-name config gradient_accumulation_steps={number}\n" * 2
        )
    found, unread = in_folder(tmp_path, str(tmp_path), root_of_folder(tmp_path, str(tmp_path), ()))
    assert unread == []
    contexts = Contexts(found=tuple(found))
    contexts.of([str(tmp_path / "requirements.txt")])
    assert contexts.composing.spent
    gap = contexts.skipped()[-1]
    assert gap.gap
    assert gap.reason.startswith("composing it for every command line reads more than 12 files")


def test_keys_that_stand_twice_are_counted_beyond_the_first_ones() -> None:
    text = "per_device_train_batch_size: 1\n" * 100 + "output_dir: x\nlearning_rate: 1.0e-5\n"
    skipped = read_config(Document("train.yaml", text), FEEDS).skipped
    assert len(skipped) == MOST_DUPLICATES
    assert skipped[-1].what == "80 more keys"


def test_modules_beyond_those_that_are_named_are_counted(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(50)]
    for name in names:
        (tmp_path / f"{name}.py").touch()
    text = "from transformers import Trainer\n" + "".join(f"import {name}\n" for name in names)
    skipped = scan(Document("train.py", text, tmp_path / "train.py")).skipped
    assert len(skipped) == MOST_MODULES
    assert skipped[-1].what == "31 more modules"


def test_long_names_in_a_pattern_are_tried_once() -> None:
    """`let` is asked for names; each is tried from its first letter, and not from every one."""
    assert [match[1] for match in shell._ARITHMETIC.finditer("steps += 1, ab++")] == ["steps", "ab"]
    assert shell._ARITHMETIC.pattern.startswith(r"(?<!\w)")


EXCEEDING = {
    "sources.pyproject:MOST_REQUIREMENTS": (
        "pyproject.toml",
        '[project]\nname = "p"\nversion = "1"\ndependencies = [' + '"a>=1",' * 10_001 + "]\n",
    ),
    "budget:MAX_CELLS": (
        "a.ipynb",
        json.dumps(
            {
                "nbformat": 4,
                "nbformat_minor": 5,
                "metadata": {},
                "cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": "!pip install torch==2.1.0"}]
                * 2_001,
            }
        ),
    ),
    "formats.yaml_composer:MAX_DEPTH": ("environment.yml", "dependencies:\n- " + "[" * 201 + "]" * 201 + "\n"),
    "formats.yaml_composer:MAX_MERGED": (
        "environment.yml",
        "a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(1_100)) + "}\n"
        "a1: &a1 {<<: [" + ", ".join(["*a0"] * 1_000) + "]}\ndependencies:\n- torch\n",
    ),
    "formats.toml_text:MOST_PARTS": ("uv.lock", "version = 1\n" + ".".join(["a"] * 101) + " = 1\n"),
}


UNREAD = {"formats.yaml_composer:MAX_DEPTH", "formats.yaml_composer:MAX_MERGED", "formats.toml_text:MOST_PARTS"}


@pytest.mark.parametrize("constant", EXCEEDING)
def test_what_exceeds_a_limit_of_a_reader_is_a_gap(constant: str) -> None:
    name, text = EXCEEDING[constant]
    document = Document(name, text, Path(name))
    if constant in UNREAD:
        with pytest.raises(SourceError):
            read(document)
    else:
        assert any(part.gap for part in read(document).skipped)


def test_the_page_has_every_limit() -> None:
    assert limits.PAGE.read_text("utf-8") == limits.page(), f"run `{limits.COMMAND}`"
