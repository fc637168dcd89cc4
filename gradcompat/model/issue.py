"""An issue of the knowledge base: any of its combinations, each all of its terms.

A term is an instance of one of the classes below; :data:`Term` is their union.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass, field

if TYPE_CHECKING:
    from gradcompat.model.probe import ProbeSpec

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("note", "warning", "error")  # from low to high

# What an independent check of a record may look at.
Checked = Literal["bounds", "conditions", "remedies"]
# The first part of the id of an issue that is no record, but was read in released files: `import:peft:transformers`.
BREAKS = ("import", "code")

Basis = Literal["measured", "tags", "wheels", "release-notes", "reported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageTerm:
    """A package of this (canonical) name is there, in one of these versions."""

    name: str
    versions: VersionSet


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageAbsentTerm:
    """No package of this (canonical) name is there."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingTerm:
    """A setting has one of these values, or lies in a numeric range.

    Exactly one of ``values`` and ``comparison`` is set. ``comparison`` is an operator (``>``, ``>=``, ``<``, ``<=``,
    ``!=``) and its operand. ``values`` compare equal; strings may hold ``*`` and ``?`` as in a shell.
    """

    key: str
    values: tuple[bool | int | float | str, ...] = ()
    comparison: tuple[str, int | float | str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTerm:
    """The model is of one of these classes (``LlavaForConditionalGeneration``; ``*`` as in a shell)."""

    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolTerm:
    """The training code uses one of these symbols (``transformers.Adafactor``).

    Attributes:
        symbols: patterns of names and of calls (:mod:`gradcompat.terms.symbol_patterns`).
        arguments: what the first of them asks of the arguments, in words; empty for a name.
    """

    symbols: tuple[str, ...]
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolAbsentTerm:
    """The training code uses none of these symbols: mostly what keeps a defect from harm, or cures it.

    Attributes:
        symbols: patterns of names and of calls.
        arguments: as of :class:`SymbolTerm`.
    """

    symbols: tuple[str, ...]
    arguments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonTerm:
    """The interpreter is one of these versions."""

    versions: VersionSet


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformTerm:
    """``sys.platform`` is one of these."""

    platforms: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualTerm:
    """A fact of the host (``__cuda``, ``__cuda_arch``, ``__nvidia_driver``, …) is one of these versions."""

    name: str
    versions: VersionSet


Term = (
    PackageTerm
    | PackageAbsentTerm
    | SettingTerm
    | ModelTerm
    | SymbolTerm
    | SymbolAbsentTerm
    | PythonTerm
    | PlatformTerm
    | VirtualTerm
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """All of these terms hold. There is at least one :class:`PackageTerm` among them.

    Attributes:
        terms: all of them.
        packages: those about a version of a package.
        absent: those about a package that is not there.
        beyond: those about the run and the host.
    """

    terms: tuple[Term, ...]
    packages: tuple[PackageTerm, ...] = field(init=False, repr=False, compare=False)
    absent: tuple[PackageAbsentTerm, ...] = field(init=False, repr=False, compare=False)
    beyond: tuple[Term, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the terms by what they are about, which each environment and run asks for."""
        packages: list[PackageTerm] = []
        absent: list[PackageAbsentTerm] = []
        beyond: list[Term] = []
        for term in self.terms:
            if isinstance(term, PackageTerm):
                packages.append(term)
            elif isinstance(term, PackageAbsentTerm):
                absent.append(term)
            else:
                beyond.append(term)
        object.__setattr__(self, "packages", tuple(packages))
        object.__setattr__(self, "absent", tuple(absent))
        object.__setattr__(self, "beyond", tuple(beyond))

    def __reduce__(self) -> tuple[Callable[[tuple[Term, ...]], Combination], tuple[tuple[Term, ...]]]:
        """What is told of to another process is not matched there."""
        return _combination, (self.terms,)


def _combination(terms: tuple[Term, ...]) -> Combination:
    return Combination(terms=terms)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRemedy:
    """Move a package into these versions; ``kind`` says which way that is."""

    kind: Literal["upgrade", "downgrade"]
    package: str
    versions: VersionSet
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRemedy:
    """Give a setting this value, which the releases in ``packages`` take."""

    key: str
    value: bool | int | float | str
    packages: Mapping[str, VersionSet] = field(default_factory=dict)
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRemedy:
    """Change the training code; ``text`` says how, in one sentence or one line of code."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRemedy:
    """Install the packages so that they go together; ``text`` says which do, and a plan finds versions."""

    text: str


Remedy = VersionRemedy | SettingRemedy | CodeRemedy | InstallRemedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One end of a range that is known in another way than the rest of the record.

    Attributes:
        package: whose range.
        versions: everything on the side of the end on which the range lies: ``>=4.30.0``.
        basis: how it is known.
    """

    package: str
    versions: VersionSet
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Where something is shown; ``type`` as in OSV, with INTRODUCED beside FIX."""

    type: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueProbe:
    """A measurement that shows the issue.

    Attributes:
        spec: what is run.
        quantities: the measured values that the issue is about; empty for all that the recipe expects something of.
        combinations: positions in ``affected`` of those that it proves; empty for all.
    """

    spec: ProbeSpec
    quantities: tuple[str, ...] = ()
    combinations: tuple[int, ...] = ()

    def proves(self, position: int) -> bool:
        """Is it about this combination of the issue?"""
        return not self.combinations or position in self.combinations


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """An independent check of a record: by other code than its author's.

    Attributes:
        date: the day, as ``2026-11-22``.
        what: the parts that were checked: ``bounds`` (the releases next to each), ``conditions`` (each negated by
            itself) and ``remedies`` (each was followed).
    """

    date: str
    what: tuple[Checked, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One curated record.

    ``instead_of`` names more general records of the same defect: where this one is affected, they are not told.

    Most records that are matched are not told of. So :meth:`read_later` makes one of what the matcher needs, and the
    rest is read as soon as somebody asks for any of it.
    """

    id: str
    summary: str
    details: str
    level: Level
    silent: bool
    informational: bool
    categories: tuple[str, ...]
    affected: tuple[Combination, ...]
    symptoms: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    references: tuple[Reference, ...]
    range_basis: Basis
    evidence: tuple[str, ...]
    withdrawn: str | None
    instead_of: tuple[str, ...] = ()
    probes: tuple[IssueProbe, ...] = ()
    bounds: tuple[Bound, ...] = ()
    checked: Check | None = None
    _rest: Callable[[], Mapping[str, Any]] | None = field(init=False, default=None, repr=False, compare=False)

    @classmethod
    def read_later(cls, rest: Callable[[], Mapping[str, Any]], **known: Any) -> Issue:
        """An issue of which some fields are known, and ``rest`` reads all others."""
        issue = object.__new__(cls)
        for name, value in {**known, "_rest": rest}.items():
            object.__setattr__(issue, name, value)
        return issue

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A field that was not read yet; nothing else of an issue is not there."""
            rest = None if name.startswith("_") else self._rest
            if rest is None:
                raise AttributeError(f"an issue has no {name}")
            for other, value in {**rest(), "_rest": None}.items():
                object.__setattr__(self, other, value)
            return getattr(self, name)


def is_break(identifier: str) -> bool:
    """Is it the id of a break, which released files show by themselves, and not of a record?"""
    return identifier.partition(":")[0] in BREAKS and ":" in identifier


def as_written(identifier: str) -> str:
    """An id as reports have it: a record's in capitals, a break's as it is."""
    return identifier if is_break(identifier) else identifier.upper()
