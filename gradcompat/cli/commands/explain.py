"""``gradcompat explain``: one record in full, one setting, or the vocabulary of settings."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import OwnRecords
from gradcompat.errors import UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.issue import (
    Issue,
    ModelTerm,
    PlatformTerm,
    PythonTerm,
    SettingRemedy,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.model.matrix import Matrix
from gradcompat.renderers.record import REFERENCES, kind, parts
from gradcompat.renderers.terminal import width, wrapped
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES


def command(
    *,
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A record such as GC-0002, a setting such as training.gradient_accumulation_steps, or `settings` for "
            "the list of them.",
        ),
    ],
    form: Annotated[
        str, typer.Option("--format", metavar="text|markdown", help="How to print a record; a setting is text.")
    ] = "text",
    knowledge: OwnRecords,
) -> int:
    """Show a record: what breaks, in which combinations, why we believe it, and what to do.

    Or a setting: what it means, what feeds it, and which records depend on it.

    Exit status:
      0  it is shown
      2  there is no such record or setting

    Examples:
      gradcompat explain GC-0004
      gradcompat explain training.gradient_accumulation_steps
      gradcompat explain settings
    """
    if form not in ("text", "markdown"):
        raise UsageError(f"`--format {form}` is not known", hint="known: text, markdown")
    if form == "markdown" and (identifier == "settings" or identifier in KEYS):
        raise UsageError("`--format markdown` is for records", hint="settings are printed as text")
    if identifier == "settings":
        _settings(sys.stdout)
        return 0
    if identifier in KEYS:
        _setting(identifier, known_records(knowledge), sys.stdout)
        return 0
    if identifier.partition(".")[0] in {key.partition(".")[0] for key in KEYS}:
        close = difflib.get_close_matches(identifier, KEYS, n=1)
        raise UsageError(
            f"`{identifier}` is not a known setting",
            hint=f"did you mean `{close[0]}`?" if close else "`gradcompat explain settings` lists them",
        )
    issue = known_records(knowledge).get(identifier)
    if issue is None:
        raise UsageError(
            f"there is no record `{identifier}`", hint="ids look like GC-0002; --knowledge names records of your own"
        )
    if form == "markdown":
        from gradcompat.renderers import record_markdown

        record_markdown.render(issue, matrices_of(issue), sys.stdout)
    else:
        _issue(issue, sys.stdout)
    return 0


def _settings(out: TextIO) -> None:
    columns = width()
    for name, key in KEYS.items():
        out.write(wrapped(f"{key.meaning} ({key.type})", columns, f"{name:<42} ", " " * 43) + "\n")


def _setting(name: str, base: KnowledgeBase, out: TextIO) -> None:
    """The key, the tools' keys that feed it, and the records that speak of it."""
    from gradcompat.scanners.settings_reference import note, origins

    columns = width()
    key = KEYS[name]
    out.write(wrapped(f"{key.meaning} ({key.type})", columns, f"{name}: ", "  ") + "\n")
    _section("Read from", origins(name), columns, out)
    if (said := note(name)) is not None:
        out.write("\n" + wrapped(said, columns, "", "") + "\n")
    issues = base.in_force()
    needed = [
        issue
        for issue in issues
        if any(_is_about(term, name) for combination in issue.affected for term in combination.terms)
    ]
    changed = [
        issue
        for issue in issues
        if any(isinstance(remedy, SettingRemedy) and remedy.key == name for remedy in issue.remedies)
    ]
    _section("Records that depend on it", [f"{issue.id} {issue.summary}" for issue in needed], columns, out)
    _section(
        "Records that a change of it cures", [", ".join(issue.id for issue in changed)] if changed else [], columns, out
    )


def _is_about(term: Term, name: str) -> bool:
    match term:
        case SettingTerm(key=key):
            return key == name
        case ModelTerm():
            return name == "model.architecture"
        case SymbolTerm() | SymbolAbsentTerm():
            return name == "code.symbols"
        case PythonTerm():
            return name == "host.python"
        case PlatformTerm():
            return name == "host.platform"
        case VirtualTerm(name=virtual):
            return VIRTUAL_PACKAGES.get(name) == virtual
    return False


def _issue(issue: Issue, out: TextIO) -> None:
    columns = width()
    out.write(wrapped(issue.summary, columns, f"{issue.id} ", "  ") + "\n")
    out.write(f"{kind(issue)}\n")
    if issue.withdrawn is not None:
        out.write(wrapped(f"withdrawn: {issue.withdrawn}", columns, "", "  ") + "\n")
    out.write("\n" + wrapped(issue.details, columns, "", "") + "\n")
    shown = parts(issue)
    for part in shown:
        if part.title != REFERENCES:
            _section(part.title, part.lines, columns, out)
    _measured(issue, columns, out)
    for part in shown:
        if part.title == REFERENCES:
            _section(part.title, part.lines, columns, out)


def _measured(issue: Issue, columns: int, out: TextIO) -> None:
    """The releases that its probes were run in, as a picture."""
    if not issue.probes:
        return
    from gradcompat.renderers import matrix_text

    for matrix in matrices_of(issue):
        out.write("\nMeasured in ")
        matrix_text.render(matrix, out)
    command = f"gradcompat probe {issue.id}"
    out.write("\n" + wrapped(f"Measure it in your own environment: {command}", columns, "", "  ") + "\n")


def matrices_of(issue: Issue) -> tuple[Matrix, ...]:
    """What its probes measured, of the rows that ship with the package."""
    if not issue.probes:
        return ()
    from gradcompat.knowledge.matrix import load_rows, matrices

    wanted = {str(probe.spec) for probe in issue.probes}
    return matrices([row for row in load_rows() if str(row.measurement.spec) in wanted])


def _section(title: str, lines: Sequence[str], columns: int, out: TextIO) -> None:
    if lines:
        out.write(f"\n{title}\n")
        for line in lines:
            out.write(wrapped(line, columns, "  ", "    ") + "\n")
