"""Where the cache is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradcompat.files.user_folders import cache_folder
from gradcompat.index.cache import Cache


@pytest.mark.parametrize(
    ("environ", "platform", "folder"),
    [
        ({"GRADCOMPAT_CACHE": "/there", "HOME": "/home/me"}, "linux", "/there"),
        ({"HOME": "/home/me"}, "linux", "/home/me/.cache/gradcompat"),
        ({"XDG_CACHE_HOME": "/cache"}, "linux", "/cache/gradcompat"),
        ({"XDG_CACHE_HOME": "cache", "HOME": "/home/me"}, "linux", "/home/me/.cache/gradcompat"),
        ({"XDG_CACHE_HOME": "/cache", "HOME": "/Users/me"}, "darwin", "/Users/me/Library/Caches/gradcompat"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/gradcompat/Cache"),
        ({"USERPROFILE": "/users/me"}, "win32", "/users/me/AppData/Local/gradcompat/Cache"),
        ({}, "linux", None),
        ({}, "darwin", None),
        ({}, "win32", None),
    ],
)
def test_where_it_is(environ: dict[str, str], platform: str, folder: str | None) -> None:
    assert cache_folder(environ, platform) == (None if folder is None else Path(folder))


def test_an_entry_comes_back_as_it_was_and_for_its_key_alone(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("pages", "one", [b"a\nb", b"", b"c"], {"etag": "x\n"})
    found = cache.read("pages", "one")
    assert found is not None
    assert (found.parts, found.meta) == ((b"a\nb", b"", b"c"), {"etag": "x\n"})
    assert cache.read("pages", "two") is None
    assert cache.read("links", "one") is None
    [path] = files(tmp_path)
    assert path.stat().st_mode & 0o077 == 0  # a private index is private here, too


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_an_entry_of_another_key_is_not_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("pages", "one", [b"a"])
    [one] = files(tmp_path)
    cache.write("pages", "two", [b"b"])
    [two] = set(files(tmp_path)) - {one}
    two.replace(one)
    assert cache.read("pages", "one") is None


def test_what_cannot_be_put_in_its_place_is_not_left_behind(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("pages", "one", [b"a"])
    [one] = files(tmp_path)
    one.unlink()
    one.mkdir()
    cache.write("pages", "one", [b"a"])
    assert files(tmp_path) == []
    assert cache.trouble == f"`{tmp_path / 'index-1'}`: what the index answers cannot be kept: Is a directory"


def test_what_a_kill_has_left_is_cleared_away(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("pages", "one", [b"a"])
    [one] = files(tmp_path)
    left, being_written = one.with_name(".gradcompat-1.answer"), one.with_name(".gradcompat-2.answer")
    left.touch()
    being_written.touch()
    os.utime(left, (0, 0))
    cache.write("pages", "one", [b"b"])
    assert set(files(tmp_path)) == {one, being_written}


def test_without_a_folder_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.write("pages", "one", [b"a"])
    cache.confirm("pages", "one")
    assert (cache.read("pages", "one"), cache.trouble) == (None, None)
