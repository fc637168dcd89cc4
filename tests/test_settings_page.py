"""docs/settings.md is what the scanners' tables say, and every key that they feed is in the vocabulary."""

from __future__ import annotations

import ast
import re
from importlib import import_module

import pytest

from gradcompat.scanners.key_mapping import Feed
from gradcompat.scanners.registry import SCANNERS, Scanner
from gradcompat.scanners.settings_reference import COMMAND, fed_by, note, origins, page
from gradcompat.vocabulary import KEYS
from tests.conftest import ROOT
from tests.source_trees import module_name, source_trees


def test_the_page_is_current() -> None:
    written = (ROOT / "docs/settings.md").read_text("utf-8")
    assert written == page(), f"`{COMMAND}` writes it anew"


def test_every_key_has_its_place() -> None:
    assert re.findall(r"^### (.+)$", page(), re.MULTILINE) == list(KEYS)
    subjects = list(dict.fromkeys(key.partition(".")[0] for key in KEYS))
    assert re.findall(r"^## (.+)$", page(), re.MULTILINE) == subjects


def test_no_table_feeds_a_key_that_does_not_exist() -> None:
    assert fed_by().keys() - KEYS.keys() == set()


@pytest.mark.parametrize("scanner", SCANNERS, ids=lambda scanner: scanner.kind)
def test_every_scanner_has_a_table(scanner: Scanner) -> None:
    module = import_module(f"gradcompat.scanners.{scanner.module}")
    assert module.FEEDS
    assert all(
        isinstance(feed, Feed)
        for feeds in module.FEEDS.values()
        for feed in (feeds if isinstance(feeds, tuple) else (feeds,))
    )


def test_a_key_says_where_it_comes_from() -> None:
    lines = origins("training.gradient_accumulation_steps")
    assert "`gradient_accumulation_steps`" in lines[0]
    assert {"llamafactory", "axolotl"} <= set(re.split(r"[:,] ", lines[0]))
    assert note("training.gradient_accumulation_steps") is None


def test_values_that_mean_something_else_are_shown() -> None:
    lines = origins("training.gradient_checkpointing")
    assert any("`disable_gradient_checkpointing` (true → false, false → true)" in line for line in lines)


def test_nothing_that_a_scanner_states_is_called_unstated() -> None:
    """Some settings are concluded in code, which no table shows; the page has a note of each then."""
    unstated = {key for key in KEYS if (note(key) or "").startswith("No file says it")}
    stated = {
        (node.value, path.name)
        for path, tree in source_trees().items()
        if module_name(path).startswith("scanners.")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in unstated
    }
    assert stated == set()


def test_the_host_is_not_in_a_config() -> None:
    assert note("host.cuda") == "Read from the packages and, for an installed environment, from the machine."
    assert origins("host.cuda") == []
