"""What the user says is installed of a package of which files give only a range: ``--set package.torch=2.6.0``."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.matching.entries import Names
from gradcompat.model.environment import Environment, Package, SettingValue
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.truth import Truth
from gradcompat.vocabulary import package_of


def with_stated_versions(
    environment: Environment, stated: Sequence[tuple[str, SettingValue]], names: Names
) -> Environment:
    """The environment with these versions, where its files leave the version open and allow it.

    A version that a file pins is not touched (``--with`` compares other versions), nor is a range that excludes it.

    Args:
        environment: as its files describe it.
        stated: keys of the vocabulary with their values.
        names: under which names packages go.
    """
    versions = {name: str(value) for key, value in stated if (name := package_of(key)) is not None}
    if not versions:
        return environment
    return replace(
        environment, packages=tuple(_installed(package, versions, names) for package in environment.packages)
    )


def _installed(package: Package, versions: dict[str, str], names: Names) -> Package:
    version = versions.get(package.name) or versions.get(names.canonical(package))
    if version is None or package.version is not None or not _allows(package, version):
        return package
    return replace(package, version=version, specifier=None)


def _allows(package: Package, version: str) -> bool:
    window = locate(version)
    if package.specifier is None or window is None:
        return window is not None
    try:
        return VersionSet.parse(package.specifier).truth(window) is Truth.YES
    except ValueError:
        return False
