from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

from gradcompat.model.report import Report
from tests.renderers.reports import advised, audit, entry, everything, record, rendered, report, strictly


def suites(some: Report) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(rendered(some, "junit")))  # noqa: S314  # our own text


def outcomes(suite: ElementTree.Element) -> list[tuple[str, str]]:
    return [(case.get("name", "")[:11], next((child.tag for child in case), "")) for case in suite]


def test_a_suite_for_each_environment_and_a_case_for_each_finding() -> None:
    first, second, clean, unread = suites(everything())
    assert outcomes(first) == [
        ("GC-0001 tra", "failure"),
        ("GC-0002 tra", "system-out"),  # a warning, and the level is error
        ("GC-0005 tra", "system-out"),
        ("GC-0004 tra", "skipped"),
        ("GC-0003 tra", "system-out"),
        ("GC-0006 tra", "system-out"),
        ("not checked", "skipped"),
    ]
    counts = {key: value for key, value in first.attrib.items() if key != "name"}
    assert counts == {"tests": "7", "failures": "1", "errors": "0", "skipped": "2"}
    assert outcomes(second) == [("GC-0001 tra", "failure")]
    assert outcomes(clean) == [("no known de", "")]
    assert outcomes(unread) == [("not checked", "error")]


def test_what_fails_is_what_makes_the_exit_status_1() -> None:
    lower = suites(replace(everything(), fail_on="warning"))[0]
    assert [tag for _, tag in outcomes(lower)].count("failure") == 2
    assert "failure" not in [tag for _, tag in outcomes(suites(replace(everything(), fail_on=None))[0])]
    assert ("GC-0004 tra", "failure") in outcomes(suites(strictly(everything()))[0])


def test_it_is_well_formed_whatever_names_hold() -> None:
    name = "a\x00\x1b[31m]]>&\"'<!--\ufffe\ud800\u202e"
    (suite,) = suites(report(audit(advised(record(), entry(name, name, path=name)), source=name)))
    assert suite.get("name") == "a\\x00\\x1b[31m]]>&\"'<!--\\ufffe\\ud800\\u202e"
