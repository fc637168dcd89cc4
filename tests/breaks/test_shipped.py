"""The pairs that ship are those of the tables that ship."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.breaks import module_needs, pairs
from gradcompat.curation.pair_compilation import compiled_module_needs, compiled_pairs, module_needs_text, pairs_text

pytestmark = pytest.mark.e2e  # goes over every table that ships


def test_the_file_of_pairs_is_current() -> None:
    shipped = Path(pairs.__file__).with_name("pairs.json").read_text("utf-8")
    assert shipped == pairs_text(list(compiled_pairs())), "run `gradcompat knowledge pairs --compile`"


def test_the_file_of_what_modules_need_is_current() -> None:
    shipped = Path(module_needs.__file__).with_name("module_needs.json").read_text("utf-8")
    assert shipped == module_needs_text(compiled_module_needs()), "run `gradcompat knowledge pairs --compile`"
