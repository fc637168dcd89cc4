"""The training runs that a project documents: the commands of its READMEs and notebooks that start its programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from gradcompat.errors import SourceError
from gradcompat.files.root import Root
from gradcompat.formats.document import Document, read_document
from gradcompat.formats.fenced_blocks import has_fences
from gradcompat.messages import NO_SUCH_VALUE
from gradcompat.model.context import Context
from gradcompat.scanners.named_files import is_meant
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_README = lazy_pattern(r"readme[\w.-]*\.(?:md|markdown)")
_LAUNCHES = lazy_pattern(
    r"torchrun|accelerate|deepspeed|colossalai|llamafactory-cli|axolotl|swift|trl |tune |python|yolo |mlx_lm_lora"
    r"|lerobot"
)
_NOTEBOOK = ".ipynb"
_MOST = 100


def is_documentation(name: str) -> bool:
    """Does a file of this name say how a project is run?"""
    return _README.fullmatch(name.lower()) is not None


def is_notebook(name: str) -> bool:
    """Does a file of this name hold commands beside its program?"""
    return name.lower().endswith(_NOTEBOOK)


def documented_runs(files: Sequence[tuple[Path, str]], root: Root, contexts: Sequence[Context]) -> list[Context]:
    """The launches in notebooks and READMEs whose program is there; of READMEs those that no script starts.

    A README is documentation: what cannot be read of it is no gap, and a command that starts nothing is none. A word
    in the place of a number (``--nproc_per_node=N``) is for the reader to fill in, and is not told.

    Args:
        files: the READMEs and notebooks of the project, each with its name as it is shown.
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
        found += [
            _of_page(context)
            for context in _launches(document)
            if (not context.documented or scripted.isdisjoint(PurePosixPath(one).name for one in context.targets))
            and _starts(context, sources)
        ]
    return found[:_MOST]


def _launches(document: Document) -> list[Context]:
    if _LAUNCHES.search(document.text) is None:
        return []
    if is_notebook(document.path):
        from gradcompat.scanners.launches.notebook_commands import launches as commands

        return commands(document)
    if has_fences(document.text):
        from gradcompat.scanners.launches.pasted_blocks import launches

        return launches(document)
    return []


def _of_page(context: Context) -> Context:
    """A launch without what says nothing of the project where a page shows it."""
    if not context.documented:
        return context
    told = tuple(skipped for skipped in context.skipped if not skipped.reason.startswith(NO_SUCH_VALUE))
    # A page may show the modules of an older release than the one that the project lists.
    return replace(context, skipped=told, uses=())


def _starts(context: Context, sources: set[PurePosixPath]) -> bool:
    """Is the program of a launch there; of a tool, a config that it is given? A path that fits several names none.

    A tool that a notebook starts needs neither: its cells are what is run, and no example.
    """
    if not (context.documented or context.targets):
        return True
    here = PurePosixPath(context.source).parent
    wanted = [PurePosixPath(one) for one in context.targets or context.refers_to]
    return any(here / one in sources or sum(is_meant(one, source) for source in sources) == 1 for one in wanted)
