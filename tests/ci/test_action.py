"""The action as a runner runs it: its steps in bash, a real repository and gradcompat; the forge is this machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
import yaml

from tests.ci.forge import Forge, forge
from tests.ci.projects import EXAMPLE, Remote, event, git, write
from tests.ci.running import ACTION, STEPS, Job, run_action
from tests.conftest import ROOT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        os.name != "posix" or shutil.which("bash") is None or shutil.which("git") is None, reason="needs bash and git"
    ),
]

PROGRAM = Path(sys.executable).with_name("gradcompat")
INSTALLED = {"python": sys.executable, "program": str(PROGRAM), "version": "0"}
MARK = "<!-- gradcompat gradcompat -->"


@pytest.fixture
def api() -> Iterator[Forge]:
    with forge() as it:
        yield it


class Project:
    """A repository, a checkout of it, and the action in a job."""

    def __init__(self, folder: Path, api: Forge, *, affected: bool) -> None:
        self.folder, self.api = folder, api
        self.remote = Remote(folder / "remote", affected=affected)
        self.here = folder / "checkout"
        self._runs = 0

    def pushed(self, **inputs: str) -> Job:
        """The job of a push to main."""
        self.remote.checkout(self.here, "refs/heads/main")
        return self.run({"ref": "refs/heads/main"}, {"GITHUB_REF": "refs/heads/main"}, inputs)

    def requested(
        self,
        *,
        affected: bool,
        name: str = "uv.lock",
        depth: int = 1,
        files: Mapping[str, str] = MappingProxyType({}),
        **inputs: str,
    ) -> Job:
        """The job of a pull request with a change of this kind."""
        self.remote.request(affected=affected, name=name, files=files)
        self.remote.checkout(self.here, "refs/pull/7/merge", depth)
        return self.run(self.request(), {"GITHUB_REF": "refs/pull/7/merge"}, inputs)

    def request(self) -> dict[str, object]:
        return {"pull_request": {"number": 7, "base": {"sha": self.remote.base}}}

    def run(self, data: object, environment: dict[str, str], inputs: dict[str, str]) -> Job:
        self._runs += 1
        temporary = self.folder / f"runner-{self._runs}"
        temporary.mkdir()
        return run_action(
            self.here,
            temporary,
            inputs={name.replace("_", "-"): text for name, text in inputs.items()},
            environment={
                "GITHUB_EVENT_PATH": event(temporary, data),
                "GITHUB_REPOSITORY": "someone/project",
                "GITHUB_SERVER_URL": "https://forge.example",
                "GITHUB_RUN_ID": "12",
                "GITHUB_GRAPHQL_URL": self.api.url,
                "NO_PROXY": "127.0.0.1",
                **environment,
            },
            others={"python": {"python-path": sys.executable}, "install": INSTALLED},
        )

    @property
    def summary(self) -> str:
        return (self.folder / f"runner-{self._runs}" / "summary.md").read_text("utf-8")


def results(job: Job) -> list[str]:
    (run,) = json.loads(Path(job.outputs["sarif"]).read_text("utf-8"))["runs"]
    return [result["ruleId"] for result in run["results"]]


def test_a_push_answers_for_everything(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=True)
    job = project.pushed()
    assert (job.status, job.outputs["exit-status"], job.outputs["findings"]) == (1, "1", "2"), job.log
    assert re.search(r"^::error file=uv.lock,line=791,.*title=GC-0004 ", job.log, re.MULTILINE)
    assert "[GC\\-0004]" in project.summary
    assert results(job) == ["GC-0004", "GC-0005"]
    assert job.used["Upload to code scanning"] == {"sarif_file": job.outputs["sarif"], "category": "gradcompat"}
    assert "[GC\\-0004]" in Path(job.outputs["report"]).read_text("utf-8")
    assert json.loads(Path(job.outputs["json"]).read_text("utf-8"))["exit_status"] == 1
    assert (job.outputs["base"], api.asked) == ("", [])


def test_a_clean_push_passes(tmp_path: Path, api: Forge) -> None:
    job = Project(tmp_path, api, affected=False).pushed()
    assert (job.status, job.outputs["exit-status"], job.outputs["findings"]) == (0, "0", "0"), job.log


def test_one_comment_follows_a_pull_request(tmp_path: Path, api: Forge) -> None:
    for text in ("Nice.", "Why?", f"{MARK}\nI am not you."):
        api.write(text)
    project = Project(tmp_path, api, affected=False)

    job = project.requested(affected=True)
    assert (job.status, job.outputs["findings"], job.outputs["base"]) == (1, "2", project.remote.base), job.log
    assert "[GC\\-0004]" in project.summary
    assert api.asked == ["add"]
    comment = api.comments[-1].body
    assert comment.startswith(f"{MARK}\nWhat this pull request brings:\n\n**gradcompat**: 1 error")
    assert "[GC\\-0004]" in comment

    assert project.requested(affected=True).status == 1
    assert api.asked == ["add"]  # nothing changed

    job = project.requested(affected=False)
    assert (job.status, job.outputs["findings"]) == (0, "0"), job.log
    assert api.asked == ["add", "edit"]
    assert (
        api.comments[-1].body == f"{MARK}\n**gradcompat**: no new findings. What this comment said before is cured.\n"
    )

    assert project.requested(affected=True).status == 1
    assert api.asked == ["add", "edit", "edit"]
    assert api.comments[-1].body == comment
    assert [one.body for one in api.comments[:3]] == ["Nice.", "Why?", f"{MARK}\nI am not you."]
    assert len(api.comments) == 4


def test_a_pull_request_answers_for_what_it_brings(tmp_path: Path, api: Forge) -> None:
    job = Project(tmp_path, api, affected=True).requested(affected=True)
    assert (job.status, job.outputs["findings"]) == (0, "0"), job.log
    assert results(job) == ["GC-0004", "GC-0005"]  # code scanning compares on its own
    assert (api.asked, api.comments) == ([], [])
    assert not re.search(r"^::(error|warning)", job.log, re.MULTILINE)


@pytest.mark.parametrize("diff", ["auto", "none"])
def test_a_pull_request_does_not_choose_its_options(tmp_path: Path, api: Forge, diff: str) -> None:
    project = Project(tmp_path, api, affected=False)
    options = {"gradcompat.toml": 'ignore = ["GC-0004"]\nfail-on = "never"\n[settings]\ntraining.seed = 1\n'}
    job = project.requested(affected=True, files=options, diff=diff)
    assert (job.status, job.outputs["findings"]) == (1, "2"), job.log
    assert results(job) == ["GC-0004", "GC-0005"]
    told = "take effect after the merge: `fail-on`, `ignore` and `settings`"
    assert told.replace("`", "") in project.summary.replace("\\", "").replace("`", "")
    assert "take effect after the merge" in job.log


def test_a_change_of_the_options_alone_is_told_in_the_comment(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=True)
    waived = '[[waivers]]\nid = "GC-0004"\nreason = "![x](https://evil.example) @all"\n'
    job = project.requested(affected=True, files={"gradcompat.toml": waived})
    assert job.status == 0, job.log
    (comment,) = api.comments
    text = comment.body.replace("\\", "")
    assert text.startswith(f"{MARK}\n**gradcompat**: no new findings.\n")
    assert "take effect after the merge: a waiver of GC-0004" in text
    assert "cured" not in text


def test_without_a_base_a_pull_request_answers_for_everything(tmp_path: Path, api: Forge) -> None:
    job = Project(tmp_path, api, affected=True).requested(affected=True, diff="none")
    assert (job.status, job.outputs["findings"], job.outputs["base"], api.asked) == (1, "2", "", [])


def test_a_base_that_was_not_fetched_is_an_error(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=True)
    project.remote.request(affected=True)
    project.remote.checkout(project.here, "refs/pull/7/merge")
    git(project.here, "remote", "set-url", "origin", (tmp_path / "gone").as_uri())
    job = project.run(project.request(), {"GITHUB_REF": "refs/pull/7/merge"}, {})
    assert (job.status, job.outputs["findings"]) == (2, "")
    assert "fetch-depth: 0" in job.log
    assert (api.asked, api.comments) == ([], [])


def test_the_head_alone_needs_its_history(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=False)
    project.remote.request(affected=True)
    for depth, status in ((1, 2), (50, 1)):
        project.remote.checkout(project.here, "refs/heads/change", depth)
        job = project.run(project.request(), {"GITHUB_REF": "refs/pull/7/merge"}, {})
        assert job.status == status, job.log


def test_a_group_of_changes_is_compared_with_its_base(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=True)
    project.remote.request(affected=True)
    project.remote.checkout(project.here, "refs/pull/7/merge")
    data = {"merge_group": {"base_sha": project.remote.base}}
    job = project.run(data, {"GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7"}, {})
    assert (job.status, job.outputs["base"], api.asked) == (0, project.remote.base, []), job.log


@pytest.mark.parametrize("sha", [None, "main", "--output=x", "0" * 39])
def test_an_event_that_names_no_commit_is_an_error(tmp_path: Path, api: Forge, sha: str | None) -> None:
    project = Project(tmp_path, api, affected=True)
    project.remote.checkout(project.here, "refs/heads/main")
    job = project.run({"pull_request": {"number": 7, "base": {"sha": sha}}}, {}, {})
    assert job.status == 1
    assert "::error title=gradcompat::the event names no commit" in job.log


def test_a_token_that_may_not_write_changes_nothing_else(tmp_path: Path, api: Forge) -> None:
    api.read_only = True
    job = Project(tmp_path, api, affected=False).requested(affected=True)
    assert (job.status, job.outputs["findings"]) == (1, "2")
    assert re.search(r"^::warning title=gradcompat::No comment was written: .* from a fork", job.log, re.MULTILINE)


def test_what_could_not_be_checked_is_not_called_cured(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=False)
    api.write(f"{MARK}\nWhat this pull request brings:\n\nmuch", own=True)
    git(project.remote.folder, "checkout", "--quiet", "-b", "unreadable")
    (project.remote.folder / "new").mkdir()
    (project.remote.folder / "new" / "uv.lock").write_text("version = 99\n")
    git(project.remote.folder, "checkout", "--quiet", "main")
    job = project.requested(affected=False, name="other/uv.lock")
    assert (job.status, job.outputs["exit-status"]) == (3, "3"), job.log
    assert "no new findings" not in api.comments[0].body
    assert "not checked" in api.comments[0].body


def test_inputs_are_data(tmp_path: Path, api: Forge) -> None:
    project = Project(tmp_path, api, affected=True)
    here = "$(touch pwned); `touch pwned`\"'/uv.lock"
    write(project.remote.folder, affected=True, name=here)
    git(project.remote.folder, "add", "--all")
    git(project.remote.folder, "commit", "--quiet", "--message", "Odd")
    asked = {"targets": f"  {here}\r\n\n", "set": "model.architecture=$(touch pwned)", "args": "--strict"}
    job = project.pushed(**asked, category="$(touch pwned)", working_directory=".")
    assert job.status == 1, job.log
    assert [one["source"] for one in json.loads(Path(job.outputs["json"]).read_text("utf-8"))["environments"]] == [here]
    assert not any(path.name == "pwned" for path in tmp_path.rglob("*"))


def test_every_option_arrives(tmp_path: Path, api: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = tmp_path / "recorder"
    recorder.write_text(f"""#!/bin/sh
