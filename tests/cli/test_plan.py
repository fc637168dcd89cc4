"""``plan``, ``fix`` and ``constraints`` end to end, with the snapshot that ships with the package as their index."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gradcompat.cli.app import app
from gradcompat.errors import EditError, UsageError
from tests.cli.indexed import CONFIG, LINUX
from tests.knowledge.own_records import own

REQUIREMENTS = """\
# what the run needs
torch==2.5.1
transformers==4.49.0  # pinned in spring
tokenizers==0.21.0
accelerate==1.4.0
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, "utf-8")
    (tmp_path / "train.yaml").write_text(CONFIG, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments, "--offline", *LINUX])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def plan_of(*arguments: str) -> dict[str, object]:
    loaded = json.loads(run("plan", *arguments, "--format", "json").stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_the_smallest_upgrade_is_planned_and_proven(project: Path) -> None:
    plan = plan_of("requirements.txt", "--context", "train.yaml")
    assert plan["changes"] == [
        {
            "package": "transformers",
            "version_from": "4.49.0",
            "version_to": "4.52.4",
            "direct": True,
            "kind": "upgrade",
            "cures": ["GC-0004", "GC-0005"],
            "because": [],
            "locations": [{"path": "requirements.txt", "line": 3}],
        }
    ]
    assert (plan["fixed"], plan["introduced"], plan["remaining"]) == (["GC-0004", "GC-0005"], [], [])
    verified = plan["verified"]
    assert isinstance(verified, dict)
    assert (verified["matched_again"], verified["requirements"], verified["smallest"]) == (True, True, True)


def test_the_planned_environment_is_clean(project: Path) -> None:
    for change in plan_of("requirements.txt", "--context", "train.yaml")["changes"]:  # type: ignore[attr-defined]
        text = (project / "requirements.txt").read_text("utf-8")
        moved = text.replace(change["version_from"], change["version_to"])
        (project / "requirements.txt").write_text(moved, "utf-8")
    again = plan_of("requirements.txt", "--context", "train.yaml")
    assert (again["changes"], again["exit_status"]) == ([], 0)


def test_a_package_that_must_not_move_does_not(project: Path) -> None:
    plan = plan_of("requirements.txt", "--context", "train.yaml", "--keep", "transformers")
    assert plan["changes"] == []
    assert [setting["key"] for setting in plan["settings"]] == [  # type: ignore[attr-defined]
        "training.gradient_accumulation_steps"
    ]


def test_the_text_says_what_changes_and_what_it_cures(project: Path) -> None:
    lines = run("plan", "requirements.txt", "--context", "train.yaml").stdout.splitlines()
    assert lines[0] == "requirements.txt: upgrade transformers 4.49.0 to 4.52.4"
    assert "    at         requirements.txt:3" in lines
    assert any(line.startswith("    cures      GC-0004 Loss and gradients of LLaVA models") for line in lines)


def test_markdown_links_the_advisory(project: Path) -> None:
    printed = run("plan", "requirements.txt", "--context", "train.yaml", "--format", "markdown").stdout
    assert "| upgrade transformers 4.49.0 to 4.52.4 | [GC\\-0004](https://github.com/" in printed


def test_nothing_to_change_is_said(project: Path) -> None:
    result = run("plan", "requirements.txt")
    first, rest = result.stdout.split("\n\n", 1)
    assert (result.exit_code, first) == (
        0,
        "requirements.txt: no known defect at level error or above is sure to apply, 1 could apply; "
        "--strict plans for those, too",
    )
    assert rest.startswith("To know more, add what you know with --set KEY=VALUE:\n")


def test_fix_shows_a_diff_and_writes_nothing(project: Path) -> None:
    result = run("fix", "requirements.txt", "--context", "train.yaml", "--dry-run")
    assert "-transformers==4.49.0  # pinned in spring\n+transformers==4.52.4  # pinned in spring\n" in result.stdout
    assert (project / "requirements.txt").read_text("utf-8") == REQUIREMENTS


def test_fix_writes_once_and_then_has_nothing_to_do(project: Path) -> None:
    run("fix", "requirements.txt", "--context", "train.yaml")
    fixed = REQUIREMENTS.replace("transformers==4.49.0", "transformers==4.52.4")
    assert (project / "requirements.txt").read_text("utf-8") == fixed
    again = run("fix", "requirements.txt", "--context", "train.yaml")
    assert again.exit_code == 0
    assert again.stderr.startswith("nothing has to change\n")
    assert (project / "requirements.txt").read_text("utf-8") == fixed


def test_fix_changes_a_setting_where_no_version_may_move(project: Path) -> None:
    run("fix", "requirements.txt", "--context", "train.yaml", "--keep", "transformers")
    expected = CONFIG.replace("gradient_accumulation_steps: 8  # 8 fit", "gradient_accumulation_steps: 1  # 8 fit")
    assert (project / "train.yaml").read_text("utf-8") == expected
    assert (project / "requirements.txt").read_text("utf-8") == REQUIREMENTS


def test_fix_refuses_a_file_that_it_may_not_write(project: Path) -> None:
    (project / "requirements.txt").chmod(0o444)
    with pytest.raises(EditError) as caught:
        run("fix", "requirements.txt", "--context", "train.yaml")
    assert str(caught.value) == "`requirements.txt`: is read-only; nothing was written"
    assert (project / "requirements.txt").read_text("utf-8") == REQUIREMENTS


def test_constraints_have_their_reason_above_them(project: Path) -> None:
    printed = run("constraints", "requirements.txt", "--context", "train.yaml").stdout
    blocks = printed.split("\n\n")
    assert blocks[0].startswith("# gradcompat: what makes these environments right, by the knowledge of ")
    assert blocks[1].startswith("# GC-0004: Loss and gradients of LLaVA models")
    assert blocks[1].endswith("# was 4.49.0 in requirements.txt\ntransformers==4.52.4\n")


def test_exclusions_hold_without_conditions(project: Path) -> None:
    text = own(
        ('acme-trainer: ">=3.0.0,<3.1.4"', 'acme-trainer: "==3.1.3"'),
        ("- {acme-trainer: 3.0.0}\n", "- {acme-trainer: 3.1.3}\n"),
    )
    (project / "acme.yaml").write_text(text, "utf-8")
    printed = run("constraints", "--all", "--fail-on", "warning", "--knowledge", "acme.yaml").stdout
    assert "acme-trainer!=3.1.3\n" in printed
    assert "GC-0004" not in printed  # it hangs on the model and on accumulation


def test_a_known_good_set_is_pinned(project: Path) -> None:
    printed = run("constraints", "--for", "transformers,peft", "--python-version", "3.11").stdout
    pins = dict(line.split("==") for line in printed.splitlines() if line and not line.startswith("#"))
    assert {"transformers", "peft", "tokenizers", "torch"} <= pins.keys()


def test_what_cannot_be_read_is_said_and_nothing_is_planned(project: Path) -> None:
    result = run("plan", "missing.lock")
    assert result.exit_code == 2
    assert "missing.lock" in result.stdout


def test_nothing_is_said_to_be_right_that_could_not_be_read(project: Path) -> None:
    (project / "empty.txt").write_bytes(b"")
    (project / "half.txt").write_text("transformers==4.57.6\n-r gone.txt\n", "utf-8")
    for command in ("fix", "constraints"):
        nothing = run(command, "empty.txt")
        assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (2, "", "not checked: empty.txt: is empty\n")
        half = run(command, "half.txt")
        assert half.exit_code == 3
        assert half.stderr.startswith("not checked: half.txt:2: ")
        assert "nothing has to" not in half.output
    assert "# not checked: half.txt:2: " in run("constraints", "half.txt").stdout
    planned = run("plan", "half.txt").stdout
    assert planned.startswith(
        "half.txt: no known defect of what could be read at level error or above is sure to apply"
    )


def test_three_questions_at_once_are_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="exclude one another"):
        run("constraints", "requirements.txt", "--all")


