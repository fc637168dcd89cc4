"""``check --with NAME==VERSION``: an environment with other versions in place of those that it pins."""

from __future__ import annotations

from collections.abc import Sequence

from gradcompat.errors import UsageError
from gradcompat.matching.entries import Names
from gradcompat.model.environment import Environment, Package, Skipped, SourceKind
from gradcompat.model.report import Replaced
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_dataclasses import replace

_HINT = "write `--with transformers==5.5.4`, once for each package"


def parse_replacements(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The normalised name and the version of each ``NAME==VERSION``.

    Raises:
        UsageError: if one has another form, or a package is named with two versions.
    """
    if not texts:
        return ()
    from packaging.utils import is_normalized_name  # which imports logging and subprocess

    found: dict[str, str] = {}
    for text in texts:
        written, operator, version = (part.strip() for part in text.partition("=="))
        name = normalise(written)
        if not operator or not is_normalized_name(name):
            raise UsageError(f"`--with {text}` is not NAME==VERSION", hint=_HINT)
        if parse_version(version) is None:
            raise UsageError(f"`--with {text}`: `{version}` is not a version", hint=_HINT)
        if found.setdefault(name, version) != version:
            raise UsageError(f"`--with` names `{name}` with two versions", hint=_HINT)
    return tuple(found.items())


def replace_versions(
    environment: Environment, replacements: Sequence[tuple[str, str]], names: Names
) -> tuple[Environment, tuple[Replaced, ...]]:
    """The environment with these versions in place of what it has, and each entry that has moved.

    Every entry of a name moves, in all alternatives of a lockfile. A name stands for the others of the same code, too
    (``lightning`` for ``pytorch-lightning``), where the environment does not list it itself.
    """
    if not replacements:
        return environment, ()
    listed = {package.name for package in environment.packages}
    by_code = {names.families.get(name, name): version for name, version in replacements if name not in listed}
    own = dict(replacements)
    packages: list[Package] = []
    moved: list[Replaced] = []
    for package in environment.packages:
        version = own.get(package.name) or by_code.get(names.canonical(package))
        if version is None:
            packages.append(package)
            continue
        source: SourceKind = "conda" if package.source == "conda" else "registry"
        packages.append(
            replace(
                package,
                version=version,
                specifier=None,
                source=source,
                unreleased=False,
                malformed_version=False,
                releases=(),
                build=None,
            )
        )
        was = package.version if package.version is not None else package.specifier
        moved.append(Replaced(package=package.name, version_from=was, version_to=version, location=package.location))
    return replace(environment, packages=tuple(packages)), tuple(moved)


def refused_by_requirements(environment: Environment, replaced: Sequence[Replaced]) -> tuple[Skipped, ...]:
    """What pip and uv would refuse: requirements between the replaced packages and the others that are pinned.

    By the snapshot of the index that ships with gradcompat; a release that it does not have requires nothing here.

    Args:
        environment: with the new versions.
        replaced: the entries that have moved.
    """
    from gradcompat.audit.published_releases import refused

    moved = {one.package for one in replaced}
    several: dict[str, set[str | None]] = {}
    for package in environment.packages:
        several.setdefault(package.name, set()).add(package.version)
    entries = {package.name: package for package in environment.packages if len(several[package.name]) == 1}
    pins = {name: pin for name, one in entries.items() if (pin := parse_version(one.version or "")) is not None}
    found: list[Skipped] = []
    for name, pin in pins.items():
        beside = pins if name in moved else {other: pins[other] for other in moved & pins.keys()}
        for required, specifier in refused(name, pin, beside):
            said = f"requires {required} {specifier}, and {required} is {pins[required]}: pip and uv would refuse that"
            what = f"{name} {pin}"
            found.append(Skipped(what=what, reason=said, gap=False, location=entries[name].location))
    return tuple(found)
