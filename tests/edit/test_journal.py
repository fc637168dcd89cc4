"""A change to several files that is stopped after any single operation: the next run finishes or undoes it."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from gradcompat.edit import journal
from gradcompat.edit.atomic_write import FileEdit, write, write_new
from gradcompat.errors import EditError

needs_links = pytest.mark.skipif(os.name == "nt", reason="links need a right there")
CHANGES = ("chmod", "mkdir", "open", "rename", "replace", "unlink", "write")


class Killed(BaseException):
    """The process is no more: nothing that would be done now has an effect."""


@contextmanager
def killed_at(monkeypatch: pytest.MonkeyPatch, number: int, *, half: bool) -> Iterator[list[str]]:
    """Let nothing happen any more from the operation of that number on; with ``half``, a write does its first half.

    Yields:
        What was done, by name.
    """
    done: list[str] = []

    def dying(name: str) -> Any:
        real = getattr(os, name)

        def operation(*arguments: Any, **options: Any) -> Any:
            if len(done) >= number:
                if half and name == "write" and len(done) == number:
                    done.append(name)
                    real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
                raise Killed
            if name != "open" or arguments[1] & os.O_CREAT:
                done.append(name)
            return real(*arguments, **options)

        return operation

    with monkeypatch.context() as patch:
        for name in CHANGES:
            patch.setattr(os, name, dying(name))
        yield done


def project(folder: Path) -> list[FileEdit]:
    """Two files in folders of their own, and one above them."""
    edits = []
    for name in ("a/one.txt", "b/two.txt", "three.txt"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"old of " + name.encode())
        path.chmod(0o640)
        edits.append(FileEdit(path=path, shown=name, before=path.read_bytes(), after=b"new of " + name.encode()))
    return edits


def state(edits: list[FileEdit]) -> str:
    now = [edit.path.read_bytes() for edit in edits]
    if now == [edit.before for edit in edits]:
        return "old"
    assert all(content in (edit.before, edit.after) for content, edit in zip(now, edits, strict=True)), now
    return "new" if now == [edit.after for edit in edits] else "mixed"


def litter(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob(".gradcompat*"))


@pytest.mark.parametrize("half", [False, True], ids=["between", "within"])
@pytest.mark.parametrize("full", [False, True], ids=["writing", "taking-back"])
def test_a_kill_after_any_operation_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool, full: bool
) -> None:
    seen = set()
    for number in count():
        folder = tmp_path / str(number)
        edits = project(folder)
        if full:  # the last of the files cannot be moved, and the others have to be taken back
            (folder / "three.txt").unlink()
            (folder / "three.txt").mkdir()
            edits[2] = FileEdit(path=folder / "c.txt", shown="c.txt", before=b"old", after=b"new")
            edits[2].path.write_bytes(b"old")
        with monkeypatch.context() as patch:
            if full:
                patch.setattr(journal, "put_in_place", refusing(journal.put_in_place, folder / "c.txt"))
            with killed_at(monkeypatch, number, half=half) as done, suppress(Killed, EditError):
                write(edits)
        if len(done) < number:
            assert state(edits) == ("old" if full else "new")
            break
        cut_off = state(edits)
        said = journal.recover([edits[0].path])
        seen.add((cut_off, state(edits)))
        assert len(said) <= 1
        assert state(edits) != "mixed"
        assert litter(folder) == []
        assert {stat.S_IMODE(edit.path.stat().st_mode) for edit in edits[:2]} == {0o640}
        assert journal.recover([edits[0].path]) == []
    assert number > 15
    assert ("mixed", "new") in seen


def refusing(real: Any, path: Path) -> Any:
    def put(one: journal.Replacement) -> None:
        if one.path == path:
            raise PermissionError(13, "Permission denied")
        real(one)

    return put


def test_a_kill_during_the_repair_is_repaired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in count():
        folder = tmp_path / str(number)
        edits = project(folder)
        stop_after(monkeypatch, edits, 1)
        with killed_at(monkeypatch, number, half=False) as done, suppress(Killed):
            journal.recover([folder])
        if len(done) < number:
            break
        journal.recover([folder])
        assert (state(edits), litter(folder)) == ("new", [])
    assert number > 5


def stop_after(monkeypatch: pytest.MonkeyPatch, edits: list[FileEdit], replaced: int) -> None:
    """Write, and stop when so many files are in place."""
    calls: list[Path] = []
    real = journal.put_in_place

    def put(one: journal.Replacement) -> None:
        if len(calls) == replaced:
            raise Killed
        calls.append(one.path)
        real(one)

    with monkeypatch.context() as patch:
        patch.setattr(journal, "put_in_place", put)
        with pytest.raises(Killed):
            write(edits)


def test_what_is_finished_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = project(tmp_path)
    stop_after(monkeypatch, edits, 2)
    assert state(edits) == "mixed"
    # From any of the folders, and by whoever writes one of the files.
    assert journal.recover([tmp_path / "b"]) == [
        "an earlier run was interrupted: its change to `a/one.txt`, `b/two.txt`, `three.txt` in "
        f"`{tmp_path}` is finished"
    ]
    assert state(edits) == "new"


def test_the_next_writing_repairs_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = project(tmp_path)
    stop_after(monkeypatch, edits, 1)
    later = FileEdit(path=edits[1].path, shown="b/two.txt", before=edits[1].after, after=b"newer")
    write([later])
    assert [edit.path.read_bytes() for edit in edits] == [edits[0].after, b"newer", edits[2].after]


def test_what_somebody_changed_since_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = project(tmp_path)
    stop_after(monkeypatch, edits, 1)
    edits[2].path.write_bytes(b"theirs")
    (said,) = journal.recover([tmp_path])
    assert said.endswith("and `three.txt` changed since: look at them")
    assert [edit.path.read_bytes() for edit in edits] == [edits[0].after, edits[1].before, b"theirs"]
    assert litter(tmp_path) == []


def forged(folder: Path, **entry: str) -> Path:
    """A journal that somebody has committed, with what it needs beside the file; returns the file."""
    folder.mkdir(exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_bytes(b"old")
    staged = ".gradcompat-0123456789abcdef.tmp"
    (folder / staged).write_bytes(b"new")
    wanted = {
        "path": "pyproject.toml",
        "staged": staged,
        "back": ".gradcompat-fedcba9876543210.tmp",
        "before": journal.digest(b"old"),
        "after": journal.digest(b"new"),
    }
    (folder / journal.NAME).write_text(json.dumps({"format": 1, "replacements": [wanted | entry]}), "utf-8")
    return path


def test_the_forged_journal_is_well_formed(tmp_path: Path) -> None:
    path = forged(tmp_path)
    journal.recover([tmp_path])
    assert path.read_bytes() == b"new"


@needs_links
@pytest.mark.parametrize(
    "entry",
    [
        {"path": "../victim.txt"},
        {"path": "folder/../../victim.txt"},
        {"path": "VICTIM"},
        {"path": "link.txt"},
        {"path": "linked/victim.txt"},
        {"staged": "../victim.txt"},
        {"staged": "pyproject.toml"},
        {"back": "../victim.txt"},
        {"before": "*"},
        {"path": 3},
        {"path": "a\0b"},
    ],
)
def test_a_committed_journal_leads_nowhere_else(tmp_path: Path, entry: dict[str, Any]) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_bytes(b"old")
    if entry.get("path") == "VICTIM":
        entry = {"path": str(victim)}
    folder = tmp_path / "project"
    path = forged(folder, **entry)
    (tmp_path / ".gradcompat-0123456789abcdef.tmp").write_bytes(b"new")
    (folder / "link.txt").symlink_to(victim)
    (folder / "linked").symlink_to(tmp_path)
    with pytest.raises(EditError) as error:
        journal.recover([folder])
    assert error.value.message.startswith("is not a journal of gradcompat: ")
    assert error.value.hint == "delete it, and run again"
    assert (victim.read_bytes(), path.read_bytes()) == (b"old", b"old")
    assert (tmp_path / ".gradcompat-0123456789abcdef.tmp").exists()


@needs_links
def test_the_new_text_is_no_link(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"new")
    path = forged(tmp_path / "project")
    (path.parent / ".gradcompat-0123456789abcdef.tmp").unlink()
    (path.parent / ".gradcompat-0123456789abcdef.tmp").symlink_to(secret)
    journal.recover([path.parent])
    assert (path.read_bytes(), secret.read_bytes()) == (b"old", b"new")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"format": 2}', b'{"format": 1, "replacements": 3}'])
def test_what_is_no_journal_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / journal.NAME).write_bytes(content)
    with pytest.raises(EditError, match="is not a journal of gradcompat"):
        journal.recover([tmp_path])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner there")
def test_a_journal_of_somebody_else_means_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = forged(tmp_path)
    mine = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: mine + 1)
    assert journal.recover([tmp_path]) == []
    assert path.read_bytes() == b"old"


@needs_links
def test_a_link_out_of_the_root_is_left_alone(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    victim = tmp_path / "victim.txt"
    victim.write_bytes(b"x")
    (inside / "link.txt").symlink_to(victim)
    with pytest.raises(EditError) as error:
        write([FileEdit(path=inside / "link.txt", shown="link.txt", before=b"x", after=b"y", root=inside)])
    assert str(error.value) == "`link.txt`: is a link to a file outside of its project; nothing was written"
    assert victim.read_bytes() == b"x"


@pytest.mark.parametrize("half", [False, True], ids=["between", "within"])
def test_a_new_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    for number in count():
        path = tmp_path / str(number) / "new.toml"
        path.parent.mkdir()
        edit = FileEdit(path=path, shown="new.toml", before=b"", after=b"a text of some length")
        with killed_at(monkeypatch, number, half=half) as done, suppress(Killed):
            write_new(edit)
        if len(done) < number:
            break
        assert not path.exists() or path.read_bytes() == edit.after
        if not path.exists():
            write_new(edit)
        assert path.read_bytes() == edit.after
        assert litter(path.parent) == []
    assert number > 2


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    path.write_bytes(b"theirs")
    with pytest.raises(EditError, match=r"^`new.toml`: cannot be written: "):
        write_new(FileEdit(path=path, shown="new.toml", before=b"", after=b"ours"))
    assert path.read_bytes() == b"theirs"
    assert litter(tmp_path) == []


def test_a_journal_that_appears_meanwhile_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = project(tmp_path)
    stop_after(monkeypatch, edits, 1)
    later = FileEdit(path=edits[1].path, shown="b/two.txt", before=edits[1].before, after=b"x")
    also = FileEdit(path=edits[2].path, shown="three.txt", before=edits[2].before, after=b"x")
    with monkeypatch.context() as patch:
        patch.setattr(journal, "recover", lambda _: [])  # it looked before the other run was killed
        with pytest.raises(EditError) as error:
            write([later, also])
    assert str(error.value) == "`b/two.txt`: is part of another change; nothing was written"
    assert error.value.hint == "run the command again"
    journal.recover([tmp_path])
    assert (state(edits), litter(tmp_path)) == ("new", [])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owner there")
def test_a_folder_of_all_that_takes_no_journal_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = project(tmp_path)
    real = os.open

    def refused(name: Any, flags: int, *arguments: Any) -> int:
        if flags & os.O_CREAT and Path(name).parent == tmp_path:
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *arguments)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(EditError) as error:
        write(edits[:2])
    assert str(error.value) == f"`{tmp_path}`: cannot be written: Permission denied; nothing was written"
    assert error.value.hint == "name the files of one project at a time"
    assert (state(edits), litter(tmp_path)) == ("old", [])
