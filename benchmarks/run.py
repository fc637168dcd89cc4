"""Times `gradcompat check` against yardsticks in one run, and prints ratios of processor time.

    python benchmarks/run.py [--runs 7] [--keep DIR] [--start | --locks DIR | --audits LOCK | --logs | --many | --forks]

Needs uv, pip-audit and a package index, and installs some 250 small packages into a scratch environment. Each
figure is the median of whole processes (user + system time of the process and its children), taken in turn (A B A B …)
so that a drifting machine does not favour either side. Bytecode is kept in the scratch folder, as an installed package
has it: where `PYTHONDONTWRITEBYTECODE` is set, compiling the sources would be most of each figure. What a check keeps
is used only where the second check is what is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
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
from history import record
from plans import RUNS, sets

HERE = Path(__file__).parent
PARSE = "import sys, tomli\nfor path in sys.argv[1:]:\n    tomli.loads(open(path, encoding='utf-8').read())"
PARSE_CODE = (
    "import ast, pathlib, sys, warnings\nwarnings.simplefilter('ignore')\n"
    "for path in pathlib.Path(sys.argv[1]).rglob('*.py'):\n    ast.parse(path.read_text('utf-8'))"
)
PLANNED = "an own model with gradient accumulation under DeepSpeed"  # every large lock of the collection has a finding
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
    options.add_argument("--start", action="store_true", help="only what starting costs, which needs no index")
    options.add_argument("--locks", type=Path, help="only the large uv.lock files in a folder; no index either")
    options.add_argument("--audits", type=Path, help="only other auditors, on the pins of a uv.lock; no index either")
    options.add_argument("--logs", action="store_true", help="only `diagnose`, which needs no index and no environment")
    options.add_argument("--forks", action="store_true", help="only locks of many forks, and folders of many files")
    options.add_argument("--many", action="store_true", help="only the 1,000 lockfiles, which need no index either")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        keep_bytecode(folder)
        if arguments.forks:
            ratios = forked_lockfiles(folder, arguments.runs) | many_files(folder, max(1, arguments.runs // 2))
            print(*record(ratios), sep="\n")
            return
        if arguments.start or arguments.locks is not None:
            ratios = starting(folder, arguments.runs) if arguments.start else {}
            if arguments.locks is not None:
                ratios |= large_lockfiles(arguments.locks, arguments.runs)
            print(*record(ratios), sep="\n")
            return
        if arguments.audits is not None:
            ratios = against_pip_audit(folder, arguments.audits, arguments.runs)
            ratios |= against_uv_audit(folder, arguments.audits, arguments.runs)
            print(*record(ratios), sep="\n")
            return
        if arguments.logs or arguments.many:
            if arguments.logs:
                many_logs(folder)
            if arguments.many:
                many_lockfiles(folder, max(1, arguments.runs // 2))
            return
        lock = locked(folder)
        environment = installed(folder, lock)
        print(f"uv.lock: {lock.stat().st_size / 1e6:.2f} MB, {len(tomli.loads(lock.read_text())['package'])} packages")
        ratios = starting(folder, arguments.runs)
        ratios |= one_lockfile(lock, arguments.runs)
        ratios |= one_environment(environment, arguments.runs)
        ratios |= against_pip_audit(folder, lock, arguments.runs)
        ratios |= against_uv_audit(folder, lock, arguments.runs)
        print(*record(ratios), sep="\n")
        many_lockfiles(folder, max(1, arguments.runs // 2))
        many_logs(folder)


def keep_bytecode(folder: Path) -> None:
    """Let all processes that are timed load bytecode that the first of them has written, and nothing of the user's."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str((folder / "bytecode").resolve())
    os.environ["GRADCOMPAT_CACHE"] = str((folder / "cache").resolve())


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


def starting(folder: Path, runs: int) -> dict[str, float]:
    """The version and a check of three pins, against Python alone."""
    requirements = folder / "three" / "requirements.txt"
    requirements.parent.mkdir(exist_ok=True)
    requirements.write_text("torch==2.5.1\ntransformers==4.50.0\nnumpy==1.26.4\n")
    time.sleep(2.1)  # a report about what was written a moment ago is not kept
    anew, again = gradcompat("check", "--no-cache", str(requirements)), gradcompat("check", str(requirements))
    check, second, version, python = alternate(
        [anew, again, gradcompat("--version"), [sys.executable, "-c", "pass"]], runs
    )
    return {
        **report("--version / python -c pass", version, python, "reach 4"),
        **report("check of 3 pins / python -c pass", check, python, "reach 6"),
        **report("second check of 3 pins / --version", second, version, "reach 1.3"),
    }


