"""How far releases were looked at: what rows and examples show of it, and the section ``horizon`` of the records.

That section is what counts, with a line for each package. What can be derived is: :func:`seen` takes the newest release
that was run or that an example names. What was read without either is stated, and only a person knows that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from packaging.version import Version

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.compile import compile_record
from gradcompat.knowledge.examples import environment_from
from gradcompat.knowledge.horizon import unfixed_by_package
from gradcompat.knowledge.load import issue_from
from gradcompat.knowledge.records import Authored
from gradcompat.knowledge.schema import Horizon, Record
from gradcompat.matching.entries import Names
from gradcompat.model.probe import Row
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_patterns import lazy_pattern

Released = Callable[[str], Mapping[Version, str]]

_HEAD = lazy_pattern(r"^horizon:[ \t]*(?:#.*)?$")
_LINE = lazy_pattern(r"^  ([a-z0-9-]+): *\{[^{}]*\}[ \t]*(?:#.*)?$")
_ISSUES = lazy_pattern(r"^issues:")
_COMMENT = (
    "# The newest release of each package that was looked at, and the day: `gradcompat knowledge horizon` writes it."
)


def packages_of(record: Record) -> frozenset[str]:
    """The packages whose versions a record speaks of."""
    return frozenset(
        name
        for combination in record.affected
        for name, versions in combination.packages.items()
        if versions != "absent"
    )


def spoken_of(authored: Authored) -> frozenset[str]:
    """The packages whose versions some record in force speaks of."""
    return frozenset(name for record in authored.records if record.withdrawn is None for name in packages_of(record))


def seen(authored: Authored, rows: Sequence[Row], names: Names, released: Released) -> dict[str, Horizon]:
    """Package → the newest release that a row or an example of a record in force shows to have been looked at.

    Where a package has defects that no release is known to end, these alone count: what a horizon is for is to say how
    far they were followed, and not that a release was met in some other record.

    Args:
        authored: the records.
        rows: what was measured; the day of a release is that of its newest row.
        names: which packages are one.
        released: the releases of a package and their days. An example may name a version that is none. Of one that
            only an example shows, the day is that of the records, or its own where that is later.
    """
    found: dict[str, tuple[Version, str]] = {}
    records = {record.id: record for record in authored.records if record.withdrawn is None}
    issues = {name: issue_from(compile_record(record)) for name, record in records.items()}
    followed = {name: {issue.id for issue in group} for name, group in unfixed_by_package(issues.values()).items()}
    run: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.measurement.state != "skipped":
            name = names.families.get(row.package, row.package)
            run.setdefault((name, str(row.measurement.spec)), []).append(row)
    for identifier, record in records.items():
        for name in packages_of(record):
            if identifier not in followed.get(name, {identifier}):
                continue
            days = {
                version: row.date
                for probe in issues[identifier].probes
                for row in sorted(run.get((name, str(probe.spec)), ()), key=lambda row: row.date)
                if (version := parse_version(row.version)) is not None
            }
            for one, version in named(record, names):
                uploaded = released(name).get(version) if one == name and version not in days else None
                if uploaded is not None:
                    days[version] = max(authored.date, uploaded)
            if days:
                newest = max(days)
                found[name] = max(found.get(name, (newest, "")), (newest, days[newest]))
    return {name: Horizon(version=str(version), date=day) for name, (version, day) in sorted(found.items())}


def named(record: Record, names: Names) -> Iterable[tuple[str, Version]]:
    """The releases that the examples of a record name, of packages that it speaks of."""
    wanted = packages_of(record)
    for example in (*record.examples.affected, *record.examples.not_affected, *record.examples.conditional):
        for package in environment_from(example).packages:
            name = names.canonical(package)
            version = None if package.version is None else parse_version(package.version)
            if name in wanted and version is not None:
                yield name, version


def advance_horizon(now: Mapping[str, Horizon], to: Mapping[str, Horizon]) -> dict[str, Horizon]:
    """The horizons of ``to`` that lie beyond those of now, or of packages that have none."""
    return {
        name: one for name, one in to.items() if name not in now or Version(now[name].version) < Version(one.version)
    }


def with_horizon(text: str, changes: Mapping[str, Horizon], shown: str) -> str:
    """The text of the records with these lines of the section ``horizon``; everything else stays as it is.

    Raises:
        KnowledgeError: if the section is not written with one package a line.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(end)
    head = next((number for number, line in enumerate(lines) if _HEAD.fullmatch(line)), None)
    if head is None:
        place = next((number for number, line in enumerate(lines) if _ISSUES.match(line)), None)
        if place is None or any(line.startswith("horizon:") for line in lines):
            raise KnowledgeError("the section `horizon` is not written with one package a line", path=shown)
        lines[place:place] = [_COMMENT, "horizon:", ""]
        head = place + 1
    behind = next(
        (number for number in range(head + 1, len(lines)) if not lines[number].startswith((" ", "\t"))), len(lines)
    )
    entries = {}
    for line in lines[head + 1 : behind]:
        match = _LINE.fullmatch(line)
        if match is None:
            raise KnowledgeError(f"`{line.strip()}` in the section `horizon` is not a line of one package", path=shown)
        entries[match[1]] = line
    for name, one in changes.items():
        entries[name] = f'  {name}: {{version: "{one.version}", date: "{one.date}"}}'
    lines[head + 1 : behind] = [entries[name] for name in sorted(entries)]
    return end.join(lines)
