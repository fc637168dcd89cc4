"""Specifiers as clauses, in the three ways that they are written: PEP 440, Poetry, conda."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from gradcompat.errors import EditError
from gradcompat.quotation import quoted

Dialect = Literal["pep440", "poetry", "conda"]
Kind = Literal["any", "exact", "prefix", "compatible", "tilde", "caret", "floor", "ceiling", "not"]

MAX_LENGTH = 1000  # Python converts no number of more than 4,300 digits
_SIGNS = re.compile(r"[\w<>=!~^,|.*+ \t-]{1,200}")
_WORDS = re.compile(r"[A-Za-z_][\w.]*")
_CLAUSE = re.compile(r"(\s*)(===|~=|==|!=|<=|>=|\^|~|=|<|>|)(\s*)((?:\d+!)?[A-Za-z0-9.*+_-]+)(\s*)(,?)")
_UNION = re.compile(r"\|\|?")
_PREFIX = re.compile(r"v?((?:\d+!)?\d+(?:\.\d+)*)(?:\.[*xX])+")
_RELEASE = re.compile(r"(?:\d+!)?\d+(?:\.\d+)*")
_CONDA_STAR = re.compile(r"\.?\*")

_KINDS: dict[str, Kind] = {
    "": "exact",
    "=": "exact",
    "==": "exact",
    "===": "exact",
    "~=": "compatible",
    "~": "tilde",
    "^": "caret",
    ">=": "floor",
    ">": "floor",
    "<=": "ceiling",
    "<": "ceiling",
    "!=": "not",
}
_OPERATORS: dict[Dialect, frozenset[str]] = {
    "pep440": frozenset({"==", "===", "~=", ">=", ">", "<=", "<", "!="}),
    "poetry": frozenset(_KINDS),
    "conda": frozenset({"", "=", "==", "~=", ">=", ">", "<=", "<", "!="}),
}


@dataclass(frozen=True, slots=True)
class Clause:
    """An operator with its operand.

    Attributes:
        before: what separates it from the clause before, or stands in front of the first.
        gap: blanks between operator and operand.
    """

    before: str
    operator: str
    gap: str
    operand: str
    dialect: Dialect

    @property
    def text(self) -> str:
        """The clause as written, without what separates it from others."""
        return f"{self.operator}{self.gap}{self.operand}"

    @property
    def kind(self) -> Kind:
        """What the clause does, whichever signs it is written with."""
        if self.operand in ("*", "x", "X") and self.operator in ("", "=", "=="):
            return "any"
        kind = _KINDS[self.operator]
        if kind == "exact" and self.operator != "===" and (self.stem is not None or self.is_conda_prefix):
            return "prefix"
        return kind

    @property
    def stem(self) -> str | None:
        """``4.49`` of ``4.49.*``."""
        if self.dialect == "conda" and self.operand.endswith("*"):
            return _CONDA_STAR.sub("", self.operand)
        match = _PREFIX.fullmatch(self.operand)
        return match[1] if match else None

    @property
    def is_conda_prefix(self) -> bool:
        """One sign of conda's: ``=2.5`` allows 2.5.1."""
        return self.dialect == "conda" and self.operator == "=" and _RELEASE.fullmatch(self.operand) is not None

    @property
    def meaning(self) -> str:
        """The clause in the operators of PEP 440."""
        operand = self.operand
        match self.kind:
            case "any":
                return ""
            case "prefix":
                return f"=={self.stem or operand}.*"
            case "exact":
                # conda's own packages have versions that PEP 440 has not: `openssl=1.1.1t`.
                odd = self.dialect == "conda" and operand[:1].isdigit() and not _is_version(operand)
                return f"==={operand}" if odd or self.operator == "===" else f"=={operand}"
            case "caret":
                return f">={operand},<{_caret_end(Version(operand))}"
            case "tilde":
                version = Version(operand)
                return f">={operand},<{bumped(version, min(2, len(version.release)))}"
            case "not" if self.stem is not None:
                return f"!={self.stem}.*"
            case _ if self.dialect == "conda" and self.stem is not None:
                return f"{self.operator}{self.stem}"  # conda takes `>=1.8.*` for `>=1.8`
            case _:
                return f"{self.operator}{operand}"

    def to(self, operand: str, operator: str | None = None) -> Clause:
        """The clause with another operand."""
        return replace(self, operand=operand, operator=self.operator if operator is None else operator)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Clauses that all have to hold, and what stands behind the last one."""

    clauses: tuple[Clause, ...]
    behind: str

    @property
    def text(self) -> str:
        return "".join(f"{clause.before}{clause.text}" for clause in self.clauses) + self.behind

    @property
    def meaning(self) -> SpecifierSet:
        return SpecifierSet(",".join(filter(None, (clause.meaning for clause in self.clauses))))

    def allows(self, version: Version) -> bool:
        """Do all the clauses allow it, a pre-release as any other version?"""
        return self.meaning.contains(version, prereleases=True)

    def mentions_prerelease(self) -> bool:
        """Does a clause name a pre-release, so that installers consider them?"""
        return any(clause.version and _is_prerelease(clause.version) for clause in self.meaning)


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except ValueError:
        return False
    return True


def _is_prerelease(text: str) -> bool:
    try:
        return Version(text.removesuffix(".*")).is_prerelease
    except ValueError:
        return False


def parsed(specifier: str, dialect: Dialect) -> list[Alternative]:
    """The alternatives of a specifier; PEP 440 has only one.

    Raises:
        EditError: if it means nothing in that dialect.
    """
    # A line may hold more than a specifier; only signs, versions and what has the form of a name are quoted.
    written = specifier.strip()
    start = written[:200]
    known = _SIGNS.fullmatch(start) and all(quoted(word, "") for word in _WORDS.findall(start))
    shown = f"`{_shortened(written)}`" if known else "what stands there"
    problem = EditError(f"{shown} is not a specifier")
    if len(specifier) > MAX_LENGTH:
        raise problem
    alternatives = []
    for text in [specifier] if dialect == "pep440" else _UNION.split(specifier):
        clauses: list[Clause] = []
        position, before = 0, ""
        while text[position:].strip():
            match = _CLAUSE.match(text, position)
            if match is None or match[2] not in _OPERATORS[dialect]:
                raise problem
            if clauses and "," not in before and (dialect != "poetry" or not before):
                raise problem
            clauses.append(Clause(before + match[1], match[2], match[3], match[4], dialect))
            position, before = match.end(), match[5] + match[6]
        alternative = Alternative(tuple(clauses), before + text[position:])
        try:
            alternative.meaning.contains("1", prereleases=True)
        except (InvalidSpecifier, ValueError):
            raise problem from None
        alternatives.append(alternative)
    return alternatives


def bumped(version: Version, count: int) -> str:
    """The first version above all that share so many parts with this one."""
    parts = (*version.release, *[0] * count)[:count]
    return (f"{version.epoch}!" if version.epoch else "") + ".".join(map(str, (*parts[:-1], parts[-1] + 1)))


def _caret_end(version: Version) -> str:
    # The first part that is not zero may not change; of `0.0` the last part may not.
    significant = next((index for index, part in enumerate(version.release, 1) if part), len(version.release))
    return bumped(version, significant)


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