def large_lockfiles(collection: Path, runs: int) -> dict[str, float]:
    """Each large lockfile of a collection against a process that only parses it, and a second check against
    ``--version``; the worst of them are kept.
    """
    locks = [lock for lock in collection.rglob("*uv.lock") if lock.is_file() and lock.stat().st_size > 1_000_000]
    if not locks:
        return {}
    first: list[float] = []
    second: list[float] = []
    planned: list[float] = []
    for lock in sorted(locks):
        size = f" of {lock.stat().st_size / 1e6:.2f} MB"
        of, again = one_lockfile(lock, runs, size).values()
        first.append(of)
        second.append(again)
        planned.append(one_planned(lock, runs, size))
    largest = max(locks, key=lambda lock: lock.stat().st_size)
    for facts in ((), sets(RUNS[PLANNED])):
        mega = peak(gradcompat("check", "--no-cache", str(largest), *facts))
        what = " with a finding" if facts else ""
        print(f"check of a uv.lock of {largest.stat().st_size / 1e6:.2f} MB{what}: peak {mega:.0f} MB (reach 80)")
    return {
        "check of a large uv.lock / parsing it alone, the worst": max(first),
        "second check of a large uv.lock / --version, the worst": max(second),
        "check of a large uv.lock with a finding / parsing it alone, the worst": max(planned),
    }


def one_planned(lock: Path, runs: int, size: str) -> float:
    """The first check of a lockfile against parsing it, where something is found and planned."""
    check = gradcompat("check", "--no-cache", str(lock), *sets(RUNS[PLANNED]))
    first, parsing = alternate([check, [sys.executable, "-c", PARSE, str(lock)]], runs)
    what = f"check of a uv.lock{size} with a finding / parsing it alone"
    return report(what, first, parsing, "reach 3")[what]


def forked_lockfiles(folder: Path, runs: int) -> dict[str, float]:
    """Locks of 3,000 entries against parsing them: all packages in 50 forks each, and ten of them beside others."""
    from growth import forks  # noqa: PLC0415  # it imports this module

    ratios: dict[str, float] = {}
    for what, forked, others in (
        ("60 packages in 50 forks", 57, 0),
        ("10 packages in 50 forks, 2,500 others", 7, 2500),
    ):
        lock = folder / "forked" / f"{forked}-{others}" / "uv.lock"
        lock.parent.mkdir(parents=True, exist_ok=True)
        forks(lock.parent, 50, more=forked, beside=others)
        check, parse = gradcompat("check", "--no-cache", str(lock)), [sys.executable, "-c", PARSE, str(lock)]
        first, parsing = alternate([check, parse], runs)
        ratios |= report(f"check of a uv.lock with {what} / parsing it alone", first, parsing, "reach 4")
    return ratios


def many_files(folder: Path, runs: int) -> dict[str, float]:
    """A repository of 2,845 Python files against parsing them, on all processors and on one, and the peak of 1,000
    requirements files.
    """
    sources = [path for path in sorted(Path(os.__file__).parent.glob("*.py")) if path.stat().st_size < 8000]
    repository = folder / "repository"
    shutil.rmtree(repository, ignore_errors=True)
    repository.mkdir()
    (repository / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.50.0\n", "utf-8")
    for number in range(2845):
        module = repository / f"part{number % 40}" / f"module{number}.py"
        module.parent.mkdir(exist_ok=True)
        source = sources[number % len(sources)].read_text("utf-8")
        module.write_text(f"{source}\nimport torch\nfrom transformers import Trainer\n", "utf-8")
    check = gradcompat("check", "--no-cache", str(repository))
    parse = [sys.executable, "-c", PARSE_CODE, str(repository)]
    rounds = [(timed(check), timed(parse)) for _ in range(runs)]
    wall, processor = (min(one[0][which] for one in rounds) for which in (0, 1))
    parsing = min(one[1][1] for one in rounds)
    ratios = report("check of 2,845 Python files / parsing them alone", processor, parsing, "the less, the better")
    alone = min(timed(check, one_processor=True)[0] for _ in range(runs))
    processors = os.cpu_count() or 1
    print(f"2,845 Python files: {alone / wall:.2f} times as long on one processor as on {processors} ({wall:.1f} s)")
    two = folder / "two"
    shutil.rmtree(two, ignore_errors=True)
    for number in range(1000):
        project = two / f"project-{number:04}"
        project.mkdir(parents=True)
        pins = f"torch==2.{number % 7}.0\ntransformers==4.{30 + number % 20}.0\n"
        (project / "requirements.txt").write_text(pins, "utf-8")
    for shown in ("text", "json"):
        mega = peak(gradcompat("check", "--no-cache", str(two), "--format", shown))
        print(f"1,000 requirements files of two lines as {shown}: peak {mega:.0f} MB (reach 150)")
    return {**ratios, "2,845 Python files on all processors / on one": wall / alone}


def peak(command: list[str]) -> float:
    """The largest process of a command, in MB."""
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], check=True, capture_output=True)
    return float(json.loads(done.stdout)[2]) / 1024


