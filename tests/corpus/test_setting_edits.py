"""Configs and notebooks of other projects: every literal setting is changed, and a second scan tells just that."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import SourceError
from gradcompat.formats.document import read_document
from gradcompat.scanners.any_config import scan
from tests.edit.changing import literal, outcome

# By the kind of file: how many settings there are, and how many of them are changed.
CHANGED = {
    "config-accelerate": (53, 53),
    "config-axolotl": (70, 70),
    "config-deepspeed": (45, 45),
    "config-llamafactory": (35, 35),
    "notebook": (36, 36),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_how_many_are_changed(corpus: Path, kind: str) -> None:
    asked, done = 0, 0
    for path in sorted((corpus / kind).iterdir()):
        try:
            document = read_document(path, path.name)
            context = scan(document)
        except SourceError:
            continue
        for setting in literal(context):
            found = outcome(document, context, setting)
            assert found.wrong is None, (path.name, setting)
            asked += 1
            done += found.refused is None
    assert (asked, done) == CHANGED[kind]
