"""Reading a file without following it anywhere surprising."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gradcompat.errors import NotFound
from gradcompat.formats.document import read_document


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        read_document(tmp_path, "here")
    assert str(caught.value) == "`here`: is a folder, not a file"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotFound) as caught:
        read_document(tmp_path / "pipe", "pipe")
    assert str(caught.value) == "`pipe`: is a pipe, a socket or a device, not a file"


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files are counted in /proc")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(NotFound):
        read_document(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before
