"""The Python interface: what ``gradcompat check`` does, as a function."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Literal

from gradcompat.audit.options import AuditOptions, ids_of
from gradcompat.audit.replaced_versions import parse_replacements
from gradcompat.database.open import open_database
from gradcompat.model.environment import SettingValue
from gradcompat.model.issue import Level
from gradcompat.model.report import Report
from gradcompat.pipeline import CheckRequest, check_targets
from gradcompat.suppression.waivers import waivers_at
from gradcompat.vocabulary import setting_of


def check(
    *targets: str | os.PathLike[str],
    python: str | os.PathLike[str] | None = None,
    contexts: Sequence[str | os.PathLike[str]] = (),
    versions: Mapping[str, str] | None = None,
    settings: Mapping[str, SettingValue | Sequence[SettingValue]] | None = None,
    fail_on: Level | None = "error",
    strict: bool = False,
    assume: Literal["usual", "none"] = "usual",
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    knowledge: Sequence[str | os.PathLike[str]] = (),
    waivers: str | os.PathLike[str] | None = None,
) -> Report:
    """Match environments and lockfiles against the known training defects.

    Nothing of what is checked is imported or run, and nothing goes to a network.
    The options and waivers of a project's own file do not count here, but for those of ``waivers``.

    Args:
        targets: lockfiles, environments' folders or projects; without one, and without ``python``, the active
            environment.
        python: an interpreter, whose environment is checked as well.
        contexts: training configs, launch scripts or programs that belong to all of the targets.
        versions: judged in place of what is pinned, by the name of the package; then only what they bring counts, and
            :attr:`Audit.cured` is what they cure.
        settings: what else is known of the training, by the keys that ``gradcompat explain settings`` lists; it counts
            more than any file.
        fail_on: findings at or above this level make :attr:`Report.exit_status` 1; None for none.
        strict: conditional findings count too.
        assume: ``usual`` presumes what is usual where nothing states a fact; ``none`` keeps to facts alone.
        only: ids of records, no others are matched.
        ignore: ids of records that are not.
        knowledge: files or folders of records of your own, beside the others.
        waivers: a ``gradcompat.toml`` or pyproject.toml; what its waivers accept today is in :attr:`Report.suppressed`.

    Returns:
        A report with an audit for each environment. One that could not be read is an audit whose ``kind`` is None; it
        is never clean.

    Raises:
        UsageError: if a setting or an id is not known, a package of ``versions`` is listed nowhere, or the file of the
            waivers is wrong.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    base = open_database([os.fspath(one) for one in knowledge], note=warnings.warn, project=False)
    options = AuditOptions(
        settings=tuple(setting_of(key, value) for key, value in (settings or {}).items()),
        only=ids_of(only, base),
        ignore=ids_of(ignore, base),
        fail_on=fail_on,
        strict=strict,
        presume=assume == "usual",
        replacements=parse_replacements([f"{name}=={version}" for name, version in (versions or {}).items()]),
    )
    if waivers is not None:
        options = replace(options, waivers=waivers_at(os.fspath(waivers)))
    request = CheckRequest(
        targets=[os.fspath(target) for target in targets],
        python=None if python is None else os.fspath(python),
        contexts=[os.fspath(context) for context in contexts],
    )
    return check_targets(request, base, options, date.today)
