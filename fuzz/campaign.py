"""A campaign: batches of inputs for a process per processor, a state that survives being stopped, a watchdog."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzz.corpus import Corpus, reduced
from fuzz.examination import Examiner, Limits, new_arcs
from fuzz.findings import Findings, write
from fuzz.generation import generated
from fuzz.inputs import Input
from fuzz.oracles import Finding
from fuzz.seeds import Seeds
from fuzz.targets import TEXT_TARGETS
from fuzz.tracing import Arc

_BATCH = 100
_TRACED = 120  # one of so many texts, and of ten times as many commands, is followed whatever it comes to
_LOOKED_FOR_NEW = 10  # one of so many texts is followed if its result is new
_STALLED = 300.0  # seconds on one input after which its process is ended
_FORK = multiprocessing.get_context("fork")


class HarnessError(Exception):
    """The fuzzer itself is wrong; what it says of gradcompat would be worth nothing."""


@dataclass(slots=True)
class State:
    """What a campaign has done, as it stands on disk.

    Attributes:
        seed: of all inputs.
        only: the class that all inputs are of.
        begun: how many numbers were given to a process.
        open: batches that were given to a process and whose result has not come: first number, count, corpus size.
        inputs: how many were tried, by class.
        spent: processor time by class, in seconds.
        most: the largest time, memory and size, by class.
        wall: seconds that the campaign ran, over all its sittings.
        kept: inputs by origin that went into the corpus.
        steps: the most lines of gradcompat for an input of a class that was followed, for each byte of it.
        commits: how many inputs each commit of gradcompat got.
        gone: findings that a later commit no longer has, and how often they were seen.
    """

    seed: int
    only: str | None = None
    begun: int = 0
    open: list[list[int]] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    most: dict[str, list[float]] = field(default_factory=dict)
    wall: float = 0.0
    kept: dict[str, int] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    commits: dict[str, int] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """How many inputs were tried."""
        return sum(self.inputs.values())


@dataclass(slots=True)
class Batch:
    """Numbers of inputs for a process."""

    start: int
    count: int
    kept: int


@dataclass(slots=True)
class Outcome:
    """What a process found out about a batch."""

    inputs: Counter[str] = field(default_factory=Counter)
    spent: dict[str, float] = field(default_factory=dict)
    most: dict[str, list[float]] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)
    findings: list[tuple[Finding, Input]] = field(default_factory=list)
    new: list[tuple[Input, set[Arc]]] = field(default_factory=list)


@dataclass(slots=True)
class Worker:
    """A process, the line to it, and the number of the input that it is at."""

    process: Any
    line: Connection
    current: Any
    batch: Batch | None = None
    since: float = 0.0
    last: int = -1


class Campaign:
    """Runs inputs until there are as many as are wanted."""

    def __init__(self, folder: Path, seed: int = 0, only: str | None = None, limits: Limits | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "state.json"
        self.state = State(**json.loads(self.file.read_text("utf-8"))) if self.file.exists() else State(seed, only)
        self.corpus = Corpus(folder / "corpus")
        self.findings = Findings(folder / "findings")
        self.limits = limits or Limits()
        self._commit = commit()
        self._again = [Batch(*one) for one in self.state.open]
        self._workers: list[Worker] = []

    def run(self, inputs: int, processes: int, said: Callable[[str], None] = lambda _: None) -> None:
        """Try inputs until so many were tried, in all sittings together; Ctrl-C ends it and loses nothing."""
        seeds = Seeds.collected()
        scratch = Path(tempfile.mkdtemp(prefix="gradcompat-fuzz-"))
        started, before, told = time.monotonic(), self.state.wall, 0.0
        try:
            self._workers = [self._start(scratch / str(number), seeds) for number in range(processes)]
            while self._hand_out(inputs):
                ready = wait([one.line for one in self._workers if one.batch is not None], timeout=1.0)
                for worker in list(self._workers):
                    if worker.line in ready:
                        self._take(worker, seeds, scratch)
                    elif worker.batch is not None and self._stalled(worker):
                        self._lose(worker, seeds, scratch, f"longer than {_STALLED:.0f} s")
                self.state.wall = before + time.monotonic() - started
                if time.monotonic() - told > 30:
                    told = time.monotonic()
                    said(f"{self.state.done} inputs, {len(self.findings.all())} findings, {self.corpus.size} kept")
        except KeyboardInterrupt:
            said("stopped; the same command goes on from here")
        finally:
            for worker in self._workers:
                worker.process.kill()
                worker.process.join()
            self.save()
            shutil.rmtree(scratch, ignore_errors=True)

    def recheck(self, said: Callable[[str], None] = lambda _: None) -> None:
        """Try every finding again, and take those away that this commit no longer has."""
        for stored in self.findings.all():
            signature = stored.finding.signature
            if any(finding.oracle == stored.finding.oracle for finding in reproduced(stored.input, self.limits)):
                said(f"still there: {signature}")
                continue
            said(f"gone: {signature}")
            self.state.gone[signature] = self.state.gone.get(signature, 0) + stored.count
            stored.file.unlink()
        self.save()

    def save(self) -> None:
        """Write down what is done and what is under way."""
        under_way = [one.batch for one in self._workers if one.batch is not None]
        self.state.open = [[one.start, one.count, one.kept] for one in (*self._again, *under_way)]
        self.corpus.save()
        write(self.file, json.dumps(asdict(self.state), indent=1))

    def _start(self, scratch: Path, seeds: Seeds) -> Worker:
        here, there = _FORK.Pipe()
        current = _FORK.Value("q", -1, lock=False)
        others = [one.line for one in self._workers]
        arguments = (there, current, scratch, seeds, self.state, self.corpus, self.limits, [here, *others])
        process = _FORK.Process(target=_work, args=arguments)
        process.start()
        there.close()
        return Worker(process, here, current)

    def _hand_out(self, inputs: int) -> bool:
        for worker in self._workers:
            if worker.batch is not None:
                continue
            if self._again:
                batch = self._again.pop()
            elif self.state.begun < inputs:
                batch = Batch(self.state.begun, min(_BATCH, inputs - self.state.begun), self.corpus.size)
                self.state.begun += batch.count
            else:
                continue
            worker.batch, worker.since, worker.last = batch, time.monotonic(), -1
            with contextlib.suppress(OSError):
                worker.line.send((batch, self.corpus.arcs if batch.kept >= 0 else set()))
        return any(one.batch is not None for one in self._workers)

    def _take(self, worker: Worker, seeds: Seeds, scratch: Path) -> None:
        try:
            outcome = worker.line.recv()
        except (EOFError, OSError):
            self._lose(worker, seeds, scratch, "the process died")
            return
        if isinstance(outcome, HarnessError):
            raise outcome
        worker.batch = None
        state = self.state
        state.commits[self._commit] = state.commits.get(self._commit, 0) + sum(outcome.inputs.values())
        for name, count in outcome.inputs.items():
            state.inputs[name] = state.inputs.get(name, 0) + count
            state.spent[name] = state.spent.get(name, 0.0) + outcome.spent[name]
            state.most[name] = [
                max(pair) for pair in zip(state.most.get(name, [0.0] * 3), outcome.most[name], strict=True)
            ]
        for name, steps in outcome.steps.items():
            state.steps[name] = max(state.steps.get(name, 0), steps)
        for finding, cause in outcome.findings:
            self.findings.add(finding, cause)
        for one, arcs in outcome.new:
            if self.corpus.keep(one, arcs):
                state.kept[one.origin] = state.kept.get(one.origin, 0) + 1
        self.save()

    def _stalled(self, worker: Worker) -> bool:
        if worker.current.value != worker.last:
            worker.last, worker.since = worker.current.value, time.monotonic()
        return time.monotonic() - worker.since > _STALLED

    def _lose(self, worker: Worker, seeds: Seeds, scratch: Path, reason: str) -> None:
        """A process is gone: the input that it was at is a finding, the rest of its batch is done again."""
        worker.process.kill()
        worker.process.join()
        batch, number = worker.batch, worker.current.value
        self._workers.remove(worker)
        if batch is not None and batch.start <= number < batch.start + batch.count:
            one = generated(self.state.seed, number, seeds, self.corpus.first(batch.kept), self.state.only)
            self.findings.add(Finding("hang", f"{one.target} {one.kind}: {reason}"), one)
            self.state.inputs[_class(one)] = self.state.inputs.get(_class(one), 0) + 1
            parts = [(batch.start, number - batch.start), (number + 1, batch.start + batch.count - number - 1)]
            self._again += [Batch(start, count, batch.kept) for start, count in parts if count > 0]
        elif batch is not None:
            self._again.append(batch)
        self._workers.append(self._start(scratch / f"{time.monotonic_ns()}", seeds))


def commit() -> str:
    """The commit that is fuzzed, in short; with a plus if files differ from it."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--exclude=*", "--dirty=+"],
            cwd=here, capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def _class(one: Input) -> str:
    return f"{one.target} {'folder' if one.kind.startswith('folder') else 'file'}"


