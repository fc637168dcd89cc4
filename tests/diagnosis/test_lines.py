"""Blocks and lines of logs."""

from __future__ import annotations

import io

import pytest

from gradcompat.diagnosis import lines
from gradcompat.diagnosis.lines import Block, blocks, cleaned, shown
from gradcompat.errors import Malformed
from tests.diagnosis.reading import segments


def everything(data: bytes) -> list[tuple[int, bytes]]:
    return [one for block in blocks(io.BytesIO(data), "x.log") for one in segments(block)]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 16)


def test_line_numbers_go_on_over_blocks(small_blocks: None) -> None:
    data = b"".join(b"line %d\n" % number for number in range(1, 200))
    assert everything(data) == [(number, b"line %d" % number) for number in range(1, 200)]


def test_the_last_line_needs_no_end() -> None:
    assert everything(b"a\nb") == [(1, b"a"), (2, b"b")]


def test_an_empty_file_has_no_lines() -> None:
    assert everything(b"") == []


@pytest.mark.parametrize("size", [5, 6, 7, 16, 1 << 20])
def test_windows_line_ends_are_one(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    assert [number for number, text in everything(b"aa\r\nbb\r\ncc\r\n") if text] == [1, 2, 3]


def test_a_progress_bar_is_one_line_of_several_segments() -> None:
    assert everything(b"1%\r2%\r3%\n{'loss': 1}\n") == [(1, b"1%"), (1, b"2%"), (1, b"3%"), (2, b"{'loss': 1}")]


def test_a_line_longer_than_a_block_comes_in_pieces(small_blocks: None) -> None:
    found = everything(b"a\n" + b"x" * 100 + b"\nb\n")
    assert found[0] == (1, b"a")
    assert b"".join(text for number, text in found if number == 2) == b"x" * 100
    assert found[-1] == (3, b"b")
    assert max(len(text) for _, text in found) < 40


def test_a_log_of_nothing_but_a_progress_bar_is_read(small_blocks: None) -> None:
    found = everything(b"".join(b"%3d%%|###|\r" % number for number in range(100)))
    assert {number for number, _ in found} == {1}
    assert b" 57%|###|" in [text for _, text in found]


def test_escapes_and_nuls_are_taken_out() -> None:
    data = b"\x1b[31mred\x1b[0m\n\0\0\0after a crash\n\x1b]0;title\x07rest\n"
    assert everything(data + b"plain text\n" * 20)[:3] == [(1, b"red"), (2, b"after a crash"), (3, b"rest")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_what_powershell_writes(encoding: str) -> None:
    assert [text.lstrip(b"\xef\xbb\xbf") for _, text in everything("Schleife\r\nzwölf\r\n".encode(encoding))] == [
        b"Schleife",
        "zwölf".encode(),
    ]


def test_binary_and_compressed_files_are_refused() -> None:
    with pytest.raises(Malformed, match=r"^`x.log`: is binary, not a log$"):
        everything(bytes(range(256)) * 20)
    with pytest.raises(Malformed, match=r"^`x.log`: is compressed$") as caught:
        everything(b"\x1f\x8b\x08\0" + b"x" * 100)
    assert caught.value.hint == "`gzip -dc x.log | gradcompat diagnose -` reads it"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("[rank0]:   File x", "  File x"),
        ("[rank12]: RuntimeError: no", "RuntimeError: no"),
        ("a0047: Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("(TrainWorker pid=71, ip=10.0.0.1) ValueError: x", "ValueError: x"),
        ("[1,0]<stderr>: ValueError: x", "ValueError: x"),
        (" 3: ValueError: x", "ValueError: x"),
        ("│ ❱  36 │   import bitsandbytes as bnb          │", " 36 │   import bitsandbytes as bnb"),
        ("RuntimeError: element 0", "RuntimeError: element 0"),
        ("torch.cuda.OutOfMemoryError: CUDA", "torch.cuda.OutOfMemoryError: CUDA"),
        ("{'loss': 1.0}      ", "{'loss': 1.0}"),
    ],
)
def test_prefixes_and_frames_are_taken_off(raw: str, text: str) -> None:
    assert cleaned(raw.encode()) == text


def test_what_is_no_utf8_is_no_reason_to_stop() -> None:
    assert cleaned(b"caf\xe9") == "caf\ufffd"


def test_a_long_line_is_shown_around_its_place() -> None:
    text = "a" * 500 + "HERE" + "b" * 500
    piece = shown(text, 500)
    assert "HERE" in piece
    assert len(piece) <= lines.MAX_SHOWN + 2
    assert shown("short ") == "short"


def test_a_block_is_data_with_its_first_line() -> None:
    assert list(blocks(io.BytesIO(b"a\nb\n"), "x")) == [Block(1, 2, b"a\nb\n")]
