"""The options of ``check``, ``plan`` and ``fix``: the command line over what a project keeps in its pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradcompat.audit.options import AuditOptions, ids_of
from gradcompat.cli.parameters import AuditParameters
from gradcompat.config.schema import configuration, waivers_in
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import Level
from gradcompat.vocabulary import parse_setting

_LEVELS: dict[str, Level | None] = {"error": "error", "warning": "warning", "note": "note", "never": None}


def options_of(
    base: KnowledgeBase, audit: AuditParameters, *, show_all: bool = False, kept: Mapping[str, Any] | None = None
) -> AuditOptions:
    """What the user said, or else what ``[tool.gradcompat]`` says; ``kept`` is the latter, where it is known already.

    Raises:
        UsageError: if an option makes no sense.
    """
    kept = configuration(Path.cwd()) if kept is None else kept
    level: str = audit.fail_on or kept.get("fail-on", "error")
    if level not in _LEVELS:
        raise UsageError(
            f"`{level}` is an invalid level", hint="levels are error, warning and note; `never` fails on none"
        )
    presume = presumes(audit.assume or kept.get("assume"))
    given = dict(map(parse_setting, audit.facts))
    stated = {**dict(kept.get("settings", ())), **given}
    return AuditOptions(
        settings=tuple(stated.items()),
        kept_at=tuple((key, place) for key, place in kept.get("settings-at", ()) if key not in given),
        only=ids_of(audit.only or kept.get("only", []), base),
        ignore=ids_of([*audit.ignore, *kept.get("ignore", [])], base),
        fail_on=_LEVELS[level],
        strict=audit.strict or kept.get("strict", False),
        presume=presume,
        show_all=show_all,
        waivers=waivers_in(kept),
    )


def presumes(assume: str | None) -> bool:
    """Is what is usual presumed? ``none`` goes back to facts alone.

    Raises:
        UsageError: if it is another word.
    """
    if assume not in (None, "usual", "none"):
        raise UsageError(f"`--assume {assume}` is not known", hint="known: usual, none")
    return assume != "none"
