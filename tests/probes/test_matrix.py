"""The matrix: what is left to measure, one task a release on any executor, and rows that hold for every machine."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.model.probe import Measurement, ProbeSpec, Row
from gradcompat.model.release import Release
from gradcompat.probes import matrix
from gradcompat.probes.bisection import to_measure
from gradcompat.probes.matrix import Task, digest, measure, measured, placeless, tasks
from gradcompat.probes.overlay_environments import LayerFailed, NoLayer, Origin, Overlay
from gradcompat.recipes.table import BY_NAME, RECIPES
from tests.probes.toys import BASE, SPEC, TOY_RECIPE, Table, laid, ran, release

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform == "win32", reason="the interpreter is watched with signals"),
]

TODAY = date(2026, 11, 20)
RATIOS = {"1.0": 1.0, "1.1": 4.0, "1.2": 4.0, "2.0": 1.0}
RELEASES = tuple(release(version) for version in RATIOS)


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "toy", TOY_RECIPE)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return laid(tmp_path / "layers", RATIOS)


def left(cache: Path, releases: tuple[Release, ...] = RELEASES, **more: Any) -> list[Task]:
    catalogue = more.pop("catalogue", Table(releases))
    specs = more.pop("specs", [SPEC])
    return tasks(dict.fromkeys(releases, specs), BASE, catalogue, cache, today=TODAY, **more)


def row(version: str, **changed: Any) -> Row:
    measurement = Measurement(spec=SPEC, state="measured", values={"ratio": 1.0}, **changed)
    return Row(
        package="toy", version=version, measurement=measurement, platform="linux-x86_64", digest=digest(TOY_RECIPE),
        date="2026-11-20",
    )  # fmt: skip


def summary(rows: list[Row]) -> list[tuple[str, str, object]]:
    return sorted((one.version, one.measurement.state, one.measurement.values.get("ratio")) for one in rows)


EXPECTED = [(version, "measured", ratio) for version, ratio in RATIOS.items()]


def test_newest_first_and_nothing_that_is_there_already(cache: Path) -> None:
    assert [task.version for task in left(cache)] == ["2.0", "1.2", "1.1", "1.0"]
    assert [task.version for task in left(cache, done=[row("1.2"), row("2.0")])] == ["1.1", "1.0"]


@pytest.mark.parametrize(
    "other",
    [
        row("1.0", seed=1),
        row("1.0", device="cuda:0 NVIDIA H200"),
        replace(row("1.0"), digest="0123456789ab"),
        replace(row("1.0"), beside={"hub": "0.3"}),
    ],
)
def test_another_seed_device_code_or_neighbour_is_another_cell(cache: Path, other: Row) -> None:
    assert [task.version for task in left(cache, done=[other])] == ["2.0", "1.2", "1.1", "1.0"]


def test_a_gpu_has_a_name_that_nobody_asks_for(cache: Path) -> None:
    done = [row("1.0", device="cuda:0 NVIDIA H200")]
    assert [task.version for task in left(cache, device="cuda:0", done=done)] == ["2.0", "1.2", "1.1"]


def test_a_task_of_each_recipe_for_who_installs_today(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one recipe needs and cannot get is no hindrance to another."""
    monkeypatch.setitem(BY_NAME, "greedy", replace(TOY_RECIPE, name="greedy", needs=("toy", "hub")))
    specs = [SPEC, ProbeSpec(name="greedy"), ProbeSpec(name="toy", parameters={"skip": True})]
    hubs = (release("0.3", "hub", "2023-01-01"), release("0.4", "hub", "2026-01-01"))
    made = left(cache, (release("2.0", uploaded="2023-01-01"),), specs=specs, catalogue=Table(hubs), current=True)
    assert [[str(spec) for spec in task.specs] for task in made] == [["toy", "toy(skip=True)"], ["greedy"]]
    assert [[one.version for one in task.layers] for task in made] == [["2.0"], ["2.0", "0.4"]]
    assert left(cache, specs=[SPEC], done=[row(version) for version in RATIOS], current=True) == []


