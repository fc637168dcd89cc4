"""``check --diff``: against real repositories, as they are and as somebody hostile would make them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from gradcompat.errors import UsageError
from gradcompat.suppression.git import Commit
from gradcompat.suppression.git import Repository as Read
from gradcompat.suppression.revision_tree import Earlier, Wanted, materialize_tree
from tests.cli.repositories import ENVIRONMENT, Repository, repository
from tests.conftest import Outcome, Run

pytestmark = pytest.mark.e2e

HEAD = 'version = 1\nrequires-python = ">=3.10"\n'
SOURCE = 'source = { registry = "https://index.example/simple" }'
CONFIG = """\
model_name_or_path: llava-hf/llava-1.5-7b-hf
dataset_name: some/data
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: {steps}
"""
ACCUMULATION = "GC-0004"  # transformers 4.49 to 4.51, LLaVA, accumulation of more than one step


def lock(**versions: str) -> str:
    entries = [
        f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n{SOURCE}\n' for name, version in versions.items()
    ]
    return HEAD + "".join(entries)


LOCK = lock(torch="2.5.1", transformers="4.49.0")


@pytest.fixture
def check(run: Run, tmp_path: Path) -> Any:
    """``check(repository, *arguments)``: the outcome of ``check --format json`` there."""

    def check_it(
        where: Repository | Path, *arguments: str, form: str = "json", env: Mapping[str, str] = MappingProxyType({})
    ) -> Outcome:
        (tmp_path / "scratch").mkdir(exist_ok=True)
        folder = where.path if isinstance(where, Repository) else where
        outcome = run(
            *("check", *arguments, "--format", form),
            cwd=folder,
            env={**ENVIRONMENT, "TMPDIR": str(tmp_path / "scratch"), **env},
        )
        assert list((tmp_path / "scratch").iterdir()) == []  # nothing is left behind
        assert "Traceback" not in outcome.err
        return outcome

    return check_it


def found(outcome: Outcome, status: str = "affected") -> tuple[set[str], set[str]]:
    """The ids that count, and those that are set aside because they were there before."""
    findings = [one for one in json.loads(outcome.out)["findings"] if one["status"] == status]
    before = {one["id"] for one in findings if (one["suppressed"] or {}).get("kind") == "diff"}
    return {one["id"] for one in findings if one["suppressed"] is None}, before


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    return repository(tmp_path / "repo", {"uv.lock": LOCK, "train.yaml": CONFIG.format(steps=8)})


def test_what_was_there_before_does_not_count(repo: Repository, check: Any) -> None:
    plain = check(repo, ".")
    outcome = check(repo, ".", "--diff", "main")
    assert plain.status == 1
    assert outcome.status == 0
    assert ACCUMULATION in found(plain)[0]
    assert found(outcome) == (set(), found(plain)[0])
    assert found(outcome, "conditional") == (set(), found(plain, "conditional")[0])


def test_nothing_of_the_repository_changes(repo: Repository, check: Any) -> None:
    def state() -> list[Any]:
        # The index and the refs byte by byte, and the work tree with its times.
        return [
            (str(file), file.stat().st_mtime_ns, file.read_bytes())
            for file in sorted(repo.path.rglob("*"))
            if file.is_file()
        ]

    repo.write({"uv.lock": lock(torch="2.6.0"), "new.txt": "not added"})
    (repo.path / "train.yaml").touch()  # the index would like to be refreshed
    before = state()
    check(repo, ".", "--diff", "HEAD")
    assert state() == before


def test_a_version_that_brings_a_defect(repo: Repository, check: Any) -> None:
    repo.commit({"uv.lock": lock(torch="2.5.1", transformers="4.52.4")})
    repo.git("checkout", "--quiet", "-b", "bump")
    repo.commit({"uv.lock": LOCK})
    new, before = found(check(repo, ".", "--diff", "main"))
    assert ACCUMULATION in new
    assert ACCUMULATION not in before


def test_another_affected_version_is_not_new(repo: Repository, check: Any) -> None:
    repo.write({"uv.lock": "# moved by a line\n" + lock(torch="2.5.1", transformers="4.50.0")})
    new, before = found(check(repo, ".", "--diff", "main"))
    assert ACCUMULATION in before
    assert ACCUMULATION not in new


def test_a_setting_that_brings_a_defect(repo: Repository, check: Any) -> None:
    repo.commit({"train.yaml": CONFIG.format(steps=1)})
    repo.write({"train.yaml": CONFIG.format(steps=8)})
    outcome = check(repo, ".", "--diff", "HEAD")
    assert outcome.status == 1
    assert ACCUMULATION in found(outcome)[0]


def test_a_second_run_with_the_same_defect(repo: Repository, check: Any) -> None:
    repo.write({"again.yaml": CONFIG.format(steps=4)})
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD"))[0]


def test_a_condition_that_turns_out_to_hold(repo: Repository, check: Any) -> None:
    repo.git("rm", "--quiet", "train.yaml")
    repo.commit()
    assert ACCUMULATION in found(check(repo, "."), "dormant")[0]
    repo.write({"train.yaml": CONFIG.format(steps="${STEPS}")})
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD"), "conditional")[0]
    repo.commit()
    repo.write({"train.yaml": CONFIG.format(steps=8)})
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD"))[0]


def test_a_setting_in_the_projects_options(repo: Repository, check: Any) -> None:
    options = "[tool.gradcompat.settings]\ntraining.gradient_accumulation_steps = {}\n"
    repo.git("rm", "--quiet", "train.yaml")
    model = ("--set", "model.architecture=LlavaForConditionalGeneration")
    repo.commit({"pyproject.toml": options.format(1)})
    repo.write({"pyproject.toml": options.format(8)})
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD", *model))[0]
    repo.commit()
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD", *model))[1]


def test_settings_in_a_file_of_their_own(repo: Repository, check: Any) -> None:
    repo.git("rm", "--quiet", "train.yaml")
    model = ("--set", "model.architecture=LlavaForConditionalGeneration")
    options = "[settings]\ntraining.gradient_accumulation_steps = {}\n"
    repo.commit({"gradcompat.toml": options.format(1)})
    repo.write({"gradcompat.toml": options.format(8)})
    assert ACCUMULATION in found(check(repo, ".", "--diff", "HEAD", *model))[0]


def test_a_waiver_and_a_baseline_speak_first(repo: Repository, check: Any) -> None:
    repo.write({"gradcompat.toml": f'[[waivers]]\nid = "{ACCUMULATION}"\nreason = "We know."\n'})
    check(repo, ".", "--only", "GC-0014", "--fail-on", "never", "--output", "json=known.json", form="text")
    outcome = check(repo, ".", "--baseline", "known.json", "--diff", "HEAD")
    assert outcome == check(repo, ".", "--diff", "HEAD", "--baseline", "known.json")
    findings = json.loads(outcome.out)["findings"]
    kinds = {one["id"]: one["suppressed"]["kind"] for one in findings if one["suppressed"]}
    assert (kinds.pop(ACCUMULATION), kinds.pop("GC-0014")) == ("waiver", "baseline")
    assert set(kinds.values()) == {"diff"}
    assert outcome.status == 0


def test_the_base_is_where_the_branch_began(repo: Repository, check: Any) -> None:
    """What main has mended meanwhile is not the branch's doing."""
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit({"README.md": "words"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"uv.lock": lock(torch="2.5.1", transformers="4.52.4")})
    repo.git("checkout", "--quiet", "work")
    outcome = check(repo, ".", "--diff", "main")
    assert outcome.status == 0
    assert ACCUMULATION in found(outcome)[1]


