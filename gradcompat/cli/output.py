"""Where reports go: each in its format to standard output or to a file, which is written whole or not at all."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from gradcompat.errors import UsageError
from gradcompat.model.report import Report
from gradcompat.redaction import redact
from gradcompat.renderers.registry import RENDERERS
from gradcompat.startup.lazy_dataclasses import dataclass

_STANDARD = "-"
_PIECE = 2**20  # characters
_SUMMARY_BYTES = 1_000_000  # GitHub shows no summary of more than 1 MiB


@dataclass(frozen=True, slots=True)
class Output:
    """A format, and the file that it goes to; ``-`` is standard output."""

    form: str
    file: str


def outputs_of(form: str | None, asked: Sequence[str]) -> tuple[Output, ...]:
    """What ``--format`` and ``--output FORMAT=FILE`` ask for. Text goes to standard output unless something else does.

    Raises:
        UsageError: if a format is not known, a file cannot be written, or two reports would go to one place.
    """
    outputs = [] if form is None else [Output(_known(form, f"--format {form}"), _STANDARD)]
    for text in asked:
        name, _, file = text.partition("=")
        outputs.append(Output(_known(name, f"--output {text}"), file))
        if not file:
            raise UsageError(
                f"`--output {text}` names no file", hint="write --output sarif=report.sarif; `-` is standard output"
            )
    if not any(output.file == _STANDARD for output in outputs):
        outputs.insert(0, Output("text", _STANDARD))
    places = [output.file if output.file == _STANDARD else os.path.realpath(output.file) for output in outputs]
    for place in places:
        if places.count(place) > 1:
            shown = "standard output" if place == _STANDARD else f"`{outputs[places.index(place)].file}`"
            raise UsageError(f"two reports would go to {shown}")
    for output in outputs:
        # Better now than after minutes of probing.
        if output.file != _STANDARD and not os.path.isdir(Path(os.path.realpath(output.file)).parent):
            raise UsageError("cannot be written: there is no such folder", path=output.file)
    return tuple(outputs)


def write(report: Report, outputs: Sequence[Output]) -> None:
    """Write every report, files first; annotations of GitHub bring the summary of the step with them.

    All texts are on the disk before the first one takes its place.

    Raises:
        UsageError: if a file cannot be written.
    """
    staged: list[tuple[str, Path, str]] = []
    try:
        for output in outputs:
            if output.file != _STANDARD:
                from gradcompat.files.atomic_file import stage

                path, data = Path(os.path.realpath(output.file)), _rendered(report, output.form)
                try:
                    if os.path.exists(path) and not os.path.isfile(path):
                        path.write_bytes(data)  # a pipe or a device
                    else:
                        staged.append((stage(path, data), path, output.file))
                except OSError as error:
                    raise _unwritable(output.file, error) from None
        for temporary, path, shown in staged:
            try:
                os.replace(temporary, path)
            except OSError as error:
                raise _unwritable(shown, error) from None
    finally:
        for temporary, _, _ in staged:
            with suppress(OSError):
                os.unlink(temporary)
    for output in outputs:
        if output.file == _STANDARD:
            text = _text(report, output.form)
            for start in range(0, len(text), _PIECE):  # a large one is not encoded as a whole, beside itself
                sys.stdout.write(text[start : start + _PIECE])
    if any(output.form == "github" for output in outputs) and (summary := os.environ.get("GITHUB_STEP_SUMMARY")):
        _append_summary(report, summary)


def _known(form: str, said: str) -> str:
    if form not in RENDERERS:
        raise UsageError(f"`{said}` is not known", hint=f"known: {', '.join(RENDERERS)}")
    return form


def _rendered(report: Report, form: str) -> bytes:
    return _text(report, form).encode("utf-8", "backslashreplace")


def _text(report: Report, form: str) -> str:
    """The report without credentials: whatever a renderer took from the audits passes here."""
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS[form].module}").render(report, out)
    return redact(out.getvalue())


def _append_summary(report: Report, file: str) -> None:
    data = _rendered(report, "markdown")
    if len(data) > _SUMMARY_BYTES:
        data = data[:_SUMMARY_BYTES].rpartition(b"\n")[0] + b"\n\nThe rest is too long for a summary.\n"
    try:
        with open(file, "ab") as summary:
            summary.write(data)
    except OSError as error:
        raise _unwritable(file, error) from None


def _unwritable(file: str, error: OSError) -> UsageError:
    return UsageError(f"cannot be written: {error.strerror or error}", path=file)
