"""The smallest change after which no finding is left, what was tried beside it, and what was verified."""

from __future__ import annotations

from typing import Literal

from gradcompat.model.environment import Location, SettingValue
from gradcompat.startup.lazy_dataclasses import dataclass, field

ChangeKind = Literal["upgrade", "downgrade", "add"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One package moves to another version.

    Attributes:
        package: its name in the environment.
        version_from: the version that is there; None for a package that is added, or of which only a range is known.
        version_to: the version that it moves to.
        kind: which way.
        direct: the project asks for it itself; None where nobody knows what the project asks for.
        cures: ids of the findings that this change takes part in curing.
        because: why, where it is not for a finding: "torchvision 0.19.0 requires torch==2.4.0".
        locations: where its pins stand.
    """

    package: str
    version_from: str | None
    version_to: str
    kind: ChangeKind
    direct: bool | None
    cures: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingChange:
    """One setting takes another value.

    Attributes:
        key: in the vocabulary.
        value: what it has to be.
        cures: ids of the findings that it cures.
        location: where it stands now, if it stands in one place.
        line: what has to stand there.
        note: what the record says about it.
    """

    key: str
    value: SettingValue
    cures: tuple[str, ...]
    location: Location | None = None
    line: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeChange:
    """The training code changes; nobody can try that from here."""

    text: str
    cures: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another way, which costs more, or which something blocks.

    Attributes:
        changes: the versions that it would move.
        settings: the settings that it would change.
        code: the code that it would change.
        fixed: ids of the findings that it would cure.
        remaining: ids of the findings at or above the level that it would leave.
        cost: the cost in words: "2 packages, one of them a major version up".
        blocked: what stands in its way, each a sentence; none if it is only dearer.
    """

    changes: tuple[Change, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    code: tuple[CodeChange, ...] = ()
    fixed: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    cost: str = ""
    blocked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What stands behind a plan.

    Attributes:
        matched_again: the plan was applied to the environment, and matching it again found what is said to remain.
        requirements: every Requires-Dist that the plan touches was seen and holds; None where none could be looked at.
        wheels: every release that the plan moves to has a wheel for the target.
        smallest: no cheaper plan exists; False if the search was cut off.
        against: what releases and requirements were looked up in.
        target: the interpreter and the machine in words: "Python 3.11 on Linux x86_64".
        unverified: what could not be verified, each a sentence; any of them makes the result incomplete.
        notes: what is worth knowing and takes nothing back: "flash-attn has to be built again".
    """

    matched_again: bool
    requirements: bool | None
    wheels: bool | None
    smallest: bool
    against: str
    target: str
    unverified: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The smallest change of one environment.

    Attributes:
        source: the environment, as the user calls it.
        complete: nothing at or above the level remains.
        changes: packages: those that cure something in the order in which a report names that, then the others by name.
        settings: settings to change beside or instead, in the same order.
        code: code to change beside or instead, in the same order.
        fixed: ids of the findings that go.
        introduced: ids of findings below the level that come; never one at or above it.
        remaining: ids of the findings at or above the level that stay; none if ``complete``.
        tolerated: ids of the findings below the level that stay.
        core: where no complete plan exists, why: the facts that cannot all hold, each a sentence.
        cost: the cost in words.
        alternatives: other ways, cheapest first.
        verified: what stands behind it.
    """

    source: str
    complete: bool
    changes: tuple[Change, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    code: tuple[CodeChange, ...] = ()
    fixed: tuple[str, ...] = ()
    introduced: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    core: tuple[str, ...] = ()
    cost: str = ""
    alternatives: tuple[Alternative, ...] = field(default_factory=tuple)
    verified: Verified
