"""Scripts with a block of PEP 723."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.inline_script import read
from tests.sources.locked import fixture


def test_a_script() -> None:
    assert read(fixture("script/train.py")) == Environment(
        source="train.py",
        kind="script",
        packages=(
            Package(name="torch", version="2.5.1", location=Location(path="train.py", line=6, column=13)),
            Package(
                name="transformers",
                version=None,
                specifier=">=4.46",
                source="git",
                unreleased=True,
                location=Location(path="train.py", line=7, column=18),
            ),
            Package(name="numpy", version="1.26.4", location=Location(path="train.py", line=14, column=36)),
        ),
        closed=False,
        skipped=(
            Skipped(
                what="numpy",
                reason="asks for any version, which the project overrides",
                gap=False,
                location=Location(path="train.py", line=8, column=6),
            ),
            Skipped(
                what="a requirement",
                reason="is no requirement: expected package name at the start of dependency specifier",
                location=Location(path="train.py", line=9, column=6),
            ),
        ),
    )


@pytest.mark.parametrize(
    "content",
    [
        '# /// script\r\n# dependencies = ["a==1"]\r\n# ///\r\n',
        '# /// pyproject\n# dependencies = ["b==1"]\n# ///\n\n# /// script\n# dependencies = ["a==1"]\n# ///',
        '# /// script\n# dependencies = ["a==1"]\n# ///\n# no content any more\n',
        # The last end of the block is its end.
        '# /// script\n# a = """\n# ///\n# """\n# dependencies = ["a==1"]\n# ///\nimport torch\n',
    ],
)
def test_blocks(content: str) -> None:
    (package,) = read(Document("a.py", content)).packages
    assert (package.name, package.version) == ("a", "1")
    assert package.location.line is not None
    assert package.location.column is not None
    line = content.split("\n")[package.location.line - 1]
    assert line[package.location.column - 1 :].startswith('1"]')


def test_a_block_without_dependencies() -> None:
    environment = read(Document("a.py", '# /// script\n# requires-python = ">=3.11"\n# ///\n'))
    assert (environment.packages, environment.skipped) == ((), ())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`a.py`: has no `# /// script` block"),
        ("import torch\n  # /// script\n", "`a.py`: has no `# /// script` block"),
        ("# /// script\n# ///\n\n# /// script\n# ///\n", "`a.py:4`: has more than one `# /// script` block"),
        (
            "\n# /// script\n#\n# dependencies\n# ///\n",
            "`a.py:4`: not valid TOML: Expected '=' after a key in a key/value pair",
        ),
        ("\n# /// script\n# a = [\n# ///\n", "`a.py:3`: not valid TOML: Invalid value (at end of document)"),
    ],
)
def test_malformed(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(Document("a.py", content))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "names", "line"),
    [
        ("# /// script\n# dependencies = ['torch==2.1.0']\nimport torch\n", ["torch"], 1),
        ("import torch\n# /// script\n# dependencies = ['torch==2.1.0']", ["torch"], 2),
        ("# /// script\n\n# ///\n", [], 1),
    ],
)
def test_a_block_that_does_not_end_is_read_to_the_end_of_the_comment(text: str, names: list[str], line: int) -> None:
    environment = read(Document("a.py", text))
    assert [package.name for package in environment.packages] == names
    (note,) = environment.skipped
    assert (note.gap, note.location and note.location.line) == (False, line)
    assert note.reason.startswith("the `# /// script` block does not end with `# ///`")
