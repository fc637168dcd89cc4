"""Heads that are drawn anew behind a resized vocabulary."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.redrawn_heads import initialised_after_resizing


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model.resize_token_embeddings(502)\nmodel.post_init()", True),
        ("model.post_init()\nmodel.resize_token_embeddings(502)", False),
        ("model.resize_token_embeddings(502)\nother.post_init()", False),
        (
            "class M(P):\n    def f(self):\n        self.resize_token_embeddings(9)\n        self.post_init()",
            False,
        ),
        ("model.resize_token_embeddings(502)", False),
    ],
)
def test_a_model_that_is_initialised_once_more(text: str, told: bool) -> None:
    assert (initialised_after_resizing(ast.parse(text).body) is not None) is told
