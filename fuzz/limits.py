"""Measures what small, hostile inputs cost: processor time and memory of `check`, one process an input.

    python fuzz/limits.py [WORD ...]

prints a line for each attack whose name holds one of the words, and ends with 1 where one of them takes more than
2 seconds, or 5 where many environments meet many training runs, or 300 MB. Every attack writes at most 1 MB. Processor time is that of this machine; what the tests assert
(`tests/test_limits.py`) are counted steps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

MOST_SECONDS, MOST_SECONDS_OF_MATCHING, MOST_MEGABYTES, MOST_INPUT = 2.0, 5.0, 300, 1_000_000
LIMIT_SECONDS = 60
WAYS: tuple[tuple[str, ...], ...] = ((), ("--strict",), ("--format", "json", "--all"))

Attack = Callable[[Path], None]
ATTACKS: dict[str, Attack] = {}
MATCHING = {"configs_that_differ", "requirements_with_findings", "configs_beside_requirements"}


def attack(write: Attack) -> Attack:
    """Enter a function that writes the files of an attack into a folder; its name says what it is."""
    ATTACKS[write.__name__] = write
    return write


def _uv(entries: str, rest: str = "") -> str:
    return f'version = 1\nrequires-python = ">=3.10"\n{rest}\n{entries}'


def _entry(name: str, version: str, *markers: str, edges: str = "") -> str:
    listed = f"resolution-markers = [{', '.join(json.dumps(marker) for marker in markers)}]\n" if markers else ""
    source = 'source = { registry = "https://index.example/simple" }\n'
    return f'[[package]]\nname = "{name}"\nversion = "{version}"\n{source}{listed}{edges}\n'


STACK = ("torch", "transformers", "accelerate", "peft", "deepspeed", "trl", "pytorch-lightning", "triton", "flash-attn")


def _clauses(count: int, seed: int) -> str:
    return " and ".join(f"python_full_version != '3.{10 + (seed + n) % 5}.{n * 7 + seed}'" for n in range(count))


@attack
def uv_forks_of_distinct_markers(folder: Path) -> None:
    """Four packages in 300 forks each, whose markers all differ."""
    entries = "".join(
        _entry(name, f"2.{fork % 9}.{fork}", f"sys_platform == 'linux' and {_clauses(6, fork)}")
        for name in STACK[:4]
        for fork in range(300)
    )
    folder.joinpath("uv.lock").write_text(_uv(entries))


@attack
def uv_forks_of_long_markers(folder: Path) -> None:
    entries = "".join(_entry(name, f"2.{fork}.0", _clauses(250, fork)) for name in STACK[:4] for fork in range(15))
    folder.joinpath("uv.lock").write_text(_uv(entries))


@attack
def uv_forks_of_extras(folder: Path) -> None:
    """Declared conflicts of 60 extras, in pairs, and entries under each of them."""
    extras = [f"e{number}" for number in range(60)]
    pairs = [(one, extras[-1]) for one in extras[:-1]]
    conflicts = "conflicts = [" + ",".join(
        f'[{{ package = "p", extra = "{one}" }}, {{ package = "p", extra = "{other}" }}]' for one, other in pairs
    ) + "]"  # fmt: skip
    marker = " or ".join(
        f"(extra == 'extra-1-p-{one}' and python_full_version < '3.12.{n}')" for n, one in enumerate(extras)
    )
    entries = "".join(
        _entry(name, f"2.{fork}.0", f"python_full_version >= '3.{8 + fork % 6}.{fork}' and ({marker})")
        for name in STACK[:4]
        for fork in range(40)
    )
    folder.joinpath("uv.lock").write_text(_uv(entries, conflicts))


@attack
def uv_edges_with_markers(folder: Path) -> None:
    entries = "".join(_entry(name, f"2.{fork}.0") for name in STACK[:4] for fork in range(20))
    edges = ",\n".join(
        f'{{ name = "{name}", version = "2.{fork}.0", marker = "{_clauses(5, fork + 31 * turn)}" }}'
        for name in STACK[:4]
        for fork in range(20)
        for turn in range(28)
    )
    entries += _entry("p", "1", edges=f"dependencies = [{edges}]\n")
    folder.joinpath("uv.lock").write_text(_uv(entries))


@attack
def uv_one_name_many_times(folder: Path) -> None:
    entries = "".join(_entry(STACK[number % 6], f"2.{number // 6}.0") for number in range(8_000))
    folder.joinpath("uv.lock").write_text(_uv(entries))


@attack
def uv_one_version_many_times(folder: Path) -> None:
    entries = "".join(_entry(STACK[number % 6], "2.4.0") for number in range(8_000))
    folder.joinpath("uv.lock").write_text(_uv(entries))


@attack
def pylock_one_name_many_times(folder: Path) -> None:
    head = 'lock-version = "1.0"\ncreated-by = "x"\n'
    entries = "".join(
        f'[[packages]]\nname = "{STACK[n % 9]}"\nversion = "4.{n // 9}.1"\nmarker = "python_version >= \'3.{n % 14}\'"\n'
        for n in range(10_000)
    )
    folder.joinpath("pylock.toml").write_text(head + entries)


@attack
def requirements_five_ranges(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text(
        "torch>=1.13\ntransformers>=4.30\naccelerate>=0.20\npeft>=0.4\ndeepspeed>=0.9\n"
    )


@attack
def requirements_of_all_ranges(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("".join(f"{name}>=0.1\n" for name in (*STACK, "numpy", "datasets")))


@attack
def requirements_of_exclusions(folder: Path) -> None:
    """Ninety lines of a hundred `!=` each."""
    line = ",".join(f"!=1.{number}.{number % 7}" for number in range(100))
    folder.joinpath("requirements.txt").write_text("".join(f"{STACK[n % 9]}{line},!=2.{n}\n" for n in range(90)))


@attack
def requirements_of_many_exclusions(folder: Path) -> None:
    line = ",".join(f"!=1.{number}.{number % 7}" for number in range(300))
    folder.joinpath("requirements.txt").write_text("".join(f"{STACK[n % 9]}{line},!=2.{n}\n" for n in range(300)))


@attack
def requirements_of_one_range_each(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("".join(f"{STACK[n % 9]}>=1.{n}\n" for n in range(48_000)))


@attack
def requirements_of_one_pin_each(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("".join(f"{STACK[n % 9]}==4.{n}.1\n" for n in range(48_000)))


@attack
def requirements_of_markers(folder: Path) -> None:
    line = "".join(
        f"{STACK[n % 4]}==2.{n}.1 ; python_full_version >= '3.{n % 6 + 8}.{n}' and sys_platform == 'linux'\n"
        for n in range(11_800)
    )
    folder.joinpath("requirements.txt").write_text(line)


@attack
def requirements_of_unreadable_lines(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n" + "a b\n" * 240_000)


@attack
def requirements_of_one_line(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n" + "a " * 490_000)


@attack
def requirements_in_a_diamond(folder: Path) -> None:
    """Each of 40 files asks for the next one twice."""
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n-r r0.txt\n-r r0.txt\n")
    for number in range(40):
        following = f"-r r{number + 1}.txt\n-r ./r{number + 1}.txt\n" if number < 39 else ""
        folder.joinpath(f"r{number}.txt").write_text(f"peft==0.{number}\n{following}")


@attack
def requirements_in_a_wide_diamond(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n" + "-r a.txt\n" * 100 + "-c a.txt\n" * 100)
    folder.joinpath("a.txt").write_text("-r b.txt\n-c b.txt\n" * 200)
    folder.joinpath("b.txt").write_text("".join(f"transformers==4.{n}.0\n" for n in range(2_000)))


@attack
def requirements_with_hashes(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("torch==2.5.1 \\\n" + f"  --hash=sha256:{'a' * 64} \\\n" * 11_000)


@attack
def requirements_of_continuations(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n" + "\\\n" * 400_000)


@attack
def pyproject_of_alternatives(folder: Path) -> None:
    """2,500 alternatives of Poetry, in pieces that it takes."""
    head = '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\n'
    text = "".join(
        f'{name} = "{" || ".join(f"^1.{n}.{k}" for n in range(95))}"\n' for k, name in enumerate(STACK)
    ) + f'bitsandbytes = "{" || ".join(f"^1.{n}" for n in range(2_500))}"\n'  # fmt: skip
    folder.joinpath("pyproject.toml").write_text(head + text)


@attack
def poetry_constraints_in_a_list(folder: Path) -> None:
    head = '[tool.poetry]\nname = "p"\n[tool.poetry.dependencies]\n'
    one = ", ".join(f'{{version = "^2.{n}", python = "^3.{n % 14}"}}' for n in range(3_000))
    folder.joinpath("pyproject.toml").write_text(head + "".join(f"{name} = [{one}]\n" for name in STACK[:6]))


@attack
def pyproject_of_dependencies(folder: Path) -> None:
    many = ",\n".join(f'"{STACK[n % 9]}>=1.{n},!=2.{n}"' for n in range(30_000))
    folder.joinpath("pyproject.toml").write_text(f'[project]\nname = "p"\nversion = "1"\ndependencies = [{many}]\n')


@attack
def pyproject_of_groups(folder: Path) -> None:
    """Groups that include one another: each of 25 the next one twice."""
    groups = "".join(
        f'g{n} = ["peft==0.{n}", {{include-group = "g{n + 1}"}}, {{include-group = "g{n + 1}"}}]\n' for n in range(25)
    )
    folder.joinpath("pyproject.toml").write_text(
        f'[project]\nname = "p"\nversion = "1"\n[dependency-groups]\n{groups}g25 = ["torch==2.5.1"]\n'
    )


@attack
def toml_of_deep_arrays(folder: Path) -> None:
    folder.joinpath("uv.lock").write_text("version = 1\nx = " + "[" * 490_000 + "]" * 490_000)


@attack
def toml_of_deep_keys(folder: Path) -> None:
    folder.joinpath("uv.lock").write_text("version = 1\n" + ".".join(["a"] * 490_000) + " = 1\n")


@attack
def toml_of_dotted_keys(folder: Path) -> None:
    path = ".".join(["a"] * 900)
    folder.joinpath("uv.lock").write_text("version = 1\n" + "".join(f"{path}.b{n} = 1\n" for n in range(500)))


@attack
def toml_of_deep_tables(folder: Path) -> None:
    path = ".".join(["a"] * 900)
    folder.joinpath("uv.lock").write_text("version = 1\n" + "".join(f"[{path}.b{n}]\n" for n in range(500)))


@attack
def toml_of_one_number(folder: Path) -> None:
    folder.joinpath("uv.lock").write_text("version = 1\nx = " + "9" * 990_000)


@attack
def pylock_of_hex(folder: Path) -> None:
    folder.joinpath("pylock.toml").write_text('lock-version = "1.0"\nx = 0x' + "f" * 990_000)


@attack
def json_of_deep_arrays(folder: Path) -> None:
    folder.joinpath("Pipfile.lock").write_text("[" * 490_000 + "]" * 490_000)
    folder.joinpath("train.json").write_text('{"a":' * 1_000 + "1" + "}" * 1_000)


@attack
def json_of_one_number(folder: Path) -> None:
    folder.joinpath("Pipfile.lock").write_text('{"_meta": {"pipfile-spec": 6}, "default": ' + "9" * 980_000 + "}")


@attack
def pipfile_of_entries(folder: Path) -> None:
    many = {f"p{n}": {"version": f"==1.{n}"} for n in range(20_000)}
    folder.joinpath("Pipfile.lock").write_text(json.dumps({"_meta": {"pipfile-spec": 6}, "default": many}))


@attack
def ds_config_of_entries(folder: Path) -> None:
    folder.joinpath("requirements.txt").write_text("deepspeed==0.15.0\n")
    many = ", ".join('"train_batch_size": 8, "zero_optimization": {"stage": 3}' for _ in range(12_000))
    folder.joinpath("ds_config.json").write_text("{" + many + "}")


@attack
def yaml_aliases(folder: Path) -> None:
    """A billion laughs."""
    lines = ['a0: &a0 ["x", "x", "x", "x", "x", "x", "x", "x", "x", "x"]']
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    text = "\n".join(lines) + "\nlearning_rate: *a29\nmodel_name_or_path: *a29\nper_device_train_batch_size: 1\n"
    for name in ("environment.yml", "pixi.lock", "train.yaml"):
        folder.joinpath(name).write_text(text)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def yaml_merges(folder: Path) -> None:
    """Mappings that merge the one before ten times."""
    lines = ["a0: &a0 {" + ", ".join(f"k{n}: {n}" for n in range(50)) + "}"]
    lines += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 10)}]\n  m{n}: 1" for n in range(1, 30)]
    text = "\n".join(lines) + "\nlearning_rate: 1\nper_device_train_batch_size: 1\ntraining_args:\n  <<: *a29\n"
    folder.joinpath("train.yaml").write_text(text)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def yaml_of_many_aliases(folder: Path) -> None:
    """One mapping of 2,000 keys, named 20,000 times."""
    keys = "\n".join(f"  k{n}: {n}" for n in range(2_000))
    text = f"base: &b\n{keys}\nlearning_rate: 1\nper_device_train_batch_size: 1\nlist:\n" + "- *b\n" * 100_000
    folder.joinpath("train.yaml").write_text(text)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def yaml_of_deep_lists(folder: Path) -> None:
    folder.joinpath("train.yaml").write_text("learning_rate: 1\na: " + "[" * 400_000 + "]" * 400_000)
    folder.joinpath("environment.yml").write_text("dependencies:\n  " + "- " * 90_000 + "torch\n")
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def yaml_of_keys(folder: Path) -> None:
    folder.joinpath("train.yaml").write_text(
        "learning_rate: 1\nper_device_train_batch_size: 1\n" + "".join(f"k{n}: {n}\n" for n in range(60_000))
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def conda_environment_of_entries(folder: Path) -> None:
    many = "".join(f"- {STACK[n % 9]}>=1.{n},<2|>3.{n}\n" for n in range(30_000))
    folder.joinpath("environment.yml").write_text(f"dependencies:\n{many}")


@attack
def conda_environment_of_alternatives(folder: Path) -> None:
    many = "|".join(f">=1.{n},<1.{n}.5" for n in range(40_000))
    folder.joinpath("environment.yml").write_text(f"dependencies:\n- pytorch {many}\n- python=3.10\n")


@attack
def conda_environment_of_wildcards(folder: Path) -> None:
    folder.joinpath("environment.yml").write_text(
        "dependencies:\n" + f"- pytorch {'1.*|' * 900}1.*\n" * 200 + f"- pytorch[version='{'(' * 50_000}']\n"
    )


@attack
def conda_list_of_entries(folder: Path) -> None:
    many = "".join(f"{STACK[n % 9]}  4.{n}.1  py310_0  conda-forge\n" for n in range(22_000))
    folder.joinpath("conda-list.txt").write_text(
        f"# packages in environment at x:\n#\n# Name  Version  Build  Channel\n{many}"
    )


@attack
def conda_lock_of_entries(folder: Path) -> None:
    one = "- name: {}\n  version: 4.{}.1\n  manager: pip\n  platform: {}\n  dependencies: {{}}\n  url: https://index.example/a\n"
    many = "".join(one.format(STACK[n % 9], n // 9, ("linux-64", "osx-64")[n % 2]) for n in range(7_000))
    folder.joinpath("conda-lock.yml").write_text(f"version: 1\nmetadata: {{}}\npackage:\n{many}")


@attack
def pixi_lock_of_environments(folder: Path) -> None:
    """300 environments that all name the same 40 packages."""
    urls = [f"https://index.example/{STACK[n % 9]}-4.{n}.1-py3-none-any.whl" for n in range(40)]
    listed = "".join(f"      - pypi: {url}\n" for url in urls)
    environments = "".join(f"  e{n}:\n    channels: []\n    packages:\n      linux-64:\n{listed}" for n in range(300))
    packages = "".join(f"- pypi: {url}\n  name: {STACK[n % 9]}\n  version: 4.{n}.1\n" for n, url in enumerate(urls))
    folder.joinpath("pixi.lock").write_text(f"version: 6\nenvironments:\n{environments}packages:\n{packages}")


@attack
def dockerfile_of_arguments(folder: Path) -> None:
    """Each ARG holds the one before twice."""
    lines = ["FROM python:3.11", "ARG A0=x"] + [f"ARG A{n}=${{A{n - 1}}}${{A{n - 1}}}" for n in range(1, 60)]
    folder.joinpath("Dockerfile").write_text("\n".join([*lines, "RUN pip install torch==2.5.1 peft==$A59 trl==$A30"]))


@attack
def dockerfile_of_stages(folder: Path) -> None:
    lines = ["FROM python:3.11 AS s0", "RUN pip install torch==2.5.1"]
    lines += [f"FROM s{n} AS s{n + 1}\nRUN pip install peft==0.{n}" for n in range(15_000)]
    folder.joinpath("Dockerfile").write_text("\n".join(lines))


@attack
def dockerfile_of_commands(folder: Path) -> None:
    lines = "FROM python:3.11\nRUN pip install torch==2.5.1 " + " && ".join(["pip install peft==0.5"] * 39_900)
    folder.joinpath("Dockerfile").write_text(lines)


@attack
def shell_of_variables(folder: Path) -> None:
    """Each variable holds the one before twice."""
    lines = ["#!/bin/bash", "A0=--bf16"] + [f'A{n}="$A{n - 1} $A{n - 1}"' for n in range(1, 60)]
    lines += ["torchrun --nproc_per_node 8 train.py $A59 --learning_rate 1", "accelerate launch train.py $A22"]
    folder.joinpath("train.sh").write_text("\n".join(lines))
    folder.joinpath("train.py").write_text("from transformers import Trainer\nTrainer()\n")
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_large_variable(folder: Path) -> None:
    text = f'A="{"--bf16 " * 20_000}"\n' + "torchrun --nproc_per_node 8 train.py $A\n" * 18_000
    folder.joinpath("train.sh").write_text(f"#!/bin/bash\n{text}")
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_nesting(folder: Path) -> None:
    text = (
        "torchrun train.py --bf16 "
        + "$(" * 100_000
        + "\n"
        + "`" * 100_001
        + "\n"
        + '"$(' * 100_000
        + "\n"
        + "${a:-" * 78_000
    )
    folder.joinpath("train.sh").write_text(f"#!/bin/bash\n{text}")
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_heredocs(folder: Path) -> None:
    folder.joinpath("train.sh").write_text(
        "#!/bin/bash\ntorchrun train.py --bf16\n" + "".join(f"cat <<E{n}\n" for n in range(70_000))
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_loops(folder: Path) -> None:
    words = " ".join(f"{n}" for n in range(300))
    lines = (
        [f"for v{n} in {words}; do" for n in range(6)]
        + ["torchrun train.py --seed $v0 --learning_rate $v1"]
        + ["done"] * 6
    )
    folder.joinpath("train.sh").write_text(
        "#!/bin/bash\n"
        + "\n".join(lines)
        + "\n"
        + "torchrun train.py {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\n"
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_commands(folder: Path) -> None:
    folder.joinpath("train.sh").write_text(
        "#!/bin/bash\n" + "".join(f"torchrun train{n}.py --bf16 --deepspeed ds{n}.json\n" for n in range(18_000))
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\ntransformers==4.40.0\n")


@attack
def shell_of_blocks(folder: Path) -> None:
    """Commands in blocks that are never closed."""
    folder.joinpath("train.sh").write_text("torchrun train.py --bf16\n" + "{\n" * 200_000 + "a\n" * 250_000)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_exports(folder: Path) -> None:
    exported = "".join(f"export A{n}=1\n" for n in range(50_000))
    folder.joinpath("train.sh").write_text(exported + "torchrun train.py --bf16\n" * 200)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def shell_of_written_configs(folder: Path) -> None:
    written = "".join(f"cat > a{n}.json <<E\nE\n" for n in range(15_000))
    folder.joinpath("train.sh").write_text(f"{written}torchrun train.py {'--config b.json ' * 30_000}\n")
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


@attack
def hydra_of_scripts(folder: Path) -> None:
    """Fifty scripts of twenty launches of one config of a hundred files."""
    _python(
        folder,
        "import hydra\n@hydra.main(config_path='conf', config_name='config', version_base=None)\ndef main(c): pass\n",
    )
    conf = folder / "conf"
    conf.mkdir()
    chosen = "".join(f"- g{n}: a\n" for n in range(100))
    conf.joinpath("config.yaml").write_text(f"defaults:\n{chosen}- _self_\nlearning_rate: 1\n")
    for n in range(100):
        (conf / f"g{n}").mkdir()
        (conf / f"g{n}" / "a.yaml").write_text(f"value{n}: 1\n")
    for n in range(50):
        launches = "".join(f"python train.py --config-name config learning_rate={n}{k}\n" for k in range(20))
        folder.joinpath(f"run{n}.sh").write_text(launches)


@attack
def configs_that_differ(folder: Path) -> None:
    """300 configs that records tell apart, 300 requirements files."""
    for n in range(300):
        folder.joinpath(f"train{n}.yaml").write_text(
            f"learning_rate: 1\nper_device_train_batch_size: {n}\ngradient_accumulation_steps: {n}\n"
            f"label_smoothing_factor: 0.{n}\nmax_grad_norm: {n}\noptim: o{n}\nbf16: {str(n % 2 == 0).lower()}\n"
        )
        folder.joinpath(f"requirements{n}.txt").write_text(f"torch==2.{n % 6}.0\ntransformers==4.{n}.0\n")


@attack
def requirements_with_findings(folder: Path) -> None:
    """1,000 files of two lines, each with a defect."""
    for n in range(1_000):
        folder.joinpath(f"requirements{n}.txt").write_text(f"torch==2.{n % 3}.0\nnumpy==2.{n % 3}.{n % 3}\n")


@attack
def notebook_of_cells(folder: Path) -> None:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": [f"!pip install torch==2.{n}\n", "import torch\n"],
        }
        for n in range(6_500)
    ]
    folder.joinpath("a.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    )


@attack
def notebook_of_code(folder: Path) -> None:
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": f"a{n} = 1\nb = f(a{n})",
        }
        for n in range(8_500)
    ]
    cells.append(
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": "from transformers import Trainer\nTrainer(args=b).train()",
        }
    )
    folder.joinpath("a.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


def _python(folder: Path, text: str) -> None:
    folder.joinpath("train.py").write_text(
        f"from transformers import Trainer, TrainingArguments\nimport torch\n{text}\nTrainer(args=TrainingArguments()).train()\n"
    )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\ntransformers==4.40.0\n")


@attack
def python_of_nesting(folder: Path) -> None:
    _python(folder, "x = " + "(" * 90 + "1" + ")" * 90 + "\ny = " + " + ".join(["a"] * 200_000))


@attack
def python_of_attributes(folder: Path) -> None:
    _python(folder, "x = torch" + ".a" * 5_000 + "\n" + "torch.nn.a()\n" * 40_000)


@attack
def python_of_assignments(folder: Path) -> None:
    _python(
        folder,
        "a0 = {'bf16': True}\n"
        + "".join(f"a{n} = {{**a{n - 1}, **a{n - 1}}}\n" for n in range(1, 20_000))
        + "TrainingArguments(**a19999)\n",
    )


@attack
def python_of_functions(folder: Path) -> None:
    _python(folder, "".join(f"def f{n}():\n    return f{n + 1}() + f{n + 1}()\n" for n in range(16_000)))


@attack
def python_of_concatenations(folder: Path) -> None:
    _python(
        folder,
        "a0 = 'x' * 10\n"
        + "".join(f"a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 60))
        + "TrainingArguments(output_dir=a59, optim=a59)\n"
        + "b = 9 ** 9 ** 9\nc = 1 << 10 ** 12\n",
    )


@attack
def python_of_arguments(folder: Path) -> None:
    _python(folder, "".join(f"TrainingArguments(bf16=True, learning_rate={n})\n" for n in range(16_000)))


@attack
def python_of_trainers(folder: Path) -> None:
    _python(folder, "".join(f"t{n} = Trainer(model=m{n}, args=a{n})\n" for n in range(20_000)))


@attack
def python_modules_in_a_circle(folder: Path) -> None:
    names = " ".join(f"m{n}" for n in range(120)).split()
    for name in names:
        folder.joinpath(f"{name}.py").write_text(
            "from transformers import Trainer\n"
            + "".join(f"import {other}\nfrom {other} import *\n" for other in names)
            + "Trainer().train()\n"
        )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\ntransformers==4.40.0\n")


@attack
def hydra_of_groups(folder: Path) -> None:
    """Each of 25 options has the next one twice among its defaults."""
    _python(
        folder,
        "import hydra\n@hydra.main(config_path='conf', config_name='config', version_base=None)\ndef main(c): pass\n",
    )
    conf = folder / "conf"
    conf.mkdir()
    conf.joinpath("config.yaml").write_text("defaults:\n- g0: a\n- _self_\nlearning_rate: 1\n")
    for n in range(25):
        (conf / f"g{n}").mkdir()
        nested = f"defaults:\n- /g{n + 1}@one: a\n- /g{n + 1}@two: a\n" if n < 24 else ""
        (conf / f"g{n}" / "a.yaml").write_text(f"{nested}value{n}: 1\n")


@attack
def hydra_of_overrides(folder: Path) -> None:
    _python(
        folder,
        "import hydra\n@hydra.main(config_path='conf', config_name='config', version_base=None)\ndef main(c): pass\n",
    )
    conf = folder / "conf"
    conf.mkdir()
    conf.joinpath("config.yaml").write_text(
        "defaults:\n- _self_\nlearning_rate: 1\n" + "".join(f"k{n}: {n}\n" for n in range(5_000))
    )
    many = "".join(f"python train.py learning_rate={n} k{n}=2\n" for n in range(5_000))
    folder.joinpath("train.sh").write_text(f"#!/bin/bash\n{many}")


@attack
def hydra_of_interpolations(folder: Path) -> None:
    _python(
        folder,
        "import hydra\n@hydra.main(config_path='conf', config_name='config', version_base=None)\ndef main(c): pass\n",
    )
    conf = folder / "conf"
    conf.mkdir()
    lines = "".join(f"a{n}: ${{a{n - 1}}}${{a{n - 1}}}\n" for n in range(1, 60))
    conf.joinpath("config.yaml").write_text(
        f"defaults:\n- _self_\na0: xxxxxxxx\n{lines}learning_rate: ${{a59}}\noptim: ${{a59}}\n"
    )


@attack
def cyclonedx_of_components(folder: Path) -> None:
    parts = [
        {"type": "library", "name": STACK[n % 9], "version": f"4.{n}.1", "purl": f"pkg:pypi/{STACK[n % 9]}@4.{n}.1"}
        for n in range(9_000)
    ]
    folder.joinpath("bom.cdx.json").write_text(
        json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "components": parts})
    )


@attack
def cyclonedx_of_nesting(folder: Path) -> None:
    part = '{"type":"library","name":"torch","version":"2.5.1","components":['
    folder.joinpath("bom.cdx.json").write_text(
        '{"bomFormat":"CycloneDX","specVersion":"1.5","components":[' + part * 800 + "]}" * 800 + "]}"
    )


@attack
def spdx_of_relationships(folder: Path) -> None:
    packages = [{"SPDXID": f"SPDXRef-{n}", "name": STACK[n % 9], "versionInfo": f"4.{n}.1"} for n in range(2_000)]
    related = [
        {
            "spdxElementId": f"SPDXRef-{n % 2_000}",
            "relationshipType": "CONTAINS",
            "relatedSpdxElement": f"SPDXRef-{n * 7 % 2_000}",
        }
        for n in range(7_000)
    ]
    folder.joinpath("a.spdx.json").write_text(
        json.dumps(
            {"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "packages": packages, "relationships": related}
        )
    )


@attack
def pip_list_of_entries(folder: Path) -> None:
    folder.joinpath("pip-list.txt").write_text(
        "Package Version\n------- -------\n" + "".join(f"{STACK[n % 9]} 4.{n}.1\n" for n in range(40_000))
    )


@attack
def pip_inspect_of_entries(folder: Path) -> None:
    installed = [{"metadata": {"name": STACK[n % 9], "version": f"4.{n}.1"}, "installer": "pip"} for n in range(9_000)]
    folder.joinpath("inspect.json").write_text(
        json.dumps({"version": "1", "pip_version": "25.0", "installed": installed, "environment": {}})
    )


@attack
def poetry_lock_of_entries(folder: Path) -> None:
    entries = "".join(
        f'[[package]]\nname = "{STACK[n % 6]}"\nversion = "4.{n}.1"\nmarkers = "python_version >= \'3.{n % 15}\'"\n\n'
        for n in range(9_000)
    )
    folder.joinpath("poetry.lock").write_text(f'{entries}[metadata]\nlock-version = "2.1"\n')


@attack
def pdm_lock_of_entries(folder: Path) -> None:
    entries = "".join(
        f'[[package]]\nname = "{STACK[n % 6]}"\nversion = "4.{n}.1"\ngroups = ["g{n % 50}"]\n\n' for n in range(11_000)
    )
    folder.joinpath("pdm.lock").write_text(f'[metadata]\nlock_version = "4.5.0"\n\n{entries}')


@attack
def configs_beside_requirements(folder: Path) -> None:
    """300 configs, 300 requirements files."""
    for n in range(300):
        (folder / f"d{n}").mkdir()
        (folder / f"d{n}" / "train.yaml").write_text(
            f"learning_rate: {n}\nper_device_train_batch_size: {n}\nbf16: true\ndeepspeed: ds.json\n"
        )
        (folder / f"requirements{n}.txt").write_text(
            f"torch==2.{n % 6}.0\ntransformers==4.{n}.0\naccelerate==1.{n}.0\n"
        )


@attack
def configs_of_one_folder(folder: Path) -> None:
    for n in range(1_000):
        folder.joinpath(f"train{n}.yaml").write_text(
            f"learning_rate: {n}\nper_device_train_batch_size: {n}\nbf16: true\ndeepspeed: ds.json\n"
        )
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\ntransformers==4.40.0\naccelerate==1.0.0\n")


@attack
def scripts_with_configs(folder: Path) -> None:
    for n in range(500):
        folder.joinpath(f"train{n}.sh").write_text(f"torchrun train.py --config c{n}.yaml --deepspeed ds{n}.json\n")
        folder.joinpath(f"c{n}.yaml").write_text(f"learning_rate: {n}\nper_device_train_batch_size: {n}\nbf16: true\n")
        folder.joinpath(f"ds{n}.json").write_text('{"train_batch_size": 8, "zero_optimization": {"stage": 3}}')
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\ntransformers==4.40.0\ndeepspeed==0.15.0\n")


@attack
def requirements_files(folder: Path) -> None:
    for n in range(1_000):
        folder.joinpath(f"requirements{n}.txt").write_text(f"torch==2.{n % 6}.0\ntransformers==4.{n % 50}.0\n")


@attack
def folders_of_nothing(folder: Path) -> None:
    for n in range(20):
        inner = folder.joinpath(*[f"d{n}"] * 100)
        inner.mkdir(parents=True)
    folder.joinpath("requirements.txt").write_text("torch==2.5.1\n")


# What a pattern could try again and again.
_REPEATED = (
    " ", "\t", "a", "1", ".", "-", "_", "=", "==", "!=1,", "a==1,", "'", '"', "\\", "(", "[", "{", "<", "@", "a@", "/", "//",
    "a/", "../", "${", "$a", "%", "# ", "\\\n", "1.", "a.", "*,", "||", "| ", "a=", "a ", "a-", "--a ", "&&", ";", "~", "^", ",",
    "git+", "http://", "a:b:", "::", "\r", "\n ", "- ", "nv1", "&", "!", "a'",
)  # fmt: skip


def _patterns(name: str, prefix: str, length: int) -> None:
    def write(folder: Path) -> None:
        lines = [
            prefix + text * (length // len(text)) + "\n" + prefix + text * (length // len(text)) + "x!\n"
            for text in _REPEATED
        ]
        folder.joinpath(name).write_text("".join(lines)[:MOST_INPUT])

    label = "".join(sign if sign.isalnum() else "_" for sign in f"{name}{prefix.rstrip()}")
    ATTACKS[f"repeated_{label}"] = write


for _name, _prefix in (
    ("requirements.txt", ""),
    ("requirements.txt", "torch=="),
    ("requirements.txt", "torch @ "),
    ("requirements.txt", "-e "),
    ("requirements.txt", "--hash="),
    ("requirements.txt", "torch==1 ; "),
    ("Dockerfile", "FROM x\nRUN pip install "),
    ("Dockerfile", "ARG A="),
    ("train.sh", "torchrun train.py "),
    ("train.sh", "A="),
    ("train.sh", "pip install "),
    ("train.yaml", "learning_rate: "),
    ("environment.yml", "- "),
    ("pip-list.txt", "torch "),
    ("conda-list.txt", "torch 1 "),
    ("setup.cfg", "install_requires = "),
    ("train.py", "# "),
):
    _patterns(_name, _prefix, 9_500)


def measured(write: Attack, *options: str) -> tuple[float, float, int, int, str]:
    """Seconds of the processor, megabytes, bytes of output, the exit status and the first line of errors."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "input")
        folder.mkdir()
        write(folder)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if size > MOST_INPUT:
            raise ValueError(f"{write.__name__} writes {size} bytes")
        output, errors = Path(place, "out"), Path(place, "err")
        with output.open("wb") as out, errors.open("wb") as err:
            child = subprocess.Popen(
                [sys.executable, "-m", "gradcompat", "check", ".", *options], cwd=folder, stdout=out, stderr=err
            )
            limited = ["prlimit", f"--pid={child.pid}", f"--cpu={LIMIT_SECONDS}"]
            subprocess.run(limited, check=False)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        said = errors.read_text(errors="replace").strip().splitlines()
        seconds = usage.ru_utime + usage.ru_stime
        return seconds, usage.ru_maxrss / 1024, output.stat().st_size, child.returncode, said[-1] if said else ""


def main(words: list[str]) -> int:
    """Measure every attack whose name holds one of the words, or all of them."""
    above = 0
    for name, write in ATTACKS.items():
        if words and not any(word in name for word in words):
            continue
        for options in WAYS:
            seconds, megabytes, written, status, said = measured(write, *options)
            most_seconds = MOST_SECONDS_OF_MATCHING if name in MATCHING else MOST_SECONDS
            over = seconds > most_seconds or megabytes > MOST_MEGABYTES or status not in (0, 1, 2, 3)
            above += over
            sys.stdout.write(
                f"{'ABOVE' if over else 'ok':6}{name:42}{' '.join(options) or 'text':26}"
                f"{seconds:7.2f} s{megabytes:7.0f} MB{written / 1e6:8.2f} MB out  exit {status} {said[:60]}\n"
            )
            sys.stdout.flush()
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
