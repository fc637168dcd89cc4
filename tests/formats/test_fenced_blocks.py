"""Code blocks between the fences of Markdown."""

from __future__ import annotations

import pytest

from gradcompat.formats.fenced_blocks import FencedBlock, fenced_blocks, has_fences


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a\n```python\nx = 1\n```\nb", [FencedBlock("python", 3, "x = 1")]),
        ("~~~ YAML title\na: 1\n\nb: 2\n~~~", [FencedBlock("yaml", 2, "a: 1\n\nb: 2")]),
        ("```\na\n```\n```sh\nb\n```", [FencedBlock("", 2, "a"), FencedBlock("sh", 5, "b")]),
        ("````md\n```py\nx\n```\n````", [FencedBlock("md", 2, "```py\nx\n```")]),
        ("1. so:\n   ```py\n   if x:\n       y\n   ```", [FencedBlock("py", 3, "if x:\n    y")]),
        ("> ```\n> a\n> ```", [FencedBlock("", 2, "a")]),
        ("```py\r\nx\r\n```\r\n", [FencedBlock("py", 2, "x")]),
        ("```py\nx", [FencedBlock("py", 2, "x")]),
        ("```py\n```yaml\nx\n```", [FencedBlock("py", 2, "```yaml\nx")]),
        ("say ```x``` inline", []),
        ("", []),
    ],
)
def test_blocks_keep_their_lines(text: str, blocks: list[FencedBlock]) -> None:
    assert list(fenced_blocks(text)) == blocks


def test_a_text_of_fences_is_bounded() -> None:
    assert len(list(fenced_blocks("```\n```\n" * 10_000))) == 100


def test_most_texts_hold_none() -> None:
    assert not has_fences("torch==2.5.1\n")
    assert has_fences("~~~\n")
    assert not has_fences("```\n" * 400_000)
