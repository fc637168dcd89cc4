"""Edits of real files: no pins change nothing, one pin changes the lines of its package and no other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from gradcompat.dependency_formats import BY_KIND
from gradcompat.edit.encoding import decoded
from gradcompat.edit.pins import PinEdit
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Package
from gradcompat.requirements.names import normalise
from gradcompat.sources.any_format import read_as
from tests.edit.pinned import edit_file

KINDS = {
    "pyproject": "pyproject.toml",
    "conda-env": "conda-environment",
    "requirements-plain": "requirements",
    "requirements-compiled": "requirements",
    "requirements-hashed": "requirements",
}
HASHES = tuple(f"sha256:{digit * 64}" for digit in "012")
_HEAD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def files(corpus: Path, folder: str) -> list[Path]:
    return sorted(path for path in (corpus / folder).iterdir() if path.is_file())


def environment(kind: str, name: str, text: str) -> Environment:
    return read_as(BY_KIND[kind], Document(name, text))


@pytest.mark.parametrize("folder", KINDS)
def test_no_pins_change_nothing(corpus: Path, folder: str) -> None:
    for path in files(corpus, folder):
        before = path.read_bytes()
        file, result = edit_file(KINDS[folder], path, path.name, before, [])
        assert (file.after, result.settled, result.notes, result.not_edited) == (before, (), (), ()), path.name


@pytest.mark.parametrize("folder", KINDS)
def test_a_pin_changes_the_lines_of_its_package(corpus: Path, folder: str) -> None:
    kind = KINDS[folder]
    moved = 0
    for path in files(corpus, folder):
        before = path.read_bytes()
        old = decoded(before, path.name).text
        was = environment(kind, path.name, old)
        for pin in pins(was):
            file, result = edit_file(kind, path, path.name, before, [pin])
            new = decoded(file.after, path.name).text
            changed = Counter(new.split("\n")) - Counter(old.split("\n"))
            foreign = [line for line in changed if not speaks_of(line, pin.package)]
            assert {line.strip(" \\\r").removeprefix("--hash=") for line in foreign} <= set(HASHES), path.name
            # What the reader sees of everything else is what it saw before.
            assert others(environment(kind, path.name, new), pin) == others(was, pin)
            assert edit_file(kind, path, path.name, file.after, [pin])[0].after == file.after, path.name
            moved += pin.package in result.settled
            assert file.after == before or pin.package in result.settled
            for one in result.not_edited:
                assert re.fullmatch(
                    r"is in a file that `[^`]+` writes.*|line \d+: (`[^`]*` is not a specifier|comes from a URL, .*)",
                    one.reason,
                )
    assert moved >= 5


def others(environment: Environment, pin: PinEdit) -> list[tuple[str, object, str | None, str | None]]:
    return [
        (package.name, package.version, package.specifier, package.marker)
        for package in environment.packages
        if normalise(package.name) != pin.package
    ]


def pins(environment: Environment) -> list[PinEdit]:
    """For six packages of it: from the version that is there, if it is known, to one that nobody has."""
    first: dict[str, Package] = {}
    for package in environment.packages:
        if package.source in ("registry", "conda"):
            first.setdefault(normalise(package.name), package)
    return [
        PinEdit(
            package=name,
            version_from=None if package.version is None else str(package.version),
            version_to="9999.1.2",
            kind="upgrade",
            hashes=HASHES,
        )
        for name, package in list(first.items())[:: max(len(first) // 6, 1)]
    ]


def speaks_of(line: str, package: str) -> bool:
    return package in {normalise(word.rstrip("._-")) for word in _HEAD.findall(line)}
