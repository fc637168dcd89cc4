"""What constraints (``pip install -c``) leave of requirements: they install nothing and narrow what is asked for.

A constraint with a marker holds in some environments only. The requirement then stands once for each such constraint,
and once more as it is, for where none of the markers holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gradcompat.model.environment import Package
from gradcompat.requirements.versions import VersionSet, parse_version
from gradcompat.startup.lazy_dataclasses import replace

# Of one name. To leave one out is true, if less exact; to combine thousands with thousands would take all memory.
_MAX = 10


def narrowed(packages: Sequence[Package], constraints: Mapping[str, Sequence[Package]]) -> Iterator[Package]:
    """The packages, each as the constraints of its name leave it; an exact one stands where its constraint stands."""
    for package in packages:
        known = constraints.get(package.name, ())[:_MAX]
        base = package
        for constraint in known:
            if constraint.marker is None:
                base = _both(base, constraint)
        if not _is_open(base):
            yield base
            continue
        for constraint in known:
            if constraint.marker is not None:
                yield _both(base, constraint)
        yield base


def _is_open(package: Package) -> bool:
    """A version of its own, or a link, is what pip installs: a constraint can only forbid it."""
    return package.version is None and package.source == "registry"


def _both(package: Package, constraint: Package) -> Package:
    if not _is_open(package):
        return package
    marker = package.marker
    if constraint.marker is not None:
        marker = constraint.marker if marker is None else f"({marker}) and ({constraint.marker})"
    if constraint.version is not None and _allows(package.specifier, constraint.version):
        return replace(constraint, marker=marker)
    limit = f"=={constraint.version}" if constraint.version is not None else constraint.specifier
    parts = [part for part in (package.specifier, limit) if part is not None and part != "*"]
    return replace(package, specifier=",".join(parts) or package.specifier, marker=marker)


def _allows(specifier: str | None, version: str) -> bool:
    parsed = parse_version(version)
    if specifier is None or parsed is None:
        return True
    try:
        return parsed in VersionSet.parse(specifier)
    except ValueError:
        return True
