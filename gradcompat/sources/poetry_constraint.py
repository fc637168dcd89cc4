"""Poetry's version constraints (``^1.2``, ``~1.2``, ``1.*``, ``>=1,<2 || ^3``) as PEP 440 clauses."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_patterns import lazy_pattern

_MAX_LENGTH = 1000  # Python converts no number of more than 4,300 digits
# Between clauses there is a comma or only a blank: `>=1.0 <2.0`.
_CLAUSE = lazy_pattern(r"\s*(\^|~=|~|===|==|!=|<=|>=|=|<|>|)\s*v?((?:\d+!(?!=))?[^\s,|<>=!~^]+)\s*(?:,\s*)?")
_PREFIX = lazy_pattern(r"(\d+(?:\.\d+)*)(?:\.[*xX])+")


def exact_version(constraint: str) -> str | None:
    """The version as written, if the constraint allows no other one, as ``1.2`` and ``==1.2`` do."""
    match = _CLAUSE.fullmatch(constraint)
    if match is None or match[1] not in ("", "=", "==", "===") or len(constraint) > _MAX_LENGTH:
        return None
    return match[2] if _version(match[2]) is not None else None


def specifier(constraint: str) -> str | None:
    """The constraint as ``VersionSet.parse`` reads it, or None if it means nothing.

    >>> specifier("^0.3.1 || ~2.4")
    '>=0.3.1,<0.4 || >=2.4,<2.5'
    """
    if len(constraint) > _MAX_LENGTH:
        return None
    alternatives = []
    for alternative in re.split(r"\|\|?", constraint):
        clauses = _clauses(alternative.strip())
        if clauses is None:
            return None
        alternatives.append(",".join(clauses) or "*")
    result = "*" if "*" in alternatives else " || ".join(alternatives)
    try:
        VersionSet.parse(result)
    except ValueError:
        return None
    return result


def _clauses(text: str) -> list[str] | None:
    """The clauses of one alternative; none for anything, None for what is no constraint."""
    clauses: list[str] = []
    position = 0
    text = text.rstrip(", ")  # Poetry allows a comma at the end
    while position < len(text):
        match = _CLAUSE.match(text, position)
        if match is None:
            return None
        converted = _converted(match[1], match[2])
        if converted is None:
            return None
        clauses += converted
        position = match.end()
    return clauses if text else None


def _converted(operator: str, operand: str) -> list[str] | None:
    if operand in ("*", "x", "X"):
        return [] if operator in ("", "=", "==") else None
    prefix = _PREFIX.fullmatch(operand)
    if prefix:
        return [f"{'!=' if operator == '!=' else '=='}{prefix[1]}.*"] if operator in ("", "=", "==", "!=") else None
    version = _version(operand)
    if version is None:
        return None
    if operator == "^":
        # The first part that is not zero may not change; of `0.0` the last part may not.
        significant = next((index for index, part in enumerate(version.release) if part), len(version.release) - 1)
        return [f">={operand}", f"<{_bumped(version, significant)}"]
    if operator == "~":
        return [f">={operand}", f"<{_bumped(version, min(1, len(version.release) - 1))}"]
    return [f"{'==' if operator in ('', '=') else operator}{operand}"]


def _bumped(version: Version, index: int) -> str:
    epoch = f"{version.epoch}!" if version.epoch else ""
    return epoch + ".".join(map(str, (*version.release[:index], version.release[index] + 1)))


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None
