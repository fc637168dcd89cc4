"""``gradcompat knowledge horizon`` and ``refresh``: what has appeared since somebody looked, and what it changes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from gradcompat.knowledge.compile import compile_records, dumps
from gradcompat.knowledge.records import read
from gradcompat.recipes.table import BY_NAME
from gradcompat.releases.table import ReleaseTable
from tests.conftest import ROOT, Outcome, Run
from tests.index.serving import Reply, Server, anchor, serving
from tests.knowledge.authored import RECORD, record, written
from tests.probes import toys
from tests.probes.toys import laid, source, wheel

pytestmark = pytest.mark.e2e

# The command, with a recipe that the table does not have and with records of the test.
PROGRAM = """\
import sys
from pathlib import Path

sys.path.append({root!r})

import gradcompat.curation.campaign
from gradcompat.knowledge import load
from tests.probes.toy_pool import work

gradcompat.curation.campaign.work = work
load.load.__defaults__ = (Path("compiled.json"),)
import gradcompat.cli.commands.knowledge.refresh as refresh

if Path("tables").exists():
    refresh.tabled_packages = lambda: {{"toy"}}

from gradcompat.cli.main import main

main()
"""
HEAD = """\
date: 2026-11-20
horizon:
  toy: {version: "1.4", date: "2026-11-20"}