@pytest.mark.parametrize("base", ["main", "HEAD~1", "v1", "origin/main", "@{1}", "sha"])
def test_ways_to_name_a_revision(repo: Repository, check: Any, base: str) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.git("tag", "v1")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    if base == "main":
        repo.git("checkout", "--quiet", "-b", "work")
    repo.commit({"again.yaml": CONFIG.format(steps=4)})
    new, _ = found(check(repo, ".", "--diff", first[:10] if base == "sha" else base))
    assert ACCUMULATION in new


@pytest.mark.parametrize("committed", [True, False])
def test_a_folder_that_moved(repo: Repository, check: Any, committed: bool) -> None:
    (repo.path / "projects").mkdir()
    for name in ("uv.lock", "train.yaml"):
        repo.git("mv", name, f"projects/{name}")
    if committed:
        repo.git("checkout", "--quiet", "-b", "work")
        repo.commit()
    for targets in (["."], ["projects"], ["projects/uv.lock", "--context", "projects/train.yaml"]):
        outcome = check(repo, *targets, "--diff", "main")
        assert (outcome.status, found(outcome)[0]) == (0, set()), targets
        assert ACCUMULATION in found(outcome)[1]


def test_targets_are_called_in_any_way(repo: Repository, check: Any, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo.path)
    repo.write({"sub/other.txt": "words"})
    ways: list[tuple[Path, list[str]]] = [
        (repo.path, ["uv.lock", "train.yaml"]),
        (repo.path, ["./uv.lock", "--context", "./train.yaml"]),
        (repo.path, [str(repo.path)]),
        (repo.path / "sub", [".."]),
        (repo.path / "sub", ["../uv.lock", "../train.yaml"]),
        (tmp_path / "link", ["."]),
        (repo.path, [str(tmp_path / "link" / "uv.lock"), "train.yaml"]),
    ]
    for folder, targets in ways:
        outcome = check(folder, *targets, "--diff", "main")
        assert (outcome.status, found(outcome)[0]) == (0, set()), targets
        assert ACCUMULATION in found(outcome)[1], targets


