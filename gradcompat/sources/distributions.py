"""The distributions in site-packages folders, read from the first bytes of their metadata and nothing else.

``importlib.metadata`` reads each METADATA to its end and parses it as an e-mail; the two lines that matter stand at its
top. No line of a ``.pth`` file that starts with ``import`` is obeyed, and no file of a distribution is run.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator

from gradcompat.model.environment import Location, Package, Skipped, SourceKind
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_HEAD = 1024  # name and version stand in the first hundred bytes as a rule
_MAX_HEADERS = 1024 * 1024
_MAX_DIRECT_URL = 64 * 1024
_MAX_PTH_BYTES = 64 * 1024
_MAX_FOLDERS = 256  # so that .pth files that name one another come to an end

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# As nearly all metadata begin.
_PLAIN = lazy_pattern(rb"Metadata-Version:[^\r\n]*\nName:[ \t]*([^\r\n]*)\nVersion:[ \t]*([^\r\n]*)\n")
_FIELD = lazy_pattern(rb"(?:\A|\n)(name|version)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_NAME = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_EDITABLE_PTH = lazy_pattern(r"__editable__\.(.+)-[^-]+\.pth")
_EGG_SUFFIX = lazy_pattern(r"-py\d+(?:\.\d+)?(?:-.+)?$")
_VERSION = lazy_pattern(r"v?[0-9][0-9A-Za-z.!+_*-]{0,199}")
_SUFFIXES = (".dist-info", ".egg-info", ".egg-link", ".egg")


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder on an interpreter's search path, how it is shown, and the forks that its packages belong to."""

    path: str
    shown: str
    forks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """A package with the file name of its metadata folder, by which its installer knows it."""

    package: Package
    entry: str


@dataclass(slots=True)
class _Reading:
    """What was read so far, and what was passed over."""

    found: list[Distribution] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    claimed: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)  # names with the forks that have them

    def skip(self, what: str, reason: str, path: str, *, gap: bool = True) -> None:
        self.skipped.append(Skipped(what=what, reason=reason, gap=gap, location=Location(path=path)))


class _BrokenError(Exception):
    """The metadata of one distribution cannot be used."""


def read(folders: Iterable[Folder], *, follow_pth: bool) -> tuple[list[Distribution], list[Skipped]]:
    """Every distribution in these folders; what an earlier folder has hides the same in a later one.

    Args:
        folders: in the order of the search path.
        follow_pth: also read the folders that ``.pth`` files add, as an interpreter does when it starts.
    """
    reading = _Reading()
    queue = list(folders)
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while queue:
        folder = queue.pop(0)
        key = (os.path.realpath(folder.path), folder.forks)
        if key in seen:
            continue
        if len(seen) >= _MAX_FOLDERS:
            reading.skip(folder.shown, f"more than {_MAX_FOLDERS} folders are on the search path", folder.shown)
            break
        seen.add(key)
        names = _read_folder(folder, reading)
        if follow_pth:
            queue.extend(_added_folders(folder, names, reading))
    return reading.found, reading.skipped


def _read_folder(folder: Folder, reading: _Reading) -> list[str]:
    """Read the distributions of one folder, and return the names of all its files."""
    try:
        names = os.listdir(folder.path)
    except OSError as error:
        reading.skip(folder.shown, f"cannot be read: {error.strerror}", folder.shown)
        return []
    editable = {normalise(match[1]) for name in names if (match := _EDITABLE_PTH.fullmatch(name))}
    here: dict[str, list[Distribution]] = {}
    guesses: list[Distribution] = []
    for entry in sorted(name for name in names if name.endswith(_SUFFIXES)):
        shown = f"{folder.shown}/{printable(entry)}"
        if entry.startswith("~"):
            reading.skip(printable(entry), "is left over from an interrupted installation", shown, gap=False)
            continue
        try:
            package = _distribution(folder, entry, shown, reading)
        except _BrokenError as error:
            guess = _from_entry(entry, shown)
            if guess is None:
                reading.skip(printable(entry), str(error), shown)
                continue
            reading.skip(
                printable(entry), f"{error}: {guess.name} {guess.version} is read from the folder's name", shown
            )
            guesses.append(Distribution(guess, entry))
            continue
        if package.source == "registry" and package.name in editable:
            package = replace(package, source="editable")
        here.setdefault(package.name, []).append(Distribution(package, entry))
    for guessed in guesses:
        # An empty folder beside a complete one of the same name is what a broken upgrade leaves.
        here.setdefault(guessed.package.name, [guessed])
    for name, entries in here.items():
        if (name, folder.forks) in reading.claimed:
            continue
        reading.claimed.add((name, folder.forks))
        for distribution in entries if len(entries) == 1 else _settled(name, entries, folder, reading):
            package = replace(distribution.package, forks=folder.forks) if folder.forks else distribution.package
            reading.found.append(Distribution(package, distribution.entry))
    return names


