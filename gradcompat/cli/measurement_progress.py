"""A campaign of measurements with its progress on standard error; Ctrl-C keeps what was measured."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from types import FrameType

from gradcompat.cli.console import package_index
from gradcompat.curation.campaign import Campaign
from gradcompat.curation.campaign_scope import held_releases, of_newest, releases_in, specs_of
from gradcompat.curation.executors import executor_of
from gradcompat.errors import IndexUnavailable, UsageError
from gradcompat.index.catalog import Lookup
from gradcompat.knowledge.load import load
from gradcompat.knowledge.measured import read_rows, tidy
from gradcompat.messages import counted
from gradcompat.probes.interpreters import interpreter_of
from gradcompat.probes.overlay_environments import Laying, Origin, describe
from gradcompat.renderers.terminal import safe
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_DEVICE = lazy_pattern(r"cpu|mps|(?:cuda|xpu)(?::\d{1,3})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What is measured, where, and where it is kept.

    Attributes:
        package: whose releases are varied.
        probes: ids of records and names of recipes; without one, every probe of the records that speak of the package.
        versions: which releases, as a set of versions.
        newest: of these the newest alone, beside the newest companions, with every variant of each recipe.
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
    """

    package: str
    probes: Sequence[str] = ()
    versions: str = "*"
    newest: bool = False
    bisect: bool = False
    again: bool = False
    python: str | None = None
    device: str = "cpu"
    seed: int = 0
    jobs: int = 2
    beside: Sequence[str] = ()
    layers: str | None = None
    folder: str
    scheduler: str | None = None


def measure(asked: Measuring, lookup: Lookup) -> int:
    """Measure what is not measured yet.

    Returns:
        0 if every cell has a row, 3 if one came to nothing or the run was interrupted.

    Raises:
        UsageError: if an option makes no sense.
        ProbeUnavailable: if the interpreter cannot be used.
    """
    name = normalise(asked.package)
    try:
        wanted = VersionSet.parse(asked.versions)
    except ValueError as error:
        raise UsageError(str(error), hint="write it as `--versions '>=4.34,<5'`") from None
    if not _DEVICE.fullmatch(asked.device):
        hint = "known: cpu, cuda, cuda:N, mps, xpu, xpu:N"
        raise UsageError(f"`--device {asked.device}` is not known", hint=hint)
    knowledge = load()
    specs = specs_of(name, asked.probes, knowledge)
    if asked.newest:
        specs = of_newest(name, specs, knowledge)
    # Probes run in folders of their own.
    cache = Path(asked.layers).absolute() if asked.layers is not None else _default_cache()
    kept = Path(asked.folder)
    rows = list(read_rows(kept)) if os.path.isdir(kept) else []
    if asked.again:
        rows = [row for row in rows if row.measurement.state == "measured"]
    base = describe(interpreter_of(asked.python))
    origin = Origin(index_url=lookup.index_url, extra_index_urls=tuple(lookup.extra_index_urls), offline=lookup.offline)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with package_index(lookup) as catalogue, executor_of(asked.jobs, asked.scheduler) as executor:
            releases = releases_in(name, wanted, catalogue)
            if not releases:
                raise UsageError(f"{catalogue.described} has no release of `{name}` in `{asked.versions}`")
            if asked.newest:
                releases = [max(releases, key=lambda release: release.version)]
            held = held_releases(name, asked.beside, catalogue)
            _say(f"{counted(len(releases), 'release')} of {name}, {counted(len(specs), 'probe')}")
            campaign = Campaign(
                specs=specs,
                releases=releases,
                base=base,
                catalogue=Laying(catalogue=catalogue, base=base, cache=cache, origin=origin),
                origin=origin,
                cache=cache,
                folder=kept,
                held=held,
                device=asked.device,
                seed=asked.seed,
                rows=rows,
                say=_say,
                today=date.today,
                current=asked.newest,
            )
            campaign.run(asked.jobs, executor, local=asked.scheduler is None, bisect=asked.bisect)
        status = 3 if campaign.lost else 0
    except IndexUnavailable as error:
        _say(f"stopped: {error}")
        status = 3
    except KeyboardInterrupt:
        _say(f"stopped: what was measured is kept in {asked.folder}; the same command goes on from there")
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


def _default_cache() -> Path:
    from gradcompat.files.user_folders import cache_folder

    found = cache_folder(os.environ, sys.platform)
    if found is None:
        raise UsageError("there is no folder for layers", hint="name one with `--layers`")
    return found / "layers"
