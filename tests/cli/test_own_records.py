"""``--knowledge FILE|DIR``: somebody's own records in every command that reads records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gradcompat.knowledge.load import load
from tests.conftest import Outcome, Run
from tests.knowledge.own_records import FIRST_LINE, own

REQUIREMENTS = "acme-trainer==3.1.3\n"
SECOND = own(("ACME-0001", "ACME-0002"), ("learning rate", "momentum"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRADCOMPAT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (tmp_path / "acme.yaml").write_text(own(), "utf-8")
    return tmp_path


def found(done: Outcome) -> list[str]:
    return [one["id"] for one in json.loads(done.out)["findings"]]


def last_line(done: Outcome) -> str:
    return done.out.splitlines()[-1]


def shipped() -> str:
    return f"{len(load().records)} records of {load().date}"


def test_a_file(here: Path, run: Run) -> None:
    assert run("check", "requirements.txt").status == 0
    done = run("check", "requirements.txt", "--knowledge", "acme.yaml")
    assert (done.status, done.err) == (1, "")
    assert last_line(done) == f"1 error ({shipped()} and 1 of acme.yaml)"
    done = run("check", "requirements.txt", "--knowledge", "acme.yaml", "--format", "json")
    knowledge = json.loads(done.out)["knowledge"]
    assert knowledge["records"] == len(load().records) + 1
    assert [(one["kind"], one["name"], one["records"]) for one in knowledge["sources"]] == [
        ("shipped", "gradcompat", len(load().records)),
        ("private", "acme.yaml", 1),
    ]


def test_a_folder(here: Path, run: Run) -> None:
    folder = here / "records"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "bad.yaml").write_text("[", "utf-8")
    (folder / ".bad.yaml").write_text("[", "utf-8")
    (folder / "README.md").write_text("records", "utf-8")
    (folder / "b.yaml").write_text(SECOND, "utf-8")
    (folder / "a.yml").write_text(own(), "utf-8")
    done = run("check", "requirements.txt", "--knowledge", "records")
    assert last_line(done) == f"2 errors ({shipped()}, 1 of records/a.yml and 1 of records/b.yaml)"
    (folder / "c.yaml").write_text(own(("level: error", "level: grave")), "utf-8")
    done = run("check", "requirements.txt", "--knowledge", "records")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error: `records/c.yaml:{FIRST_LINE}`: ACME-0001: level: ")
    (here / "empty").mkdir()
    assert run("check", "--knowledge", "empty").err.startswith("error: `empty`: holds no file of records\n")


def test_what_is_wrong_stops_everything(here: Path, run: Run) -> None:
    (here / "bad.yaml").write_text(own(("- {acme-trainer: 3.1.3}", "- {acme-trainer: 3.1.4}")), "utf-8")
    done = run("check", "requirements.txt", "--knowledge", "acme.yaml", "--knowledge", "bad.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"error: `bad.yaml:{FIRST_LINE}`: ACME-0001: the id is already used in another records file\n\n"
        "hint: `gradcompat knowledge lint --knowledge bad.yaml` lists what is wrong\n"
    )
    done = run("check", "requirements.txt", "--knowledge", "bad.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.splitlines()[0] == (
        f"error: `bad.yaml:{FIRST_LINE}`: ACME-0001: examples.affected.1 (acme-trainer): should be affected and is "
        "not_affected"
    )
    done = run("check", "requirements.txt", "--knowledge", "nowhere.yaml")
    assert done.err == "error: `nowhere.yaml`: cannot be read: No such file or directory\n"


def test_lint_lists_what_is_wrong(here: Path, run: Run) -> None:
    done = run("knowledge", "lint", "--knowledge", "acme.yaml")
    assert (done.status, done.out) == (0, "1 record, 0 measurements, no problems\n")
    assert run("knowledge", "lint", "acme.yaml").out == done.out
    (here / "bad.yaml").write_text(
        own(
            ("- {acme-trainer: 3.1.3}", "- {acme-trainer: 3.1.4}"),
            ("- {acme-trainer: 2.9.9}\n", "- {acme-trainer: 3.0.1}\n"),
        ),
        "utf-8",
    )
    for arguments in (("--knowledge", "bad.yaml"), ("bad.yaml",)):
        done = run("knowledge", "lint", *arguments)
        assert done.status == 1
        assert done.out.splitlines()[-1] == "1 record, 0 measurements, 3 problems"
        assert all(line.startswith(f"`bad.yaml:{FIRST_LINE}`: ACME-0001: ") for line in done.out.splitlines()[:-1])
    (here / "taken.yaml").write_text(own(("ACME-0001", "GC-0001")), "utf-8")
    done = run("knowledge", "lint", "--knowledge", "taken.yaml")
    assert done.status == 1
    assert "ids with GC- are those of gradcompat" in done.out


def test_a_project_names_them(here: Path, run: Run) -> None:
    (here / "pyproject.toml").write_text('[tool.gradcompat]\nknowledge = ["acme.yaml"]\n', "utf-8")
    inside = here / "inside"
    inside.mkdir()
    (inside / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (inside / "b.yaml").write_text(SECOND, "utf-8")
    assert last_line(run("check", "requirements.txt")) == f"1 error ({shipped()} and 1 of acme.yaml)"
    done = run("check", "requirements.txt", "--knowledge", "b.yaml", cwd=inside)
    assert last_line(done) == f"2 errors ({shipped()}, 1 of ../acme.yaml and 1 of b.yaml)"
    (here / "acme.yaml").unlink()
    assert run("check", "requirements.txt").status == 2


def test_every_command_that_reads_records(here: Path, run: Run) -> None:
    named = ("--knowledge", "acme.yaml")
    (here / "snapshot").mkdir()
    assert "upgrade acme-trainer" in run("plan", "requirements.txt", "--offline", *named).out
    assert run("fix", "requirements.txt", "--offline", "--dry-run", *named).status in (1, 3)
    # Nobody here knows which releases it has: that is said, and nothing is clean.
    done = run("constraints", "--all", "--only", "ACME-0001", "--offline", *named)
    sentence = "acme-trainer: its releases are not known here, so those in >=3.0.0,<3.1.4 are not excluded"
    assert (done.status, done.err) == (3, f"unverified: {sentence}\n")
    assert "nothing has to be constrained" not in done.out
    done = run("knowledge", "export", "--format", "renovate", *named)
    assert (done.status, done.err) == (3, f"left out: {sentence}\n")
    assert "ACME-0001" in run("knowledge", "export", "--format", "dependabot", *named).out
    assert run("explain", "ACME-0001", *named).out.startswith("ACME-0001 The learning rate")
    missing = run("explain", "ACME-0001")
    assert missing.err.endswith("hint: ids look like GC-0002; --knowledge names records of your own\n")
    assert "has no probe" in run("probe", "ACME-0001", *named).err
    (here / "train.log").write_text("acme-trainer 3.1.3\nsome line\n", "utf-8")
    assert run("diagnose", "train.log", *named).out.splitlines()[-1].endswith(f"({shipped()} and 1 of acme.yaml)")
    advisories = json.loads(run("knowledge", "export", "--format", "osv", *named).out)
    assert advisories[-1]["id"] == "x_ACME-0001"
    assert advisories[-1]["affected"][0]["package"]["name"] == "acme-trainer"
    assert run("check", "requirements.txt", "--ignore", "ACME-0001", *named).status == 0
    assert found(run("check", "requirements.txt", "--only", "acme-0001", "--format", "json", *named)) == ["ACME-0001"]


@pytest.mark.e2e
def test_the_server_answers_with_them(here: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcompat", "knowledge", "serve", "--port", "0", "--knowledge", "acme.yaml"],
        cwd=here,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        import httpx

        query = {"version": "3.1.3", "package": {"name": "acme-trainer", "ecosystem": "PyPI"}}
        answer = httpx.post(f"{url}/v1/query", json=query).json()
        assert [one["id"] for one in answer["vulns"]] == ["x_ACME-0001"]
    finally:
        process.kill()
        process.communicate()


def test_many_files_in_many_processes(here: Path, run: Run) -> None:
    names = [f"{number:02}/requirements.txt" for number in range(20)]
    for name in names:
        (here / name).parent.mkdir()
        (here / name).write_text(REQUIREMENTS, "utf-8")
    done = run("check", *names, "--knowledge", "acme.yaml", "--format", "json")
    assert found(done) == ["ACME-0001"] * 20


AGAIN = """\
import sys
from gradcompat.cli.main import main
sys.argv = ["gradcompat", "check", "requirements.txt", "--knowledge", "acme.yaml"]
try:
    main()
