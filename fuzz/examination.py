"""Does one input to its target, measures that, and asks every oracle."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import FrameType

from fuzz import folders, oracles, targets
from fuzz.canaries import secrets_of
from fuzz.inputs import Entry, Input
from fuzz.oracles import Finding
from fuzz.targets import FOLDER_TARGETS, PACKAGE, TEXT_TARGETS, BrokenPromise, Result
from fuzz.tracing import Arc, Trace

_ADDRESS_SPACE = 6 << 30  # a program that asks for more is stopped before the machine is
_PARTICULAR = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\d+")  # what differs between messages that are alike


_UNIQUE = re.compile(r"urn:uuid:[0-9a-f-]+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.+:Z]*|vex-[0-9a-f]+")


class Overtime(BaseException):
    """The input takes too long; no handler of the program under test catches it."""


@dataclass(slots=True)
class Limits:
    """When an input is stopped.

    Attributes:
        seconds: of processor time.
        waiting: seconds in which nothing is computed: it waits for a pipe that nobody writes to.
    """

    seconds: float = 8.0
    waiting: float = 60.0


@dataclass(frozen=True, slots=True)
class Examined:
    """What an input came to.

    Attributes:
        outcome: the same for results alike.
        findings: what it must not have done.
        seconds: of processor time.
        megabytes: by which the memory of the process rose.
    """

    outcome: str
    findings: tuple[Finding, ...]
    seconds: float
    megabytes: float


@dataclass(slots=True)
class Examiner:
    """Tries inputs in this process, one after the other.

    Attributes:
        scratch: a folder of its own.
    """

    scratch: Path
    limits: Limits = field(default_factory=Limits)
    _count: int = 0
    _known: frozenset[str] = frozenset()

    def prepare(self) -> None:
        """Set up this process: nobody's configuration counts, and no index is there."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        for name in list(os.environ):
            if name.startswith(("PIP_", "UV_", "GRADCOMPAT_", "GITHUB_", "CONDA_")) or name in ("VIRTUAL_ENV", "CI"):
                del os.environ[name]
        home = self.scratch / "home"
        home.mkdir(exist_ok=True)
        os.environ |= {
            "HOME": str(home),
            "PIP_NO_INDEX": "1",
            "GRADCOMPAT_CACHE": str(self.scratch / "cache"),
            folders.MARKER: str(self.scratch / "marker"),
        }
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, hard))

    def examine(self, one: Input, number: int = 0) -> Examined:
        """Try the input, and ask every oracle. The number decides which of the expensive ones."""
        with self._laid_out(one) as root:
            watch = _Watch(self.limits)
            peak = _Peak()
            result: Result | None = None
            findings: list[Finding] = []
            try:
                with watch:
                    result = self._done(one, root)
            except Overtime as error:
                findings.append(Finding("hang", f"{one.target} {one.kind}: {error} in {watch.place}"))
            except MemoryError:
                findings.append(Finding("memory", f"{one.target} {one.kind}: MemoryError"))
            except BrokenPromise as error:
                findings.append(Finding("promise", f"{one.target} {one.kind}: {error}"))
            except Exception as error:
                findings.append(oracles.undeclared(error))
            seconds, megabytes = watch.seconds, peak.rise()
            if result is not None and seconds > oracles.SECONDS * max(1.0, one.size / 1_000_000):
                seconds = min(seconds, self._again(one, root))  # the machine has others to serve, too
            if not findings:
                findings += oracles.spent(seconds, megabytes, one.size, f"{one.target} {one.kind}", watch.place)
            if result is not None:
                findings += self._judged(one, root, result, number, slow=seconds > oracles.SECONDS)
            findings += oracles.imported(Path(os.environ[folders.MARKER]), self.scratch, self._known)
        outcome = "error" if result is None else f"{one.target} {one.kind} {_PARTICULAR.sub('…', result.outcome)[:120]}"
        unique = {finding.signature: finding for finding in findings}
        return Examined(outcome, tuple(unique.values()), seconds, megabytes)

    def traced(self, one: Input) -> Trace:
        """What the input does inside; its result and its errors are of no interest."""
        trace = Trace()
        with self._laid_out(one) as root, contextlib.suppress(Exception, Overtime), _Watch(self.limits):
            trace.of(lambda: self._done(one, root))
        return trace

    @contextlib.contextmanager
    def _laid_out(self, one: Input) -> Iterator[Path]:
        self._known = frozenset(sys.modules)
        self._count += 1
        base = self.scratch / f"{self._count}"
        root = base / "project"
        if one.target in TEXT_TARGETS:
            yield root
            return
        folders.materialize_tree(one.entries, root)
        os.chdir(root)
        try:
            yield root
        finally:
            os.chdir(self.scratch)
            shutil.rmtree(base, ignore_errors=True)

    def _done(self, one: Input, root: Path) -> Result:
        if one.target in TEXT_TARGETS:
            return TEXT_TARGETS[one.target][0](one.kind, one.entries[0].data)
        file = None if one.kind.startswith("folder") else one.entries[0].path
        reports = root.parent / "reports"
        reports.mkdir(exist_ok=True)
        return FOLDER_TARGETS[one.target](reports, file)

    def _again(self, one: Input, root: Path) -> float:
        watch = _Watch(self.limits)
        with contextlib.suppress(Exception, Overtime), watch:
            self._done(one, root)
        return watch.seconds

    def _judged(self, one: Input, root: Path, result: Result, number: int, *, slow: bool) -> list[Finding]:
        target = f"{one.target} {one.kind}"
        found = oracles.told(result.texts, target, secrets_of((entry.data for entry in one.entries), one.kind))
        found += oracles.ended(result.status, result.texts, target)
        found += oracles.silent(result.status, result.texts, target)
        if slow:
            return found
        if number % 16 == 7 and one.target != "process":
            again = self._quietly(lambda: self._done(one, root))
            if again is not None and _steady(again) != _steady(result):
                found.append(Finding("varies", target, _difference(result, again)))
        if one.target == "check" and one.kind.startswith("folder") and result.status != 2:
            found += oracles.unnamed(one.entries, result.texts.values(), one.kind)
            found += oracles.clean_beside_a_gap(one.entries, result.status, one.kind)
        if one.target == "check" and number % 3 == 0:
            added = folders.unreadable(Random(number))  # noqa: S311  # no secrets are made here
            found += self._with_another(one, root, result, added)
        return found

    def _with_another(self, one: Input, root: Path, result: Result, added: Entry) -> list[Finding]:
        before = result if one.kind.startswith("folder") else self._quietly(targets.check_json)
        folders.materialize_tree((added,), root / "more")
        after = self._quietly(targets.check_json)
        if before is None or after is None:
            return []
        shown = replace(added, path=f"more/{added.path}")
        found = oracles.lowered(before.status, after.status, shown)
        if after.status != 2:
            found += oracles.unnamed([shown], after.texts.values(), "added")
            found += oracles.clean_beside_a_gap([shown], after.status, "added")
        return found

    def _quietly(self, work: Callable[[], Result]) -> Result | None:
        try:
            with _Watch(self.limits):
                return work()
        except (Exception, Overtime):
            return None


