"""How a specifier changes so that it allows the new version and no longer the old one.

The rule, which holds for PEP 440, Poetry and conda alike. ``new`` is the version that is moved to.

* What allows ``new`` and not the old version stays as it is; so a second edit changes nothing.
* An exact pin stays one, with its operator. A local label (``+cu124``) that ``new`` does not have is left out.
* Upwards: a lower bound becomes ``>=new``; where there is none, it is put in front. An upper bound stays if ``new``
  lies below it, and else moves up by as little as its own precision can say: ``<4.50`` becomes ``<4.53`` for 4.52.0,
  and ``<=4.50`` becomes ``<=4.52.0``.
* Downwards: an upper bound becomes ``<=new``; where there is none and the old version is still allowed, it is put at
  the end. A lower bound stays if ``new`` lies above it, and else becomes ``>=new``.
* ``~=``, ``^``, ``~`` and prefixes (``==4.49.*``) move to ``new`` in the precision that they have; a bound is added
  where that says less than ``new``: ``~=4.49`` becomes ``>=4.52.1,~=4.52`` for 4.52.1.
* ``!=`` stays unless it excludes ``new``.
* Of alternatives (``||``) those that allow the old version move.

Blanks stay where they are. Whatever comes out is tried on both versions; if it fails, it becomes an exact pin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from packaging.version import Version

from gradcompat.edit.pins import PinEdit
from gradcompat.edit.specifier_clauses import MAX_LENGTH, Alternative, Clause, Dialect, bumped, parsed
from gradcompat.errors import EditError


class Moved(NamedTuple):
    """A specifier after the change, and what has to be said about it."""

    specifier: str
    notes: tuple[str, ...] = ()


def moved(specifier: str, pin: PinEdit, dialect: Dialect = "pep440") -> Moved:
    """The specifier that allows the new version and not the old one.

    >>> moved(">=4.45, <4.50", PinEdit(package="transformers", version_from="4.49.0", version_to="4.52.0")).specifier
    '>=4.52.0, <4.53'

    Raises:
        EditError: if the specifier or the new version means nothing.
    """
    new, old = _version_to(pin), _version_from(pin)
    alternatives = parsed(specifier, dialect)
    # Where the old version is not known, only the bounds themselves can tell, so the rule decides.
    stays = old is not None or pin.kind == "add"
    if old == new:
        old = None
    if stays and _all_hold(alternatives, new, old):
        return Moved(specifier)
    upwards = new > old if old is not None else pin.kind != "downgrade"
    notes: list[str] = []
    chosen = list(alternatives)
    if old is None and len(chosen) > 1:
        chosen = chosen[-1:]
        notes.append(f"`{pin.package}`: of the alternatives `{specifier.strip()}` only the last one is kept")
    affected = [index for index, one in enumerate(chosen) if old is None or one.allows(old)] or [len(chosen) - 1]
    for index in affected:
        chosen[index] = _move(chosen[index], new, old, upwards, notes, pin.package)
    result = (
        "||".join(alternative.text for alternative in chosen)
        if dialect == "poetry"
        else "|".join(alternative.text for alternative in chosen)
    )
    lead = specifier[: len(specifier) - len(specifier.lstrip())]
    for candidate in (result, f"{lead}=={pin.version_to}", f"{lead}==={pin.version_to}"):
        if _holds(candidate, dialect, new, old):
            return Moved(candidate, tuple(notes))
    raise EditError(f"`{pin.package}`: `{specifier.strip()}` cannot be made to allow {new} and not {old}")


def is_settled(specifier: str, pin: PinEdit, dialect: Dialect = "pep440") -> bool:
    """Does the specifier allow the new version and not the old one already?

    Raises:
        EditError: if the specifier or the new version means nothing.
    """
    return moved(specifier, pin, dialect).specifier == specifier


def allows_old(specifier: str, pin: PinEdit, dialect: Dialect = "pep440") -> bool:
    """Does the specifier allow the version that is there? If that is not known, it may.

    Raises:
        EditError: if the specifier means nothing.
    """
    old, alternatives = _version_from(pin), parsed(specifier, dialect)
    return old is None or any(alternative.allows(old) for alternative in alternatives)


def _version_to(pin: PinEdit) -> Version:
    try:
        return Version(pin.version_to[:MAX_LENGTH])
    except ValueError:
        raise EditError(f"`{pin.package}` is to move to `{pin.version_to}`, which is not a version") from None


def _version_from(pin: PinEdit) -> Version | None:
    """The old version; None as well if it is none that could be compared."""
    try:
        return Version((pin.version_from or "")[:MAX_LENGTH])
    except ValueError:
        return None


def _holds(specifier: str, dialect: Dialect, new: Version, old: Version | None) -> bool:
    try:
        return _all_hold(parsed(specifier, dialect), new, old)
    except EditError:
        return False


def _all_hold(alternatives: Sequence[Alternative], new: Version, old: Version | None) -> bool:
    # pip takes a pre-release only where one is mentioned.
    allowed = any(
        alternative.allows(new) and (not new.is_prerelease or alternative.mentions_prerelease())
        for alternative in alternatives
    )
    return allowed and (old is None or not any(alternative.allows(old) for alternative in alternatives))


def _move(
    alternative: Alternative, new: Version, old: Version | None, upwards: bool, notes: list[str], package: str
) -> Alternative:
    clauses: list[Clause] = []
    for clause in alternative.clauses:
        after = _clause_up(clause, new) if upwards else _clause_down(clause, new)
        if clause.kind == "not" and after is None:
            notes.append(f"`{package}`: `{clause.text}` is left out, because it excludes the new version")
        if clause.kind == "exact" and "+" in clause.operand and new.local is None:
            label = clause.operand.partition("+")[2]
            notes.append(f"`{package}`: the local label `+{label}` is left out, because the new version has none")
        if after is not None and after.text not in {clause.text for clause in clauses}:
            clauses.append(after)
    first = alternative.clauses[0] if alternative.clauses else None
    blank = first.gap if first is not None and first.kind != "any" else ""
    dialect: Dialect = first.dialect if first is not None else "pep440"
    if clauses and first is not None:
        clauses[0] = replace(clauses[0], before=first.before)
    if upwards and not any(_is_at_least(clause, new) for clause in clauses):
        _put_first(clauses, Clause("", ">=", blank, new.public, dialect), alternative)
    result = Alternative(tuple(clauses), alternative.behind)
    bounded = any(clause.kind in ("exact", "ceiling") for clause in clauses)
    if not upwards and not bounded and (old is None or result.allows(old)):
        _put_last(clauses, Clause("", "<=", blank, new.public, dialect), alternative)
    return replace(result, clauses=tuple(clauses))


def _clause_up(clause: Clause, new: Version) -> Clause | None:
    match clause.kind:
        case "any":
            return None
        case "exact":
            return clause.to(str(new))
        case "prefix":
            return _prefix(clause, new, upwards=True)
        case "compatible":
            count = max(len(Version(clause.operand).release), 2)
            text, _ = _at(new, count)
            return clause.to(text)
        case "tilde" if len(Version(clause.operand).release) == 1:
            return clause.to(_at(new, 1)[0])
        case "tilde" | "caret":
            return clause.to(_padded(new, 2))
        case "floor":
            return clause.to(new.public, ">=")
        case "ceiling":
            return clause if _allows(clause, new) else _widened(clause, new)
        case "not":
            return clause if _allows(clause, new) else None


def _clause_down(clause: Clause, new: Version) -> Clause | None:
    match clause.kind:
        case "any":
            return None
        case "exact":
            return clause.to(str(new))
        case "prefix":
            return _prefix(clause, new, upwards=False)
        case "ceiling":
            return clause.to(new.public, "<=")
        case _ if _allows(clause, new):
            return clause
        case "compatible" | "tilde" | "caret":
            return clause.to(_padded(new, 2))
        case "floor":
            return clause.to(new.public, ">=")
        case "not":
            return None


def _allows(clause: Clause, version: Version) -> bool:
    return Alternative((clause,), "").allows(version)


def _prefix(clause: Clause, new: Version, *, upwards: bool) -> Clause:
    stem = clause.stem or clause.operand
    ending = clause.operand[len(stem) :] if clause.operand.startswith(stem) else ".*"
    text, whole = _at(new, len(Version(stem).release))
    if clause.is_conda_prefix and not (upwards and whole):
        return clause.to(new.public + ending)  # conda has no word for a bound beside a prefix
    if _allows(clause, new):
        return clause
    return clause.to((text if whole else _release(new, len(Version(stem).release))) + ending)


def _widened(clause: Clause, new: Version) -> Clause:
    """The upper bound, just above the new version in the precision that it has."""
    if clause.operator == "<=":
        return clause.to(new.public)
    release = Version(clause.stem or clause.operand).release
    significant = max((index for index, part in enumerate(release, start=1) if part), default=1)
    zeros = ".0" * (len(release) - significant)
    return clause.to(bumped(new, significant) + zeros)


def _is_at_least(clause: Clause, new: Version) -> bool:
    """Does the clause, moved upwards, allow nothing below the new version?"""
    match clause.kind:
        case "exact" | "floor" | "caret":
            return True
        case "tilde" | "compatible":
            return Version(clause.operand) >= Version(new.public)
        case "prefix":
            stem = Version(clause.stem or clause.operand)
            return Version(new.public) <= stem and not new.is_prerelease
        case _:
            return False


def _at(version: Version, count: int) -> tuple[str, bool]:
    """The version in so many parts, and whether that is all of it."""
    if any(version.release[count:]):
        return _release(version, count), False
    suffix = version.public[len(version.base_version) :]
    return _release(version, count) + suffix, not suffix


def _padded(version: Version, count: int) -> str:
    """The version without local label, in so many parts at least."""
    return _at(version, max(count, len(version.release)))[0]


def _release(version: Version, count: int) -> str:
    parts = (*version.release, *[0] * count)[:count]
    return (f"{version.epoch}!" if version.epoch else "") + ".".join(map(str, parts))


def _separator(alternative: Alternative) -> str:
    """What stands between two clauses in this one; a comma with a blank where a blank stands elsewhere."""
    if len(alternative.clauses) > 1:
        return alternative.clauses[1].before
    return ","


def _put_first(clauses: list[Clause], clause: Clause, alternative: Alternative) -> None:
    before = alternative.clauses[0].before if alternative.clauses else ""
    if clauses:
        clauses[0] = replace(clauses[0], before=_separator(alternative))
    clauses.insert(0, replace(clause, before=before))


def _put_last(clauses: list[Clause], clause: Clause, alternative: Alternative) -> None:
    if not clauses:
        _put_first(clauses, clause, alternative)
    else:
        clauses.append(replace(clause, before=_separator(alternative)))
