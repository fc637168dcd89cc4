"""Tables of verdicts as text, picture and page, and ranges as text."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from packaging.version import Version

from gradcompat.knowledge.ranges import ranges
from gradcompat.model.issue import IssueProbe
from gradcompat.model.matrix import Cell, Matrix
from gradcompat.model.probe import Outcome, ProbeSpec
from gradcompat.renderers import matrix_html, matrix_svg, matrix_text, ranges_text

OUTCOMES: dict[str, Outcome] = {
    "X": "reproduced", "p": "reproduced", ".": "not_reproduced", "?": "inconclusive", "-": "skipped",
}  # fmt: skip
SPECS = tuple(ProbeSpec(name="toy", parameters={"kind": kind}) for kind in ("round", "square", "<long> & much longer"))
RELEASES = ("1.0.0", "1.0.1", "1.1.0", "2.0.0", "2.0.1", "2.1.0")
SIGNS = ("..XX..", "?-pp. ", "..XX..")
TOY = Matrix(
    package="toy",
    recipe="toy",
    summary="Whether a toy <rolls> & stops.",
    variants=SPECS,
    labels=tuple(str(spec.parameters["kind"]) for spec in SPECS),
    releases=RELEASES,
    cells={
        (str(spec), release): Cell(outcome=OUTCOMES[sign], sign=sign, text=f"it says {sign}")
        for spec, signs in zip(SPECS, SIGNS, strict=True)
        for release, sign in zip(RELEASES, signs, strict=True)
        if sign != " "
    },
    signs={
        "X": "wrong", ".": "right", "?": "inconclusive", "-": "cannot be run there", " ": "not run",
        "p": "wrong in part",
    },
    made_with="torch 2.13.0, Python 3.11.7, cpu, 2026-11-20",
)  # fmt: skip


def text_of(matrix: Matrix, out: io.StringIO | None = None) -> str:
    out = out or io.StringIO()
    matrix_text.render(matrix, out)
    return out.getvalue()


def svg_of(matrix: Matrix) -> str:
    out = io.StringIO()
    matrix_svg.render(matrix, out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_text(golden: Callable[[str, str], None]) -> None:
    golden("matrix.txt", text_of(TOY))


def test_a_terminal_has_colours_and_the_same_signs() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    coloured = text_of(TOY, Terminal())
    assert "\x1b[31mX\x1b[0m" in coloured
    assert "\x1b[33mp\x1b[0m" in coloured
    plain = re.sub(r"\x1b\[\d+m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == text_of(TOY).splitlines()


def test_more_variants_than_a_line_has_room_for() -> None:
    specs = tuple(ProbeSpec(name="toy", parameters={"number": number}) for number in range(120))
    many = replace(TOY, variants=specs, labels=tuple(f"number {spec.parameters['number']}" for spec in specs), cells={})
    lines = text_of(many).splitlines()
    assert max(map(len, lines)) <= 100
    assert [line[5:] for line in lines if re.match(r"  \w  number", line)] == list(many.labels)


def test_picture(golden: Callable[[str, str], None]) -> None:
    golden("matrix.svg", svg_of(TOY))


def test_a_picture_is_well_formed_and_holds_every_cell() -> None:
    root = ElementTree.fromstring(svg_of(TOY))  # noqa: S314  # made two lines above
    space = "{http://www.w3.org/2000/svg}"
    rows: dict[str, str] = {}
    for sign in root.iter(f"{space}g"):
        text = sign.find(f"{space}text")
        assert text is not None
        assert text.text is not None
        assert len(text.attrib["x"].split()) == len(text.text)
        rows[text.attrib["y"]] = rows.get(text.attrib["y"], "") + text.text
    assert list(rows.values()) == [signs.replace(" ", "") for signs in SIGNS]
    assert not [one for one in root.iter() if any(key.endswith("href") for key in one.attrib)]
    titles = [title.text for title in root.iter(f"{space}title")]
    assert "1.1.0 – 2.0.0, square: it says p" in titles


def test_a_long_label_has_its_room() -> None:
    long = replace(TOY, labels=("a", "b", "c" * 60))
    (x,) = {float(found) for found in re.findall(r'class="label" x="(\d+)"', svg_of(long))}
    assert x > 60 * 5


def test_a_page_needs_nothing_else() -> None:
    out = io.StringIO()
    matrix_html.render(TOY, out)
    page = out.getvalue()
    assert page.count("<svg") == 1
    assert "<tr><td>2.1.0<td>not run<td>not run" in page
    assert "<tr><td>1.1.0<td>reproduced<td>it says p" in page
    assert "&lt;long&gt; &amp; much longer" in page
    assert "<rolls>" not in page
    assert re.findall(r"(?:src|href|url)\s*[=(]", page) == []
    assert [url for url in re.findall(r"https?://[^\"]+", page) if url != "http://www.w3.org/2000/svg"] == []


def test_ranges_as_text() -> None:
    verdicts: dict[Version, Outcome] = {
        Version("1.0"): "not_reproduced", Version("1.1"): "reproduced", Version("1.3"): "not_reproduced",
        Version("1.4"): "reproduced",
    }  # fmt: skip
    out = io.StringIO()
    probe = IssueProbe(spec=ProbeSpec(name="toy"), quantities=("loss_ratio",))
    ranges_text.render("toy", probe, ranges([Version("1.2")], verdicts), out)
    ranges_text.render("toy", IssueProbe(spec=SPECS[0]), ranges([], {Version("1"): "not_reproduced"}), out)
    assert (
        out.getvalue()
        == """\
toy: toy (loss_ratio)
  toy ==1.1
    it ends behind 1.1 and not later than with 1.3 (1.2 not run)
  toy >=1.4
    1.4 is the newest release
  2 releases right, 1 without a verdict: 1.2 not run
toy: toy(kind=round)
  never reproduced
  1 release right
"""
    )
