"""The options of ``check``, ``plan`` and ``fix``: the command line over what a project keeps in its pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradcompat.cli.auditing import Options
from gradcompat.cli.configuration import LAPSES, configuration
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Level
from gradcompat.vocabulary import parse_setting

if TYPE_CHECKING:
    from gradcompat.model.waiver import Waivers

_LEVELS: dict[str, Level | None] = {"error": "error", "warning": "warning", "note": "note", "never": None}


NO_SUCH_ID = "ids look like GC-0002; --knowledge names records of your own"


def options_of(
    base: KnowledgeBase,
    *,
    facts: Sequence[str],
    fail_on: str | None,
    strict: bool,
    only: Sequence[str],
    ignore: Sequence[str],
    show_all: bool = False,
    kept: Mapping[str, Any] | None = None,
) -> Options:
    """What the user said, or else what ``[tool.gradcompat]`` says; ``kept`` is the latter, where it is known already.

    Raises:
        UsageError: if an option makes no sense.
    """
    kept = configuration(Path.cwd()) if kept is None else kept
    level: str = fail_on or kept.get("fail-on", "error")
    if level not in _LEVELS:
        raise UsageError(f"`{level}` is no level", hint="levels are error, warning and note; `never` fails on none")
    stated = dict(kept.get("settings", ()))
    stated.update(map(parse_setting, facts))
    return Options(
        settings=tuple(stated.items()),
        only=ids_of(only or kept.get("only", []), base),
        ignore=ids_of([*ignore, *kept.get("ignore", [])], base),
        fail_on=_LEVELS[level],
        strict=strict or kept.get("strict", False),
        show_all=show_all,
        waivers=waivers_in(kept),
    )


def waivers_in(kept: Mapping[str, Any]) -> Waivers | None:
    """The waivers among the options of a project, and how loudly their lapses are said; None if there are none."""
    if not kept.get("waivers"):
        return None
    from gradcompat.model.waiver import Waivers

    stated = {key.partition("-")[0]: kept[key] for key in LAPSES if key in kept}
    levels = {lapse: None if level == "ignore" else level for lapse, level in stated.items()}
    return Waivers(waivers=kept["waivers"], **levels)


def ids_of(identifiers: Sequence[str], base: KnowledgeBase) -> frozenset[str]:
    """Ids of records as they are written.

    Raises:
        UsageError: if there is no such record.
    """
    known = {record["id"] for record in base.records}
    ids = frozenset(identifier.upper() for identifier in identifiers)
    for identifier in sorted(ids - known):
        raise UsageError(f"there is no record `{identifier}`", hint=NO_SUCH_ID)
    return ids
