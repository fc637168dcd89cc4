"""The same names in what people read in a terminal, in JSON, in every plan, verdict and diagnosis, and in a browser."""

from __future__ import annotations

import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gradcompat.model.diagnosis import Diagnosis, DiagnosisReport, ReadFile, RuledOut, Seen
from gradcompat.model.environment import Location, Skipped
from gradcompat.model.plan import Alternative, Change, CodeChange, Plan, SettingChange, Verified
from gradcompat.model.plan_report import Planned, PlanReport
from gradcompat.renderers import (
    constraints,
    diagnosis_json,
    diagnosis_text,
    plan_json,
    plan_markdown,
    plan_text,
    probe_json,
    probe_text,
)
from gradcompat.renderers.terminal import safe
from tests.examples import examples
from tests.renderers.browser import Browser, executable
from tests.renderers.reports import rendered, verdict
from tests.renderers.test_hostile import NAMES, hostile

LISTED = [
    *(
        "\x1b]8;;https://evil.example\x1b\\x\x1b]8;;\x1b\\",
        "\x1b[2J",
        "\x9b31m",
        "\x07",
        "\x00",
        "\r",
        "\x85",
        "\u2028",
    ),
    *("\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f"),
    *("\u061c", "\u200b", "\u200d", "\ufeff", "\U000e0041", "\ud800", "\udfff\ud83d", "\u2029", "\x7f", "\u3164 x"),
    *("::set-output name=a::b", " ::add-mask::x", "a ::stop-commands::x", ":::error::x", "\n::error::x"),
    *("##[error]x", "###[group]x", "a##vso[task.setvariable variable=a]b", "##teamcity[buildStop]"),
    *("]]>", "</script><script>document.title='pwned'</script>", "<img src=x onerror=document.title='pwned'>"),
    *("'\"><svg onload=document.title='pwned'>", "<!--", "-->", "</details>", "&lt;", "javascript:alert(1)"),
    *("[x](https://evil.example)", "![](https://evil.example/x.png)", "<https://evil.example>", "https://evil.example"),
    *("www.evil.example", "[x]: https://evil.example", "@team", "#123", "GH-1", "a@b.example", "| a | b |", "\\|"),
    *("```\nx\n```", "# x", "- x", "1. x", "> x", "---", "    x", "*x*", "_x_", "~~x~~", "`x`", "$(x)", "${{ x }}"),
]
TEXTS = st.one_of(NAMES, st.sampled_from(LISTED), st.lists(st.sampled_from(LISTED), max_size=3).map(" ".join))
WORDS = TEXTS.filter(lambda text: safe(text).strip() != "")


def plans(name: str, version: str, path: str) -> PlanReport:
    here = Location(path=path, line=3)
    change = Change(
        package=name,
        version_from=version,
        version_to=version,
        kind="upgrade",
        direct=True,
        cures=("GC-0001",),
        because=(name,),
        locations=(here,),
    )
    setting = SettingChange(key="training.seed", value=name, cures=("GC-0001",), location=here, line=name, note=version)
    other = Alternative(changes=(change,), settings=(setting,), cost=name, blocked=(version,))
    verified = Verified(
        matched_again=True,
        requirements=True,
        wheels=True,
        smallest=True,
        against=name,
        target=version,
        unverified=(name,),
        notes=(version,),
    )
    plan = Plan(
        source=path,
        complete=False,
        changes=(change,),
        settings=(setting,),
        code=(CodeChange(text=name, cures=("GC-0001",)),),
        remaining=("GC-0001",),
        core=(name,),
        cost=name,
        alternatives=(other,),
        verified=verified,
    )
    planned = Planned(
        source=path,
        kind="uv.lock",
        summaries={"GC-0001": name},
        references={"GC-0001": f"https://example.org/{name}"},
        plan=plan,
        asked_in=path,
        command=("uv", "lock", name),
        skipped=(Skipped(what=name, reason=version, location=here),),
    )
    return PlanReport(planned=(planned, replace(planned, plan=None)), level="error", exit_status=1)


def diagnoses(name: str, version: str, path: str) -> DiagnosisReport:
    seen = Seen(sentence=name, location=Location(path=path, line=1), text=version)
    one = Diagnosis(title=name, score=0.5, because=(seen,), against=(version,), settles=(name,), issue="GC-0001")
    return DiagnosisReport(
        files=(ReadFile(path=path, kind="log", lines=1, steps=1),),
        versions=(seen,),
        settings=(seen,),
        diagnoses=(one, replace(one, harmless=True)),
        ruled_out=(RuledOut(issue="GC-0002", title=name, sentence=version),),
        unexplained=(seen,),
        skipped=(Skipped(what=name, reason=version),),
        records=1,
        date="2026-01-02",
        exit_status=1,
    )


def verdicts(name: str, version: str, path: str, write: Callable[..., None], out: TextIO) -> None:
    result = verdict("reproduced")
    measurement = replace(result.measurement, packages={"torch": version, name: version}, device=path)
    write([replace(result, reason=name, measurement=measurement)], 1, out)


def pins(name: str, version: str, path: str, out: TextIO) -> None:
    # What stands behind a reason is a name and a specifier that a release was found for.
    constraints.write([name, path], [constraints.Line(package="torch", specifier="==1", reasons=(name, version))], out)


