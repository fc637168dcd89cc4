"""The root of a target: the only part of the disk that its files may make gradcompat read.

A folder that is a target is its own root. The root of a file is the nearest folder at or above it with a ``.git``, or
else the folder that it lies in; a checkout that holds the home folder is no project, and does not count. What else the
user names on the command line may be read, too: files themselves, folders with all that is in them. Whatever a file
names (``-r``, a symbolic link, a config that is composed) is compared after links are resolved.
"""

from __future__ import annotations

import os
from pathlib import Path

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Root:
    """What may be read for a target.

    Attributes:
        folder: the root, with links resolved.
        shown: how it is called to the user.
        named: the other paths of the command line, with links resolved.
    """

    folder: str
    shown: str
    named: tuple[str, ...] = ()

    def leads_outside(self, path: str | os.PathLike[str]) -> bool:
        """Does the path, with links resolved, lie neither in the root nor in what was named? It need not exist."""
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # links in a circle, or a NUL: nothing that can be read
            return False
        return not any(_lies_in(real, one) for one in (self.folder, *self.named))

    @property
    def objection(self) -> str:
        """What is said of a path that leads outside, whether or not something is there."""
        return f"leads outside `{self.shown}`; name it on the command line to read it"


def root_of_folder(folder: Path, shown: str, named: tuple[str, ...] = ()) -> Root:
    """The root of a folder that is a target: the folder itself."""
    return Root(os.path.realpath(folder), shown, named)


def root_of_file(file: Path, named: tuple[str, ...] = ()) -> Root:
    """The root of a file: its checkout, or else its folder."""
    here = Path(os.path.realpath(file.parent))
    home = Path(os.path.realpath(os.path.expanduser("~")))
    checkout = next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), None)
    folder = here if checkout is None or home.is_relative_to(checkout) else checkout
    return Root(str(folder), _as_seen_from_here(folder), named)


def is_link_outside(path: Path, root: Root) -> bool:
    """Is it a link that leads out of the root? No other file of a folder that is searched lies elsewhere."""
    return os.path.islink(path) and root.leads_outside(path)


def _as_seen_from_here(folder: Path) -> str:
    """Its path from the current folder, if it lies in it or above it; else its name."""
    try:
        seen = Path(os.path.relpath(folder))
    except ValueError:  # on another drive
        return folder.name
    parts = set(seen.parts)
    return folder.name if os.pardir in parts and len(parts) > 1 else seen.as_posix()


def _lies_in(real: str, folder: str) -> bool:
    real, folder = os.path.normcase(real), os.path.normcase(folder)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)
