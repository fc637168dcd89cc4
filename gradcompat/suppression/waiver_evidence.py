"""The result of a probe as the proof of a waiver: whether it is about the defect, and about these very versions.

What was measured is judged again, by the recipe as it is now. A proof that does not belong to a finding proves nothing,
and the waiver does not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from gradcompat.errors import SourceError, UsageError
from gradcompat.files.root import Root
from gradcompat.formats.document import read_document
from gradcompat.formats.json_text import parse
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matching.entries import Names
from gradcompat.messages import joined
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue, IssueProbe
from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.recipes.verdict import judge
from gradcompat.requirements.names import normalise

_HINT = "write one with `gradcompat probe ID --record FILE`"
_ANY_NUMBER = "processes"  # of a probe, which `--processes` may say otherwise than the record


Result = tuple[tuple[str, ...], str, Measurement]  # ids of records, the outcome of then, and what was measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a file of ``gradcompat probe --record`` has."""

    shown: str
    results: tuple[Result, ...]

    @property
    def packages(self) -> frozenset[str]:
        """Names of the packages that it was measured with."""
        return frozenset(normalise(name) for _, _, one in self.results for name in one.packages)


def read_proof(path: Path, shown: str, root: Root | None = None) -> Proof:
    """Read the file that a waiver names.

    Args:
        path: where it is.
        shown: how it is called.
        root: where it has to lie; None if the user has named it on the command line.

    Raises:
        UsageError: if it is not there, or is anything else.
    """
    try:
        content = parse(read_document(path, shown, root).text, shown)
    except SourceError as error:
        raise UsageError(
            f"cannot be the proof of a waiver: {error.message}", path=shown, line=error.line, hint=_HINT
        ) from None
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, list):
        raise UsageError("is not a result of `gradcompat probe`", path=shown, hint=_HINT)
    try:
        return Proof(shown=shown, results=tuple(map(_result, results)))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"is not a result of `gradcompat probe`: {_brief(error)}", path=shown, hint=_HINT) from None


def objection(
    proof: Proof, finding: Finding, source: str, versions: Mapping[str, Sequence[str | None]], base: KnowledgeBase
) -> str | None:
    """Why it does not prove that a finding is none; None if it does.

    Args:
        proof: what was measured.
        finding: that is waived.
        source: the environment.
        versions: name → versions of the packages that the proof speaks of, as the environment has them.
        base: the records; packages of which none speaks may have other versions.
    """
    if (said := verdict_against(proof, finding.issue)) is not None:
        return said
    measured = [_result_of(probe, proof, finding.issue) for probe in finding.issue.probes]
    seen = [one[2] for one in measured if one is not None]
    return _other_versions(seen, proof.shown, finding, source, versions, base)


def verdict_against(proof: Proof, issue: Issue) -> str | None:
    """Why it does not say that the defect of a record was not reproduced; None if it does."""
    if not issue.probes:
        return f"{issue.id} has no probe"
    for probe in issue.probes:
        found = _result_of(probe, proof, issue)
        if found is None:
            return f"{proof.shown} has no result of {probe.spec} for {issue.id}"
        _, outcome, measurement = found
        said = measurement.reason
        if outcome == "not_reproduced":
            outcome, said = judge(recipe_of(probe.spec), measurement, probe.quantities)
        if outcome != "not_reproduced":
            return f"{proof.shown} says {outcome.replace('_', ' ')}{f': {said}' if said else ''}"
    return None


def _result_of(probe: IssueProbe, proof: Proof, issue: Issue) -> Result | None:
    """The last result of a probe."""
    found = [result for result in proof.results if issue.id in result[0] and _same(result[2].spec, probe.spec)]
    return found[-1] if found else None


def _other_versions(
    measured: Sequence[Measurement],
    shown: str,
    finding: Finding,
    source: str,
    versions: Mapping[str, Sequence[str | None]],
    base: KnowledgeBase,
) -> str | None:
    names = base.names
    for measurement in measured:
        stated = {_canonical(name, names): version for name, version in measurement.packages.items()}
        for package in finding.packages:
            if names.canonical(package) not in stated:
                return f"{shown} does not say which {package.name} it was measured with"
        here = {name: list(versions.get(name, ())) for name in stated}
        # An entry of the finding counts, and not another one of the same name.
        here |= {
            name: [package.version for package in finding.packages if names.canonical(package) == name]
            for name in {names.canonical(package) for package in finding.packages}
        }
        for name, version in stated.items():
            if not base.knows(name):
                continue
            if not here[name]:
                return f"{shown} was measured with {name} {version}, and {source} has no {name}"
            other = [one for one in here[name] if not _same_version(one, version)]
            if other:
                has = joined(tuple(dict.fromkeys(one or "no version of it" for one in other)), "and")
                return f"{shown} was measured with {name} {version}, and {source} has {has}"
    return None


def _canonical(name: str, names: Names) -> str:
    return names.families.get(normalise(name), normalise(name))


def _same(measured: ProbeSpec, wanted: ProbeSpec) -> bool:
    """The same probe, on whatever number of processes."""
    left, right = (
        {k: v for k, v in probe_spec.parameters.items() if k != _ANY_NUMBER} for probe_spec in (measured, wanted)
    )
    return measured.name == wanted.name and left == right


def _same_version(here: str | None, measured: str) -> bool:
    """A lockfile may leave out the local label that the module tells; two labels that differ are two builds."""
    if here is None:
        return False
    try:
        one, other = Version(here), Version(measured)
    except ValueError:
        return here == measured
    labels = {label for label in (one.local, other.local) if label is not None}
    return Version(one.public) == Version(other.public) and len(labels) < 2


def _result(data: Any) -> Result:
    return (
        _texts(_of(dict, data)["issues"]),
        _of(str, data["outcome"]),
        Measurement(
            spec=ProbeSpec(name=_of(str, data["probe"]), parameters=_of(dict, data["parameters"])),
            state=_state(data["state"]),
            reason=_of(str, data["reason"]),
            values=_of(dict, data["measurements"]),
            packages=dict(zip(_of(dict, data["packages"]), _texts(data["packages"].values()), strict=True)),
            device=_of(str, data["device"]),
        ),
    )


def _state(value: Any) -> Any:
    if value not in ("measured", "skipped", "failed", "crashed", "hung", "memory"):
        raise ValueError(f"`{_short(value)}` is not a state")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_of(str, value) for value in values)


def _of(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"`{_short(value)}` is where {'text' if kind is str else 'an object'} should be")
    return value


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _brief(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
