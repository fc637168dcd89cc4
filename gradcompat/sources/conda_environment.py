"""``environment.yml`` of conda, with the pip section in it.

What it lists is as a rule what somebody asked for, not what came with it. It counts as complete (``closed``) only
where it can be seen that ``conda env export`` wrote it: every line for pip names a version; every line for conda names
a build, or at least a version where a ``prefix:`` stands below or where there are many; and ``python`` is there with
``openssl``, which comes with every Python and is asked for by few.
Selectors in comments (``# [linux]``) mean nothing to conda, and nothing here.
"""

from __future__ import annotations

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.formats.yaml_text import parse_mapping
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.quotation import quoted
from gradcompat.sources import requirements
from gradcompat.sources.conda_spec import parse_archive, parse_spec
from gradcompat.sources.joint_ranges import jointly
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_MAX_LINES = 15_000  # aliases make a short file list as many as it likes
_EXPORT_AT_LEAST = 30
_RELEASE = lazy_pattern(r"==(\d+\.\d+(?:\.\d+)?)\.\*")


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    path: str
    packages: list[Package] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    pip: list[Scalar] = field(default_factory=list)
    exact: list[bool] = field(default_factory=list)
    built: list[bool] = field(default_factory=list)
    lines: int = 0

    def skip(self, what: str, reason: str, node: Node, *, gap: bool = True) -> None:
        location = Location(path=self.path, line=node.line, column=node.column)
        self.skipped.append(Skipped(what=what, reason=reason, gap=gap, location=location))


def read(document: Document) -> Environment:
    """Read a conda environment.

    Raises:
        Malformed: if it is not YAML, or has no list of ``dependencies``.
    """
    top = parse_mapping(document.text, document.path)
    reading = _Reading(document.path)
    if "dependencies" not in top.entries:
        raise Malformed("has no `dependencies:` as an environment.yml has", path=document.path)
    for key in top.duplicates:
        reading.skip(quoted(key.text, "a key"), "appears twice: only the last one counts", key)
    dependencies = top.entries["dependencies"]
    if isinstance(dependencies, Sequence):
        for node in dependencies.items:
            _entry(node, reading)
    elif not isinstance(dependencies, Scalar) or dependencies.value is not None:
        raise Malformed("`dependencies` is not a list", path=document.path, line=dependencies.line)
    conda = tuple(reading.packages)
    pip = _pip_section(document, reading)
    packages, notes = jointly((*conda, *pip))
    return Environment(
        source=document.path,
        kind="conda-environment",
        packages=packages,
        closed=_exported(reading, top, conda, pip),
        skipped=(*reading.skipped, *notes),
        python=_python(conda),
    )


def _entry(node: Node, reading: _Reading) -> None:
    """A line of ``dependencies``: a package, or a section for another installer."""
    reading.lines += 1
    if reading.lines > _MAX_LINES:
        raise Malformed(f"lists more than {_MAX_LINES:,} packages", path=reading.path, line=node.line)
    if isinstance(node, Scalar):
        _package(node, reading)
    elif isinstance(node, Sequence):
        reading.skip("a list", "is where a package should be", node)
    else:
        for key in node.duplicates:
            reading.skip(quoted(key.text, "a key"), "appears twice: only the last one counts", key)
        for word, value in node.entries.items():
            if word != "pip":
                reading.skip(quoted(word, "a key"), "is a section that conda does not know", node.keys[word])
            elif isinstance(value, Sequence):
                reading.lines += len(value.items)
                if reading.lines > _MAX_LINES:
                    raise Malformed(f"lists more than {_MAX_LINES:,} packages", path=reading.path, line=value.line)
                _pip_lines(value, reading)
            elif not isinstance(value, Scalar) or value.value is not None:
                reading.skip("pip", "is not a list", value)


