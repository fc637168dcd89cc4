"""Runs recipes in another interpreter, in a process group of their own, and brings back what they measured.

Several recipes share one process, because importing torch costs more than most of them. When that process dies, hangs
or takes too much memory, the recipe that it was busy with is the suspect: everything without a result is then run one
by one, each in a process of its own, so that one recipe cannot spoil another. Whatever happens is a
:class:`Measurement`; nothing here raises for what the interpreter does.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradcompat.errors import ProbeUnavailable
from gradcompat.model.probe import Measurement, ProbeSpec
from gradcompat.recipes.recipe import Recipe

_WORKER = Path(__file__).parent / "inside" / "worker.py"
_POLL_SECONDS = 0.02
_MEMORY_SECONDS = 0.25
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_TAIL_BYTES = 16 * 1024
_MEBIBYTE = 1 << 20
# What the interpreter gets of our own environment: where programs, libraries and devices are. The rest is fixed.
_PASSED_ON = (
    "PATH",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
    "TMP",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "CC",
    "CXX",
)
_FIXED = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONWARNINGS": "ignore",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    # Nothing may be fetched: models are made from their configs.
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "DO_NOT_TRACK": "1",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One recipe to run.

    Attributes:
        spec: what to measure.
        recipe: the module below ``inside/recipes``, or the absolute path of a file.
        device: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, ``xpu``, or ``auto`` for the first of ``devices`` that is there.
        devices: where the recipe can run.
        seed: for every generator that the recipe uses.
        seconds: how long it may take, without the start of the process.
        environment: variables that it needs beside the fixed ones.
        alone: it changes the process (environment variables, global state) and shares it with no other.
    """

    spec: ProbeSpec
    recipe: str
    device: str = "cpu"
    devices: tuple[str, ...] = ("cpu",)
    seed: int = 0
    seconds: float = 120.0
    environment: Mapping[str, str] | None = None
    alone: bool = False

    @classmethod
    def of(
        cls, spec: ProbeSpec, recipe: Recipe, *, device: str = "cpu", seed: int = 0, seconds: float | None = None
    ) -> Job:
        """The job that the recipe of a probe describes; it may take its own time where ``seconds`` is None."""
        return cls(
            spec=spec,
            recipe=recipe.module,
            device=device,
            devices=recipe.devices,
            seed=seed,
            seconds=recipe.seconds if seconds is None else seconds,
            environment=recipe.environment,
            alone=recipe.alone,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """Where recipes run.

    Attributes:
        path: the executable.
        layers: folders of packages that stand before those of the interpreter, the first one first.
        threads: how many threads torch may use.
        memory: MiB that the process and its children may take; None for no limit.
        start_seconds: how long the process may take before the first recipe runs.
        bytecode: Python may leave compiled modules beside the packages; nothing is written into a user's environment.
    """

    path: Path
    layers: tuple[Path, ...] = ()
    threads: int = 1
    memory: int | None = 8192
    start_seconds: float = 60.0
    bytecode: bool = False


def run(
    jobs: Sequence[Job],
    interpreter: Interpreter,
    progress: Callable[[Measurement], None] | None = None,
) -> tuple[Measurement, ...]:
    """Run all jobs; their measurements come back in the same order.

    Args:
        jobs: what to run.
        interpreter: where.
        progress: is called with each measurement as soon as it counts.

    Raises:
        ProbeUnavailable: if the interpreter cannot be started, or is none.
    """
    results: dict[int, Measurement] = {}
    for group in _groups(jobs):
        found = _in_one_process([jobs[index] for index in group], interpreter)
        for index, measurement in zip(group, found, strict=True):
            # Of several, the one that the process did not survive may have suffered from another: it gets its own.
            if measurement is not None and (measurement.state in _SURVIVED or len(group) == 1):
                results[index] = measurement
                _tell(progress, measurement)
    for index, job in enumerate(jobs):
        if index not in results:
            (measurement,) = _in_one_process([job], interpreter)
            assert measurement is not None, "a single job always ends in something"  # noqa: S101
            results[index] = measurement
            _tell(progress, measurement)
    return tuple(results[index] for index in range(len(jobs)))


def _tell(progress: Callable[[Measurement], None] | None, measurement: Measurement) -> None:
    if progress is not None:
        progress(measurement)


_SURVIVED = ("measured", "skipped", "failed")


def _groups(jobs: Sequence[Job]) -> list[list[int]]:
    """Which jobs share a process: those that need the same variables, and do not ask to be alone."""
    groups: dict[object, list[int]] = {}
    for index, job in enumerate(jobs):
        key = index if job.alone else tuple(sorted((job.environment or {}).items()))
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _in_one_process(jobs: Sequence[Job], interpreter: Interpreter) -> list[Measurement | None]:
    """What each job came to; None for those that were not reached."""
    folder = Path(tempfile.mkdtemp(prefix="gradcompat-probe-"))
    try:
        return _Watched(jobs, interpreter, folder).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Watched:
    """One process, watched until it ends or has to be ended."""

    def __init__(self, jobs: Sequence[Job], interpreter: Interpreter, folder: Path) -> None:
        self.jobs = jobs
        self.interpreter = interpreter
        self.folder = folder
        self.output = folder / "output.json"
        self.tail: deque[bytes] = deque()
        self.tail_bytes = 0
        self.state: dict[str, Any] = {}

    def run(self) -> list[Measurement | None]:
        task = {
            "output": str(self.output),
            "threads": self.interpreter.threads,
            "jobs": [
                {
                    "recipe": job.recipe,
                    "parameters": dict(job.spec.parameters),
                    "device": job.device,
                    "devices": list(job.devices),
                    "seed": job.seed,
                }
                for job in self.jobs
            ],
        }
        path = self.folder / "input.json"
        path.write_text(json.dumps(task), "utf-8")
        work = self.folder / "work"
        work.mkdir()
        try:
            process = subprocess.Popen(  # noqa: S603  # the interpreter that the user named
                [str(self.interpreter.path), str(_WORKER), str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=work,
                env=self._environment(work),
                start_new_session=True,
            )
        except OSError as error:
            reason = f"cannot be started: {error.strerror}"
            raise ProbeUnavailable(reason, path=str(self.interpreter.path), hint="name a Python with torch") from None
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        reader.start()
        try:
            ended = self._watch(process)
        finally:
            _end(process)
            reader.join()
            if process.stdout is not None:
                process.stdout.close()
        return self._measurements(ended)

    def _environment(self, work: Path) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        own = {
            "HOME": str(work),
            "TORCH_EXTENSIONS_DIR": str(work / "extensions"),
            "OMP_NUM_THREADS": str(self.interpreter.threads),
        }
        if self.interpreter.layers:
            own["PYTHONPATH"] = os.pathsep.join(map(str, self.interpreter.layers))
        if not self.interpreter.bytecode:
            own["PYTHONDONTWRITEBYTECODE"] = "1"
        return {**kept, **_FIXED, **own, **(self.jobs[0].environment or {})}

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Keep the end of what is printed, however much that is."""
        if process.stdout is None:
            return
        while piece := process.stdout.read1(4096):  # type: ignore[attr-defined]  # a pipe is buffered
            self.tail.append(piece)
            self.tail_bytes += len(piece)
            while self.tail_bytes > _TAIL_BYTES:
                self.tail_bytes -= len(self.tail.popleft())

    def _watch(self, process: subprocess.Popen[bytes]) -> tuple[str, str]:
        """Wait for the end; the state that the running job is in then, and why.

        Returns:
            ``("", "")`` if the process came to its own end.
        """
        started = time.monotonic()
        running: int | None = None
        looked = 0.0
        stamp = 0
        while True:
            code = process.poll()
            stamp = self._refresh(stamp)
            if code is not None:
                return ("", "") if code == 0 else ("crashed", _ending(code, self._printed()))
            now = time.monotonic()
            job = (self.state.get("running") or {}).get("job")
            if job != running:
                running, started = job, now
            limit = self.interpreter.start_seconds if running is None else self.jobs[running].seconds
            if running is None and self.state:
                limit = self.interpreter.start_seconds  # everything is measured, and the interpreter does not end
            if now - started > limit:
                return "hung", f"did not end within {limit:g} s"
            if self.interpreter.memory is not None and now - looked > _MEMORY_SECONDS:
                looked = now
                used = _memory(process.pid)
                if used > self.interpreter.memory * _MEBIBYTE:
                    return "memory", f"took more than {self.interpreter.memory} MiB"
            time.sleep(_POLL_SECONDS)

    def _refresh(self, stamp: int) -> int:
        try:
            changed = self.output.stat().st_mtime_ns
            if changed != stamp:
                self.state = json.loads(self.output.read_bytes())
        except (OSError, ValueError):
            return stamp
        return changed

    def _printed(self) -> str:
        return b"".join(self.tail).decode("utf-8", "replace")

    def _measurements(self, ended: tuple[str, str]) -> list[Measurement | None]:
        state, reason = ended
        if not self.state:
            last = next((line.strip() for line in reversed(self._printed().splitlines()) if line.strip()), "")
            what = reason if state == "hung" else f"ended before anything was measured ({last[:200] or reason})"
            raise ProbeUnavailable(what, path=str(self.interpreter.path), hint="name a Python 3.8 or later with torch")
        found: list[Measurement | None] = [None] * len(self.jobs)
        for result in self.state["results"]:
            found[result["job"]] = self._measurement(result)
        running = self.state["running"]
        if state and running is not None and found[running["job"]] is None:
            job = self.jobs[running["job"]]
            found[running["job"]] = Measurement(
                spec=job.spec,
                state=state,  # type: ignore[arg-type]  # one of the three that _watch returns
                reason=reason,
                python=self.state["python"],
                device=job.device,
                seed=job.seed,
                output=self._printed(),
            )
        return found

    def _measurement(self, result: Mapping[str, Any]) -> Measurement:
        job = self.jobs[result["job"]]
        failed = result["state"] == "failed"
        return Measurement(
            spec=job.spec,
            state=result["state"],
            reason=result["reason"],
            values=result["values"],
            packages=result["packages"],
            python=self.state["python"],
            device=result["device"],
            seed=job.seed,
            seconds=result["seconds"],
            output=f"{result.get('where', '')}\n{self._printed()}" if failed else "",
        )


def _ending(code: int, printed: str) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the process was killed by {name}"
    last = next((line.strip() for line in reversed(printed.splitlines()) if line.strip()), "")
    return f"the process ended with status {code}" + (f": {last[:200]}" if last else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and everything that it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _memory(group: int) -> int:
    """Bytes that a process group holds in memory; 0 where there is no /proc to ask."""
    total = 0
    try:
        processes = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    except OSError:
        return 0
    for entry in processes:
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            total += int(fields[21]) * _PAGE
    return total
