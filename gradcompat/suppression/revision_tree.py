"""The files of a revision that could be read for an audit, laid out in a folder as they lie in the work tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gradcompat.dependency_formats import by_name
from gradcompat.errors import UsageError
from gradcompat.formats.document import MAX_BYTES
from gradcompat.formats.lfs_pointer import size_of_content
from gradcompat.scanners.registry import SCANNERS
from gradcompat.scanners.unscanned import largest
from gradcompat.suppression.git import Commit, Entry, Repository

# What requirements, Dockerfiles and configs name beside what a folder is searched for.
_BESIDE = frozenset({"", ".txt", ".in", ".pip", ".lock", ".toml", ".cfg"})
_BESIDE_BYTES = 1024 * 1024
_LINK_BYTES = 4096
MOST_BYTES, MOST_WRITTEN = 256 * 1024 * 1024, 50_000  # of all files that are laid out
_LINKS = 40  # in one path, as on Linux
_ENDINGS = tuple({name.rpartition("*")[2] for scanner in SCANNERS for name in scanner.names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is looked at, as paths from the top of the repository.

    Attributes:
        files: named one by one.
        folders: searched; ``""`` is the top.
        beside: whatever a named file may refer to is wanted too.
    """

    files: frozenset[str]
    folders: tuple[str, ...]
    beside: bool

    def may_resolve(self, path: str) -> bool:
        """Is it a lockfile above one of the folders, which may resolve the project there?"""
        above, _, name = path.rpartition("/")
        expected = by_name(name)
        if expected is None or not expected.lock:
            return False
        return any(folder and (not above or folder.startswith(f"{above}/")) for folder in self.folders)

    def searched(self, path: str) -> bool:
        """Does it lie in one of the folders?"""
        return any(not folder or path == folder or path.startswith(f"{folder}/") for folder in self.folders)


@dataclass(frozen=True, slots=True)
class Earlier:
    """The files of a revision, under the names that they have now.

    Attributes:
        top: the folder that stands for the top of the repository.
        paths: what the revision holds.
        unread: path → why it could not be laid out; a path with a slash at the end is all of a folder.
    """

    top: Path
    paths: frozenset[str]
    unread: Mapping[str, str]

    def why_unread(self, path: str) -> str | None:
        """Why a file of the revision is not there; None if it is, or if there is none."""
        folders = (f"{parent}/" for parent in PurePosixPath(path).parents)
        return next((self.unread[folder] for folder in (path, *folders) if folder in self.unread), None)


@dataclass(slots=True)
class _Layout:
    """What comes where, before anything is written."""

    entries: dict[str, tuple[Repository, Entry]] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)  # path → target, as it is written


@dataclass(slots=True)
class _Room:
    """What may still be written: one content can stand in a tree any number of times."""

    bytes: int
    files: int

    def take(self, size: int) -> bool:
        """Take the room of one file, if there is some."""
        if size > self.bytes or not self.files:
            return False
        self.bytes -= size
        self.files -= 1
        return True


def materialize_tree(
    repository: Repository, commit: Commit, wanted: Wanted, folder: Path, *, moved: bool = True
) -> Earlier:
    """Write what an audit could read into an empty folder.

    Args:
        repository: whose files they are.
        commit: of then.
        wanted: what is looked at.
        folder: stands for the top of the repository.
        moved: a file that was moved since lies under its new name, and under its old one as well, by which others may
            name it.

    Raises:
        UsageError: if git cannot read the revision.
    """
    layout = _Layout()
    for owner, entry in _entries(repository, commit.id, "", wanted, layout.unread):
        if _is_harmless(entry.path):
            layout.entries[entry.path] = owner, entry
        else:
            layout.unread[entry.path] = "its name is not safe for a file"
    renames = repository.renames(commit.id) if moved else {}
    layout.entries.update({new: layout.entries[old] for old, new in renames.items() if old in layout.entries})
    _read_links(layout)
    contents: dict[Repository, dict[str, list[tuple[str, int]]]] = {}
    linked: list[tuple[str, str]] = []
    for path, (_, entry) in layout.entries.items():
        limit = _limit(path, wanted)
        if limit is None or entry.type == "module":
            continue
        target = _resolved(path, layout) if entry.type == "link" else path
        if target is None:
            layout.unread[path] = "it is a link that leads out of the repository"
        elif target in layout.entries and layout.entries[target][1].type == "file":
            owner, content = layout.entries[target]
            contents.setdefault(owner, {}).setdefault(content.id, []).append((path, limit))
        elif any(entry.startswith(f"{target}/") for entry in layout.entries):
            linked.append((path, target))
    room = _Room(MOST_BYTES, MOST_WRITTEN)
    for owner, places in contents.items():
        _write(owner, places, folder, layout.unread, room)
    for path, target in linked:
        _link(folder, path, target)
    return Earlier(folder, frozenset(layout.entries), layout.unread)


