"""Are the pairs that `check` reports true? Releases are drawn, laid over an environment with torch, and imported.

    python benchmarks/pairs.py --python /path/to/environment/bin/python --layers DIR --count 300 --seed 1

Drawn are the pairs of packages of which one needs the other when it is imported, whether or not some of their releases
break. Half of the draws lie on an edge of a matrix, on both sides of it, where there is one; the others anywhere in it.
The environment has torch and NumPy, and nothing that is drawn.

Each release is a layer of its own (`uv pip install --no-deps --target`), compiled once. What else the consumer requires
is resolved beside the release of the provider, without what the table calls broken, so that an import fails on the pair
and on nothing else. A failure that has nothing to do with the pair (a third package, a library for a GPU) is counted by
itself: it says nothing of the pair.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Any

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.version import Version

from gradcompat.breaks.pairs import Pair, pair_of
from gradcompat.curation.pair_compilation import import_root, needing_pairs
from gradcompat.releases.answers import Need, Presence
from gradcompat.releases.table import ReleaseTable, package_of, table_of
from gradcompat.requirements.names import normalise

# What the environment below has and no layer may bring, and what needs a GPU to be imported.
_BELOW = frozenset({"torch", "torchvision", "torchaudio", "triton", "numpy"})
_NEEDS_A_GPU = frozenset({"vllm", "flash-attn", "xformers", "unsloth", "unsloth-zoo", "deepspeed", "liger-kernel"})
# Of these the newest release breaks many old packages; only what asks for it gets it.
_OLD = ("pyarrow<21", "setuptools<81")
_SECONDS = 300
_CONCLUSIVE = ("agrees", "disagrees")


@dataclass(frozen=True)
class Draw:
    """Two releases, whether the table says that they break, and on what."""

    consumer: str
    consumer_version: str
    provider: str
    provider_version: str
    module: str
    broken: bool
    needs: tuple[str, ...]
    edge: bool


@dataclass(frozen=True)
class Failure:
    """How an import failed.

    Attributes:
        kind: the class of the exception.
        said: its message.
        symbol: what it says is missing, as ``transformers.HybridCache``; empty where it names nothing.
        file: where that is imported, from the folder of the layer on.
    """

    kind: str
    said: str
    symbol: str
    file: str


@dataclass(frozen=True)
class Outcome:
    """What importing a draw showed, and what it said.

    ``agrees``, ``disagrees``, ``own version check``, ``other failure`` or ``not installed``.
    """

    draw: Draw
    verdict: str
    failure: Failure | None
    beside: tuple[str, ...] = ()


def draws(seed: int, only: frozenset[str]) -> Iterator[Draw]:
    """Draws without end, none of them twice."""
    generator = random.Random(seed)  # noqa: S311  # a sample that can be drawn again
    pairs = [
        (consumer, provider)
        for consumer, provider in _needing()
        if provider not in _BELOW
        and not {consumer, provider} & _NEEDS_A_GPU
        and (not only or {consumer, provider} <= only)
    ]
    seen: set[Draw] = set()
    while pairs:
        consumer, provider = generator.choice(pairs)
        on_edge = generator.random() < 0.5
        drawn = _drawn(consumer, provider, generator, on_edge=on_edge)
        if drawn is not None and drawn not in seen:
            seen.add(drawn)
            yield drawn


def _drawn(package: str, other: str, generator: random.Random, *, on_edge: bool) -> Draw | None:
    consumer, provider = table_of(package), table_of(other)
    if consumer is None or provider is None:
        return None
    pair = pair_of(package, other)
    edges = _edges(package, other) if pair is not None and on_edge else ()
    row, column = generator.randrange(len(consumer.versions)), generator.randrange(len(provider.versions))
    if edges:
        row, column = generator.choice(edges)
    version, beside = consumer.versions[row], provider.versions[column]
    found = None if pair is None else pair.broken(str(version), str(beside))
    return Draw(
        consumer=package,
        consumer_version=str(version),
        provider=other,
        provider_version=str(beside),
        module=import_root(consumer) or package,
        broken=found is not None,
        needs=tuple(_missing(consumer, version, provider, beside)),
        edge=bool(edges),
    )


@lru_cache(maxsize=256)
def _edges(package: str, other: str) -> tuple[tuple[int, int], ...]:
    """Both sides of every edge of a matrix: the numbers of the two releases."""
    consumer, provider, pair = table_of(package), table_of(other), pair_of(package, other)
    if consumer is None or provider is None or pair is None:
        return ()
    return tuple(
        (row, number + side)
        for row, version in enumerate(consumer.versions)
        for number, (one, following) in enumerate(zip(provider.versions, provider.versions[1:], strict=False))
        if _is_broken(pair, version, one) != _is_broken(pair, version, following)
        for side in (0, 1)
    )


def _is_broken(pair: Pair, consumer: Version, provider: Version) -> bool:
    return any(consumer in one.consumers and provider in one.providers for one in pair.breaks)


def _missing(consumer: ReleaseTable, version: Version, provider: ReleaseTable, beside: Version) -> Iterator[str]:
    """Everything that the import takes from the provider and that it does not have."""
    for need in consumer.needs(version, import_root(consumer) or ""):
        if need.top in provider.imports and _lacks(provider, beside, need):
            yield need.module if need.name is None else f"{need.module}.{need.name}"


def _lacks(provider: ReleaseTable, beside: Version, need: Need) -> bool:
    found = provider.presence(beside, need.module)
    if found is Presence.PRESENT and need.name not in (None, "*"):
        found = provider.presence(beside, need.module, need.name)
    return found is Presence.ABSENT


# Runs in the environment below: torch is imported once, and each draw in a fork of that.
_IMPORTER = """
import importlib, json, os, re, signal, sys, tempfile, traceback
import numpy, torch
for line in sys.stdin:
    folders, module, seconds = json.loads(line)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            signal.alarm(seconds)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            sys.path[:0] = folders
            importlib.invalidate_caches()
            try:
                importlib.import_module(module)
            except BaseException as error:
                while error.__cause__ is not None:
                    error = error.__cause__
                frames = [one.filename for one in traceback.extract_tb(error.__traceback__)]
                files = [one for one in frames if not one.startswith("<")] or [""]
                parts = [type(error).__name__, str(error)[:1000], files[-1]]
                os.write(said.fileno(), json.dumps(parts).encode())
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        print(json.dumps([status, said.read().decode("utf-8", "replace")]), flush=True)
"""


class Layers:
    """Folders with one release each, which are made when they are first asked for.

    Args:
        python: the interpreter of the environment below.
        folder: where they lie.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        self._uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        self._making = Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def layer(self, release: str) -> Path:
        """The folder of a release (``peft==0.17.1``).

        Raises:
            CannotInstall: if there is no wheel of it.
        """
        name, _, version = release.partition("==")
        folder = self.folder / f"{name}-{version}"
        with self._making:
            if not folder.exists():
                fresh = self.folder / f".{name}-{version}"
                shutil.rmtree(fresh, ignore_errors=True)
                self._run("install", "--no-deps", "--target", str(fresh), release)
                fresh.rename(folder)
        return folder

    def resolved(self, draw: Draw) -> tuple[str, ...]:
        """Releases of everything that the consumer and the provider require, the two among them.

        Raises:
            CannotInstall: if they do not fit together.
        """
        consumer = f"{draw.consumer}=={draw.consumer_version}"
        wanted = [one for one in _requirements(self.layer(consumer)) if normalise(one.name) != draw.provider]
        never = [f"{name} ; python_version < '3'" for name in sorted(_BELOW)]
        limits = list(_limits(draw))
        said = ""
        # Some old releases ask for what no longer fits together; a newer one serves most of them.
        names = [one.name for one in wanted]
        for required, constraints in ((wanted, (*limits, *_OLD)), (wanted, limits), (names, (*limits, *_OLD))):
            lines = [
                f"{draw.provider}=={draw.provider_version}",
                "setuptools",
                "httpx",
                "requests",
                *map(str, required),
            ]
            try:
                found = self._compiled(lines, constraints, never)
            except CannotInstall as error:
                said = said or str(error)
                continue
            return (consumer, *(one for one in found if one.partition("==")[0] != draw.consumer))
        raise CannotInstall(said)

    def _compiled(self, lines: Sequence[str], constraints: Sequence[str], overrides: Sequence[str]) -> list[str]:
        asked = self.folder / f".asked-{os.getpid()}-{id(lines)}"
        written = {"in": lines, "constraints": constraints, "overrides": overrides}
        for suffix, content in written.items():
            asked.with_suffix(f".{suffix}").write_text("\n".join(content) + "\n")
        try:
            text = self._run(
                *("compile", "--no-header", "--no-annotate", str(asked.with_suffix(".in"))),
                *("--constraint", str(asked.with_suffix(".constraints"))),
                *("--override", str(asked.with_suffix(".overrides"))),
            )
        finally:
            for suffix in written:
                asked.with_suffix(f".{suffix}").unlink()
        return [line.strip() for line in text.splitlines() if "==" in line]

    def _run(self, command: str, *arguments: str) -> str:
        line = [self._uv, "pip", command, "--quiet", "--python", self.python, "--only-binary", ":all:", *arguments]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise CannotInstall(f"more than {_SECONDS} seconds") from None
        if done.returncode:
            raise CannotInstall(" ".join(done.stderr.split())[:300])
        return done.stdout


