"""The training runs that a project documents: the commands of its READMEs that start its programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.formats.fenced_blocks import has_fences
from gradcompat.lazy_patterns import lazy_pattern
from gradcompat.model.context import Context
from gradcompat.root import Root

_README = lazy_pattern(r"readme[\w.-]*\.(?:md|markdown)")
_LAUNCHES = lazy_pattern(r"torchrun|accelerate|deepspeed|colossalai|llamafactory-cli|axolotl|swift|trl |tune |python")
_MOST = 100


def is_documentation(name: str) -> bool:
    """Does a file of this name say how a project is run?"""
    return _README.fullmatch(name.lower()) is not None


def documented_runs(files: Sequence[tuple[Path, str]], root: Root, contexts: Sequence[Context]) -> list[Context]:
    """The launches in READMEs whose program and configs are there, and which no script starts.

    A README is documentation: what cannot be read of it is no gap, and a command that starts nothing is none.

    Args:
        files: the READMEs of the project, each with its name as it is shown.
        root: what may be read.
        contexts: what else was scanned.
    """
    sources = {PurePosixPath(context.source) for context in contexts}
    scripted = {PurePosixPath(target).name for context in contexts for target in context.targets}
    found: list[Context] = []
    for path, label in files:
        if len(found) >= _MOST or root.leads_outside(path):
            continue
        try:
            document = read_document(path, label)
        except SourceError:
            continue
        if has_fences(document.text) and _LAUNCHES.search(document.text):
            from gradcompat.scanners.pasted_blocks import launches

            found += [
                context
                for context in launches(document)
                if scripted.isdisjoint(PurePosixPath(target).name for target in context.targets)
                and _starts(context, sources)
            ]
    return found[:_MOST]


def _starts(context: Context, sources: set[PurePosixPath]) -> bool:
    """Is the program of a launch there; of a tool, a config that it is given? A path that fits several names none."""
    here = PurePosixPath(context.source).parent
    wanted = [PurePosixPath(one) for one in context.targets or context.refers_to]
    return any(here / one in sources or sum(_ends(source, one) for source in sources) == 1 for one in wanted)


def _ends(source: PurePosixPath, wanted: PurePosixPath) -> bool:
    parts = [part for part in wanted.parts if part not in (".", "..", "/")]
    return bool(parts) and list(source.parts[-len(parts) :]) == parts