def one_lockfile(lock: Path, runs: int, size: str = "") -> dict[str, float]:
    """The first check of a lockfile against parsing it, and the second one against ``--version``."""
    anew, again = gradcompat("check", "--no-cache", str(lock)), gradcompat("check", str(lock))
    parse = [sys.executable, "-c", PARSE, str(lock)]
    first, parsing, second, version = alternate([anew, parse, again, gradcompat("--version")], runs)
    return {
        **report(
            f"check {f'of a uv.lock{size}' if size else 'uv.lock'} / parsing it alone",
            first,
            parsing,
            "reach 3, aim at 2",
        ),
        **report(f"second check of a uv.lock{size} / --version", second, version, "reach 1.3"),
    }


def one_environment(environment: Path, runs: int) -> dict[str, float]:
    count = len(list(environment.glob("lib/python*/site-packages/*.dist-info")))
    python = str(environment / "bin" / "python")
    by_uv = ["uv", "pip", "check", "--quiet", "--python", python]
    anew, again = gradcompat("check", "--no-cache", str(environment)), gradcompat("check", str(environment))
    check, second, pip, uv = alternate([anew, again, [python, "-m", "pip", "check"], by_uv], runs)
    return {
        **report(f"check of {count} distributions / pip check", check, pip, "reach 0.5"),
        **report(f"check of {count} distributions / uv pip check", check, uv, "reach 1"),
        **report(f"second check of {count} distributions / uv pip check", second, uv, "reach 1"),
    }


