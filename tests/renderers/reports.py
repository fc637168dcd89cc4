"""Reports to render: one of each kind of finding, and ways to vary it."""

from __future__ import annotations

import io
from dataclasses import replace
from importlib import import_module

from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.model.finding import Advice, Finding, Reason, Status, Unknown
from gradcompat.model.issue import Issue, Level, VersionRemedy
from gradcompat.model.probe import Measurement, Outcome, ProbeResult, ProbeSpec
from gradcompat.model.report import Audit, Remark, Report, ReportedFinding, Suppression
from gradcompat.renderers.registry import RENDERERS
from gradcompat.requirements.versions import VersionSet
from tests.building import issue, versions

UPGRADE = VersionRemedy(kind="upgrade", package="transformers", versions=VersionSet.parse(">=4.52.1"))


def entry(name: str = "transformers", version: str | None = "4.49.0", line: int = 3, path: str = "uv.lock") -> Package:
    return Package(name=name, version=version, location=Location(path=path, line=line, column=11))


def record(identifier: str = "GC-0001", level: Level = "error", *, informational: bool = False) -> Issue:
    return issue(
        (versions("transformers", "<4.52.1"),),
        identifier=identifier,
        level=level,
        remedies=(UPGRADE,),
        informational=informational,
    )


def advised(
    about: Issue,
    *packages: Package,
    status: Status = "affected",
    probed: Outcome | None = None,
) -> ReportedFinding:
    sure = status == "affected"
    condition = ((Unknown(key="training.packing", sentence="training.packing is true"),),)
    return ReportedFinding(
        finding=Finding(
            issue=about,
            status=status,
            source="uv.lock",
            packages=packages or (entry(),),
            because=(Reason(sentence="training.seed is 1", location=Location(path="train.yaml", line=7, column=2)),)
            if sure
            else (),
            unknown=condition if status == "conditional" else (),
            terms=(),
        ),
        advice=Advice(
            remedy=UPGRADE,
            clears=True,
            current="4.49.0",
            target="4.52.1",
            package="transformers",
            introduces=(),
        )
        if sure
        else None,
        probed=() if probed is None else (verdict(probed),),
    )


def verdict(outcome: Outcome) -> ProbeResult:
    measurement = Measurement(
        spec=ProbeSpec(name="packing_equivalence"),
        state="measured",
        packages={"transformers": "4.49.0"},
        python="3.11.7",
        seconds=0.5,
    )
    return ProbeResult(measurement=measurement, outcome=outcome, reason="both losses are 2.5", issues=("GC-0003",))


def audit(*findings: ReportedFinding, source: str = "uv.lock", skipped: tuple[Skipped, ...] = ()) -> Audit:
    return Audit(source=source, kind="uv.lock", packages=2, recognised=1, findings=findings, skipped=skipped)


def report(*audits: Audit, exit_status: int = 1) -> Report:
    return Report(audits=audits, records=4, digest="sha256:0", date="2026-01-02", exit_status=exit_status)


GAP = Skipped(what="line 9", reason="`clip==1.0==` is no requirement", location=Location(path="uv.lock", line=9))
UNREAD = Audit(
    source="new.lock",
    kind=None,
    packages=0,
    recognised=0,
    findings=(),
    skipped=(Skipped(what="new.lock", reason="lockfile version 3 is not supported"),),
)


def everything() -> Report:
    """Each state once, in two environments, beside a clean one and one that could not be read."""
    return report(
        audit(
            advised(record("GC-0001")),
            advised(record("GC-0002", "warning"), entry(), entry("torch", None, 5)),
            advised(record("GC-0003"), status="conditional", probed="not_reproduced"),
            advised(record("GC-0004"), status="conditional"),
            advised(record("GC-0005", "note", informational=True)),
            advised(record("GC-0006"), status="not_affected"),
            skipped=(GAP, Skipped(what="pyproject.toml", reason="asks for ranges", gap=False)),
        ),
        audit(advised(record("GC-0001"), entry(path="b/uv.lock")), source="b/uv.lock"),
        audit(source="clean.lock"),
        UNREAD,
    )


