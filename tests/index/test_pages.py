"""Pages of files that may be anything."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from gradcompat.index.listing import listing, packed, unpacked
from gradcompat.index.pages import HTML, JSON, read_page, uploaded
from gradcompat.model.release import Distribution

BASE = "https://index.example/simple/torch/"

_ATTRIBUTES = st.sampled_from(
    ["href=torch-1.0.tar.gz", "href='../x-1-py3-none-any.whl#sha256=00'", "data-yanked", "data-core-metadata=true", "x"]
)
_MARKUP = st.lists(
    st.one_of(
        st.lists(_ATTRIBUTES, max_size=3).map(lambda parts: f"<a {' '.join(parts)}>"),
        st.sampled_from(["</a>", "<a", "<base href=//[>", "<!--", "&#0;", "</html>", "<![", "\x00", "text"]),
    ),
    max_size=8,
).map("".join)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from(["torch-1.0.tar.gz", "//[", "", "a" * 64])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["sha256", "x"]), inner, max_size=3),
    max_leaves=4,
)
_ROWS = st.dictionaries(
    st.sampled_from(["filename", "url", "hashes", "requires-python", "yanked", "upload-time", "core-metadata"]), _VALUES
)
_JSON = st.one_of(
    _VALUES,
    st.fixed_dictionaries(
        {"meta": st.one_of(_VALUES, st.just({"api-version": "1.0"})), "files": st.one_of(_VALUES, st.lists(_ROWS))}
    ),
).map(json.dumps)


@given(
    st.one_of(st.binary(), st.one_of(_MARKUP, _JSON).map(str.encode)),
    st.sampled_from([HTML, JSON, "text/html; charset=x", ""]),
)
def test_any_bytes_are_files_or_are_refused(content: bytes, kind: str) -> None:
    with suppress(ValueError):
        files = read_page(content, kind, BASE, "torch")
        assert unpacked(packed(files)) == files
        releases = listing("torch", files).releases
        assert list(releases) == sorted(releases, key=lambda each: each.version)


def test_the_base_of_a_page_counts() -> None:
    page = b"<base href='/mirror/'><base href='/other/'><a href='torch-1.0.tar.gz?key=1'>torch</a>"
    assert read_page(page, "text/html", BASE, "torch") == (
        Distribution(filename="torch-1.0.tar.gz", url="https://index.example/mirror/torch-1.0.tar.gz?key=1"),
    )


def test_credentials_in_a_link_are_dropped() -> None:
    page = b"<a href='https://me:secret@files.example/torch-1.0.tar.gz'>torch</a>"
    assert read_page(page, "text/html", BASE, "torch") == (
        Distribution(filename="torch-1.0.tar.gz", url="https://files.example/torch-1.0.tar.gz"),
    )


@pytest.mark.parametrize(
    ("attributes", "metadata"),
    [
        ("", None),
        ('data-core-metadata="false" data-dist-info-metadata="true"', None),
        ('data-dist-info-metadata="true"', {}),
        (f'data-dist-info-metadata="sha256={"AB" * 32}"', {"sha256": "ab" * 32}),
        ("data-core-metadata", None),
    ],
)
def test_what_says_that_metadata_stands_beside_a_file(attributes: str, metadata: dict[str, str] | None) -> None:
    page = f"<a href='torch-1.0-py3-none-any.whl' {attributes}>torch</a>".encode()
    assert read_page(page, "text/html", BASE, "torch") == (
        Distribution(filename="torch-1.0-py3-none-any.whl", url=f"{BASE}torch-1.0-py3-none-any.whl", metadata=metadata),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-10-30T01:02:03Z", "2024-10-30T01:02:03Z"),
        ("2024-10-30T01:02:03.123456789Z", "2024-10-30T01:02:03Z"),
        ("2024-10-30T01:02:03+02:00", "2024-10-29T23:02:03Z"),
        ("2024-10-30T01:02:03", None),
        ("0001-01-01T00:00:00+02:00", None),
        ("yesterday", None),
        (5, None),
        (None, None),
    ],
)
def test_when_a_file_was_uploaded(text: object, expected: str | None) -> None:
    assert uploaded(text) == expected


def test_files_of_one_release_are_found_by_its_version() -> None:
    names = ["torch-1.0.tar.gz", "torch-1.0.0-py3-none-any.whl", "torch-1!2.0.tar.gz", "torch-1.0+cpu-py3-none-any.whl"]
    files = [Distribution(filename=name, url=f"{BASE}{name}") for name in names]
    one = listing("torch", files)
    # Versions that are equal are one release, however they are written.
    assert one.files(one.releases[0].version) == (files[0], files[1], files[3])
    assert one.files(Version("1!2.0")) == (files[2],)
    assert one.files(Version("3")) == ()
