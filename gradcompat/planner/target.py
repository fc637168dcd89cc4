"""What fits an interpreter and a machine: markers, Requires-Python and the tags of wheels.

Everything follows from the :class:`Target`; the interpreter that runs this says nothing, so a plan for a cluster can be
made on a laptop.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from packaging.version import Version

from gradcompat.model.environment import Package
from gradcompat.model.release import Release, Target
from gradcompat.requirements.markers import may_hold, parse_marker
from gradcompat.requirements.specifiers import allows

Fit = Literal["wheel", "sdist"]

_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_PLATFORM_SYSTEM = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
_PURE = "-none-any"  # of wheels that hold nothing compiled
_IMPLEMENTATIONS = {"cp": ("cpython", "CPython"), "pp": ("pypy", "PyPy")}


def described(target: Target) -> str:
    """``Python 3.11.7 on Linux x86_64``."""
    return f"Python {target.python} on {_SYSTEMS.get(target.platform, target.platform)} {target.machine}"


@lru_cache(maxsize=64)
def marker_environment(target: Target) -> dict[str, str]:
    """The variables of PEP 508 on the target; what describes one single machine is empty."""
    implementation, shown = _IMPLEMENTATIONS.get(target.implementation, (target.implementation, target.implementation))
    return {
        "implementation_name": implementation,
        "implementation_version": target.python,
        "os_name": "nt" if target.platform == "win32" else "posix",
        "platform_machine": target.machine,
        "platform_python_implementation": shown,
        "platform_release": "",
        "platform_system": _PLATFORM_SYSTEM.get(target.platform, target.platform),
        "platform_version": "",
        "python_full_version": target.python,
        "python_version": ".".join(target.python.split(".")[:2]),
        "sys_platform": target.platform,
    }


def is_there(package: Package, target: Target) -> bool:
    """Is this entry of a lockfile installed on the target, with some choice of extras?"""
    if package.marker is not None and not _may_hold(package.marker, target):
        return False
    return not package.reached or any(_may_hold(text, target) for text in package.reached)


@lru_cache(maxsize=8192)
def _may_hold(text: str, target: Target) -> bool:
    """Does a marker hold with one extra or with none? One that cannot be read excludes nothing."""
    marker = parse_marker(text)
    return marker is None or may_hold(marker, marker_environment(target)) is not False


def fit(release: Release, target: Target) -> Fit | None:
    """How a release gets onto the target: as a wheel, built from its sdist, or not at all."""
    if not _python_allowed(release.requires_python, target.python):
        return None
    pure = [wheel for wheel in release.wheels if wheel.endswith(_PURE)]
    if any(not pure_interpreters(target).isdisjoint(wheel.partition("-")[0].split(".")) for wheel in pure):
        return "wheel"
    if len(pure) < len(release.wheels):
        from gradcompat.planner.wheel_tags import supported_tags  # loads much, and most packages are pure Python

        tags = supported_tags(target)
        if any(_wheel_fits(wheel, tags) for wheel in release.wheels):
            return "wheel"
    return "sdist" if release.sdist else None


@lru_cache(maxsize=4096)
def _python_allowed(specifier: str | None, python: str) -> bool:
    """Requires-Python; pip, too, passes over one that cannot be read."""
    if specifier is None:
        return True
    try:
        return allows(specifier, Version(python))
    except ValueError:
        return True


@lru_cache(maxsize=16)
def pure_interpreters(target: Target) -> frozenset[str]:
    """The interpreters of the wheels for any machine that the target installs."""
    major, minor = target.python_number
    pythons = {f"py{major}", *(f"py{major}{lower}" for lower in range(minor + 1))}
    return frozenset({*pythons, f"{target.implementation}{major}{minor}"})


def _wheel_fits(wheel: str, tags: frozenset[str]) -> bool:
    parts = wheel.split("-")
    if len(parts) != 3:
        return False
    interpreters, abis, platforms = (part.split(".") for part in parts)
    return any(
        f"{interpreter}-{abi}-{platform}" in tags
        for platform in platforms
        for interpreter in interpreters
        for abi in abis
    )
