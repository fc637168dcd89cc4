"""Release notes: the titles of what a release fixes, out of Markdown, reStructuredText, GitHub's JSON or a git log.

A title counts if it speaks of a fix and of something that decides about training.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from packaging.version import InvalidVersion, Version

from gradcompat.curation.watch.candidate import RULES, Candidate
from gradcompat.index.archives import BROKEN

# A changelog that is larger is not read; that of pytorch-lightning has 0.5 MB.
_LARGEST = 8 * 2**20
_NAME = re.compile(r"(?:changelog|changes|history|news|release[_-]?notes)(?:\.(?:md|rst|txt))?", re.IGNORECASE)
# How deep in an sdist: its folder, `src`, the package, and perhaps `docs`.
_DEEPEST = 3

_VERSION = re.compile(
    r"^\W*(?:version|release|release-)?\W*v?(\d+\.\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d*)?)\b", re.I
)
_UNDERLINE = re.compile(r"^([=\-~^#*])\1{2,}\s*$")
_BULLET = re.compile(r"^\s*[*+-]\s+")
_FIX = re.compile(
    r"\bfix(?:e[sd]|ing)?\b|\bbug\b|\bwrong(?:ly)?\b|\bincorrect(?:ly)?\b|\brevert|\bregression|\bsilent", re.I
)
_FIXED = re.compile(r"^\W*(?:bug\s*)?fix(?:es|ed)?\b", re.I)
_WORDS = re.compile(
    r"loss|grad(?!io)|mask|resum|accumul|label|clip(?!board)|\bnan\b|scal(?:e|ing)|checkpoint|normali[sz]|optimi[sz]er"
    r"|learning.rate|seed|shuffl|position.?ids|packing|dropout|freez|tied|weight|dtype|precision",
    re.I,
)
_SPECIFIED = re.compile(r"loss|grad(?!io)|mask|resum|accumul|label|clip(?!board)|\bnan\b", re.I)
_HEAVY = re.compile(r"loss|gradient|accumul", re.I)
_SMALL = re.compile(r"\b(?:docs?|typo|tests?|CI|readme|docstring|example|benchmark|lint|type.?hint|flaky)\b", re.I)
_LINK = re.compile(r"https://[^\s)\]>\"']+")
_NUMBER = re.compile(r"(?<![\w/])#(\d{1,6})\b")
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|[`*]")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of release notes.

    Attributes:
        version: under whose heading it stands; None where there is no heading.
        text: as it is written, with its links.
        fixed: it stands under a heading such as "Fixed".
    """

    version: Version | None
    text: str
    fixed: bool = False


def entries(text: str) -> Iterator[Entry]:
    """The entries of notes, in their order.

    Args:
        text: Markdown, reStructuredText, one title a line, or the JSON of GitHub's list of releases.

    Raises:
        ValueError: if it is JSON, and not that.
    """
    if text.lstrip()[:1] in ("[", "{") and not text.lstrip().startswith("[["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if found is not None:
            yield from _of_github(found)
            return
    yield from _of_text(text, None)


def _of_github(found: Any) -> Iterator[Entry]:
    listed = found if isinstance(found, list) else [found]
    for release in listed:
        if not isinstance(release, dict) or not isinstance(release.get("tag_name"), str):
            raise ValueError("is JSON, and no list of GitHub's releases")
        version = _version(release["tag_name"])
        if version is not None and isinstance(release.get("body"), str):
            yield from _of_text(release["body"], version)


def _of_text(text: str, version: Version | None) -> Iterator[Entry]:
    of_release = version is not None
    fixed = False
    lines = text.splitlines()
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        heading = line.startswith("#") or bool(_UNDERLINE.match(following) and line.strip())
        if heading:
            named = None if of_release else _version(line)
            version = version if named is None else named
            fixed = bool(_FIXED.match(line))
        elif line.strip() and not _UNDERLINE.match(line):
            yield Entry(version, _BULLET.sub("", line).strip(), fixed)


def _version(heading: str) -> Version | None:
    found = _VERSION.match(heading)
    try:
        return None if found is None else Version(found[1])
    except InvalidVersion:
        return None


def title_changes(
    package: str, notes: list[Entry], pairs: list[tuple[Version, Version]], source: str, repository: str | None
) -> Iterator[Candidate]:
    """The candidates among the entries of notes.

    Args:
        package: its normalised name.
        notes: of any releases.
        pairs: the neighbouring releases that are looked at, from low to high; what stands under no heading is of the
            last one.
        source: where the notes are from, for the reader.
        repository: the address that a number such as `#123` belongs to, if it is known.
    """
    by_version = {pair[1]: pair for pair in pairs}
    for entry in notes:
        pair = pairs[-1] if entry.version is None else by_version.get(entry.version)
        if pair is None:
            continue
        title = " ".join(_MARKUP.sub(r"\1", entry.text).split())[:_LONGEST]
        words = {found.lower() for found in _WORDS.findall(title)}
        if not words or not (entry.fixed or _FIX.search(title)):
            continue
        weight = RULES["title"].weight + 10 * min(len(words), 3) + (15 if _HEAVY.search(title) else 0)
        weight -= (30 if _SMALL.search(title) else 0) + (0 if _SPECIFIED.search(title) else 15)
        yield Candidate(
            rule="title",
            package=package,
            before=str(pair[0]),
            after=str(pair[1]),
            place=source,
            added=(title,),
            weight=weight,
            links=_links(entry.text, repository),
        )


def _links(text: str, repository: str | None) -> tuple[str, ...]:
    found = dict.fromkeys(link.rstrip(".,;") for link in _LINK.findall(text))
    if repository is not None and not found:
        found = dict.fromkeys(f"{repository}/pull/{number}" for number in _NUMBER.findall(text))
    return tuple(found)[:3]


def changelogs(sdist: IO[bytes]) -> dict[str, str]:
    """The changelogs of an sdist, a ``tar.gz``: path below its folder → text.

    Raises:
        ValueError: if it cannot be read.
    """
    found: dict[str, str] = {}
    try:
        with tarfile.open(fileobj=sdist, mode="r:gz") as archive:
            for member in archive:
                _, _, path = member.name.partition("/")
                *folders, name = path.split("/")
                if not _NAME.fullmatch(name) or len(folders) >= _DEEPEST or not member.isreg():
                    continue
                opened = archive.extractfile(member) if member.size <= _LARGEST else None
                if opened is not None:
                    found[path] = opened.read().decode("utf-8", "replace")
    except BROKEN:
        raise ValueError("is not a tar.gz that can be read") from None
    return found
