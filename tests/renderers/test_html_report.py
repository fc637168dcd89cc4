"""The page, in a real browser where there is one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.model.environment import Location, Skipped
from gradcompat.model.issue import Reference
from gradcompat.model.report import Report
from tests.renderers.browser import Browser, executable
from tests.renderers.reports import advised, audit, entry, everything, partly_suppressed, record, rendered, report

SHOWN = "[...document.querySelectorAll('article')].filter(one => one.checkVisibility()).length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = executable()
    if program is None:
        pytest.skip("needs Chromium")
    with Browser(program, tmp_path_factory.mktemp("profile")) as one:
        yield one


def opened(browser: Browser, some: Report, *, width: int = 1000, dark: bool = False) -> Browser:
    page = Path("page.html").absolute()
    page.write_text(rendered(some, "html"), "utf-8")
    browser.show(width, dark=dark)
    browser.events.clear()
    browser.open(page)
    return browser


def complaints(browser: Browser) -> list[object]:
    """What the page tried and was not let, and the requests that it made."""
    browser.run("1")
    logged = [event["params"]["entry"]["text"] for event in browser.events if event["method"] == "Log.entryAdded"]
    asked = [
        event["params"]["request"]["url"] for event in browser.events if event["method"] == "Network.requestWillBeSent"
    ]
    return [*logged, *(url for url in asked if not url.endswith("/page.html"))]


def test_it_says_everything_and_asks_nobody(browser: Browser) -> None:
    page = opened(browser, everything())
    assert page.run(SHOWN) == 7
    assert page.run("document.querySelector('output').textContent") == "7 of 7 shown"
    assert complaints(page) == []


def test_it_is_filtered_by_words_level_and_status(browser: Browser) -> None:
    page = opened(browser, everything())

    def type_in(text: str) -> int:
        page.run(f"form.text.value = {text!r}; form.dispatchEvent(new Event('input', {{bubbles: true}}))")
        shown = page.run(SHOWN)
        assert isinstance(shown, int)
        return shown

    assert type_in("gc-0002") == 1
    assert page.run("[...document.querySelectorAll('section')].filter(one => one.checkVisibility()).length") == 2
    assert type_in("b/uv.lock LOSS") == 1
    assert type_in("nothing like it") == 0
    assert type_in("") == 7
    page.run("form.querySelector('[name=conditional]').click()")
    assert page.run(SHOWN) == 6
    page.run("form.querySelector('[name=error]').click()")
    assert page.run(SHOWN) == 4  # nothing but what is affected has a level
    assert page.run("document.querySelector('output').textContent") == "4 of 7 shown"


def test_what_is_suppressed_is_shown_on_request(browser: Browser) -> None:
    page = opened(browser, partly_suppressed())
    sections = "[...document.querySelectorAll('section')].filter(one => one.checkVisibility()).length"
    assert (page.run(SHOWN), page.run(sections)) == (1, 3)
    assert page.run("document.querySelector('output').textContent") == "1 of 5 shown"
    page.run("form.querySelector('[name=suppressed]').click()")
    assert page.run(SHOWN) == 5
    page.run("form.querySelector('[name=affected]').click()")
    assert page.run(SHOWN) == 4


@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_read(browser: Browser, width: int, dark: bool) -> None:
    long = audit(advised(record(), entry("a" * 300, "1" * 300, path="b/" * 200)), source="c/" * 200)
    page = opened(browser, replace(everything(), audits=(*everything().audits, long)), width=width, dark=dark)
    assert page.run("document.documentElement.scrollWidth") <= width
    if (folder := os.environ.get("GRADCOMPAT_SCREENSHOTS")) is not None:
        Path(folder, f"{width}-{'dark' if dark else 'light'}.png").write_bytes(page.picture())
    for element in ("article p", ".tag", "article[data-level=warning] .tag", "article[data-level=error] .tag", "a"):
        assert contrast(page, element) >= 4.5, element


def contrast(page: Browser, element: str) -> float:
    """Of the colour of the text against that of the page, as WCAG has it."""
    page.run("document.querySelector('details').open = true")
    ink = page.run(f"getComputedStyle(document.querySelector({element!r})).color")
    paper = page.run(
        "(() => { const one = document.createElement('i'); one.style.color = 'Canvas'; document.body.append(one);"
        " const color = getComputedStyle(one).color; one.remove(); return color })()"
    )
    lighter, darker = sorted((_luminance(ink), _luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: object) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", str(color))[:3]]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


HOSTILE = (
    "\"'></code></script><script>document.title='owned'</script><img src=http://192.0.2.1/x onerror=alert(1)>\u202e"
)


def test_names_are_shown_and_not_obeyed(browser: Browser) -> None:
    references = (Reference(type="REPORT", url="javascript:document.title='owned'"),)
    about = replace(record(), summary=HOSTILE, details=HOSTILE, references=references)
    gap = Skipped(what=HOSTILE, reason=HOSTILE, location=Location(path=HOSTILE, line=1))
    found = advised(about, entry(HOSTILE, HOSTILE, path=HOSTILE))
    page = opened(browser, report(audit(found, source=HOSTILE, skipped=(gap,))))
    assert complaints(page) == []
    assert "owned" not in str(page.run("document.title")).replace(HOSTILE[:60], "")
    assert page.run("document.images.length") == 0
    assert page.run("document.scripts.length") == 1
    assert page.run("document.querySelectorAll('article a').length") == 0
    assert "<script>document.title='owned'</script>" in str(page.run("document.querySelector('h3').textContent"))
    assert "\u202e" not in str(page.run("document.documentElement.textContent"))


def test_the_policy_stops_what_would_get_through(browser: Browser) -> None:
    """Were an escape forgotten: a script that is not ours does not run, and nothing is loaded."""
    page = Path("page.html").absolute()
    text = rendered(everything(), "html")
    planted = "<script>document.title='owned'</script><img src='http://192.0.2.1/x'>"
    page.write_text(text.replace("<main>", f"<main>{planted}"), "utf-8")
    browser.show(1000, dark=False)
    browser.events.clear()
    browser.open(page)
    assert browser.run("document.title") != "owned"
    assert any("Content Security Policy" in str(one) for one in complaints(browser))


def test_it_can_be_read_without_its_script() -> None:
    text = rendered(everything(), "html")
    without = re.sub(r"<script>.*</script>", "", text, flags=re.DOTALL)
    assert without.count("<article") == 7
    assert "<form hidden>" in without


def test_it_names_no_address_but_those_of_references() -> None:
    text = rendered(everything(), "html")
    assert set(re.findall(r"https?://[^\s\"<]+", text)) == {"https://example.org/1"}