def test_packages_that_do_not_go_together_are_moved_by_the_plan(project: Path) -> None:
    (project / "pair.txt").write_text("torch==2.4.1\ntorchvision==0.20.0\n", "utf-8")
    plan = plan_of("pair.txt")
    assert plan["fixed"] == ["GC-0059"]
    assert [(one["package"], one["version_to"]) for one in plan["changes"]] == [("torch", "2.5.0")]  # type: ignore[attr-defined]
    checked = CliRunner().invoke(app, ["check", "pair.txt", *LINUX]).stdout
    assert "  fix       upgrade torch 2.4.1 to 2.5.0\n" in checked


MANY = """\
torch==2.5.1
transformers==4.44.0
accelerate==0.34.0
trl==0.10.1
peft==0.12.0
deepspeed==0.14.0
datasets==2.14.4
fsspec==2024.3.1
"""
SHORT_RUN = """\
from trl import SFTConfig, SFTTrainer

SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig("out", gradient_accumulation_steps=4, bf16=True)).train()
"""
OWN_RUN = """
from transformers import Trainer, TrainingArguments

Trainer(Own(), TrainingArguments("own", gradient_accumulation_steps=4), train_dataset=data).train()
"""


def ids_of(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"GC-\d{4}", text.replace("\\", ""))))


