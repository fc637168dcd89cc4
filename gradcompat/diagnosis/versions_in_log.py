"""Lines of a log that state versions, in the words of installers and of the libraries that print their own.

Each becomes pins, ``transformers==4.49.0``, as the reader of environment reports takes them. A line counts only where
its whole form is known: prose that speaks of a version ("needs Transformers version 4.49.0") says nothing of the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from gradcompat.requirements.names import normalise
from gradcompat.requirements.spoken_names import package_called
from gradcompat.startup.lazy_patterns import lazy_pattern

# As many installed packages as stand in one line of pip.
LONGEST_INSTALLED = 60_000
LEAST_ROWS = 3

_MOST_WAITING = 500  # rows without a package that is known
_PINNED = -1  # in the place of a column, for `name==version`

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
_VERSION = r"\d[\w.+!]{0,60}"
_EXACT = r"\d{1,6}(?:\.\d{1,6}){1,3}(?:\.?(?:a|b|rc|post|dev)\d{1,8})*(?:\+[\w.]{1,40})?"

_INSTALLED = lazy_pattern(r"(?:.{0,120}\s)?Successfully installed (\S.*)")
_INSTALLED_ONE = lazy_pattern(rf"({_NAME})-({_VERSION})")
_SATISFIED = lazy_pattern(
    rf"(?:.{{0,120}}\s)?Requirement already satisfied: ({_NAME})(?:\[[^\[\]]*\])?(\S*) in \S.*?"
    rf"(?:\(({_VERSION})\))?"
)
_UNINSTALLED = lazy_pattern(rf"\s*Successfully uninstalled ({_NAME})-({_VERSION})")
# The changes follow, a line each.
UV_COUNT = lazy_pattern(r"(?:Uni|I)nstalled \d{1,6} packages? in \d[\d.]{0,12}(?:ms|s)")
_UV = lazy_pattern(rf" ([+~-]) ({_NAME})==({_VERSION})(?: \(from .*\))?")

# What stands before a statement in a line of a logger; and words that make it one of another version than that in use.
_BEFORE = (
    r"(?:.{0,200}(?:[:|] {0,3}|[\]>)-] {1,3}))?"
    r"(?:(?:[Uu]sing|[Rr]unning|[Ii]nstalled|[Ll]oaded|[Dd]etected|[Ff]ound|[Cc]urrent|[Mm]y) )?"
)
_IN_PASSING = lazy_pattern(
    rf"{_BEFORE}([A-Za-z][\w -]{{1,24}}?) version(?: is| =|=|:)? v?({_EXACT})(?: available)?[.,;]?"
)
_OF_ANOTHER = lazy_pattern(
    r"requir|need|minim|expect|support|least|recommend|upgrad|please|sav(?:ed|ing)|newe|older|latest|should|must|error"
    r"|warn|depreca|instead|incompat|compatible|mismatch|conflict|checkpoint|instal[l]? ",
    re.IGNORECASE,
)
_ATTRIBUTE = lazy_pattern(
    rf"(?:.{{0,200}}[\s:\]|>('\"])?([A-Za-z]\w{{1,40}})\.__version__['\"]?\)?\s{{0,8}}[:=]{{0,2}}\s{{0,8}}['\"]?({_EXACT})['\"]?[.,;]?"
)
_NCCL = lazy_pattern(
    r"(?:.{0,300}(?:NCCL INFO|[:\])]|details\),) )?NCCL version (\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)(?:\+cuda[\d.]{1,12})?"
)
_LIGHTNING = lazy_pattern(
    rf".{{0,200}}Lightning automatically upgraded your loaded checkpoint from v\S{{1,40}} to v({_EXACT})\..* -m "
    r"(pytorch_lightning|lightning\.pytorch)\..*"
)
# A word of the line, its form, and the packages whose versions are in it.
_SAID = (
    ("Tracking run with", lazy_pattern(rf"(?:.{{0,80}} )?Tracking run with wandb version ({_EXACT})"), ("wandb",)),
    (
        "LLM engine",
        lazy_pattern(rf".{{0,200}}Initializing an? .{{0,20}}LLM engine \(v({_EXACT})\) with config.*"),
        ("vllm",),
    ),
    # Unsloth's picture of a sloth, and the line below that names torch
    (
        "((==",
        lazy_pattern(rf"\s*==\(\(=+\)\)==\s+Unsloth ({_VERSION}): .* patching\. Transformers(?::| =) ({_EXACT})\..*"),
        ("unsloth", "transformers"),
    ),
    ("O^O", lazy_pattern(rf"\s*O\^O/ \\_/ \\\s+(?:Pyt|T)orch: ({_EXACT})\. CUDA.*"), ("torch",)),
    # mmengine's list of what a run runs with
    ("    PyTorch: ", lazy_pattern(rf"\s{{4}}PyTorch: ({_EXACT})"), ("torch",)),
    ("    TorchVision: ", lazy_pattern(rf"\s{{4}}TorchVision: ({_EXACT})"), ("torchvision",)),
    ("    MMEngine: ", lazy_pattern(rf"\s{{4}}MMEngine: ({_EXACT})"), ("mmengine",)),
)

_ROW = lazy_pattern(
    rf"\s{{0,8}}({_NAME})(?:==({_VERSION})|(\s{{2,}})({_VERSION}))"
    r"(?:\s+(?:[^\s/_\\~]*[/_\\~]\S*|pypi|conda-forge|defaults|pytorch|nvidia|main|\([^()]*\)))*\s*"
)
_BUILD = lazy_pattern(r"(?!pypi_)[\w.]*_\w+")
_SHOW_NAME = lazy_pattern(rf"Name: ({_NAME})")
_SHOW_VERSION = lazy_pattern(rf"Version: ({_VERSION})")
_CARD = lazy_pattern(rf"[-*] ({_NAME}):? ({_EXACT})")
_ALIGNED = lazy_pattern(rf"\s*({_NAME}): ({_EXACT})\s*")
_FULL = lazy_pattern(r"\d+\.\d+\.|\d+\.\d+(?:\+|a|b|rc|\.?post|\.?dev)")
_SECTIONS = (
    (lazy_pattern(r"\s*#{1,6} Framework versions:?|\s*Framework versions:?"), _CARD),
    (lazy_pattern(r"\*+ Axolotl Dependency Versions \*+"), _ALIGNED),
)


@dataclass(frozen=True, slots=True)
class Pins:
    """What a line states: ``name==version`` of what is there, and of what no longer is."""

    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def installed(text: str) -> Pins | None:
    """What an installer says that it has put there, found there, or taken away; None if it is no line of theirs."""
    if match := _INSTALLED.fullmatch(text):
        words = [_INSTALLED_ONE.fullmatch(word) for word in match[1].split()]
        pins = [_pin(word[1], word[2]) for word in words if word is not None]
        # A sentence that begins so is none of pip's.
        return Pins(tuple(pins)) if len(pins) == len(words) else None
    if match := _SATISFIED.fullmatch(text):
        version = match[3] or (match[2][2:] if match[2].startswith("==") else None)
        if version is not None and re.fullmatch(_VERSION, version):
            return Pins((_pin(match[1], version),))
    elif match := _UNINSTALLED.fullmatch(text):
        return Pins(gone=(_pin(match[1], match[2]),))
    elif match := _UV.fullmatch(text):
        pin = (_pin(match[2], match[3]),)
        return Pins(gone=pin) if match[1] == "-" else Pins(pin)
    return None


def stated(text: str) -> tuple[str, ...]:
    """What a library, or a program that asks it, prints of its version."""
    for word, pattern, names in _SAID:
        if word in text and (match := pattern.fullmatch(text)):
            return tuple(_pin(name, version) for name, version in zip(names, match.groups(), strict=True))
    if "NCCL version" in text and (match := _NCCL.fullmatch(text)):
        return (f"torch nccl version: {match[1]}",)
    if "utomatically upgraded" in text and (match := _LIGHTNING.fullmatch(text)):
        return (_pin("lightning" if match[2].startswith("lightning.") else "pytorch-lightning", match[1]),)
    for word, pattern in ((" version", _IN_PASSING), ("__version__", _ATTRIBUTE)):
        match = pattern.fullmatch(text) if word in text else None
        # Looked for last: most lines with these words are prose or data, and it goes over the whole of a line.
        if match is None or _OF_ANOTHER.search(text):
            continue
        name = package_called(match[1])
        if name is not None:
            return (_pin(name, match[2]),)
    return ()


def _pin(name: str, version: str) -> str:
    return f"{normalise(name)}=={version.rstrip('.-+!')}"


@dataclass(slots=True)
class Rows:
    """Lists of packages without the head of `pip list`: what a pipe has cut off, `pip freeze`, a library's own.

    One row says nothing, since tables of other things have rows like it. Three that follow each other, with the
    versions in one column and a package that trainings are made of among them, do.
    """

    keep: Callable[[int, str], None]
    _waiting: list[tuple[int, str]] = field(default_factory=list)
    _known: bool = False
    _believed: bool = False
    _column: int | None = None
    _section: re.Pattern[str] | None = None
    _shown: str | None = None  # by `pip show`, whose next line has the version

    @property
    def open(self) -> bool:
        """May the next line belong to a list that has begun?"""
        return self._section is not None or self._column is not None or self._shown is not None

    def see(self, number: int, text: str) -> bool:
        """Take the line if it is part of a list; lines have to come in order, and each while it is ``open``."""
        shown, self._shown = self._shown, None
        if shown is not None and (match := _SHOW_VERSION.fullmatch(text)):
            self.keep(number, _pin(shown, match[1]))
            return True
        if match := _SHOW_NAME.fullmatch(text):
            self._end()
            self._shown = match[1]
            return True
        for head, row in _SECTIONS:
            if head.fullmatch(text):
                self._end()
                self._section = row
                return True
        if self._section is not None:
            match = self._section.fullmatch(text)
            if match and (name := package_called(match[1])):
                self.keep(number, _pin(name, match[2]))
                return True
            if match or not text.strip():
                return True
            self._section = None
        return self._row(number, text)

    def _row(self, number: int, text: str) -> bool:
        match = _ROW.fullmatch(text)
        if match is None:
            self._end()
            return False
        version = match[2] or match[4]
        column = match.start(4) if match[2] is None else _PINNED
        if column != self._column:
            self._end()
            self._column = column
        self._known = self._known or (package_called(match[1]) is not None and _FULL.match(version) is not None)
        self._waiting.append((number, _row_of(match, text, version)))
        if self._known and (self._believed or len(self._waiting) >= LEAST_ROWS):
            self._believed = True
            for row in self._waiting:
                self.keep(*row)
            self._waiting = []
        elif len(self._waiting) > _MOST_WAITING:
            self._waiting = []
        return True

    def _end(self) -> None:
        self._waiting, self._known, self._believed, self._column = [], False, False, None


def _row_of(match: re.Match[str], text: str, version: str) -> str:
    """A row as reports have it; a row of conda's has a build, and its package goes under conda's name."""
    build = text[match.end(4) :].split() if match[2] is None else []
    conda = len(build) > 0 and _BUILD.fullmatch(build[0]) is not None and build[-1] != "pypi"
    return f"[conda] {match[1]} {version} {' '.join(build)}" if conda else f"{normalise(match[1])}=={version}"