def against_pip_audit(folder: Path, lock: Path, runs: int) -> dict[str, float]:
    requirements = folder / "requirements.txt"
    chosen = pins(lock)[:250]
    requirements.write_text("\n".join(chosen) + "\n")
    with osv_server() as url:
        audit = [sys.executable, "-m", "pip_audit", "--requirement", str(requirements), "--no-deps", "--disable-pip"]
        audit += ["--vulnerability-service", "osv", "--osv-url", url, "--progress-spinner", "off"]
        check, other = alternate([gradcompat("check", "--no-cache", str(requirements)), audit], max(3, runs // 2))
    return report(f"check of {len(chosen)} pins / pip-audit", check, other, "reach 0.15; its service answers from here")


def against_uv_audit(folder: Path, lock: Path, runs: int) -> dict[str, float]:
    """The same pins, for uv in a lockfile; it asks our own service, another process, about records and releases."""
    project = folder / "audited"
    project.mkdir(exist_ok=True)
    chosen = [pin.split("==") for pin in pins(lock)[:250]]
    with our_server() as url:
        write_project(project, chosen, f"{url}/simple")
        audit = ["uv", "audit", "--frozen", "--no-cache", "--no-config", "--directory", str(project)]
        audit += ["--python-version", "3.11", "--python-platform", "linux", "--service-url", url]
        done = subprocess.run(audit, check=False, capture_output=True, text=True, timeout=60)
        if done.returncode not in (0, 1):
            raise SystemExit(f"uv audit failed:\n{done.stderr}")
        check, other = alternate([gradcompat("check", "--no-cache", str(project / "uv.lock")), audit], runs)
    return report(f"check of {len(chosen)} pins / uv audit", check, other, "uv asks our service")


def write_project(folder: Path, chosen: Sequence[Sequence[str]], index: str) -> None:
    """A project that needs all of these packages, and its lockfile as far as `uv audit` reads it."""
    needed = "".join(f'    "{name}",\n' for name, _ in chosen)
    listed = "".join(f'    {{ name = "{name}" }},\n' for name, _ in chosen)
    source = f'source = {{ registry = "{index}" }}\n'
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "audited"\nversion = "1"\nrequires-python = ">=3.11"\n' + f"dependencies = [\n{needed}]\n",
        "utf-8",
    )
    (folder / "uv.lock").write_text(
        'version = 1\nrequires-python = ">=3.11"\n\n[[package]]\nname = "audited"\nversion = "1"\n'
        f'source = {{ virtual = "." }}\ndependencies = [\n{listed}]\n'
        + "".join(f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n{source}' for name, version in chosen),
        "utf-8",
    )


@contextmanager
def our_server() -> Iterator[str]:
    """`gradcompat knowledge serve`."""
    command = gradcompat("knowledge", "serve", "--port", "0")
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            yield next(iter(serving.stdout or ()), "nothing was printed").split()[0]
        finally:
            serving.terminate()


def many_lockfiles(folder: Path, runs: int) -> None:
    """A thousand lockfiles in one command: against parsing them one after another, and all processors against one.

    They lie in nested folders and have between 10 and all entries of a real one. One in ten has the packages that
    records speak of, and one in a hundred a training config with a finding, as in a repository of many services.
    """
    many = folder / "many"
    monorepo(many)
    paths = [str(path) for path in sorted(many.rglob("uv.lock"))]
    check = gradcompat("check", str(many), "--no-cache", "--format", "json")
    parse = [sys.executable, "-c", PARSE, *paths]
    rounds = [(timed(check), timed(parse), timed(check, one_processor=True)) for _ in range(runs)]
    wall, processor = (statistics.median(one[0][which] for one in rounds) for which in (0, 1))
    parse_wall, parse_processor = (statistics.median(one[1][which] for one in rounds) for which in (0, 1))
    alone, processor_alone = (statistics.median(one[2][which] for one in rounds) for which in (0, 1))
    print(
        f"1,000 lockfiles: {wall:.2f} ms a file on {os.cpu_count()} processors, parsing alone {parse_wall:.2f}; "
        f"processor time {processor / parse_processor:.2f} times that of parsing, wall time {wall / parse_wall:.2f}; "
        f"on one processor {alone / wall:.2f} times the wall time and {processor_alone / processor:.2f} times the "
        "processor time"
    )
    print(f"the report is the same in {len(rounds) * 2} runs: {same_report(check, runs)}")


def monorepo(folder: Path) -> None:
    """Write the thousand lockfiles, the same in every run."""
    source = (HERE.parent / "examples" / "llava-finetune" / "uv.lock").read_text("utf-8")
    config = (HERE.parent / "examples" / "llava-finetune" / "train.yaml").read_text("utf-8")
    head, *entries = re.split(r"^(?=\[\[package\]\]\n)", source, flags=re.MULTILINE)
    known = re.compile(r'^name = "(?:torch|transformers|peft|trl|accelerate|deepspeed|datasets|numpy)', re.MULTILINE)
    others = [entry for entry in entries if not known.search(entry)]
    chance = random.Random(1)  # noqa: S311  # the same in every run, and no secret
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(1000):
        project = folder / f"team-{number % 17:02}" / f"area-{number % 5}" / f"service-{number:04}"
        project.mkdir(parents=True)
        some = entries if number % 10 == 0 else others
        text = head + "".join(entries if number % 100 == 0 else chance.sample(some, chance.randint(10, len(some))))
        (project / "uv.lock").write_text(text, "utf-8")
        if number % 100 == 0:
            (project / "train.yaml").write_text(config, "utf-8")


def same_report(command: list[str], runs: int) -> bool:
    """Is every byte the same, on all processors and on one?"""
    reports = {
        subprocess.run(command, check=False, capture_output=True, cwd="/", preexec_fn=limit).stdout
        for limit in (None, to_one_processor)
        for _ in range(runs)
    }
    return len(reports) == 1


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
            f"(reach {training_logs.REACH.get(kind, 100)} MB/s and 200 MB)",
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


def to_one_processor() -> None:
    """Leave this process one of the processors that it may use; Linux alone can."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def timed(command: list[str], *, one_processor: bool = False) -> tuple[float, float]:
    """Wall and processor seconds of one process with its children."""
    limit = to_one_processor if one_processor else None
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/", preexec_fn=limit
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command[:4])} failed:\n{done.stderr.decode()}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report(what: str, one: float, other: float, target: str) -> dict[str, float]:
    """Print a ratio, and return it by its name."""
    print(f"{what}: {one / other:.2f} ({one * 1000:.0f} ms / {other * 1000:.0f} ms of processor time; {target})")
    return {what: one / other}


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