ASSUMED = (
    Assumption(key="distributed.strategy", sentence="the run uses no DeepSpeed, FSDP or other sharding"),
    Assumption(
        key="training.max_grad_norm",
        sentence="training.max_grad_norm is 1.0",
        location=Location(path="default of transformers 4.49.0"),
    ),
)
RANGE = Skipped(
    what="trl",
    reason="only a range is given, no version; 1.16.0 is the newest release that is allowed",
    gap=False,
    range=True,
    newest="1.16.0",
    location=Location(path="uv.lock", line=8),
)


def presuming(one: ReportedFinding, *, dormant: tuple[str, ...] = ()) -> ReportedFinding:
    """The finding with presumptions, or one that hangs on features that are presumed not to be used."""
    assumed = () if dormant else ASSUMED
    return replace(one, finding=replace(one.finding, assumed=assumed, dormant=dormant))


def hanging_on(one: ReportedFinding, *facts: str, likelihood: float = 0.5) -> ReportedFinding:
    """The open finding with other conditions: all of these facts."""
    unknown = tuple(
        Unknown(key=key, sentence=f"{key} is true", plain=f"you set {key}", likelihood=likelihood) for key in facts
    )
    return replace(one, finding=replace(one.finding, unknown=(unknown,)))


_ASKED: tuple[tuple[int, Level, tuple[str, ...]], ...] = (
    (1, "error", ("training.optim", "training.bf16")),
    (2, "note", ("training.optim",)),
    (3, "warning", ("trl",)),
)


def parted() -> Report:
    """Each part of a report: affected, what could apply (one more than is shown), questions, dormant and a range."""
    possible = [
        hanging_on(advised(record(f"GC-002{number}"), status="conditional"), "training.packing", likelihood=number / 10)
        for number in range(1, 7)
    ]
    possible[-1] = presuming(possible[-1])
    asked = [
        hanging_on(advised(record(f"GC-003{number}", level), status="conditional"), *facts)
        for number, level, facts in _ASKED
    ]
    dormant = [
        presuming(advised(record(f"GC-004{number}"), status="dormant"), dormant=(feature,))
        for number, feature in enumerate(("DeepSpeed", "FSDP", "DeepSpeed", ""), start=1)
    ]
    return report(
        audit(
            presuming(advised(record("GC-0011"))),
            advised(record("GC-0012", "note", informational=True)),
            *possible,
            *asked,
            *dormant,
            advised(record("GC-0050"), status="conditional", probed="not_reproduced"),
            skipped=(GAP, RANGE),
        )
    )


WAIVER = Suppression(
    kind="waiver",
    reason="one step of accumulation only",
    location=Location(path="gradcompat.toml", line=4, column=1),
    until="2026-06-30",
)
FOR_GOOD = replace(WAIVER, until=None, location=Location(path="gradcompat.toml", line=9))
KNOWN = Suppression(kind="baseline", reason="the baseline has it", location=Location(path="old.json"))
UNUSED = Remark(
    kind="unused-waiver",
    level="warning",
    text="unused waiver of GC-0009: no finding here needs it",
    location=Location(path="gradcompat.toml", line=14),
)


def suppressed(one: ReportedFinding, why: Suppression = WAIVER) -> ReportedFinding:
    return replace(one, suppressed=why)


def partly_suppressed() -> Report:
    """Some of it counts, some does not; in one environment nothing does. One waiver does nothing any more."""
    first = replace(
        audit(advised(record("GC-0001"))),
        suppressed=(
            suppressed(advised(record("GC-0001"), entry(line=4))),
            suppressed(advised(record("GC-0002", "warning")), FOR_GOOD),
            suppressed(advised(record("GC-0004"), status="conditional"), KNOWN),
        ),
    )
    second = replace(
        audit(source="b/uv.lock"), suppressed=(suppressed(advised(record("GC-0003"), entry(path="b/uv.lock")), KNOWN),)
    )
    return replace(report(first, second, audit(source="clean.lock")), remarks=(UNUSED,))


def strictly(some: Report) -> Report:
    return replace(some, strict=True)


def rendered(some: Report, form: str) -> str:
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS[form].module}").render(some, out)
    return out.getvalue()
