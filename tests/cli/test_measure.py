"""``gradcompat knowledge measure`` over a toy, in a process of its own: killed, interrupted, without an index."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradcompat.knowledge.measured import read_rows
from tests.conftest import ROOT, Outcome
from tests.index.serving import Reply, Server, anchor, serving
from tests.probes import toys
from tests.probes.toys import laid, ran, source, wheel

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is watched with signals"),
]

# The command, with a recipe that the table does not have.
PROGRAM = """\
import sys

sys.path.append({root!r})

import gradcompat.curation.campaign
from gradcompat.cli.main import main
from tests.probes.toy_pool import work

gradcompat.curation.campaign.work = work
main()
"""
Start = Callable[..., "subprocess.Popen[str]"]
VERSIONS = {f"1.{minor}": 4.0 if 3 <= minor < 6 else 1.0 for minor in range(8)}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        serve(one, VERSIONS)
        yield one


def serve(server: Server, versions: dict[str, float]) -> None:
    files = {
        f"toy-{version}-py3-none-any.whl": wheel("toy", version, source(ratio)) for version, ratio in versions.items()
    }
    server.html("toy", *(anchor(name, content) for name, content in files.items()))
    for name, content in files.items():
        server.pages[f"/files/{name}"] = Reply(body=content)


@pytest.fixture
def start(tmp_path: Path, server: Server) -> Iterator[Start]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(root=str(ROOT)), "utf-8")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    started: list[subprocess.Popen[str]] = []

    def start_it(*arguments: str) -> subprocess.Popen[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
        process = subprocess.Popen(
            [
                sys.executable, str(program), "knowledge", "measure", "toy", "toy", "--python", sys.executable,
                "--layers", str(tmp_path / "layers"), "--output", str(tmp_path / "rows"),
                "--index-url", f"{server.base}/simple", *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env={
                **kept, "TMPDIR": str(temporary), "GRADCOMPAT_CACHE": str(tmp_path / "cache"),
                "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(tmp_path / "uv"),
            },
            start_new_session=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start_it
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> Outcome:
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in err, err
    return Outcome(process.returncode, out, err)


def kept(tmp_path: Path) -> list[str]:
    lines = (tmp_path / "rows" / "toy.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["version"] for line in lines]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened for a minute")


def test_the_whole_matrix_and_then_nothing_more(start: Start, tmp_path: Path) -> None:
    cache = laid(tmp_path / "layers", VERSIONS)
    first = ended(start())
    lines = first.err.splitlines()
    assert first.status == 0
    assert lines[:2] == ["8 releases of toy, 1 probe", "8 cells to measure in 8 releases"]
    assert re.fullmatch(r"8 of 8: toy 1\.\d: 1 measured", lines[-1])
    assert kept(tmp_path) == list(VERSIONS)  # sorted, whatever came first
    second = ended(start())
    assert second.status == 0
    assert second.err.splitlines() == ["8 releases of toy, 1 probe", "0 cells to measure in 0 releases"]
    assert ran(cache) == dict.fromkeys(VERSIONS, 1)


def test_the_newest_release_alone(start: Start, tmp_path: Path) -> None:
    """``gradcompat knowledge measure toy --newest``."""
    laid(tmp_path / "layers", VERSIONS)
    outcome = ended(start("--newest", "--versions", "<1.6"))
    assert (outcome.status, kept(tmp_path)) == (0, ["1.5"])
    assert outcome.err.splitlines()[1:] == ["1 cell to measure in 1 release", "1 of 1: toy 1.5: toy: 1 measured"]


def test_why_a_probe_of_the_newest_release_did_not_run(start: Start, tmp_path: Path) -> None:
    laid(tmp_path / "layers", {"1.7": 1.0})
    (broken,) = (tmp_path / "layers").glob("*/toy-1.7/toy/__init__.py")
    broken.write_text("import nothing_of_that_name\n", "utf-8")
    outcome = ended(start("--newest"))
    assert (outcome.status, outcome.err.splitlines()[2:]) == (
        0,
        ["1 of 1: toy 1.7: toy: 1 skipped", "  toy did not run: there is no module `nothing_of_that_name`"],
    )


def test_a_bisection_finds_the_bounds_and_leaves_the_rest_unmeasured(start: Start, tmp_path: Path) -> None:
    laid(tmp_path / "layers", VERSIONS)
    outcome = ended(start("--bisect", "--versions", "<1.6"))
    assert outcome.status == 0
    assert kept(tmp_path) == ["1.0", "1.2", "1.3", "1.5"]
    assert outcome.err.splitlines()[-1] == (
        "only boundaries were looked for: a gap between two releases that agree goes unnoticed"
    )
    # The ends agree here: the hole between them is not seen, and nothing says that it is clean.
    whole = ended(start("--bisect", "--output", str(tmp_path / "other")))
    rows = read_rows(tmp_path / "other")
    assert (whole.status, [row.version for row in rows]) == (0, ["1.0", "1.7"])


def alive(tmp_path: Path) -> list[str]:
    """Processes that were started for this test, by what their command lines or environments name."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                said = Path(f"/proc/{entry}/environ").read_bytes() + Path(f"/proc/{entry}/cmdline").read_bytes()
            except OSError:
                continue
            if str(tmp_path).encode() in said and entry != str(os.getpid()):
                found.append(Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are looked for in /proc")
SLOW = {version: ratio for version, ratio in VERSIONS.items() if version in ("1.0", "1.1", "1.2")}


def first_row_of_slow_ones(start: Start, tmp_path: Path) -> subprocess.Popen[str]:
    """A run with one row kept and the others at work for as long as the test takes."""
    laid(tmp_path / "layers", {"1.7": 1.0})
    laid(tmp_path / "layers", SLOW, sleep=300)
    process = start("--versions", "==1.7 || <1.3")
    rows = tmp_path / "rows" / "toy.jsonl"
    until(lambda: rows.exists() and rows.read_text("utf-8").endswith("\n") and len(ran(tmp_path / "layers")) == 3)
    return process


@needs_proc
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("whole_group", [True, False], ids=["from the terminal", "to the command alone"])
def test_interrupted(start: Start, tmp_path: Path, number: signal.Signals, whole_group: bool) -> None:
    process = first_row_of_slow_ones(start, tmp_path)
    if whole_group and number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    outcome = ended(process)
    assert outcome.status == 3
    assert outcome.err.splitlines()[-1] == (
        f"stopped: what was measured is kept in {tmp_path / 'rows'}; the same command goes on from there"
    )
    assert kept(tmp_path) == ["1.7"]
    assert alive(tmp_path) == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [path.name for path in (tmp_path / "rows").iterdir()] == ["toy.jsonl"]


@needs_proc
def test_killed_and_started_again(start: Start, tmp_path: Path) -> None:
    process = first_row_of_slow_ones(start, tmp_path)
    process.kill()
    process.communicate()
    until(lambda: alive(tmp_path) == [])  # what it had started ends by itself
    # As a kill in the midst of writing leaves it.
    with (tmp_path / "rows" / "toy.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"package": "toy", "version": "1.2", "pro')
    for version, ratio in SLOW.items():
        (path,) = (tmp_path / "layers").glob(f"*/toy-{version}/toy/__init__.py")
        # Within one second it is as new and as long as before, and Python would take what it compiled then.
        shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)
        path.write_text(source(ratio, version=version), "utf-8")
    outcome = ended(start("--versions", "==1.7 || <1.3"))
    assert outcome.status == 0
    assert outcome.err.splitlines()[1] == "3 cells to measure in 3 releases"
    assert kept(tmp_path) == ["1.0", "1.1", "1.2", "1.7"]
    assert ran(tmp_path / "layers")["1.7"] == 1


def test_with_another_package_beside_every_release(start: Start, server: Server, tmp_path: Path) -> None:
    cache = laid(tmp_path / "layers", {"1.0": 1.0, "1.1": 1.0})
    laid(cache, {"0.3": 1.0}, name="hub")
    content = wheel("hub", "0.3", source(1.0))
    server.html("hub", anchor("hub-0.3-py3-none-any.whl", content))
    assert ended(start("--versions", "<1.2")).status == 0
    outcome = ended(start("--versions", "<1.2", "--with", "hub==0.3"))
    assert (outcome.status, outcome.err.splitlines()[1]) == (0, "2 cells to measure in 2 releases")
    rows = read_rows(tmp_path / "rows")
    assert [(one.version, dict(one.beside)) for one in rows] == [
        ("1.0", {}), ("1.0", {"hub": "0.3"}), ("1.1", {}), ("1.1", {"hub": "0.3"}),
    ]  # fmt: skip


def test_a_layer_that_cannot_be_built_is_no_row_and_is_tried_again(
    start: Start, server: Server, tmp_path: Path
) -> None:
    laid(tmp_path / "layers", {"1.0": 1.0, "1.1": 1.0})
    server.pages["/files/toy-1.2-py3-none-any.whl"] = Reply(404)
    outcome = ended(start("--versions", "<1.3"))
    assert outcome.status == 3
    assert kept(tmp_path) == ["1.0", "1.1"]
    (said,) = [line for line in outcome.err.splitlines() if "not measured" in line]
    assert said.startswith("1 cell of toy 1.2 not measured: toy==1.2 could not be installed: ")
    serve(server, VERSIONS)
    assert ended(start("--versions", "<1.3")).status == 0
    assert kept(tmp_path) == ["1.0", "1.1", "1.2"]
    assert [path.name for path in next((tmp_path / "layers").iterdir()).iterdir() if path.name.startswith(".")] == []


def test_an_index_that_does_not_answer(start: Start, server: Server, tmp_path: Path) -> None:
    server.pages["/simple/toy/"] = Reply(403)
    outcome = ended(start())
    assert outcome.status == 3
    assert outcome.err.startswith("stopped: `")
    assert not (tmp_path / "rows").exists()


def test_what_could_not_be_measured_is_tried_again_when_asked(start: Start, tmp_path: Path) -> None:
    laid(tmp_path / "layers", {"1.0": 1.0})
    (broken,) = (tmp_path / "layers").glob("*/toy-1.0/toy/__init__.py")
    broken.write_text("import nothing_of_that_name\n", "utf-8")
    assert ended(start("--versions", "==1.0")).status == 0
    (row,) = read_rows(tmp_path / "rows")
    assert (row.measurement.state, row.measurement.reason) == ("skipped", "there is no module `nothing_of_that_name`")
    broken.write_text(source(1.0), "utf-8")
    assert "0 cells to measure" in ended(start("--versions", "==1.0")).err
    assert "1 cell to measure" in ended(start("--versions", "==1.0", "--again")).err
    (row,) = read_rows(tmp_path / "rows")
    assert row.measurement.state == "measured"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--versions", "about 4"), "`about 4` is not a set of versions: `about 4` has no meaning"),
        (("--versions", ">=9"), "the package index `SERVER/simple` has no release of `toy` in `>=9`"),
        (("--device", "gpu"), "`--device gpu` is not known"),
        (("--python", "no-such-python"), "`no-such-python`: there is no such interpreter"),
        (("GC-9999",), "`GC-9999` is neither a record nor a recipe"),
        (("--with", "hub"), "`--with hub` names no release"),
        (("--with", "toy==1.0"), "`--with toy==1.0`: toy is what is varied"),
        (("--with", "torch==2.0"), "`--with torch==2.0`: torch comes from the base"),
        (("--with", "hub==0.9"), "`--with hub==0.9`: the package index `SERVER/simple` has no such release"),
    ],
)
def test_wrong_usage(start: Start, server: Server, arguments: tuple[str, ...], message: str) -> None:
    outcome = ended(start(*arguments))
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message.replace('SERVER', server.base)}")


def test_a_scheduler_that_is_not_there(start: Start) -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    outcome = ended(start("--scheduler", "tcp://127.0.0.1:9"))
    assert outcome.status == 2
    assert "error: `tcp://127.0.0.1:9`: there is no scheduler" in outcome.err


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_does_the_same(start: Start, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    cache = laid(tmp_path / "layers", VERSIONS)
    recipe = replace(toys.TOY_RECIPE, variants=({},))

    def register() -> None:
        from gradcompat.recipes.table import BY_NAME

        BY_NAME["toy"] = recipe

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        with distributed.Client(cluster) as client:
            client.run(register)
        outcome = ended(start("--scheduler", cluster.scheduler_address))
    assert outcome.status == 0
    assert kept(tmp_path) == list(VERSIONS)
    assert ran(cache) == dict.fromkeys(VERSIONS, 1)
