"""Are the pairs that `check` reports true? Releases are drawn, laid over one environment with torch, and imported.

    python benchmarks/pairs.py --python /path/to/environment/bin/python --layers DIR --count 300 --seed 1

Half of the draws lie on an edge of a matrix, on both sides of it; the others anywhere in it. What is drawn is installed
by uv with everything that it requires but torch, in one folder that comes first on the path, and imported by a process
of its own. A failure that has nothing to do with the two packages (a third one that is too new, a library for a GPU) is
counted by itself: it says nothing of the pair.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from packaging.version import Version

from gradcompat.breaks.pairs import Pair, known_names, pairs_among
from gradcompat.curation.pair_compilation import import_root
from gradcompat.releases.table import table_of

# What the environment below has and no layer may bring, and what needs a GPU to be imported.
_BELOW = frozenset({"torch", "torchvision", "torchaudio", "triton"})
_NEEDS_A_GPU = frozenset({"vllm", "flash-attn", "xformers", "unsloth", "unsloth-zoo", "deepspeed", "liger-kernel"})
_SECONDS = 300


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
class Outcome:
    """What importing a draw showed: ``agrees``, ``disagrees``, ``other failure`` or ``not installed``."""

    draw: Draw
    verdict: str
    said: str


def draws(seed: int, only: frozenset[str]) -> Iterator[Draw]:
    """Draws without end, none of them twice."""
    generator = random.Random(seed)  # noqa: S311  # a sample that can be drawn again
    pairs = [
        pair
        for pair in pairs_among(known_names())
        if pair.provider not in _BELOW
        and not {pair.consumer, pair.provider} & _NEEDS_A_GPU
        and (not only or {pair.consumer, pair.provider} <= only)
    ]
    seen: set[Draw] = set()
    while pairs:
        pair = generator.choice(pairs)
        on_edge = generator.random() < 0.5
        drawn = _drawn(pair, generator, on_edge=on_edge)
        if drawn is not None and drawn not in seen:
            seen.add(drawn)
            yield drawn


def _drawn(pair: Pair, generator: random.Random, *, on_edge: bool) -> Draw | None:
    consumer, provider = table_of(pair.consumer), table_of(pair.provider)
    if consumer is None or provider is None:
        return None
    row, column = generator.randrange(len(consumer.versions)), generator.randrange(len(provider.versions))
    if on_edge:
        edges = [
            (row, number + side)
            for row, version in enumerate(consumer.versions)
            for number, (one, other) in enumerate(zip(provider.versions, provider.versions[1:], strict=False))
            if _is_broken(pair, version, one) != _is_broken(pair, version, other)
            for side in (0, 1)
        ]
        if not edges:
            return None
        row, column = generator.choice(edges)
    version, other = consumer.versions[row], provider.versions[column]
    found = pair.broken(str(version), str(other))
    return Draw(
        consumer=pair.consumer,
        consumer_version=str(version),
        provider=pair.provider,
        provider_version=str(other),
        module=import_root(consumer) or pair.consumer,
        broken=found is not None,
        needs=() if found is None else tuple(need.text for need in found.needs if other in need.absent),
        edge=on_edge,
    )


def _is_broken(pair: Pair, consumer: Version, provider: Version) -> bool:
    return any(consumer in one.consumers and provider in one.providers for one in pair.breaks)


# Runs in the environment below: torch is imported once, and each draw in a fork of that.
_IMPORTER = """
import importlib, json, os, signal, sys, tempfile, traceback
import numpy, torch
for line in sys.stdin:
    folder, module, seconds = json.loads(line)
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            signal.alarm(seconds)
            os.dup2(said.fileno(), 1)
            os.dup2(said.fileno(), 2)
            os.chdir(folder)
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
            try:
                importlib.import_module(module)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        print(json.dumps([status, said.read().decode("utf-8", "replace")[-20000:]]), flush=True)
