"""Which training runs belong to which environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import Skipped
from gradcompat.scanners.joining import join
from gradcompat.scanners.reading import find, scan, scan_if_any


@dataclass(frozen=True, slots=True)
class Contexts:
    """What was scanned: files that the user named, and files that were found in folders."""

    named: tuple[Context, ...] = ()
    found: tuple[Context, ...] = ()

    @property
    def skipped(self) -> list[Skipped]:
        """What could not be understood in them; it leaves a condition open and hides no package."""
        return [replace(one, gap=False) for context in (*self.named, *self.found) for one in context.skipped]

    def of(self, environments: Sequence[str]) -> list[tuple[Context, ...]]:
        """The runs of each environment, in their order.

        A config that was found belongs to the environments of the nearest folder at or above its own, or to all where
        no folder above has any; so that in a repository of many projects each keeps its own. A named one belongs to
        all environments.
        """
        owned: list[list[Context]] = [[] for _ in environments]
        folders = [PurePosixPath(environment).parent for environment in environments]
        for context in self.found:
            parents = PurePosixPath(context.source).parents
            nearest = next((parent for parent in parents if parent in folders), None)
            for index, folder in enumerate(folders):
                if nearest is None or folder == nearest:
                    owned[index].append(context)
        joined = {key: join(key) for key in {tuple(contexts) for contexts in owned}}
        named = join(self.named, together=True)
        return [(*named, *joined[tuple(contexts)]) for contexts in owned]


def in_folder(path: Path, shown: str) -> list[Context]:
    """Every training config, launch script and program below a folder."""
    scanned = (scan_if_any(file, label) for file, label in find(path, shown))
    return [context for context in scanned if isinstance(context, Context)]


def named(
    files: Sequence[str], place: Callable[[str], Path] = Path
) -> tuple[list[Context], list[tuple[str, SourceError]]]:
    """The contexts of files given with ``--context``, and those that could not be read; ``place`` is where they lie."""
    contexts: list[Context] = []
    failed: list[tuple[str, SourceError]] = []
    for file in dict.fromkeys(files):
        path = place(file)
        if os.path.isdir(path):
            contexts += in_folder(path, file)
            continue
        try:
            contexts.append(scan(read_document(path, file)))
        except SourceError as error:
            failed.append((file, error))
    return contexts, failed
