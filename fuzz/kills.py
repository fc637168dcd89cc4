"""Kills a command again and again at random moments, and checks that nothing is lost and nothing is half written.

    nice -n 15 python fuzz/kills.py fix --kills 1000 --seed 1

Commands: fix, waive, baseline, measure, cache. Everything is imported once; each attempt is a fork that is killed with
SIGKILL at a moment drawn from the time that the attempt takes when nobody kills it, counted from where its writing
begins: `fix`, `waive` and `baseline` are forked with all made that they are going to write, and `measure` measures a
toy whose rows are there at once. Every 50th time the whole command is the next run. With `--state FILE`, a run that was
stopped goes on from there.

The exit status is 1 if anything was lost or half written; what is kept of the last such attempt is named.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.summary import replace_part
from tests.cli.indexed import CONFIG, LINUX, REQUIREMENTS
from tests.suppression.waived import FACTS, project, waiver

_UNTROUBLED = 9  # attempts that are timed first
_FULL = 50  # after so many attempts the whole command runs as the next run


class Trial:
    """One command: what there is before, what is killed, and what has to hold."""

    def prepare(self) -> None:
        """Lay the scratch folder out for an attempt; it is the working folder."""

    def attempt(self) -> None:
        """What is killed."""
        raise NotImplementedError

    def when_writing(self, begins: Callable[[], None]) -> None:
        """Have this called where the writing of an attempt begins; else it begins with the attempt."""
        begins()

    def verdict(self, number: int) -> str:
        """What was found, and repaired by the next run; raises AssertionError for a loss."""
        raise NotImplementedError


class Fix(Trial):
    """A plan over ten files in five folders."""

    def __init__(self) -> None:
        fix: Any = import_module("gradcompat.cli.commands.fix")

        self._fix, self._write = fix, fix.write
        self._planned: list[Any] = []
        self.prepare()
        fix.write = self._planned.extend
        self._command()
        fix.write = self._write
        self._before = {edit.path: edit.before for edit in self._planned}
        self._after = {edit.path: edit.after for edit in self._planned}
        assert len(self._planned) == 10

    def prepare(self) -> None:
        for name in ("a", "b", "c", "d", "e"):
            Path(name).mkdir(exist_ok=True)
            for file in ("requirements.txt", "constraints.txt"):
                Path(name, file).write_text(REQUIREMENTS, "utf-8")
            Path(name, "train.yaml").write_text(CONFIG, "utf-8")

    def attempt(self) -> None:
        with self._fix._undisturbed():
            self._write(self._planned)

    def _command(self) -> None:
        quiet("fix", ".", "--offline", *LINUX)

    def verdict(self, number: int) -> str:
        cut_off = self._state()
        recover = getattr(self._fix, "_recover", None)
        if number % _FULL == 0:
            self._command()
            assert self._state() == "new", "the next run does not complete the plan"
        elif recover is not None:
            with silence():
                recover(["."], [])
        state = self._state()
        assert state != "mixed", "half of the plan is written"
        assert not [*Path.cwd().rglob(".gradcompat*")], "a temporary file is left"
        return f"{cut_off}, then {state}"

    def _state(self) -> str:
        now = {path: path.read_bytes() for path in self._before}
        for path, content in now.items():
            assert content in (self._before[path], self._after[path]), f"{path} is half written"
        return "old" if now == self._before else "new" if now == self._after else "mixed"


class Waive(Trial):
    """A waiver more in a file, and every other time a new file."""

    def __init__(self) -> None:
        waive: Any = import_module("gradcompat.cli.commands.waive")

        self._waive, self._write = waive, waive._write
        self._place = Path("gradcompat.toml")
        self._new = False
        self._wanted: dict[bool, bytes] = {}
        self._asked: dict[bool, tuple[Any, Any]] = {}
        for _ in range(2):
            self.prepare()
            self._waive._write = self._ask
            self._command()
            self._waive._write = self._write
            self.attempt()
            self._wanted[self._new] = self._place.read_bytes()

    def _ask(self, place: Path, change: Any, **_: Any) -> None:
        self._asked[self._new] = place, change

    def prepare(self) -> None:
        self._new = not self._new
        project(Path.cwd(), *(waiver(path=f'"services/{number}/uv.lock"') for number in range(40)))
        if self._new:
            self._place.unlink()
        self._before = None if self._new else self._place.read_bytes()

    def attempt(self) -> None:
        with silence():
            self._write(*self._asked[self._new], dry_run=False)

    def _command(self) -> None:
        quiet("waive", "GC-0004", "--reason", "one step only", "--path", "other/uv.lock")

    def verdict(self, number: int) -> str:
        now = self._place.read_bytes() if self._place.exists() else None
        assert now in (self._before, self._wanted[self._new]), "the file is half written"
        self._command() if number % _FULL == 0 else self.attempt()
        assert self._place.read_bytes() == self._wanted[self._new], "the next run does not complete it"
        assert not [*Path.cwd().glob(".g*")], "a temporary file is left"
        return f"{'a new file' if self._new else 'a waiver more'}: {'old' if now == self._before else 'new'}"


class Baseline(Trial):
    """A report in the place of an earlier one, which is the baseline of the next check."""

    def __init__(self) -> None:
        check: Any = import_module("gradcompat.cli.commands.check")

        self._write = check.write
        self._place = Path("baseline.json")
        project(Path.cwd())
        self._reports = []
        for facts in (FACTS, ()):
            self._check(facts)
            self._reports.append(self._place.read_bytes())
        self._asked: tuple[Any, ...] = ()
        check.write = self._ask
        self._check(())
        check.write = self._write
        assert self._reports[0] != self._reports[1]

    def _ask(self, *asked: Any) -> None:
        self._asked = asked

    def _check(self, facts: Sequence[str]) -> None:
        quiet("check", "uv.lock", "--output", f"json={self._place}", *facts)

    def prepare(self) -> None:
        self._place.write_bytes(self._reports[0])

    def attempt(self) -> None:
        with silence():
            self._write(*self._asked)

    def verdict(self, number: int) -> str:
        now = self._place.read_bytes()
        assert now in self._reports, "the report is half written"
        if number % _FULL == 0:
            quiet("check", "uv.lock", "--baseline", str(self._place), *FACTS)
        left = clear(Path.cwd().glob(".gradcompat*"))
        return f"{'old' if now == self._reports[0] else 'new'}{', a temporary file left' if left else ''}"


class Measure(Trial):
    """Twelve releases of a toy; what the command has said that it kept has to be there."""

    def __init__(self) -> None:
        measure: Any = import_module("gradcompat.cli.measurement_progress")
        campaign: Any = import_module("gradcompat.curation.campaign")
        from gradcompat.model.probe import Measurement, ProbeSpec
        from gradcompat.probes import matrix
        from gradcompat.recipes.table import BY_NAME
        from tests.probes.toys import BASE, TOY_RECIPE, Table, release

        reasons = ("fine", "é漢\U0001f600" * 40, "one\u2028two\u2029three\x85four")
        self._versions = [f"1.{minor}" for minor in range(12)]
        table = Table([release(version) for version in self._versions])

        @contextmanager
        def packages_of(_: object) -> Iterator[Table]:
            yield table

        @contextmanager
        def executor_of(*_: object) -> Iterator[Executor]:
            yield Here()

        def work(task: Any) -> tuple[Any, ...]:
            number = int(task.version.partition(".")[2])
            found = Measurement(
                spec=ProbeSpec(name="toy"),
                state="failed",
                reason=reasons[number % len(reasons)],
                values={},
                packages={},
                python="3.11.7",
                seconds=1.0,
            )
            return (matrix._row(task, found),)

        BY_NAME["toy"] = TOY_RECIPE
        measure.describe = lambda _: BASE
        measure.interpreter_of = lambda _: Path(sys.executable)
        measure.package_index = packages_of
        measure.executor_of = executor_of
        campaign.work = work
        measure.load = lambda: None
        measure.specs_of = lambda *_: [ProbeSpec(name="toy")]
        self._campaign, self._rows, self._said = campaign, Path("rows"), Path("said")

    def prepare(self) -> None:
        shutil.rmtree(self._rows, ignore_errors=True)
        self._said.unlink(missing_ok=True)

    def attempt(self) -> None:
        quiet("knowledge", "measure", "toy", "toy", "--output", str(self._rows), "--layers", "layers", said=self._said)

    def when_writing(self, begins: Callable[[], None]) -> None:
        self._campaign.append = first(begins, self._campaign.append)

    def verdict(self, number: int) -> str:
        from gradcompat.knowledge.measured import read_rows

        said = {
            line.split()[4].rstrip(":") for line in self._said.read_text("utf-8").splitlines() if " of 12: " in line
        }
        kept = [row.version for row in read_rows(self._rows)] if self._rows.exists() else []
        assert said <= set(kept), f"{said - set(kept)} is lost"
        self.attempt()
        assert [row.version for row in read_rows(self._rows)] == self._versions, "the next run does not complete it"
        assert [path.name for path in self._rows.iterdir()] == ["toy.jsonl"], "something is left"
        return f"{'no' if not kept else 'all' if len(kept) == 12 else 'some'} rows"


class Here(Executor):
    """Does what it is given at once."""

    def submit(self, work: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments, **options))
        return future


class Cached(Trial):
    """Forty answers of an index in the place of older ones."""

    def __init__(self) -> None:
        from gradcompat.index.cache import Cache

        self._cache = Cache(Path("cache"))
        self._age = 0

    def _parts(self, key: int, age: int) -> tuple[bytes, ...]:
        return (f"{key} {age}".encode() * 3000, bytes([age % 256]) * 50_000)

    def _all(self, age: int) -> None:
        for key in range(40):
            self._cache.write("pages", str(key), self._parts(key, age), {"age": str(age)})
            self._cache.confirm("pages", str(key))

    def prepare(self) -> None:
        self._all(self._age)

    def attempt(self) -> None:
        self._all(self._age + 1)

    def verdict(self, number: int) -> str:
        ages = []
        for key in range(40):
            entry = self._cache.read("pages", str(key))
            assert entry is not None, "an answer is lost"
            age = int(entry.meta["age"])
            assert age in (self._age, self._age + 1)
            assert entry.parts == self._parts(key, age), "an answer is half written"
            ages.append(age)
        assert self._cache.trouble is None
        left = clear(Path("cache").rglob(".*"))
        new = sum(age == self._age + 1 for age in ages)
        self._age += 1
        return f"{'no' if not new else 'all' if new == 40 else 'some'} new{', a temporary file left' if left else ''}"


TRIALS: Mapping[str, type[Trial]] = {
    "fix": Fix, "waive": Waive, "baseline": Baseline, "measure": Measure, "cache": Cached,
}  # fmt: skip


@contextmanager
def silence() -> Iterator[None]:
    """What is said goes nowhere."""
    with open(os.devnull, "w", encoding="utf-8") as out, redirect_stdout(out), redirect_stderr(out):
        yield


@cache
def program() -> Any:
    """The command line, made once."""
    from typer.main import get_command

    from gradcompat.cli.app import app

    return get_command(app)


def quiet(*arguments: str, said: Path | None = None) -> None:
    """The command in this process, with what it says in a file or nowhere; only its own errors are let through."""
    with (
        open(said or os.devnull, "a", encoding="utf-8") as out,
        redirect_stdout(out),
        redirect_stderr(out),
        suppress(SystemExit),
    ):
        program()(list(arguments), standalone_mode=False)


def first(begins: Callable[[], None], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which says first that it begins."""

    def saying(*arguments: Any, **options: Any) -> Any:
        begins()
        return function(*arguments, **options)

    return saying


