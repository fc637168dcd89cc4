"""Which training runs belong to which environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Skipped
from gradcompat.root import Root, root_of_file, root_of_folder
from gradcompat.scanners.joining import join
from gradcompat.scanners.reading import find, is_link_outside, scan, scan_if_any


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


def in_folder(path: Path, shown: str, root: Root) -> tuple[list[Context], list[Skipped]]:
    """Every training config, launch script and program below a folder, and the links that lead out of its root."""
    contexts: list[Context] = []
    outside: list[Skipped] = []
    for file, label in find(path, shown, root):
        if is_link_outside(file, root):
            # As everything in a config: it leaves a condition open, and hides no package.
            outside.append(Skipped(what=label, reason=root.objection, gap=False, location=Location(path=label)))
        elif isinstance(context := scan_if_any(file, label, root), Context):
            contexts.append(context)
    return contexts, outside


def named(
    files: Sequence[str], place: Callable[[str], Path] = Path, said: tuple[str, ...] = ()
) -> tuple[list[Context], list[tuple[str, SourceError]]]:
    """The contexts of files given with ``--context``, and those that could not be read.

    Args:
        files: as they were named.
        place: where they lie.
        said: all that was named on the command line, with links resolved; each file may refer to it.
    """
    contexts: list[Context] = []
    failed: list[tuple[str, SourceError]] = []
    for file in dict.fromkeys(files):
        path = place(file)
        if path.is_dir():
            contexts += in_folder(path, file, root_of_folder(path, file, said))[0]
            continue
        try:
            # The file itself was named, wherever it lies.
            contexts.append(scan(replace(read_document(path, file), root=root_of_file(path, said))))
        except SourceError as error:
            failed.append((file, error))
    return contexts, failed
