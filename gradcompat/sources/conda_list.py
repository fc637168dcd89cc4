"""What ``conda list`` prints: the table, or with ``--export`` lines of ``name=version=build``.

micromamba, mamba and pixi print tables of their own, with the same columns in front. Packages that pip installed stand
between the others, and only the channel ``pypi``, or the build ``pypi_0``, tells them apart. The export is often kept
in a file called requirements.txt, which pip cannot read.
"""

from __future__ import annotations

import re

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.requirements.names import normalise
from gradcompat.sources.conda_spec import parse_spec, platform_of
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_HEADING = lazy_pattern(r"#?\s*(?:Name|Package)\s+Version\s+Build\b")
_PLATFORM = lazy_pattern(r"#\s*platform:\s*(\S+)")
_ROW = lazy_pattern(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)\s+([^\s=<>]+)(?:\s+(.*))?")
_PIP_BUILD = lazy_pattern(r"(?:pypi|pip)_\d+")
_MAX_LINES = 200_000


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    packages: list[Package] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    built: list[bool] = field(default_factory=list)


def read(document: Document) -> Environment:
    """Read the list of a conda environment.

    Raises:
        Malformed: if no line is an entry of such a list.
    """
    reading = _Reading()
    platform: str | None = None
    table = False
    for number, line in enumerate(document.text.split("\n"), start=1):
        if number > _MAX_LINES:
            raise Malformed(f"is longer than {_MAX_LINES:,} lines", path=document.path, line=number)
        text = line.strip()
        location = Location(path=document.path, line=number, column=len(line) - len(line.lstrip()) + 1)
        if _HEADING.match(text):
            table = True
        elif text.startswith("#"):
            stated = _PLATFORM.match(text)
            platform = stated[1] if stated else platform
        elif not text or text == "@EXPLICIT" or not any(sign.isalnum() for sign in text):
            continue  # blank, or the rule below a heading
        else:
            row = _ROW.fullmatch(text)
            if row and (table or (row[3] is not None and row[2][0].isdigit())):
                _table_row(row, location, reading)
            elif text.startswith(("List of packages in environment", "Environment:")):
                continue
            else:
                _export_line(text, location, reading)
    if not reading.packages:
        raise Malformed("no line is from a list of conda packages", path=document.path)
    pythons = {package.version for package in reading.packages if package.name == "python"}
    return Environment(
        source=document.path,
        kind="conda-list",
        packages=tuple(reading.packages),
        # Somebody may have written such a file, too; the builds are what nobody writes.
        closed=all(reading.built) and not any(note.gap for note in reading.skipped),
        skipped=tuple(reading.skipped),
        python=pythons.pop() if len(pythons) == 1 else None,
        platform=platform_of({platform}) if platform else None,
    )


def _table_row(row: re.Match[str], location: Location, reading: _Reading) -> None:
    """``torch  2.5.1  pypi_0  pypi``; the channel may be missing, and pixi gives what pip installs no build."""
    rest = (row[3] or "").split()
    from_pip = any(word == "pypi" or _PIP_BUILD.fullmatch(word) for word in rest)
    build = rest[0] if rest and not from_pip else None
    _add(row[1], row[2], _moved(location, row.start(2)), reading, from_pip=from_pip, build=build)
    reading.built.append(True)


def _export_line(text: str, location: Location, reading: _Reading) -> None:
    """``numpy=1.26.4=py310h5f9d8c6_0``, or what else ``conda create --file`` takes."""
    spec = parse_spec(text)
    if spec is None:
        reading.skipped.append(Skipped(what="a line", reason="is not a conda package", location=location))
        return
    if spec.problem is not None:
        # The package itself is listed without a version, so that it is a gap where a defect of it is known.
        reading.skipped.append(Skipped(what="a package", reason=spec.problem, gap=False, location=location))
    from_pip = spec.build is not None and _PIP_BUILD.fullmatch(text.rpartition("=")[2]) is not None
    at = _moved(location, spec.offset)
    _add(spec.name, spec.version, at, reading, from_pip=from_pip, specifier=spec.specifier, build=spec.build)
    reading.built.append(spec.build is not None)


def _add(
    name: str,
    version: str | None,
    location: Location,
    reading: _Reading,
    *,
    from_pip: bool,
    specifier: str | None = None,
    build: str | None = None,
) -> None:
    reading.packages.append(
        Package(
            name=normalise(name) if from_pip else name.lower(),
            version=version,
            specifier=specifier,
            source="registry" if from_pip else "conda",
            build=None if from_pip else build,
            location=location,
        )
    )


def _moved(location: Location, by: int) -> Location:
    return Location(path=location.path, line=location.line, column=(location.column or 1) + by)
