"""Which probes to run: those of records, recipes by their names, or those of what an environment may have."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import NO_SUCH_ID, AuditOptions
from gradcompat.audit.targets import environment_of, resolve_targets
from gradcompat.audit.verification import of_issues
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Issue
from gradcompat.model.probe import ProbeSpec
from gradcompat.recipes.table import BY_NAME
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.vocabulary import parse_setting

_RECORD_ID = lazy_pattern(r"[A-Za-z]+-[0-9]+")


@dataclass(frozen=True, slots=True)
class SelectedProbes:
    """What is run.

    Attributes:
        probes: by their specification, with the records that each shows.
        recipes: those of them that were named themselves, and are judged by all that they measure.
    """

    probes: dict[str, tuple[ProbeSpec, list[Issue]]]
    recipes: Collection[str]


def select_probes(
    identifiers: Sequence[str], base: KnowledgeBase, *, every: bool, python: str | None, facts: Sequence[str]
) -> SelectedProbes:
    """The probes that are asked for.

    Args:
        identifiers: ids of records and names of recipes; without one, the records that an environment has or may have.
        base: the records.
        every: all probes, where nothing is named.
        python: the interpreter whose environment is read; None for the active one.
        facts: ``KEY=VALUE`` of the training in it.

    Raises:
        UsageError: if something that is named is not known, or a record has no probe.
    """
    recipes = {name for identifier in identifiers if (name := identifier.lower()) in BY_NAME}
    named = [identifier for identifier in identifiers if identifier.lower() not in recipes]
    if every and not identifiers:
        wanted = _every(base)
    else:
        wanted = _named(named, base) if identifiers else _applying(python, facts, base)
    probes = of_issues(wanted)
    for name in sorted(recipes):
        probes.setdefault(name, (ProbeSpec(name=name), []))
    return SelectedProbes(probes, recipes)


def _named(identifiers: Sequence[str], base: KnowledgeBase) -> list[Issue]:
    issues = []
    for identifier in {identifier.upper(): identifier for identifier in identifiers}.values():
        issue = base.get(identifier)
        if issue is None:
            raise _unknown(identifier)
        if not issue.probes:
            raise UsageError(f"`{issue.id}` has no probe", hint=f"`gradcompat explain {issue.id}` has its evidence")
        issues.append(issue)
    return issues


def _unknown(identifier: str) -> UsageError:
    if _RECORD_ID.fullmatch(identifier):
        return UsageError(f"there is no record `{identifier.upper()}`", hint=NO_SUCH_ID)
    close = " or ".join(f"`{name}`" for name in difflib.get_close_matches(identifier.lower(), BY_NAME))
    known = f"did you mean {close}?" if close else f"recipes are {', '.join(BY_NAME)}"
    return UsageError(f"`{identifier}` is neither a record nor a recipe", hint=known)


def _every(base: KnowledgeBase) -> list[Issue]:
    return [issue for issue in base.in_force() if issue.probes]


def _applying(python: str | None, facts: Sequence[str], base: KnowledgeBase) -> list[Issue]:
    """The records with a probe that an environment has, or may have."""
    (source,) = resolve_targets((), python).sources
    found = match_runs(environment_of(source), (), base, AuditOptions(settings=tuple(map(parse_setting, facts))))
    return [finding.issue for finding in found.findings if finding.status != "not_affected" and finding.issue.probes]
