"""The parts of one requirement, as pip takes it, and where they stand: only the specifier is ever replaced."""

from __future__ import annotations

import re
from typing import NamedTuple

from gradcompat.requirements.names import normalise

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_HEAD = re.compile(rf"\s*({_NAME})(?:\s*\[[^\[\]]*\])?")
_BEHIND_HEAD = re.compile(r"\s*(?:[<>=!~(;]|$)|\s+-")
_LINK = re.compile(r"\s*@\s*\S")
_EGG = re.compile(rf"#(?:[^#\s]*&)?egg=({_NAME})")
_EDITABLE = re.compile(r"\s*(?:-e\b|--editable\b)")
_OPTION = re.compile(r"\s--?[A-Za-z]")
_SPECIFIER = re.compile(r"(\s*)(\(?)([^();]*)")


class Parts(NamedTuple):
    """A requirement.

    Attributes:
        name: as PEP 503 normalises it.
        start: where the specifier begins; behind name and extras if there is none.
        end: where it ends.
        linked: it comes from a link, a repository or a folder, so that no specifier decides.
    """

    name: str
    start: int
    end: int
    linked: bool = False


def parts(text: str) -> Parts | None:
    """The parts of a requirement with its marker and options, or None if it names no package.

    >>> parts("torch [opt] >=2.1 ; python_version > '3.9'")
    Parts(name='torch', start=12, end=17, linked=False)
    """
    head = _HEAD.match(text)
    if head is not None and _LINK.match(text, head.end()):
        return Parts(normalise(head[1]), head.end(), head.end(), linked=True)
    if head is None or _EDITABLE.match(text) or not _BEHIND_HEAD.match(text, head.end()):
        egg = _EGG.search(text)
        return Parts(normalise(egg[1]), egg.end(), egg.end(), linked=True) if egg else None
    option = _OPTION.search(text, head.end())
    specifier = _SPECIFIER.match(text, head.end(), option.start() if option else len(text))
    if specifier is None or not specifier[3].strip():
        at = specifier.end(2) if specifier is not None and specifier[2] else head.end()
        return Parts(normalise(head[1]), at, at)
    start = specifier.start(3) + len(specifier[3]) - len(specifier[3].lstrip())
    return Parts(normalise(head[1]), start, start + len(specifier[3].strip()))
