"""``check --with NAME==VERSION``: what an upgrade would break and cure, before anything is installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gradcompat
from gradcompat.audit import auditor
from tests.conftest import Run

# GC-0098: peft 0.16 and 0.17 do not import with transformers 5. GC-0079: transformers 4.42 refuses NumPy 2.
PINNED = "transformers==4.42.4\npeft==0.17.1\nnumpy==2.0.0\n"


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    file = tmp_path / "requirements.txt"
    file.write_text(PINNED)
    return file


def test_what_comes_what_goes_and_on_which_line(run: Run, pinned: Path) -> None:
    outcome = run("check", pinned.name, "--with", "transformers==5.0.0", cwd=pinned.parent)
    assert outcome.status == 1
    lines = outcome.out.splitlines()
    assert "with transformers 5.0.0 in place of 4.42.4 (requirements.txt:1)" in lines
    comes, cured = lines.index("Would come with it:"), lines.index("Would be cured:")
    assert any(line.startswith("error GC-0098: ") for line in lines[comes:cured])
    assert any(line.startswith("  error GC-0079: ") for line in lines[cured:])
    assert "requirements.txt:2 peft 0.17.1; requirements.txt:1 transformers 5.0.0" in outcome.out
    assert lines[-1].startswith("1 error would come, 2 would be cured, ")


def test_what_is_there_anyhow_does_not_count(run: Run, pinned: Path) -> None:
    outcome = run("check", pinned.name, "--with", "peft==0.16.0", "--format", "json", cwd=pinned.parent)
    assert outcome.status == 0
    report = json.loads(outcome.out)
    (environment,) = report["environments"]
    expected = {
        "name": "peft",
        "version_from": "0.17.1",
        "version_to": "0.16.0",
        "path": "requirements.txt",
        "line": 2,
    }
    assert environment["with"] == [expected]
    assert environment["cured"] == []
    refused = next(one for one in report["findings"] if one["id"] == "GC-0079")
    assert refused["suppressed"]["kind"] == "pinned"


def test_several_packages_move_together(run: Run, pinned: Path) -> None:
    outcome = run(
        *("check", pinned.name, "--with", "transformers==5.0.0", "--with", "PEFT==0.18.1", "--format", "json"),
        cwd=pinned.parent,
    )
    report = json.loads(outcome.out)
    assert {one["name"] for one in report["environments"][0]["with"]} == {"transformers", "peft"}
    assert "GC-0098" not in {one["id"] for one in report["findings"]}
    assert "GC-0079" in {one["id"] for one in report["environments"][0]["cured"]}


def test_what_has_to_move_too_is_said(run: Run, pinned: Path) -> None:
    outcome = run("check", pinned.name, "--with", "transformers==5.0.0", "--format", "json", cwd=pinned.parent)
    broken = next(one for one in json.loads(outcome.out)["findings"] if one["id"] == "GC-0098")
    assert broken["advice"]["package"] == "peft"


def test_the_nearest_change_leaves_the_version_asked_for(pinned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan does anyhow; a check of many runs has none."""
    monkeypatch.setattr(auditor, "PLAN_QUESTIONS", 0)
    report = gradcompat.check(pinned, versions={"transformers": "5.0.0"}, only=["GC-0098"])
    (finding,) = report.findings
    assert finding.advice is not None
    assert finding.advice.package == "peft"
    down = gradcompat.check(pinned, versions={"peft": "0.17.1", "transformers": "5.0.0"}, only=["GC-0098"])
    assert [one.advice for one in down.findings] == [None]


def test_environments_without_the_package_count_nothing(run: Run, pinned: Path) -> None:
    other = pinned.parent / "other" / "requirements.txt"
    other.parent.mkdir()
    other.write_text("transformers==4.42.4\nnumpy==2.0.0\n")
    outcome = run("check", ".", "--with", "peft==0.18.1", cwd=pinned.parent)
    assert outcome.status == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("transformers", "`--with transformers` is not NAME==VERSION"),
        ("transformers>=5", "`--with transformers>=5` is not NAME==VERSION"),
        ("transformers==new", "`new` is not a version"),
        ("vllm==0.9.0", "`--with vllm==0.9.0`: `vllm` is listed nowhere here"),
    ],
)
def test_bad_input_is_one_line(run: Run, pinned: Path, given: str, said: str) -> None:
    outcome = run("check", pinned.name, "--with", given, cwd=pinned.parent)
    assert outcome.status == 2
    assert outcome.out == ""
    assert said in outcome.err
    assert "Traceback" not in outcome.err


def test_two_versions_of_one_package(run: Run, pinned: Path) -> None:
    outcome = run("check", pinned.name, "--with", "peft==0.18.0", "--with", "peft==0.18.1", cwd=pinned.parent)
    assert outcome.status == 2
    assert "`--with` names `peft` with two versions" in outcome.err


def test_it_measures_nothing_and_compares_no_revision(run: Run, pinned: Path) -> None:
    for option in (["--probe"], ["--diff", "HEAD"]):
        outcome = run("check", pinned.name, "--with", "peft==0.18.1", *option, cwd=pinned.parent)
        assert outcome.status == 2
        assert f"`{option[0]}`" in outcome.err


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_reports_for_people_tell_it(run: Run, pinned: Path, form: str) -> None:
    outcome = run("check", pinned.name, "--with", "transformers==5.0.0", "--format", form, cwd=pinned.parent)
    assert "Would be cured:" in outcome.out
    assert "GC" in outcome.out.partition("Would be cured:")[2]


def test_what_pip_would_refuse_is_said(run: Run, pinned: Path) -> None:
    pinned.write_text("transformers==4.49.0\ntokenizers==0.21.0\nhuggingface-hub==0.36.0\n")
    outcome = run("check", pinned.name, "--with", "transformers==5.0.0", "--format", "json", cwd=pinned.parent)
    said = [(one["what"], one["reason"], one["line"]) for one in json.loads(outcome.out)["environments"][0]["skipped"]]
    reason = "requires huggingface-hub <2.0,>=1.3.0, and huggingface-hub is 0.36.0: pip and uv would refuse that"
    assert ("transformers 5.0.0", reason, 1) in said
    text = run("check", pinned.name, "--with", "transformers==5.0.0", cwd=pinned.parent).out
    assert "pip and uv would refuse that" in " ".join(text.split())
    same = run("check", pinned.name, "--with", "transformers==4.49.0", cwd=pinned.parent)
    assert "would refuse" not in same.out
