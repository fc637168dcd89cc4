from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit import journal
from gradcompat.edit.atomic_write import FileEdit, diff, edited, write
from gradcompat.edit.encoding import decoded
from gradcompat.errors import EditError


def change(path: Path, before: bytes, after: bytes) -> FileEdit:
    return FileEdit(path=path, shown=path.name, before=before, after=after)


def new_file(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refusal(*edits: FileEdit) -> str:
    with pytest.raises(EditError) as error:
        write(edits)
    return str(error.value)


def test_all_are_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    one, two = new_file(tmp_path, "a.txt", b"torch==2.4\r\n"), new_file(tmp_path, "b.txt", b"x")
    write([change(one, b"torch==2.4\r\n", b"torch==2.6\r\n"), change(two, b"x", b"")])
    assert (one.read_bytes(), two.read_bytes()) == (b"torch==2.6\r\n", b"")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_what_stays_the_same_is_not_touched(tmp_path: Path) -> None:
    path = new_file(tmp_path, "a.txt", b"x")
    inode = path.stat().st_ino
    write([change(path, b"x", b"x")])
    assert path.stat().st_ino == inode


@pytest.mark.skipif(os.name == "nt", reason="rights and links of POSIX")
def test_rights_stay_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path = new_file(tmp_path, "real.txt", b"x")
    path.chmod(0o640)
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.txt"
    link.symlink_to(path)
    write([change(link, b"x", b"y")])
    assert link.is_symlink()
    assert path.read_bytes() == b"y"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path / "folder") == ["link.txt"]


def test_a_file_that_changed_keeps_all_from_being_written(tmp_path: Path) -> None:
    one, two = new_file(tmp_path, "a.txt", b"x"), new_file(tmp_path, "b.txt", b"other")
    message = refusal(change(one, b"x", b"y"), change(two, b"x", b"y"))
    assert message == "`b.txt`: changed while the plan was made; nothing was written"
    assert (one.read_bytes(), two.read_bytes()) == (b"x", b"other")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_a_file_that_grew_has_changed(tmp_path: Path) -> None:
    path = new_file(tmp_path, "a.txt", b"xx")
    assert refusal(change(path, b"x", b"y")) == "`a.txt`: changed while the plan was made; nothing was written"


def test_a_change_between_the_check_and_the_move_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = new_file(tmp_path, "a.txt", b"x")

    def someone_writes(descriptor: int) -> None:
        path.write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", someone_writes)
    assert refusal(change(path, b"x", b"y")) == "`a.txt`: changed while the plan was made; nothing was written"
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a.txt"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refusal(change(tmp_path / "gone.txt", b"x", b"y")) == "`gone.txt`: is no longer there; nothing was written"
    assert refusal(change(tmp_path / "folder", b"x", b"y")) == "`folder`: is not a file; nothing was written"
    loop = os.strerror(errno.ELOOP)
    assert refusal(change(tmp_path / "loop", b"x", b"y")) == f"`loop`: cannot be read: {loop}; nothing was written"
    nul = refusal(FileEdit(path=Path("a\0b"), shown="a", before=b"x", after=b"y"))
    assert nul.startswith("`a`: cannot be read: ")


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    path = new_file(tmp_path, "a.txt", b"x")
    path.chmod(0o444)
    assert refusal(change(path, b"x", b"y")) == "`a.txt`: is read-only; nothing was written"
    assert path.read_bytes() == b"x"


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    path = new_file(tmp_path, "a.txt", b"x")
    (tmp_path / "b.txt").symlink_to(path)
    message = refusal(change(path, b"x", b"y"), change(tmp_path / "b.txt", b"x", b"z"))
    assert message == "`b.txt`: is to be changed twice at once; nothing was written"
    assert path.read_bytes() == b"x"


