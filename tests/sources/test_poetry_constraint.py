"""Poetry's constraints: each sign, and what is none."""

from __future__ import annotations

import pytest

from gradcompat.sources.poetry_constraint import exact_version, specifier


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        # The examples of Poetry's documentation.
        ("^1.2.3", ">=1.2.3,<2"),
        ("^1.2", ">=1.2,<2"),
        ("^1", ">=1,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0,<0.1"),
        ("^0", ">=0,<1"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1.2", ">=1.2,<1.3"),
        ("~1", ">=1,<2"),
        ("*", "*"),
        ("1.*", "==1.*"),
        ("1.2.*", "==1.2.*"),
        (">= 1.2.0", ">=1.2.0"),
        (">= 1.2, < 1.5", ">=1.2,<1.5"),
        ("!= 1.2.3", "!=1.2.3"),
        ("==1.2.3", "==1.2.3"),
        # What else occurs.
        (">=1 <2", ">=1,<2"),
        (">=1,", ">=1"),
        ("^1.0 || ^3", ">=1.0,<2 || >=3,<4"),
        ("<1|>2", "<1 || >2"),
        ("* || ^1", "*"),
        ("~=2.2", "~=2.2"),
        ("=1.2", "==1.2"),
        ("v1.2", "==1.2"),
        ("!=1.5.*,>=1", "!=1.5.*,>=1"),
        ("^1!2.3", ">=1!2.3,<1!3"),
        ("2.5.1+cu124", "==2.5.1+cu124"),
        ("1.2 || 1.4", "==1.2 || ==1.4"),
    ],
)
def test_what_is_allowed(constraint: str, expected: str) -> None:
    assert specifier(constraint) == expected


@pytest.mark.parametrize(
    "constraint", ["", ",", "||", "^", "^^1", "~=2", ">*", "one", "^1 ||", "<1.*", "9" * 5000, "1 @"]
)
def test_what_means_nothing(constraint: str) -> None:
    assert specifier(constraint) is None
    assert exact_version(constraint) is None


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("2.5.1", "2.5.1"),
        ("==2.5.1+cu124", "2.5.1+cu124"),
        ("= 2.5", "2.5"),
        (" 2.5 ", "2.5"),
        ("^2.5.1", None),
        ("~2.5.1", None),
        ("2.5.*", None),
        (">=2.5.1", None),
        ("2.5 || 2.6", None),
    ],
)
def test_a_range_is_no_version(constraint: str, expected: str | None) -> None:
    assert exact_version(constraint) == expected
