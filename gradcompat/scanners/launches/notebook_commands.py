"""Trainings that the cells of a notebook start by commands: ``!yolo detect train …``, ``!accelerate launch …``.

The commands of a notebook are read as one script, each line of which stands where it does in the notebook; what Python
puts into them (``{epochs}``) is not known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.context import Context
from gradcompat.model.environment import Location
from gradcompat.scanners.code.notebook_code import code_cells, is_python, lines_of
from gradcompat.scanners.launches import launch_script
from gradcompat.scanners.launches.pasted_blocks import moved
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_COMMANDS = lazy_pattern(r"[\"\n][ \t]*(?:!|%%(?:bash|sh|shell|script)\b)")
_OF_SHELL = lazy_pattern(r"\s*%%(?:bash|sh|shell|script[ \t]+(?:ba)?sh)\b")
_COMMAND = lazy_pattern(r"[ \t]*![ \t]*(?!!)")
_OF_PYTHON = lazy_pattern(r"\{(\w+)\}")


def launches(document: Document) -> list[Context]:
    """Each training that the commands of a notebook start, by itself; none where it is no notebook."""
    if _COMMANDS.search(document.text) is None:
        return []
    found: list[Context] = []
    with contextlib.suppress(SourceError):
        places = Places(document.text, document.path)
        script: list[str] = []
        lines: list[Location] = []
        for keys, pieces in code_cells(parse(document.text, document.path)) or ():
            script += _commands("".join(pieces).splitlines())
            lines += lines_of(pieces, keys, places)
            script += [""] * (len(lines) - len(script))
            del lines[len(script) :]

        def move(location: Location) -> Location:
            known = location.line is not None and location.path == document.path and location.line <= len(lines)
            return lines[(location.line or 1) - 1] if known else location

        for context in launch_script.scan_each(replace(document, text="\n".join(script), file=None)):
            placed: Context = moved(context, move)
            first = min((one.location.line for one in placed.settings if one.location.line), default=1)
            found.append(replace(placed, source=f"{document.path} (line {first})"))
    return found


def _commands(lines: Iterable[str]) -> Iterator[str]:
    """Each line of a cell as a line of a script; empty where it is Python."""
    lines = list(lines)
    whole = bool(lines) and _OF_SHELL.match(lines[0]) is not None
    python = is_python("\n".join(lines))
    continued = False
    for number, line in enumerate(lines):
        command = _COMMAND.match(line)
        if whole:
            yield line if number else ""
        elif python and (continued or command is not None):
            text = line if command is None or continued else line[command.end() :]
            yield _OF_PYTHON.sub(r"${\1}", text)
            continued = text.endswith("\\")
        else:
            yield ""
