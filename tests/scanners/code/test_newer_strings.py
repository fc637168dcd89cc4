"""f-strings as Python 3.12 allows them, on an interpreter that is older."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.newer_strings import respelled
from gradcompat.scanners.code.syntax import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('f"{row["id"]}"', "f\"{row['id']}\""),
        ("f'{row['id']}: {row['text']!r:>{width}}'", 'f\'{row["id"]}: {row["text"]!r:>{width}}\''),
        ('f"{", ".join(names)}"', "f\"{', '.join(names)}\""),
        ("f'{'\\n'.join(lines)}'", "f'{0" + " " * len("\\n'.join(lines)") + "}'"),
        ('f"{row["it\'s"]}"', 'f"{0' + " " * 10 + '}"'),
        ('f"{f"{row["id"]}"}"', 'f"{0' + " " * 13 + '}"'),
        ('f"""{row["id"]}"""', 'f"""{row["id"]}"""'),
        ('f"{{{row["id"]}}}"', "f\"{{{row['id']}}}\""),
        ('x = "{a["  # f"{a["', 'x = "{a["  # f"{a["'),
        ('b"\\"{" f"{row["id"]}"', 'b"\\"{" f"{row[\'id\']}"'),
        ('return"{a["', 'return"{a["'),
        ("f'{a", "f'{a"),
        ("f'{" * 50, "f'{" * 50),
    ],
)
def test_a_field_is_respelled(text: str, expected: str) -> None:
    assert respelled(text) == expected
    assert len(expected) == len(text)


def test_the_rest_of_a_program_is_read() -> None:
    text = 'raise ValueError(f"Unknown type {config["type"]}, \n")'.replace("\n", "\\n") + "\nmodel.train()\n"
    tree = parse(f"import torch\n{text}", "train.py")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [(call.lineno, ast.unparse(call.func)) for call in calls] == [(2, "ValueError"), (3, "model.train")]