def test_a_task_has_what_the_release_needs(cache: Path) -> None:
    hub = release("0.3", "hub", wheels=(), sdist=True)
    table = Table([hub], {"toy 2.0": ["hub", "torch<2", "none"]}, silent="none")
    (task,) = left(cache, (release("2.0"),), catalogue=table, origin=Origin(offline=True))
    assert task == Task(
        package="toy",
        version="2.0",
        layers=(Overlay(name="toy", version="2.0"), Overlay(name="hub", version="0.3", built=True)),
        missing=("toy 2.0 requires torch<2, and the base has torch 2.13.0",),
        unknown=("none, which toy 2.0 requires: `none`: the index does not answer",),
        specs=(SPEC,),
        base=BASE,
        cache=str(cache),
        date="2026-11-20",
        origin=Origin(offline=True),
    )
    assert pickle.loads(pickle.dumps(task)) == task  # noqa: S301  # made in this line


def test_what_is_held_is_laid_down_whatever_the_release_asks_for(cache: Path) -> None:
    held = release("1.0", "hub")
    table = Table([held, release("0.3", "hub"), release("7", "web")], {"toy 2.0": ["hub<1"], "hub 1.0": ["web"]})
    (task,) = left(cache, (release("2.0"),), catalogue=table, held=[held])
    assert [f"{one.name} {one.version}" for one in task.layers] == ["toy 2.0", "hub 1.0", "web 7"]
    assert (task.beside, task.missing) == ({"hub": "1.0"}, ())
    done = [replace(row("2.0"), beside={"hub": "1.0"})]
    assert left(cache, (release("2.0"),), catalogue=table, held=[held], done=done) == []
    (other,) = left(cache, (release("2.0"),), catalogue=table, held=[release("1.0", "hub", wheels=("cp30-none-any",))])
    assert other.impossible.startswith("there is no hub 1.0 for Python ")


def executors() -> list[Any]:
    forked = pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
    return [
        pytest.param(lambda: ThreadPoolExecutor(2), id="threads"),
        pytest.param(lambda: ProcessPoolExecutor(2, multiprocessing.get_context("fork")), id="processes", marks=forked),
    ]


@pytest.mark.parametrize("executor", executors())
@pytest.mark.parametrize("at_once", [None, 1, 2])
def test_every_release_is_measured_once(cache: Path, executor: Any, at_once: int | None) -> None:
    rows: list[Row] = []
    with executor() as workers:
        lost = measure(left(cache), workers, lambda _task, found: rows.extend(found), at_once=at_once)
    assert lost == []
    assert summary(rows) == EXPECTED
    assert ran(cache) == dict.fromkeys(RATIOS, 1)
    first = next(one for one in rows if one.version == "1.1")
    assert first.measurement.packages == {"toy": "1.1"}
    assert (first.package, first.platform, first.date) == ("toy", "linux-x86_64", "2026-11-20")
    assert (first.digest, first.measurement.seed, first.measurement.output) == (digest(TOY_RECIPE), 0, "")
    assert left(cache, done=rows) == []


def test_what_is_lost_is_lost_alone(cache: Path) -> None:
    def work(task: Task) -> tuple[Row, ...]:
        if task.version == "1.1":
            raise LayerFailed("no space")
        return measured(task)

    rows: list[Row] = []
    with ThreadPoolExecutor(2) as workers:
        ((task, reason),) = measure(left(cache), workers, lambda _task, found: rows.extend(found), work=work)
    assert (task.version, str(reason)) == ("1.1", "no space")
    assert summary(rows) == [one for one in EXPECTED if one[0] != "1.1"]
    # The next run measures that one and no other.
    assert [task.version for task in left(cache, done=rows)] == ["1.1"]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_a_pool_that_breaks_gives_up_what_is_left_and_keeps_the_rest(cache: Path) -> None:
    rows: list[Row] = []
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as workers:
        lost = measure(left(cache), workers, lambda _task, found: rows.extend(found), at_once=1, work=_dies_at_1_1)
    assert [(task.version, type(reason)) for task, reason in lost] == [
        ("1.1", BrokenProcessPool),
        ("1.0", BrokenProcessPool),
    ]
    assert [one.version for one in rows] == ["2.0", "1.2"]


def _dies_at_1_1(task: Task) -> tuple[Row, ...]:
    if task.version == "1.1":
        os.kill(os.getpid(), signal.SIGKILL)
    return measured(task)


