"""Two listed packages of which one cannot be imported beside the other are a finding like any other."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

import gradcompat
from gradcompat.model.report import Report, ReportedFinding
from gradcompat.renderers.registry import RENDERERS
from tests.renderers.reports import rendered

ID = "import:client:server"


def checked(tmp_path: Path, text: str, **options: Any) -> Report:
    file = tmp_path / "requirements.txt"
    file.write_text(text)
    return gradcompat.check(file, **options)


def breaks_in(report: Report) -> list[ReportedFinding]:
    return [one for one in report.findings if one.finding.issue.id.startswith("import:")]


def test_a_name_that_a_release_removed(tmp_path: Path) -> None:
    report = checked(tmp_path, "server==3.1\nclient==0.2\n")
    (found,) = breaks_in(report)
    assert report.exit_status == 1
    assert found.finding.issue.id == ID
    assert found.finding.status == "affected"
    assert found.finding.issue.level == "error"
    assert found.finding.issue.summary == (
        "client 0.2 cannot be imported with server 3.1: it needs server.Cache, which 3.0 removed"
    )
    assert [one.location.line for one in found.finding.packages] == [2, 1]
    assert [one.sentence for one in found.finding.because] == [
        "importing client 0.2 needs server.Cache (client/core.py:12), and server 3.1 has it not"
    ]


def test_a_module_that_came_later(tmp_path: Path) -> None:
    (found,) = breaks_in(checked(tmp_path, "server==1.5\nclient==0.4\n"))
    assert found.finding.issue.summary.endswith("it needs server.store, which came with 2.0")


@pytest.mark.parametrize(
    ("server", "missed"), [("3.1", "server.Cache, which 3.0 removed"), ("1.5", "server.Batch, which came with 2.0")]
)
def test_only_what_this_release_lacks_is_named(tmp_path: Path, server: str, missed: str) -> None:
    (found,) = breaks_in(checked(tmp_path, f"server=={server}\nclient==0.6\n"))
    assert found.finding.issue.summary.endswith(missed)
    (reason,) = found.finding.because
    assert f"needs {missed.partition(',')[0]} (" in reason.sentence
    assert reason.sentence.endswith(f"server {server} has it not")


@pytest.mark.parametrize(
    "pins",
    [
        "server==2.0\nclient==0.2\n",  # it is there
        "server==3.1\nclient==0.3\n",  # it is not needed
        "server==3.3\nclient==0.2\n",  # nobody has read that release
        "server==0.9\nclient==0.4\n",  # nor that one
        "client==0.2\n",
        "server>=3.0\nclient==0.2\n",  # a resolver chooses
        "server==3.1\nclient\n",
        "server==3.3.dev0\nclient==0.2\n",
    ],
)
def test_what_is_not_certainly_broken_is_not_told(tmp_path: Path, pins: str) -> None:
    assert breaks_in(checked(tmp_path, pins)) == []


@pytest.mark.parametrize("source", ['git = "https://git.example/server?rev=v3.1#abc"', 'editable = "server"'])
def test_a_checkout_is_no_release(tmp_path: Path, source: str) -> None:
    entries = {"client": ("0.2", 'registry = "https://index.example/simple"'), "server": ("3.1", source)}
    text = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ {where} }}\n'
        for name, (version, where) in entries.items()
    )
    (tmp_path / "uv.lock").write_text(f"version = 1\n{text}")
    assert breaks_in(gradcompat.check(tmp_path / "uv.lock")) == []


def test_entries_that_are_never_installed_together(tmp_path: Path) -> None:
    old, new = "python_version < '3.9'", "python_version >= '3.9'"
    text = f"server==3.1 ; {old}\nserver==2.0 ; {new}\nclient==0.2 ; {new}\n"
    assert [one for one in breaks_in(checked(tmp_path, text)) if one.finding.status == "affected"] == []


def test_a_record_of_the_same_break_wins(tmp_path: Path) -> None:
    report = checked(tmp_path, "transformers==5.0.0\npeft==0.17.1\n")
    assert breaks_in(report) == []
    assert "GC-0098" in {one.finding.issue.id for one in report.findings if one.finding.status == "affected"}


def test_without_the_record_the_break_is_told(tmp_path: Path) -> None:
    report = checked(tmp_path, "transformers==5.0.0\npeft==0.17.1\n", only=["import:peft:transformers"])
    assert [one.finding.issue.id for one in breaks_in(report)] == ["import:peft:transformers"]


def test_it_can_be_ignored_and_waived(tmp_path: Path) -> None:
    pins = "server==3.1\nclient==0.2\n"
    assert breaks_in(checked(tmp_path, pins, ignore=[ID])) == []
    waivers = tmp_path / "gradcompat.toml"
    waivers.write_text(f'[[waivers]]\nid = "{ID}"\nreason = "a fork of the server"\n')
    report = checked(tmp_path, pins, waivers=waivers)
    assert report.exit_status == 0
    assert [one.suppressed.reason for one in report.suppressed if one.suppressed] == ["a fork of the server"]
    assert report.remarks == ()
    unused = checked(tmp_path, "server==2.0\nclient==0.2\n", waivers=waivers)
    assert [remark.kind for remark in unused.remarks] == ["unused-waiver"]


def test_an_upgrade_that_breaks_an_import(tmp_path: Path) -> None:
    report = checked(tmp_path, "server==2.0\nclient==0.2\n", versions={"server": "3.1"})
    (found,) = breaks_in(report)
    assert found.finding.packages[1].location.line == 1
    cured = checked(tmp_path, "server==3.1\nclient==0.2\n", versions={"client": "0.3"})
    assert [one.finding.issue.id for one in cured.audits[0].cured] == [ID]


def test_a_baseline_knows_it_again(tmp_path: Path) -> None:
    first = checked(tmp_path, "server==3.1\nclient==0.2\n")
    out = io.StringIO()
    from gradcompat.renderers import json_report

    json_report.render(first, out)
    moved = checked(tmp_path, "# moved\nserver==3.2\nclient==0.2\n")
    again = io.StringIO()
    json_report.render(moved, again)
    marks = [json.loads(one.getvalue())["findings"][0]["fingerprint"] for one in (out, again)]
    assert marks[0] == marks[1]


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_every_format_tells_it(tmp_path: Path, form: str) -> None:
    text = rendered(checked(tmp_path, "server==3.1\nclient==0.2\n"), form)
    assert "import:client:server" in text.replace("\\", "").replace("%3A", ":")


def test_a_broken_file_of_pairs_is_one_line(tmp_path: Path, small_pairs: Path) -> None:
    small_pairs.write_text("{")
    from gradcompat.breaks.pairs import _content
    from gradcompat.errors import KnowledgeError

    _content.cache_clear()
    with pytest.raises(KnowledgeError, match="cannot be read"):
        checked(tmp_path, "server==3.1\nclient==0.2\n")
    _content.cache_clear()


def test_the_report_leads_to_the_matrix(tmp_path: Path) -> None:
    report = checked(tmp_path, "server==3.1\nclient==0.2\n")
    assert rendered(report, "text").count("gradcompat knowledge pairs client server") == 1