Write = Callable[[str, str, str, TextIO], object]
WRITERS: dict[str, Write] = {
    "text": lambda name, version, path, out: out.write(rendered(hostile(name, version, path), "text")),
    "json": lambda name, version, path, out: out.write(rendered(hostile(name, version, path), "json")),
    "plan text": lambda name, version, path, out: plan_text.render(plans(name, version, path), out),
    "plan json": lambda name, version, path, out: plan_json.render(plans(name, version, path), out),
    "plan markdown": lambda name, version, path, out: plan_markdown.render(plans(name, version, path), out),
    "markdown": lambda name, version, path, out: out.write(rendered(hostile(name, version, path), "markdown")),
    "diagnosis text": lambda name, version, path, out: diagnosis_text.render(diagnoses(name, version, path), out),
    "diagnosis json": lambda name, version, path, out: diagnosis_json.render(diagnoses(name, version, path), out),
    "probe text": lambda name, version, path, out: verdicts(name, version, path, probe_text.render, out),
    "probe json": lambda name, version, path, out: verdicts(name, version, path, probe_json.render, out),
    "constraints": pins,
}


def written(form: str, name: str, version: str, path: str) -> str:
    out = io.StringIO()
    WRITERS[form](name, version, path, out)
    return out.getvalue()


def obeyed(text: str, allowed: str) -> list[str]:
    """What a terminal or a CI runner would take for something else than text."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    found = [char for char in text if unicodedata.category(char) in kinds and char not in allowed]
    found += re.findall(r"##\w*\[", text)
    return found + [line for line in text.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize("form", WRITERS)
@given(name=TEXTS, version=TEXTS, path=TEXTS)
@settings(deadline=None, max_examples=examples(60))
def test_nothing_is_obeyed(form: str, name: str, version: str, path: str) -> None:
    text = written(form, name, version, path)
    assert obeyed(text, "\n\u200b" if "markdown" in form else "\n") == []
    text.encode("utf-8")
    if "json" in form:
        assert name in strings(json.loads(text))
    if form == "constraints":
        assert [line for line in text.splitlines() if line and not line.startswith("#")] == ["torch==1"]


@pytest.mark.parametrize("form", WRITERS)
def test_nothing_that_is_listed_is_obeyed(form: str) -> None:
    allowed = "\n\u200b" if "markdown" in form else "\n"
    assert {name: found for name in LISTED if (found := obeyed(written(form, name, name, name), allowed))} == {}


def strings(data: object) -> set[str]:
    if isinstance(data, dict):
        return {text for one in (*data, *data.values()) for text in strings(one)}
    if isinstance(data, list):
        return {text for one in data for text in strings(one)}
    return {data} if isinstance(data, str) else set()


OUR_HTML = re.compile(r"<br>|</?details>|<details><summary>[\w ,:]+</summary>")


@pytest.mark.parametrize("form", ["markdown", "plan markdown"])
@given(name=WORDS, version=WORDS, path=WORDS)
@settings(deadline=None, max_examples=examples(100))
def test_markdown_shows_it_and_makes_nothing_of_it(form: str, name: str, version: str, path: str) -> None:
    """As a renderer of Markdown sees it, with raw HTML and tables."""
    text = written(form, name, version, path)
    usual = structure(written(form, "torch", "1.0", "uv.lock"))
    assert structure(text) == usual
    words = "".join(shown(text).replace("\u200b", "").split())
    for one in (name, version):
        assert "".join(safe(one).split()) in words


def structure(text: str) -> list[str]:
    """All that is not text: blocks, cells, emphasis, images, and where links lead but for the records' own."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(text):
        for one in (token, *(token.children or ())):
            if one.type in ("html_inline", "html_block"):
                pieces = one.content.split("\n")
                assert all(OUR_HTML.fullmatch(piece) for piece in pieces if piece), one.content
                found.append(one.content)
            elif one.type == "link_open":
                found += [one.attrs["href"]] if urlsplit(str(one.attrs["href"])).netloc != "example.org" else []
            elif one.type not in ("text", "text_special", "softbreak", "link_close"):
                found.append(one.type)
    return list(map(str, found))


def shown(text: str) -> str:
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return "".join(
        one.content for token in tokens for one in token.children or () if one.type in ("text", "text_special")
    )


@pytest.mark.parametrize(
    "text", ["@team", "@team/sub", "#123", "a#1", "GH-1", "gh-12", "www.evil.example", "a@b.example"]
)
def test_a_forge_finds_nothing_to_link(text: str) -> None:
    """Forges look for these in the finished page, so that no backslash helps."""
    words = shown(written("markdown", text, text, text))
    assert re.search(r"(?i)[@#]\w|\bGH-\d|\bwww\.", words) is None


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = executable()
    if program is None:
        pytest.skip("needs Chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.mark.e2e  # Chromium is a process
def test_a_browser_makes_nothing_of_any(browser: Browser) -> None:
    """All on one page each for names, versions and paths: no element, request, dialog or script that is not ours."""
    count = "document.querySelectorAll('*').length"
    pages = {"usual": ("torch", "1.0", "uv.lock")}
    pages |= {f"hostile-{number}": (text, text, text) for number, text in enumerate(LISTED)}
    elements = {}
    for page, names in pages.items():
        path = Path(f"{page}.html").absolute()
        path.write_text(rendered(hostile(*names), "html"), "utf-8")
        browser.events.clear()
        browser.open(path)
        elements[page] = browser.run(count)
        assert browser.run("document.title") != "pwned"
        asked = [
            event["params"]["request"]["url"] for event in browser.events if event["method"].endswith("WillBeSent")
        ]
        assert asked == [path.as_uri()]
        assert not any(
            event["method"] in ("Page.javascriptDialogOpening", "Log.entryAdded") for event in browser.events
        )
        links = browser.run("[...document.links].map(one => one.href).filter(one => !/^https:..example.org/.test(one))")
        assert links == []
        body = browser.run("document.body.innerText")
        assert obeyed(body.replace("\t", " "), "\n") == []
    assert set(elements.values()) == {elements["usual"]}
