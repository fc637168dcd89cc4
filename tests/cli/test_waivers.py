"""Which findings waivers set aside, and what is said of waivers that do nothing any more."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import gradcompat
from gradcompat.audit.auditor import Task, audit
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.targets import File
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.model.report import Audit, Remark
from gradcompat.pipeline import build_report
from gradcompat.suppression.apply import suppress
from gradcompat.suppression.waivers import build_waiver_rule, waivers_at
from tests.conftest import Run
from tests.suppression.waived import FACTS, ID, LOCK, project, waiver

TODAY = date(2026, 11, 22)
SETTINGS = (
    ("training.gradient_accumulation_steps", 8),
    ("model.architecture", ("LlavaForConditionalGeneration",)),
)


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return load()


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def judged(
    base: KnowledgeBase,
    *sources: str,
    today: date = TODAY,
    targets: tuple[str, ...] = (),
    options: AuditOptions | None = None,
) -> tuple[list[Audit], tuple[Remark, ...]]:
    """Lockfiles with the waivers of ``gradcompat.toml``."""
    wanted = options or AuditOptions(settings=SETTINGS, only=frozenset({ID}), advise=False)
    given, judging = build_waiver_rule(waivers_at("gradcompat.toml"), base, wanted, today, targets)
    audits = [audit(Task(File(Path(source), source)), base, given) for source in sources or ("uv.lock",)]
    judgement = judging(audits)
    return suppress(audits, [judgement.judge]), judgement.remarks


def kinds(remarks: tuple[Remark, ...]) -> list[tuple[str, str, int | None]]:
    return [(one.kind, one.level, one.location.line) for one in remarks]


def test_a_waived_finding_does_not_count_and_says_who_waived_it(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver(until="2026-12-31"))
    ((one,), remarks) = judged(base)
    assert one.findings == ()
    (found,) = one.suppressed
    said = found.suppressed
    assert said is not None
    assert (found.finding.issue.id, said.kind, said.reason, str(said.location), said.until) == (
        ID,
        "waiver",
        "one step only",
        "gradcompat.toml:1",
        "2026-12-31",
    )
    assert remarks == ()


@pytest.mark.parametrize(
    ("until", "today", "holds"),
    [
        ("2026-11-22", date(2026, 11, 22), True),  # the last day
        ("2026-11-22", date(2026, 11, 23), False),
        ('"2026-11-21"', date(2026, 11, 22), False),
        ("9999-12-31", date(2026, 11, 22), True),
    ],
)
def test_it_ends_with_its_last_day(base: KnowledgeBase, here: Path, until: str, today: date, holds: bool) -> None:
    project(here, waiver(until=until))
    ((one,), remarks) = judged(base, today=today)
    assert (len(one.suppressed), len(one.findings)) == ((1, 0) if holds else (0, 1))
    assert kinds(remarks) == ([] if holds else [("expired-waiver", "warning", 1)])


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ('{ transformers = "==4.49.0" }', None),
        ('{ Transformers = ">=4.49,<4.50", torch = "==2.5.1" }', None),
        ('{ pytorch = "==2.5.1" }', None),  # as conda calls it
        ('{ transformers = "==4.50.0 || ==4.49.0" }', None),
        ('{ transformers = "==4.48.3" }', "transformers is 4.49.0 in uv.lock, and no longer ==4.48.3"),
        ('{ torch = "==2.6.0" }', "torch is 2.5.1 in uv.lock, and no longer ==2.6.0"),
        ('{ peft = "*" }', "no version of peft is known in uv.lock, and it is for *"),
    ],
)
def test_it_ends_when_a_version_changes(base: KnowledgeBase, here: Path, packages: str, said: str | None) -> None:
    project(here, waiver(packages=packages))
    ((one,), remarks) = judged(base)
    assert len(one.suppressed) == (said is None)
    assert [remark.text for remark in remarks] == ([] if said is None else [f"expired waiver of {ID}: {said}"])


def test_a_build_of_a_commit_is_waived_by_its_full_version(base: KnowledgeBase, here: Path) -> None:
    lock = LOCK.replace('version = "2.5.1"', 'version = "2.6.0a0+ecf3bae40a.nv25.1"')
    project(here, waiver(packages='{ torch = "==2.6.0a0+ecf3bae40a.nv25.1" }'), lock=lock)
    assert len(judged(base)[0][0].suppressed) == 1
    project(here, waiver(packages='{ torch = "<2.6" }'), lock=lock)  # perhaps, and that is not enough
    assert len(judged(base)[0][0].suppressed) == 0


@pytest.mark.parametrize(("other", "waived"), [("4.57.0", True), ("4.51.0", False)])
def test_every_entry_of_the_finding_has_to_fit_and_no_other_one_of_its_name(
    base: KnowledgeBase, here: Path, other: str, waived: bool
) -> None:
    """4.57.0 does not have the defect, and 4.51.0 does."""
    fork = LOCK + LOCK[LOCK.index('[[package]]\nname = "transformers"') :].replace("4.49.0", other)
    for version, operator in (("4.49.0", ">="), (other, "<")):
        line = f'version = "{version}"\n'
        fork = fork.replace(line, f"{line}resolution-markers = [\"python_full_version {operator} '3.12'\"]\n")
    project(here, waiver(packages='{ transformers = "==4.49.0" }'), lock=fork)
    ((one,), remarks) = judged(base)
    assert (len(one.suppressed), len(one.findings)) == (int(waived), int(not waived))
    assert kinds(remarks) == ([] if waived else [("expired-waiver", "warning", 1)])


@pytest.mark.parametrize(
    ("pattern", "waived"),
    [
        ("uv.lock", ["uv.lock", "a/uv.lock", "a/b/uv.lock"]),
        ("/uv.lock", ["uv.lock"]),
        ("a/uv.lock", ["a/uv.lock"]),
        ("*/uv.lock", ["a/uv.lock"]),
        ("a/**/uv.lock", ["a/uv.lock", "a/b/uv.lock"]),
        ("a/", ["a/uv.lock", "a/b/uv.lock"]),
        ("b", ["a/b/uv.lock"]),
        ("UV.lock", []),
    ],
)
def test_a_path_is_a_pattern_of_gitignore(base: KnowledgeBase, here: Path, pattern: str, waived: list[str]) -> None:
    project(here, waiver(path=f'"{pattern}"'))
    files = ["uv.lock", "a/uv.lock", "a/b/uv.lock"]
    for file in files[1:]:
        (here / file).parent.mkdir()
        (here / file).write_text(LOCK, "utf-8")
    audits, _ = judged(base, *files)
    assert [one.source for one in audits if one.suppressed] == waived


def test_a_path_counts_from_the_waiver_s_own_file(
    base: KnowledgeBase, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(here, waiver(path='"/a/uv.lock"'))
    (here / "a").mkdir()
    (here / "a" / "uv.lock").write_text(LOCK, "utf-8")
    monkeypatch.chdir(here / "a")
    given, judging = build_waiver_rule(
        waivers_at("../gradcompat.toml"), base, AuditOptions(only=frozenset({ID}), presume=False), TODAY
    )
    audits = [audit(Task(File(Path(name), name)), base, given) for name in ("uv.lock", "../uv.lock")]
    judge = judging(audits).judge
    assert [judge(one, one.findings[0]) is not None for one in audits] == [True, False]


def test_it_may_name_the_file_in_which_the_pin_stands(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver(path='"base.txt"'))
    (here / "base.txt").write_text("transformers==4.49.0\n", "utf-8")
    (here / "requirements.txt").write_text("-r base.txt\ntorch==2.5.1\n", "utf-8")
    ((one,), _) = judged(base, "requirements.txt")
    assert len(one.suppressed) == 1


@pytest.mark.parametrize(
    ("table", "kind", "text"),
    [
        (waiver(id='"GC-0002"'), "unused", "unused waiver of GC-0002: no finding here needs it"),
        (waiver(id='"GC-9999"'), "unknown", "unknown waiver of GC-9999: there is no such record"),
        (waiver(until="2026-01-01"), "expired", f"expired waiver of {ID}: its last day was 2026-01-01"),
    ],
)
def test_a_waiver_that_does_nothing_is_said(base: KnowledgeBase, here: Path, table: str, kind: str, text: str) -> None:
    every = AuditOptions(settings=(("training.gradient_accumulation_steps", 1),), advise=False)
    for level in ("note", "warning", "error"):
        project(here, table, levels=f'{kind}-waivers = "{level}"\n')
        _, remarks = judged(base, options=every)
        assert [(one.kind, one.level, one.text, one.location.line) for one in remarks] == [
            (f"{kind}-waiver", level, text, 2)
        ]
    project(here, table, levels=f'{kind}-waivers = "ignore"\n')
    assert judged(base, options=every)[1] == ()


def test_two_waivers_of_one_finding_are_both_used(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver(reason='"first"'), waiver(reason='"second"'))
    ((one,), remarks) = judged(base)
    assert one.suppressed[0].suppressed is not None
    assert (one.suppressed[0].suppressed.reason, remarks) == ("first", ())


def test_what_was_not_looked_for_does_not_make_a_waiver_unused(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver(id='"GC-0002"'))
    assert judged(base)[1] == ()  # --only another one
    assert judged(base, options=AuditOptions(ignore=frozenset({"GC-0002"}), advise=False))[1] == ()
    assert judged(base, "none.lock", options=AuditOptions(advise=False))[1] == ()  # could not be read


def test_a_path_that_was_not_checked_is_unused_only_if_the_whole_project_was(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver(path='"services/*/uv.lock"'))
    assert judged(base, targets=("uv.lock",))[1] == ()
    assert kinds(judged(base, targets=(".",))[1]) == [("unused-waiver", "warning", 1)]
    (here / "sub").mkdir()
    assert judged(base, targets=("sub",))[1] == ()


def test_a_possible_finding_is_waived_and_what_does_not_apply_never(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver())
    ((one,), remarks) = judged(base, options=AuditOptions(only=frozenset({ID}), advise=False, presume=False))
    assert [found.finding.status for found in one.suppressed] == ["conditional"]
    assert remarks == ()
    # What is dormant needs no waiver, and the waiver is there for the day on which it does.
    ((one,), remarks) = judged(base, options=AuditOptions(only=frozenset({ID}), advise=False))
    assert ([found.finding.status for found in one.findings], one.suppressed, remarks) == (["dormant"], (), ())
    stated = AuditOptions(
        settings=(("training.gradient_accumulation_steps", 1),), only=frozenset({ID}), show_all=True, advise=False
    )
    ((one,), remarks) = judged(base, options=stated)
    assert ([found.finding.status for found in one.findings], one.suppressed) == (["not_affected"], ())
    assert kinds(remarks) == [("unused-waiver", "warning", 1)]


@pytest.mark.parametrize(("level", "status"), [("error", 1), ("warning", 0), ("ignore", 0)])
def test_a_level_of_error_makes_the_exit_status_1(run: Run, here: Path, level: str, status: int) -> None:
    project(here, waiver(until="2020-01-01"), waiver(until="2099-12-31"), levels=f'expired-waivers = "{level}"\n')
    outcome = run("check", "uv.lock", *FACTS)
    assert outcome.status == status
    said = f"{level}: gradcompat.toml:2: expired waiver of {ID}: its last day was 2020-01-01\n"
    assert (said in outcome.out) == (level != "ignore")
    assert "1 suppressed, by a waiver; --show-suppressed lists them\n" in outcome.out


def test_a_remark_hides_neither_what_could_not_be_read_nor_what_was_not_checked(run: Run, here: Path) -> None:
    project(here, waiver(until="2020-01-01"), levels='expired-waivers = "error"\n')
    assert run("check", "none.lock").status == 2
    (here / "requirements.txt").write_text("torch>=2\n-r gone.txt\n", "utf-8")
    assert run("check", "requirements.txt").status == 1
    project(here, waiver(until="2020-01-01"))
    assert run("check", "requirements.txt").status == 3


def test_it_can_be_listed(run: Run, here: Path) -> None:
    project(here, waiver(packages='{ transformers = "==4.49.0" }'))
    outcome = run("check", "uv.lock", *FACTS, "--show-suppressed")
    assert outcome.status == 0
    assert outcome.out.split("Suppressed:\n")[1].splitlines()[2:4] == [
        "    at  uv.lock:16 transformers 4.49.0",
        "    by  waiver, gradcompat.toml:1, until transformers is no longer ==4.49.0: one step only",
    ]
    data = json.loads(run("check", "uv.lock", *FACTS, "--format", "json").out)
    (found,) = [one for one in data["findings"] if one["suppressed"]]
    assert (found["id"], found["status"], data["exit_status"]) == (ID, "affected", 0)
    hidden = json.loads(run("check", "uv.lock", *FACTS, "--only", ID, "--format", "sarif", "--hide-suppressed").out)
    assert hidden["runs"][0]["results"] == []


@pytest.mark.e2e  # starts the processes that read
def test_many_lockfiles_are_judged_alike_in_all_processes(run: Run, here: Path) -> None:
    project(here, waiver(packages='{ torch = "==2.5.1" }'))
    for number in range(18):
        lock = LOCK if number % 2 else LOCK.replace("2.5.1", "2.6.0")
        (here / f"{number:02}").mkdir()
        (here / f"{number:02}" / "uv.lock").write_text(lock, "utf-8")
    data = json.loads(run("check", ".", *FACTS, "--only", ID, "--format", "json").out)
    waived = {one["source"] for one in data["findings"] if one["suppressed"]}
    assert waived == {"uv.lock", *(f"{number:02}/uv.lock" for number in range(1, 18, 2))}
    assert len(data["findings"]) == 19
    assert data["remarks"] == []


def test_a_function_takes_a_file_of_waivers(here: Path) -> None:
    project(here, waiver())
    settings: dict[str, Any] = dict(SETTINGS)
    assert gradcompat.check("uv.lock", settings=settings).exit_status == 1  # what lies about does not count
    report = gradcompat.check("uv.lock", settings=settings, waivers="gradcompat.toml")
    assert (report.exit_status, [one.finding.issue.id for one in report.suppressed]) == (0, [ID])
    with pytest.raises(UsageError, match="is not there"):
        gradcompat.check("uv.lock", waivers="other.toml")


def test_the_stage_asks_the_judges_in_order_and_leaves_the_rest(base: KnowledgeBase, here: Path) -> None:
    project(here, waiver())
    given, judging = build_waiver_rule(
        waivers_at("gradcompat.toml"), base, AuditOptions(only=frozenset({ID}), presume=False), TODAY
    )
    asked: list[str] = []

    def other(audits: Any) -> Any:
        asked.append("other")
        return judging(audits)

    from gradcompat.audit.targets import AuditRequest

    sources: list[Any] = [File(Path("uv.lock"), "uv.lock")]
    report = build_report(AuditRequest(sources, None, []), base, given, judging=[judging, other])
    assert (len(report.suppressed), report.findings, asked) == (1, (), ["other"])
