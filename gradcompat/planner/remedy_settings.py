"""Settings as remedies: a run as it is with one, where the releases that it lists have the setting at all."""

from __future__ import annotations

from collections.abc import Callable

from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.issue import SettingRemedy
from gradcompat.requirements.versions import locate
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.truth import Truth

_TRIED = Location(path="remedy")


def with_setting(run: Environment, remedy: SettingRemedy) -> Environment:
    """The run with the setting as the record wants it, in one place."""
    kept = tuple(setting for setting in run.settings if setting.key != remedy.key)
    return replace(run, settings=(*kept, Setting(key=remedy.key, value=remedy.value, location=_TRIED)))


def is_taken(remedy: SettingRemedy, run: Environment, canonical: Callable[[Package], str]) -> bool:
    """Whether no version that the run lists is one that does not have the setting.

    Args:
        remedy: with the releases that have it.
        run: a package of which it lists no version may be any.
        canonical: the name under which records speak of a package.
    """
    for name, versions in remedy.packages.items():
        for package in run.packages:
            window = locate(package.version) if package.version is not None and canonical(package) == name else None
            if window is not None and versions.truth(window) is Truth.NO:
                return False
    return True
