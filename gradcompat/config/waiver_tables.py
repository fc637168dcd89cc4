"""``[[waivers]]`` of a project's file: each table checked, each error with its line."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from gradcompat.config.project_file import ABSENT, BESIDE, ProjectFile, why_not_inside
from gradcompat.model.issue import as_written
from gradcompat.model.waiver import VersionBound, Waiver
from gradcompat.quotation import quoted
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_KEYS = ("id", "reason", "until", "packages", "path", "proof")


def waivers_of(file: ProjectFile) -> tuple[Waiver, ...]:
    """Every waiver of the file.

    Raises:
        UsageError: if one is not what it can be.
    """
    return tuple(_waiver(table, number, file) for number, table in enumerate(file.table["waivers"]))


def pattern(text: str) -> GitIgnoreSpec:
    """The files that a ``path`` names.

    Raises:
        ValueError: if it names none.
    """
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([text])
    # Git takes `./a` for a folder of that name; who writes it means something else.
    if text.startswith(("./", "../")) or not any(pattern.include for pattern in spec.patterns):
        raise ValueError(f"`{text}` names no file")
    return spec


def _waiver(table: Any, number: int, file: ProjectFile) -> Waiver:
    at = ("waivers", number)
    if not isinstance(table, dict):
        raise file.error(f"`{file.name('waivers')}` holds something that is not a table", *at)
    for key in table:
        if key not in _KEYS:
            raise file.error(
                f"`{quoted(key, '…')}` is not known in a waiver", *at, key, hint=f"known: {', '.join(_KEYS)}"
            )
    path = _text(table, "path", at, file)
    if path is not None:
        try:
            pattern(path)
        except ValueError as error:
            raise file.error(f"`path` of a waiver: {error}", *at, "path", hint="write it as in a .gitignore") from None
    proof = _text(table, "proof", at, file)
    if proof is not None:
        wrong = why_not_inside(file.path.parent / proof, file.path.parent)
        if wrong not in (None, ABSENT):  # whoever reads it reports one that is not there
            raise file.error(f"`proof` of a waiver names `{proof}`, which {wrong}", *at, "proof", hint=BESIDE)
    return Waiver(
        id=as_written(_needed(table, "id", at, file)),
        reason=_needed(table, "reason", at, file),
        until=_until(table.get("until"), at, file),
        packages=_packages(table.get("packages", {}), at, file),
        path=path,
        proof=proof,
        location=file.place(*at),
        folder=str(file.path.parent),
    )


def _text(table: dict[str, Any], key: str, at: tuple[str | int, ...], file: ProjectFile) -> str | None:
    value = table.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise file.error(f"`{key}` of a waiver is not text", *at, key)
    if not value.strip():
        raise file.error(f"`{key}` of a waiver is empty", *at, key)
    return value.strip()


def _needed(table: dict[str, Any], key: str, at: tuple[str | int, ...], file: ProjectFile) -> str:
    value = _text(table, key, at, file)
    if value is None:
        raise file.error(f"a waiver has no `{key}`", *at)
    return value


def _until(value: Any, at: tuple[str | int, ...], file: ProjectFile) -> str | None:
    """A date of TOML, or the same as text."""
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return day(value).isoformat()
    except (TypeError, ValueError):
        hint = "write the last day, such as 2026-12-31"
        raise file.error("`until` of a waiver is not a date", *at, "until", hint=hint) from None


def day(text: str) -> date:
    """``2026-12-31``; the shorter forms that newer Pythons take besides are not dates here.

    Raises:
        ValueError: if it is none.
    """
    return datetime.strptime(text, "%Y-%m-%d").date()


def _packages(table: Any, at: tuple[str | int, ...], file: ProjectFile) -> tuple[VersionBound, ...]:
    if not isinstance(table, dict):
        hint = 'write packages = { transformers = "==4.49.0" }'
        raise file.error("`packages` of a waiver is not a table", *at, "packages", hint=hint)
    bounds = []
    for name, text in table.items():
        place = (*at, "packages", name)
        if not isinstance(text, str):
            raise file.error(f"`packages.{name}` of a waiver is not text", *place)
        try:
            bounds.append(VersionBound(name=normalise(name), text=text.strip(), versions=VersionSet.parse(text)))
        except ValueError as error:
            hint = "write versions such as ==4.49.0 or >=4.49,<4.52"
            raise file.error(f"`packages.{name}` of a waiver: {error}", *place, hint=hint) from None
    return tuple(bounds)
