"""Distributions with records that are installed beside gradcompat, found by their entry points.

A distribution names one of its import packages in the group ``gradcompat.knowledge``; its records lie in the folder of
that package. Nothing of it is imported. ``importlib.metadata`` has the same answer and takes longer than the rest of a
check. Only the interpreter that runs gradcompat counts, never one that is audited, and never the current folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradcompat.errors import KnowledgeError
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

GROUP = "gradcompat.knowledge"
PUBLIC = "gradcompat-knowledge"
COMPILED_NAME = "compiled.json"
_SECTION = f"[{GROUP}]"
_SITES = ("site-packages", "dist-packages")
_MOST_BYTES = 64 * 1024
_PACKAGE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_DATE = lazy_pattern(r"(\d{4})\.(\d{1,2})\.(\d{1,2})(?:\.post(\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeDistribution:
    """An installed distribution that has records.

    Attributes:
        name: normalised.
        version: as its metadata folder has it.
        package: the import package that its entry point names.
        sites: the folders that packages are looked for in, its own first.
    """

    name: str
    version: str
    package: str
    sites: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> Path:
        """Where its records lie.

        Raises:
            KnowledgeError: if the entry point names no package that is there.
        """
        if _PACKAGE.fullmatch(self.package):
            for site in self.sites:
                folder = Path(site, *self.package.split("."))
                if os.path.isdir(folder):
                    return folder
        message = f"its entry point in `{GROUP}` names `{self.package}`, and no such package is installed"
        raise KnowledgeError(message, path=str(self), hint=f"install {self.name} again, or uninstall it")

    def released(self) -> tuple[int, int, int, int] | None:
        """The date that is its version: year, month, day, and which release of that day; None if it is none.

        >>> KnowledgeDistribution(name="a", version="2026.11.5", package="a", sites=()).released()
        (2026, 11, 5, 0)
        """
        found = _DATE.fullmatch(self.version)
        return None if found is None else (int(found[1]), int(found[2]), int(found[3]), int(found[4] or 0))


def installed_distributions(path: Sequence[str]) -> tuple[KnowledgeDistribution, ...]:
    """The distributions with records, in the order of their names.

    Args:
        path: where the interpreter imports from, as ``sys.path`` has it; of it, folders of installed packages count.
    """
    here = os.path.realpath(os.curdir)
    sites = [
        folder
        for folder in dict.fromkeys(path)
        if os.path.basename(folder) in _SITES and os.path.realpath(folder) != here
    ]
    found: dict[str, KnowledgeDistribution] = {}
    for site in sites:
        for name, version, package in _in_site(site):
            one = KnowledgeDistribution(
                name=name, version=version, package=package, sites=(site, *(other for other in sites if other != site))
            )
            found.setdefault(name, one)  # the first on the path is the one that would be imported
    return tuple(found[name] for name in sorted(found))


def _in_site(site: str) -> Iterator[tuple[str, str, str]]:
    try:
        with os.scandir(site) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".dist-info"))
    except OSError:
        return
    for folder in names:
        try:
            # Most distributions have no such file, or one of some hundred bytes: opening it decides the cost.
            descriptor = os.open(f"{site}/{folder}/entry_points.txt", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        except OSError:
            continue
        try:
            content = os.read(descriptor, _MOST_BYTES)
        except OSError:
            continue
        finally:
            os.close(descriptor)
        if _SECTION.encode() in content:
            name, _, version = folder.removesuffix(".dist-info").partition("-")
            for package in _packages(content.decode("utf-8", "replace")):
                yield normalise(name), version, package
                break


def _packages(text: str) -> Iterator[str]:
    """The values of the group: ``name = package``."""
    inside = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            inside = line == _SECTION
        elif inside and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].partition(":")[0].strip()
