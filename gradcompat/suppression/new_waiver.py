"""A new waiver: the record it accepts, how long it holds, for which files, and the file that keeps it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from gradcompat.audit.options import NO_SUCH_ID
from gradcompat.audit.targets import environment_of, resolve_targets
from gradcompat.config.project_file import OWN, SHARED, ProjectFile, project_file
from gradcompat.config.waiver_tables import day, pattern
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import joined
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue, as_written, is_break
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet
from gradcompat.suppression.waiver_evidence import read_proof, verdict_against


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverRequest:
    """What the user says of a waiver.

    Attributes:
        identifier: the record.
        targets: where the versions of ``until_change`` are found, as well as ``python``.
        reason: why the findings are accepted.
        until: the last day on which it holds, as text.
        until_change: the packages that end it when they have another version.
        path: the pattern of the files that it is for.
        proof: a record of ``gradcompat probe`` that did not reproduce the defect.
        python: an interpreter.
    """

    identifier: str
    targets: Sequence[str] = ()
    reason: str
    until: str | None = None
    until_change: Sequence[str] = ()
    path: str | None = None
    proof: str | None = None
    python: str | None = None


def new_waiver(asked: WaiverRequest, folder: Path, base: KnowledgeBase, today: date) -> dict[str, Any]:
    """The waiver as the project's file has it.

    Args:
        asked: what the user says.
        folder: of the file that keeps it.
        base: the records.
        today: a waiver cannot have ended before.

    Raises:
        UsageError: if something makes no sense, or what it needs is not there.
    """
    issue = None if is_break(asked.identifier) else _issue(asked.identifier, base)
    if not asked.reason.strip():
        raise UsageError("a waiver needs a reason", hint='say why: --reason "we train on one GPU only"')
    waiver: dict[str, Any] = {"id": as_written(asked.identifier), "reason": asked.reason.strip()}
    if asked.until is not None:
        waiver["until"] = _day(asked.until, today)
    if asked.until_change:
        waiver["packages"] = _bounds(asked.until_change, asked.targets, asked.path, asked.python, base)
    if asked.path is not None:
        waiver["path"] = _pattern(asked.path, folder)
    if asked.proof is not None:
        if issue is None:
            raise UsageError(f"{asked.identifier} has no probe", hint="a waiver of it needs a reason alone")
        waiver["proof"] = _proof(asked.proof, issue, folder)
    return waiver


def _issue(identifier: str, base: KnowledgeBase) -> Issue:
    issue = base.get(identifier)
    if issue is None:
        raise UsageError(f"there is no record `{identifier}`", hint=NO_SUCH_ID)
    if issue.withdrawn is not None:
        raise UsageError(f"{issue.id} is withdrawn, and found nowhere: {issue.withdrawn}")
    return issue


def waiver_file(start: Path) -> tuple[Path, ProjectFile | None]:
    """The file that keeps the options of the project, else the nearest pyproject.toml, else a new file here."""
    file = project_file(start)
    if file is not None:
        return file.path, file
    for folder in (start, *start.parents):
        if os.path.isfile(folder / SHARED):
            return folder / SHARED, None
    return start / OWN, None


def _day(text: str, today: date) -> date:
    try:
        until = day(text)
    except ValueError:
        raise UsageError(f"`--until {text}` is not a date", hint="write the last day, such as 2026-12-31") from None
    if until < today:
        raise UsageError(f"`--until {text}` has passed", hint="a waiver applies up to and including that day")
    return until


def _pattern(text: str, folder: Path) -> str:
    """The pattern as the file's folder sees it: who writes one in a folder below means the files there."""
    text = text[1:] if text.startswith("./") else text
    try:
        pattern(text)
    except ValueError as error:
        raise UsageError(f"`--path`: {error}", hint="write it as in a .gitignore: services/*/uv.lock") from None
    below = Path(os.path.relpath(Path.cwd(), folder)).as_posix()
    if below == ".":
        return text
    prefix = re.sub(r"([\\*?\[\]!#])", r"\\\1", below)
    anchored = "/" in text.rstrip("/")
    return f"{prefix}/{text.lstrip('/')}" if anchored else f"{prefix}/**/{text}"


def _bounds(
    names: Sequence[str], targets: Sequence[str], path: str | None, python: str | None, base: KnowledgeBase
) -> dict[str, str]:
    """The versions that are there now: the waiver ends when one is another."""
    if not targets and python is None and path is not None and os.path.isfile(path):
        targets = [path]
    environments = [environment_of(source) for source in resolve_targets(targets, python).sources]
    return {normalise(name): _bound(normalise(name), environments, base) for name in dict.fromkeys(names)}


def _bound(name: str, environments: Sequence[Environment], base: KnowledgeBase) -> str:
    wanted = {name, base.names.families.get(name, name)}
    entries = [
        package
        for environment in environments
        for package in environment.packages
        if {package.name, base.names.canonical(package)} & wanted
    ]
    where = joined(tuple(environment.source for environment in environments) or ("nothing",), "and")
    if not entries:
        raise UsageError(f"`--until-change {name}`: {where} has no {name}", hint="name a lockfile that has it")
    versions = {package.version for package in entries}
    if None in versions:
        hint = "name a lockfile, or say --until with a day"
        raise UsageError(f"`--until-change {name}`: {where} gives no version of {name}", hint=hint)
    text = " || ".join(f"=={version}" for version in sorted(filter(None, versions)))
    try:
        VersionSet.parse(text)
    except ValueError as error:
        raise UsageError(f"`--until-change {name}`: {error}", hint="say --until with a day") from None
    return text


def _proof(file: str, issue: Issue, folder: Path) -> str:
    proof = read_proof(Path(file), file)
    if (said := verdict_against(proof, issue)) is not None:
        raise UsageError(f"`--proof {file}` is not a proof: {said}", hint=f"run `gradcompat probe {issue.id}`")
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:
        return str(Path(file).absolute())