def test_included_requirements(tmp_path: Path, check: Any) -> None:
    files = {
        "deep/down/requirements.txt": "-r ../../common/base\n",
        "common/base": "transformers==4.49.0\n",
        "train.yaml": CONFIG.format(steps=8),
    }
    repo = repository(tmp_path / "repo", files)
    new, before = found(check(repo, "deep/down/requirements.txt", "train.yaml", "--diff", "main"))
    assert new == set()
    assert ACCUMULATION in before


def test_many_files(tmp_path: Path, check: Any) -> None:
    """A lockfile that has not changed is not audited again; what has changed itself, or its configs, is."""
    files = {f"p{number:02}/uv.lock": LOCK for number in range(20)}
    repo = repository(tmp_path / "repo", {**files, "p03/train.yaml": CONFIG.format(steps=8)})
    repo.write({"p05/uv.lock": "# moved\n" + LOCK, "p07/train.yaml": CONFIG.format(steps=2)})
    outcome = check(repo, ".", "--diff", "main")
    data = json.loads(outcome.out)
    new = {(one["id"], one["source"]) for one in data["findings"] if _counts(one)}
    assert (ACCUMULATION, "p07/uv.lock") in new
    assert {source for _, source in new} == {"p07/uv.lock"}


def _counts(finding: dict[str, Any]) -> bool:
    return finding["suppressed"] is None and finding["status"] != "dormant"


REMARK = "every finding here counts as new"


def remarks(outcome: Outcome) -> list[str]:
    return [one["text"] for one in json.loads(outcome.out)["remarks"]]


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (None, "main (ID) does not have this file: "),
        ("", "it could not be read as it was at main (ID) (is empty): "),
        ("<<<<<<< HEAD\n", "it could not be read as it was at main (ID) ("),
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1234\n",
            "it could not be read as it was at main (ID), because it is kept in Git LFS, "
            "and git has only its pointer: ",
        ),
    ],
)
def test_what_could_not_be_read_then_hides_nothing(tmp_path: Path, check: Any, before: str | None, why: str) -> None:
    files = {"train.yaml": CONFIG.format(steps=8)}
    repo = repository(tmp_path / "repo", files if before is None else {**files, "uv.lock": before})
    repo.write({"uv.lock": LOCK})
    outcome = check(repo, ".", "--diff", "main")
    assert outcome.status == 1
    assert ACCUMULATION in found(outcome)[0]
    assert found(outcome)[1] == set()
    (told,) = remarks(outcome)
    assert told.startswith(why.replace("ID", repo.git("rev-parse", "main")[:12]))
    assert told.endswith(REMARK)


