"""Names as PEP 503 has them, and as ``packaging`` normalises them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from gradcompat.requirements.names import normalise
from tests.examples import examples


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", "torch"),
        ("Ruamel.YAML_clib", "ruamel-yaml-clib"),
        ("pytorch_lightning", "pytorch-lightning"),
        ("a-_.b", "a-b"),
        ("-a-", "-a-"),
        ("", ""),
    ],
)
def test_normalise(name: str, expected: str) -> None:
    assert normalise(name) == expected
    assert normalise(normalise(name)) == expected


@settings(deadline=None, max_examples=examples(100))
@given(st.text())
def test_as_packaging_does(name: str) -> None:
    assert normalise(name) == canonicalize_name(name)
