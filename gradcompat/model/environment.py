"""What is installed, locked or asked for, as far as it could be seen.

Every reader returns an :class:`Environment`; the matcher takes nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal

from gradcompat.model.class_fact import ClassFact
from gradcompat.quotation import built_for
from gradcompat.redaction import redact
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

if TYPE_CHECKING:
    from gradcompat.model.release_question import ReleaseQuestion

# Where a package comes from, in the words of the lockfiles.
SourceKind = Literal["registry", "git", "url", "path", "directory", "editable", "virtual", "conda"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in a file, or a file as a whole; ``line`` and ``column`` count from 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One entry of a lockfile or one installed distribution.

    Attributes:
        name: as PEP 503 normalises it; for ``source == "conda"`` the conda name.
        version: the version as written, without operator; None if the entry names none.
        specifier: what is allowed where no version is named: PEP 440 operators joined by commas, ``||`` between
            alternatives, ``*`` for anything. Always None when ``version`` is given.
        source: where it comes from.
        marker: the environment marker under which the entry applies (PEP 508), as written.
        forks: named parts of the lockfile that the entry belongs to (pixi environments, conda-lock platforms, groups
            that conflict); empty means all of them. Two entries whose forks are disjoint are never installed together.
        extras: names of extras or groups that select this entry, for the reader of a finding; never decides a match.
        asked_extras: the extras that the requirement asks for, normalised; what they bring, a lockfile lists by itself.
        reached: markers of the dependencies that lead to the entry, one of which has to hold; empty if the lockfile
            does not say, or if something depends on it without a condition.
        unreleased: built from a checkout that is not known to be the tag of a release.
        trunk: what a repository holds today, newer than every release.
        releases: the final releases that the specifier allows, oldest first; of a trunk the newest one alone. Empty
            where nobody knows them.
        malformed_version: what stands where the version belongs has not the form of one; ``version`` is None then.
        build: which build of that version: conda's build string, or the variant that the index serves (``cu124``).
        location: where the pin stands.
    """

    name: str
    version: str | None
    specifier: str | None = None
    source: SourceKind = "registry"
    marker: str | None = None
    forks: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    asked_extras: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    unreleased: bool = False
    trunk: bool = False
    malformed_version: bool = False
    releases: tuple[str, ...] = ()
    build: str | None = None
    location: Location

    def __post_init__(self) -> None:
        if self.build is not None:
            object.__setattr__(self, "build", built_for(self.build))


# What a version of an interpreter looks like; a list may call anything `python`.
_PYTHON = lazy_pattern(r"\d+(?:\.\d+)*[\w.+-]{0,40}")

# A setting is a literal; a list of them stands where a tool takes several.
SettingValue = bool | int | float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One fact about the training run, in the vocabulary of :mod:`gradcompat.vocabulary`.

    Attributes:
        key: a key of the vocabulary.
        value: its value; None where it is set to something that is not literal (``${steps}``, ``auto``).
        location: where the value stands.
        presumed: it holds unless something says otherwise, and ``location`` is from where that is taken. It is no fact:
            any other setting of the key takes its place.
        spelling: the line with ``{}`` in the place of the value, to show a change: ``gradient_accumulation_steps: {}``.
        places: where each of several values stands, in their order; empty if all stand at ``location``.
        where: it counts where all of these are answered with yes, or may be: the program asks before it goes there.
    """

    key: str
    value: SettingValue | None
    location: Location
    spelling: str | None = None
    presumed: bool = False
    places: tuple[Location, ...] = ()
    where: tuple[ReleaseQuestion, ...] = ()

    def place(self, index: int) -> Location:
        """Where one of several values stands."""
        return self.places[index] if self.places else self.location

    def without(self, names: Collection[str]) -> Setting:
        """The setting without some of its values, if it has several."""
        if not names or not isinstance(self.value, tuple):
            return self
        kept = [index for index, one in enumerate(self.value) if one not in names]
        if len(kept) == len(self.value):
            return self
        places = tuple(self.places[index] for index in kept) if self.places else ()
        return replace(self, value=tuple(self.value[index] for index in kept), places=places)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something that was seen and not read; credentials in its words are hidden.

    ``gap`` says whether it could hide a defect: then the result is incomplete. A commented line or the project
    itself is no gap; an unreadable line is one. ``range`` says that it is a package of which only a range is known,
    and ``newest`` is the newest release that it allows, by which it was judged. ``empty`` says that the file lists
    nothing by itself, which is a gap only where nothing else of its folder lists packages.
    """

    what: str
    reason: str
    gap: bool = True
    location: Location | None = None
    range: bool = False
    newest: str | None = None
    empty: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "what", redact(self.what))
        object.__setattr__(self, "reason", redact(self.reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Packages, settings and host facts that hold together.

    Attributes:
        source: how the user calls it: a path, ``-`` or an interpreter.
        kind: the format it was read from (``uv.lock``, ``requirements``, ``installed``, …).
        packages: every entry, also when a name stands there several times.
        closed: a package that is not listed is not there. True for lockfiles and installed environments; False where
            only direct requirements or a part of the environment are listed.
        settings: what is known of the training run.
        skipped: what could not be read, with reasons.
        python: version of the interpreter, if one is known.
        platform: ``linux``, ``darwin`` or ``win32`` (``sys.platform``), if known.
        virtual: facts of the host as versions, keyed as in conda: ``__cuda``, ``__glibc``, ….
        excluded: platforms that it is surely not installed on, and virtual packages that its host surely lacks or that
            nothing in it can use.
        origins: where a fact of the host stands, as far as that is known: by ``python``, ``platform``, or its name in
            ``virtual`` or ``excluded``.
        conflicts: sets of extras, as the markers name them, of which no two are ever chosen together.
        engines: what the environment and its run name of :mod:`gradcompat.presumptions.engines`; what they leave
            unsaid may then be presumed. None where facts alone count.
        class_facts: what follows from the class of the model that the settings name; a setting of the same key counts
            more.
    """

    source: str
    kind: str
    packages: tuple[Package, ...]
    closed: bool
    settings: tuple[Setting, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    python: str | None = None
    platform: str | None = None
    virtual: Mapping[str, str] = field(default_factory=dict)
    conflicts: tuple[frozenset[str], ...] = ()
    engines: frozenset[str] | None = None
    excluded: frozenset[str] = frozenset()
    origins: Mapping[str, Location] = field(default_factory=dict)
    class_facts: tuple[ClassFact, ...] = ()

    def __post_init__(self) -> None:
        if self.python is not None and not _PYTHON.fullmatch(self.python):
            object.__setattr__(self, "python", None)
