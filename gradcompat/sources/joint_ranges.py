"""What several lines of one list leave of a package: an installer has to satisfy all of them at once.

``transformers>=4.46`` and ``transformers<4.49`` are one range, and ``lightning[app]`` beside ``lightning==2.1.2`` is
pinned. A line under a marker or in an extra is narrowed by those that hold wherever it does, and narrows none of them.
Lines that exclude one another are kept as they are, and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, product

from packaging.version import Version

from gradcompat.model.environment import Package, Skipped
from gradcompat.requirements.versions import VersionSet, all_of, parse_version
from gradcompat.startup.lazy_dataclasses import replace

_MOST_LINES = 50  # of one name; more are left as they are
_MOST_CLAUSES = 1_000  # in the lines of one name; more are left as they are
_MOST_ALTERNATIVES = 16  # of a range with ``||``


def jointly(packages: Sequence[Package]) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    """The packages, each as the other lines of its name leave it, and a note for each name whose lines disagree.

    >>> from gradcompat.model.environment import Location
    >>> here = Location(path="requirements.txt", line=1)
    >>> lower = Package(name="torch", version=None, specifier=">=2.1", location=here)
    >>> upper = Package(name="torch", version=None, specifier="<2.5", location=here)
    >>> [one.specifier for one in jointly([lower, upper])[0]]
    ['>=2.1,<2.5']
    """
    counts = Counter((package.name, package.source) for package in packages)
    repeated = {key for key, count in counts.items() if 1 < count <= _MOST_LINES}
    if not repeated:
        return tuple(packages), ()
    groups: dict[tuple[str, str], list[int]] = {}
    for index, package in enumerate(packages):
        if (key := (package.name, package.source)) in repeated and package.source in ("registry", "conda"):
            groups.setdefault(key, []).append(index)
    left: list[Package | None] = list(packages)
    notes: list[Skipped] = []
    for indices in groups.values():
        lines = [packages[index] for index in indices]
        if sum(line.specifier.count(",") for line in lines if line.specifier is not None) > _MOST_CLAUSES:
            continue
        if (note := _disagreement(lines)) is not None:
            notes.append(note)
            continue
        for index, narrowed in zip(indices, _narrowed(lines), strict=True):
            left[index] = narrowed
    return tuple(package for package in left if package is not None), tuple(notes)


def _narrowed(lines: Sequence[Package]) -> list[Package | None]:
    """Each line with the ranges of those that hold wherever it does; None for a line that says nothing beside them."""
    left: list[Package | None] = []
    kept: set[object] = set()
    first = {_scope(line): line for line in reversed(lines) if line.specifier != "*"}
    with_extras = any(line.asked_extras for line in lines)
    for line in lines:
        beside = with_extras or line.version is None
        others = [other for other in lines if beside and other is not line and _holds_wherever(other, line)]
        asked = tuple(dict.fromkeys(extra for one in (line, *others) for extra in one.asked_extras))
        if line.version is not None or line.specifier is None:
            left.append(line if asked == line.asked_extras else replace(line, asked_extras=asked))
            continue
        ranges = tuple(other.specifier for other in others if other.specifier is not None)
        specifier = _intersection((line.specifier, *ranges))
        scope = _scope(line)
        if any(other.version is not None for other in others) or scope in kept or specifier is None:
            left.append(None if specifier is not None else line)
            continue
        if first.get(scope, line) is not line:  # a line that says more is the one to point at
            left.append(None)
            continue
        kept.add(scope)
        left.append(replace(line, specifier=specifier, asked_extras=asked))
    return left


def _scope(line: Package) -> tuple[object, ...]:
    return line.marker, line.extras, line.forks


def _holds_wherever(other: Package, line: Package) -> bool:
    return all(wide in (None, (), narrow) for wide, narrow in zip(_scope(other), _scope(line), strict=True))


def _intersection(specifiers: Iterable[str]) -> str | None:
    """All of the ranges as one, in the order in which they are written; None if it would have too many alternatives."""
    ranges = [specifier.split("||") for specifier in dict.fromkeys(specifiers) if specifier != "*"]
    alternatives = 1
    for one in ranges:
        alternatives *= len(one)
    if alternatives > _MOST_ALTERNATIVES:
        return None
    return " || ".join(",".join(part.strip() for part in chosen) for chosen in product(*ranges)) or "*"


def _disagreement(lines: Sequence[Package]) -> Skipped | None:
    """The note on two lines of one scope that no version satisfies, if there are such."""
    read = [(line, versions) for line in lines if (versions := _versions(line)) is not None]
    if not read or all_of([versions for _, versions in read]):  # what satisfies all of them satisfies each two
        return None
    for (line, first), (other, second) in combinations(read, 2):
        if first & second or not (_holds_wherever(line, other) or _holds_wherever(other, line)):
            continue
        where = " and ".join(
            f"line {each.location.line}" if each.location.path == line.location.path else str(each.location)
            for each in (line, other)
        )
        reason = f"is asked for in versions that exclude one another ({where}): no installer finds one"
        return Skipped(what=line.name, reason=reason, gap=False, location=other.location)
    return None


def _versions(line: Package) -> VersionSet | None:
    version = None if line.version is None else parse_version(line.version)
    try:
        if version is not None:
            return VersionSet.parse(f"=={Version(version.public)}")
        return None if line.specifier is None else VersionSet.parse(line.specifier)
    except ValueError:
        return None