class CannotInstall(Exception):
    """A release has no wheel for this interpreter, or nothing that fits to it."""


def _requirements(layer: Path) -> list[Requirement]:
    """What the release in a layer requires here, without extras and without what lies below."""
    (file,) = layer.glob("*.dist-info/METADATA")
    required = Metadata.from_email(file.read_bytes(), validate=False).requires_dist or []
    found = [one for one in required if one.marker is None or one.marker.evaluate({"extra": ""})]
    for one in found:
        one.marker = None
    return [one for one in found if normalise(one.name) not in _BELOW]


@lru_cache(maxsize=1)
def _needing() -> tuple[tuple[str, str], ...]:
    return needing_pairs()


def _limits(draw: Draw) -> Iterator[str]:
    """Bounds for other packages, so that the consumer imports beside them as far as the table knows."""
    for consumer, other in _needing():
        pair = pair_of(consumer, other)
        table = table_of(other)
        if consumer != draw.consumer or other == draw.provider or other in _BELOW or pair is None or table is None:
            continue
        good = [one for one in table.versions if pair.broken(draw.consumer_version, str(one)) is None]
        if good:
            yield f"{other}<={good[-1]}"


class Importer:
    """A process that imports one draw after the other.

    Args:
        layers: where releases are laid down.
    """

    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        self._process = subprocess.Popen(
            [layers.python, "-c", _IMPORTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def outcome(self, draw: Draw) -> Outcome:
        """Install the two releases and import the first."""
        try:
            beside = self.layers.resolved(draw)
            folders = [str(self.layers.layer(one)) for one in beside]
        except CannotInstall as error:
            return Outcome(draw, "not installed", Failure("", str(error), "", ""))
        status, said = self._import(folders, draw.module)
        failure = None if status == 0 else failed(said, self.layers.folder)
        return Outcome(draw, verdict(draw, failure), failure, beside)

    def _import(self, folders: Sequence[str], module: str) -> tuple[int, str]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the importer has no pipes")
        self._process.stdin.write(json.dumps([folders, module, _SECONDS]) + "\n")
        self._process.stdin.flush()
        status, said = json.loads(self._process.stdout.readline())
        return status, said

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


_MISSING = re.compile(
    r"cannot import name '(?P<name>[^']+)' from (?:partially initialized module )?'(?P<module>[^']+)'"
)
_NO_MODULE = re.compile(r"No module named '(?P<module>[^']+)'")


def failed(said: str, layers: Path) -> Failure:
    """What the importing process said of an exception."""
    if not said:
        return Failure("signal", "ended without a word", "", "")
    kind, message, file = json.loads(said)
    found = _MISSING.search(message) or _NO_MODULE.search(message)
    symbol = "" if found is None else ".".join(reversed([one for one in found.groups() if one]))
    relative = os.path.relpath(file, layers) if file.startswith(str(layers)) else ""
    return Failure(kind, message[:300], symbol, relative)


def verdict(draw: Draw, failure: Failure | None) -> str:
    """What an import tells of the table."""
    if failure is None:
        return "disagrees" if draw.broken else "agrees"
    if not failure.kind:
        return "not installed"
    own = failure.file.startswith(f"{draw.consumer}-{draw.consumer_version}/")
    if "is required for a normal functioning of this module" in failure.said:
        return "own version check" if own else "other failure"
    of_provider = package_of(failure.symbol.partition(".")[0]) == draw.provider
    if not (own and of_provider):
        return "other failure"
    named = any(need == failure.symbol or need.startswith(f"{failure.symbol}.") for need in draw.needs)
    return "agrees" if draw.broken and named else "disagrees"


def main() -> None:
    """Draw, import, and print what agrees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--layers", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300, help="how many that say something of the pair")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="packages, joined by commas")
    parser.add_argument("--output", type=Path, help="a row for each, as JSON lines; what is there is not done again")
    asked = parser.parse_args()
    kept = Kept(asked.output)
    counts: Counter[tuple[str, bool]] = Counter()
    stream = draws(asked.seed, frozenset(filter(None, asked.only.split(","))))
    layers = Layers(asked.python, asked.layers.resolve())
    importers: Queue[Importer] = Queue()
    for _ in range(asked.jobs):
        importers.put(Importer(layers))

    def imported(draw: Draw) -> Outcome:
        found = kept.outcome(draw)
        if found is None:
            importer = importers.get()
            try:
                found = importer.outcome(draw)
            finally:
                importers.put(importer)
            kept.add(found)
        return found

    with ThreadPoolExecutor(asked.jobs) as pool:
        while sum(counts[name, broken] for name in _CONCLUSIVE for broken in (False, True)) < asked.count:
            batch = [next(stream) for _ in range(4 * asked.jobs)]
            for one in pool.map(imported, batch):
                counts[one.verdict, one.draw.broken] += 1
                if one.verdict == "disagrees":
                    print(json.dumps(asdict(one)), flush=True)
            told = (f"{count} {name}{' (broken)' if broken else ''}" for (name, broken), count in counts.items())
            print(", ".join(told), flush=True)
    while not importers.empty():
        importers.get().close()


class Kept:
    """What imports showed, by the two releases; the verdict is passed anew, on the table of today.

    Args:
        path: a file of JSON lines; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[tuple[str, ...], Mapping[str, Any]] = {}
        for line in path.read_text().splitlines() if path is not None and path.exists() else ():
            row = json.loads(line)
            self._rows[_key(Draw(**row["draw"]))] = row

    def outcome(self, draw: Draw) -> Outcome | None:
        """What importing these releases showed; None if nobody has imported them."""
        row = self._rows.get(_key(draw))
        if row is None:
            return None
        failure = None if row["failure"] is None else Failure(**row["failure"])
        return Outcome(draw, verdict(draw, failure), failure, tuple(row["beside"]))

    def add(self, outcome: Outcome) -> None:
        """Write an outcome behind the others."""
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")


def _key(draw: Draw) -> tuple[str, ...]:
    return draw.consumer, draw.consumer_version, draw.provider, draw.provider_version


if __name__ == "__main__":
    main()
