"""Training runs in the code blocks of a text: what somebody has pasted into an issue, the commands of a README."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.formats.fenced_blocks import JSON, PYTHON, SHELL, YAML, FencedBlock, fenced_blocks
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.launches import launch_script
from gradcompat.startup.lazy_dataclasses import fields, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

# The file that a block of a language would be; scanners choose by its name.
_PYTHON, _YAML, _JSON, _SHELL = "block.py", "block.yaml", "config.json", "block.sh"
_NAMES = {
    **dict.fromkeys(PYTHON, (_PYTHON,)),
    **dict.fromkeys(YAML, (_YAML,)),
    **dict.fromkeys(JSON, (_JSON,)),
    **dict.fromkeys(SHELL, (_SHELL, _YAML)),
    **dict.fromkeys(("", "text", "txt", "plaintext"), (_YAML, _JSON, _SHELL, _PYTHON)),
}
_PROMPT = lazy_pattern(r"^\$ ", re.MULTILINE)


def contexts(document: Document) -> list[Context]:
    """What the code blocks of a text say of a training run; a block that says nothing of one is passed over."""
    return [context for block in fenced_blocks(document.text) if (context := _scanned(document, block)) is not None]


def launches(document: Document) -> list[Context]:
    """Each launch in the shell commands of a text that documents a project, by itself."""
    found: list[Context] = []
    for block in fenced_blocks(document.text):
        if block.language in (*SHELL, ""):
            with contextlib.suppress(SourceError):
                for context in launch_script.scan_each(_shell(block)):
                    line = min((one.location.line for one in context.settings if one.location.line), default=block.line)
                    placed: Context = moved(context, _renamed(_SHELL, document.path))
                    found.append(replace(placed, source=f"{document.path} (line {line})", documented=True))
    return found


def _shell(block: FencedBlock) -> Document:
    """A block as a script whose lines have their numbers in the text."""
    return Document(_SHELL, "\n" * (block.line - 1) + _PROMPT.sub("  ", block.text))


def _scanned(document: Document, block: FencedBlock) -> Context | None:
    above = "\n" * (block.line - 1)  # so that lines keep their numbers
    for name in _NAMES.get(block.language, ()):
        try:
            context = scan(_shell(block) if name == _SHELL else Document(name, above + block.text))
        except SourceError:
            continue
        if context.settings:
            placed: Context = moved(context, _renamed(name, document.path))
            return replace(placed, source=f"{document.path} (line {block.line})")
    return None


def _renamed(name: str, path: str) -> Callable[[Location], Location]:
    """Makes every place of a block one of the text that it stands in."""
    return lambda location: replace(location, path=path) if location.path == name else location


def moved(value: Any, move: Callable[[Location], Location]) -> Any:
    """The same value, with every place of it moved into the file that it really stands in."""
    if isinstance(value, Location):
        return move(value)
    if isinstance(value, Setting):
        # Nothing is written into what somebody has pasted.
        value = replace(value, spelling=None)
    if isinstance(value, (tuple, frozenset)):
        return type(value)([moved(part, move) for part in value])
    if hasattr(type(value), "__lazy_fields__"):
        moved_fields = {each.name: moved(getattr(value, each.name), move) for each in fields(type(value))}
        return replace(value, **moved_fields)
    return value
