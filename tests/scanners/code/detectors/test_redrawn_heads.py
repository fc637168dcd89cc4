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
        ("t.add_tokens(['<a>'])\nmodel.resize_token_embeddings(len(t))\nmodel.post_init()", True),
        ("model.resize_token_embeddings(len(t) + 2)\nmodel.post_init()", True),
        ("model.resize_token_embeddings(len(t))\nmodel.post_init()", False),
        ("model.resize_token_embeddings(len(t), mean_resizing=False)\nmodel.post_init()", False),
        (
            "t.add_special_tokens({'pad_token': t.eos_token})\n"
            "model.resize_token_embeddings(len(t))\nmodel.post_init()",
            False,
        ),
    ],
)
def test_a_model_that_is_initialised_once_more(text: str, told: bool) -> None:
    assert (initialised_after_resizing(ast.parse(text).body) is not None) is told
