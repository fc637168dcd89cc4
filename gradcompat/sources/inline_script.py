"""A Python script that declares its requirements in a ``# /// script`` block (PEP 723).

The rest of the script is looked at by nobody, and it is never run. ``[tool.uv]`` counts as in a pyproject.toml.
"""

from __future__ import annotations

from typing import TypeVar

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.formats.toml_places import TomlPlaces
from gradcompat.formats.toml_text import parse
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.declared import Declared
from gradcompat.sources.joint_ranges import jointly
from gradcompat.sources.uv_tables import from_uv_sources, overridden, uv_additions, uv_overrides
from gradcompat.startup.lazy_dataclasses import replace

_START = "# /// script"
_END = "# ///"

_R = TypeVar("_R", Package, Skipped)


def read(document: Document) -> Environment:
    """Read the block of a script.

    Raises:
        Malformed: if there is no block, two of them, or one that is not TOML.
    """
    first, text, is_closed = _block(document)
    try:
        content = parse(text, document.path)
    except Malformed as error:
        line = first if error.line is None else first + error.line - 1
        raise Malformed(error.message, path=document.path, line=line) from None
    declared = Declared(content, TomlPlaces(text, document.path), text.split("\n"))
    asked_for = from_uv_sources(declared, [*declared.requirements("dependencies"), *uv_additions(declared)])
    packages: list[Package] = []
    skipped: list[Skipped] = [] if is_closed else [_unclosed(document, first - 1)]
    for result in overridden(asked_for, list(uv_overrides(declared))):
        if isinstance(result, Package):
            packages.append(_in_file(result, first))
        else:
            skipped.append(_in_file(result, first))
    joint, notes = jointly(packages)
    return Environment(source=document.path, kind="script", packages=joint, closed=False, skipped=(*skipped, *notes))


def _unclosed(document: Document, line: int) -> Skipped:
    reason = f"the `{_START}` block does not end with `{_END}`: it is read to the end of the comment"
    place = Location(path=document.path, line=line)
    return Skipped(what=document.path, reason=reason, gap=False, location=place)


def _block(document: Document) -> tuple[int, str, bool]:
    """The line that the content of the block starts at, the content without the signs of a comment, and if it ends.

    One that does not end is read as far as the comment goes.
    """
    lines = [line.removesuffix("\r") for line in document.text.split("\n")]
    starts = [number for number, line in enumerate(lines, start=1) if line == _START]
    if not starts:
        raise Malformed(f"has no `{_START}` block", path=document.path)
    first = starts[0]
    last = first
    while last < len(lines) and (lines[last] == "#" or lines[last].startswith("# ")):
        last += 1
    # "Precedence for an ending line # /// is given when the next line is not a valid embedded content line".
    ends = [number for number in range(first, last) if lines[number] == _END]
    end = ends[-1] if ends else last
    another = next((number for number in starts if number > end), None)
    if another is not None:  # "there may not be multiple blocks of the same type"
        raise Malformed(f"has more than one `{_START}` block", path=document.path, line=another)
    return first + 1, "".join(f"{line[2:]}\n" for line in lines[first:end]), bool(ends)


def _in_file(result: _R, first: int) -> _R:
    """The result with its place in the script: lines below the start of the block, columns behind ``# ``."""
    place = result.location
    if place is None or place.line is None:
        return result
    column = None if place.column is None else place.column + 2
    return replace(result, location=Location(path=place.path, line=place.line + first - 1, column=column))
