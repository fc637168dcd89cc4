"""A folder that is not the whole corpus is told, since tests over its files would pass without looking at one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus import conftest
from tests.corpus.folder import FILES, problem


def written(folder: Path, count: int) -> Path:
    names = [f"uv.lock/{number}.lock" for number in range(count)]
    (folder / "uv.lock").mkdir()
    (folder / "index.csv").write_text("file,kind\n" + "".join(f"{name},uv.lock\n" for name in names), "utf-8")
    for name in names:
        (folder / name).write_text("", "utf-8")
    return folder


def test_the_whole_corpus_has_no_problem(tmp_path: Path) -> None:
    assert problem(written(tmp_path, FILES)) is None


def test_an_empty_folder_is_none(tmp_path: Path) -> None:
    assert problem(tmp_path) == f"{tmp_path} is no corpus: it has no index.csv"


@pytest.mark.parametrize("count", [0, FILES - 1])
def test_an_index_that_lists_too_few(tmp_path: Path, count: int) -> None:
    written(tmp_path, count)
    assert problem(tmp_path) == (f"{tmp_path / 'index.csv'} lists {count} files, and the corpus has {FILES} or more")


def test_a_file_that_is_listed_and_absent(tmp_path: Path) -> None:
    (written(tmp_path, FILES) / "uv.lock" / "7.lock").unlink()
    assert problem(tmp_path) == f"{tmp_path} lacks 1 of the files that its index lists, uv.lock/7.lock among them"


def test_a_named_folder_fails_and_an_absent_one_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADCOMPAT_CORPUS", str(tmp_path))
    with pytest.raises(pytest.fail.Exception, match=r"GRADCOMPAT_CORPUS: .* has no index\.csv"):
        conftest.found()
    monkeypatch.delenv("GRADCOMPAT_CORPUS")
    monkeypatch.setattr(conftest, "_BESIDE", tmp_path / "absent")
    with pytest.raises(pytest.skip.Exception, match="GRADCOMPAT_CORPUS names its folder"):
        conftest.found()
    monkeypatch.setattr(conftest, "_BESIDE", tmp_path)
    with pytest.raises(pytest.fail.Exception, match=r"has no index\.csv"):
        conftest.found()
