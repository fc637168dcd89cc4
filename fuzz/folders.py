"""Folders of files that name one another, with what an attacker or an accident lays between them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from fuzz.canaries import CANARIES
from fuzz.grammars import code, requirements, toml, words
from fuzz.grammars import json as json_grammar
from fuzz.grammars import yaml as yaml_grammar
from fuzz.grammars.words import chance, pick
from fuzz.inputs import Entry
from fuzz.mutation import broken

MARKER = "FUZZ_MARKER"  # the environment variable that names the file which a planted module writes
PLANTED = (
    *("yaml.py", "multiprocessing/__init__.py", "gradcompat.py", "packaging/__init__.py", "json.py", "tomllib.py"),
    *("sitecustomize.py", "usercustomize.py", "torch/__init__.py", "transformers.py", "conftest.py", "typing.py"),
    *("gradcompat/__init__.py", "ast.py", "_gradcompat_plugin.py", "encodings.py", "click.py", "tomli/__init__.py"),
)
_MODULE = f"""\
import os
with open(os.environ["{MARKER}"], "a") as marker:
    marker.write(__name__ + "\\n")
raise SystemExit("a planted module was imported")
"""
_PROGRAM = f'#!/bin/sh\necho "$0" >> "${MARKER}"\nexit 1\n'
_SECRET = (
    f"[global]\nindex-url = https://user:{CANARIES['outside']}@index.example/simple\ntoken={CANARIES['outside']}\n"
)


def _file(path: str, text: str, *, named: bool = False) -> Entry:
    return Entry(path=path, data=text.encode("utf-8", "replace"), named=named)


def _requirements(random: Random) -> list[Entry]:
    """A chain of ``-r`` and ``-c``, now and then a circle."""
    last = pick(
        random, ("", "-r requirements.txt\n", "-c ../outside.txt\n", "-r ../secrets/pip.conf\n", "-r /etc/hostname\n")
    )
    return [
        _file(
            "requirements.txt",
            f"-r base.txt\n-c constraints.txt\ntransformers==4.49.0\n{requirements.requirements(random)}",
            named=True,
        ),
        _file("base.txt", f"torch==2.5.1\n{last}{requirements.requirements(random)}"),
        _file("constraints.txt", f"numpy<2\n-c base.txt\n{requirements.requirements(random)}", named=True),
    ]


def _image(random: Random) -> list[Entry]:
    """A Dockerfile that copies a list of requirements."""
    tail = requirements.dockerfile(random).partition("\n")[2]
    start = "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n"
    return [_file("Dockerfile", start + tail, named=True), *_requirements(random)]


def _launch(random: Random) -> list[Entry]:
    """A launch script, the program that it starts, the config of that, and what the config names."""
    script = "#!/bin/bash\nexport OMP_NUM_THREADS=1\ntorchrun train.py --config train.yaml --deepspeed ds.json\n"
    program = (
        "from transformers import Trainer, TrainingArguments\nimport helper\n"
        "Trainer(args=TrainingArguments('out', bf16=True))\n"
    )
    config = (
        "per_device_train_batch_size: 2\ngradient_accumulation_steps: 8\ndeepspeed: ds.json\n"
        "model_name_or_path: x/y\noutput_dir: out\ndataset_name: z\n"
    )
    return [
        _file("launch.sh", script + code.shell(random), named=True),
        _file("train.py", program + ("" if chance(random, 0.5) else code.python(random)), named=True),
        _file("train.yaml", config, named=True),
        _file("ds.json", '{"train_batch_size": 16, "zero_optimization": {"stage": 3}}\n', named=True),
        _file("requirements.txt", "transformers==4.49.0\ntorch==2.5.1\ndeepspeed==0.15.4\n", named=True),
        _file("helper.py", code.python(random)),
    ]


def _hydra(random: Random) -> list[Entry]:
    """A config that Hydra composes of groups, and a program that does."""
    model = pick(random, ("llava", "../../secrets/pip", "missing", "${x}"))
    top = f"defaults:\n  - _self_\n  - model: {model}\n  - trainer: ddp\n"
    used = pick(random, ("", "import lightning\n"))  # a program that imports no library for training is something else
    return [
        _file("conf/config.yaml", top + "trainer:\n  _target_: lightning.Trainer\n  devices: 2\n", named=True),
        _file("conf/model/llava.yaml", yaml_grammar.config("hydra", random)),
        _file(
            "conf/trainer/ddp.yaml", "# @package _global_\ntrainer:\n  accumulate_grad_batches: 4\n  strategy: ddp\n"
        ),
        _file("train.py", f"import hydra\n{used}@hydra.main('conf', 'config')\ndef main(c): pass\n", named=bool(used)),
        _file("run.sh", "#!/bin/bash\npython train.py model=llava trainer.devices=8\n"),
        _file("requirements.txt", "lightning==2.2.0\nhydra-core==1.3\ntorch==2.5.1\n", named=True),
    ]


def _project(random: Random) -> list[Entry]:
    """A project with its lockfile, and its own configuration of gradcompat now and then."""
    entries = [
        _file("pyproject.toml", '[project]\nname = "app"\nversion = "1"\ndependencies = ["torch"]\n', named=True),
        _file("uv.lock", toml.uv_lock(random), named=True),
        _file(
            "src/app/train.py",
            "from trl import SFTConfig, SFTTrainer\nSFTTrainer(args=SFTConfig(packing=True))\n",
            named=True,
        ),
    ]
    if chance(random, 0.4):
        entries.append(_file("gradcompat.toml", toml.gradcompat_toml(random)))
    return entries


def _notebooks(random: Random) -> list[Entry]:
    """Notebooks and programs beside a list of what is installed."""
    return [
        _file("train.ipynb", code.notebook(random)),
        _file("pip-list.txt", "Package Version\n------- -------\ntorch 2.5.1\ntransformers 4.49.0\n", named=True),
        _file("train.py", code.python(random)),
        _file("trainer_state.json", json_grammar.trainer_state(random)),
    ]


def _workspace(random: Random) -> list[Entry]:
    """Many projects: so many files that more than one processor reads them."""
    entries = []
    for number in range(pick(random, (3, 8, 20))):
        entries.append(
            _file(f"p{number}/requirements.txt", f"torch==2.5.1\n{requirements.requirements(random)}", named=True)
        )
        if chance(random, 0.5):
            entries.append(
                _file(f"p{number}/train.yaml", yaml_grammar.config(pick(random, list(yaml_grammar.HEADS)), random))
            )
    return entries


def _installed(random: Random) -> list[Entry]:
    """An environment's folder, with programs and modules that must not run, beside a project."""
    site = ".venv/lib/python3.11/site-packages"
    entries = [
        _file(".venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.7\n"),
        Entry(path=".venv/bin/python", data=_PROGRAM.encode()),
        Entry(path=".venv/bin/pip", data=_PROGRAM.encode()),
        _file(f"{site}/sitecustomize.py", _MODULE),
        _file(f"{site}/x.pth", f"import os; open(os.environ['{MARKER}'], 'a').write('pth')\n"),
        _file("requirements.txt", "torch==2.5.1\n", named=True),
    ]
    for _ in range(4):
        name, version = words.name(random), words.version(random)
        folder = "".join(letter for letter in f"{name}-{version}" if letter not in "/\0\n")[:100]
        entries.append(
            _file(f"{site}/{folder}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        )
        entries.append(
            _file(
                f"{site}/{folder}.dist-info/direct_url.json",
                f'{{"url": {toml.string(words.url(random))}, "vcs_info": {{}}}}',
            )
        )
    return entries


TEMPLATES: dict[str, Callable[[Random], list[Entry]]] = {
    "requirements": _requirements,
    "image": _image,
    "launch": _launch,
    "hydra": _hydra,
    "project": _project,
    "notebooks": _notebooks,
    "workspace": _workspace,
    "installed": _installed,
}
OUTSIDE = (
    Entry(path="../outside.txt", data=_SECRET.encode()),
    Entry(path="../secrets/pip.conf", data=_SECRET.encode()),
    Entry(path="../secrets/pip.yaml", data=f"token: {CANARIES['outside']}\n".encode()),
    Entry(path="../secrets/.netrc", data=f"machine index.example login x password {CANARIES['outside']}\n".encode()),
)


def folder(kind: str, random: Random) -> tuple[Entry, ...]:
    """The files of a folder of that kind, disturbed now and then, and secrets beside it."""
    entries = TEMPLATES[kind](random)
    for _ in range(1 + int(random.random() * 3)):
        if chance(random, 0.6):
            entries = pick(random, _DISTURBANCES)(entries, random)
    unique = {entry.path: entry for entry in entries}
    return (*unique.values(), *OUTSIDE)


def _one(entries: list[Entry], random: Random) -> int:
    return int(random.random() * len(entries))


def _bad_byte(entries: list[Entry], random: Random) -> list[Entry]:
    at = _one(entries, random)
    one = entries[at]
    if one.kind == "file":
        resolved = one.path == "pyproject.toml" and any(entry.path == "uv.lock" for entry in entries)
        unreadable = one.named and not resolved and not takes_any_bytes(one.path)
        entries[at] = replace(one, data=broken(one.data, random), unreadable=unreadable)
    return entries


def takes_any_bytes(path: str) -> bool:
    """Is it a script of a shell, which no byte makes unreadable?"""
    return path.endswith(".sh")


def _pipe(entries: list[Entry], random: Random) -> list[Entry]:
    path = pick(
        random, ("x.py", "train2.yaml", "requirements-dev.txt", "extra/uv.lock", "run2.sh", "a.ipynb", "config.json")
    )
    return [*entries, Entry(path=path, kind="fifo", named=path != "config.json", unreadable=path != "config.json")]


def _link_out(entries: list[Entry], random: Random) -> list[Entry]:
    path = pick(random, ("link.txt", "requirements-link.txt", "extra.yaml", "link.py", "environment.yml", "base.txt"))
    target = pick(
        random, ("../outside.txt", "../secrets/pip.conf", "../secrets/.netrc", "/etc/hostname", "../secrets/pip.yaml")
    )
    return [*entries, Entry(path=path, data=target.encode(), kind="link")]


def _link_nowhere(entries: list[Entry], random: Random) -> list[Entry]:
    path = pick(random, ("requirements-dead.txt", "poetry.lock", "dead.yaml", "dead.py"))
    target = pick(
        random, ("missing", path.rpartition("/")[2], "x/" * 2000 + "y", "a" * 250, "a" * 4000, "/" + "../" * 300)
    )
    # The last one leads to the root of the file system, a folder; links to folders are not followed.
    named = path in ("requirements-dead.txt", "poetry.lock") and not target.startswith("/")
    return [*entries, Entry(path=path, data=target.encode(), kind="link", named=named, unreadable=named)]


def _link_circle(entries: list[Entry], _: Random) -> list[Entry]:
    return [*entries, Entry(path="loop", data=b".", kind="link"), Entry(path="sub/up", data=b"..", kind="link")]


def _folder_like_a_file(entries: list[Entry], random: Random) -> list[Entry]:
    path = pick(random, ("requirements-all.txt", "pdm.lock", "train3.yaml", "x.sh"))
    return [*entries, Entry(path=path, kind="folder")]


def _modules(entries: list[Entry], random: Random) -> list[Entry]:
    return [*entries, *(_file(pick(random, PLANTED), _MODULE) for _ in range(1 + int(random.random() * 6)))]


def _long_names(entries: list[Entry], random: Random) -> list[Entry]:
    name = pick(
        random,
        ("a" * 240, "é" * 120, "x\u2028y", "a\nb", "::error::x", "\x1b[31m", "a b'c\"d", "-rf", "--help", "\udce9"),
    )
    ending = pick(random, (".yaml", ".py", "-requirements.txt", ".sh"))
    text = pick(random, ("torch==2.5.1\n", "import " + "a" * 300 + "\nfrom transformers import Trainer\nTrainer()\n"))
    path = (name + ending).encode("utf-8", "surrogateescape")[-250:].decode("utf-8", "surrogateescape")
    return [*entries, _file(path, text)]


def _nested(entries: list[Entry], random: Random) -> list[Entry]:
    return [*entries, _file("d/" * pick(random, (5, 60, 300)) + "requirements.txt", "torch==2.5.1\n")]


def _configured(entries: list[Entry], random: Random) -> list[Entry]:
    return [*entries, _file("gradcompat.toml", toml.gradcompat_toml(random))]


_DISTURBANCES: tuple[Callable[[list[Entry], Random], list[Entry]], ...] = (
    *(_bad_byte, _pipe, _link_out, _link_nowhere, _link_circle, _folder_like_a_file, _modules, _long_names, _nested),
    *(_configured, _modules, _bad_byte),
)


def unreadable(random: Random) -> Entry:
    """A file that certainly cannot be read, of a kind that a report has to name."""
    path, text = pick(
        random,
        (
            ("added/requirements.txt", "torch==2.5.1\n"),
            ("added/uv.lock", "version = 1\n"),
            ("added/train.yaml", yaml_grammar.HEADS["llamafactory"]),
            ("added/ds.json", '{"train_batch_size": 16, "zero_optimization": {"stage": 3}}\n'),
            ("added/train.py", "from transformers import Trainer\nTrainer()\n"),
            ("added/launch.sh", "torchrun train.py\n"),
        ),
    )
    if chance(random, 0.2):
        return Entry(path=path, kind="fifo", named=True, unreadable=True)
    return Entry(path=path, data=broken(text.encode(), random), named=True, unreadable=not takes_any_bytes(path))


def materialize_tree(entries: tuple[Entry, ...], root: Path) -> None:
    """Make the files; what the file system refuses is left out.

    Args:
        entries: the files.
        root: the folder that is going to be checked, which lies in one of its own.
    """
    root.mkdir(parents=True)
    here = os.fsencode(root)
    for entry in entries:
        path = os.path.join(here, entry.path.encode("utf-8", "surrogateescape"))
        with suppress(OSError, ValueError):
            if not entry.path.endswith("/"):
                os.makedirs(os.path.dirname(path), exist_ok=True)
            if entry.kind == "link":
                os.symlink(entry.data, path)
            elif entry.kind == "fifo":
                os.mkfifo(path)
            elif entry.kind == "folder":
                os.makedirs(path, exist_ok=True)
            else:
                with open(path, "wb") as file:
                    file.write(entry.data)
                if entry.data.startswith(b"#!"):
                    os.chmod(path, stat.S_IRWXU)
