"""What a table answers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from packaging.version import Version

from gradcompat.startup.lazy_dataclasses import dataclass


class Presence(Enum):
    """Whether a release has a name."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive releases that were read.

    Attributes:
        first: the lowest of them.
        last: the highest of them.
        following: the release that was read next; None where ``last`` is the newest.
    """

    first: Version
    last: Version
    following: Version | None


@dataclass(frozen=True, slots=True)
class Need:
    """Something of another package without which a module cannot be imported.

    Attributes:
        top: the first part of the module's name; ``package_of`` has the package.
        module: what is imported, or imported from.
        name: what is imported from it; None for the module alone.
        file: the module that says so, as the wheel names it.
        line: in that file; 0 for a whole package, of which no line is kept.
    """

    top: str
    module: str
    name: str | None
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class SpreadNeed:
    """Something of another package without which a module cannot be imported in some releases.

    Attributes:
        module: what is imported, or imported from.
        name: what is imported from it; None for the module alone.
        releases: a bit for each, the oldest lowest.
        file: the module that says so in the newest of them, as the wheel names it.
        line: in that file; 0 for a whole package, of which no line is kept.
    """

    module: str
    name: str | None
    releases: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function or of a constructor.

    Attributes:
        name: without stars.
        kind: ``positional``, ``any``, ``keyword``, ``*`` or ``**``.
        default: as written, ``…`` where it is long or made at run time; None where it is required.
    """

    name: str
    kind: str
    default: str | None


@dataclass(frozen=True, slots=True)
class ModelKeys:
    """What a model of pydantic takes.

    Attributes:
        fields: with their aliases.
        read: the other keys that its validators may read from what it is given.
    """

    fields: frozenset[str]
    read: frozenset[str]

    def __or__(self, other: ModelKeys) -> ModelKeys:
        """What either of them takes."""
        return ModelKeys(self.fields | other.fields, self.read | other.read)

    def __contains__(self, key: object) -> bool:
        """May it make a difference whether this key is given?"""
        return key in self.fields or key in self.read


@dataclass(frozen=True, slots=True)
class Signature:
    """How something is called.

    Attributes:
        parameters: in order, without ``self``.
        certain: nothing that was seen may change them, such as an unknown decorator.
        renamed: keywords that are also accepted, and warned of → their new names (empty where unknown).
        defined: the qualified name of what says so, behind re-exports and inheritance.
    """

    parameters: tuple[Parameter, ...]
    certain: bool
    renamed: Mapping[str, str]
    defined: str

    @property
    def accepts_kwargs(self) -> bool:
        """It takes keywords that it does not name."""
        return any(parameter.kind == "**" for parameter in self.parameters)

    def accepts(self, keyword: str) -> bool | None:
        """May it be called with this keyword? None where that is not certain."""
        if keyword in self.renamed:
            return True
        if any(parameter.name == keyword and parameter.kind in ("any", "keyword") for parameter in self.parameters):
            return True
        return None if self.accepts_kwargs or not self.certain else False
