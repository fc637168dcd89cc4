"""What ``compile`` writes is what ``load`` reads; anything else is an error that says so."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.compile import compile_records, dumps
from gradcompat.knowledge.load import _term, issue_from, load, load_checked
from gradcompat.knowledge.records import read
from gradcompat.model.issue import (
    CodeRemedy,
    Combination,
    Issue,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    Reference,
    SettingRemedy,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    VersionRemedy,
    VirtualTerm,
)
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import replace
from tests.building import environment, package
from tests.knowledge.authored import RECORD, record, written

FULL = record(
    (
        'packages: {transformers: ">=4.49.0,<4.52.1"}',
        'packages: {transformers: ">=4.49.0,<4.52.1", peft: absent, lightning: "*"}',
    ),
    (
        'settings: {training.gradient_accumulation_steps: ">1"}',
        'settings: {training.gradient_accumulation_steps: ">1", precision.mode: [fp16, bf16], training.packing: true, '
        'training.max_grad_norm: "<= 0.5", model.torch_dtype: "!=float32"}\n'
        '        models: ["Llava*"]\n        symbols: [torch.compile]\n        also: ["torch.load(f) if mmap"]\n'
        '        without: [torch.set_default_dtype]\n        python: ">=3.12"\n'
        '        platform: [linux]\n        virtual: {__cuda: "<12.4"}\n'
        '      - packages: {torch: "==2.5.1"}',
    ),
    ("range_basis", "symptoms: [the loss is large]\n    range_basis"),
    ("level: error", "level: error\n    withdrawn: for this test"),
)


def test_every_kind_of_term_and_remedy_survives(tmp_path: Path) -> None:
    compiled = compile_records(read(written(tmp_path, FULL)))
    path = tmp_path / "compiled.json"
    path.write_text(dumps(compiled), "utf-8")
    base = load(path)
    assert base.get("gc-0001") == Issue(
        id="GC-0001",
        summary="The loss is multiplied by the number of micro-batches",
        details="The Trainer does not divide.",
        level="error",
        silent=True,
        informational=False,
        categories=("loss-scale",),
        affected=(
            Combination(
                terms=(
                    PackageTerm(name="transformers", versions=VersionSet.parse(">=4.49.0,<4.52.1")),
                    PackageAbsentTerm(name="peft"),
                    PackageTerm(name="lightning", versions=VersionSet.parse("*")),
                    SettingTerm(key="training.gradient_accumulation_steps", comparison=(">", 1)),
                    SettingTerm(key="precision.mode", values=("fp16", "bf16")),
                    SettingTerm(key="training.packing", values=(True,)),
                    SettingTerm(key="training.max_grad_norm", comparison=("<=", 0.5)),
                    SettingTerm(key="model.torch_dtype", comparison=("!=", "float32")),
                    ModelTerm(classes=("Llava*",)),
                    SymbolTerm(symbols=("torch.compile",)),
                    SymbolTerm(symbols=("torch.load(f) if mmap",), arguments="with mmap"),
                    SymbolAbsentTerm(symbols=("torch.set_default_dtype",)),
                    PythonTerm(versions=VersionSet.parse(">=3.12")),
                    PlatformTerm(platforms=("linux",)),
                    VirtualTerm(name="__cuda", versions=VersionSet.parse("<12.4")),
                )
            ),
            Combination(terms=(PackageTerm(name="torch", versions=VersionSet.parse("==2.5.1")),)),
        ),
        symptoms=("the loss is large",),
        remedies=(
            VersionRemedy(kind="upgrade", package="transformers", versions=VersionSet.parse(">=4.52.1")),
            VersionRemedy(kind="downgrade", package="transformers", versions=VersionSet.parse("==4.48.3")),
            SettingRemedy(key="training.gradient_accumulation_steps", value=1),
            CodeRemedy(text="divide it"),
        ),
        references=(Reference(type="REPORT", url="https://example.org/1"),),
        range_basis="tags",
        evidence=("ratio 4.0 on 4.49.0, 1.0 on 4.48.3 and 4.52.1",),
        withdrawn="for this test",
    )
    assert base.get("GC-0002") is None


def test_the_whole_base(tmp_path: Path) -> None:
    second = record(("GC-0001", "GC-0002"), ("transformers", "pytorch-lightning"))
    gone = record(
        ("GC-0001", "GC-0003"), ("level: error", "level: error\n    withdrawn: wrong"), ("transformers", "trl")
    )
    compiled = compile_records(read(written(tmp_path, RECORD, second, gone)))
    path = tmp_path / "compiled.json"
    path.write_text(dumps(compiled), "utf-8")
    assert json.loads(path.read_text("utf-8")) == compiled
    base = load(path)
    assert (base.date, base.digest) == ("2026-11-20", compiled["digest"])
    assert base.by_package == {"pytorch-lightning": [1], "transformers": [0]}
    assert (base.names.families, base.names.conda) == ({"lightning": "pytorch-lightning"}, {"pytorch": "torch"})
    assert base.yanked == {"transformers": ["4.52.0"]}
    assert base.horizon["transformers"] == ["5.23.0", "2026-11-19"]
    here = environment(package("lightning", "2.4.0"), package("transformers", "4.50.0"), package("trl", "0.9"))
    assert base.about([here]) == (issue_from(compiled["issues"][0]), issue_from(compiled["issues"][1]))
    assert base.about([environment(package("numpy", "2.0"))]) == ()
    assert base.knows("pytorch-lightning")
    assert not base.knows("trl")


def test_the_digest_is_of_what_matters(tmp_path: Path) -> None:
    def digest(*records: str) -> str:
        return str(compile_records(read(written(tmp_path, *records)))["digest"])

    assert digest(RECORD) == digest(RECORD.replace("steps: 8}", "steps: 16}"))  # an example
    assert digest(RECORD) != digest(RECORD.replace("4.49.0", "4.49.1"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read: Expecting value: line 1 column 1 (char 0)"),
        ("[]", "format None is not supported"),
        ("{}", "format None is not supported"),
        ('{"format": 99}', "format 99 is not supported"),
        (
            '{"format": 1, "date": "2026-11-20", "digest": ""}',
            "lacks by_package, conda, families, horizon, issues, models, yanked",
        ),
    ],
)
def test_what_cannot_be_loaded(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "compiled.json"
    path.write_text(content, "utf-8")
    with pytest.raises(KnowledgeError) as caught:
        load(path)
    assert (str(caught.value), caught.value.hint) == (f"`{path}`: {message}", "install gradcompat again")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read") as caught:
        load(tmp_path / "compiled.json")
    assert caught.value.hint == "install gradcompat again"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"affected": [[["weather", "rain"]]]}, "`['weather', 'rain']` is not a term of format 1"),
        ({"remedies": [["prayer", "daily"]]}, "`['prayer', 'daily']` is not a remedy of format 1"),
    ],
)
def test_terms_of_another_format(tmp_path: Path, part: dict[str, object], message: str) -> None:
    compiled = compile_records(read(written(tmp_path, RECORD)))["issues"][0]
    with pytest.raises(KnowledgeError) as caught:
        repr(issue_from({**compiled, **part}))  # all of it
    assert str(caught.value) == message


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "compiled.json"
    path.write_text(dumps(compile_records(read(written(tmp_path, RECORD)))), "utf-8")
    before = load(path)
    assert load(path) is before
    second = RECORD.replace("GC-0001", "GC-0002")
    path.write_text(dumps(compile_records(read(written(tmp_path, RECORD, second)))), "utf-8")
    assert len(load(path).records) == len(before.records) + 1
    path.unlink()
    with pytest.raises(KnowledgeError, match="cannot be read"):
        load(path)


def test_the_same_term_of_several_records_is_one_object() -> None:
    setting = ["setting", "precision.mode", ["fp16"]]
    assert _term(setting) is _term(list(setting))
    # Equal to one another, and not the same question.
    assert [type(_term(["setting", "a", [value]]).values[0]) for value in (1, True, 1.0)] == [int, bool, float]  # type: ignore[union-attr]


def test_what_is_told_of_a_record_is_read_when_somebody_asks() -> None:
    compiled = next(record for record in load().records if record["remedies"] and record["probes"])
    issue, same = issue_from(compiled), issue_from(compiled)
    assert issue.remedies == same.remedies
    assert issue.probes
    assert pickle.loads(pickle.dumps(issue_from(compiled))) == issue == replace(same, summary=issue.summary)  # noqa: S301
    with pytest.raises(AttributeError, match="an issue has no colour"):
        issue.colour  # type: ignore[attr-defined]  # noqa: B018


def test_the_index_of_what_was_fetched_is_made_anew(tmp_path: Path) -> None:
    """The digest is of the records, so that an index beside them may hide some."""
    compiled = compile_records(read(written(tmp_path, RECORD)))
    hidden = {**compiled, "index": {**compiled["index"], "ranges": {"transformers": [[0, 0]]}}}
    path = tmp_path / "compiled.json"
    path.write_text(dumps(hidden), "utf-8")
    here = environment(package("transformers", "4.50.0"))
    assert load(path).possible(here) == ()
    assert [issue.id for issue in load_checked(path).possible(here)] == ["GC-0001"]
    older = {key: value for key, value in compiled.items() if key != "index"}
    path.write_text(dumps(older) + " ", "utf-8")
    assert [issue.id for issue in load(path).possible(here)] == ["GC-0001"]
