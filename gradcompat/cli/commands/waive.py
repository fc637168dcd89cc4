"""``gradcompat waive``: writes down that a finding is accepted, why, and until when."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from gradcompat.audit.options import NO_SUCH_ID
from gradcompat.audit.targets import environment_of, resolve_targets
from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import OwnRecords, Python, Targets, repeatable
from gradcompat.config.project_file import OWN, SHARED, ProjectFile, as_seen_from_here, project_file
from gradcompat.config.schema import options_in
from gradcompat.config.waiver_tables import day, pattern
from gradcompat.edit.journal import recover
from gradcompat.edit.waivers import with_waiver
from gradcompat.edit.writing import OUTSIDE, diff, edited, leads_outside, write, write_new
from gradcompat.errors import EditError, UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.messages import joined
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue
from gradcompat.names import normalise
from gradcompat.regular_files import read_regular
from gradcompat.renderers.terminal import safe
from gradcompat.versions import VersionSet


def command(
    *,
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The record whose findings are accepted.")],
    targets: Targets,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, which is required.")] = "",
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="DATE", help="The last day on which it applies, such as 2026-12-31."),
    ] = None,
    until_change: Annotated[
        list[str],
        repeatable("--until-change", metavar="NAME", help="It ends when this package has another version. Repeatable."),
    ],
    path: Annotated[
        str | None,
        typer.Option("--path", metavar="GLOB", help="Only for these lockfiles; a pattern as in a .gitignore."),
    ] = None,
    proof: Annotated[
        str | None,
        typer.Option(
            "--proof", metavar="FILE", help="A `gradcompat probe --record` that did not reproduce the defect."
        ),
    ] = None,
    python: Python = None,
    knowledge: OwnRecords,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print a unified diff, and write nothing.")] = False,
) -> int:
    """Accept the findings of a record: they no longer count, and are still reported as suppressed.

    The targets, or else the file that --path names or the active environment, are where --until-change finds its
    version. A waiver of the same record and path is replaced. docs/waivers.md says how waivers end.

    Exit status:
      0  it is written, or was there already
      2  wrong usage, or the file cannot be written

    Files:
      gradcompat.toml  is written, if the nearest one keeps the options, or if there is no pyproject.toml
      pyproject.toml   is written otherwise, in `[tool.gradcompat]`

    Examples:
      gradcompat waive GC-0004 --reason "one step of accumulation only" --until 2030-12-31
      gradcompat waive GC-0004 uv.lock --reason "fixed upstream soon" --until-change transformers
      gradcompat waive GC-0004 --reason "does not train" --path "services/*/uv.lock" --dry-run
    """
    return run(
        identifier,
        targets,
        reason=reason,
        until=until,
        until_change=until_change,
        path=path,
        proof=proof,
        python=python,
        knowledge=knowledge,
        dry_run=dry_run,
    )


def run(
    identifier: str,
    targets: Sequence[str],
    *,
    reason: str,
    until: str | None,
    until_change: Sequence[str],
    path: str | None,
    proof: str | None,
    python: str | None = None,
    knowledge: Sequence[str] = (),
    dry_run: bool = False,
) -> int:
    """Write a waiver into the project's file, or show the change as a unified diff.

    Returns:
        0.

    Raises:
        UsageError: if an option makes no sense, or what it needs is not there.
        EditError: if the file cannot be written; then it stays as it is.
    """
    base = known_records(knowledge)
    issue = _issue(identifier, base)
    if not reason.strip():
        raise UsageError("a waiver needs a reason", hint='say why: --reason "we train on one GPU only"')
    place, file = _place(Path.cwd())
    waiver: dict[str, Any] = {"id": issue.id, "reason": reason.strip()}
    if until is not None:
        waiver["until"] = _day(until)
    if until_change:
        waiver["packages"] = _bounds(until_change, targets, path, python, base)
    if path is not None:
        waiver["path"] = _pattern(path, place.parent)
    if proof is not None:
        waiver["proof"] = _proof(proof, issue, place.parent)
    if file is not None:
        options_in(file)  # a file that is broken already is not made worse
    keys = () if place.name == OWN else ("tool", "gradcompat")
    _write(place, lambda text, shown: with_waiver(text, shown, keys, waiver), dry_run=dry_run)
    return 0


def _issue(identifier: str, base: KnowledgeBase) -> Issue:
    issue = base.get(identifier)
    if issue is None:
        raise UsageError(f"there is no record `{identifier}`", hint=NO_SUCH_ID)
    if issue.withdrawn is not None:
        raise UsageError(f"{issue.id} is withdrawn, and found nowhere: {issue.withdrawn}")
    return issue


def _place(start: Path) -> tuple[Path, ProjectFile | None]:
    """The file that keeps the options of the project, else the nearest pyproject.toml, else a new file here."""
    file = project_file(start)
    if file is not None:
        return file.path, file
    for folder in (start, *start.parents):
        if os.path.isfile(folder / SHARED):
            return folder / SHARED, None
    return start / OWN, None


def _day(text: str) -> date:
    try:
        until = day(text)
    except ValueError:
        raise UsageError(f"`--until {text}` is not a date", hint="write the last day, such as 2026-12-31") from None
    if until < date.today():
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
    from gradcompat.suppression.waiver_evidence import read_proof, verdict_against

    proof = read_proof(Path(file), file)
    if (said := verdict_against(proof, issue)) is not None:
        raise UsageError(f"`--proof {file}` is not a proof: {said}", hint=f"run `gradcompat probe {issue.id}`")
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:
        return str(Path(file).absolute())


def _write(place: Path, change: Any, *, dry_run: bool) -> None:
    shown = as_seen_from_here(place)
    if not dry_run:
        for sentence in recover([place]):
            sys.stderr.write(f"note: {safe(sentence)}\n")
    if leads_outside(place, place.parent):
        raise EditError(OUTSIDE, path=shown, hint="put a file of its own there")
    there = os.path.lexists(place)
    try:
        before = read_regular(place) if there else b""
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", path=shown) from None
    edit = edited(place, shown, before, lambda text: change(text, shown), place.parent)
    if edit.before == edit.after:
        sys.stderr.write(f"nothing has to change: {safe(shown)} has this waiver\n")
        return
    if dry_run:
        text = diff(edit) if there else re.sub(r"\A--- .*", "--- /dev/null", diff(edit))
        # What a terminal would obey stays in a file alone.
        sys.stdout.write("\n".join(map(safe, text.split("\n"))) if sys.stdout.isatty() else text)
        return
    if there:
        write([edit])
    else:
        write_new(edit)
    sys.stderr.write(f"{'changed' if there else 'written'}: {safe(shown)}\n")
