"""Names that try to be something else, in every format: nothing of them is obeyed by what shows the report."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.model.environment import Location, Skipped
from gradcompat.model.report import Remark, Report, Suppression
from gradcompat.renderers.registry import RENDERERS
from tests.examples import examples
from tests.renderers.reports import advised, audit, entry, record, rendered, report

PIECES = st.sampled_from(
    [
        *("\x1b[31m", "\x1b]8;;a\x07", "\u202e", "\u2066", "\u200b", "\r\n", "\n", "\x00", "\x85", "\u2028", "\ud800"),
        *(
            "::set-output name=a::b",
            "::error::x",
            "##[add-mask]x",
            "##vso[task.setvariable]",
            "%0A",
            "%",
            ",",
            ":",
            "|",
        ),
        *("</script>", "<script>alert(1)</script>", "<!--", "-->", "]]>", "&amp;", '"', "'", "<img src=x onerror=f()>"),
        *("`", "](https://evil.example)", "[x]", "{0}", "\\", "@octocat", "javascript:f()", "../", "/", "a", "ü", "é"),
    ]
)
NAMES = st.one_of(st.lists(PIECES, max_size=6).map("".join), st.text(max_size=20))
FORMS = [form for form in RENDERERS if form not in ("text", "json")]


def hostile(name: str, version: str, path: str) -> Report:
    found = [
        advised(record("GC-0001"), entry(name, version, path=path)),
        advised(record("GC-0002"), entry(name, version, path=path), status="conditional", probed="not_reproduced"),
        advised(record("GC-0003"), entry(name, None, path=path), status="conditional"),
    ]
    gap = Skipped(what=name, reason=version, location=Location(path=path, line=3))
    where = Location(path=path, line=4)
    why = Suppression(kind="waiver", reason=name, location=where, until=version)
    aside = replace(advised(record("GC-0004"), entry(name, version, path=path)), suppressed=why)
    some = replace(audit(*found, source=path, skipped=(gap,)), suppressed=(aside,))
    remark = Remark(kind="unused-waiver", level="warning", text=f"unused waiver of {name}", location=where)
    return replace(report(some), remarks=(remark,), show_suppressed=True)


@pytest.mark.parametrize("form", FORMS)
@given(name=NAMES, version=NAMES, path=NAMES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(60))
def test_nothing_is_obeyed(form: str, name: str, version: str, path: str) -> None:
    text = rendered(hostile(name, version, path), form)
    allowed = "\n\u200b" if form == "markdown" else "\n"
    unshown = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - set(allowed)
    assert unshown == set()
    assert re.search(r"##\w*\[", text) is None
    assert form == "github" or not any(line.lstrip().startswith("::") for line in text.splitlines())
    text.encode("utf-8")
    _CHECKS[form](text)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}


def _tags(text: str) -> _Tags:
    parser = _Tags()
    parser.feed(text)
    return parser


def _html(text: str) -> None:
    seen, usual = _tags(text), _tags(rendered(hostile("torch", "1.0", "uv.lock"), "html"))
    assert seen.tags == usual.tags
    assert seen.attributes == usual.attributes


def _github(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) == 4
    for line in lines:
        head, data = line[2:].split("::", 1)
        assert [part.split("=")[0] for part in head.partition(" ")[2].split(",")] in (
            ["file", "line", "col", "title"],
            ["file", "line", "title"],
        )
        assert data


def _markdown(text: str) -> None:
    assert "<script" not in text.replace("\\<script", "")
    assert "<img" not in text.replace("\\<img", "")
    rows = [line for line in text.splitlines() if line.startswith("| error")]
    assert len(rows) == 1
    assert "](https://evil" not in text


def _junit(text: str) -> None:
    suite, remark = ElementTree.fromstring(text)  # noqa: S314  # our own text
    assert [case.tag for case in suite] == ["testcase"] * 5
    assert [case.tag for case in remark] == ["testcase"]


def _sarif(text: str) -> None:
    (run,) = json.loads(text)["runs"]
    result, aside = run["results"]
    assert "](" not in result["message"]["text"]
    assert "](" not in run["invocations"][0]["toolConfigurationNotifications"][0]["message"]["text"]
    assert len(aside["suppressions"]) == 1
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert not set(uri) & set(' "<>\\^`{|}')


_CHECKS: dict[str, Callable[[str], object]] = {
    "html": _html,
    "github": _github,
    "markdown": _markdown,
    "junit": _junit,
    "sarif": _sarif,
    "gitlab": json.loads,
    "openvex": json.loads,
    "cyclonedx-vex": json.loads,
}