def test_a_gap_is_never_hidden(tmp_path: Path, check: Any) -> None:
    repo = repository(tmp_path / "repo", {"requirements.txt": "-r gone.txt\ntransformers==4.49.0\n"})
    assert check(repo, ".", "--diff", "main").status == 3


def told(outcome: Outcome) -> str:
    """The one line of an error."""
    assert (outcome.status, outcome.out) == (2, "")
    first, *rest = outcome.err.rstrip("\n").split("\n")
    assert first.startswith("error: ")
    assert rest == [] or (len(rest) == 2 and rest[1].startswith("hint: "))
    return outcome.err


@pytest.mark.parametrize(
    "base",
    ["nothing", "", "--output=x", "-h", "main..HEAD", "main...HEAD", "HEAD:uv.lock", "a\nb", "\x1b[2J", "\udc80"],
)
def test_no_revision(repo: Repository, check: Any, base: str) -> None:
    text = told(check(repo, ".", f"--diff={base}"))
    assert "git knows no revision" in text
    assert "\x1b" not in text
    assert sorted(one.name for one in repo.path.iterdir()) == [".git", "train.yaml", "uv.lock"]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([], "no target is named"),
        (["-"], "`-` is standard input"),
        (["--python", sys.executable], "`--python` names an interpreter"),
        (["uv.lock", "--python", sys.executable], "`--python` names an interpreter"),
        ([sys.prefix], "an installed environment"),
        (["../elsewhere/uv.lock"], "outside the repository"),
        (["../elsewhere"], "outside the repository"),
        (["--context", "train.yaml"], "no target is named"),
    ],
)
def test_what_cannot_be_compared(
    repo: Repository, check: Any, tmp_path: Path, targets: Sequence[str], message: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "uv.lock").write_text(LOCK)
    assert message in told(check(repo, *targets, "--diff", "main"))


def test_no_repository(tmp_path: Path, check: Any) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    assert "in no git repository" in told(check(tmp_path, "uv.lock", "--diff", "main"))


def test_a_repository_without_files_or_commits(tmp_path: Path, check: Any) -> None:
    repo = repository(tmp_path / "repo")
    repo.write({"uv.lock": LOCK})
    assert "git knows no revision `main`" in told(check(repo, ".", "--diff", "main"))
    bare = Repository(tmp_path / "bare")
    bare.path.mkdir()
    bare.git("init", "--quiet", "--bare")
    assert "not a work tree" in told(check(bare, "HEAD", "--diff", "main"))


def test_histories_without_a_common_commit(repo: Repository, check: Any) -> None:
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.commit({"README.md": "words"})
    assert "no commit in common" in told(check(repo, ".", "--diff", "main"))


