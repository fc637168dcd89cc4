"""What pip and uv could not bring together, and the releases that go together by their own requirements.

The installer's lines say who asks for what; the snapshot of release metadata says which releases ask for something
else, and which Pythons a release has files for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations

from packaging.requirements import Requirement

from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.diagnosis.installer_lines import Demand, InstallerLines, Missing
from gradcompat.errors import IndexUnavailable
from gradcompat.index.snapshot import Snapshot
from gradcompat.messages import joined, versions_text
from gradcompat.model.diagnosis import Diagnosis, Seen
from gradcompat.model.environment import Location
from gradcompat.model.release import Release
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import ALL, VersionSet, all_of, any_of, parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern

_CONFLICT, _INSTALLED, _NO_FILE = 0.85, 0.7, 0.8  # scores, as diagnosis.ranking has them
_MOST_NAMED = 4
_MACHINES = {
    "Linux on x86_64": lazy_pattern(r"linux.*x86_64"),
    "Linux on aarch64": lazy_pattern(r"linux.*aarch64"),
    "64-bit Windows": lazy_pattern(r"win_amd64"),
    "Apple silicon": lazy_pattern(r"macosx.*(?:arm64|universal2)"),
    "Intel Macs": lazy_pattern(r"macosx.*x86_64"),
}
_OF_PYTORCH = frozenset({"torch", "torchvision", "torchaudio", "torchtext", "torchdata", "xformers"})
_PYTHON = lazy_pattern(r"(?:cp|py)(\d)(\d{1,2})?")


def conflicts(seen: InstallerLines, path: str, snapshot: Snapshot) -> Iterator[Diagnosis]:
    """Each conflict that a log has, once."""
    installed: dict[tuple[str, str], list[Demand]] = {}
    resolved: dict[str, list[Demand]] = {}
    for demand in seen.demands:
        if demand.found is None:
            resolved.setdefault(demand.name, []).append(demand)
        else:
            installed.setdefault((demand.name, demand.found), []).append(demand)
    for (name, found), demands in installed.items():
        yield from _of_installed(name, found, demands, path, snapshot)
    for name, demands in resolved.items():
        yield from _of_resolved(name, demands, path, snapshot)
    once: dict[tuple[str, str], Missing] = {}
    for missing in seen.missing:
        once.setdefault((missing.name, missing.specifier), missing)
    for missing in once.values():
        yield from _of_missing(missing, path, snapshot)


def _of_installed(name: str, found: str, demands: list[Demand], path: str, snapshot: Snapshot) -> Iterator[Diagnosis]:
    """What is installed beside packages that ask for another version of it."""
    version = parse_version(found)
    refusing = [
        (demand, wanted)
        for demand in demands
        if version is not None and (wanted := _wanted(demand)) is not None and version not in wanted
    ]
    if version is None or not refusing or name not in snapshot.names:
        return
    named = refusing[:_MOST_NAMED]
    asking = ", ".join(f"{demand.by} {demand.version} takes {demand.specifier}" for demand, _ in named)
    settles = []
    for demand, _ in named:
        taking = _taking(demand.by, name, snapshot, lambda wanted: version in wanted)
        if taking:
            settles.append(f"whether it goes away with {demand.by} {versions_text(taking)}, which takes {name} {found}")
    suiting = _released(name, all_of([wanted for _, wanted in refusing]), snapshot)
    settles.append(
        f"whether it goes away with {name} {versions_text(suiting)}, which all of them take"
        if suiting
        else f"no release of {name} is one that all of them take: one of them has to move, too"
    )
    yield Diagnosis(
        title=f"{name} {found} is installed, and {asking}",
        score=_INSTALLED,
        because=tuple(_seen(demand, path) for demand, _ in named),
        settles=tuple(settles),
    )


def _of_resolved(name: str, demands: list[Demand], path: str, snapshot: Snapshot) -> Iterator[Diagnosis]:
    """Two who ask for versions of one package that no release is."""
    groups: dict[str | None, list[tuple[Demand, VersionSet]]] = {}
    for demand in demands:
        wanted = _wanted(demand)
        if wanted is None:
            return
        groups.setdefault(demand.by, []).append((demand, wanted))
    for one, other in combinations(groups.values(), 2):
        # Of a package that was tried in several releases, any would do.
        both = any_of(wanted for _, wanted in one) & any_of(wanted for _, wanted in other)
        if both and (name not in snapshot.names or _released(name, both, snapshot)):
            continue
        settles: list[str] = []
        for asking, against in ((one, other), (other, one)):
            wanted = any_of(set_of for _, set_of in against)
            by = asking[0][0].by
            if by is None:
                settles.append(f"whether it goes away with {name} {versions_text(wanted)} in the requirements")
            elif taking := _taking(by, name, snapshot, partial(_meets, name, snapshot, wanted)):
                fit = f"which takes {name} {versions_text(wanted)}"
                settles.append(f"whether it goes away with {by} {versions_text(taking)}, {fit}")
        yield Diagnosis(
            title=f"No release of {name} is what both ask for: {_group(one)} and {_group(other)}",
            score=_CONFLICT,
            because=tuple(_seen(group[0][0], path) for group in (one, other)),
            settles=tuple(settles),
        )
        return


def _of_missing(missing: Missing, path: str, snapshot: Snapshot) -> Iterator[Diagnosis]:
    """A release that an index does not offer, and why not."""
    label = re.search(r"\+(\w[\w.]*)", missing.specifier)
    because = (
        Seen(sentence="an installer says so", location=Location(path=path, line=missing.line), text=missing.text),
    )
    if label is not None and not any("+" in version for version in missing.versions):
        yield Diagnosis(
            title=f"Builds of {missing.name} with a label such as +{label[1]} are on no index that was asked",
            score=_NO_FILE,
            because=because,
            settles=(
                f"whether it is there with PyTorch's own index for that build: --extra-index-url …/whl/{label[1]}"
                if missing.name in _OF_PYTORCH
                else "which index has that build, and whether it is named",
                "whether that index has it for this Python: the older a release, the older the newest Python it has",
            ),
        )
        return
    if missing.name not in snapshot.names:
        return
    try:
        wanted = VersionSet.parse(missing.specifier) if missing.specifier else ALL
        releases = [one for one in snapshot.releases(missing.name) if one.version in wanted]
    except (ValueError, IndexUnavailable):
        return
    what = f"{missing.name} {versions_text(wanted)}".strip() if missing.specifier else f"any {missing.name}"
    if not releases:
        yield Diagnosis(
            title=f"There is no release {missing.specifier.replace('==', '')} of {missing.name}",
            score=_NO_FILE,
            because=because,
            settles=(f"which release was meant: {snapshot.described} has none",),
        )
        return
    if any(release.sdist for release in releases) or not all(map(_pythons, releases)):
        return
    offered = [one for version in missing.versions if (one := _release(missing.name, version, snapshot)) is not None]
    common = sorted(set.intersection(*(set(_pythons(one)) for one in offered))) if offered else []
    there = tuple(f"{machine} {_span(found)}" for machine, found in _machines(releases).items())
    yield Diagnosis(
        title=f"No file of {what} is for this Python and machine, and there is none to build it from",
        score=_NO_FILE,
        because=because,
        settles=(
            "the Python that pip runs in: python -c 'import sys; print(sys.version, sys.platform, sys.maxsize > 2**32)'"
            + (f"; all that it was offered has files for CPython {_span(common)}" if common else ""),
            f"whether that is one of those that it has files for: {joined(there, 'and')}",
        ),
    )


def _taking(by: str | None, name: str, snapshot: Snapshot, suits: Callable[[VersionSet], bool]) -> VersionSet | None:
    """The newest releases of a package whose requirement suits, in one range; None where none is known to.

    Old releases often ask for no more than a lower bound, and do not work with what came later.
    """
    if by is None or by not in snapshot.names:
        return None
    releases = [one for one in snapshot.releases(by) if not one.yanked and not one.version.is_prerelease]
    holds = [(asked := _asks(one, name, snapshot)) is not None and suits(asked) for one in releases]
    if not any(holds):
        return None
    return VersionSet(ranges_of([str(one.version) for one in releases], holds.__getitem__).intervals[-1:])


def _asks(release: Release, name: str, snapshot: Snapshot) -> VersionSet | None:
    """Which versions of a package a release takes, on some machine; None where it does not say."""
    always: list[VersionSet] = []
    somewhere: list[VersionSet] = []
    for line in snapshot.requires(release) or ():
        try:
            requirement = Requirement(line)
            wanted = VersionSet.parse(str(requirement.specifier)) if requirement.specifier else ALL
        except ValueError:  # InvalidRequirement is one
            continue
        marker = str(requirement.marker or "")
        if normalise(requirement.name) == name and "extra" not in marker:
            (somewhere if marker else always).append(wanted)
    if not always and not somewhere:
        return None
    return all_of([*always, *([any_of(somewhere)] if somewhere else [])])


def _released(name: str, wanted: VersionSet, snapshot: Snapshot) -> VersionSet | None:
    """The releases of a package among some versions."""
    if name not in snapshot.names or not wanted:
        return None
    releases = [one for one in snapshot.releases(name) if not one.yanked and not one.version.is_prerelease]
    inside = [one.version in wanted for one in releases]
    return ranges_of([str(one.version) for one in releases], inside.__getitem__) if any(inside) else None


def _meets(name: str, snapshot: Snapshot, wanted: VersionSet, asked: VersionSet) -> bool:
    """Is some release what both ask for?"""
    return _released(name, asked & wanted, snapshot) is not None


def _release(name: str, version: str, snapshot: Snapshot) -> Release | None:
    parsed = parse_version(version)
    return None if parsed is None else snapshot.release(name, parsed)


def _wanted(demand: Demand) -> VersionSet | None:
    try:
        return VersionSet.parse(demand.specifier) if demand.specifier else ALL
    except ValueError:
        return None


def _group(group: list[tuple[Demand, VersionSet]]) -> str:
    demand, _ = group[0]
    more = f" (and {len(group) - 1} other releases of it)" if len(group) > 1 else ""
    specifier = demand.specifier or "of any version"
    if demand.by is None:
        return f"the requirements {specifier}"
    return f"{demand.by} {demand.version}{more} {specifier}"


def _seen(demand: Demand, path: str) -> Seen:
    return Seen(sentence="an installer says so", location=Location(path=path, line=demand.line), text=demand.text)


def _pythons(release: Release) -> frozenset[int]:
    """The minor versions of Python 3 that its wheels are for; none where one of them is for any."""
    found = set()
    for tags in release.wheels:
        python, abi, _ = tags.split("-", 2)
        for one in python.split("."):
            match = _PYTHON.fullmatch(one)
            if match is not None and match[1] == "3":
                if match[2] is None or abi == "abi3":
                    return frozenset()
                found.add(int(match[2]))
    return frozenset(found)


def _span(pythons: Iterable[int]) -> str:
    """``3.8 to 3.11``."""
    ordered = sorted(pythons)
    return f"3.{ordered[0]}" if len(ordered) == 1 else f"3.{ordered[0]} to 3.{ordered[-1]}"


def _machines(releases: Iterable[Release]) -> dict[str, set[int]]:
    """On which machines its wheels are for which minor versions of Python 3."""
    found: dict[str, set[int]] = {}
    for release in releases:
        for tags in release.wheels:
            python, _, end = tags.split("-", 2)
            match = _PYTHON.fullmatch(python)
            machine = next((name for name, ending in _MACHINES.items() if ending.search(end)), None)
            if machine is not None and match is not None and match[2] is not None:
                found.setdefault(machine, set()).add(int(match[2]))
    return found