def _steady(result: Result) -> dict[str, str]:
    """The reports without what is new each time: the number of a VEX document, and when it was written."""
    return {name: _UNIQUE.sub("…", text) for name, text in result.texts.items()}


def _difference(one: Result, other: Result) -> str:
    others = _steady(other)
    for name, text in _steady(one).items():
        for line, again in zip(text.splitlines(), others.get(name, "").splitlines(), strict=False):
            if line != again:
                return f"{name}: {line[:300]!r} and {again[:300]!r}"
    return f"{one.status} and {other.status}, {sorted(one.texts)} and {sorted(other.texts)}"


class _Peak:
    """The most memory since this was made; Linux forgets the peak before it when it is asked to."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5", "ascii")
        except OSError:
            pass
        self._before = _resident("VmRSS")

    def rise(self) -> float:
        """Megabytes between the memory at the beginning and the peak."""
        return max(0.0, (_resident("VmHWM") - self._before) / 1024)


def _resident(field_name: str) -> int:
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith(field_name):
                    return int(line.split()[1])
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


class _Watch:
    """Measures processor time, notes where it is spent, and stops what takes too long."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._start = self._wall = 0.0
        self.seconds = 0.0
        self.place = "the beginning"

    def __enter__(self) -> _Watch:
        self._start, self._wall = time.process_time(), time.monotonic()
        signal.signal(signal.SIGPROF, self._worked)
        signal.signal(signal.SIGALRM, self._waited)
        signal.setitimer(signal.ITIMER_PROF, min(oracles.SECONDS, self._limits.seconds), self._limits.seconds / 10)
        signal.setitimer(signal.ITIMER_REAL, self._limits.waiting, self._limits.waiting / 4)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.seconds = time.process_time() - self._start

    def _worked(self, _: int, frame: FrameType | None) -> None:
        self.place = _innermost(frame)
        if time.process_time() - self._start > self._limits.seconds:
            raise Overtime("computes")

    def _waited(self, _: int, frame: FrameType | None) -> None:
        # A busy machine gives little time; only one that gave some and was not wanted says that it waits.
        if time.process_time() - self._start < (time.monotonic() - self._wall) / 50:
            self.place = _innermost(frame)
            raise Overtime("waits")


def _innermost(frame: FrameType | None) -> str:
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename[len(PACKAGE) + 1 :]}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "outside"


def new_arcs(trace: Trace, known: set[Arc]) -> set[Arc]:
    """Arcs of a trace that are not among the known ones."""
    return trace.arcs() - known