def begin_once(descriptor: int) -> None:
    """Tell the parent; it listens once."""
    with suppress(OSError):
        os.write(descriptor, b".")


def forked(trial: Trial, after: float | None) -> tuple[float, bool]:
    """Run an attempt in a fork, and kill it so many seconds after its writing began.

    Returns:
        How long it took, and whether it was killed.
    """
    ready, begin = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        status = 70
        try:
            trial.when_writing(lambda: begin_once(begin))
            trial.attempt()
            status = 0
        finally:
            os._exit(status)
    os.close(begin)
    os.read(ready, 1)
    os.close(ready)
    start = time.perf_counter()
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    if not killed and os.WEXITSTATUS(status) != 0:
        raise AssertionError(f"the attempt ended with status {os.WEXITSTATUS(status)}")
    return time.perf_counter() - start, killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=[*TRIALS, "table"], help="`table`: of the states in the folder --state")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="keep what was found here, and go on from it")
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the table into a page, between its two marks")
    options = parser.parse_args()
    if options.command == "table":
        return _tell(options.state, options.report)
    state = options.state.absolute() if options.state is not None else None
    found: Counter[str] = Counter()
    if state is not None and state.exists():
        found.update(json.loads(state.read_text("utf-8")))
    chance = random.Random(f"{options.seed} {sum(found.values())}")  # noqa: S311 # moments, not secrets
    scratch = Path(tempfile.mkdtemp(prefix=f"kills-{options.command}-"))
    os.chdir(scratch)
    os.environ |= {"GRADCOMPAT_CACHE": str(scratch / ".cache"), "HOME": str(scratch / ".home")}
    trial = TRIALS[options.command]()
    durations = []
    for _ in range(_UNTROUBLED):
        trial.prepare()
        with suppress(Exception):  # it is a loss when it is counted
            durations.append(forked(trial, None)[0])
            trial.verdict(1)
    whole = statistics.median(durations or [0.1])
    while (number := sum(count for what, count in found.items() if what != "not killed")) < options.kills:
        trial.prepare()
        killed = True
        try:
            _, killed = forked(trial, chance.uniform(0, whole))
            verdict = trial.verdict(number + 1)
        except Exception as error:
            verdict = f"LOSS: {str(error).splitlines()[0][:120]}"
            kept = scratch.with_name(f"{scratch.name}-loss")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(scratch, kept, symlinks=True)
            clear(scratch.rglob(".gradcompat*"))
        found[verdict if killed else "not killed"] += 1
        if state is not None:
            written = state.with_suffix(".new")
            written.write_text(json.dumps(found), "utf-8")
            written.replace(state)
    lost = sum(count for what, count in found.items() if what.startswith("LOSS"))
    print(f"{date.today()} {options.command}: {options.kills} kills within {whole * 1000:.1f} ms, {lost} with a loss")
    for what, count in sorted(found.items()):
        print(f"  {count:6} {what}")
    os.chdir("/")
    shutil.rmtree(scratch)
    if lost:
        print(f"the last one with a loss is kept in {scratch}-loss")
    return int(lost > 0)