def test_no_git(repo: Repository, check: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    text = told(check(repo, ".", "--diff", "main", env={"PATH": str(tmp_path / "empty")}))
    assert "which is not on the PATH" in text


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_repository_of_another_user(repo: Repository, check: Any) -> None:
    for file in (repo.path, *repo.path.rglob("*")):
        os.chown(file, 12345, 12345)
    text = told(check(repo, ".", "--diff", "main"))
    assert "another user owns it" in text
    assert "safe.directory" in text


def clone(repo: Repository, path: Path, *options: str) -> Repository:
    repo.git("clone", "--quiet", *options, f"file://{repo.path}", str(path))
    return Repository(path)


def test_a_shallow_clone(repo: Repository, check: Any, tmp_path: Path) -> None:
    repo.commit({"README.md": "words"})
    shallow = clone(repo, tmp_path / "shallow", "--depth=1")
    assert "fetch-depth: 0" in told(check(shallow, ".", "--diff", "HEAD~1"))
    repo.git("checkout", "--quiet", "-b", "work", "HEAD~1")
    repo.commit({"NOTES.md": "words"})
    shallow = clone(repo, tmp_path / "both", "--depth=1", "--no-single-branch")
    text = told(check(shallow, ".", "--diff", "origin/main"))
    assert "no commit in common" in text
    assert "fetch-depth: 0" in text


def test_a_partial_clone_asks_no_network(repo: Repository, check: Any, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit({"uv.lock": lock(torch="2.6.0")})
    partial = clone(repo, tmp_path / "partial", "--filter=blob:none")
    partial.git("config", "protocol.file.allow", "always")  # nothing but us forbids to fetch it
    missing = partial.git("rev-list", "--objects", "--missing=print", "--all")
    assert "?" in missing
    text = told(check(partial, ".", "--diff", "HEAD~1"))
    assert "does not have the files of the revision" in text
    assert "--filter" in text
    assert partial.git("rev-list", "--objects", "--missing=print", "--all") == missing


def test_nothing_of_the_repository_is_run(repo: Repository, check: Any, tmp_path: Path) -> None:
    mark = tmp_path / "run"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{mark}'\ncat\n")
    script.chmod(0o755)
    repo.commit({".gitattributes": "* filter=evil diff=evil merge=evil\n"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        shutil.copy(script, hooks / name)
    for key, value in {
        "core.fsmonitor": str(script),
        "core.hooksPath": str(hooks),
        "core.pager": str(script),
        "pager.diff": "true",
        "core.sshCommand": str(script),
        "core.editor": str(script),
        "core.askPass": str(script),
        "diff.external": str(script),
        "diff.evil.textconv": str(script),
        "diff.evil.command": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.process": str(script),
        "alias.ls-tree": f"!{script}",
        "alias.cat-file": f"!{script}",
        "credential.helper": f"!{script}",
        "gpg.program": str(script),
        "log.showSignature": "true",
    }.items():
        repo.git("config", key, value)
    mark.unlink(missing_ok=True)
    repo.write({"uv.lock": lock(torch="2.6.0"), "other/uv.lock": LOCK})
    outcome = check(repo, ".", "--diff", "HEAD", env={"GIT_EXTERNAL_DIFF": str(script), "GIT_PAGER": str(script)})
    assert outcome.status in (0, 1)
    assert not mark.exists()
    repo.git("status")  # an everyday command, which runs what is set there
    assert mark.exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_is_stopped_leaves_nothing_behind(repo: Repository, tmp_path: Path, number: signal.Signals) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    # A git that answers everything but the last question, and then waits.
    real = shutil.which("git")
    assert real is not None
    (tmp_path / "bin").mkdir()
    waiting = tmp_path / "bin" / "git"
    waiting.write_text(
        f"#!/bin/sh\ncase \"$*\" in *--batch) touch '{scratch}/asked'; exec sleep 60;; esac\nexec '{real}' \"$@\"\n"
    )
    waiting.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "gradcompat", "check", ".", "--diff", "main"],
        cwd=repo.path,
        env={**os.environ, **ENVIRONMENT, "TMPDIR": str(scratch), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not (scratch / "asked").exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        os.sched_yield()
    assert list(scratch.glob("gradcompat-diff-*")) != []
    os.killpg(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (-number, b"", b"")
    assert [one.name for one in scratch.iterdir()] == ["asked"]


# What a tree may hold that no work tree has


def tree(repo: Repository, *entries: tuple[str, str, bytes]) -> Commit:
    """A commit with these entries of one level, which git itself would refuse to add."""
    data = b""
    for mode, name, content in entries:
        identifier = content.decode() if mode == "40000" else blob(repo, content)
        data += f"{mode} {name}".encode("utf-8", "surrogateescape") + b"\0" + bytes.fromhex(identifier)
    made = repo.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=data)
    commit = repo.git("commit-tree", made, "-m", "Hostile")
    return Commit(commit, "then")


def blob(repo: Repository, content: bytes) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=content)


def subtree(repo: Repository, *entries: tuple[str, str, bytes]) -> bytes:
    return repo.git("rev-parse", f"{tree(repo, *entries).id}^{{tree}}").encode()


EVERYTHING = Wanted(files=frozenset(), folders=("",), beside=False)


def laid_out(repo: Repository, commit: Commit, folder: Path, wanted: Wanted = EVERYTHING) -> Earlier:
    folder.mkdir()
    return materialize_tree(Read(repo.path), commit, wanted, folder)


def contents(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text() for file in sorted(folder.rglob("*")) if file.is_file()
    }


def test_names_that_lead_away(repo: Repository, tmp_path: Path) -> None:
    evil = subtree(repo, ("100644", "uv.lock", b"evil"))
    commit = tree(
        repo,
        ("40000", "..", evil),
        ("40000", ".", evil),
        ("40000", ".GIT", evil),
        ("40000", ".git", evil),
        ("100644", "a\nuv.lock", b"evil"),
        ("100644", "a\x1b[2Juv.lock", b"evil"),
        ("40000", "good", evil),
        ("100644", "uv.lock", b"good"),
    )
    earlier = laid_out(repo, commit, tmp_path / "then")
    assert contents(tmp_path / "then") == {"good/uv.lock": "evil", "uv.lock": "good"}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["repo", "then"]
    assert sorted(one.name for one in repo.path.iterdir()) == [".git", "train.yaml", "uv.lock"]
    assert earlier.why_unread("a\nuv.lock") == "its name is not safe for a file"


def test_links(repo: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    inner = subtree(repo, ("100644", "uv.lock", b"inner"), ("120000", "up", b"../uv.lock"))
    commit = tree(
        repo,
        ("120000", "absolute-uv.lock", str(tmp_path / "secret.txt").encode()),
        ("120000", "chained-uv.lock", b"folder/../../secret.txt"),
        ("120000", "circle-uv.lock", b"circle-uv.lock"),
        ("120000", "empty-uv.lock", b"/"),
        ("120000", "folder", b"inner"),
        ("120000", "good-uv.lock", b"folder/up"),
        ("40000", "inner", inner),
        ("120000", "nowhere-uv.lock", b"missing"),
        ("120000", "out-uv.lock", b"../secret.txt"),
        ("100644", "uv.lock", b"outer"),
    )
    earlier = laid_out(repo, commit, tmp_path / "then")
    assert contents(tmp_path / "then") == {
        "good-uv.lock": "outer",
        "inner/up": "outer",
        "inner/uv.lock": "inner",
        "uv.lock": "outer",
    }
    for name in ("absolute", "chained", "circle", "out"):
        assert earlier.why_unread(f"{name}-uv.lock") == "it is a link that leads out of the repository"


def test_a_name_that_is_a_file_and_a_folder(repo: Repository, tmp_path: Path) -> None:
    evil = subtree(repo, ("100644", "uv.lock", b"evil"))
    commit = tree(
        repo, ("120000", "a", b".git"), ("40000", "a", evil), ("100644", "uv.lock", b"1"), ("100644", "uv.lock", b"2")
    )
    laid_out(repo, commit, tmp_path / "then")
    assert set(contents(tmp_path / "then")) <= {"a/uv.lock", "uv.lock"}
    assert not (repo.path / ".git" / "uv.lock").exists()


def test_files_that_are_too_large(repo: Repository, tmp_path: Path) -> None:
    commit = Commit(repo.commit({"data.json": " " * 300_000, "train.json": "{}", "notes.txt": "x" * 2_000_000}), "then")
    earlier = laid_out(repo, commit, tmp_path / "then")
    assert sorted(contents(tmp_path / "then")) == ["train.json", "train.yaml", "uv.lock"]
    assert earlier.why_unread("data.json") == "it has more than 256 KiB there"


def test_a_submodule(repo: Repository, check: Any, tmp_path: Path) -> None:
    library = repository(tmp_path / "library", {"uv.lock": LOCK})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "library")
    repo.commit()
    outcome = check(repo, ".", "--diff", "main")
    assert {one["source"] for one in json.loads(outcome.out)["environments"]} == {"uv.lock", "library/uv.lock"}
    assert (outcome.status, found(outcome)[0], found(outcome, "conditional")[0]) == (0, set(), set())
    # Its commit of then is gone: nothing can be compared, and nothing is hidden.
    shutil.rmtree(repo.path / "library" / ".git", ignore_errors=True)
    (repo.path / "library" / ".git").unlink(missing_ok=True)
    outcome = check(repo, ".", "--diff", "main")
    assert found(outcome, "conditional")[0] != set()
    assert any("submodule library" in one for one in remarks(outcome))


def test_a_hook_says_which_repository_it_runs_in(repo: Repository, check: Any) -> None:
    env = {"GIT_DIR": str(repo.path / ".git"), "GIT_INDEX_FILE": str(repo.path / ".git" / "index"), "GIT_PREFIX": ""}
    assert check(repo, ".", "--diff", "HEAD", env=env).status == 0


def test_a_broken_repository(repo: Repository, check: Any) -> None:
    name = repo.git("rev-parse", "HEAD^{tree}")
    (repo.path / ".git" / "objects" / name[:2] / name[2:]).unlink()
    assert "git cannot list the files" in told(check(repo, ".", "--diff", "main"))


def test_an_error_of_git_is_one_line(repo: Repository) -> None:
    with pytest.raises(UsageError, match="cannot compare"):
        Read(repo.path).renames("0" * 40)


def bomb(where: Repository, levels: int, leaf: bytes) -> str:
    """A commit whose tree holds one file ten to the power of ``levels`` times, in as many objects as levels."""

    def git(*arguments: str, stdin: bytes = b"") -> str:
        environment = {**os.environ, **ENVIRONMENT}
        done = subprocess.run(
            ["git", *arguments], cwd=where.path, input=stdin, env=environment, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    inner = git("hash-object", "-w", "--stdin", stdin=leaf)
    line = "100644 blob {}\trequirements-{}.txt\n"
    for _ in range(levels):
        inner = git("mktree", stdin="".join(line.format(inner, number) for number in range(10)).encode())
        line = "040000 tree {}\td{}\n"
    return git("commit-tree", inner, "-p", "HEAD", "-m", "bomb")


def test_a_tree_that_a_few_objects_make_endless_is_refused(tmp_path: Path) -> None:
    where = repository(tmp_path / "project", {"uv.lock": LOCK})
    commit = bomb(where, 6, b"torch==2.5.1\n")
    with pytest.raises(UsageError, match="more than 100,000 files"):
        Read(where.path).entries(commit)


def test_no_more_is_laid_out_than_there_is_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcompat.suppression.revision_tree.MOST_WRITTEN", 30)
    where = repository(tmp_path / "project", {"uv.lock": LOCK})
    commit = bomb(where, 2, b"torch==2.5.1\n")
    wanted = Wanted(files=frozenset(), folders=("",), beside=True)
    (tmp_path / "laid").mkdir()
    earlier = materialize_tree(Read(where.path), Commit(commit, "bomb"), wanted, tmp_path / "laid")
    written = [path for path in (tmp_path / "laid").rglob("*") if path.is_file()]
    assert len(written) == 30
    assert len(earlier.unread) == 70
    assert set(earlier.unread.values()) == {"the revision has too many files to compare"}


MEMBER = '[project]\nname = "train"\nversion = "1"\ndependencies = ["torch", "transformers"]\n'
EDITABLE = '\n[[package]]\nname = "train"\nversion = "1"\nsource = { editable = "packages/train" }\n'


@pytest.mark.parametrize("padding", [0, 1_500_000])
def test_a_member_of_a_workspace_is_compared_by_the_lock_of_its_root(tmp_path: Path, check: Any, padding: int) -> None:
    locked = LOCK + EDITABLE + "#" * padding + "\n"
    files = {"uv.lock": locked, "packages/train/pyproject.toml": MEMBER}
    member = repository(tmp_path / "repo", {**files, "packages/train/train.yaml": CONFIG.format(steps=8)})
    plain = check(member, "packages/train")
    assert ACCUMULATION in found(plain)[0]
    outcome = check(member, "packages/train", "--diff", "main")
    assert outcome.status == 0
    assert found(outcome) == (set(), found(plain)[0])
    assert json.loads(outcome.out)["remarks"] == []
    member.commit({"uv.lock": locked.replace("4.49.0", "4.52.4")})
    member.commit({"uv.lock": locked})
    brought = check(member.path / "packages" / "train", ".", "--diff", "HEAD~1")
    assert ACCUMULATION in found(brought)[0]
