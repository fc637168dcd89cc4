"""``check --config-from``: a change does not choose by which options it is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.repositories import ENVIRONMENT, Repository, repository
from tests.conftest import Outcome, Run
from tests.knowledge.own_records import own
from tests.suppression.waived import FACTS, ID, waiver

pytestmark = pytest.mark.e2e  # git is a process

KIND = "configuration-of-the-base"
SOURCE = 'source = { registry = "https://index.example/simple" }'
LOCK = f"""\
version = 1
requires-python = ">=3.10"

[[package]]
name = "transformers"
version = "4.49.0"
{SOURCE}

[[package]]
name = "acme-trainer"
version = "3.1.3"
{SOURCE}
"""
SETTINGS = (
    '[settings]\ntraining.gradient_accumulation_steps = 8\nmodel.architecture = ["LlavaForConditionalGeneration"]\n'
)


@pytest.fixture
def check(run: Run, tmp_path: Path) -> Any:
    def check_it(where: Repository, *arguments: str, cwd: Path | None = None) -> Outcome:
        (tmp_path / "scratch").mkdir(exist_ok=True)
        env = {**ENVIRONMENT, "TMPDIR": str(tmp_path / "scratch"), "GRADCOMPAT_CACHE": str(tmp_path / "cache")}
        done = run("check", "uv.lock", "--config-from", "main", *arguments, cwd=cwd or where.path, env=env)
        assert list((tmp_path / "scratch").iterdir()) == []
        return done

    return check_it


@pytest.fixture
def repo(tmp_path: Path) -> Repository:
    made = repository(tmp_path / "repo", {"uv.lock": LOCK, "gradcompat.toml": SETTINGS})
    made.git("checkout", "--quiet", "-b", "change")
    return made


def said(done: Outcome) -> list[str]:
    return [one["text"] for one in json.loads(done.out)["remarks"] if one["kind"] == KIND]


def counting(done: Outcome) -> set[str]:
    findings = json.loads(done.out)["findings"]
    return {one["id"] for one in findings if one["suppressed"] is None and one["status"] != "dormant"}


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (f'ignore = ["{ID}"]\n{SETTINGS}', "`ignore`"),
        (f'fail-on = "never"\n{SETTINGS}', "`fail-on`"),
        (f'only = ["GC-0001"]\n{SETTINGS}', "`only`"),
        (SETTINGS.replace("8", "1"), "`settings`"),
        (f"{SETTINGS}{waiver()}", f"a waiver of {ID}"),
        ("", "`settings`"),
    ],
)
def test_options_of_a_change_take_effect_after_the_merge(repo: Repository, check: Any, options: str, word: str) -> None:
    before = check(repo, "--format", "json")
    assert ID in counting(before)
    assert said(before) == []
    repo.commit({"gradcompat.toml": options})
    done = check(repo, "--format", "json")
    assert (done.status, counting(done)) == (before.status, counting(before))
    (text,) = said(done)
    assert text.startswith("the options of main (")
    assert text.endswith(f" apply; changes to them take effect after the merge: {word}")
    assert f"take effect after the merge: {word}" in " ".join(check(repo).out.split())


@pytest.mark.parametrize("name", ["gradcompat.toml", "pyproject.toml"])
def test_options_that_are_new_do_not_count(tmp_path: Path, check: Any, name: str) -> None:
    made = repository(tmp_path / "repo", {"uv.lock": LOCK, "other/gradcompat.toml": f'ignore = ["{ID}"]\n'})
    made.git("checkout", "--quiet", "-b", "change")
    if name == "pyproject.toml":
        made.commit({name: f'[tool.gradcompat]\nignore = ["{ID}"]\n'})
    else:
        made.git("mv", "other/gradcompat.toml", name)
        made.commit()
    done = check(made, "--format", "json", *FACTS)
    assert (done.status, ID in counting(done)) == (1, True)
    assert said(done)[0].endswith(": `ignore`")


def test_options_that_are_gone_or_broken_still_count(repo: Repository, check: Any) -> None:
    (repo.path / "gradcompat.toml").unlink()
    assert ID in counting(check(repo, "--format", "json"))
    repo.write({"gradcompat.toml": "ignore = [\n"})
    done = check(repo, "--format", "json")
    assert ID in counting(done)
    assert said(done)[0].startswith("cannot be read as it is here (")
    (repo.path / "gradcompat.toml").unlink()
    (repo.path / "gradcompat.toml").symlink_to("/etc/passwd")
    assert ID in counting(check(repo, "--format", "json"))


def test_waivers_of_the_base_count_where_they_stood(repo: Repository, check: Any) -> None:
    repo.git("checkout", "--quiet", "main")
    repo.commit({"gradcompat.toml": SETTINGS + waiver(path='"uv.lock"')})
    repo.git("checkout", "--quiet", "-B", "change")
    repo.commit({"gradcompat.toml": SETTINGS})
    done = check(repo, "--format", "json")
    (finding,) = [one for one in json.loads(done.out)["findings"] if one["id"] == ID]
    assert finding["suppressed"]["path"] == "gradcompat.toml"
    assert said(done)[0].endswith(": `waivers`")


def test_records_of_the_base_count(tmp_path: Path, check: Any) -> None:
    options = 'knowledge = ["records"]\n'
    made = repository(tmp_path / "repo", {"uv.lock": LOCK, "gradcompat.toml": options, "records/acme.yaml": own()})
    made.git("checkout", "--quiet", "-b", "change")
    made.commit(
        {
            "records/acme.yaml": own(
                (">=3.0.0,<3.1.4", ">=3.0.0,<3.1.3"), ("{acme-trainer: 3.1.3}", "{acme-trainer: 3.1.2}")
            )
        }
    )
    done = check(made, "--format", "json")
    assert done.status == 1, done.err
    assert "ACME-0001" in counting(done)
    assert said(done)[0].endswith(": `records/acme.yaml`")
    assert "and 1 of records/acme.yaml)" in check(made).out


def test_the_baseline_of_the_base_counts(repo: Repository, check: Any, run: Run) -> None:
    known = run("check", "uv.lock", "--format", "json", cwd=repo.path).out
    repo.commit({"known.json": known})
    done = check(repo, "--baseline", "known.json", "--format", "json")
    assert ID in counting(done)
    assert said(done)[0].endswith(": `known.json`")
    repo.git("checkout", "--quiet", "main")
    repo.commit({"known.json": known})
    repo.git("checkout", "--quiet", "-B", "change")
    assert counting(check(repo, "--baseline", "known.json", "--format", "json")) == set()


def test_with_a_comparison_and_from_a_folder_below(repo: Repository, check: Any) -> None:
    repo.git("checkout", "--quiet", "main")
    repo.commit({"a/b/uv.lock": LOCK.replace("4.49.0", "4.52.4")})
    repo.git("checkout", "--quiet", "-B", "change")
    repo.commit({"a/b/uv.lock": LOCK, "a/gradcompat.toml": f'ignore = ["{ID}"]\n'})
    done = check(repo, "--diff", "main", "--format", "json", cwd=repo.path / "a" / "b")
    assert done.status == 1, done.err
    assert ID in counting(done)
    assert "options in `../gradcompat.toml` and not in `../../gradcompat.toml`" in said(done)[0]


def test_what_cannot_be_had_is_an_error(repo: Repository, run: Run, tmp_path: Path) -> None:
    done = run("check", "uv.lock", "--config-from", "nowhere", cwd=repo.path)
    assert (done.status, done.err.splitlines()[0]) == (2, "error: git knows no revision `nowhere` here")
    (tmp_path / "plain").mkdir()
    done = run("check", "--config-from", "main", cwd=tmp_path / "plain", env={"GIT_CEILING_DIRECTORIES": str(tmp_path)})
    assert done.status == 2
    assert done.err.startswith("error: `--config-from` compares with a revision, and this folder is in no git")
    repo.git("checkout", "--quiet", "main")
    repo.commit({"gradcompat.toml": "ignore = 3\n"})
    done = run("check", "uv.lock", "--config-from", "main", cwd=repo.path)
    assert done.status == 2
    assert done.err.startswith("error: `gradcompat.toml:1`: `ignore` is not a list (at main (")
