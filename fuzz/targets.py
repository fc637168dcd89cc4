"""What is fuzzed: every place where this folder touches gradcompat stands here.

A text target takes one text in memory; a folder target is a command that runs in a folder of files, in this process,
as the console script would run it.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path, PurePath

import click

import gradcompat
from fuzz.grammars.table import file_name
from gradcompat.cli.app import app
from gradcompat.cli.command_end import print_error
from gradcompat.dependency_formats import BY_KIND as FORMAT_OF
from gradcompat.dependency_formats import FORMATS as DEPENDENCY_FORMATS
from gradcompat.dependency_formats import by_name
from gradcompat.edit.pins import PinEdit
from gradcompat.edit.registry import edit_text
from gradcompat.errors import EditError, GradcompatError, SourceError
from gradcompat.formats.document import Document, decode
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Skipped
from gradcompat.redaction import redact
from gradcompat.renderers.registry import RENDERERS
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet
from gradcompat.scanners.registry import SCANNERS
from gradcompat.scanners.registry import candidates as scanners_for
from gradcompat.sources.any_format import read_as
from gradcompat.sources.recognise import recognise
from gradcompat.vocabulary import KEYS

PACKAGE = str(Path(gradcompat.__file__).parent)
INTERNAL_ERROR = 70
READ_KINDS = tuple(entry.kind for entry in DEPENDENCY_FORMATS)
SCAN_KINDS = tuple(scanner.kind for scanner in SCANNERS)
EDIT_KINDS = tuple(entry.kind for entry in DEPENDENCY_FORMATS if entry.editor is not None)
FORMATS = tuple(RENDERERS)
_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "list": (tuple,),
    "version": (str,),
}


class BrokenPromise(Exception):
    """A result that a reader, a scanner or an editor says it never gives."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of an input.

    Attributes:
        outcome: in a few words, the same for results alike.
        texts: everything that a user would see, by the name of the report.
        status: the exit status of a command.
    """

    outcome: str
    texts: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


def kinds_of(path: PurePath, data: bytes) -> list[str]:
    """The kinds that a file may be of, by its name and its words."""
    expected = by_name(path.name)
    kinds = [] if expected is None else [expected.kind]
    with contextlib.suppress(SourceError):
        text = decode(data, path.name)
        kinds += [scanner.kind for scanner in scanners_for(path.name, text)]
        recognised = recognise(text)
        kinds += [] if recognised is None else [recognised]
    return kinds


def read(kind: str, data: bytes) -> Result:
    """Read a text as that kind."""
    name = file_name(kind)
    try:
        environment = read_as(FORMAT_OF[kind], Document(name, decode(data, name)))
    except SourceError as error:
        return _refused(error)
    _check_environment(environment)
    return Result("read", {"environment": _shown(environment)})


def scan(kind: str, data: bytes) -> Result:
    """Scan a text as that kind."""
    name = file_name(kind)
    scanner = next(one for one in SCANNERS if one.kind == kind)
    try:
        context: Context = import_module(f"gradcompat.scanners.{scanner.module}").scan(
            Document(name, decode(data, name))
        )
    except SourceError as error:
        return _refused(error)
    _check_context(context)
    return Result("scanned", {"context": _shown((context.source, context.skipped))})


def edit(kind: str, data: bytes) -> Result:
    """Move every pin of a text; nothing is written."""
    name = file_name(kind)
    try:
        text = decode(data, name)
        environment = read_as(FORMAT_OF[kind], Document(name, text))
    except SourceError as error:
        return _refused(error)
    pins = [
        PinEdit(
            package=one.name,
            version_from=one.version or "1.0",
            version_to="9.9.9",
            kind="upgrade",
            direct=True,
            hashes=(),
        )
        for one in environment.packages[:3]
    ]
    try:
        edited = edit_text(kind, Path(name), name, text, pins)
    except EditError as error:
        _one_line(error.message)
        return Result("EditError", {"message": str(error)})
    return Result("edited", {"notes": _shown((edited.settled, edited.not_edited, edited.notes))})


def _shown(result: object) -> str:
    """Every report goes through redaction as a whole."""
    return redact(repr(result))


def _refused(error: SourceError) -> Result:
    _one_line(error.message)
    return Result(f"{type(error).__name__}: {error.message}", {"message": f"{error} {error.hint}"})


def _promise(kept: object, what: str) -> None:
    if not kept:
        raise BrokenPromise(what)


def _one_line(text: str) -> None:
    _promise(text, "a sentence is empty")
    _promise("\n" not in text, "a sentence has two lines")


def _check_skipped(skipped: tuple[Skipped, ...]) -> None:
    for one in skipped:
        _one_line(one.what)
        _one_line(one.reason)


def _check_environment(environment: Environment) -> None:
    for one in environment.packages:
        _promise(one.version is None or isinstance(one.version, str), "a version is no text")
        _promise(one.version is None or one.specifier is None, "a package has a version and a range")
        _promise(one.source == "conda" or one.name == normalise(one.name), "a name is not normalised")
        _promise(one.location.line is None or one.location.line >= 1, "a line is before the first")
        if one.specifier is not None:
            try:
                VersionSet.parse(one.specifier)
            except ValueError:
                raise BrokenPromise("a range is none") from None
    _check_skipped(environment.skipped)


def _check_context(context: Context) -> None:
    for one in context.settings:
        wanted = KEYS[one.key].type
        _promise(one.value is None or isinstance(one.value, _TYPES[wanted]), f"{one.key} is no {wanted}")
        _promise(wanted == "bool" or not isinstance(one.value, bool), f"{one.key} is a bool")
        _promise(one.location.line is None or one.location.line >= 1, "a line is before the first")
        _promise(one.spelling is None or "{}" in one.spelling, "a spelling has no place for the value")
    _check_skipped(context.skipped)


TEXT_TARGETS: dict[str, tuple[Callable[[str, bytes], Result], tuple[str, ...]]] = {
    "read": (read, READ_KINDS),
    "scan": (scan, SCAN_KINDS),
    "edit": (edit, EDIT_KINDS),
}


def command(arguments: list[str], reports: Path | None = None) -> Result:
    """Run a command in this process and this folder, as the console script does.

    Args:
        arguments: of ``gradcompat``.
        reports: a folder for reports in other formats, beside the text.
    """
    files = {} if reports is None else {form: reports / form for form in _written()}
    for form, file in files.items():
        arguments = [*arguments, "--output", f"{form}={file}"]
    out, err = io.StringIO(), io.StringIO()
    # Colours and widths are those of a pipe; nothing waits for a terminal.
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            returned = app(arguments, standalone_mode=False)
            status = returned if isinstance(returned, int) else 0
        except GradcompatError as error:
            print_error(error)
            status = 2
        except (click.ClickException, SystemExit) as error:
            status = 2
            print(getattr(error, "message", error), file=sys.stderr)
    texts = {"text": out.getvalue(), "errors": err.getvalue()}
    for form, file in files.items():
        if file.exists():
            texts[form] = file.read_bytes().decode("utf-8")
            file.unlink()
    return Result(f"status {status}", texts, status)


def _written() -> list[str]:
    """JSON and three others; which of them depends on what lies in the folder, so all have their turn."""
    names = "".join(f"{one}{os.lstat(one).st_size}" for one in sorted(os.listdir(".")))
    others = [form for form in FORMATS if form not in ("text", "json")]
    start = zlib.crc32(names.encode("utf-8", "surrogateescape")) % len(others)
    return ["json", *(others[(start + step * 3) % len(others)] for step in range(3))]


def check_json() -> Result:
    """``gradcompat check .`` as JSON alone."""
    done = command(["check", ".", "--format", "json"])
    return Result(done.outcome, {"json": done.texts["text"], "errors": done.texts["errors"]}, done.status)


def _check(reports: Path, file: str | None) -> Result:
    return command(["check", file or "."], reports)


def _check_in_process(_: Path, file: str | None) -> Result:
    """The console script in a process of its own, where nothing is imported yet."""
    script = Path(sys.executable).with_name("gradcompat")
    start = [str(script)] if script.exists() else [sys.executable, "-m", "gradcompat"]
    done = subprocess.run(
        [*start, "check", file or "."], capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    texts = {"text": done.stdout.decode("utf-8", "replace"), "errors": done.stderr.decode("utf-8", "replace")}
    if "Traceback (most recent call last)" in texts["errors"]:
        raise RuntimeError(texts["errors"].strip().splitlines()[-1])
    return Result(f"status {done.returncode}", texts, done.returncode)


def _inspect(_: Path, file: str | None) -> Result:
    return command(["inspect", file or "."])


def _plan(_: Path, file: str | None) -> Result:
    return command(["plan", file or ".", "--offline"])


def _fix(_: Path, file: str | None) -> Result:
    return command(["fix", file or ".", "--offline", "--dry-run"])


def _diagnose(_: Path, file: str | None) -> Result:
    names = [file] if file is not None else sorted(one for one in os.listdir(".") if os.path.isfile(one))[:6]
    return command(["diagnose", "--", *names]) if names else Result("nothing")


FOLDER_TARGETS: dict[str, Callable[[Path, str | None], Result]] = {
    "check": _check,
    "process": _check_in_process,
    "inspect": _inspect,
    "plan": _plan,
    "fix": _fix,
    "diagnose": _diagnose,
}
TARGETS = (*TEXT_TARGETS, *FOLDER_TARGETS)
