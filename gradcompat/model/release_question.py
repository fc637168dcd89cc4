"""What a program asks about the release of a package, or about the system, before it goes one way or the other."""

from __future__ import annotations

from typing import Final, Literal

from gradcompat.requirements.versions import ALL, VersionSet, locate
from gradcompat.startup.lazy_dataclasses import dataclass, replace

Operator = Literal["<", "<=", "==", "!=", ">", ">=", "startswith", "not startswith"]
# In the place of a package, whose names have no dot: the question is for the system, and not for a release.
PLATFORM: Final = "sys.platform"
# How a version is looked at: by the order of PEP 440, as the text that it is, as numbers between dots.
Reading = Literal["release", "text", "numbers"]

_OPPOSITE: dict[Operator, Operator] = {
    "<": ">=",
    "<=": ">",
    "==": "!=",
    "!=": "==",
    ">": "<=",
    ">=": "<",
    "startswith": "not startswith",
    "not startswith": "startswith",
}
_TRAINING = ("linux", "darwin")
# What is installed calls itself `2.5.1+cu124` where a lockfile says 2.5.1, and is no more equal to that.
_WITH_BUILDS = frozenset({"torch", "torchvision", "torchaudio", "torchtext"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseQuestion:
    """A comparison of a package's version with a literal: ``Version(torch.__version__) >= Version("2.0")``.

    Attributes:
        package: the package, as PEP 503 normalises the name that it is imported or asked for by, or ``PLATFORM``.
        operator: how they are compared.
        literal: with what; numbers for the reading of that name, else a text.
        reading: how the version is looked at.
        part: which of its numbers or characters, from and up to; None for all of them.
    """

    package: str
    operator: Operator
    literal: str | tuple[int, ...]
    reading: Reading = "release"
    part: tuple[int | None, int | None] | None = None

    def __str__(self) -> str:
        """``torch < 2.7``, ``torch[0:1] >= 2``."""
        literal = ".".join(map(str, self.literal)) if isinstance(self.literal, tuple) else self.literal
        part = "" if self.part is None else "[{}:{}]".format(*("" if at is None else at for at in self.part))
        return f"{self.package}{part} {self.operator} {literal}"

    @property
    def opposite(self) -> ReleaseQuestion:
        """What is true where this is not."""
        return replace(self, operator=_OPPOSITE[self.operator])

    def holds(self, version: str) -> bool | None:
        """The answer for a release; None for what is no release, and where its build decides.

        >>> ReleaseQuestion(package="torch", operator=">=", literal="2.7").holds("2.13.0")
        True
        """
        window = locate(version)
        if window is None or not window.exact:
            return None
        within = slice(None) if self.part is None else slice(*self.part)
        if isinstance(self.literal, tuple):
            numbers = window.low.release
            asked = numbers[within]
            known = within.stop is None or len(numbers) >= within.stop
            return _compared(asked, self.operator, self.literal) if known else None
        if self.reading == "text":
            return _compared(version.partition("+")[0][within], self.operator, self.literal)
        other = locate(self.literal)
        if other is None or not other.exact:
            return None
        if window.low == other.low and self.package in _WITH_BUILDS and self.operator in ("<=", "==", "!=", ">"):
            return None
        return _compared(window.low, self.operator, other.low)

    @property
    def is_of_system(self) -> bool:
        """Does it ask for the system?"""
        return self.package == PLATFORM

    def holds_on(self, platform: str | None) -> bool:
        """The answer of a question for the system; where nothing says which it is, it may be one that trains as a rule.

        >>> ReleaseQuestion(package=PLATFORM, operator="==", literal="win32", reading="text").holds_on("linux")
        False
        """
        systems = _TRAINING if platform is None else (platform,)
        return any(_compared(system, self.operator, self.literal) for system in systems)

    @property
    def versions(self) -> VersionSet:
        """The versions in which the answer may be yes."""
        if self.reading != "release" or isinstance(self.literal, tuple) or locate(self.literal) is None:
            return ALL
        if self.package in _WITH_BUILDS and self.operator in ("!=", ">"):
            return ALL if self.operator == "!=" else VersionSet.parse(f">={self.literal}")
        return VersionSet.parse(f"{self.operator}{self.literal}")


def _compared(left: object, operator: Operator, right: object) -> bool:
    match operator:
        case "<":
            return left < right  # type: ignore[operator, no-any-return]  # both are of one kind
        case "<=":
            return left <= right  # type: ignore[operator, no-any-return]
        case "==":
            return left == right
        case "!=":
            return left != right
        case ">":
            return left > right  # type: ignore[operator, no-any-return]
        case ">=":
            return left >= right  # type: ignore[operator, no-any-return]
        case "startswith":
            return str(left).startswith(str(right))
        case "not startswith":
            return not str(left).startswith(str(right))
