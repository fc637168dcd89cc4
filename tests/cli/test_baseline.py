"""``check --baseline``: what an earlier report has does not count again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.audit.options import AuditOptions
from gradcompat.errors import UsageError
from gradcompat.suppression.baseline import judging_by
from tests.cli.test_diff import ACCUMULATION, CONFIG, HEAD, LOCK, lock, told
from tests.conftest import Outcome, Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "uv.lock").write_text(LOCK)
    (tmp_path / "a" / "train.yaml").write_text(CONFIG.format(steps=8))
    (tmp_path / "b" / "uv.lock").write_text(lock(torch="2.5.1"))
    return tmp_path


def baseline(run: Run, *targets: str) -> None:
    run("check", *(targets or (".",)), "--output", "json=baseline.json")


def again(run: Run, *arguments: str, cwd: Path | None = None, file: str = "baseline.json") -> Outcome:
    outcome = run("check", *(arguments or (".",)), "--baseline", file, "--format", "json", cwd=cwd)
    assert "Traceback" not in outcome.err
    return outcome


def new(outcome: Outcome) -> set[tuple[str, str]]:
    """Record and status of what counts, as far as it is found."""
    return {
        (one["id"], one["status"])
        for one in json.loads(outcome.out)["findings"]
        if one["suppressed"] is None and one["status"] != "dormant"
    }


def remarks(outcome: Outcome) -> list[str]:
    return [one["text"] for one in json.loads(outcome.out)["remarks"]]


def test_what_is_in_the_baseline_does_not_count(run: Run, folder: Path) -> None:
    baseline(run)
    outcome = again(run)
    assert run("check", ".").status == 1
    assert outcome.status == 0
    assert new(outcome) == set()
    assert remarks(outcome) == []
    (one,) = [one for one in json.loads(outcome.out)["findings"] if one["id"] == ACCUMULATION]
    assert (one["suppressed"]["kind"], one["suppressed"]["path"]) == ("baseline", "baseline.json")


def test_the_first_use_in_one_command(run: Run, folder: Path) -> None:
    """A baseline is written again with what was found and with what it had."""
    baseline(run)
    (folder / "b" / "train.yaml").write_text(CONFIG.format(steps=2))
    (folder / "b" / "uv.lock").write_text(LOCK)
    first = again(run, ".", "--output", "json=next.json")
    assert (ACCUMULATION, "affected") in new(first)
    run("check", ".", "--baseline", "baseline.json", "--output", "json=baseline.json")
    assert (again(run).status, new(again(run))) == (0, set())


def test_lines_and_affected_versions_may_move(run: Run, folder: Path) -> None:
    baseline(run)
    moved = "# one line more\n" + lock(numpy="2.0.0", torch="2.5.1", transformers="4.50.0")
    (folder / "a" / "uv.lock").write_text(moved)
    assert ACCUMULATION not in {identifier for identifier, _ in new(again(run))}


def test_another_file_is_another_finding(run: Run, folder: Path) -> None:
    baseline(run)
    (folder / "b" / "uv.lock").write_text(LOCK)
    (folder / "b" / "train.yaml").write_text(CONFIG.format(steps=8))
    outcome = again(run)
    assert outcome.status == 1
    assert (ACCUMULATION, "affected") in new(outcome)


def test_a_condition_that_turned_out_to_hold(run: Run, folder: Path) -> None:
    (folder / "a" / "train.yaml").unlink()
    baseline(run)
    assert again(run).status == 0
    (folder / "a" / "train.yaml").write_text(CONFIG.format(steps=8))
    outcome = again(run)
    assert outcome.status == 1
    assert (ACCUMULATION, "affected") in new(outcome)


def test_what_was_dormant_is_new_once_it_applies(run: Run, folder: Path) -> None:
    """A feature that comes into use shows what hangs on it, whatever the baseline has of the record."""
    (folder / "a" / "train.yaml").unlink()
    baseline(run)
    written = json.loads((folder / "baseline.json").read_text())["findings"]
    statuses = {one["status"] for one in written if (one["id"], one["source"]) == (ACCUMULATION, "a/uv.lock")}
    assert statuses == {"dormant"}
    assert (again(run).status, remarks(again(run))) == (0, [])
    (folder / "a" / "train.yaml").write_text(CONFIG.format(steps=8))
    outcome = again(run)
    assert (outcome.status, (ACCUMULATION, "affected") in new(outcome)) == (1, True)


def test_what_was_dormant_is_new_once_it_could_apply(run: Run, folder: Path) -> None:
    (folder / "a" / "train.yaml").unlink()
    baseline(run)
    (folder / "a" / "train.yaml").write_text(CONFIG.format(steps="${STEPS}"))
    assert (ACCUMULATION, "conditional") in new(again(run))


def test_what_is_less_sure_now_is_known(run: Run, folder: Path) -> None:
    baseline(run)
    (folder / "a" / "train.yaml").write_text(CONFIG.format(steps="${STEPS}"))
    assert ACCUMULATION not in {identifier for identifier, _ in new(again(run))}


def test_another_run_with_the_setting(run: Run, folder: Path) -> None:
    baseline(run)
    (folder / "a" / "again.yaml").write_text(CONFIG.format(steps=4))
    assert (ACCUMULATION, "affected") in new(again(run))


def test_another_run_is_nothing_to_a_defect_of_versions(run: Run, tmp_path: Path) -> None:
    """It hangs on no setting, so it was in every run before."""
    (tmp_path / "uv.lock").write_text(lock(flagembedding="1.3.3", transformers="4.48.3"))
    (tmp_path / "train.yaml").write_text(CONFIG.format(steps=1))
    baseline(run)
    affected = {one["id"] for one in json.loads(run("check", ".", "--format", "json").out)["findings"]}
    assert affected
    (tmp_path / "again.yaml").write_text(CONFIG.format(steps=1))
    assert {one for one in new(again(run)) if one[1] == "affected"} == set()


def test_from_the_root_and_from_elsewhere(run: Run, folder: Path) -> None:
    (folder / ".git").mkdir()
    baseline(run)
    for cwd, targets in (
        (folder, (".",)),
        (folder, ("a", "b")),
        (folder, ("./a/uv.lock", "a/train.yaml")),
        (folder, (str(folder),)),
        (folder / "a", ("..",)),
        (folder / "a", (".",)),
        (folder / "b", ("../a",)),
    ):
        outcome = again(run, *targets, cwd=cwd, file=str(folder / "baseline.json"))
        assert (outcome.status, new(outcome)) == (0, set()), targets


def test_what_is_gone_is_told(run: Run, folder: Path) -> None:
    (folder / "b" / "uv.lock").write_text(lock(torch="2.7.1", transformers="4.49.0"))
    baseline(run)
    report = json.loads((folder / "baseline.json").read_text())
    had = [one for one in report["findings"] if one["source"] == "b/uv.lock" and one["status"] != "dormant"]
    (folder / "b" / "uv.lock").write_text(lock(numpy="2.0.0"))
    assert len(had) > 1
    (text,) = remarks(again(run))
    assert text == f"{len(had)} findings of the baseline are gone: update it, or they can come back unnoticed"
    # What was not looked at is not gone.
    assert remarks(again(run, "a")) == []
    assert remarks(again(run, ".", "--only", ACCUMULATION)) == []
    assert remarks(again(run, ".", *(f"--ignore={one['id']}" for one in had))) == []


def test_what_does_not_apply_any_more_is_gone(run: Run, folder: Path) -> None:
    baseline(run)
    (folder / "a" / "train.yaml").write_text(CONFIG.format(steps=1))
    told_now = [remarks(again(run, "a", *more)) for more in ((), ("--all",))]
    assert told_now[0] == told_now[1] != []


def test_a_gap_is_never_hidden(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r gone.txt\ntransformers==4.49.0\n")
    baseline(run)
    assert again(run).status == 3
    (tmp_path / "uv.lock").write_text("broken")
    baseline(run)
    assert again(run).status == 3


@pytest.mark.parametrize(("kind", "status"), [("waiver", 1), ("baseline", 0), ("diff", 0)])
def test_what_was_set_aside_when_it_was_written(run: Run, folder: Path, kind: str, status: int) -> None:
    """A waiver that has ended since has to show what it hid; what was old then is old now."""
    baseline(run)
    report = json.loads((folder / "baseline.json").read_text())
    for one in report["findings"]:
        one["suppressed"] = {"kind": kind, "reason": "…", "path": "x", "line": None, "until": None}
    (folder / "baseline.json").write_text(json.dumps(report))
    assert again(run).status == status


REPORT = {"schema_version": 1, "environments": [], "findings": [], "exit_status": 0}
FINDING = {"id": "GC-0004", "status": "affected", "source": "uv.lock", "fingerprint": "0" * 32, "contexts": []}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no such file or folder"),
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        (json.dumps(REPORT)[:-20], "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("null", "is not a report of `gradcompat check`"),
        ("[]", "is not a report of `gradcompat check`"),
        ("{}", "is not a report of `gradcompat check`"),
        ('{"changes": [], "exit_status": 0}', "is not a report of `gradcompat check`"),
        (HEAD, "not valid JSON"),
        ('{"version": "2.1.0", "runs": []}', "is SARIF"),
        (json.dumps({**REPORT, "schema_version": 2}), "is a report of schema version 2"),
        (json.dumps({**REPORT, "schema_version": "1"}), "is a report of schema version '1'"),
        (json.dumps({**REPORT, "schema_version": True}), "is a report of schema version True"),
        (json.dumps({**REPORT, "findings": {}}), "`findings` is not a list"),
        (json.dumps({**REPORT, "findings": [1]}), "`findings[0]` is not a finding"),
        (json.dumps({**REPORT, "findings": [{**FINDING, "fingerprint": None}]}), "`findings[0]` has no `fingerprint`"),
        (json.dumps({**REPORT, "findings": [{**FINDING, "id": ""}]}), "`findings[0]` has no `id`"),
        (json.dumps({**REPORT, "findings": [{**FINDING, "status": "fine"}]}), "`findings[0].status` is 'fine'"),
        (json.dumps({**REPORT, "findings": [{**FINDING, "contexts": 1}]}), "`findings[0].contexts` is not a list"),
        (
            json.dumps({**REPORT, "findings": [{**FINDING, "suppressed": 1}]}),
            "`findings[0].suppressed` is not an object",
        ),
        (json.dumps({**REPORT, "findings": [FINDING, FINDING]}), "`findings[1]` is there twice"),
        ("a\0\0b", "is binary"),
    ],
)
def test_a_baseline_that_is_none(run: Run, folder: Path, text: str | None, message: str) -> None:
    if text is not None:
        (folder / "baseline.json").write_text(text)
    said = told(again(run))
    assert message in said
    assert "`baseline.json" in said
    assert "hint: " in said


def test_a_baseline_in_a_folder_or_from_a_device(run: Run, folder: Path) -> None:
    assert "is a folder" in told(again(run, file="a"))
    assert "a pipe, a socket or a device" in told(again(run, file="/dev/null"))


@given(st.binary(max_size=400))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("bytes") / "baseline.json"
    file.write_bytes(data)
    with pytest.raises(UsageError):
        judging_by(str(file), AuditOptions())


def _refusal(file: Path) -> str | None:
    """The line that says why it is no baseline; None for one that is."""
    try:
        judging_by(str(file), AuditOptions())
    except UsageError as error:
        return str(error)
    return None


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["schema_version", "environments", "findings", "runs"]), ANYTHING, max_size=4))
def test_any_json(tmp_path_factory: pytest.TempPathFactory, content: dict[str, Any]) -> None:
    file = tmp_path_factory.mktemp("json") / "baseline.json"
    file.write_text(json.dumps(content))
    refusal = _refusal(file)
    assert refusal is None or (str(file) in refusal and "\n" not in refusal)


@given(st.lists(st.fixed_dictionaries({key: st.just(value) | ANYTHING for key, value in FINDING.items()}), max_size=3))
def test_any_findings(tmp_path_factory: pytest.TempPathFactory, findings: list[dict[str, Any]]) -> None:
    file = tmp_path_factory.mktemp("findings") / "baseline.json"
    file.write_text(json.dumps({**REPORT, "findings": findings}))
    refusal = _refusal(file)
    assert refusal is None or (str(file) in refusal and "\n" not in refusal)
