"""How many examples a property test tries, and how long a hostile input is."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100


def examples(count: int) -> int:
    """That many, or the share of them that the profile of Hypothesis tries (``tests/conftest.py`` chooses it)."""
    profile = settings.get_current_profile_name()
    return max(1, count * settings.get_profile(profile).max_examples // _USUAL)


def length(count: int) -> int:
    """The same for what one input has many of: a fifth is still deeper than any recursion and longer than any limit
    of a name.
    """
    return examples(count)
