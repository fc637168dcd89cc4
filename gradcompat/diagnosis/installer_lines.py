"""What pip and uv say of requirements that they cannot meet: who asks for which versions, and what there is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

# A line that this module takes holds one of these, or stands below one that does.
INSTALLER_ANCHORS = (
    b" which is incompatible",
    b"has requirement ",
    b"onflict is caused by",
    b"when resolving dependencies",
    b"that satisfies the requirement ",
    b"did not run successfully",
    b"ailed to build ",
    b"end of output]",
)

MOST_DEMANDS = 400
_MOST_BELOW = 200  # lines of a conflict below its head
_LONGEST_TEXT = 20_000

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
_EXTRAS = r"(?:\[[\w., -]{0,120}\])?"
_VERSION = r"\d[\w.+!]{0,60}"
_CLAUSE = r"(?:[<>=!~]=?=?\s?[\w.*+!]{1,60})"
# In a conflict pip writes the last one behind a word: `<0.22 and >=0.21`.
_SPECIFIER = rf"\(?({_CLAUSE}(?:(?:\s?,\s?|\sand\s){_CLAUSE}){{0,30}}|)\)?"
_MARKER = r"(?:\s?;\s[^;]{1,200})?"

# pip's list of what it has left broken, and `pip check`, with the words of older releases.
_REFUSED = lazy_pattern(
    rf"(?:ERROR: )?({_NAME}) ({_VERSION}) (?:requires|has requirement) ({_NAME}){_EXTRAS}\s?{_SPECIFIER}{_MARKER},"
    rf" but you(?:'ll)? have (?:{_NAME}) ({_VERSION})(?: which is incompatible)?\.?"
)
_BUILDING = lazy_pattern(r"[\s×x-]{0,8}(?:.{1,120} did not run successfully\.?|Failed to build [`'\w].*)")
_BUILT = "[end of output]"
_PIP_HEAD = "onflict is caused by"
_ASKED_BY_USER = lazy_pattern(
    rf"\s{{1,8}}The user requested (?:\(constraint\) )?({_NAME}){_EXTRAS}\s?{_SPECIFIER}{_MARKER}"
)
_ASKED_BY_PACKAGE = lazy_pattern(
    rf"\s{{1,8}}({_NAME}){_EXTRAS} ({_VERSION}) depends on ({_NAME}){_EXTRAS}\s?{_SPECIFIER}{_MARKER}"
)
_UV_HEAD = "o solution found when resolving dependencies"
_UV_FRAME = lazy_pattern(r"^[\s╰─▶├│`>xX×-]{0,12}(?=\S)")
_UV_MARKER = lazy_pattern(r"\{[^{}]{0,200}\}")
# What uv concludes from the rest is no demand of anybody.
_UV_CONCLUDED = lazy_pattern(r"we can conclude that .*?(?=\bAnd because\b|\bAnd \b|$)")
_UV_PIN = rf"({_NAME}){_EXTRAS}(?:==({_VERSION}))"
_UV_BOUND = rf"({_NAME}){_EXTRAS}({_CLAUSE}(?:,{_CLAUSE}){{0,30}})(?=[\s,;]|$)"
_UV_DEPENDS = lazy_pattern(rf"(?<![\w.<>=!~-]){_UV_PIN} depends on {_UV_BOUND}")
_UV_REQUIRED = lazy_pattern(rf"(?:you require|your (?:project|workspace) (?:depends on|requires)) {_UV_BOUND}")
_MISSING = lazy_pattern(
    rf"(?:.{{0,20}}ERROR: |\s{{0,12}})?(?:ERROR: )?Could not find a version that satisfies the requirement "
    rf"({_NAME}){_EXTRAS}\s?{_SPECIFIER}{_MARKER}(?: \(from [^()]{{1,200}}\))* \(from versions: ([^()]{{1,20000}})\)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """A package or the user asks for versions of a package.

    Attributes:
        name: of the package that is asked for.
        specifier: of which versions, as written; empty for any.
        by: the package that asks; None for the user.
        version: its version.
        found: what is installed in its place, where that is what an installer complains of.
        line: where it says so.
        text: in which words.
    """

    name: str
    specifier: str
    by: str | None
    version: str | None
    found: str | None
    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Nothing that an index offers to this interpreter meets a requirement.

    Attributes:
        name: of the package that is asked for.
        specifier: of which versions, as written.
        versions: those that are offered.
        line: where it says so.
        text: in which words.
    """

    name: str
    specifier: str
    versions: tuple[str, ...]
    line: int
    text: str


@dataclass(slots=True)
class InstallerLines:
    """The conflicts of one log; lines have to come in order, and each while it is ``open``.

    Attributes:
        building: the lines that follow are of a build that has failed.
    """

    demands: list[Demand] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    building: bool = False
    _below: int = 0  # lines of pip's list that may follow
    _uv: list[tuple[int, str]] | None = None

    @property
    def open(self) -> bool:
        """May the next line belong to a conflict that has begun?"""
        return self._below > 0 or self._uv is not None

    def see(self, number: int, text: str) -> bool:
        """Take the line if it is one of an installer's."""
        if self._uv is not None:
            if text.strip() and len(self._uv) < _MOST_BELOW and (text[0].isspace() or text[0] in "╰├│`"):
                self._uv.append((number, text))
                return True
            self.end()
        if _BUILT in text:
            self.building = False
        elif _BUILDING.fullmatch(text):
            self.building = True
        if _UV_HEAD in text:
            self._uv = []
            return True
        if _PIP_HEAD in text:
            self._below = _MOST_BELOW
            return True
        if self._below > 0:
            self._below = self._below - 1 if text.strip() else 0
            if match := _ASKED_BY_USER.fullmatch(text):
                self._demand(match[1], match[2], None, None, number, text)
                return True
            if match := _ASKED_BY_PACKAGE.fullmatch(text):
                self._demand(match[3], match[4], match[1], match[2], number, text)
                return True
        if match := _REFUSED.fullmatch(text.strip()):
            self._demand(match[3], match[4], match[1], match[2], number, text, found=match[5].rstrip("."))
            return True
        if match := _MISSING.fullmatch(text):
            versions = () if match[3] == "none" else tuple(one.strip() for one in match[3].split(","))
            one = Missing(
                name=normalise(match[1]), specifier=match[2], versions=versions, line=number, text=text.strip()
            )
            if len(self.missing) < MOST_DEMANDS:
                self.missing.append(one)
            return True
        return False

    def end(self) -> None:
        """Take what uv has said so far: the end of its sentences is that of the text."""
        lines, self._uv = self._uv, None
        if not lines:
            return
        said = " ".join(_UV_FRAME.sub("", text).strip() for _, text in lines)[:_LONGEST_TEXT]
        said = _UV_CONCLUDED.sub("", _UV_MARKER.sub("", re.sub(r"\s+", " ", said)))
        line = lines[0][0]
        for match in _UV_DEPENDS.finditer(said):
            self._demand(match[3], match[4], match[1], match[2], line, match[0])
        for match in _UV_REQUIRED.finditer(said):
            self._demand(match[1], match[2], None, None, line, match[0])

    def _demand(
        self,
        name: str,
        specifier: str,
        by: str | None,
        version: str | None,
        line: int,
        text: str,
        found: str | None = None,
    ) -> None:
        if len(self.demands) < MOST_DEMANDS:
            self.demands.append(
                Demand(
                    name=normalise(name),
                    specifier=specifier.replace(" and ", ",").replace(" ", ""),
                    by=None if by is None else normalise(by),
                    version=version,
                    found=found,
                    line=line,
                    text=text.strip(),
                )
            )