def _package(node: Scalar, reading: _Reading) -> None:
    text = node.text
    if not text.strip():
        reading.skip("a line", "is empty", node, gap=False)
        return
    archive = parse_archive(text)
    if archive and "/" in text:
        at = Location(path=reading.path, line=node.line, column=node.column_of(archive.offset))
        reading.packages.append(
            Package(name=archive.name, version=archive.version, source="conda", build=archive.build, location=at)
        )
        reading.exact.append(True)
        reading.built.append(True)
        return
    spec = parse_spec(text)
    if spec is None:
        reading.skip("a line", "is not a conda package", node)
        return
    if spec.problem is not None:
        # The package itself is listed without a version, so that it is a gap where a defect of it is known.
        reading.skip("a package", spec.problem, node, gap=False)
    at = Location(path=reading.path, line=node.line, column=node.column_of(spec.offset))
    reading.packages.append(
        Package(
            name=spec.name,
            version=spec.version,
            specifier=spec.specifier,
            source="conda",
            build=spec.build,
            location=at,
        )
    )
    single = spec.specifier is not None and spec.specifier.startswith("==") and "|" not in spec.specifier
    reading.exact.append(spec.version is not None or single or spec.problem is not None)
    reading.built.append(spec.build is not None)


def _pip_lines(section: Sequence, reading: _Reading) -> None:
    for item in section.items:
        if isinstance(item, Scalar):
            reading.pip.append(item)
        elif isinstance(item, Mapping) and len(item.entries) == 1:
            # `- torch: 2.0` and the like: YAML reads it as a mapping, and pip never sees it.
            reading.skip("a line", "is not one line of text, as pip needs it", item)
        else:
            reading.skip("a list or mapping", "is where a line for pip should be", item)


def _pip_section(document: Document, reading: _Reading) -> tuple[Package, ...]:
    """The lines for pip. conda writes them to a requirements file, so that is what is read."""
    lines: list[str] = []
    places: list[tuple[Scalar, int]] = []
    for scalar in reading.pip:
        block = not scalar.plain and not scalar.quoted
        for number, line in enumerate(scalar.text.splitlines()):
            lines.append(line)
            places.append((scalar, scalar.line + number + 1 if block else scalar.line))
    if not "".join(lines).strip():
        return ()
    try:
        found = requirements.read(replace(document, text="\n".join(lines)))
    except Malformed as error:
        location = Location(path=document.path, line=reading.pip[0].line)
        reading.skipped.append(Skipped(what="pip", reason=error.message, location=location))
        return ()

    def moved(location: Location) -> Location:
        if location.path != document.path or location.line is None:
            return location
        scalar, line = places[location.line - 1]
        column = None
        if location.column is not None and (scalar.plain or scalar.quoted):
            column = scalar.column_of(location.column - 1)
        return Location(path=document.path, line=line, column=column)

    for skipped in found.skipped:
        place = moved(skipped.location) if skipped.location is not None else None
        reading.skipped.append(replace(skipped, location=place))
    return tuple(replace(package, location=moved(package.location)) for package in found.packages)


def _exported(reading: _Reading, top: Mapping, conda: tuple[Package, ...], pip: tuple[Package, ...]) -> bool:
    """Did ``conda env export`` write this, so that all that is installed is listed?"""
    names = {package.name for package in conda}
    # Nobody writes so many exact pins by hand, openssl among them: --no-builds, and the line of the prefix taken out.
    exported = "prefix" in top.entries or len(conda) >= _EXPORT_AT_LEAST
    pinned = all(reading.built) or (exported and all(reading.exact))
    complete = all(package.version is not None or package.source != "registry" for package in pip)
    return pinned and complete and {"python", "openssl"} <= names and not any(note.gap for note in reading.skipped)


def _python(conda: tuple[Package, ...]) -> str | None:
    """The interpreter's version, if one is named; ``python=3.11`` stands for all of its patch releases."""
    found = [package for package in conda if package.name == "python"]
    if len(found) != 1:
        return None
    patch = _RELEASE.fullmatch(found[0].specifier or "")
    return patch[1] if patch else found[0].version