"""


class Importer:
    """A process that imports one draw after the other.

    Args:
        python: the interpreter of the environment below.
        layers: where releases are laid down.
    """

    def __init__(self, python: str, layers: Path) -> None:
        self.python, self.layers = python, layers
        self._process = subprocess.Popen(
            [python, "-c", _IMPORTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            text=True,
        )

    def outcome(self, draw: Draw) -> Outcome:
        """Install the two releases and import the first."""
        name = f"{draw.consumer}-{draw.consumer_version}-{draw.provider}-{draw.provider_version}"
        folder = self.layers / name
        try:
            failed = _install(draw, self.python, folder)
            if failed:
                return Outcome(draw, "not installed", failed)
            imported, said = self._import(folder, draw.module)
        except subprocess.TimeoutExpired:
            return Outcome(draw, "not installed", f"more than {_SECONDS} seconds")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        last = next((line for line in reversed(said.strip().splitlines()) if line.strip()), "")
        return Outcome(draw, verdict(draw, imported=imported, said=last), last[:300])

    def _import(self, folder: Path, module: str) -> tuple[bool, str]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the importer has no pipes")
        self._process.stdin.write(json.dumps([str(folder), module, _SECONDS]) + "\n")
        self._process.stdin.flush()
        status, said = json.loads(self._process.stdout.readline())
        return status == 0, said

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def verdict(draw: Draw, *, imported: bool, said: str) -> str:
    """What an import, and the last line of what it said, tell of the table."""
    if imported:
        return "disagrees" if draw.broken else "agrees"
    if "cannot import name" not in said and "No module named" not in said:
        return "other failure"
    if draw.broken and any(f"'{need.rpartition('.')[2]}'" in said or f"'{need}'" in said for need in draw.needs):
        return "agrees"
    of_provider = f"'{draw.provider.replace('-', '_')}" in said
    return "disagrees" if of_provider else "other failure"


def _install(draw: Draw, python: str, folder: Path) -> str:
    """Why the releases cannot be installed; empty if they are."""
    overrides = folder.with_suffix(".overrides")
    overrides.parent.mkdir(parents=True, exist_ok=True)
    never = (f"{name} ; python_version < '3'" for name in sorted(_BELOW))
    overrides.write_text("\n".join((f"{draw.provider}=={draw.provider_version}", *never)) + "\n")
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "install", "--quiet", "--python", python, "--target", str(folder), "--only-binary", ":all:"]
    wanted = [f"{draw.consumer}=={draw.consumer_version}", f"{draw.provider}=={draw.provider_version}"]
    # Many old releases import pkg_resources.
    wanted.append("setuptools<81")
    done = subprocess.run(
        [*command, "--override", str(overrides), *wanted],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    overrides.unlink()
    return "" if done.returncode == 0 else " ".join(done.stderr.split())[:300]


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
    done: dict[str, Mapping[str, object]] = {}
    if asked.output is not None and asked.output.exists():
        for line in asked.output.read_text().splitlines():
            row = json.loads(line)
            done[json.dumps(row["draw"], sort_keys=True)] = row
    counts: Counter[str] = Counter()
    stream = draws(asked.seed, frozenset(filter(None, asked.only.split(","))))
    importers: Queue[Importer] = Queue()
    for _ in range(asked.jobs):
        importers.put(Importer(asked.python, asked.layers))

    def outcome(draw: Draw) -> Outcome:
        importer = importers.get()
        try:
            return importer.outcome(draw)
        finally:
            importers.put(importer)

    with ThreadPoolExecutor(asked.jobs) as pool:
        while counts["agrees"] + counts["disagrees"] < asked.count:
            batch = [next(stream) for _ in range(4 * asked.jobs)]
            fresh = [one for one in batch if json.dumps(asdict(one), sort_keys=True) not in done]
            for one in pool.map(outcome, fresh):
                row = asdict(one)
                done[json.dumps(row["draw"], sort_keys=True)] = row
                if asked.output is not None:
                    with asked.output.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                if one.verdict == "disagrees":
                    print(json.dumps(row), flush=True)
            counts.update(str(done[json.dumps(asdict(one), sort_keys=True)]["verdict"]) for one in batch)
            print(dict(counts), flush=True)
    while not importers.empty():
        importers.get().close()
    print("; ".join(f"{count} {name}" for name, count in counts.most_common()))


if __name__ == "__main__":
    main()
