"""Requirements are split into lines, joined and decoded as pip does, whatever stands between them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, document_of
from gradcompat.formats.pasted_text import physical_lines
from gradcompat.sources.requirements import read

pip = pytest.importorskip("pip._internal.req.req_file")

_NAME = re.compile(r"([a-z]+[0-9]*)==[0-9.]+")
_PIECES = st.sampled_from(
    [
        *(
            "alpha==1",
            "beta==2.0",
            "gamma==3",
            "torch==2.5.1",
            " ",
            "\t",
            "#",
            " # via x",
            "# note",
            "\\",
            "\\\\",
            " \\",
        ),
        *("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n", "\xa0", "\u3000"),
    ]
)


def asked_of_pip(text: str) -> list[str]:
    """The packages that pip would install; lines that are nothing to it raise in pip and are gaps here."""
    lines = [line for _, line in pip.preprocess(text)]
    return [match[1] for line in lines if (match := _NAME.fullmatch(line))]


@given(st.lists(_PIECES, max_size=14).map("".join))
def test_every_line_of_pips_is_a_line(text: str) -> None:
    try:
        environment = read(Document("requirements.txt", text))
    except Malformed:
        assert asked_of_pip(text) == []
        return
    names = [package.name for package in environment.packages]
    assert [name for name in asked_of_pip(text) if name not in names] == []
    lines = list(physical_lines(text))
    for package in environment.packages:
        line, column = package.location.line, package.location.column
        assert line is not None
        assert column is not None
        assert lines[line - 1][column - 1 :].startswith((str(package.version), package.name)), package


@given(
    st.sampled_from(
        ["", "# coding: {}\n", "\n# -*- coding: {} -*-\n", "#\r# coding={}\n", "x==1\n#coding: {}\n", " # coding: {}\n"]
    ),
    st.sampled_from(["latin-1", "utf-8", "utf-7", "cp1252", "shift_jis", "utf-16-le", "nonsense", "rot13"]),
    st.sampled_from(["torch==2.5.1\n", "# \xe9\ntorch==2.5.1\n", "# +AAo-torch==2.5.1\n", "# +ICg-torch==2.5.1"]),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-32"]),
)
def test_what_pip_decodes_is_decoded_alike_or_refused(head: str, stated: str, body: str, encoding: str) -> None:
    data = (head.format(stated) + body).encode(encoding)
    try:
        ours = document_of(data, "requirements.txt", Path("requirements.txt"))
    except Malformed:
        return
    try:
        theirs = pip._decode_req_file(data, "requirements.txt")
    except (LookupError, UnicodeError):
        return
    assert ours.text.removeprefix("\ufeff") == theirs.removeprefix("\ufeff")
