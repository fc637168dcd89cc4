"""``gradcompat knowledge watch`` with an index of the test: what is listed, what is remembered, and bad input."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path

import pytest

from gradcompat.curation.lint import lint_records
from gradcompat.curation.watch.verdicts import add_verdicts, judged
from gradcompat.knowledge.records import read
from tests.conftest import Run
from tests.curation.watch.test_verdicts import CANDIDATE
from tests.index.serving import Reply, Server, anchor
from tests.knowledge.authored import HEAD, RECORD
from tests.releases.packages import wheel

TRAINER = "class Trainer:\n    def training_step(self, loss):\n        return loss{}\n"
METADATA = "Metadata-Version: 2.1\nName: one\nVersion: {}\nProject-URL: Repository, https://github.com/o/n.git\n\n"
NOTES = "## 1.1\n- Fix the loss mask (#5)\n"


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "PYTHON"))}
    own = {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "GRADCOMPAT_CACHE": str(folder / "cache")}
    return {**kept, **own}


def sdist(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"one-1.1/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return content.getvalue()


def serve(server: Server, changelog: bytes | None) -> None:
    """Two releases of a package, of which the second divides no longer."""
    files = {
        f"one-{version}-py3-none-any.whl": wheel(
            {"one/trainer.py": TRAINER.format(division), f"one-{version}.dist-info/METADATA": METADATA.format(version)}
        ).getvalue()
        for version, division in (("1.0", " / self.steps"), ("1.1", ""))
    }
    if changelog is not None:
        files["one-1.1.tar.gz"] = changelog
    server.html("one", *(anchor(name, content) for name, content in files.items()))
    for name, content in files.items():
        server.pages[f"/files/{name}"] = Reply(body=content)


def watch(run: Run, server: Server, tmp_path: Path, *more: str, stdin: str = "") -> tuple[int, str, str]:
    arguments = ("knowledge", "watch", "one", "--index-url", f"{server.base}/simple/", *more)
    outcome = run(*arguments, env=environment(tmp_path), stdin=stdin)
    return outcome.status, outcome.out, outcome.err


def checkout(folder: Path) -> Path:
    (folder / "knowledge").mkdir()
    (folder / "knowledge" / "issues.yaml").write_text(HEAD + RECORD, "utf-8")
    return folder / "knowledge" / "watched.jsonl"


def test_candidates_are_listed_judged_and_then_left_out(run: Run, server: Server, tmp_path: Path) -> None:
    file = checkout(tmp_path)
    serve(server, sdist({"CHANGELOG.md": NOTES}))
    status, out, err = watch(run, server, tmp_path, "--format", "json")
    found = json.loads(out)
    assert (status, found["exit_status"]) == (3, 3)
    assert "note: " not in err
    (package,) = found["packages"]
    assert found["lost"] == []
    assert package["gaps"] == ["there is no table of the releases of one: `gradcompat knowledge read one` reads them"]
    assert [
        (one["rule"], one["place"], one["removed"], one["links"], one["verdict"]) for one in found["candidates"]
    ] == [
        (
            "division",
            "one.trainer: Trainer.training_step",
            ["loss / steps"],
            ["https://github.com/o/n/compare/v1.0...v1.1"],
            None,
        ),
        (
            "title",
            "CHANGELOG.md",
            [],
            ["https://github.com/o/n/pull/5", "https://github.com/o/n/compare/v1.0...v1.1"],
            None,
        ),
    ]
    first, second = (one["id"] for one in found["candidates"])
    judged = run(
        *("knowledge", "watch", "--verdict", f"{first}=record:GC-0001", "--verdict", f"{second}=nothing"),
        *("--why", "looked at"),
        env=environment(tmp_path),
    )
    assert (judged.status, judged.out) == (0, "2 verdicts written to knowledge/watched.jsonl\n")
    assert [json.loads(line)["verdict"] for line in file.read_text().splitlines()] == ["nothing", "record:GC-0001"]
    _, out, _ = watch(run, server, tmp_path)
    assert out.startswith("0 candidates; 2 judged before\ncompared of one 1.0 to 1.1: ")
    _, out, _ = watch(run, server, tmp_path, "--all")
    assert f"{first}   95  one 1.0 → 1.1: a division, judged: record:GC-0001\n" in out


def test_lint_checks_the_verdicts(tmp_path: Path) -> None:
    file = checkout(tmp_path)
    add_verdicts(file, [judged(CANDIDATE, "record:GC-0001", "", "2026-11-23")])
    authored = read(file.with_name("issues.yaml"))
    assert lint_records(authored, None).problems == ()
    file.write_text(file.read_text().replace("GC-0001", "GC-0002"))
    (problem,) = lint_records(authored, None).problems
    assert str(problem) == f"`{file}:1`: `GC-0002` is no record"


def test_notes_of_standard_input_take_the_place_of_the_changelog(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, None)
    _, out, _ = watch(
        run, server, tmp_path, "--notes", "-", "--tag", "{}", stdin="Fix NaN gradients (#9)\nAdd a model\n"
    )
    assert "standard input\n    + Fix NaN gradients (#9)\n    https://github.com/o/n/pull/9\n" in out
    assert "https://github.com/o/n/compare/1.0...1.1\n" in out


def test_notes_of_an_address(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, None)
    server.pages["/releases"] = Reply(body=json.dumps([{"tag_name": "v1.1", "body": "* Fix resume"}]).encode())
    _, out, _ = watch(run, server, tmp_path, "--notes", f"{server.base}/releases")
    assert "    + Fix resume\n" in out
    status, _, err = watch(run, server, tmp_path, "--notes", f"{server.base}/none")
    assert (status, err.count("\n")) == (2, 1)
    assert "/none`: " in err


def test_an_sdist_without_changelog_is_no_gap_and_a_broken_one_is(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, sdist({"README.md": "a"}))
    _, out, err = watch(run, server, tmp_path)
    assert "no changelog, since the sdist has none (`--notes` takes release notes)\n" in out
    assert "sdist" not in err
    (tmp_path / "other").mkdir()
    serve(server, b"nothing")
    outcome = run(
        *("knowledge", "watch", "one", "--index-url", f"{server.base}/simple/", "--rows", "rows"),
        env=environment(tmp_path / "other"),
    )
    assert outcome.status == 3
    assert "note: one-1.1.tar.gz is not a tar.gz that can be read\n" in outcome.err


def test_a_broken_wheel_is_named(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, None)
    server.html("one", anchor("one-1.0-py3-none-any.whl", b"no"), anchor("one-1.1-py3-none-any.whl", b"no"))
    for version in ("1.0", "1.1"):
        server.pages[f"/files/one-{version}-py3-none-any.whl"] = Reply(body=b"no")
    status, out, err = watch(run, server, tmp_path)
    assert status == 3
    assert "note: one 1.0 cannot be read: its wheel is not a zip that can be read\n" in err
    assert out.startswith("0 candidates")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: no package is named\n\nhint: `gradcompat knowledge watch transformers`\n"),
        (("a", "b", "--notes", "x"), "error: `--notes` are those of one package\n\nhint: name one package\n"),
        (("a", "--tag", "v"), "error: `--tag v` has no place for the version\n\nhint: write it as `--tag 'v{}'`\n"),
        (("a", "--format", "xml"), "error: `--format xml` is not known\n\nhint: known: text, json\n"),
        (
            ("transformers", "--offline", "--notes", "gone.md"),
            "error: `gone.md`: cannot be read: No such file or directory\n",
        ),
        (("transformers", "--offline", "--notes", "empty.md"), "error: `empty.md`: has no line of release notes\n"),
        (
            ("transformers", "--offline", "--notes", "other.json"),
            "error: `other.json`: is JSON, and no list of GitHub's releases\n",
        ),
        (
            ("transformers", "--offline", "--notes", "https://example.org/"),
            "error: `--notes https://example.org/` needs the network\n\nhint: leave out `--offline`, or name a file\n",
        ),
        (("no-such-package", "--offline"), "error: `no-such-package` is not in the snapshot"),
        (("a", "--verdict", "1=known"), "error: verdicts name their candidates, and no package\n"),
        (("--verdict", "1=known"), "error: `1` is no candidate\n"),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    checkout(tmp_path)
    (tmp_path / "empty.md").write_text("\n")
    (tmp_path / "other.json").write_text("{}")
    outcome = run("knowledge", "watch", *arguments, env=environment(tmp_path))
    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_offline_only_the_tables_are_compared(run: Run, tmp_path: Path) -> None:
    outcome = run("knowledge", "watch", "trl", "--offline", "--limit", "1", env=environment(tmp_path))
    assert outcome.status == 0
    assert outcome.err == "note: this folder is no checkout, so what was judged before is not known\n"
    assert outcome.out.splitlines()[-1].endswith(": the table of 6 pairs of releases")


def test_what_cannot_be_fetched_takes_nothing_else_along(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, sdist({"CHANGELOG.md": NOTES}))
    del server.pages["/files/one-1.1.tar.gz"]
    status, out, err = watch(run, server, tmp_path)
    assert status == 3
    assert "one.trainer: Trainer.training_step (line 2)\n" in out
    assert "one-1.1.tar.gz`: " in err


def test_a_package_that_is_not_there_takes_no_other_along(run: Run, server: Server, tmp_path: Path) -> None:
    checkout(tmp_path)
    serve(server, None)
    status, out, err = watch(run, server, tmp_path, "two")
    assert status == 3
    assert "one.trainer: Trainer.training_step (line 2)\n" in out
    assert "has no package `two`" in err
