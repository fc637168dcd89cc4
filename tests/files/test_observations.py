"""What a run asks of the disk is noted, in whichever way it asks."""

from __future__ import annotations

import ast
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from glob import glob
from pathlib import Path

import pytest

from gradcompat.cli.kept_reports import OF_THE_MOMENT
from gradcompat.files import observations
from gradcompat.files.observations import Observations, Unrepeatable, answer, observed, spoil
from tests.source_trees import module_name, source_trees

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Python asks Windows in other ways, and nothing is kept"
)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was changed a moment ago counts."""
    monkeypatch.setattr(observations, "_SETTLED", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("text", "utf-8")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    return tmp_path


def asked(by: Callable[[], object]) -> dict[tuple[str, str], str] | None:
    """What is noted while something is done."""
    noted = Observations()
    with observed(noted), contextlib.suppress(OSError):
        by()
    return noted.answers()


def touch(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("more")


OF_A_STATUS: tuple[Callable[[Path], object], ...] = (
    *(os.path.exists, os.path.isfile, os.path.isdir, os.path.getsize, os.path.getmtime),
    *(Path.exists, Path.is_file, Path.is_dir, Path.stat, Path.is_fifo),
    lambda path: os.path.samefile(path, path),
    lambda path: os.stat(path),  # noqa: PLW0108  # whoever has the function from before is not heard
)
OF_A_LINK: tuple[Callable[[Path], object], ...] = (
    *(os.path.lexists, os.path.islink, os.path.realpath, Path.is_symlink, Path.lstat, Path.resolve),
    lambda path: os.lstat(path),  # noqa: PLW0108
    lambda path: os.stat(path, follow_symlinks=False),
)
OF_CONTENT: tuple[Callable[[Path], object], ...] = (
    *(open, Path.read_text, Path.read_bytes, Path.open),
    lambda path: os.close(os.open(path, os.O_RDONLY)),
)
OF_NAMES: tuple[Callable[[Path], object], ...] = (
    *(os.listdir, lambda path: list(os.scandir(path)), lambda path: list(os.walk(path))),
    lambda path: list(Path(path).iterdir()),
    lambda path: list(Path(path).glob("*")),
    lambda path: list(Path(path).rglob("*")),
    lambda path: glob(f"{path}/*"),
)
WAYS = [
    *(("stat", way) for way in OF_A_STATUS),
    *(("lstat", way) for way in OF_A_LINK),
    *(("content", way) for way in OF_CONTENT),
    *(("names", way) for way in OF_NAMES),
    ("link", lambda path: os.readlink(path)),  # noqa: PLW0108
    (str(os.R_OK), lambda path: os.access(path, os.R_OK)),
]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("name", ["file", "link", "folder", "nothing"])
@pytest.mark.parametrize(("kind", "way"), WAYS, ids=[f"{number}-{kind}" for number, (kind, _) in enumerate(WAYS)])
def test_what_is_asked_is_noted_with_its_answer(
    folder: Path, kind: str, way: Callable[[Path], object], name: str
) -> None:
    path = folder / name
    noted = asked(lambda: way(path))
    assert noted is not None
    said = {one: then for one, then in noted.items() if one[1].startswith(str(folder))}
    assert any(one == (kind, str(path)) for one in said) or (kind == "names" and name != "folder"), said
    assert all(answer(*one) == then for one, then in said.items())


def test_what_changes_has_another_answer(folder: Path) -> None:
    kinds = {"file": ("stat", "lstat", "content", "state"), "link": ("lstat", "link"), "folder": ("names", "stat")}
    then = {(kind, name): answer(kind, str(folder / name)) for name, several in kinds.items() for kind in several}
    touch(folder / "file")
    (folder / "link").unlink()
    (folder / "link").symlink_to("folder")
    (folder / "folder").rename(folder / "elsewhere")
    (folder / "folder").mkdir()
    touch(folder / "folder" / "new")
    now = {(kind, name): answer(kind, str(folder / name)) for kind, name in then}
    assert [one for one in then if then[one] == now[one]] == []


def test_what_a_link_in_a_folder_leads_to_counts(folder: Path) -> None:
    then = answer("names", str(folder))
    (folder / "file").unlink()
    (folder / "file").mkdir()
    assert answer("names", str(folder)) != then


@pytest.mark.parametrize(
    "way",
    [
        lambda folder: subprocess.run([sys.executable, "-c", "pass"], check=True),
        lambda folder: os.system("true"),  # noqa: S605
        lambda folder: __import__("socket").socket().close(),
        lambda folder: __import__("ctypes").CDLL(None),
        lambda folder: touch(folder / "file"),
        lambda folder: (folder / "new").write_text("", "utf-8"),
        lambda folder: os.chdir(os.getcwd()),
        lambda folder: os.close(os.open(folder / "new", os.O_CREAT | os.O_WRONLY)),
        lambda folder: os.listdir(os.open(folder, os.O_RDONLY)),
        lambda folder: os.stat("file", dir_fd=os.open(folder, os.O_RDONLY)),
        lambda folder: os.access(folder, os.R_OK, effective_ids=True),
        lambda folder: [make(folder / "pipe") for make in (os.mkfifo, lambda pipe: os.open(pipe, os.O_NONBLOCK))],
        lambda folder: [ask(folder / "file") for ask in (os.path.exists, os.unlink, os.path.exists)],
        lambda folder: spoil(),
    ],
)
def test_what_nobody_can_ask_again(folder: Path, way: Callable[[Path], object]) -> None:
    assert asked(lambda: way(folder)) is None


def test_what_makes_no_difference_is_not_noted(folder: Path) -> None:
    def ask() -> None:
        with observed(None):
            touch(folder / "file")
            os.stat(folder)
        with open(os.devnull, "w", encoding="utf-8"):
            pass

    noted = asked(ask)
    assert noted is not None
    assert not any(path.startswith(str(folder)) for _, path in noted)


def test_a_file_that_is_changed_meanwhile(folder: Path) -> None:
    noted = Observations()
    with observed(noted):
        (folder / "file").read_bytes()
    touch(folder / "file")
    assert noted.answers() is None


def test_a_file_that_was_changed_shortly_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations, "_SETTLED", 10**15)
    assert asked((folder / "file").read_bytes) is None


def test_more_than_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as fewer:
        fewer.setattr(observations, "_MOST", 1)
        assert asked(lambda: os.stat(folder)) is None
    monkeypatch.setattr(observations, "_MOST_BYTES", 3)
    assert asked((folder / "file").read_bytes) is None


def test_the_code_is_noted() -> None:
    noted = asked(lambda: None)
    assert noted is not None
    assert ("state", observations.__file__) in noted
    assert ("state", os.__file__) in noted
    assert noted.keys() >= {("state", folder) for folder in sys.path if folder.endswith("site-packages")}


def test_nobody_keeps_a_function_from_before() -> None:
    """`from os import stat` would not be heard."""
    taken = {
        alias.name
        for tree in source_trees().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("os", "posix", "nt", "_io")
        for alias in node.names
    }
    assert taken == set()


# Who asks for more of a status than an answer has: none of them for a report.
MORE_OF_A_STATUS = {
    "audit.kept_locks",  # of the code
    "cli.commands.run",  # of what the process writes itself
    "edit.journal",  # of what it writes
    "knowledge.load",  # of the compiled records, to read them once a process
    "files.observations",
}


def test_an_answer_has_all_of_a_status_that_is_asked_for() -> None:
    asking = {
        module_name(path)
        for path, tree in source_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and ((node.attr.startswith("st_") and node.attr not in ("st_size", "st_mode")) or node.attr == "getmtime")
    }
    of_a_check = {one for one in asking if not one.startswith("guard.") and f"gradcompat.{one}" not in OF_THE_MOMENT}
    assert of_a_check == MORE_OF_A_STATUS


def test_a_pipe_is_not_read_to_compare_it(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(Unrepeatable):
        answer("content", str(folder / "pipe"))
