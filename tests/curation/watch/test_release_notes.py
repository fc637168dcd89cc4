"""Titles of release notes, in the forms in which projects write them."""

from __future__ import annotations

import io
import json
import tarfile

import pytest
from packaging.version import Version

from gradcompat.curation.watch.release_notes import Entry, changelogs, entries, title_changes

PAIRS = [(Version("1.0"), Version("1.1")), (Version("1.1"), Version("1.2"))]
MARKDOWN = """\
# Changelog

## [1.2.0] - 2026-01-01

### Fixed

- NaN loss with `bf16` ([#12](https://github.com/o/n/pull/12))
- a typo in the docs of the loss

### Added
* Fix of nothing that matters

## 1.1
- Fix gradient accumulation (#11)
- Gradient accumulation is faster

## 0.9
- Fix loss
"""


def titles(text: str, repository: str | None = "https://github.com/o/n") -> list[tuple[str, str, tuple[str, ...]]]:
    found = title_changes("one", list(entries(text)), PAIRS, "CHANGELOG.md", repository)
    ranked = sorted(found, key=lambda one: -one.weight)
    return [(one.after, *one.added, one.links) for one in ranked]  # type: ignore[misc]


def test_markdown() -> None:
    assert titles(MARKDOWN) == [
        ("1.2", "NaN loss with bf16 (#12)", ("https://github.com/o/n/pull/12",)),
        ("1.1", "Fix gradient accumulation (#11)", ("https://github.com/o/n/pull/11",)),
        ("1.2", "a typo in the docs of the loss", ()),
    ]


def test_restructured_text() -> None:
    assert titles("v1.1\n====\n\n* fixed the clipping of gradients\n") == [
        ("1.1", "fixed the clipping of gradients", ())
    ]


def test_titles_of_commits_are_of_the_last_pair() -> None:
    log = "Fix resume with IterableDataset (#7)\nAdd a model\nFix clipboard\n"
    assert titles(log) == [("1.2", "Fix resume with IterableDataset (#7)", ("https://github.com/o/n/pull/7",))]
    assert titles(log, None) == [("1.2", "Fix resume with IterableDataset (#7)", ())]


def test_the_releases_of_github() -> None:
    body = "## What's Changed\n* Fix label mask by @a in https://github.com/o/n/pull/3\n"
    text = json.dumps(
        [{"tag_name": "v1.2", "body": body}, {"tag_name": "nightly", "body": body}, {"tag_name": "v1.1", "body": None}]
    )
    ((release, title, links),) = titles(text)
    assert (release, links) == ("1.2", ("https://github.com/o/n/pull/3",))
    assert title.startswith("Fix label mask")


@pytest.mark.parametrize("text", ['{"message": "Not Found"}', "[1]", '[{"tag_name": 1}]'])
def test_json_that_is_something_else(text: str) -> None:
    with pytest.raises(ValueError, match="no list of GitHub's releases"):
        list(entries(text))


def test_nothing_is_no_entry() -> None:
    assert list(entries("\n\n# Changelog\n")) == []
    assert list(entries("a\n")) == [Entry(None, "a")]


def archive(files: dict[str, bytes]) -> io.BytesIO:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as opened:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            opened.addfile(member, io.BytesIO(data))
    content.seek(0)
    return content


def test_the_changelogs_of_an_sdist() -> None:
    files = {
        "one-1.0/CHANGELOG.md": b"a",
        "one-1.0/src/one/CHANGELOG.md": b"b",
        "one-1.0/a/b/c/CHANGELOG.md": b"too deep",
        "one-1.0/RELEASE_WALKTHROUGH.rst": b"something else",
        "one-1.0/HISTORY": b"\xff",
    }
    assert changelogs(archive(files)) == {"CHANGELOG.md": "a", "src/one/CHANGELOG.md": "b", "HISTORY": "\ufffd"}


BROKEN = {"empty": b"", "text": b"nothing", "half": archive({"one-1.0/CHANGELOG.md": b"a" * 9999}).getvalue()[:60]}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_an_sdist_that_is_broken(broken: bytes) -> None:
    with pytest.raises(ValueError, match="is not a tar"):
        changelogs(io.BytesIO(broken))