def test_plan_and_fix_tell_what_check_tells_in_the_same_order(project: Path) -> None:
    """What is sure, what could apply, what would decide more, what is dormant; as the report has them."""
    (project / "requirements.txt").write_text(MANY, "utf-8")
    (project / "train.yaml").unlink()
    (project / "train.py").write_text(SHORT_RUN + OWN_RUN, "utf-8")
    report = CliRunner().invoke(app, ["check", ".", *LINUX]).stdout
    assert "Could apply:" in report
    open_parts = report[report.index("Could apply:") : report.index("Not for you unless")]
    sure = ids_of(report[: report.index("Could apply:")])
    fixed = run("fix", ".", "--dry-run").stderr
    for told in (run("plan", ".").stdout, run("plan", ".", "--format", "markdown").stdout, fixed):
        plain = " ".join(told.replace("\\", "").split())
        parts = [part for part in ("Could apply:", "To know more", "Not for you unless") if part in report]
        assert [plain.index(part) for part in parts] == sorted(plain.index(part) for part in parts)
        assert ids_of(told[told.index("Could apply") :]) == ids_of(open_parts)
    plan = plan_of(".")
    assert isinstance(plan["fixed"], list)
    assert plan["fixed"] == [one for one in sure if one in plan["fixed"]]
    data = json.loads(CliRunner().invoke(app, ["check", ".", "--format", "json", *LINUX]).stdout)
    shown = [one["id"] for one in data["findings"] if one["status"] == "conditional" and one["shown"]]
    possible = plan["could_apply"]
    assert isinstance(possible, list)
    assert sorted(possible) == sorted(shown)
    assert plan["questions"] == data["questions"]
    asked = [*possible, *(one for question in data["questions"] for one in question["ids"])]
    assert ids_of(open_parts)[: len(asked)] == asked  # and then what is rare, and notes


def test_plan_and_fix_tell_which_ranges_are_judged_by_their_newest_release(project: Path) -> None:
    (project / "requirements.txt").write_text("torch>=2.4\ntransformers>=4.40,<4.50\npeft==0.17.1\n", "utf-8")
    (project / "train.yaml").unlink()
    (project / "train.py").write_text(SHORT_RUN.replace("Qwen/Qwen2.5-0.5B", "gpt2"), "utf-8")
    report = CliRunner().invoke(app, ["check", ".", *LINUX]).stdout
    ranges = report[report.index("  range: ") :].split("\n\n")[0].strip()
    assert run("plan", ".").stdout.strip().endswith(ranges)
    assert run("fix", ".", "--dry-run").stderr.strip().endswith(ranges)
    told = " ".join(run("plan", ".", "--format", "markdown").stdout.replace("\\", "").split())
    data = plan_of(".")["ranges"]
    assert isinstance(data, list)
    assert [(one["name"], one["line"]) for one in data] == [("torch", 1), ("transformers", 2)]
    assert all(one["newest"] and all(identifier in told for identifier in one["ids"][:2]) for one in data)


@pytest.mark.parametrize("command", ["plan", "fix"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nothing yet\n", "lists no packages: nothing was checked"),
        ('torch==2.5.1; python_version >= "3.8"\ntransformers===abc\n', "its version is not one"),
    ],
)
def test_what_could_not_be_judged_is_never_clean(command: str, text: str, said: str, project: Path) -> None:
    (project / "requirements.txt").write_text(text, "utf-8")
    outcome = run(command, "requirements.txt", *(["--dry-run"] if command == "fix" else []))
    assert outcome.exit_code == 3
    assert said in " ".join((outcome.stdout + outcome.stderr).split())
