"""The tags of wheels that a machine installs, as packaging has them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from packaging.tags import compatible_tags, cpython_tags, generic_tags, mac_platforms

from gradcompat.model.release import Target

# The names that manylinux had before it was numbered by glibc.
_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_MACOS = (15, 0)  # nobody says which macOS a target has; wheels for a newer one are rare


@lru_cache(maxsize=16)
def supported_tags(target: Target) -> frozenset[str]:
    """Every tag of a wheel that the target installs, as ``cp311-abi3-manylinux_2_17_x86_64``."""
    version = target.python_number
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
