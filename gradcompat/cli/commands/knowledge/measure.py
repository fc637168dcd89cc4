"""``gradcompat knowledge measure``: runs probes over the releases of a package, and keeps what came back."""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from gradcompat.cli.console import package_index
from gradcompat.cli.parameters import IndexParameters, repeatable
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.index.catalog import Lookup
from gradcompat.knowledge.load import KnowledgeBase, load
from gradcompat.knowledge.measured import append, read_rows, tidy
from gradcompat.messages import counted
from gradcompat.model.issue import PackageTerm
from gradcompat.model.probe import Cell, ProbeSpec, Row
from gradcompat.model.release import Catalogue, Release
from gradcompat.names import normalise
from gradcompat.probes.bisection import to_measure
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.matrix import Task, asked_cell, digest, measure, measured, tasks
from gradcompat.probes.overlay_environments import Base, Laying, Origin, describe
from gradcompat.probes.pool import Pool, work
from gradcompat.recipes.judging import judge, wrong_values
from gradcompat.recipes.table import BY_NAME, recipe_of
from gradcompat.renderers.terminal import safe
from gradcompat.versions import VersionSet, parse_version

_DEVICE = re.compile(r"cpu|mps|(?:cuda|xpu)(?::\d{1,3})?")
# What a cluster is given beyond what it works on, so that no worker waits for us.
_IN_FLIGHT = 256


@dataclass(kw_only=True)
class _Run:
    """One run of the command: what is wanted, what is there, and what came to nothing.

    Attributes:
        rows: every row that is kept, those of earlier runs too.
        lost: releases and probes that came to nothing in this run; another run tries them again.
    """

    specs: Sequence[ProbeSpec]
    releases: Sequence[Release]
    base: Base
    catalogue: Catalogue
    origin: Origin
    cache: Path
    folder: Path
    held: Sequence[Release]
    device: str
    seed: int
    rows: list[Row]
    lost: set[tuple[str, str]] = field(default_factory=set)
    measured: int = 0

    def round(self, wanted: Mapping[Release, Sequence[ProbeSpec]], jobs: int, executor: Executor, local: bool) -> None:
        """Measure what of this is not measured yet."""
        left = tasks(
            {
                one: [spec for spec in specs if (str(one.version), str(spec)) not in self.lost]
                for one, specs in wanted.items()
            },
            self.base,
            self.catalogue,
            self.cache,
            held=self.held,
            done=self.rows,
            device=self.device,
            seed=self.seed,
            today=date.today(),
            origin=self.origin,
        )
        cells = sum(len(task.specs) for task in left)
        _say(f"{counted(cells, 'cell')} to measure in {counted(len(left), 'release')}")
        count = 0

        def keep(task: Task, rows: tuple[Row, ...]) -> None:
            nonlocal count
            append(self.folder, rows)
            self.rows += rows
            self.measured += len(rows)
            count += len(task.specs)
            _say(f"{count} of {cells}: {task.package} {task.version}: {_states(rows)}")
            missing = {str(spec) for spec in task.specs} - {str(row.measurement.spec) for row in rows}
            if missing:
                self._lose(task, missing, "; ".join(task.unknown) or f"there is no device `{task.device}` for it now")

        in_flight = jobs if local else _IN_FLIGHT
        for task, reason in measure(left, executor, keep, at_once=in_flight, work=work if local else measured):
            self._lose(task, [str(spec) for spec in task.specs], str(reason) or type(reason).__name__)

    def _lose(self, task: Task, specs: Collection[str], reason: str) -> None:
        self.lost |= {(task.version, spec) for spec in specs}
        _say(f"{counted(len(specs), 'cell')} of {task.package} {task.version} not measured: {reason}")

    def every(self) -> dict[Release, Sequence[ProbeSpec]]:
        return dict.fromkeys(self.releases, self.specs)

    def next(self) -> dict[Release, list[ProbeSpec]]:
        """What a bisection looks at next."""
        found: dict[Release, list[ProbeSpec]] = {}
        for spec in self.specs:
            verdicts = self._verdicts(spec)
            places = [one for one in self.releases if (str(one.version), str(spec)) not in self.lost]
            for release in to_measure(places, verdicts):
                found.setdefault(release, []).append(spec)
        return found

    def _verdicts(self, spec: ProbeSpec) -> dict[Release, object]:
        """The outcome and what is wrong in it, so that bounds of each single quantity are found too."""
        recipe = recipe_of(spec)
        by_version = {str(one.version): one for one in self.releases}
        found: dict[Release, object] = {}
        wanted = Cell(
            package=self.releases[0].name,
            version="",
            spec=str(spec),
            device=self.device,
            seed=self.seed,
            beside=tuple(sorted((one.name, str(one.version)) for one in self.held)),
        )
        code = digest(recipe)
        for row in self.rows:
            same = row.digest == code and replace(asked_cell(row), version="") == wanted
            if same and row.version in by_version:
                outcome, _ = judge(recipe, row.measurement)
                wrong = wrong_values(recipe, row.measurement) if outcome == "reproduced" else ()
                found[by_version[row.version]] = (outcome, wrong)
        return found


