"""What the name of a wheel or of an sdist says, read without building tags: a large page has five thousand of them."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import InvalidVersion, Version

from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_patterns import lazy_pattern

# PEP 625 has only the first; the others are what older releases were published as.
SDIST_ENDINGS = (".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".tar.Z", ".tar")


def of_wheel(filename: str, project: str) -> tuple[Version, str] | None:
    """The version and the tags of a wheel; None for what is none of this project.

    >>> of_wheel("torch-2.5.1+cu124-cp311-cp311-linux_x86_64.whl", "torch")
    (<Version('2.5.1+cu124')>, 'cp311-cp311-linux_x86_64')
    """
    if len(filename) > _LONGEST:
        return None
    parts = filename[:-4].split("-")
    if len(parts) not in (5, 6) or not filename.endswith(".whl") or not all(parts):
        return None
    if _normalised(parts[0]) != project or (len(parts) == 6 and not parts[2][0].isdigit()):
        return None
    version = _version(parts[1])
    return None if version is None else (version, "-".join(parts[-3:]))


def of_sdist(filename: str, project: str) -> Version | None:
    """The version of an sdist; None for what is none of this project.

    >>> of_sdist("flash-attn-2.7.0.post2.tar.gz", "flash-attn")
    <Version('2.7.0.post2')>
    """
    ending = next((ending for ending in SDIST_ENDINGS if filename.endswith(ending)), None)
    if ending is None or len(filename) > _LONGEST:
        return None
    # The name may hold hyphens in old ones, and so may the version: it starts where the name of the project ends.
    stem = filename.removesuffix(ending)
    for mark in _HYPHEN.finditer(stem):
        if _normalised(stem[: mark.start()]) == project:
            return _version(stem[mark.end() :])
    return None


def first_word(name: str) -> str:
    """What the name of a project and the names of its files begin with alike.

    >>> first_word("Flash_Attn-2.7.0.tar.gz") == first_word("flash-attn")
    True
    """
    return _SEPARATOR.split(name, maxsplit=1)[0].lower()


_HYPHEN = lazy_pattern("-")
_SEPARATOR = lazy_pattern("[-_.]")
# Most file systems take no longer names; what one has to be split into is bounded by that.
_LONGEST = 255

_normalised = lru_cache(maxsize=4096)(normalise)


@lru_cache(maxsize=4096)
def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except (InvalidVersion, ValueError):  # a number with more digits than Python converts
        return None
