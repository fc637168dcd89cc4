"""Runs probes over the releases of a package: one task a release, on whatever executor there is.

A task lays the release and its companions over the base and runs all its probes in one process. Its rows are handed
over as soon as it ends, so that a run that is killed goes on where it stopped; a task that is lost with its worker has
handed over nothing, and is done again as a whole.

What hangs on the day (no space, an index that does not answer) makes no row: it would stand there as something that is
known of a release. Such a cell is not run, and is measured the next time.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from gradcompat.model.probe import Cell, Measurement, ProbeSpec, Row
from gradcompat.model.release import Catalogue, Release
from gradcompat.probes.dependency_selection import companions, fits
from gradcompat.probes.overlay_environments import CONFIGURED, Base, NoLayer, Origin, Overlay, layer
from gradcompat.probes.runner import Interpreter, Job, run
from gradcompat.recipes.recipe import Recipe
from gradcompat.recipes.table import needed, recipe_of

_INSIDE = Path(__file__).parent / "inside"
# Modules whose versions say what a measurement was made with.
_TOLD = frozenset({
    "accelerate", "bitsandbytes", "datasets", "deepspeed", "lightning", "lightning_fabric", "numpy", "peft",
    "pytorch_lightning", "safetensors", "setuptools", "tokenizers", "torch", "torchmetrics", "transformers", "trl",
})  # fmt: skip
# What is said of a device that is not there, is full, or has gone.
_NO_DEVICE = re.compile(
    r"no device `|cannot be measured on|out of memory|no CUDA-capable device|busy or unavailable|GPU is lost"
)
# What an error says of the machine that it happened on. Of a path the last part is kept, of an address nothing.
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\"`)>\]]*", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w.~/\\])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\:'\"`)>\],;]+)+[/\\]?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One release with all that is to be measured in it.

    Attributes:
        package: the package that is varied.
        version: its release.
        layers: what is laid down, the first one in front.
        specs: the probes.
        base: what is below.
        cache: the folder of all layers, on the machine that runs the task.
        device: where to train.
        seed: of all generators.
        date: that the rows bear.
        missing: what there is not of what it needs, as sentences.
        unknown: what could not be looked up of that, as sentences.
        impossible: why it cannot be laid down at all; empty if it can.
        origin: where the installer gets releases from.
        beside: name → version of packages that were asked for beside it.
    """

    package: str
    version: str
    layers: tuple[Overlay, ...]
    specs: tuple[ProbeSpec, ...]
    base: Base
    cache: str
    device: str = "cpu"
    seed: int = 0
    date: str = ""
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    impossible: str = ""
    origin: Origin = CONFIGURED
    beside: Mapping[str, str] = field(default_factory=dict)


def tasks(
    wanted: Mapping[Release, Sequence[ProbeSpec]],
    base: Base,
    catalogue: Catalogue,
    cache: Path,
    *,
    held: Sequence[Release] = (),
    done: Collection[Row] = (),
    device: str = "cpu",
    seed: int = 0,
    today: date,
    origin: Origin = CONFIGURED,
    current: bool = False,
) -> list[Task]:
    """What is left to measure, newest releases first: those are what people are about to install.

    Args:
        wanted: releases of one package in any order, with the probes for each.
        base: what is below.
        catalogue: where companions are looked up.
        cache: the folder of all layers.
        held: releases to lay down beside each, in the place of what the metadata ask for.
        done: the rows that are there already.
        device: where to train.
        seed: of all generators.
        today: the date of the rows.
        origin: where the installer gets releases from.
        current: lay down what an install of today brings, and make a task of each recipe: none has to wait for
            what another one needs, and what it measured is kept before the next one starts.
    """
    finished = {(asked_cell(row), row.digest) for row in done}
    beside = {release.name: str(release.version) for release in held}
    made = []
    for release in sorted(wanted, key=lambda one: one.version, reverse=True):
        left = tuple(
            spec
            for spec in wanted[release]
            if (_cell(release, spec, device, seed, beside), digest(recipe_of(spec))) not in finished
        )
        for specs in _by_recipe(left) if current else [left] * bool(left):
            task = _task(release, specs, base, catalogue, cache, held, current=current)
            made.append(replace(task, device=device, seed=seed, date=today.isoformat(), origin=origin, beside=beside))
    return made


