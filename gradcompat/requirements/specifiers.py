"""Specifiers in their normal form, read without packaging's parser.

``SpecifierSet`` has no post-release in ``>1.0``, tells labels as in ``==1.0+cpu`` apart, and compares what follows
``===`` as text. Of final releases the order of versions alone decides (:mod:`gradcompat.requirements.versions`), and
importing packaging's own reading takes as long as starting Python twice.
"""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version

from gradcompat.requirements.versions import VersionSet

_RELEASE = r"\d{1,9}(?:\.\d{1,9}){0,5}"
# A version in its normal form, without a label.
PLAIN_VERSION = rf"{_RELEASE}(?:(?:a|b|rc)\d{{1,9}})?(?:\.post\d{{1,9}})?(?:\.dev\d{{1,9}})?"
# What needs no parser: such versions with the operators that take them.
PLAIN_CLAUSE = (
    rf"\s*(?:(?:==|!=|<=|>=|<|>)\s*{PLAIN_VERSION}|==\s*{PLAIN_VERSION}\+[a-z0-9]{{1,20}}"
    rf"|(?:==|!=)\s*{_RELEASE}\.\*|~=\s*\d{{1,9}}(?:\.\d{{1,9}}){{1,5}})\s*"
)


def allows(specifier: str, version: Version) -> bool:
    """Is the version one that a specifier allows? A pre-release counts as its number says, as with pip.

    Raises:
        ValueError: if it is no specifier.
    """
    if not specifier:
        return True
    plain = None if version.is_prerelease or version.is_postrelease else _plain(specifier)
    if plain is None:
        # What comes here is rare, and importing it takes longer than most checks need.
        from gradcompat.requirements.specifier_grammar import contains

        return contains(specifier, version)
    return (Version(version.public) if version.local else version) in plain


@lru_cache(maxsize=16384)
def _plain(specifier: str) -> VersionSet | None:
    """The versions in order, where labels and spelling decide nothing."""
    if "+" in specifier or "===" in specifier or "|" in specifier or specifier.strip() == "*":
        return None
    try:
        return VersionSet.parse(specifier)
    except ValueError:
        return None