def command(
    *,
    index: IndexParameters,
    package: Annotated[str, typer.Argument(metavar="PACKAGE", help="The package whose releases are varied.")],
    probes: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROBE]...",
            help="Ids of records, or names of recipes with all their variants.",
            default_factory=list,
            show_default=False,
        ),
    ],
    versions: Annotated[
        str, typer.Option("--versions", metavar="RANGE", help="Which releases: '>=4.34,<5', '==4.49.0'.")
    ] = "*",
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Only the ends, and then between neighbours whose verdicts differ. A hole between two that agree is "
            "missed.",
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Also measure again what was tried and could not be measured.")
    ] = False,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter under all releases; it has torch.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="cpu|cuda[:N]", help="The device to train on.")] = "cpu",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed of all random generators.")] = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", min=1, max=64, help="The number of releases measured in parallel.")
    ] = 2,
    beside: Annotated[
        list[str],
        repeatable(
            "--with", metavar="NAME==VERSION", help="Also install this version, overriding requirements. Repeatable."
        ),
    ],
    layers: Annotated[
        str | None,
        typer.Option("--layers", metavar="DIR", help="The folder in which releases are installed and reused."),
    ] = None,
    folder: Annotated[
        str, typer.Option("--output", metavar="DIR", help="The folder of the measurements.")
    ] = "knowledge/measured",
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler that runs the cells.")
    ] = None,
) -> int:
    """Run probes over the releases of a package. What is measured already is not measured again.

    Exit status:
      0  every cell has been measured or is known not to run
      2  wrong usage
      3  some cells failed; rerun to retry

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat knowledge measure transformers GC-0004 --python base/bin/python
    """
    return run(
        package,
        probes=probes,
        versions=versions,
        bisect=bisect,
        again=again,
        python=python,
        device=device,
        seed=seed,
        jobs=jobs,
        beside=beside,
        layers=layers,
        folder=folder,
        scheduler=scheduler,
        lookup=index.lookup,
    )


def run(
    package: str,
    *,
    probes: Sequence[str],
    versions: str,
    bisect: bool,
    again: bool,
    python: str | None,
    device: str,
    seed: int,
    jobs: int,
    beside: Sequence[str],
    layers: str | None,
    folder: str,
    scheduler: str | None,
    lookup: Lookup,
) -> int:
    """Measure what is not measured yet.

    Args:
        package: whose releases are varied.
        probes: ids of records and names of recipes; without one, every probe of the records that speak of the package.
        versions: which releases, as a set of versions.
        bisect: look only for the places where verdicts change.
        again: also measure what an earlier run could not.
        python: the interpreter of the base, which has torch.
        device: where to train.
        seed: of all generators.
        jobs: how many releases at a time.
        beside: ``name==version`` of packages that are laid down with every release, whatever it asks for.
        layers: the folder of all layers.
        folder: where the rows are kept.
        scheduler: the address of a Dask scheduler, in the place of local processes.
        lookup: where releases are looked up.

    Returns:
        0 if every cell has a row, 3 if one came to nothing or the run was interrupted.
    """
    name = normalise(package)
    try:
        wanted = VersionSet.parse(versions)
    except ValueError as error:
        raise UsageError(str(error), hint="write it as `--versions '>=4.34,<5'`") from None
    if not _DEVICE.fullmatch(device):
        raise UsageError(f"`--device {device}` is not known", hint="known: cpu, cuda, cuda:N, mps, xpu, xpu:N")
    specs = specs_of(name, probes, load())
    # Probes run in folders of their own.
    cache = Path(layers).absolute() if layers is not None else _default_cache()
    kept = Path(folder)
    rows = list(read_rows(kept)) if os.path.isdir(kept) else []
    if again:
        rows = [row for row in rows if row.measurement.state == "measured"]
    base = describe(interpreter_of(python))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with package_index(lookup) as catalogue, _executor(jobs, scheduler) as executor:
            releases = _releases(name, wanted, catalogue)
            if not releases:
                raise UsageError(f"{catalogue.described} has no release of `{name}` in `{versions}`")
            held = _held(name, beside, catalogue)
            _say(f"{counted(len(releases), 'release')} of {name}, {counted(len(specs), 'probe')}")
            origin = Origin(
                index_url=lookup.index_url,
                extra_index_urls=tuple(lookup.extra_index_urls),
                offline=lookup.offline,
            )
            this = _Run(
                specs=specs,
                releases=releases,
                base=base,
                catalogue=Laying(catalogue=catalogue, base=base, cache=cache, origin=origin),
                origin=origin,
                cache=cache,
                folder=kept,
                held=held,
                device=device,
                seed=seed,
                rows=rows,
            )
            if bisect:
                while following := this.next():
                    this.round(following, jobs, executor, scheduler is None)
                _say("only boundaries were looked for: a gap between two releases that agree goes unnoticed")
            else:
                this.round(this.every(), jobs, executor, scheduler is None)
        status = 3 if this.lost else 0
    except IndexUnavailable as error:
        _say(f"stopped: {error}")
        status = 3
    except KeyboardInterrupt:
        _say(f"stopped: what was measured is kept in {folder}; the same command goes on from there")
        status = 3
    if os.path.isdir(kept):
        tidy(kept)
    return status


