"""A program is told the same however it is spelled (:mod:`tests.knowledge.spellings`).

The programs are those of ``projects``, of which each spelling tries a part: another one for each, and always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.knowledge.spellings import SPELLINGS, STEM
from tests.knowledge.test_projects import FILES, projects_of, told

pytestmark = pytest.mark.e2e

_EACH = 100  # of so many projects one is tried in a spelling
_OF_RUNS = (".yaml", ".yml", ".json", ".sh", ".toml", ".ipynb")


def programs() -> Iterator[Any]:
    for path in FILES:
        for project in projects_of(path):
            names = [name for name in project["files"] if name.endswith((".py", ".ipynb"))]
            beside = {name: text for name, text in project["files"].items() if name not in names}
            # What a launch or a config says of a file counts on how that is called and what it reads.
            if len(names) != 1 or "/" in names[0] or any(name.endswith(_OF_RUNS) for name in (*beside, *names)):
                continue
            for spelling in SPELLINGS:
                shown = f"{spelling.__name__}, {path.stem}: {project['when']}"
                files = spelling(project["files"][names[0]]) if crc32(shown.encode()) % _EACH == 0 else None
                if files is not None:
                    renamed = {name.replace(STEM, names[0].removesuffix(".py")): text for name, text in files.items()}
                    yield pytest.param(path.stem, beside | renamed, project["told"], id=shown)


@pytest.mark.parametrize(("record", "files", "expected"), list(programs()))
def test_a_program_is_told_the_same(tmp_path: Path, record: str, files: dict[str, str], expected: str) -> None:
    assert told(tmp_path, record, files) == expected