issues:
"""
TOY = record(
    ("transformers", "toy"),
    ('">=4.49.0,<4.52.1"', '"RANGE"'),
    ("    evidence:", "    probes: [{name: toy}]\n    evidence:"),
)
UNPROBED = ">=1.2"  # the range of a record without a probe
VERSIONS = {"1.3": 4.0, "1.4": 4.0, "1.5": 4.0, "1.6": 1.0, "1.7": 1.0}
Refresh = Callable[..., Outcome]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        serve(one, "toy", *VERSIONS)
        yield one


def serve(server: Server, name: str, *versions: str) -> None:
    files = {f"{name}-{version}-py3-none-any.whl": wheel(name, version, source(1.0)) for version in versions}
    server.html(name, *(anchor(file, content) for file, content in files.items()))
    for file, content in files.items():
        server.pages[f"/files/{file}"] = Reply(body=content)


def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    return {
        **kept, "GRADCOMPAT_CACHE": str(tmp_path / "cache"), "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1",
        "UV_CACHE_DIR": str(tmp_path / "uv"), "COLUMNS": "200",
    }  # fmt: skip


@pytest.fixture
def refresh(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Refresh:
    monkeypatch.setitem(BY_NAME, "toy", toys.TOY_RECIPE)
    (tmp_path / "program.py").write_text(PROGRAM.format(module=toys.TOY_RECIPE.module, root=str(ROOT)), "utf-8")
    laid(tmp_path / "layers", VERSIONS)

    def refresh_it(*ranges: str) -> Outcome:
        records = [
            (TOY if text != UNPROBED else TOY.replace("    probes: [{name: toy}]\n", ""))
            .replace("RANGE", text)
            .replace("GC-0001", f"GC-000{number}")
            for number, text in enumerate(ranges, 1)
        ]
        compiled = compile_records(read(written(tmp_path, *records, head=HEAD)))
        (tmp_path / "compiled.json").write_text(dumps(compiled), "utf-8")
        done = subprocess.run(
            [
                sys.executable, "program.py", "knowledge", "refresh", "toy", "--python", sys.executable,
                "--layers", str(tmp_path / "layers"), "--output", "rows", "--tables", "tables",
                "--index-url", f"{server.base}/simple",
            ],
            cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return refresh_it


NEW = "3 releases of toy behind 1.4: 1.5, 1.6, 1.7"
WATCH = "what else changed, ranked: gradcompat knowledge watch toy --releases 3"
NEXT = "when all of it was looked at: gradcompat knowledge horizon --looked-at toy==1.7"


def test_the_table_of_the_package_is_extended(refresh: Refresh, tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    outcome = refresh(">=1.3,<1.6")
    assert outcome.status == 0
    assert "toy: 5 releases to fetch of 5" in outcome.err
    assert [str(one) for one in ReleaseTable(tmp_path / "tables" / "toy.table").versions] == list(VERSIONS)


def test_a_range_that_holds(refresh: Refresh, tmp_path: Path) -> None:
    outcome = refresh(">=1.3,<1.6")
    assert (outcome.status, outcome.out.splitlines()) == (0, [NEW, "right: GC-0001", WATCH, NEXT])
    assert outcome.err.splitlines()[1] == "3 cells to measure in 3 releases"
    lines = (tmp_path / "rows" / "toy.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["version"] for line in lines] == ["1.5", "1.6", "1.7"]  # and nothing that was known


def test_ranges_to_end_and_to_extend(refresh: Refresh) -> None:
    open_one = refresh(">=1.3")
    assert (open_one.status, open_one.out.splitlines()) == (
        1,
        [
            NEW,
            "change GC-0001: toy 1.6, 1.7: in the ranges, and no probe of the record is reproduced; "
            "on 1.6 the toy is 1",
            "  times right",
            WATCH,
            NEXT,
        ],
    )
    short = refresh(">=1.3,<1.5", "<1.5")
    assert short.status == 1
    assert short.out.splitlines()[1].startswith("change GC-0001, GC-0002: toy 1.5: `toy` is reproduced, and no record")


def test_a_defect_that_stands_and_one_that_somebody_has_to_read(refresh: Refresh, server: Server) -> None:
    serve(server, "toy", "1.3", "1.4", "1.5")
    outcome = refresh(">=1.3", UNPROBED)
    assert (outcome.status, outcome.out.splitlines()[1:3]) == (0, ["stands: GC-0001", "no probe, read them: GC-0002"])


def test_a_release_that_cannot_be_measured(refresh: Refresh, tmp_path: Path) -> None:
    (broken,) = (tmp_path / "layers").glob("*/toy-1.7/toy/__init__.py")
    broken.write_text("import nothing_of_that_name\n", "utf-8")
    outcome = refresh(">=1.3,<1.6")
    assert (outcome.status, outcome.out.splitlines()) == (3, [NEW, "no verdict: GC-0001", WATCH, NEXT])


def test_nothing_is_newer(refresh: Refresh, server: Server, tmp_path: Path) -> None:
    serve(server, "toy", "1.3", "1.4")
    outcome = refresh(">=1.3")
    assert (outcome.status, outcome.out, outcome.err) == (0, "no release of toy is newer than 1.4\n", "")
    assert not (tmp_path / "rows").exists()


def test_what_has_appeared_since(run_process: Run, server: Server, tmp_path: Path) -> None:
    serve(server, "optax", "0.0.1", "98.0", "99.0", "100.0rc1")
    serve(server, "keras", "0.0.1")
    arguments = ("--index-url", f"{server.base}/simple")
    outcome = run_process("knowledge", "horizon", "Optax", "keras", *arguments, env=environment(tmp_path))
    first, second, last = outcome.out.splitlines()
    assert outcome.status == 1
    line = r"  [0-9.]+ +\d{4}-\d\d-\d\d  \d+ unfixed defects?; "
    assert re.fullmatch(f"optax{line}newer: 99.0, with 1 release before it", first)
    assert re.fullmatch(f"keras{line}nothing newer", second)
    assert last.startswith("2 packages, 1 with unreviewed releases (the package index `")
    assert run_process("knowledge", "horizon", "keras", *arguments, env=environment(tmp_path)).status == 0
    missing = run_process("knowledge", "horizon", "peft", *arguments, env=environment(tmp_path))
    assert missing.status == 3
    assert "; not looked up: " in missing.out


def test_all_packages_by_the_snapshot(run: Run) -> None:
    outcome = run("knowledge", "horizon", "--offline")
    assert outcome.status in (0, 1)
    assert "not looked up" not in outcome.out
    assert "(the snapshot of " in outcome.out.splitlines()[-1]


def test_what_somebody_looked_at_is_written(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path, RECORD)
    before = path.read_text("utf-8")
    today = date.today().isoformat()
    outcome = run("knowledge", "horizon", "--records", str(path), "--looked-at", "transformers==5.24.0")
    assert (outcome.status, outcome.out.splitlines()) == (
        0,
        [
            f"transformers 5.24.0 of {today} (was 5.23.0 of 2026-11-19)",
            "1 line written; `gradcompat knowledge compile` is next",
        ],
    )
    assert path.read_text("utf-8") == before.replace(
        '{version: "5.23.0", date: "2026-11-19"}', f'{{version: "5.24.0", date: "{today}"}}'
    )


def test_what_examples_and_rows_show_is_written(run: Run, tmp_path: Path) -> None:
    head = "date: 2026-11-20\nissues:\n"
    other = record(("GC-0001", "GC-0002"), ("transformers", "no-such-package"))
    path = written(tmp_path, RECORD, other, head=head)
    outcome = run("knowledge", "horizon", "--records", str(path), "--update")
    assert (outcome.status, outcome.out.splitlines()) == (
        1,
        [
            "transformers 4.52.1 of 2026-11-20 (new)",
            "no-such-package: neither a row nor an example names a release: --looked-at no-such-package==… states it",
            "1 line written; `gradcompat knowledge compile` is next",
        ],
    )
    assert list(read(path).horizon) == ["transformers"]
    again = run("knowledge", "horizon", "--records", str(path), "--update", "--looked-at", "no-such-package==1.0")
    assert again.status == 0
    assert list(read(path).horizon) == ["no-such-package", "transformers"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("horizon", "flask", "--offline"), "no record mentions `flask`"),
        (("refresh", "flask", "--offline"), "no record mentions `flask`"),
        (("horizon", "torch", "--update"), "--looked-at and --update take no package beside them"),
        (("horizon", "--looked-at", "flask==1"), "no record mentions `flask`"),
        (("horizon", "--looked-at", "transformers"), "`--looked-at transformers` names no release"),
        (("horizon", "--update", "--records", "no.yaml"), "`no.yaml`: cannot be read: No such file or directory"),
    ],
)
def test_wrong_usage(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    if "--looked-at" in arguments:
        arguments = (*arguments, "--records", str(written(tmp_path, RECORD)))
    outcome = run("knowledge", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")
