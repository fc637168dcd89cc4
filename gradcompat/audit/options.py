"""What the user said beside the targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Location, SettingValue
from gradcompat.model.issue import Level, as_written, is_break
from gradcompat.startup.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from gradcompat.model.waiver import Waivers

NO_SUCH_ID = "ids look like GC-0002; --knowledge names records of your own"
# What the plans behind the advice of one check may do together, for each megabyte of environments.
PLAN_STEPS = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """What the user said beside the targets."""

    settings: tuple[tuple[str, SettingValue], ...] = ()
    kept_at: tuple[tuple[str, Location], ...] = ()  # where the project's file has those settings that it keeps
    only: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()
    fail_on: Level | None = "error"
    strict: bool = False
    presume: bool = True  # what no fact decides may be presumed
    show_all: bool = False
    waivers: Waivers | None = None
    versions_of: frozenset[str] = frozenset()  # packages that something but a record asks after
    plan_steps: int = PLAN_STEPS  # for the plan behind the advice for one environment
    replacements: tuple[tuple[str, str], ...] = ()  # versions to judge instead of what is pinned, by normalised name
    cache: Path | None = None  # the folder in which what was read of large lockfiles is kept
    advise: bool = True  # say what to do about each finding; an audit to compare with needs none


def ids_of(identifiers: Sequence[str], base: KnowledgeBase) -> frozenset[str]:
    """Ids of records as they are written.

    Raises:
        UsageError: if there is no such record.
    """
    if not identifiers:
        return frozenset()
    known = {record["id"] for record in base.records}
    ids = frozenset(map(as_written, identifiers))
    for identifier in sorted(one for one in ids - known if not is_break(one)):
        raise UsageError(f"there is no record `{identifier}`", hint=NO_SUCH_ID)
    return ids