def _work(
    line: Connection,
    current: Any,
    scratch: Path,
    seeds: Seeds,
    state: State,
    corpus: Corpus,
    limits: Limits,
    others: list[Connection],
) -> None:
    """What a process does until it is ended."""
    for other in others:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    examiner = Examiner(scratch, limits)
    examiner.prepare()
    seen: set[str] = set()
    while True:
        try:
            batch, known = line.recv()
        except (EOFError, OSError):
            os._exit(0)  # whoever gave the work is gone
        kept = corpus.first(batch.kept)
        outcome = Outcome()
        for number in range(batch.start, batch.start + batch.count):
            current.value = number
            try:
                one = generated(state.seed, number, seeds, kept, state.only)
                _try(examiner, one, number, known, seen, outcome)
            except Exception as error:
                line.send(HarnessError(f"input {number}: {traceback.format_exc()}"))
                raise SystemExit(1) from error
        line.send(outcome)


def _try(examiner: Examiner, one: Input, number: int, known: set[Arc], seen: set[str], outcome: Outcome) -> None:
    examined = examiner.examine(one, number)
    name = _class(one)
    outcome.inputs[name] += 1
    outcome.spent[name] = outcome.spent.get(name, 0.0) + examined.seconds
    most = outcome.most.setdefault(name, [0.0, 0.0, 0.0])
    outcome.most[name] = [
        max(most[0], examined.seconds),
        max(most[1], examined.megabytes),
        max(most[2], float(one.size)),
    ]
    outcome.findings += [(finding, one) for finding in examined.findings]
    if one.target == "process" or examined.seconds > 1.0:
        return
    is_text = one.target in TEXT_TARGETS
    # Of a command, that would cost more than it shows; and a process that begins has seen nothing.
    is_new = is_text and number % _LOOKED_FOR_NEW == 0 and examined.outcome not in seen
    if number % (_TRACED if is_text else 10 * _TRACED) and not is_new:
        return
    seen.add(examined.outcome)
    trace = examiner.traced(one)
    outcome.steps[name] = max(outcome.steps.get(name, 0), trace.steps // max(1, one.size))
    arcs = new_arcs(trace, known)
    if arcs:
        if is_text and one.size > 1000 and trace.steps < 20_000:
            one = reduced(one, lambda other: arcs <= new_arcs(examiner.traced(other), known))
        known |= arcs
        outcome.new.append((one, arcs))


def reproduced(one: Input, limits: Limits | None = None) -> tuple[Finding, ...]:
    """What an input does wrong, in a process of its own that has done nothing else."""
    here, there = _FORK.Pipe()
    with tempfile.TemporaryDirectory(prefix="gradcompat-fuzz-") as scratch:
        process = _FORK.Process(target=_reproduce, args=(there, one, Path(scratch), limits or Limits()))
        process.start()
        there.close()
        try:
            findings: tuple[Finding, ...] = here.recv()
        except EOFError:
            findings = (Finding("hang", f"{one.target} {one.kind}: the process died"),)
        process.join()
    return findings


def _reproduce(line: Connection, one: Input, scratch: Path, limits: Limits) -> None:
    examiner = Examiner(scratch / "work", limits)
    examiner.prepare()
    found = {finding.signature: finding for number in (0, 7) for finding in examiner.examine(one, number).findings}
    line.send(tuple(found.values()))
    os._exit(0)


def smallest(one: Input, signature: str, trials: int = 400) -> Input:
    """A smaller input with the same finding."""
    return reduced(one, lambda other: any(finding.signature == signature for finding in reproduced(other)), trials)