printf '%s\\n' "$@" > '{tmp_path}/arguments'
exec '{PROGRAM}' "$@"
""")
    recorder.chmod(0o755)
    monkeypatch.setitem(INSTALLED, "program", str(recorder))
    project = Project(tmp_path, api, affected=True)
    (project.remote.folder / "known.json").write_text("{}")
    git(project.remote.folder, "add", "--all")
    git(project.remote.folder, "commit", "--quiet", "--message", "Known")
    job = project.pushed(
        targets="checkout/uv.lock\ncheckout/README.md",
        context="checkout/train.yaml",
        set="training.seed=1\nmodel.architecture=X",
        fail_on="warning",
        strict="true",
        baseline="checkout/known.json",
        args="--all\n--ignore=GC-0004",
        working_directory="..",
    )
    assert job.status == 2  # the baseline is none
    folder = next(tmp_path.glob("runner-1/gradcompat-reports-*"))
    assert (tmp_path / "arguments").read_text().splitlines() == [
        *("check", "--context=checkout/train.yaml", "--set=training.seed=1", "--set=model.architecture=X"),
        *("--fail-on=warning", "--baseline=checkout/known.json", "--strict", "--all", "--ignore=GC-0004"),
        *(f"--output=json={folder}/gradcompat.json", "--output=github=-", f"--output=sarif={folder}/gradcompat.sarif"),
        "--hide-suppressed",
        *(f"--output=markdown={folder}/gradcompat.md", "--", "checkout/uv.lock", "checkout/README.md"),
    ]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"strict": "yes"}, "`strict` is true or false, and not `yes`"),
        ({"version": "1; touch x"}, "`version` is a release such as 1.2.3, and not `1; touch x`"),
    ],
)
def test_wrong_inputs_are_said(tmp_path: Path, api: Forge, inputs: dict[str, str], said: str) -> None:
    job = Project(tmp_path, api, affected=False).pushed(**inputs)
    assert job.status == 1
    assert f"::error title=gradcompat::{said}\n" in job.log


def test_wrong_options_are_gradcompats_to_say(tmp_path: Path, api: Forge) -> None:
    job = Project(tmp_path, api, affected=False).pushed(fail_on="sometimes")
    assert (job.status, job.outputs["exit-status"], job.outputs["sarif"]) == (2, "2", "")
    assert "error: " in job.log


def test_a_gradcompat_that_breaks_is_not_taken_for_findings(
    tmp_path: Path, api: Forge, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setitem(INSTALLED, "program", str(broken))
    job = Project(tmp_path, api, affected=False).requested(affected=True)
    assert (job.status, job.outputs["exit-status"], job.outputs["findings"]) == (70, "70", "")
    assert api.asked == []


@pytest.mark.network
def test_it_installs_itself_apart_from_the_project(tmp_path: Path) -> None:
    here, temporary = tmp_path / "checkout", tmp_path / "runner"
    shutil.copytree(EXAMPLE, here)
    temporary.mkdir()
    for name in ("venv.py", "pip.py", "json.py", "gradcompat.py"):
        (here / name).write_text("raise SystemExit('a module of the project was run')\n")
    job = run_action(here, temporary, inputs={"cache": "false"}, environment={}, others={"python": {}})
    assert job.status == 1, job.log
    assert job.outputs["findings"] == "2"
    assert list(here.rglob("*.pyc")) == []


def test_expressions_stand_where_they_cannot_be_run() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        assert "${{" not in step.get("shell", "")


def test_every_input_is_used_and_every_output_exists() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == set(ACTION["inputs"])
    ids = {step["id"] for step in STEPS if "id" in step}
    assert set(re.findall(r"steps\.([a-z-]+)\.outputs", text)) <= ids


def test_other_actions_are_pinned_by_commit() -> None:
    lines = re.findall(r"uses: (.*)", (ROOT / "action.yml").read_text("utf-8"))
    assert len(lines) == 3
    for line in lines:
        assert re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)


def test_the_shell_of_its_steps_is_sound() -> None:
    shellcheck = shutil.which("shellcheck", path=f"{PROGRAM.parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if shellcheck is None:
        pytest.skip("shellcheck is not installed")
    for step in STEPS:
        if "run" in step:
            script = f"#!/bin/bash\n{''.join(f'export {name}=x{chr(10)}' for name in step['env'])}{step['run']}\n"
            done = subprocess.run([shellcheck, "-"], input=script, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout


def test_it_is_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schemas = pytest.importorskip("check_jsonschema")
    path = Path(schemas.__file__).parent / "builtin_schemas" / "vendor" / "github-actions.json"
    jsonschema.Draft7Validator(json.loads(path.read_text("utf-8"))).validate(ACTION)


def test_it_is_one_document_that_nothing_is_said_twice_in() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    assert yaml.safe_load(text) == ACTION
    assert len(re.findall(r"^(?:inputs|outputs|runs):", text, re.MULTILINE)) == 3
