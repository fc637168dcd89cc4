"""What is known of the run whose log has an error."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from packaging.version import Version

from gradcompat.breaks.code_issues import Beside
from gradcompat.breaks.module_needs import providers_of
from gradcompat.matching.entries import Names
from gradcompat.model.diagnosis import Seen
from gradcompat.model.environment import Environment
from gradcompat.releases.table import package_of, table_of, tops_of
from gradcompat.startup.lazy_dataclasses import dataclass

LACKS, MAY_LACK, HAS = 0.9, 0.6, 0.4  # scores, as diagnosis.ranking has them


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """A run that has failed.

    Attributes:
        environment: the packages of which a version is known.
        versions: theirs, of what an index serves.
        modules: packages that its tracebacks pass through, by the names of their folders.
        names: under which names packages go.
    """

    environment: Environment
    versions: Mapping[str, Sequence[Version]]
    modules: Collection[str]
    names: Names

    @property
    def beside(self) -> Beside:
        """The release of a package that is listed in one version."""
        return self._listed.get

    @property
    def _listed(self) -> dict[str, Version]:
        return {name: some[0] for name, some in self.versions.items() if len(some) == 1}

    def besides(self, package: str) -> tuple[Beside, Beside]:
        """The same, and of the packages that one needs and nothing lists the oldest and the newest that were read."""
        tables = [table for other in sorted(providers_of(package)) if (table := table_of(other)) is not None]
        oldest = {table.package: table.versions[0] for table in tables}
        newest = {table.package: table.versions[-1] for table in tables}
        return {**oldest, **self._listed}.get, {**newest, **self._listed}.get

    def entries(self, package: str, behind: str) -> list[Seen]:
        """The lines that list a package."""
        return [
            Seen(sentence=f"{entry.name} {entry.version} is listed{behind}", location=entry.location)
            for entry in self.environment.packages
            if package in (entry.name, self.names.canonical(entry))
        ]

    def tops(self) -> Iterator[str]:
        """The modules that may have a class: of what is listed, what tracebacks pass through, and what that needs."""
        packages = dict.fromkeys((*self.versions, *filter(None, map(package_of, sorted(self.modules)))))
        needed = (provider for package in list(packages) for provider in sorted(providers_of(package)))
        yield from dict.fromkeys(top for package in (*packages, *needed) for top in tops_of(package))
