"""Records that come as installed distributions: newer ones of gradcompat, and somebody's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gradcompat.cli.console import known_records, print_note
from gradcompat.database.open import public_records
from gradcompat.errors import GradcompatError
from gradcompat.knowledge.distributions import installed_distributions
from gradcompat.knowledge.load import COMPILED, load
from tests.conftest import Run
from tests.knowledge.installed import install, public
from tests.knowledge.own_records import FIRST_LINE, own

NEWER = "2031-02-03"
PUBLIC = ("gradcompat-knowledge", "2031.2.3", "gradcompat_knowledge")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that the program imports from; the current folder is another one."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    here = tmp_path / "here"
    here.mkdir()
    (here / "requirements.txt").write_text("acme-trainer==3.1.3\n", "utf-8")
    monkeypatch.chdir(here)
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return folder


def test_a_newer_release_serves_and_is_named(site: Path, run: Run) -> None:
    install(site, *PUBLIC, {"compiled.json": public(NEWER)})
    done = run("check", "requirements.txt", cwd=Path.cwd())
    assert (done.status, done.err) == (0, "")
    records = len(load().records)
    assert done.out.splitlines()[-1].endswith(f"({records} records of {NEWER} from gradcompat-knowledge 2031.2.3)")
    knowledge = json.loads(run("check", "requirements.txt", "--format", "json", cwd=Path.cwd()).out)["knowledge"]
    assert [(one["kind"], one["name"], one["date"]) for one in knowledge["sources"]] == [
        ("installed", "gradcompat-knowledge 2031.2.3", NEWER)
    ]
    assert "A summary of a later day" in run("explain", "GC-0001", cwd=Path.cwd()).out


def test_processes_have_the_same_records(site: Path, run: Run) -> None:
    install(site, *PUBLIC, {"compiled.json": public(NEWER)})
    names = [f"{number:02}/requirements.txt" for number in range(18)]
    for name in names:
        Path(name).parent.mkdir()
        Path(name).write_text("transformers==4.49.0\n", "utf-8")
    report = json.loads(run("check", *names, "--format", "json", cwd=Path.cwd()).out)
    said = {one["summary"] for one in report["findings"] if one["id"] == "GC-0001"}
    assert said <= {"A summary of a later day"}
    assert len(report["environments"]) == 18


@pytest.mark.parametrize("version", ["2020.1.1", load().date.replace("-", ".")])
def test_the_newest_of_bundled_and_installed_counts(
    site: Path, version: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, PUBLIC[0], version, PUBLIC[2], {"compiled.json": public("2020-01-01")})
    assert public_records(print_note).sources[0].kind == "shipped"
    assert capsys.readouterr().err == ""


BROKEN = json.loads(COMPILED.read_bytes())
UNKNOWN_TERM = [{**BROKEN["issues"][0], "affected": [[["phase-of-the-moon", "full"]]]}]


@pytest.mark.parametrize(
    ("version", "content", "reason"),
    [
        ("2031.2.3", public(NEWER, format=2), "format 2 is not supported"),
        ("2031.2.3", public(NEWER, digest="sha256:0"), "is broken: its digest is not that of its records"),
        ("2031.2.3", public("2031-02-04"), "its records are of 2031-02-04, which is not its version"),
        ("2031.2.3", public("soon"), "its records have no date"),
        ("2031.2.3", public(NEWER)[:-3], "cannot be read: "),
        ("2031.2.3", "[]", "format None is not supported"),
        ("2031.2.3", json.dumps({"format": 1}), "lacks by_package, conda, "),
        ("2031.2.3", public(NEWER, families=3), "is not what `gradcompat knowledge compile` writes"),
        ("2031.2.3", public(NEWER, by_package={"torch": [99999]}), "is not what `gradcompat knowledge compile` writes"),
        ("2031.2.3", public(NEWER, issues=UNKNOWN_TERM), "is broken: "),
        ("1.0", public(NEWER), "its version is not a date"),
    ],
)
def test_what_is_not_understood_is_said_in_one_line(
    site: Path, version: str, content: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, PUBLIC[0], version, PUBLIC[2], {"compiled.json": content})
    assert public_records(print_note).sources[0].kind == "shipped"
    said = capsys.readouterr().err
    assert said.startswith(f"note: `gradcompat-knowledge {version}`: {reason}"), said
    assert said.endswith(f"; the records of {load().date} that ship with gradcompat are used\n")
    assert said.count("\n") == 1


def test_a_term_to_come_is_not_understood(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from gradcompat.knowledge.load import digest_of

    content = public(NEWER, issues=UNKNOWN_TERM, models=[], digest=digest_of(UNKNOWN_TERM, []), by_package={})
    install(site, *PUBLIC, {"compiled.json": content})
    assert public_records(print_note).sources[0].kind == "shipped"
    assert "is not a term of format 1" in capsys.readouterr().err


def test_somebody_s_own_records(site: Path, run: Run) -> None:
    install(site, "acme-records", "2026.11.22", "acme_records", {"acme.yaml": own()})
    done = run("check", "requirements.txt", cwd=Path.cwd())
    assert (done.status, done.err) == (1, "")
    assert done.out.splitlines()[-1].endswith("and 1 of acme-records 2026.11.22)")
    assert run("explain", "ACME-0001", cwd=Path.cwd()).status == 0
    # Not a second time, and not by an audited environment.
    assert [one["id"] for one in known_records().records].count("ACME-0001") == 1


def test_several_files_of_one_distribution_are_told_apart(site: Path) -> None:
    second = own(("ACME-0001", "ACME-0002"))
    install(site, "acme-records", "1", "acme_records", {"a.yaml": own(), "b.yaml": second})
    assert [one.name for one in known_records().sources[1:]] == ["acme-records 1/a.yaml", "acme-records 1/b.yaml"]


@pytest.mark.parametrize(
    ("files", "value", "message"),
    [
        ({"a.yaml": own(("level: error", "level: grave"))}, "", f"`acme-records 1:{FIRST_LINE}`: ACME-0001: level: "),
        ({"a.yaml": own(("ACME-0001", "GC-0001"))}, "", f"`acme-records 1:{FIRST_LINE}`: GC-0001: ids with GC- are"),
        ({}, "", "`acme-records 1`: holds no file of records"),
        ({"compiled.json": public(NEWER)}, "", "`acme-records 1`: holds no file of records"),
        (
            {"a.yaml": own()},
            "../../here",
            "`acme-records 1`: its entry point in `gradcompat.knowledge` names `../../here`",
        ),
        ({"a.yaml": own()}, "/etc", "`acme-records 1`: its entry point in `gradcompat.knowledge` names `/etc`"),
        ({"a.yaml": own()}, "gone", "`acme-records 1`: its entry point in `gradcompat.knowledge` names `gone`"),
    ],
)
def test_what_is_wrong_with_them_stops_everything(site: Path, files: dict[str, str], value: str, message: str) -> None:
    install(site, "acme-records", "1", "acme_records", files, value)
    with pytest.raises(GradcompatError) as caught:
        known_records()
    assert str(caught.value).startswith(message), caught.value


def test_the_audited_environment_and_the_current_folder_are_not_looked_at(
    site: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited = tmp_path / "environment" / "lib" / "python3.12" / "site-packages"
    audited.mkdir(parents=True)
    (tmp_path / "environment" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.1\n", "utf-8")
    install(audited, *PUBLIC, {"compiled.json": public(NEWER)})
    install(audited, "acme-records", "1", "acme_records", {"a.yaml": "["})
    done = run("check", str(tmp_path / "environment"), cwd=Path.cwd())
    assert done.status == 0, done.err
    assert done.out.splitlines()[-1].endswith(f"records of {load().date})")
    # `python -m` imports from the current folder; a checkout that is called so has no say either.
    done = run("check", str(site.parents[1] / "here" / "requirements.txt"), cwd=audited)
    assert (done.status, done.err) == (0, "")


def test_odd_metadata_is_passed_over(site: Path) -> None:
    for name, content in {
        "a-1.dist-info": b"\xff[gradcompat.knowledge]\nrecords = a",
        "b-1.dist-info": b"[gradcompat.knowledge]\n# c = d\n\n[other]\nx = y\n",
        "nodash.dist-info": b"",
    }.items():
        (site / name).mkdir()
        (site / name / "entry_points.txt").write_bytes(content)
    (site / "c-1.dist-info").mkdir()
    (site / "c-1.dist-info" / "entry_points.txt").mkdir()
    (site / "d-1.dist-info").write_text("", "utf-8")
    assert installed_distributions([str(site), str(site / "gone" / "site-packages"), ""]) == ()


def test_nothing_heavy_is_loaded_and_no_code_is_run(site: Path, run: Run) -> None:
    install(site, *PUBLIC, {"compiled.json": public(NEWER)})
    import subprocess

    script = (
        "import sys\nfrom gradcompat.cli.main import main\nsys.argv = ['gradcompat', 'check', 'requirements.txt']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sorted({'pydantic', 'yaml', 'importlib.metadata', 'gradcompat_knowledge'} & set(sys.modules)))"
    )
    done: Any = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
