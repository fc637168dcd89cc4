"""Times `gradcompat plan` against the resolvers of uv and pip, and plans for every affected lockfile of a collection.

    python benchmarks/plans.py [--runs 5] [--corpus DIR] [--online] [--only ratios|table]

Needs uv, pip and a package index. The ratios are of one environment of 120 packages that training uses, pinned as uv
resolves them, with the metadata cached: whole processes, the commands taking turns, the median. The table plans each
lockfile of the collection as it would be used in some ways to train (:data:`RUNS`), and asks uv whether the planned
set, and the set as it was, can be installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from history import record
from packaging.markers import InvalidMarker, Marker
from packaging.version import InvalidVersion, Version

PYTHON = "3.11"
HOST = (f"host.python={PYTHON}", "host.platform=linux")
KINDS = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pylock.toml",
    "Pipfile.lock",
    "requirements-compiled",
    "requirements-hashed",
    "requirements-plain",
)

# A lockfile says nothing of how it is trained with, so that most findings are conditional. Each of these is a way to
# train that decides the findings of several records.
RUNS: dict[str, tuple[str, ...]] = {
    "a vision model with gradient accumulation": (
        "training.framework=transformers.Trainer",
        "training.method=sft",
        "training.gradient_accumulation_steps=4",
        "model.architecture=LlavaForConditionalGeneration",
        "model.uses_num_items_in_batch=true",
        "distributed.strategy=ddp",
    ),
    "an own model with gradient accumulation under DeepSpeed": (
        "training.framework=transformers.Trainer",
        "training.gradient_accumulation_steps=4",
        "model.uses_num_items_in_batch=false",
        "distributed.strategy=deepspeed",
        "deepspeed.zero_stage=2",
        "deepspeed.offload_optimizer=cpu",
        "deepspeed.gradient_clipping=1.0",
        "precision.mode=bf16",
    ),
    "supervised fine-tuning of a mixture of experts": (
        "training.framework=trl",
        "training.method=sft",
        "model.architecture=MixtralForCausalLM",
        "model.output_router_logits=true",
        "peft.method=lora",
        "peft.layers_to_transform=true",
        "data.pad_is_eos=true",
    ),
    "preference tuning with gradient accumulation": (
        "training.framework=trl",
        "training.method=dpo",
        "training.gradient_accumulation_steps=4",
    ),
    "a resumed run of several epochs over a stream": (
        "training.framework=transformers.Trainer",
        "data.streaming=true",
        "training.resume_from_checkpoint=true",
        "training.num_train_epochs=3",
    ),
    "Lion with weight decay on a GPU of 2025": (
        "optimizer.name=lion_32bit",
        "optimizer.weight_decay=0.1",
        "host.cuda_arch=12.0",
    ),
}

# What people train with; uv says which versions, as of a day on which one of them has a defect.
STACK = """\
accelerate
bitsandbytes
datasets
deepspeed
einops
evaluate
huggingface-hub
matplotlib
mlflow-skinny
peft
pandas
safetensors
scikit-learn
sentencepiece
tensorboard
tiktoken
torchvision
transformers==4.49.0
trl
wandb
"""
STACK_FROM = "2025-03-01"

# Older releases of pip download what they would install; none of this is large.
LIGHT = """\
datasets
evaluate
jupyterlab
matplotlib
mlflow-skinny
safetensors
scikit-learn
sentencepiece
tensorboard
tiktoken
transformers==4.49.0
wandb
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--runs", type=int, default=5, help="processes of each command")
    options.add_argument("--corpus", type=Path, help="a folder with a folder of files for each kind of lockfile")
    options.add_argument("--pip", default=sys.executable, help="an interpreter with the pip to compare with")
    options.add_argument("--online", action="store_true", help="plan the collection with the index, not the snapshot")
    options.add_argument("--only", choices=("ratios", "table"))
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if arguments.only != "table":
            ratios(folder, arguments.runs, arguments.pip)
        if arguments.only != "ratios" and arguments.corpus is not None:
            table(arguments.corpus, folder, online=arguments.online)


