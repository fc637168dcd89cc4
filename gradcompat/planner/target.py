"""What fits an interpreter and a machine: markers, Requires-Python and the tags of wheels.

Everything follows from the :class:`Target`; the interpreter that runs this says nothing, so a plan for a cluster can be
made on a laptop.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import compatible_tags, cpython_tags, generic_tags, mac_platforms

from gradcompat.markers import may_hold, parse_marker
from gradcompat.model.environment import Package
from gradcompat.model.release import Release, Target

Fit = Literal["wheel", "sdist"]

_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_PLATFORM_SYSTEM = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
_IMPLEMENTATIONS = {"cp": ("cpython", "CPython"), "pp": ("pypy", "PyPy")}
# The names that manylinux had before it was numbered by glibc.
_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_MACOS = (15, 0)  # nobody says which macOS a target has; wheels for a newer one are rare


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
        return SpecifierSet(specifier).contains(python, prereleases=True)
    except (InvalidSpecifier, ValueError):
        return True


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


@lru_cache(maxsize=16)
def supported_tags(target: Target) -> frozenset[str]:
    """Every tag of a wheel that the target installs, as ``cp311-abi3-manylinux_2_17_x86_64``."""
    numbers = [int(part) for part in target.python.split(".")[:2] if part.isdecimal()]
    version = (numbers[0], numbers[1]) if len(numbers) == 2 else (3, 0)
    nodot = "".join(map(str, version))
    platforms = tuple(_platforms(target))
    if target.implementation == "cp":
        abi = f"cp{nodot}" if version >= (3, 8) else f"cp{nodot}m"
        own = cpython_tags(python_version=version, abis=[abi], platforms=platforms)
    else:
        interpreter = f"{target.implementation}{nodot}"
        own = generic_tags(interpreter=interpreter, abis=[f"pypy{nodot}_pp73"], platforms=platforms)
    general = compatible_tags(
        python_version=version, interpreter=f"{target.implementation}{nodot}", platforms=platforms
    )
    return frozenset(str(tag) for tags in (own, general) for tag in tags)


def _platforms(target: Target) -> Iterator[str]:
    match target.platform:
        case "linux":
            yield from _linux(target)
        case "darwin":
            yield from mac_platforms(_MACOS, "arm64" if target.machine in ("arm64", "aarch64") else "x86_64")
        case "win32":
            yield {"AMD64": "win_amd64", "x86_64": "win_amd64", "ARM64": "win_arm64"}.get(target.machine, "win32")
        case other:
            yield f"{other}_{target.machine}"


def _linux(target: Target) -> Iterator[str]:
    machine = target.machine
    if target.glibc is None:
        yield from (f"musllinux_1_{minor}_{machine}" for minor in range(2, -1, -1))
    else:
        major, _, minor = target.glibc.partition(".")
        newest = int(minor.split(".")[0]) if major == "2" and minor.split(".")[0].isdecimal() else 17
        oldest = 5 if machine in ("x86_64", "i686") else 17  # other machines joined with manylinux2014
        for number in range(min(newest, 200), oldest - 1, -1):
            yield f"manylinux_2_{number}_{machine}"
            if number in _LEGACY:
                yield f"{_LEGACY[number]}_{machine}"
    yield f"linux_{machine}"