except SystemExit:
    pass
print(*sorted({"pydantic", "yaml", "httpx"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.e2e
def test_what_was_checked_is_not_checked_again(here: Path) -> None:
    def loaded() -> str:
        done = subprocess.run(
            [sys.executable, "-c", AGAIN], cwd=here, capture_output=True, text=True, check=True, timeout=120
        )
        assert "ACME-0001" in done.stdout
        return done.stderr.strip()

    assert loaded() == "pydantic yaml"
    assert loaded() == ""
    (here / "acme.yaml").write_text(own() + "# changed\n", "utf-8")
    assert loaded() == "pydantic yaml"
    (here / "cache").rename(here / "other")
    (here / "cache").write_text("no folder", "utf-8")
    assert loaded() == "pydantic yaml"  # nothing can be kept, and nothing is lost but time


def test_records_are_not_fetched(here: Path, run: Run) -> None:
    done = run("check", "requirements.txt", "--knowledge", "https://127.0.0.1:1/acme.yaml")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: `https://127.0.0.1:1/acme.yaml`: records are not fetched from an address\n")


def test_what_a_terminal_would_obey(here: Path, run: Run) -> None:
    name = "we\x1b[31mird\u202e.yaml"
    summary = (("summary: The", r'summary: "\e[31m\n::set-output name=a::b The'), ("one again\n", 'one again"\n'))
    text = own(*summary)
    (here / name).write_text(text, "utf-8")
    for form in ("text", "markdown", "github"):
        done = run("check", "requirements.txt", "--knowledge", name, "--format", form)
        assert done.status == 1
        assert "\x1b" not in done.out + done.err
        assert "\u202e" not in done.out + done.err
        assert not any(line.startswith("::set-output") for line in done.out.splitlines())


def test_a_new_record_of_one_s_own(here: Path, run: Run) -> None:
    done = run(
        "knowledge", "new", "acme.yaml", "--package", "acme-trainer >=4.0,<4.2", "--summary", "It stops",
        "--details", "Why.", "--category", "crash", "--loud", "--basis", "tags", "--level", "error", "--defect",
        "--symptom", "", "--reference", "REPORT https://tracker.acme.example/2", "--remedy",
        "upgrade acme-trainer >=4.2", "--evidence", "It was read.", "--condition", "",
    )  # fmt: skip
    assert "ACME-0002 is written behind the last record of acme.yaml" in done.out, done.err
