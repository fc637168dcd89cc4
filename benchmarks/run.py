"""Times `gradcompat check` against yardsticks in one run, and prints ratios of processor time.

    python benchmarks/run.py [--runs 7] [--keep DIR] [--logs]

Needs uv, pip-audit and a package index, and installs some 250 small packages into a scratch environment. Each
figure is the median of whole processes (user + system time of the process and its children), taken in turn (A B A B …)
so that a drifting machine does not favour either side.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import tomli
import training_logs

HERE = Path(__file__).parent
PARSE = "import sys, tomli\nfor path in sys.argv[1:]:\n    tomli.loads(open(path, encoding='utf-8').read())"
MEASURE = (
    "import json, resource, subprocess, sys, time\n"
    "start = time.perf_counter()\n"
    "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(json.dumps([time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss]))"
)
# Packages of the stack that are large, or that only install with a compiler: their metadata is not what is timed.
LARGE = ("torch", "nvidia-", "triton", "cuda-", "deepspeed", "bitsandbytes", "pyarrow", "ray", "scipy", "scikit-learn")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--runs", type=int, default=7, help="processes of each command")
    options.add_argument("--keep", type=Path, help="a folder for the lockfile and the environment, to use again")
    options.add_argument("--logs", action="store_true", help="only `diagnose`, which needs no index and no environment")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.logs:
            many_logs(folder)
            return
        lock = locked(folder)
        environment = installed(folder, lock)
        print(f"uv.lock: {lock.stat().st_size / 1e6:.2f} MB, {len(tomli.loads(lock.read_text())['package'])} packages")
        one_lockfile(lock, arguments.runs)
        one_environment(environment, arguments.runs)
        against_pip_audit(folder, lock, arguments.runs)
        many_lockfiles(folder)
        many_logs(folder)


def locked(folder: Path) -> Path:
    """The stack's lockfile, made by the real uv."""
    lock = folder / "uv.lock"
    if not lock.exists():
        shutil.copy(HERE / "stack" / "pyproject.toml", folder)
        subprocess.run(["uv", "lock", "--quiet", "--directory", str(folder)], check=True)
    return lock


def pins(lock: Path) -> list[str]:
    """One ``name==version`` for each name in the lockfile."""
    packages = {entry["name"]: entry for entry in tomli.loads(lock.read_text("utf-8"))["package"] if "version" in entry}
    return [f"{name}=={entry['version']}" for name, entry in packages.items() if "registry" in entry["source"]]


def installed(folder: Path, lock: Path) -> Path:
    """An environment with the small packages of the stack, really installed, and pip."""
    environment = folder / "environment"
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        small = [pin for pin in pins(lock) if not pin.startswith(LARGE)]
        install = ["uv", "pip", "install", "--quiet", "--python", str(python), "--no-deps", "--only-binary", ":all:"]
        if subprocess.run([*install, *small], check=False).returncode:
            for pin in small:  # some have no wheel for this interpreter
                subprocess.run([*install, pin], check=False, stderr=subprocess.DEVNULL)
    return environment


def one_lockfile(lock: Path, runs: int) -> None:
    check, parse = alternate([gradcompat("check", str(lock)), [sys.executable, "-c", PARSE, str(lock)]], runs)
    report("check uv.lock / parsing it alone", check, parse, "reach 3, aim at 2")


def one_environment(environment: Path, runs: int) -> None:
    count = len(list(environment.glob("lib/python*/site-packages/*.dist-info")))
    python = str(environment / "bin" / "python")
    check, pip = alternate([gradcompat("check", str(environment)), [python, "-m", "pip", "check"]], runs)
    report(f"check of {count} distributions / pip check", check, pip, "reach 0.5")


def against_pip_audit(folder: Path, lock: Path, runs: int) -> None:
    requirements = folder / "requirements.txt"
    chosen = pins(lock)[:250]
    requirements.write_text("\n".join(chosen) + "\n")
    with osv_server() as url:
        audit = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements), "--no-deps", "--disable-pip"]
        audit += ["--vulnerability-service", "osv", "--osv-url", url, "--progress-spinner", "off"]
        check, other = alternate([gradcompat("check", str(requirements)), audit], max(3, runs // 2))
    report(f"check of {len(chosen)} pins / pip-audit", check, other, "reach 0.25; its service answers from here")


def many_lockfiles(folder: Path) -> None:
    """A thousand lockfiles in one command, against parsing them one after another in one process."""
    source = (HERE.parent / "examples" / "llava-finetune" / "uv.lock").read_text("utf-8")
    many = folder / "many"
    shutil.rmtree(many, ignore_errors=True)
    for number in range(1000):
        project = many / f"project-{number:04}"
        project.mkdir(parents=True)
        (project / "uv.lock").write_text(source)
    paths = [str(path) for path in sorted(many.glob("*/uv.lock"))]
    check_wall, check = timed(gradcompat("check", str(many), "--format", "json"))
    parse_wall, parse = timed([sys.executable, "-c", PARSE, *paths])
    print(
        f"1,000 lockfiles: {check_wall:.2f} ms a file on {os.cpu_count()} processors, parsing alone {parse_wall:.2f}; "
        f"processor time {check / parse:.2f} times that of parsing, wall time {check_wall / parse_wall:.2f}"
    )


def many_logs(folder: Path, megabytes: int = 200) -> None:
    """A log of each kind, and one that is as large as they come."""
    sizes = [*((kind, megabytes) for kind in training_logs.KINDS), ("launchers", 1000)]
    for kind, size in sizes:
        log = folder / f"{kind}.log"
        training_logs.write(log, kind, size)
        measure = [sys.executable, "-c", MEASURE, *gradcompat("diagnose", str(log))]
        wall, processor, peak = json.loads(subprocess.run(measure, check=True, capture_output=True).stdout)
        written = log.stat().st_size / 1e6
        log.unlink()
        print(
            f"diagnose of {written:.0f} MB: {written / processor:.0f} MB/s of processor time, "
            f"{written / wall:.0f} MB/s of wall time, peak {peak / 1024:.0f} MB: {training_logs.KINDS[kind][0]} "
            "(reach 100 MB/s and 200 MB)",
            flush=True,
        )


def gradcompat(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("gradcompat")), *arguments]


def alternate(commands: Sequence[list[str]], runs: int) -> list[float]:
    """Median processor time of each command in seconds, the commands taking turns; the first round is warming up."""
    times: list[list[float]] = [[] for _ in commands]
    for round_number in range(runs + 1):
        for command, taken in zip(commands, times, strict=True):
            seconds = timed(command)[1]
            if round_number:
                taken.append(seconds)
    return [statistics.median(taken) for taken in times]


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and processor seconds of one process with its children."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{done.stderr.decode()}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(what: str, one: float, other: float, target: str) -> None:
    print(f"{what}: {one / other:.2f} ({one * 1000:.0f} ms / {other * 1000:.0f} ms of processor time; {target})")


@contextmanager
def osv_server() -> Iterator[str]:
    """A vulnerability service on this machine that knows nothing, so that no network is timed."""

    class Nothing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name is http.server's
            length = int(self.headers.get("Content-Length", 0))
            queries = json.loads(self.rfile.read(length) or b"{}").get("queries", [])
            answer = json.dumps({"results": [{} for _ in queries]} if queries else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Nothing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