def ratios(folder: Path, runs: int, pip: str) -> None:
    stack, light = pinned(STACK, folder / "stack.txt"), pinned(LIGHT, folder / "light.txt")
    env = {"GRADCOMPAT_CACHE": str(folder / "cold")}
    plan = gradcompat("plan", str(stack), *sets(RUNS["a vision model with gradient accumulation"]))
    cold = run([sys.executable, "-c", COUNTED, *plan[1:]], env=env)
    print(f"{len(stack.read_text().splitlines())} packages, cold: {cold.stderr.strip().splitlines()[-1]}", flush=True)
    planned, uv = alternate([plan, [*COMPILE, str(stack)]], runs, env)
    report("plan / uv pip compile of the same set", planned, uv, "reach 10, aim at 3")
    offline = [*plan, "--offline"]
    # The same pins with the cure in them: what is left of a check without the finding is all but its first line.
    cured = folder / "cured.txt"
    cured.write_text(stack.read_text("utf-8").replace("transformers==4.49.0", "transformers==4.48.3"), "utf-8")
    checks = [
        gradcompat("check", "--no-cache", str(path), *sets(RUNS["a vision model with gradient accumulation"]))
        for path in (stack, cured)
    ]
    planned, uv, found, clean = alternate([offline, [*COMPILE, str(stack)], *checks], runs, env)
    report("plan --offline / uv pip compile of the same set", planned, uv, "reach 3")
    line = (max(found[0] - clean[0], 0.001), max(found[1] - clean[1], 0.001))
    report("the first line of one finding / plan --offline", line, planned, "reach 0.2")
    kept = {
        "plan --offline / uv pip compile of the same set": planned[1] / uv[1],
        "the first line of one finding / plan --offline": line[1] / planned[1],
    }
    print(*record(kept), sep="\n")
    plan = gradcompat("plan", str(light), *sets(RUNS["a vision model with gradient accumulation"]))
    dry = [pip, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--only-binary", ":all:", "-r"]
    planned, other = alternate([plan, [*dry, str(light)]], max(1, runs // 3), env)
    what = f"plan / pip install --dry-run of {len(light.read_text().splitlines())} packages without torch"
    report(what, planned, other, "reach 0.3")


COMPILE = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", PYTHON]
COMPILE += ["--python-platform", "x86_64-manylinux_2_28"]


def pinned(wanted: str, path: Path) -> Path:
    """What uv resolves that to, as of the day."""
    path.write_text(run([*COMPILE, "--exclude-newer", STACK_FROM, "-"], stdin=wanted).stdout, "utf-8")
    return path


# The requests of a run are counted by the transport; the command itself has no use for the number.
COUNTED = """\
import sys
from gradcompat.index.client import PackageIndex
close = PackageIndex.close
def counting(self):
    print(self.requests, "requests", file=sys.stderr)
    close(self)
PackageIndex.close = counting
from gradcompat.cli.main import main
sys.argv[0] = "gradcompat"
main()
"""


def table(corpus: Path, folder: Path, *, online: bool) -> None:
    """Every affected lockfile in every way to train."""
    affected = planned = complete = accepted = rejected = undecided = unknown = broken_before = 0
    touched: list[int] = []
    seconds: list[float] = []
    for name, facts in RUNS.items():
        for path in affected_by(facts, corpus):
            arguments = (str(path), *sets(facts), "--format", "json", "--fail-on", "warning")
            start = time.perf_counter()
            done = run(gradcompat("plan", *arguments, *(() if online else ("--offline",))), ok=(0, 1, 3))
            seconds.append(time.perf_counter() - start)
            plan = json.loads(done.stdout)
            if plan["verified"] is None:
                continue
            affected += 1
            planned += bool(plan["changes"] or plan["settings"] or plan["code"])
            complete += plan["complete"]
            verdict = "nothing moves"
            if plan["changes"]:
                touched.append(len(plan["changes"]))
                before, after = sets_of(path, plan)
                accepts = uv_accepts(after, folder)
                if accepts:
                    verdict, accepted = "accepted", accepted + 1
                elif accepts is None:
                    verdict, undecided = "needs what has no wheel", undecided + 1
                elif not uv_accepts(before, folder):
                    verdict, broken_before = "uv refuses what was there, too", broken_before + 1
                else:
                    verdict, rejected = "REFUSED", rejected + 1
            unknown += bool(plan["verified"]["unverified"])
            print(f"{name}: {path.name}: {plan['cost'] or 'no plan'}; {verdict}", flush=True)
    print(
        f"{affected} lockfiles and ways to train with a finding; {planned} get a plan, {complete} of them clear "
        f"everything; packages moved: median {statistics.median(touched or [0]):g}, most {max(touched, default=0)}; of "
        f"{len(touched)} plans that move packages uv accepts {accepted}, and refuses {rejected} whose set it accepted "
        f"before and {broken_before} whose set it refused before; {undecided} need a package without wheels; "
        f"{unknown} say what they could not verify; median {statistics.median(seconds or [0]):.1f} s"
    )


def affected_by(facts: Sequence[str], corpus: Path) -> list[Path]:
    """The files that have a finding of an error or a warning, trained in this way."""
    files = [str(path) for kind in KINDS for path in sorted((corpus / kind).glob("*"))]
    report = json.loads(run(gradcompat("check", *files, *sets(facts), "--format", "json")).stdout)
    counting = {
        finding["source"]
        for finding in report["findings"]
        if finding["status"] == "affected" and finding["level"] != "note" and not finding["informational"]
    }
    return [Path(file) for file in files if file in counting]


def sets_of(path: Path, plan: dict[str, object]) -> tuple[list[str], list[str]]:
    """The pins of a lockfile that come from an index, as they are and as they would be, one for each package."""
    listed = json.loads(run(gradcompat("inspect", str(path), "--format", "json"), ok=(0, 1, 2, 3)).stdout)
    pins: dict[str, str] = {}
    for package in listed["packages"]:
        version = public(package["version"])
        if package["source"] == "registry" and version is not None and holds(package["marker"]):
            pins[package["name"]] = version
    moved = {change["package"]: change["version_to"] for change in plan["changes"]}  # type: ignore[attr-defined]
    return [f"{name}=={version}" for name, version in pins.items()], [
        f"{name}=={version}" for name, version in {**pins, **moved}.items()
    ]


def holds(marker: str | None) -> bool:
    """Is an entry with this marker installed where plans are made for?"""
    if marker is None:
        return True
    host = {"python_version": PYTHON, "python_full_version": f"{PYTHON}.0", "sys_platform": "linux", "os_name": "posix",
            "platform_system": "Linux", "platform_machine": "x86_64", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "extra": ""}  # fmt: skip
    try:
        return Marker(marker).evaluate(host)
    except InvalidMarker:
        return True


def public(version: str | None) -> str | None:
    """Without the local label, which the public index does not have."""
    try:
        return None if version is None else Version(version).public
    except InvalidVersion:
        return None


def uv_accepts(pins: Sequence[str], folder: Path) -> bool | None:
    """Does uv resolve the set as it is? None where that needs a package without wheels: nothing is built here."""
    left = list(pins)
    source = folder / "pins.txt"
    arguments = [*COMPILE, "--prerelease", "allow", "--no-build", str(source)]
    for _ in range(12):
        source.write_text("\n".join(left) + "\n", "utf-8")
        done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=600)
        if done.returncode == 0:
            return True
        to_be_built = set(NO_WHEEL.findall(done.stderr)).intersection(left)
        if not to_be_built:
            return None if "has no usable wheels" in done.stderr else False
        left = [pin for pin in left if pin not in to_be_built]
    return None


NO_WHEEL = re.compile(r"Because (\S+==\S+) has no usable wheels")


def sets(facts: Sequence[str]) -> list[str]:
    return [word for fact in (*facts, *HOST) for word in ("--set", fact)]


def gradcompat(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("gradcompat")), *arguments]


def run(
    command: Sequence[str], *, stdin: str = "", env: dict[str, str] | None = None, ok: Sequence[int] = (0, 1, 3)
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if done.returncode not in ok or "Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command[:4])} failed ({done.returncode}):\n{done.stderr[-3000:]}")
    return done


def alternate(commands: Sequence[list[str]], runs: int, env: dict[str, str]) -> list[tuple[float, float]]:
    """Median wall and processor seconds of each command, taking turns; the first round is warming up."""
    taken: list[list[tuple[float, float]]] = [[] for _ in commands]
    for number in range(runs + 1):
        for command, times in zip(commands, taken, strict=True):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            run(command, env=env)
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            if number:
                times.append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return [
        (statistics.median(wall for wall, _ in times), statistics.median(used for _, used in times)) for times in taken
    ]


def report(what: str, one: tuple[float, float], other: tuple[float, float], target: str) -> None:
    print(
        f"{what}: wall {one[0] / other[0]:.2f} ({one[0]:.2f} s / {other[0]:.2f} s), "
        f"processor {one[1] / other[1]:.2f} ({one[1]:.2f} s / {other[1]:.2f} s; {target})",
        flush=True,
    )


if __name__ == "__main__":
    main()
