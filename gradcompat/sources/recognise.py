"""What is this text? By its content alone, for standard input and for files whose name is wrong or says nothing."""

from __future__ import annotations

import re

from gradcompat.dependency_formats import FORMATS
from gradcompat.startup.lazy_patterns import lazy_pattern

_HEAD = 256 * 1024  # characters that are looked at
# `name==1.0`, as no other format has lines; their signatures are not compiled where all lines are like that.
_CLAUSE = r"(?:[<>!~]=|===?|[<>]) ?[\w.*+!]{1,99}"
_REQUIREMENT = lazy_pattern(rf"[A-Za-z0-9][\w.-]{{0,99}}(?:\[[\w.,-]{{1,99}}\])? ?{_CLAUSE}(?:, ?{_CLAUSE}){{0,9}}")
_SECTION = lazy_pattern(r"\[[A-Za-z][\w .:-]*\]")


def recognise(text: str) -> str | None:
    """The kind of the text, or None if it is nothing that can be read."""
    # Signatures are about lines without blank ones and without the spaces at their ends.
    lines = [line for line in map(str.rstrip, text[:_HEAD].lstrip("\ufeff").splitlines()) if line]
    if lines and all(map(_REQUIREMENT.fullmatch, lines)):
        return "requirements"
    head = "\n".join(lines).lstrip()
    for entry in FORMATS:
        for signature in entry.signatures:
            if re.match(signature.start, head, re.MULTILINE) and all(
                re.search(piece, head, re.MULTILINE) for piece in signature.pieces
            ):
                return entry.kind
    entries = [line.strip() for line in lines]
    entries = [line for line in entries if not line.startswith("#")]
    if not entries:
        return "requirements" if head else None
    # `known_third_party` of isort is a list of names, too, but no list of packages has a `[section]`.
    if any(map(_SECTION.fullmatch, entries)):
        return None
    for entry in FORMATS:
        if entry.line is None:
            continue
        pattern = re.compile(entry.line)
        # Most of the lines, so that one odd line does not hide what the rest is.
        if sum(1 for line in entries if pattern.fullmatch(line)) * 10 >= len(entries) * 6:
            return entry.kind
    return None