@pytest.mark.parametrize(("number", "path"), [(1, "a.txt"), (2, "a.txt"), (3, "b.txt")], ids=["journal", "a", "b"])
def test_a_full_disk_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, path: str
) -> None:
    one, two = new_file(tmp_path, "a.txt", b"x"), new_file(tmp_path, "b.txt", b"x")
    calls: list[int] = []
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        calls.append(descriptor)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    message = refusal(change(one, b"x", b"y"), change(two, b"x", b"y"))
    assert message == f"`{path}`: cannot be written: No space left on device; nothing was written"
    assert (one.read_bytes(), two.read_bytes()) == (b"x", b"x")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def failing_replace(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Have these calls of os.replace fail, counted from 1."""
    calls: list[Any] = []
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if Path(target).name != journal.NAME:
            calls.append(target)
        if len(calls) in numbers and Path(target).name != journal.NAME:
            raise OSError(errno.EACCES, "Permission denied")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)


def test_a_later_one_that_fails_takes_the_earlier_ones_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = new_file(tmp_path, "a.txt", b"x"), new_file(tmp_path, "b.txt", b"x")
    failing_replace(monkeypatch, 2)
    message = refusal(change(one, b"x", b"y"), change(two, b"x", b"y"))
    assert message == "`b.txt`: could not be replaced: Permission denied; nothing was written"
    assert (one.read_bytes(), two.read_bytes()) == (b"x", b"x")
    assert names(tmp_path) == ["a.txt", "b.txt"]


def test_what_could_not_be_taken_back_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = (new_file(tmp_path, name, b"x") for name in ("a.txt", "b.txt", "c.txt"))
    failing_replace(monkeypatch, 3, 4)
    message = refusal(*(change(path, b"x", b"y") for path in (one, two, three)))
    said = "`a.txt` was written and could not be put back"
    assert message == f"`c.txt`: could not be replaced: Permission denied; {said}"
    assert (one.read_bytes(), two.read_bytes(), three.read_bytes()) == (b"y", b"x", b"x")
    assert names(tmp_path) == ["a.txt", "b.txt", "c.txt"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="rights of a folder mean nothing to root")
def test_a_read_only_folder_is_refused(tmp_path: Path) -> None:
    path = new_file(tmp_path, "a.txt", b"x")
    tmp_path.chmod(0o555)
    try:
        assert refusal(change(path, b"x", b"y")) == "`a.txt`: cannot be written: Permission denied; nothing was written"
    finally:
        tmp_path.chmod(0o755)


def test_a_folder_that_takes_no_new_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = new_file(tmp_path, "a.txt", b"x")
    real = os.open

    def refused(name: Any, flags: int, *arguments: Any) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(name, flags, *arguments)

    monkeypatch.setattr(os, "open", refused)
    assert refusal(change(path, b"x", b"y")) == "`a.txt`: cannot be written: Permission denied; nothing was written"


def test_a_diff() -> None:
    before = b"".join(b"line %d\n" % number for number in range(1, 8))
    after = before.replace(b"line 4", b"LINE 4")
    assert diff(FileEdit(path=Path("x"), shown="sub/x.txt", before=before, after=after)) == (
        "--- a/sub/x.txt\n+++ b/sub/x.txt\n@@ -1,7 +1,7 @@\n line 1\n line 2\n line 3\n-line 4\n+LINE 4\n"
        " line 5\n line 6\n line 7\n"
    )


def test_a_diff_without_a_final_newline_and_of_crlf() -> None:
    edit = FileEdit(path=Path("x"), shown="/x.txt", before=b"a\r\nb", after=b"a\r\nc")
    assert diff(edit) == (
        "--- a/x.txt\n+++ b/x.txt\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n"
        "\\ No newline at end of file\n"
    )
    mixed = FileEdit(path=Path("x"), shown="x\n.txt", before=b"a\r\nb\n", after=b"a\r\nc\n")
    assert diff(mixed) == '--- "a/x\\n.txt"\n+++ "b/x\\n.txt"\n@@ -1,2 +1,2 @@\n a^M\n-b\n+c\n'
    assert diff(FileEdit(path=Path("x"), shown="x", before=b"\xff\xfea\0", after=b"\xff\xfea\0")) == ""
    wide = FileEdit(path=Path("x"), shown="x", before="a\n".encode("utf-16"), after="ü\n".encode("utf-16"))
    assert diff(wide) == "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+ü\n"


def test_a_diff_of_endless_repetition_is_one_hunk() -> None:
    before = b"x\n" * 3000
    after = b"x\n" * 1000 + b"y\n" + b"x\n" * 1998 + b"z\n"
    lines = diff(FileEdit(path=Path("x"), shown="x", before=before, after=after)).splitlines()
    assert lines[2:8] == ["@@ -998,2003 +998,2003 @@", " x", " x", " x", "-x", "-x"]
    assert [line[0] for line in lines[3:]].count("-") == 2000
    assert lines[-1] == "+z"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_the_encoding_stays(encoding: str) -> None:
    before = "torch==2.4  # ü\r\n".encode(encoding)
    edit = edited(Path("x"), "x", before, lambda text: text.replace("2.4", "2.6"))
    assert edit.after == "torch==2.6  # ü\r\n".encode(encoding)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(EditError) as error:
        edited(Path("x"), "x.txt", b"torch \xff", str.upper)
    assert (str(error.value), error.value.hint) == ("`x.txt:1`: is not UTF-8 text", "save it as UTF-8")


@given(st.binary(max_size=40))
def test_any_bytes_come_back_or_are_refused(data: bytes) -> None:
    try:
        text = decoded(data, "x")
    except EditError:
        return
    assert text.encoded(text.text) == data
