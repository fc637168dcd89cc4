"""The comment of the action: one, our own, and a warning where it cannot be written."""

from __future__ import annotations

import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ci.forge import Forge, forge
from tests.ci.projects import event
from tests.conftest import ROOT

FOLDER = ROOT / "ci" / "github"
MARK = "<!-- gradcompat gradcompat -->"
REPORT = "**gradcompat**: 1 error\n\n| | Defect |\n|---|---|\n| error | x |\n"
CURED = f"{MARK}\n**gradcompat**: no new findings. What this comment said before is cured.\n"


@pytest.fixture
def api() -> Iterator[Forge]:
    with forge() as it:
        yield it


class Job:
    """Runs the step of the action; what it prints is what comes back."""

    def __init__(self, folder: Path, api: Forge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
        self._folder, self._api, self._monkeypatch, self._capsys = folder, api, monkeypatch, capsys

    def __call__(
        self, *, status: int = 1, found: int = 1, report: str = REPORT, data: object = None, **more: str
    ) -> str:
        (self._folder / "report.md").write_text(report, "utf-8")
        environment = {
            "GITHUB_EVENT_PATH": event(self._folder, {"pull_request": {"number": 7}} if data is None else data),
            "GITHUB_REPOSITORY": "someone/project",
            "GITHUB_SERVER_URL": "https://forge.example",
            "GITHUB_RUN_ID": "12",
            "GITHUB_GRAPHQL_URL": self._api.url,
            "NO_PROXY": "127.0.0.1",
            "TOKEN": "secret-token",
            "STATUS": str(status),
            "FINDINGS": str(found),
            "REPORT": str(self._folder / "report.md"),
            "INPUT_CATEGORY": "gradcompat",
        }
        for name, text in {**environment, **more}.items():
            self._monkeypatch.setenv(name, text)
        runpy.run_path(str(FOLDER / "comment.py"), run_name="__main__")
        out, err = self._capsys.readouterr()
        assert (err, "secret-token" in out) == ("", False)
        return out


@pytest.fixture
def comment(
    tmp_path: Path, api: Forge, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Job]:
    monkeypatch.syspath_prepend(FOLDER)  # as the interpreter does with a program's folder
    yield Job(tmp_path, api, monkeypatch, capsys)
    sys.modules.pop("workflow", None)


def test_it_is_written_changed_and_cured(comment: Job, api: Forge) -> None:
    for text in ("Nice.", f"{MARK}\nI am not you.", "Why?"):
        api.write(text)
    assert comment() == ""
    assert comment() == ""
    assert api.asked == ["add"]
    assert api.comments[-1].body == f"{MARK}\nWhat this pull request brings:\n\n{REPORT}"
    comment(report=f"{REPORT}\nmore\n")
    assert api.comments[-1].body.endswith("more\n")
    comment(status=0, found=0, report="nothing")
    assert api.comments[-1].body == CURED
    assert api.asked == ["add", "edit", "edit"]
    assert [one.body for one in api.comments[:3]] == ["Nice.", f"{MARK}\nI am not you.", "Why?"]


@pytest.mark.parametrize(("status", "found", "asked"), [(0, 0, []), (3, 0, []), (0, 1, ["add"]), (1, 0, ["add"])])
def test_it_begins_with_something_found(comment: Job, api: Forge, status: int, found: int, asked: list[str]) -> None:
    assert comment(status=status, found=found) == ""
    assert api.asked == asked


def test_what_could_not_be_checked_is_not_called_cured(comment: Job, api: Forge) -> None:
    api.write(f"{MARK}\nBefore.", own=True)
    comment(status=3, found=0, report="1 not checked\n")
    assert api.comments[0].body == f"{MARK}\nWhat this pull request brings:\n\n1 not checked\n"


def test_two_checks_have_one_each(comment: Job, api: Forge) -> None:
    comment()
    comment(INPUT_CATEGORY="GPU --> <b>")
    assert [one.body.splitlines()[0] for one in api.comments] == [MARK, "<!-- gradcompat GPU%20--%3E%20%3Cb%3E -->"]


@pytest.mark.parametrize("length", [59_000, 61_000, 3_000_000])
def test_a_long_one_is_cut_between_lines(comment: Job, api: Forge, length: int) -> None:
    line = f"- {'x' * 96}\n"
    report = f"**gradcompat**\n\n<details><summary>More</summary>\n\n{line * (length // len(line))}\n</details>\n"
    comment(report=report)
    text = api.comments[0].body
    assert len(text) < 65_536
    assert text.count("<details>") == text.count("</details>") == 1
    link = "[the run](https://forge.example/someone/project/actions/runs/12)"
    assert text.endswith(f"\n\nThe rest is too long for a comment: {link} has it.\n") == (length > 60_000)
    assert set(re.findall(r"^- .*$", text, re.MULTILINE)) == {line.strip()}


def test_other_events_have_no_comment(comment: Job, api: Forge) -> None:
    other: tuple[object, ...] = ({}, [], {"pull_request": None}, {"pull_request": {"number": "7"}})
    for data in other:
        assert comment(data=data) == ""
    assert api.asked == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ((401, b"{}"), "status 401: the token may not write here"),
        ((403, b"{}"), "status 403: the token may not write here"),
        ((500, b"<html>secret-token ::error::x"), "status 500"),
        ((302, b""), "status 302"),
        ((200, b"not json"), "did not answer (JSONDecodeError)"),
        ((200, b"[]"), "refuses it"),
        ((200, b'{"data": {"repository": null}}'), "knows no such pull request"),
        ((200, b'{"data": {"repository": {"pullRequest": {"id": 1}}}}'), "in another form than expected"),
        ((200, b'{"data": {"repository": {"pullRequest": []}}}'), "knows no such pull request"),
        ((200, b'{"data": {"repository": [1]}}'), "in another form than expected"),
        ((200, b'{"data": null, "errors": [{"message": "limited ::error::x"}]}'), "refuses it"),
        ((200, b'{"data": null, "errors": {"message": "x"}}'), "refuses it"),
        ((200, json.dumps({"data": {}, "errors": [{"type": "FORBIDDEN"}]}).encode()), "from a fork"),
    ],
)
def test_an_api_that_fails_is_a_warning(comment: Job, api: Forge, broken: tuple[int, bytes], said: str) -> None:
    api.broken = broken
    out = comment()
    assert re.fullmatch(r"::warning title=gradcompat::No comment was written: .*\n", out), out
    assert said in out
    assert "::error::x" not in out


def test_nobody_answers(comment: Job, api: Forge) -> None:
    for url in ("http://127.0.0.1:1/graphql", "", "nonsense", "http://[::1"):
        api.url = url
        assert "::warning title=gradcompat::No comment was written: the API of GitHub" in comment()


def test_a_token_that_may_not_write_is_said(comment: Job, api: Forge) -> None:
    api.read_only = True
    out = comment()
    assert "from a fork" in out
    assert "`permissions: pull-requests: write`" in out
    assert api.comments == []


def test_a_wrong_token_is_said(comment: Job, api: Forge) -> None:
    assert "status 401" in comment(TOKEN="other")  # noqa: S106 - of nothing
    assert "No comment was written" in comment(TOKEN="")
