"""What users see, for an invented environment that has every kind of finding; compared with golden files."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gradcompat.audit.auditor import audit_all
from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.report_parts import parts_of
from gradcompat.audit.targets import AuditRequest, Source, Unreadable
from gradcompat.errors import UnsupportedFormatVersion
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from
from gradcompat.knowledge.records import read
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.model.issue import Level
from gradcompat.model.report import Audit, Newer, Report
from gradcompat.renderers.registry import RENDERERS
from gradcompat.renderers.summary_text import summary
from gradcompat.renderers.terminal import safe, wrapped
from tests.renderers.reports import advised, audit, parted, record, rendered
from tests.renderers.reports import report as invented

RECORDS = Path(__file__).parents[1] / "data" / "records.yaml"


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    authored = read(RECORDS)
    assert authored.problems == ()
    return knowledge_from(compile_records(authored), "records.yaml")


def pin(name: str, version: str | None, line: int, **more: object) -> Package:
    return Package(name=name, version=version, location=Location(path="uv.lock", line=line, column=11), **more)  # type: ignore[arg-type]  # the tests below pass fields of Package


def lockfile() -> Environment:
    return Environment(
        source="uv.lock",
        kind="uv.lock",
        packages=(
            pin("lightning", "2.0.3", 10),
            pin("peft", "0.19.0", 20),
            pin("torch", "2.7.0+cu126", 30),
            pin("transformers", "4.49.0", 40, extras=("train",), marker="extra == 'train'"),
            pin("transformers", "4.51.3", 50, marker="sys_platform == 'darwin' and extra != 'train'"),
        ),
        closed=True,
        skipped=(
            Skipped(
                what="line 60", reason="`clip==1.0==` is no requirement", location=Location(path="uv.lock", line=60)
            ),
            Skipped(what="pyproject.toml", reason="declares ranges, which uv.lock beside it resolves", gap=False),
        ),
    )


def report(base: KnowledgeBase, options: AuditOptions) -> Report:
    sources: list[Source] = [
        lockfile(),
        Environment(source="clean.lock", kind="uv.lock", packages=(pin("numpy", "2.0.0", 1),), closed=True),
        Environment(
            source="other.lock", kind="uv.lock", packages=(pin("torch", None, 3, specifier=">=2.4,<2.7"),), closed=False
        ),
        Unreadable(
            "new.lock",
            UnsupportedFormatVersion("lockfile version 3 is not supported", path="new.lock", hint="gradcompat reads 1"),
        ),
    ]
    audits = tuple(audit_all(AuditRequest(sources, None, []), base, options))
    return Report(
        audits=audits,
        records=len(base.records),
        digest="sha256:0",
        date=base.date,
        exit_status=exit_status(audits, options),
    )


@pytest.mark.parametrize("form", sorted(RENDERERS))
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("unseen", AuditOptions()),
        (
            "stated",
            AuditOptions(
                settings=(
                    ("training.gradient_accumulation_steps", 8),
                    ("model.architecture", ("LlavaForConditionalGeneration",)),
                    ("host.cuda_arch", "8.6"),
                ),
                show_all=True,
            ),
        ),
    ],
)
def test_report(
    base: KnowledgeBase,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    name: str,
    options: AuditOptions,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS[form].module}").render(report(base, options), out)
    golden(f"{name}.{'txt' if form == 'text' else form}", out.getvalue())


@pytest.mark.parametrize("form", sorted(RENDERERS))
@pytest.mark.parametrize(("name", "everything"), [("parts", False), ("parts-all", True)])
def test_every_format_tells_the_parts_in_one_order(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch, form: str, name: str, *, everything: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    some = replace(parted(), show_all=everything)
    golden(f"{name}.{'txt' if form == 'text' else form}", rendered(some, form))


# Those that people read from the top; the others are sorted by what reads them.
READ = ("github", "gitlab", "html", "markdown", "sarif", "text")


@pytest.mark.parametrize("form", READ)
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_the_order_is_that_of_the_parts_whatever_order_findings_come_in(form: str, step: int) -> None:
    """Affected, worth knowing, what could apply, questions, what is dormant, what was measured not to apply."""
    (whole,) = parted().audits
    mixed = [one for start in range(step) for one in reversed(whole.findings[start::step])]
    parts = parts_of(mixed)
    ids = [
        *(one.finding.issue.id for one in (*parts.affected, *parts.informational, *parts.possible)),
        *(identifier for question in parts.questions for identifier in question.ids),
        *(one.finding.issue.id for one in parts.refuted),
    ]
    told = rendered(replace(parted(), audits=(replace(whole, findings=tuple(mixed)),)), form).replace("\\", "")
    found = ids_in_order(told)
    assert found == [identifier for identifier in ids if identifier in found]
    assert {one.finding.issue.id for one in (*parts.affected, *parts.possible)} <= set(found)
    features = [told.find(f"{feature} ({len(hanging)})") for feature, hanging in parts.dormant]
    if form in ("html", "markdown", "text"):
        last = max(told.find(question.key) for question in parts.questions)
        assert [last, *features] == sorted([last, *features])


@pytest.mark.parametrize("form", sorted(RENDERERS.keys() - {"json", "cyclonedx-vex", "openvex"}))
def test_only_what_is_shown_by_itself_is_named_without_all(form: str) -> None:
    told = rendered(parted(), form).replace("\\", "")
    for identifier in ("GC-0011", "GC-0022", "GC-0023", "GC-0024", "GC-0025", "GC-0026"):
        assert identifier in told
    for identifier in ("GC-0041", "GC-0042", "GC-0043", "GC-0044"):
        assert identifier not in told
    # What could apply and is not shown is part of a question, where the format has one.
    alone = [line for line in told.splitlines() if "GC-0021" in line]
    assert all("decides" in line for line in alone)


def ids_in_order(told: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"GC-\d{4}", told.replace("\\", ""))))


@pytest.mark.parametrize("form", ["markdown", "html", "sarif", "github", "gitlab", "junit"])
def test_every_format_tells_of_several_environments_what_the_text_tells(form: str) -> None:
    first = parted().audits[0]
    second = replace(
        first,
        source="b/uv.lock",
        findings=tuple(
            replace(
                one,
                finding=replace(
                    one.finding,
                    issue=replace(one.finding.issue, id=one.finding.issue.id.replace("GC-002", "GC-102")),
                    packages=(
                        Package(name="transformers", version="4.49.0", location=Location(path="b/uv.lock", line=3)),
                    ),
                ),
            )
            for one in first.findings
            if one.finding.issue.id < "GC-0040"
        ),
    )
    some = replace(parted(), audits=(first, second))
    open_ones = {
        one.finding.issue.id for one in some.findings if one.finding.status == "conditional" and not one.refuted
    }
    text = rendered(some, "text").split("Could apply:\n")[1].split("\n\n")[0]
    expected = ids_in_order(text)
    assert len(expected) == 5
    told = rendered(some, form)
    if form == "junit":  # its cases stand in the suites of their environments
        told = "".join(re.findall(r'GC-\d+[^>]*>\s*<skipped message="The', told))
        assert sorted(ids_in_order(told)) == sorted(expected)
        return
    if form == "sarif":
        (run,) = json.loads(told)["runs"]
        notes = [one for one in _notifications(run) if one.get("descriptor", {}).get("id") == "conditional"]
        told = json.dumps([one["associatedRule"] for one in notes])
    told = "\n".join(line for line in told.splitlines() if not re.search(r"decides|could bring", line))
    assert [one for one in ids_in_order(told) if one in open_ones] == expected


@pytest.mark.parametrize("form", sorted(RENDERERS))
@pytest.mark.parametrize("everything", [False, True])
def test_an_open_finding_is_never_headed_by_error(form: str, *, everything: bool) -> None:
    sure = {"GC-0011", "GC-0012"}
    findings = tuple(one for one in parted().findings if one.finding.issue.id not in sure)
    told = rendered(replace(invented(audit(*findings)), show_all=everything), form)
    if form == "json":
        statuses = {one["status"] for one in json.loads(told)["findings"]}
        assert statuses == {"conditional", "dormant"}
        return
    heads = {
        "sarif": [one["level"] for run in json.loads(told)["runs"] for one in _notifications(run)]
        if form == "sarif"
        else [],
        "gitlab": [one["severity"] for one in json.loads(told)] if form == "gitlab" else [],
        "github": [line.split(" ")[0].strip(":") for line in told.splitlines()],
    }.get(form, [])
    assert {"error", "critical", "major", "warning"}.isdisjoint(heads)
    if form in ("text", "markdown", "html"):
        assert "error GC" not in told
        assert "error, " not in told
    if form in ("cyclonedx-vex", "openvex"):
        assert "exploitable" not in told
        assert '"affected"' not in told


def _notifications(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [*run["results"], *(one for call in run["invocations"] for one in call["toolExecutionNotifications"])]


@pytest.mark.parametrize("form", sorted(RENDERERS.keys() & {"text", "markdown", "html"}))
def test_the_summary_is_the_same_everywhere(form: str) -> None:
    said = summary(parted())
    assert said.startswith("1 error, 1 note, 9 could apply, 4 for features that are not used, 1 not checked")
    assert said.split(" (")[0] in rendered(parted(), form).replace("\\", "")


NEWER = Newer(name="transformers", version="5.24.0", horizon="5.23.0", date="2026-11-20", assumed=("GC-0002",))
SEEN = "5.24.0 (5.23.0, 2026-11-20)"


@pytest.mark.parametrize(
    ("newer", "said"),
    [
        ([], ""),
        ([replace(NEWER, assumed=())], ""),
        ([NEWER, NEWER], "transformers 5.24.0 is newer than this knowledge (5.23.0, 2026-11-20)"),
        (
            [NEWER, replace(NEWER, name="trl"), replace(NEWER, name="torch", assumed=())],
            f"transformers {SEEN} and trl {SEEN} are newer than this knowledge",
        ),
        (
            [replace(NEWER, name=name) for name in ("accelerate", "peft", "torch", "transformers", "trl")],
            f"accelerate {SEEN}, peft {SEEN}, torch {SEEN} and 2 more are newer than this knowledge",
        ),
    ],
)
def test_what_nobody_has_looked_at_is_one_sentence(newer: list[Newer], said: str) -> None:
    audits = tuple(
        Audit(source="a", kind="a", packages=1, recognised=1, findings=(), skipped=(), newer=(one,)) for one in newer
    )
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS['text'].module}").render(
        Report(audits=audits, records=1, digest="", date="2026-11-20", exit_status=0), out
    )
    paragraph = [" ".join(text.split("\n")) for text in out.getvalue().split("\n\n") if "newer" in text]
    assert paragraph == ([f"{said}: known unfixed defects are assumed to remain"] if said else [])


def test_text_never_colours_or_trails(base: KnowledgeBase) -> None:
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS['text'].module}").render(report(base, AuditOptions()), out)
    assert all(line == line.rstrip() and line.isprintable() for line in out.getvalue().splitlines())


def test_safe_spells_out_what_a_terminal_would_obey() -> None:
    assert safe("torch\x1b]0;title\x07\u202e\n") == "torch\\x1b]0;title\\x07\\u202e\\n"
    assert safe("naïve — …") == "naïve — …"


def test_wrapped_keeps_a_long_word_whole() -> None:
    assert wrapped("a bb https://example.org/a/long/address c", 12, "> ", "  ") == (
        "> a bb\n  https://example.org/a/long/address\n  c"
    )


@pytest.mark.parametrize(
    ("levels", "option"),
    [(("error", "warning"), ""), (("warning", "note"), " --fail-on warning"), (("note",), " --fail-on note")],
)
def test_the_plan_that_is_named_has_a_change(levels: tuple[Level, ...], option: str) -> None:
    """By default a plan clears errors alone."""
    found = [advised(record(f"GC-000{number}", level)) for number, level in enumerate(levels, start=1)]
    assert f"gradcompat plan{option} with the same targets" in rendered(invented(audit(*found)), "text")