def table(folder: Path) -> str:
    """What is known of all commands, in Markdown, from the states ``kills-COMMAND.json`` in a folder."""
    lines = ["| Command | Kills | Losses | Temporary files left | Found after the kill |", "|---|---:|---:|---:|---|"]
    for command in TRIALS:
        state = folder / f"kills-{command}.json"
        if not state.exists():
            continue
        found = Counter[str](json.loads(state.read_text("utf-8")))
        del found["not killed"]
        lost = sum(count for what, count in found.items() if what.startswith("LOSS"))
        left = sum(count for what, count in found.items() if what.endswith("a temporary file left"))
        said = ", ".join(f"{what}: {count:,}" for what, count in sorted(found.items(), key=lambda one: -one[1]))
        lines.append(f"| `{command}` | {sum(found.values()):,} | {lost} | {left} | {said} |")
    return "\n".join(lines) + "\n"


def _tell(folder: Path, page: Path | None) -> int:
    if page is not None:
        replace_part(page, "kills", table(folder))
    print(table(folder), end="")
    return 0


def clear(paths: Iterable[Path]) -> int:
    """Delete what an attempt has left, so that the next one begins anew; how much that was."""
    left = list(paths)
    for path in left:
        path.unlink()
    return len(left)


if __name__ == "__main__":
    sys.exit(main())