def _settled(name: str, entries: list[Distribution], folder: Folder, reading: _Reading) -> list[Distribution]:
    """Debian leaves metadata in the old and in the new form, of one version; two versions are both reported."""
    versions = {entry.package.version for entry in entries}
    if len(versions) == 1:
        reading.skip(name, "has its metadata twice in one folder, of the same version", folder.shown, gap=False)
        return entries[:1]
    shown = " and ".join(str(entry.package.version) for entry in entries)
    reading.skip(name, f"is installed twice in one folder: {shown}", folder.shown)
    return entries


def _distribution(folder: Folder, entry: str, shown: str, reading: _Reading) -> Package:
    """One ``.dist-info``, ``.egg-info``, ``.egg`` or ``.egg-link``.

    Raises:
        _BrokenError: if it does not say which version of what it is.
    """
    path = f"{folder.path}/{entry}"
    if entry.endswith(".dist-info"):
        package = _metadata(f"{path}/METADATA", f"{shown}/METADATA")
        _check_name(package, entry, shown, reading)
        return _direct_url(f"{path}/direct_url.json", f"{shown}/direct_url.json", package, reading)
    if entry.endswith(".egg-link"):
        return _egg_link(path, shown, entry, reading)
    if entry.endswith(".egg"):
        if os.path.isdir(path):
            return _metadata(f"{path}/EGG-INFO/PKG-INFO", f"{shown}/EGG-INFO/PKG-INFO")
        package_or_none = _from_entry(entry, shown)
        if package_or_none is None:
            raise _BrokenError("is an egg whose name does not say what it is")
        return package_or_none
    if os.path.isdir(path):
        return _metadata(f"{path}/PKG-INFO", f"{shown}/PKG-INFO")
    return _metadata(path, shown)  # distutils wrote a file


