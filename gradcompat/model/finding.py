"""What the matcher says about one issue in one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gradcompat.model.assumption import Assumption
from gradcompat.model.environment import Location, Package
from gradcompat.model.issue import Issue, Remedy, Term
from gradcompat.startup.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from gradcompat.model.plan import Change

Status = Literal["affected", "conditional", "dormant", "not_affected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A term that could not be decided.

    Attributes:
        key: what would have to be known: a setting's key, ``model.architecture``, ``code.symbols``, the name of a
            package, ``python``, ``platform`` or a virtual package.
        sentence: the condition in words, to go behind "affected if".
        unlisted: it is about a package that the environment does not list, and may hold besides.
        plain: the condition as a person would say it; empty where nothing may be presumed.
        asks: the fact that a person would be asked for; empty for ``key`` itself.
        likelihood: the share of usual values that satisfy it, from 0 to 1; it orders findings and decides nothing.
    """

    key: str
    sentence: str
    unlisted: bool = False
    plain: str = ""
    asks: str = ""
    likelihood: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A term that was seen to hold: the fact in words, and where it stands."""

    sentence: str
    location: Location | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One issue with one status in one environment.

    Attributes:
        packages: the entries that take part; several when a lockfile holds a name several times.
        because: what was seen to hold.
        unknown: for ``conditional``, alternatives of conditions: affected if all of the first hold, or all of the
            second, …. Empty otherwise.
        assumed: what was presumed to hold, for ``affected`` and ``conditional``; a fact for each is in ``because``
            otherwise.
        dormant: for ``dormant``, what is presumed not to be used, in words; empty otherwise.
        terms: the terms of the combination that matched first; what a remedy has to break.
        contexts: the training runs of which this is true, where some were looked at.
        location: the line of the code that it is about; None for what is about the entries.
    """

    issue: Issue
    status: Status
    source: str
    packages: tuple[Package, ...]
    because: tuple[Reason, ...]
    unknown: tuple[tuple[Unknown, ...], ...]
    terms: tuple[Term, ...]
    contexts: tuple[str, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    dormant: tuple[str, ...] = ()
    location: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The smallest known change that clears a finding, tried by matching again.

    Attributes:
        remedy: the change.
        clears: matching again without this finding was seen; False for a change of code, which cannot be tried here.
        current: the version that is there now, or the several joined; None for a range, or if no version moves.
        target: the version a version remedy was tried with.
        package: the name of that package in this environment; another one of its family than the record may say.
        introduces: ids of issues that would newly be found after the change.
        location: where the setting stands that has to change.
        line: what has to stand there instead.
        changes: every package that moves with it, the one of the remedy first; empty if none does.
    """

    remedy: Remedy
    clears: bool
    current: str | None = None
    target: str | None
    package: str | None = None
    introduces: tuple[str, ...]
    location: Location | None = None
    line: str | None = None
    changes: tuple[Change, ...] = ()
