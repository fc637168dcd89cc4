"""How the processor time of a check grows with its input, as a table and as a picture.

    python benchmarks/growth.py [--runs 3] [--picture growth.svg]

It needs no index. The input of each series grows by a factor of two to ten; what starting costs is taken off, and the
exponent is that of the last two points: 1 is linear. What earlier checks have kept of a lockfile is not used.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from math import log, log10
from pathlib import Path

from history import record
from run import alternate, gradcompat, keep_bytecode

import gradcompat as package
from gradcompat.knowledge.compile import dumps
from gradcompat.knowledge.range_index import index_of

HEAD = 'version = 1\nrequires-python = ">=3.10"\n'
SOURCE = 'source = { registry = "https://index.example/simple" }'
LINEAR = 1.2  # an exponent above it is said
WIDTH, HEIGHT, MARGIN = 640, 400, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")
IMPORTED = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from gradcompat.cli.main import console_script as run; run()"
)


def packages(folder: Path, count: int) -> None:
    """A uv.lock of so many packages, three of which records speak of."""
    names = ["torch==2.5.1", "transformers==4.50.0", "accelerate==1.0.0"]
    names += [f"package-{number:05}==1.{number}" for number in range(count - len(names))]
    (folder / "uv.lock").write_text(HEAD + "".join(_entry(*name.split("==")) for name in names), "utf-8")


def forks(folder: Path, count: int, more: int = 0, beside: int = 0) -> None:
    """A uv.lock of torch, torchvision and transformers in so many forks each, told apart by platform and Python.

    Args:
        folder: where it goes.
        count: of forks.
        more: packages of which no record speaks, in as many forks.
        beside: packages of one entry.
    """
    text = HEAD + "".join(_entry(f"other-{number:05}", f"1.{number}") for number in range(beside))
    for name in ("torch", "torchvision", "transformers", *(f"package-{number:05}" for number in range(more))):
        for number in range(count):
            python = f"python_full_version == '3.{9 + number % 6}.{number // 6}'"
            marker = " or ".join(f"({python} and sys_platform == '{one}')" for one in ("linux", "darwin", "win32"))
            text += _entry(name, f"2.{number}.0", f'resolution-markers = ["{marker}"]\n')
    (folder / "uv.lock").write_text(text, "utf-8")


def files(folder: Path, count: int) -> None:
    """So many requirements files in folders of their own; packages that no record speaks of."""
    for number in range(count):
        project = folder / f"project-{number:05}"
        project.mkdir()
        (project / "requirements.txt").write_text(f"requests==2.{number % 30}.0\nclick==8.1.{number % 8}\n", "utf-8")


def configs(folder: Path, count: int) -> None:
    """So many requirements files beside as many configs."""
    for number in range(count):
        pins = f"torch==2.5.1\ntransformers==4.{30 + number % 20}.0\ndeepspeed==0.15.{number % 5}\n"
        (folder / f"requirements-{number}.txt").write_text(pins, "utf-8")
        config = f'{{"zero_optimization": {{"stage": {number % 4}}}, "train_micro_batch_size_per_gpu": {1 + number}}}'
        (folder / f"ds_{number}.json").write_text(config, "utf-8")


def scripts(folder: Path, count: int) -> None:
    """So many launch scripts of one program, each with a config of its own, beside one requirements file."""
    (folder / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.50.0\ndeepspeed==0.15.0\n", "utf-8")
    (folder / "train.py").write_text("from transformers import Trainer\nTrainer().train()\n", "utf-8")
    for number in range(count):
        config = f'{{"zero_optimization": {{"stage": {number % 4}}}, "train_micro_batch_size_per_gpu": 1}}'
        (folder / f"ds_{number}.json").write_text(config, "utf-8")
        (folder / f"run_{number}.sh").write_text(f"deepspeed train.py --deepspeed ds_{number}.json\n", "utf-8")


def records(folder: Path, count: int) -> None:
    """So many records, those that ship again and again, in a copy of the package; and a file of three pins."""
    shipped = Path(package.__file__).parent
    _linked(shipped, folder / "code" / "gradcompat", but="knowledge")
    _linked(shipped / "knowledge", folder / "code" / "gradcompat" / "knowledge", but="compiled.json")
    compiled = json.loads((shipped / "knowledge" / "compiled.json").read_text("utf-8"))
    own, by_package = compiled["issues"], compiled["by_package"]
    compiled["issues"] = [{**own[number % len(own)], "id": f"GC-{number + 1:04}"} for number in range(count)]
    compiled["by_package"] = {
        name: [number for number in range(count) if number % len(own) in positions]
        for name, positions in ((name, set(positions)) for name, positions in by_package.items())
    }
    compiled["index"] = index_of(compiled["issues"])
    (folder / "code" / "gradcompat" / "knowledge" / "compiled.json").write_text(dumps(compiled), "utf-8")
    (folder / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.50.0\nnumpy==1.26.4\n", "utf-8")


def _linked(folder: Path, copy: Path, but: str) -> None:
    """A folder of links to all that is in another one, but for one entry."""
    copy.mkdir(parents=True)
    for path in folder.iterdir():
        if path.name != but:
            (copy / path.name).symlink_to(path)


def _command(folder: Path) -> list[str]:
    """The check of an input, with the code that lies in it if there is some."""
    check = ["check", str(folder), "--no-cache"]
    if (folder / "code").exists():
        check[1] = str(folder / "requirements.txt")
        return [sys.executable, "-c", IMPORTED, str(folder / "code"), *check]
    return gradcompat(*check)


def _entry(name: str, version: str, more: str = "") -> str:
    return f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n{SOURCE}\n{more}'


SERIES: dict[str, tuple[Callable[[Path, int], None], tuple[int, ...]]] = {
    "packages of a lockfile": (packages, (100, 300, 1000, 3000)),
    "forks of three packages": (forks, (5, 10, 20, 40)),
    "records": (records, (224, 500, 1000, 2000)),
    "requirements files": (files, (10, 100, 1000, 10_000)),
    "scripts with configs": (scripts, (75, 150, 300, 600)),
    "requirements files beside configs": (configs, (10, 20, 40, 80)),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--runs", type=int, default=3, help="processes of each command")
    options.add_argument("--picture", type=Path, help="where the picture goes")
    options.add_argument("--keep", action="store_true", help="add the run to the history")
    options.add_argument("--only", choices=[write.__name__ for write, _ in SERIES.values()], help="one of the series")
    arguments = options.parse_args()
    measured: dict[str, list[tuple[int, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        keep_bytecode(Path(scratch))
        for name, (write, counts) in SERIES.items():
            if arguments.only not in (None, write.__name__):
                continue
            measured[name] = list(_series(Path(scratch), write, counts, arguments.runs))
            last = ", ".join(f"{count:,}: {seconds * 1000:.0f} ms" for count, seconds in measured[name])
            print(f"{name}: {last}; exponent {_exponent(measured[name]):.2f}", flush=True)
    for name, points in measured.items():
        if _exponent(points) > LINEAR:
            print(f"warning: {name} grow faster than linearly")
    if arguments.picture is not None:
        arguments.picture.write_text(picture(measured), "utf-8")
    if arguments.keep:
        exponents = {f"exponent: {name}": max(0.1, _exponent(points)) for name, points in measured.items()}
        print(*record(exponents), sep="\n")


def _series(
    scratch: Path, write: Callable[[Path, int], None], counts: tuple[int, ...], runs: int
) -> Iterator[tuple[int, float]]:
    """The seconds that a check of each input takes beyond one of a single pin."""
    folders = [scratch / f"{write.__name__}-{count}" for count in counts]
    for folder, count in zip(folders, counts, strict=True):
        folder.mkdir()
        write(folder, count)
    least = scratch / "requirements.txt"
    least.write_text("click==8.1.7\n", "utf-8")
    start, *taken = alternate([_command(path) for path in (least, *folders)], runs)
    for count, seconds in zip(counts, taken, strict=True):
        yield count, max(seconds - start, 0.001)


def _exponent(points: list[tuple[int, float]]) -> float:
    (fewer, less), (more, longer) = points[-2:]
    return log(longer / less) / log(more / fewer)


def picture(measured: dict[str, list[tuple[int, float]]]) -> str:
    """The series on logarithmic axes, each from its first point on; the grey line is linear."""
    most = max(points[-1][0] / points[0][0] for points in measured.values())
    highest = max(most, *(seconds / points[0][1] for points in measured.values() for _, seconds in points))

    def at(times: float, cost: float) -> str:
        x = MARGIN + log10(times) / log10(most) * (WIDTH - 2 * MARGIN)
        y = HEIGHT - MARGIN - log10(max(cost, 0.1)) / log10(highest) * (HEIGHT - 2 * MARGIN)
        return f"{x:.0f},{y:.0f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<polyline points="{at(1, 1)} {at(most, most)}" fill="none" stroke="#bbb" stroke-dasharray="4"/>',
        f'<text x="{MARGIN}" y="{HEIGHT - 15}">times the input, up to {most:.0f}</text>',
        f'<text x="15" y="{MARGIN - 25}">times the processor time, up to {highest:.0f}; dashed: linear</text>',
    ]
    for index, (name, points) in enumerate(measured.items()):
        first, base = points[0]
        places = " ".join(at(count / first, seconds / base) for count, seconds in points)
        lines.append(f'<polyline points="{places}" fill="none" stroke="{COLOURS[index]}" stroke-width="2"/>')
        lines.append(f'<text x="{MARGIN + 20}" y="{MARGIN + 18 * index}" fill="{COLOURS[index]}">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    main()
