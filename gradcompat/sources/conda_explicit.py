"""Explicit conda lists: ``@EXPLICIT`` and one URL a line, as ``conda list --explicit`` and conda-lock write them.

Name and version stand in the name of each archive. conda-lock puts what pip installs into comments (``# pip name @
url --hash=…``) and reads them again when it installs, so those comments are packages.
"""

from __future__ import annotations

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.conda_spec import parse_archive, platform_of
from gradcompat.sources.requirement import parse_requirement
from gradcompat.startup.lazy_patterns import lazy_pattern

_PIP = lazy_pattern(r"#\s*pip\s+(?=\S)")
_HASH = lazy_pattern(r"\s--hash=.*")
_PLATFORM = lazy_pattern(r"#\s*platform:\s*(\S+)")
_MAX_LINES = 200_000


def read(document: Document) -> Environment:
    """Read an explicit list.

    Raises:
        Malformed: if there is no ``@EXPLICIT``, or nothing that is a conda package below it.
    """
    packages: list[Package] = []
    skipped: list[Skipped] = []
    subdirs: set[str] = set()
    stated: str | None = None
    explicit = False
    for number, line in enumerate(document.text.split("\n"), start=1):
        if number > _MAX_LINES:
            raise Malformed(f"is longer than {_MAX_LINES:,} lines", path=document.path, line=number)
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        location = Location(path=document.path, line=number, column=indent + 1)
        if text == "@EXPLICIT":
            explicit = True
        elif text.startswith("#"):
            platform = _PLATFORM.match(text)
            stated = platform[1] if platform else stated
            pip = _PIP.match(text)
            if pip:
                at = Location(path=document.path, line=number, column=indent + pip.end() + 1)
                found = parse_requirement(_HASH.sub("", text[pip.end() :]), at)
                if isinstance(found, Package):
                    packages.append(found)
                else:
                    skipped.append(found)
        elif text:
            archive = parse_archive(text)
            if archive is None:
                skipped.append(Skipped(what="a line", reason="is not the URL of a conda package", location=location))
                continue
            if archive.subdir is not None:
                subdirs.add(archive.subdir)
            at = Location(path=document.path, line=number, column=indent + archive.offset + 1)
            packages.append(
                Package(name=archive.name, version=archive.version, source="conda", build=archive.build, location=at)
            )
    if not explicit:
        raise Malformed("has no line `@EXPLICIT`", path=document.path)
    if skipped and not packages:
        raise Malformed("no line is the URL of a conda package", path=document.path)
    pythons = {package.version for package in packages if package.name == "python"}
    return Environment(
        source=document.path,
        kind="conda-explicit",
        packages=tuple(packages),
        closed=not any(note.gap for note in skipped),
        skipped=tuple(skipped),
        python=pythons.pop() if len(pythons) == 1 else None,
        platform=platform_of({stated} if stated else subdirs),
    )