class Giving(Executor):
    """Cancels everything behind the first task, as a scheduler that goes away does."""

    def submit(self, fn: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if arguments[0].version == "2.0":
            future.set_result(fn(*arguments))
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_tasks_that_the_executor_gives_up(cache: Path) -> None:
    rows: list[Row] = []
    lost = measure(left(cache), Giving(), lambda _task, found: rows.extend(found))
    assert sorted(task.version for task, _ in lost) == ["1.0", "1.1", "1.2"]
    assert {str(reason) for _, reason in lost} == {"the executor gave it up"}
    assert [one.version for one in rows] == ["2.0"]


def test_rows_that_cannot_be_kept_stop_the_run(cache: Path) -> None:
    def keep(_task: Task, _rows: tuple[Row, ...]) -> None:
        raise OSError("full")

    with ThreadPoolExecutor(1) as workers, pytest.raises(OSError, match="full"):
        measure(left(cache), workers, keep, at_once=1)
    assert ran(cache) == {"2.0": 1}


def test_a_release_that_does_not_import_is_recorded_as_such(tmp_path: Path) -> None:
    cache = laid(tmp_path, {"1.0": 1.0})
    broken = next(cache.glob("*/toy-1.0/toy/__init__.py"))
    broken.write_text("from toy import nothing\n", "utf-8")
    (task,) = left(cache, (release("1.0"),), catalogue=Table([], {"toy 1.0": ["torch<2"]}))
    (found,) = measured(task)
    assert found.measurement.state == "skipped"
    reason = found.measurement.reason
    assert reason.startswith("cannot be imported: cannot import name 'nothing' from partially initialized module 'toy'")
    assert reason.endswith("; toy 1.0 requires torch<2, and the base has torch 2.13.0")
    assert str(tmp_path) not in reason


def test_what_does_not_import_because_nobody_could_look_is_not_recorded(tmp_path: Path) -> None:
    cache = laid(tmp_path, {"1.0": 1.0})
    specs = [SPEC, ProbeSpec(name="toy", parameters={"fail": True}), ProbeSpec(name="toy", parameters={"skip": True})]
    table = Table([], {"toy 1.0": ["hub"]}, silent="hub")
    (task,) = left(cache, (release("1.0"),), catalogue=table, specs=specs)
    assert [one.measurement.state for one in measured(task)] == ["measured"]  # what ran has run
    assert [one.measurement.state for one in measured(replace(task, unknown=()))] == ["measured", "failed", "skipped"]


def test_a_release_that_cannot_be_laid_down_is_recorded_without_an_installer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "layer", None)
    (task,) = left(tmp_path, (release("1.0", requires_python=">=3.99"),))
    (found,) = measured(task)
    reason = f"there is no toy 1.0 for Python {BASE.python} on linux-x86_64"
    assert (found.measurement.state, found.measurement.reason) == ("skipped", reason)
    assert found.measurement.python == BASE.python


def test_a_companion_that_is_not_there_is_recorded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> Path:
        raise NoLayer("there is no hub==0.3 for Python 3.99")

    (task, *_) = left(cache)
    monkeypatch.setattr(matrix, "layer", none)
    (found,) = measured(task)
    assert (found.measurement.state, found.measurement.reason) == ("skipped", "there is no hub==0.3 for Python 3.99")


@pytest.mark.parametrize(
    "reason",
    [
        "there is no device `cuda:7`",
        "it cannot be measured on cuda:7, only on cpu",
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB",
        "RuntimeError: No CUDA GPUs are available: no CUDA-capable device is detected",
    ],
)
def test_a_device_that_is_not_there_says_nothing_of_a_release(
    cache: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    def run(*_: object) -> list[Measurement]:
        return [Measurement(spec=SPEC, state="failed", reason=reason, device="cuda:7")]

    monkeypatch.setattr(matrix, "run", run)
    (task, *_) = left(cache, device="cuda:7")
    assert measured(task) == ()
    assert len(measured(replace(task, device="cpu"))) == 1


def test_rows_hold_no_path_of_a_machine(cache: Path) -> None:
    specs = [ProbeSpec(name="toy", parameters={"fail": True}), ProbeSpec(name="toy", parameters={"skip": True})]
    (task, *_) = left(cache, specs=specs)
    failed, skipped = measured(task)
    assert failed.measurement.reason == "OSError: cannot open '…/weights.bin'"
    assert skipped.measurement.reason == "there is nothing at …"


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("[Errno 2] No such file or directory: '/home/me/a b/c.so'", "[Errno 2] No such file or directory: '… b/c.so'"),
        ("/opt/x/lib/libgomp.so.1: cannot allocate", "…/libgomp.so.1: cannot allocate"),
        ("in C:\\Users\\me\\torch\\lib\\c10.dll it is", "in …/c10.dll it is"),
        ("see ~/.cache/torch (/tmp/x/y.py, line 3)", "see … (…/y.py, line 3)"),
        ("Failed to fetch: `https://index.example/simple/toy/`", "Failed to fetch: `an address`"),
        ("file:///home/me/toy.whl is bad", "an address is bad"),
        ("a ratio of 1/2 and true/false, n/a, 4 / 2", "a ratio of 1/2 and true/false, n/a, 4 / 2"),
        ("expected float32 but got bfloat16", "expected float32 but got bfloat16"),
    ],
)
def test_sentences_without_places(said: str, kept: str) -> None:
    assert placeless(said) == kept


