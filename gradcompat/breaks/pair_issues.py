"""A pair of packages that cannot be imported together, as an issue: so it is matched, planned, waived and reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from gradcompat.breaks.pairs import Break, Need, Pair
from gradcompat.messages import joined, versions_text
from gradcompat.model.environment import Package
from gradcompat.model.finding import Finding, Reason
from gradcompat.model.issue import Combination, Issue, PackageTerm, VersionRemedy
from gradcompat.requirements.versions import BELOW, VersionSet, any_of, parse_version
from gradcompat.startup.lazy_dataclasses import replace

PAIR = "import"  # the first part of the id: import:peft:transformers
CODE = "code"  # the last part of it where the project's code imports what breaks
CATEGORIES = ("import",)
_SHOWN = 3


def break_issue(
    identifier: str, *, summary: str, details: str, categories: tuple[str, ...], affected: tuple[Combination, ...]
) -> Issue:
    """What was read in released files, as an issue: loud, an error, and with no reference but the files."""
    return Issue(
        id=identifier,
        summary=summary,
        details=details,
        level="error",
        silent=False,
        informational=False,
        categories=categories,
        affected=affected,
        symptoms=(),
        remedies=(),
        references=(),
        range_basis="wheels",
        evidence=(),
        withdrawn=None,
    )


def identifier_of(pair: Pair) -> str:
    """``import:peft:transformers``, or ``import:peft:transformers:code``."""
    return ":".join((PAIR, pair.consumer, pair.provider, *((CODE,) if pair.by_code else ())))


def pair_issue(pair: Pair) -> Issue:
    """The issue of a pair in all of its releases, for whoever looks for versions that go together."""
    breaks = any_of(one.consumers for one in pair.breaks)
    return break_issue(
        identifier_of(pair),
        summary=f"{_imported(pair)} cannot be imported with this {pair.provider}",
        details=(
            f"Importing {_imported(pair)} ({versions_text(breaks)}) executes imports from {pair.provider} that some of "
            "its releases cannot serve. This was read in the released files of both packages."
        ),
        categories=CATEGORIES,
        affected=tuple(
            Combination(
                terms=(
                    PackageTerm(name=pair.consumer, versions=one.consumers),
                    PackageTerm(name=pair.provider, versions=one.providers),
                )
            )
            for one in pair.breaks
        ),
    )


def _imported(pair: Pair) -> str:
    return f"what the code imports from {pair.consumer}" if pair.by_code else pair.consumer


def issue_of_versions(pair: Pair, broken: Break, consumer: str, provider: str) -> Issue:
    """The issue of a pair in the words of the versions that an environment has, with the ways out of it."""
    missed = broken.missed(provider)
    need = missed[0]
    return replace(
        pair_issue(pair),
        summary=f"{_imported(pair)} {consumer} cannot be imported with {pair.provider} {provider}: "
        f"it needs {need.text}, which {_lack(need, pair, provider)}",
        details="\n".join(
            f"{need.file}:{need.line} in the wheel of {pair.consumer} {consumer} imports {need.text}, which "
            f"{pair.provider} has not in {versions_text(need.absent)}."
            for need in missed
        ),
        remedies=tuple(_remedies(pair, consumer, provider)),
    )


def _lack(need: Need, pair: Pair, provider: str) -> str:
    """``5.0.0 removed``, or ``came with 4.52.1``, by the stretch of releases that lack it."""
    at = parse_version(provider)
    for low, high in need.absent.intervals:
        if at is None or low is None or high is None or not low[0] <= at <= high[0]:
            continue
        if low[0] != parse_version(pair.oldest):
            return f"{low[0]} removed"
        if high[1] == BELOW:
            return f"came with {high[0]}"
    return "it does not have"


def _remedies(pair: Pair, consumer: str, provider: str) -> Iterator[VersionRemedy]:
    """Another release of either package with which the other one goes together, up rather than down."""
    beside, here = VersionSet.parse(f"=={provider}"), VersionSet.parse(f"=={consumer}")
    own = ~any_of(one.consumers for one in pair.breaks if one.providers & beside)
    other = ~any_of(one.providers for one in pair.breaks if one.consumers & here)
    ways: tuple[tuple[Literal["upgrade", "downgrade"], str], ...] = (("upgrade", ">"), ("downgrade", "<"))
    for kind, operator in ways:
        for name, good, version in ((pair.consumer, own, consumer), (pair.provider, other, provider)):
            if versions := good & VersionSet.parse(f"{operator}{version}"):
                yield VersionRemedy(kind=kind, package=name, versions=versions)


def with_evidence(finding: Finding, pair: Pair, entries: Iterable[tuple[Package, Package]]) -> Finding:
    """The finding with the symbol and the file in the wheel in place of ranges."""
    reasons: list[Reason] = []
    for consumer, provider in entries:
        broken = pair.broken(consumer.version or "", provider.version or "")
        if broken is None:
            continue
        missed = broken.missed(provider.version or "")
        more = len(missed) - _SHOWN
        named = [f"{need.text} ({need.file}:{need.line})" for need in missed[:_SHOWN]]
        needed = joined((*named, *([f"{more} more"] if more > 0 else [])), "and")
        what, it = "this from " if pair.by_code else "", "it" if len(missed) == 1 else "them"
        sentence = (
            f"importing {what}{consumer.name} {consumer.version} needs {needed}, "
            f"and {provider.name} {provider.version} has {it} not"
        )
        reasons.append(Reason(sentence=sentence, location=consumer.location))
    return replace(finding, because=tuple(dict.fromkeys(reasons))) if reasons else finding
