"""``gradcompat knowledge new``: asks what a record needs, and writes it with its examples behind the last one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from packaging.version import Version

from gradcompat.cli.console import print_note
from gradcompat.cli.guard_report import answers
from gradcompat.cli.parameters import repeatable
from gradcompat.cli.record_questions import Given, record_from
from gradcompat.curation.authored_file import ISSUES, authored_file
from gradcompat.curation.lint import lint_records
from gradcompat.database.open import public_records
from gradcompat.edit.atomic_write import FileEdit, write
from gradcompat.errors import IndexUnavailable, KnowledgeError, UsageError
from gradcompat.files.regular_files import read_regular
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.knowledge.example_generator import examples
from gradcompat.knowledge.lint import is_own
from gradcompat.knowledge.load import load
from gradcompat.knowledge.record_builder import problems
from gradcompat.knowledge.record_yaml import appended, ids_in
from gradcompat.knowledge.records import Authored, Problem, read
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe, width, wrapped

T = TypeVar("T")


def command(
    *,
    named: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="The file of records.", show_default=ISSUES)
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--from", metavar="REPORT", help="What a guarded run has measured: gradcompat-guard.json."),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="GC-0000", help="Its id; without it, the next free one.")
    ] = None,
    packages: Annotated[
        list[str],
        repeatable("--package", metavar="'NAME RANGE'", help="An affected package. Repeatable."),
    ],
    conditions: Annotated[
        list[str],
        repeatable("--condition", metavar="KEY=VALUE", help="A setting, class or fact of the host. Repeatable."),
    ],
    summary: Annotated[
        str | None, typer.Option("--summary", metavar="TEXT", help="The symptom in one sentence.")
    ] = None,
    details: Annotated[str | None, typer.Option("--details", metavar="TEXT", help="The mechanism.")] = None,
    categories: Annotated[
        list[str],
        repeatable("--category", metavar="WORD", help="The category of harm. Repeatable."),
    ],
    silent: Annotated[
        bool | None, typer.Option("--silent/--loud", help="Does the run go on, wrong, without an error?")
    ] = None,
    basis: Annotated[
        str | None,
        typer.Option(
            "--basis", metavar="measured|wheels|tags|release-notes|reported", help="How the bounds are known."
        ),
    ] = None,
    level: Annotated[str | None, typer.Option("--level", metavar="error|warning|note", help="The severity.")] = None,
    informational: Annotated[
        bool | None, typer.Option("--informational/--defect", help="Is it a change of behaviour, not a defect?")
    ] = None,
    symptoms: Annotated[
        list[str],
        repeatable("--symptom", metavar="REGEX", help="What a log shows of it. Repeatable."),
    ],
    references: Annotated[
        list[str],
        repeatable("--reference", metavar="'KIND URL'", help="A link to a report or a fix. Repeatable."),
    ],
    remedies: Annotated[
        list[str],
        repeatable("--remedy", metavar="TEXT", help="A remedy, the best one first. Repeatable."),
    ],
    evidence: Annotated[
        list[str],
        repeatable("--evidence", metavar="TEXT", help="What was run or read. Repeatable."),
    ],
) -> int:
    """Write a new record after the last one, with examples on both sides of each bound; missing values are asked for.

    Nothing is asked if the options give everything that a record needs. It is checked as `lint` does it. The report
    of a guarded run answers for packages, conditions, summary, category and evidence, as far as no option does.

    A remedy is `upgrade NAME RANGE`, `downgrade NAME RANGE`, `set KEY=VALUE`, `code WHAT TO DO` or `install WHAT GOES
    TOGETHER`.

    Exit status:
      0  it is written, and `lint` finds nothing that it did not find before
      1  it is written, and `lint` finds something new, which is listed
      2  wrong usage

    Examples:
      gradcompat knowledge new
      gradcompat knowledge new --package 'transformers >=4.49.0,<4.52.1'
      gradcompat knowledge new --from gradcompat-guard.json
    """
    given = Given(
        id=identifier,
        packages=packages or None,
        conditions=conditions or None,
        summary=summary,
        details=details,
        categories=categories or None,
        silent=silent,
        basis=basis,
        level=level,
        informational=informational,
        symptoms=symptoms or None,
        references=references or None,
        remedies=remedies or None,
        evidence=evidence or None,
    )
    if report is not None:
        measured = asdict(answers(report))
        given = Given(**{key: measured[key] if value is None else value for key, value in asdict(given).items()})
    path = authored_file(named)
    before = _read(path)
    text = before.decode("utf-8")
    authored = read(Path(path))
    known = _problems(authored)
    families = {other: name for name, facts in authored.packages.items() for other in facts.also}
    if is_own(authored):
        families = {**families, **load().names.families}
    record = record_from(given, ids_in(text), families)
    record["examples"] = examples(record["affected"][0], _releases())
    if wrong := problems(record):
        raise UsageError(f"nothing was written: {'; '.join(wrong)}")
    after = appended(text, record, path).encode("utf-8")
    write([FileEdit(path=Path(path), shown=path, before=before, after=after)])
    sys.stdout.write(f"{record['id']} is written behind the last record of {path}\n")
    return _left(path, record, known)


def _read(path: str) -> bytes:
    try:
        data = read_regular(path)
        data.decode("utf-8")
    except OSError as error:
        raise KnowledgeError(f"cannot be read: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise KnowledgeError("is not UTF-8 text", path=path) from None
    return data


def _releases() -> Callable[[str], Sequence[Version]]:
    """The releases of a package that nobody has withdrawn, by the snapshot that ships with us."""
    snapshot = shipped_snapshot()

    def of(name: str) -> Sequence[Version]:
        try:
            return [release.version for release in snapshot.releases(name) if not release.yanked]
        except IndexUnavailable:
            sys.stderr.write(f"note: the releases of {safe(name)} are unknown: examples name its bounds alone\n")
            return ()

    return lru_cache(of)


def _problems(authored: Authored) -> tuple[Problem, ...]:
    """What `knowledge lint` finds in the file."""
    return lint_records(authored, public_records(print_note) if is_own(authored) else None).problems


def _left(path: str, record: Mapping[str, Any], known: Sequence[Problem]) -> int:
    """Print what `lint` finds now and did not find before, how much it still finds, and what else is left to do."""
    authored = read(Path(path))
    every = _problems(authored)
    found = [problem for problem in every if problem not in known]
    for problem in found:
        sys.stdout.write(f"{safe(str(problem))}\n")
    todo = ["look at the examples, which were made from bounds and conditions"]
    if record["range_basis"] == "measured":
        todo.append("`measured` needs `probes`, and rows of `gradcompat knowledge measure` on both sides of each bound")
    if record["range_basis"] == "reported":
        todo.append("`reported` is no error: read the releases, or measure them, and say so in `range_basis`")
    if (earlier := len(every) - len(found)) > 0:
        command = "gradcompat knowledge lint" if path == ISSUES else f"gradcompat knowledge lint {path}"
        todo.append(f"`{command}` lists {counted(earlier, 'problem')} that the file had before")
    if not is_own(authored):
        todo.append(f"`gradcompat knowledge compile {path}`" if path != ISSUES else "`gradcompat knowledge compile`")
    said = counted(len(found), "problem") if found else "no problems" if not earlier else "no new problems"
    sys.stdout.write(wrapped(f"{said}; left to do: {'; '.join(todo)}", width(), "", "") + "\n")
    return 1 if found else 0