def test_the_digest_is_of_the_code_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("from ..skipping import Skip\n", "utf-8")
    recipe = replace(TOY_RECIPE, module=str(path))
    first = digest(recipe)
    path.write_text("from ..skipping import Skip\n\n", "utf-8")
    assert digest(recipe) != first
    assert len({digest(one) for one in RECIPES}) == len({one.module for one in RECIPES})


# --- bisection ---


def bisected(verdicts: list[str]) -> tuple[dict[int, str], int]:
    """Measure what is asked for until nothing is; what is known then, and after how many rounds."""
    places = range(len(verdicts))
    known: dict[int, str] = {}
    rounds = 0
    while wanted := to_measure(places, known):
        assert not set(wanted) & known.keys()
        known |= {place: verdicts[place] for place in wanted}
        rounds += 1
    return known, rounds


def test_the_ends_first_then_the_middles() -> None:
    places = ["a", "b", "c", "d", "e"]
    assert to_measure(places, {}) == ("a", "e")
    assert to_measure(places, {"a": "clean", "e": "wrong"}) == ("c",)
    assert to_measure(places, {"a": "clean", "c": "clean", "e": "wrong"}) == ("d",)
    assert to_measure(places, {"a": "clean", "c": "clean", "d": "wrong", "e": "wrong"}) == ()
    assert to_measure([], {}) == ()
    assert to_measure(["a"], {}) == ("a",)


def test_a_hole_between_two_that_agree_is_missed() -> None:
    known, _ = bisected(["clean", "wrong", "clean"])
    assert known == {0: "clean", 2: "clean"}


@given(st.lists(st.sampled_from(["clean", "wrong", "skipped"]), max_size=40))
def test_every_boundary_that_is_found_lies_between_adjacent_releases(verdicts: list[str]) -> None:
    known, rounds = bisected(verdicts)
    places = sorted(known)
    assert all(high == low + 1 or known[low] == known[high] for low, high in pairwise(places))
    assert rounds <= 1 + len(verdicts).bit_length()


@given(st.integers(1, 200), st.integers(0, 200))
def test_one_boundary_costs_its_logarithm(size: int, bound: int) -> None:
    verdicts = ["clean" if place < bound else "wrong" for place in range(size)]
    known, _ = bisected(verdicts)
    assert len(known) <= 2 + size.bit_length()
    first_wrong = min((place for place in known if known[place] == "wrong"), default=size)
    assert first_wrong == min(bound, size)


# --- a cluster ---


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_a_worker_of_a_cluster_that_is_killed_midway(cluster: Any, tmp_path: Path) -> None:
    versions = {f"{number}.0": float(number % 2) for number in range(8)}
    cache = laid(tmp_path / "layers", versions, sleep=0.3)
    recipe = TOY_RECIPE

    def work(task: Task) -> tuple[Row, ...]:  # is sent as it is, since a worker does not have this module
        from gradcompat.probes.matrix import measured
        from gradcompat.recipes.table import BY_NAME

        BY_NAME["toy"] = recipe
        return measured(task)

    (killed, _) = cluster.run(os.getpid).values()
    rows: list[Row] = []

    def keep(_task: Task, found: tuple[Row, ...]) -> None:
        if not rows:
            os.kill(killed, signal.SIGKILL)
        rows.extend(found)

    wanted = left(cache, tuple(release(version) for version in versions))
    lost = measure(wanted, cluster.get_executor(pure=False), keep, work=work)
    assert lost == []
    assert summary(rows) == sorted((version, "measured", ratio) for version, ratio in versions.items())
    assert killed not in cluster.run(os.getpid).values()
