"""``gradcompat fix``: writes a plan into the files of the project, or shows what it would write."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.audit.plan_edits import ProjectEdits, project_edits
from gradcompat.audit.plans import PlanningResult, PlanOptions, exit_status, plan_all
from gradcompat.audit.targets import resolve_targets
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.console import known_records, package_index, print_unread
from gradcompat.cli.index_parameters import Prereleases, ResolutionParameters
from gradcompat.cli.parameters import AuditParameters, DryRun
from gradcompat.edit.atomic_write import diff, write
from gradcompat.edit.journal import recover
from gradcompat.edit.lock_run import Indexes, locked
from gradcompat.errors import EditError
from gradcompat.index.catalog import Lookup
from gradcompat.model.issue import Level
from gradcompat.model.plan_report import PlanReport
from gradcompat.renderers.plan_text import assumed_lines, nothing_text, write_open
from gradcompat.renderers.terminal import safe, width

_LOCK_SECONDS = 1200.0


def command(
    *,
    audit: AuditParameters,
    resolution: ResolutionParameters,
    prereleases: Prereleases = False,
    dry_run: DryRun = False,
    lock: Annotated[
        bool, typer.Option("--lock", help="Have uv or pip-tools write the lockfile afterwards, and build nothing.")
    ] = False,
) -> int:
    """Write the plan into pyproject.toml, requirements, environment.yml and training configs; comments stay.

    All files are written or none. A lockfile is never edited by hand: the command of its tool is printed.

    Exit status:
      0  everything is written, or there was nothing to write
      1  something is left to do by hand
      2  wrong usage, or nothing could be read
      3  not everything could be verified

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat fix . --dry-run
      gradcompat fix uv.lock --context train.yaml --lock
    """
    base = known_records(audit.knowledge)
    options = options_of(base, audit)
    if not dry_run:
        _recover(audit.targets, audit.contexts)
    asked = resolve_targets(audit.targets, audit.python, audit.contexts)
    with package_index(resolution.lookup) as catalogue:
        done = plan_all(asked, base, catalogue, options, PlanOptions.of(resolution.keep, prereleases=prereleases))
        writing = project_edits(done, catalogue, audit.targets)
    print_unread(done)
    if dry_run:
        _show("".join(map(diff, writing.changed)))
    else:
        with _undisturbed():
            write(writing.changed)
    _tell(writing, done, options.fail_on or "note", dry_run=dry_run)
    if lock and not dry_run:
        _lock(writing, resolution.lookup)
    return exit_status(done, left=bool(writing.by_hand) or any(work.left for work in done))


def _recover(targets: Sequence[str], contexts: Sequence[str]) -> None:
    """Finish or undo what a run that was killed has begun on these files, before anything is read."""
    paths = [Path(target) for target in (*targets, *contexts) if target != "-"]
    with _undisturbed():
        for sentence in recover(paths or [Path.cwd()]):
            sys.stderr.write(f"note: {safe(sentence)}\n")


def _lock(writing: ProjectEdits, lookup: Lookup) -> None:
    """Have the tools write their lockfiles; one that is left to the user does not keep the others."""
    indexes = Indexes(url=lookup.index_url, extra=lookup.extra_index_urls, offline=lookup.offline)
    for command in writing.commands.values():
        shown = shlex.join(command.arguments)
        try:
            edit = locked(command, indexes, _LOCK_SECONDS)
            with _undisturbed():
                write([edit])
        except EditError as error:
            sentence = f"{error} ({error.hint})" if error.hint else str(error)
            writing.by_hand.append(sentence)
            sys.stderr.write(f"by hand: {safe(sentence)}\n")
            continue
        sys.stderr.write(f"done: {safe(shown)}\n")


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for these few moments: between two files it would leave half of a plan."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _show(text: str) -> None:
    """A patch as it is into a file or a pipe; on a terminal without what that would obey."""
    if sys.stdout.isatty():
        text = "".join(f"{safe(line)}\n" for line in text.replace("\t", "    ").split("\n")[:-1])
    sys.stdout.write(text)


def _tell(writing: ProjectEdits, done: Sequence[PlanningResult], level: Level, *, dry_run: bool) -> None:
    """What was done goes to standard error, so that a diff can be piped; that nothing is to be done, if it is sure."""
    out, changed = sys.stderr, writing.changed
    if changed:
        out.write(f"{'would change' if dry_run else 'changed'}: {', '.join(safe(edit.shown) for edit in changed)}\n")
    for sentence in dict.fromkeys(writing.done):
        out.write(f"  {safe(sentence)}\n")
    for arguments, where in writing.commands:
        inside = "" if where.resolve() == Path.cwd() else f" (in {safe(str(where))})"
        out.write(f"then run: {safe(shlex.join(arguments))}{inside}\n")
    for sentence in dict.fromkeys(writing.by_hand):
        out.write(f"by hand: {safe(sentence)}\n")
    for sentence in dict.fromkeys(writing.notes):
        out.write(f"note: {safe(sentence)}\n")
    for line in dict.fromkeys(line for work in done for line in assumed_lines(work.planned)):
        out.write(f"taking it that {safe(line)}\n")
    _tell_nothing_done(writing, done, level)
    write_open(PlanReport(planned=tuple(work.planned for work in done), level=level), width(), out)


def _tell_nothing_done(writing: ProjectEdits, done: Sequence[PlanningResult], level: Level) -> None:
    """That nothing has to be done, where that is sure."""
    out, changed = sys.stderr, writing.changed
    if any(work.incomplete for work in done) or changed or writing.commands or writing.by_hand:
        return
    possible = [work.planned for work in done if work.planned.possible]
    for planned in possible:
        out.write(f"{safe(planned.source)}: {nothing_text(planned, level)}\n")
    if not possible:
        out.write("nothing has to change\n")