def _metadata(path: str, shown: str) -> Package:
    """The package that a METADATA or PKG-INFO file names, at the line of its version."""
    file = shown.rpartition("/")[2]
    try:
        descriptor = os.open(path, _OPEN)
    except FileNotFoundError:
        raise _BrokenError(f"has no {file}") from None
    except OSError as error:
        raise _BrokenError(f"{file} cannot be read: {error.strerror}") from None
    try:
        data = os.read(descriptor, _HEAD)
        fields, complete = _fields(data)
        while not complete and len(data) < _MAX_HEADERS:
            more = os.read(descriptor, _MAX_HEADERS)
            if not more:
                break
            data += more
            fields, complete = _fields(data)
        if not complete and len(data) < _MAX_HEADERS:
            fields, _ = _fields(data + b"\n")  # the last line may end without a newline
    except OSError as error:
        raise _BrokenError(f"{file} cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)
    if not data:
        raise _BrokenError(f"{file} is empty")
    values: dict[str, str] = {}
    for key in ("name", "version"):
        if key not in fields:
            raise _BrokenError(f"{file} names no {key}")
        try:
            values[key] = fields[key][0].decode("utf-8").strip()
        except UnicodeDecodeError:
            raise _BrokenError(f"the {key} in {file} is not UTF-8 text") from None
    if _NAME.fullmatch(values["name"]) is None:
        raise _BrokenError(f"the name in {file} is not a package name")
    if _VERSION.fullmatch(values["version"]) is None:
        raise _BrokenError(f"the version in {file} is not a version")
    start = fields["version"][1]
    location = Location(path=shown, line=data.count(b"\n", 0, start) + 1, column=start - data.rfind(b"\n", 0, start))
    return Package(name=normalise(values["name"]), version=values["version"], location=location)


def _fields(data: bytes) -> tuple[dict[str, tuple[bytes, int]], bool]:
    """Name and version with the places of their values, and whether nothing more can come."""
    if plain := _PLAIN.match(data):
        return {"name": (plain[1], plain.start(1)), "version": (plain[2], plain.start(2))}, True
    ends = [end for end in (data.find(b"\n\n"), data.find(b"\r\n\r\n")) if end >= 0]
    end = min(ends) if ends else len(data)
    fields: dict[str, tuple[bytes, int]] = {}
    for match in _FIELD.finditer(data, 0, end):
        if match.end() == len(data):
            break  # the value may go on in what is not yet read
        fields.setdefault(match[1].decode("ascii").lower(), (match[2], match.start(2)))
        if len(fields) == 2:
            return fields, True
    return fields, bool(ends)


def _check_name(package: Package, entry: str, shown: str, reading: _Reading) -> None:
    """The metadata decides, as it does for pip; that the folder says otherwise is worth a word."""
    stem = entry.rpartition(".")[0]
    name, _, version = stem.rpartition("-")
    if normalise(name) != package.name:
        reading.skip(printable(entry), f"its metadata calls it {package.name}", shown)
    elif version != package.version and parse_version(version) != parse_version(str(package.version)):
        reading.skip(printable(entry), f"its metadata says that it is version {package.version}", shown)


def _from_entry(entry: str, shown: str) -> Package | None:
    """What the name of the metadata folder says: ``torch-2.5.1.dist-info``, ``apex-0.1-py3.11.egg``."""
    stem = entry.rpartition(".")[0]
    stem = _EGG_SUFFIX.sub("", stem)
    name, _, version = stem.rpartition("-")
    if _NAME.fullmatch(name) is None or parse_version(version) is None:
        return None
    return Package(name=normalise(name), version=version, location=Location(path=shown))


def _direct_url(path: str, shown: str, package: Package, reading: _Reading) -> Package:
    """The package as PEP 610 says where it came from; without the file it is from an index."""
    if not os.access(path, os.F_OK):  # as most, for whom it would be an error to open it
        return package
    try:
        descriptor = os.open(path, _OPEN)
    except FileNotFoundError:
        return package
    except OSError as error:
        reading.skip(package.name, f"where it came from cannot be read: {error.strerror}", shown)
        return package
    try:
        content = json.loads(os.read(descriptor, _MAX_DIRECT_URL))
    except OSError as error:
        reading.skip(package.name, f"where it came from cannot be read: {error.strerror}", shown)
        return package
    except (ValueError, RecursionError):
        reading.skip(package.name, "where it came from cannot be read: direct_url.json is not JSON", shown)
        return package
    finally:
        os.close(descriptor)
    url = content.get("url") if isinstance(content, dict) else None
    if not isinstance(url, str):
        reading.skip(package.name, "where it came from cannot be read: direct_url.json names no URL", shown)
        return package
    source: SourceKind = "path" if url.startswith("file:") else "url"
    unreleased = False
    if isinstance(directory := content.get("dir_info"), dict):
        source = "editable" if directory.get("editable") is True else "directory"
    elif isinstance(vcs := content.get("vcs_info"), dict):
        source = "git"
        revision = vcs.get("requested_revision")
        unreleased = revision not in (package.version, f"v{package.version}")
    return replace(package, source=source, unreleased=unreleased)


def _egg_link(path: str, shown: str, entry: str, reading: _Reading) -> Package:
    """``setup.py develop`` left the path of the checkout, whose ``.egg-info`` has the version."""
    name = normalise(entry.removesuffix(".egg-link"))
    unknown = Package(name=name, version=None, source="editable", location=Location(path=shown))
    try:
        descriptor = os.open(path, _OPEN)
        try:
            target = os.fsdecode(os.read(descriptor, _HEAD).partition(b"\n")[0].strip())
        finally:
            os.close(descriptor)
        infos = os.listdir(target) if os.path.isabs(target) else []
        for info in infos:
            if info.endswith(".egg-info") and normalise(info.removesuffix(".egg-info")) == name:
                there = f"{target}/{info}/PKG-INFO"
                return replace(_metadata(there, printable(there)), source="editable")
    except (OSError, ValueError, _BrokenError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        reading.skip(name, f"the checkout that it links to cannot be read: {reason}", shown)
        return unknown
    reading.skip(name, "the checkout that it links to does not say its version", shown)
    return unknown


def _added_folders(folder: Folder, names: list[str], reading: _Reading) -> Iterator[Folder]:
    """The folders that ``.pth`` files add to the search path."""
    for name in sorted(name for name in names if name.endswith(".pth") and not name.startswith(".")):
        shown = f"{folder.shown}/{printable(name)}"
        try:
            descriptor = os.open(f"{folder.path}/{name}", _OPEN)
            try:
                data = os.read(descriptor, _MAX_PTH_BYTES)
            finally:
                os.close(descriptor)
        except OSError as error:
            reading.skip(printable(name), f"cannot be read: {error.strerror}", shown)
            continue
        for line in os.fsdecode(data).splitlines():
            text = line.strip()
            if not text or text.startswith(("#", "import ", "import\t")) or "\0" in text:
                continue
            added = os.path.normpath(os.path.join(folder.path, text))
            if os.path.isdir(added):
                yield Folder(added, _shown_folder(added, folder), folder.forks)


def _shown_folder(added: str, folder: Folder) -> str:
    if added.startswith(f"{folder.path}{os.sep}"):
        return printable(f"{folder.shown}{added[len(folder.path) :]}").replace(os.sep, "/")
    return printable(added).replace(os.sep, "/")


def printable(name: str) -> str:
    """A file name that can be written in any message: bytes that are no text become escapes."""
    if name.isascii() and name.isprintable():
        return name
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