def asked_cell(row: Row) -> Cell:
    """The cell of a row with the device as it is asked for: ``cuda:0`` without the name of the GPU."""
    return replace(row.cell, device=row.measurement.device.partition(" ")[0])


def _cell(release: Release, spec: ProbeSpec, device: str, seed: int, beside: Mapping[str, str]) -> Cell:
    return Cell(
        package=release.name,
        version=str(release.version),
        spec=str(spec),
        device=device,
        seed=seed,
        beside=tuple(sorted(beside.items())),
    )


def _by_recipe(specs: Sequence[ProbeSpec]) -> list[tuple[ProbeSpec, ...]]:
    """Probes that need the same, of one recipe."""
    found: dict[tuple[str, tuple[str, ...]], list[ProbeSpec]] = {}
    for spec in specs:
        found.setdefault((spec.name, needed(spec)), []).append(spec)
    return [tuple(group) for group in found.values()]


def _task(
    release: Release,
    specs: tuple[ProbeSpec, ...],
    base: Base,
    catalogue: Catalogue,
    cache: Path,
    held: Sequence[Release],
    *,
    current: bool,
) -> Task:
    needs = dict.fromkeys(need.replace("_", "-") for spec in specs for need in needed(spec))
    possible = fits(release, base) and all(fits(one, base) for one in held)
    found = companions(
        release,
        base,
        catalogue,
        [module for module in needs if module not in ("torch", release.name)],
        held,
        current=current,
    )
    laid = (release, *held, *found.releases) if possible else ()
    return Task(
        package=release.name,
        version=str(release.version),
        layers=tuple(Overlay(name=one.name, version=str(one.version), built=not one.wheels) for one in laid),
        missing=found.missing,
        unknown=found.unknown,
        impossible=""
        if possible
        else f"there is no {_unfit(release, held, base)} for Python {base.python} on {base.platform}-{base.machine}",
        specs=specs,
        base=base,
        cache=str(cache),
    )


def _unfit(release: Release, held: Sequence[Release], base: Base) -> str:
    return ", ".join(f"{one.name} {one.version}" for one in (release, *held) if not fits(one, base))


def measure(
    wanted: Sequence[Task],
    executor: Executor,
    keep: Callable[[Task, tuple[Row, ...]], None],
    *,
    at_once: int | None = None,
    work: Callable[[Task], tuple[Row, ...]] | None = None,
) -> list[tuple[Task, BaseException]]:
    """Run all tasks; the rows of each are kept as soon as it ends.

    Args:
        wanted: the tasks.
        executor: local threads or processes, a Dask cluster, ….
        keep: takes the rows of one task; called in this thread.
        at_once: how many tasks the executor is given at a time; None for all.
        work: is called with a task in the executor; :func:`measured` if it is not given.

    Returns:
        The tasks that came to nothing, with the reason.
    """
    lost: list[tuple[Task, BaseException]] = []
    waiting = deque(wanted)
    running: dict[Future[tuple[Row, ...]], Task] = {}
    try:
        while waiting or running:
            while waiting and (at_once is None or len(running) < at_once):
                try:
                    future = executor.submit(work or measured, waiting[0])
                except BrokenExecutor as broken:  # it takes nothing more
                    lost += [(task, broken) for task in waiting]
                    waiting.clear()
                    break
                running[future] = waiting.popleft()
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                task = running.pop(future)
                error = CancelledError("the executor gave it up") if future.cancelled() else future.exception()
                if error is not None:
                    lost.append((task, error))
                else:
                    keep(task, future.result())
    finally:
        for future in running:
            future.cancel()
    return lost