def _stop(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_IGN)  # whoever presses twice still gets everything cleared away
    raise KeyboardInterrupt


def _say(sentence: str) -> None:
    sys.stderr.write(safe(sentence) + "\n")
    sys.stderr.flush()


def _states(rows: Sequence[Row]) -> str:
    states = [row.measurement.state for row in rows]
    return ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)) or "nothing"


def specs_of(package: str, probes: Sequence[str], base: KnowledgeBase) -> list[ProbeSpec]:
    """The probes that ids of records and names of recipes stand for; without one, those of the package's records.

    Raises:
        UsageError: if one stands for nothing.
    """
    found: dict[str, ProbeSpec] = {}
    for probe in probes:
        if probe in BY_NAME:
            for parameters in BY_NAME[probe].variants or ({},):
                spec = ProbeSpec(name=probe, parameters=parameters)
                found[str(spec)] = spec
            continue
        issue = base.get(probe)
        if issue is None:
            known = ", ".join(BY_NAME)
            raise UsageError(f"`{probe}` is neither a record nor a recipe", hint=f"recipes are {known}")
        if not issue.probes:
            raise UsageError(f"`{issue.id}` has no probe", hint=f"`gradcompat explain {issue.id}` has its evidence")
        found |= {str(one.spec): one.spec for one in issue.probes}
    if not probes:
        for issue in base.in_force():
            terms = (term for one in issue.affected for term in one.terms if isinstance(term, PackageTerm))
            if any(term.name == package for term in terms):
                found |= {str(one.spec): one.spec for one in issue.probes}
    if not found:
        raise UsageError(f"no record that mentions `{package}` has a probe", hint="name a record or a recipe")
    return list(found.values())


def _releases(name: str, wanted: VersionSet, catalogue: Catalogue) -> list[Release]:
    """Releases that anybody can install today, yanked ones too, without alphas, betas and candidates."""
    return [one for one in catalogue.releases(name) if one.version in wanted and not one.version.is_prerelease]


def _held(name: str, beside: Sequence[str], catalogue: Catalogue) -> tuple[Release, ...]:
    """The releases that stand beside every one."""
    found = {}
    for text in beside:
        other, _, wanted = text.partition("==")
        other, version = normalise(other.strip()), parse_version(wanted)
        if version is None:
            raise UsageError(f"`--with {text}` names no release", hint="write it as `--with huggingface-hub==1.0.0`")
        if other in (name, "torch"):
            reason = "is what is varied" if other == name else "comes from the base: name another one with `--python`"
            raise UsageError(f"`--with {text}`: {other} {reason}")
        release = next((one for one in catalogue.releases(other) if one.version == version), None)
        if release is None:
            raise UsageError(f"`--with {text}`: {catalogue.described} has no such release")
        found[other] = release
    return tuple(found.values())


def _default_cache() -> Path:
    from gradcompat.user_folders import cache_folder

    found = cache_folder(os.environ, sys.platform)
    if found is None:
        raise UsageError("there is no folder for layers", hint="name one with `--layers`")
    return found / "layers"


@contextmanager
def _executor(jobs: int, scheduler: str | None) -> Iterator[Executor]:
    """Local processes, or a cluster; what is at work when something stops us is stopped."""
    if scheduler is None:
        with Pool(jobs) as processes:
            try:
                yield processes
            except BaseException:
                processes.interrupt()
                raise
        return
    try:
        distributed = importlib.import_module("distributed")  # an extra
    except ImportError:
        raise UsageError("`--scheduler` needs Dask", hint="pip install 'gradcompat[dask]'") from None
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise UsageError(f"there is no scheduler: {error}", path=scheduler) from None
    with client:
        # Each cell is submitted once, and a name made of its content would cost more than it says.
        yield client.get_executor(pure=False)
