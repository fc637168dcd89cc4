"""Logs for the benchmark of `gradcompat diagnose`, made here: each kind of text that training logs consist of."""

from __future__ import annotations

import json
import random
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

_BATCH = 2000
Lines = Callable[[int, random.Random], Iterator[str]]


def write(path: Path, kind: str, megabytes: int) -> None:
    """Write a log of that kind and size; it is the same each time with one Python."""
    chance = random.Random(kind)  # noqa: S311 - no secret
    with path.open("w", encoding="utf-8", newline="") as out:
        out.write("starting\n")  # no kind is mistaken for a table of metrics
        step = 0
        while out.tell() < megabytes * 1_000_000:
            for _ in range(_BATCH):
                out.writelines(KINDS[kind][1](step, chance))
                step += 1


def _launchers(step: int, chance: random.Random) -> Iterator[str]:
    second, part = divmod(step, 997)
    clock = f"15:{second // 60 % 60:02}:{second % 60:02}"
    yield f"[2026-01-02 {clock},{part:03}] [INFO] [launch.py:{part}:main] rank {step % 8} is alive\n"
    yield f"01/02/2026 {clock} - INFO - trainer - processed {step * 17:,} tokens in {part / 7:.3f} s\n"
    bar = "█" * (part // 25)
    yield f" {part / 9.97:3.0f}%|{bar}| {step}/999999 [{clock[3:]}<04:11, {part / 100 + 1:.2f}it/s]\n"
    yield f"worker {step % 16}: shard data-{step:06}.parquet, {part * 31} rows, waited {part / 1000:.4f} s\n"
    yield f"memory: allocated {part / 31:.2f} GiB, reserved {part / 29:.2f} GiB, step {step}\n"
    if step % 40 == 0:
        yield from _trainer(step, chance)


def _code(step: int, chance: random.Random) -> Iterator[str]:
    """Lines of the standard library out of order, some with a counter: hardly one like another."""
    for line in chance.sample(_sources(), 5):
        yield line + "\n"
    yield f"{step}: {chance.choice(_sources())} {chance.random()}\n"


def _samples(step: int, chance: random.Random) -> Iterator[str]:
    """Data that a script prints: a long line of JSON for each sample."""
    text = "\n".join(chance.sample(_sources(), 12))
    yield json.dumps({"id": f"{chance.getrandbits(64):x}", "index": step, "text": text}) + "\n"


def _deepspeed(step: int, chance: random.Random) -> Iterator[str]:
    """A line of the optimizer, one of the timer, and now and then one of the loss scaler."""
    number = 10 * step + 10
    clock = f"2026-01-02 {step // 3600 % 24:02}:{step // 60 % 60:02}:{step % 60:02},{chance.randrange(1000):03}"
    rate = f"{chance.uniform(1e-6, 9e-6)!r}"
    yield (
        f"[{clock}] [INFO] [logging.py:96:log_dist] [Rank 0] step={number}, skipped={number // 999}, "
        f"lr=[{rate}, {rate}], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    )
    speed = 40 + 4 * chance.random()
    yield (
        f"[{clock}] [INFO] [timer.py:260:stop] epoch={step // 500}/micro_step={number}/global_step={number}, "
        f"RunningAvgSamplesPerSec={speed!r}, CurrSamplesPerSec={speed + chance.random()!r}, "
        f"MemAllocated={chance.uniform(4, 5):.2f}GB, MaxMemAllocated=12.34GB\n"
    )
    if step % 7 == 0:
        yield (
            f"[{clock}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
            "Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1\n"
        )
    if step % 500 == 0:
        yield f"Epoch {step // 500}/9999 begins, with 500 micro-batches in all\n"


def _trainer(step: int, chance: random.Random) -> Iterator[str]:
    values = f"'loss': {2 + chance.random():.4f}, 'grad_norm': {1 + chance.random()!r}"
    yield f"{{{values}, 'learning_rate': {chance.uniform(1e-6, 9e-6)!r}, 'epoch': {step / 1e5:.2f}}}\n"


def _bars(step: int, chance: random.Random) -> Iterator[str]:
    """A progress bar that is drawn anew for each step, with the loss behind it."""
    epoch, place = divmod(step, 10_000)
    clock = f"{place // 60:02}:{place % 60:02}<{(9_999 - place) // 60:02}:{place * 7 % 60:02}"
    speed = f"{1 + chance.random():.2f}it/s"
    bar = "█" * (place // 1000) + " " * (9 - place // 1000)
    text = f"Epoch {epoch}: {place // 100:3}%|{bar}| {place}/10000 [{clock}, {speed}, loss={2 + chance.random():.3f}]"
    yield text + ("\r" if place < 9_999 else "\n")


_KEPT: list[str] = []


def _sources() -> list[str]:
    """The lines of the standard library's own modules."""
    if not _KEPT:
        for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
            if "site-packages" not in path.parts:
                text = path.read_text("utf-8", errors="replace")
                _KEPT.extend(line for line in text.splitlines() if line.isprintable() and line.strip())
    return _KEPT


KINDS: dict[str, tuple[str, Lines]] = {
    "launchers": ("launchers, loaders and bars; a line of metrics in some 200", _launchers),
    "code": ("the standard library's source, line by line in random order", _code),
    "samples": ("printed samples of data, a line of JSON each", _samples),
    "deepspeed": ("DeepSpeed: every other line states metrics", _deepspeed),
    "trainer": ("a Trainer's metrics and nothing else", _trainer),
    "bars": ("a progress bar with the loss and nothing else", _bars),
}
# Megabytes per second where most lines state metrics, each of which has to be read; 100 are wanted of the others.
REACH = {"deepspeed": 40, "trainer": 40, "bars": 40}