def measured(task: Task) -> tuple[Row, ...]:
    """Measure one release.

    Returns:
        A row for each probe of the task, whatever became of it; but none for what was not measured because of the
        device, or where something that the release needs could not be looked up.

    Raises:
        LayerFailed: if a layer could not be built today.
        ProbeUnavailable: if there is no interpreter.
    """
    if task.impossible:
        return _skipped(task, task.impossible)
    try:
        layers = tuple(layer(task.base, laid, Path(task.cache), task.origin) for laid in task.layers)
    except NoLayer as error:
        return _skipped(task, error.message)
    jobs = [Job.of(spec, recipe_of(spec), device=task.device, seed=task.seed) for spec in task.specs]
    interpreter = Interpreter(path=task.base.interpreter, layers=layers, bytecode=True)
    found = run(jobs, interpreter)
    return tuple(_row(task, one) for one in found if not _hangs_on_the_day(task, one))


def _hangs_on_the_day(task: Task, measurement: Measurement) -> bool:
    """Would it come to something where everything is there that is asked for?"""
    if measurement.state not in ("skipped", "failed"):
        return False
    return bool(task.unknown) or (task.device != "cpu" and _NO_DEVICE.search(measurement.reason) is not None)


def _skipped(task: Task, reason: str) -> tuple[Row, ...]:
    found = (Measurement(spec=spec, state="skipped", reason=reason, device=task.device) for spec in task.specs)
    return tuple(_row(task, measurement) for measurement in found)


def _row(task: Task, measurement: Measurement) -> Row:
    reason = measurement.reason
    if measurement.state in ("skipped", "failed") and task.missing:
        reason = "; ".join((reason, *task.missing))
    values = {name: placeless(value) if isinstance(value, str) else value for name, value in measurement.values.items()}
    told = {*(name.replace("-", "_") for name in (task.package, *task.beside)), *_TOLD}
    kept = Measurement(
        spec=measurement.spec,
        state=measurement.state,
        reason=placeless(reason),
        values=values,
        packages={name: version for name, version in measurement.packages.items() if name in told},
        python=measurement.python or task.base.python,
        device=measurement.device,
        seed=task.seed,
        seconds=measurement.seconds,
    )
    return Row(
        package=task.package,
        version=task.version,
        measurement=kept,
        platform=f"{task.base.platform}-{task.base.machine}",
        digest=digest(recipe_of(measurement.spec)),
        date=task.date,
        beside=task.beside,
    )


def placeless(text: str) -> str:
    """A sentence without the paths and addresses of the machine that it was said on.

    >>> placeless("cannot open '/home/me/layers/torch/lib/libgomp.so.1'")
    "cannot open '…/libgomp.so.1'"
    """
    return _PATH.sub(_last_part, _ADDRESS.sub("an address", text))


def _last_part(found: re.Match[str]) -> str:
    """The name of the file; a folder may be somebody's."""
    last = re.split(r"[/\\]", found[0])[-1]
    return f"…/{last}" if "." in last.strip(".") else "…"


def digest(recipe: Recipe) -> str:
    """A short digest of the code that a recipe runs: its module, and the modules beside it that it imports."""
    found = hashlib.sha256()
    seen: set[Path] = set()
    waiting = [_INSIDE / "recipes" / f"{recipe.module}.py"]
    if Path(recipe.module).is_absolute():
        waiting = [Path(recipe.module)]
    while waiting:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        source = path.read_bytes()
        found.update(source)
        inside = path.parent if path.is_relative_to(_INSIDE) else _INSIDE / "recipes"  # a file lies as if among ours
        waiting += sorted(_imported(source, inside))
    return found.hexdigest()[:12]


def _imported(source: bytes, folder: Path) -> set[Path]:
    """``from .. import models`` and ``from ..skipping import Skip`` name modules in the folder above."""
    modules: set[Path] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            names = {node.module.replace(".", "/")} if node.module is not None else {alias.name for alias in node.names}
            above = folder if node.level == 1 else folder.parents[node.level - 2]
            modules |= {above / f"{name}.py" for name in names}
    return modules