def _entries(
    repository: Repository, commit: str, prefix: str, wanted: Wanted, unread: dict[str, str]
) -> Iterator[tuple[Repository, Entry]]:
    """The entries of a commit, and of its submodules where those are checked out."""
    for entry in repository.entries(commit):
        path = prefix + entry.path
        yield repository, Entry(path, entry.type, entry.id)
        inside = (file for file in wanted.files if file.startswith(f"{path}/"))
        if entry.type != "module" or not (wanted.searched(path) or any(inside)) or not _is_harmless(path):
            continue
        inner = Repository(repository.top / entry.path, inner=True)
        try:
            if not os.path.exists(inner.top / ".git"):
                raise UsageError("it is not checked out")
            yield from _entries(inner, entry.id, f"{path}/", wanted, unread)
        except UsageError:
            unread[f"{path}/"] = f"it lies in the submodule {path}, whose commit of that revision is not available"


def _is_harmless(path: str) -> bool:
    """Git refuses most of these itself; a tree that was made by hand may hold anything."""
    if not path.isprintable() or (os.name == "nt" and any(sign in path for sign in '\\:*?"<>|')):
        return False
    return not any(part in ("", ".", "..") or part.casefold() == ".git" for part in path.split("/"))


def _limit(path: str, wanted: Wanted) -> int | None:
    """The size up to which a file is of use; None if it is of none."""
    if path in wanted.files or wanted.may_resolve(path):
        return MAX_BYTES
    if not wanted.beside and not wanted.folders:
        return None
    name = path.rpartition("/")[2]
    lower = name.lower()
    if wanted.searched(path):
        if (expected := by_name(name)) is not None and expected.mark is None:
            return MAX_BYTES
        if lower.endswith(_ENDINGS):
            return largest(name)
    suffix = PurePosixPath(lower).suffix
    # A named file may lie anywhere, and so may what it names.
    if suffix in _BESIDE or lower.endswith("config.json") or (wanted.beside and lower.endswith(_ENDINGS)):
        return max(_BESIDE_BYTES, largest(name) if lower.endswith(_ENDINGS) else 0)
    return None


def _read_links(layout: _Layout) -> None:
    by_owner: dict[Repository, dict[str, list[str]]] = {}
    for path, (owner, entry) in layout.entries.items():
        if entry.type == "link":
            by_owner.setdefault(owner, {}).setdefault(entry.id, []).append(path)
    for owner, links in by_owner.items():
        sizes = owner.sizes(list(links))
        for identifier, data in owner.contents([link for link in links if sizes.get(link, _LINK_BYTES) < _LINK_BYTES]):
            layout.links.update(dict.fromkeys(links[identifier], os.fsdecode(data)))


def _resolved(path: str, layout: _Layout) -> str | None:
    """Where a link leads to, by the links of the revision; None if that is not inside of it."""
    todo, done, followed = path.split("/")[::-1], list[str](), 0
    while todo:
        part = todo.pop()
        if part == "..":
            if not done:
                return None
            done.pop()
        elif part not in ("", "."):
            done.append(part)
            target = layout.links.get("/".join(done))
            if target is not None:
                followed += 1
                if followed > _LINKS or not target or target.startswith("/") or (os.name == "nt" and ":" in target):
                    return None
                done.pop()
                todo += target.split("/")[::-1]
    found = "/".join(done)
    return found if found and _is_harmless(found) else None


def _write(
    owner: Repository,
    places: Mapping[str, list[tuple[str, int]]],
    folder: Path,
    unread: dict[str, str],
    room: _Room,
) -> None:
    sizes = owner.sizes(list(places))
    fitting: dict[str, list[str]] = {}
    for identifier, here in places.items():
        for path, limit in here:
            if sizes.get(identifier, 0) <= limit:
                if not room.take(sizes.get(identifier, 0)):
                    unread[path] = "the revision has too many files to compare"
                    continue
                fitting.setdefault(identifier, []).append(path)
            else:
                unread[path] = f"it has more than {limit // 1024} KiB there"
    for identifier, data in owner.contents(list(fitting)):
        for path in fitting[identifier]:
            if size_of_content(data) is not None:
                unread[path] = "it is kept in Git LFS, and git has only its pointer"
                continue
            place = folder / path
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("xb") as file:
                    file.write(data)
            except OSError as error:
                unread[path] = f"it cannot be written: {error.strerror}"


def _link(folder: Path, path: str, target: str) -> None:
    """A link to a folder of the revision. Where it cannot be made, what lies behind it is not found, and said to be."""
    place = folder / path
    try:
        (folder / target).mkdir(parents=True, exist_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(folder / target, target_is_directory=True)
    except OSError:
        return
