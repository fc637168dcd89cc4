"""The JSON of the commands is what the schemas say: no key more, and every key of a schema is met somewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gradcompat
from gradcompat.model.environment import Location
from gradcompat.model.finding import Advice
from gradcompat.model.issue import SettingRemedy
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.model.probe import Measurement, ProbeResult, ProbeSpec
from gradcompat.model.report import Remark, Suppression
from gradcompat.renderers import probe_json
from tests.conftest import ROOT, Run
from tests.renderers.reports import advised, audit, everything, parted, record, rendered, report

FOLDER = Path(gradcompat.__file__).parent / "schemas"
SCHEMAS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_bytes()) for path in sorted(FOLDER.glob("*.json"))
}

FILES = {
    "requirements.txt": "torch==2.5.1\ntransformers==4.49.0\ntokenizers==0.15.2\ntrl>=0.15\nprivate @ file:///nowhere\n",
    "open/requirements.txt": "transformers==4.46.1\n",
    "open/train.py": (
        "from transformers import Trainer, TrainingArguments\n"
        "Trainer(Own(), TrainingArguments('out', gradient_accumulation_steps=4), train_dataset=data).train()\n"
    ),
    "newer.txt": "torch==2.5.1\ntransformers==99.0.0\n",
    "old.txt": "transformers==4.49.0\naccelerate==0.20.0\n",
    "train.yaml": (ROOT / "examples/llava-finetune/train.yaml").read_text("utf-8"),
    "train.log": """\
transformers==4.49.0
gradient_accumulation_steps=8
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.1}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.2}
ImportError: cannot import name 'load_metric' from 'datasets'
Traceback (most recent call last):
  File "train.py", line 1, in <module>
RuntimeError: something that nobody knows
""",
    "large.log": "  Gradient Accumulation steps = 8\n"
    + "".join(
        f"{{'loss': {24.0 - step / 4}, 'grad_norm': 9.2, 'learning_rate': 1e-05, 'epoch': 0.0{step}}}\n"
        for step in range(1, 7)
    ),
    "old-trainer.txt": "transformers==4.47.0\n",
    "ruled-out.txt": "datasets==2.10.0\n",
    "empty.log": "",
    "cpu.txt": "torch==2.5.1+cpu\n",
    "marked.txt": "-r nowhere.txt\ntransformers==4.49.0 ; python_version >= '3.9'\n",
    "apart.txt": "torch==2.5.1\ntorchvision==0.19.1\ntransformers==4.49.0\ntokenizers==0.15.2\n",
    "inspect.json": json.dumps(
        {
            "version": "1",
            "pip_version": "25.0",
            "installed": [
                {"metadata": {"metadata_version": "2.1", "name": "transformers", "version": "4.49.0"}},
            ],
            "environment": {
                "implementation_name": "cpython",
                "python_full_version": "3.11.9",
                "python_version": "3.11",
                "sys_platform": "linux",
            },
        }
    ),
    "loose.txt": "torch>=2.4\n",
    "asking.py": "import torch\nif torch.__version__ < '2.7':\n    torch.load('x')\nloss.backward()\nstep()\n",
    "project/pyproject.toml": (ROOT / "examples/llava-finetune/pyproject.toml").read_text("utf-8"),
    "project/uv.lock": (ROOT / "examples/llava-finetune/uv.lock").read_text("utf-8"),
    "project/train.yaml": (ROOT / "examples/llava-finetune/train.yaml").read_text("utf-8"),
}

# What is run; the first word says of which schema the output is.
RUNS = (
    "check requirements.txt --context train.yaml",
    "check requirements.txt --context train.yaml --all --strict",
    "check newer.txt missing.lock",
    "check apart.txt --with torchvision==0.20.1 --with tokenizers==0.21.0",
    "check .",
    "check marked.txt --context train.yaml",
    "inspect marked.txt",
    "inspect cpu.txt",
    "inspect train.yaml",
    "inspect inspect.json",
    "inspect requirements.txt",
    "inspect cpu.txt --context asking.py",
    "inspect newer.txt train.yaml --set host.cuda=12.4",
    "inspect project missing.lock",
    "plan requirements.txt --context train.yaml --offline",
    "plan newer.txt old.txt --offline",
    "plan old.txt --context train.yaml --offline --keep transformers",
    "plan project marked.txt --offline --fail-on warning",
    "plan apart.txt --offline --strict",
    "plan loose.txt --offline",
    "plan open --offline",
    "plan requirements.txt --context train.yaml --offline --keep transformers --fail-on warning",
    "probe GC-0004",
    "diagnose train.log ruled-out.txt",
    "diagnose train.log requirements.txt train.yaml",
    "diagnose train.log empty.log",
    "diagnose large.log --environment old-trainer.txt --set model.architecture=LlamaForCausalLM",
)

# No run without torch shows a verdict or a waiver, so a report that is made by hand does.
_WAIVED = replace(
    advised(record()),
    suppressed=Suppression(
        kind="waiver", reason="measured", location=Location(path="gradcompat.toml", line=3), until="2027-01-01"
    ),
)
_INSTALLED = KnowledgeSource(
    kind="installed", name="gradcompat-knowledge 2026.11.21", records=1, digest="0", date="2026-11-21"
)
_REMARK = Remark(kind="unused-waiver", level="warning", text="nothing", location=Location(path="a.toml", line=1))
_MEASURED = ProbeResult(
    measurement=Measurement(
        spec=ProbeSpec(name="accumulation_equivalence", parameters={"model": "llava"}),
        state="measured",
        values={"ratio": 4.0, "steps": 2, "seen": True, "norm": "nan", "none": None},
        packages={"torch": "2.13.0"},
        python="3.11.7",
        output="a line",
    ),
    outcome="reproduced",
    reason="the loss is 4 times as large",
    issues=("GC-0001",),
    references=("https://example.org/1",),
)
_SETTING = replace(
    advised(record()),
    probed=(_MEASURED,),
    advice=Advice(
        remedy=SettingRemedy(key="training.gradient_accumulation_steps", value=1),
        clears=True,
        target=None,
        introduces=("GC-0002",),
        location=Location(path="train.yaml", line=3),
        line="gradient_accumulation_steps: 1",
    ),
)
MADE = {
    "check": (
        rendered(everything(), "json"),
        rendered(parted(), "json"),
        rendered(report(audit(_SETTING)), "json"),
        rendered(
            replace(report(replace(audit(), suppressed=(_WAIVED,))), sources=(_INSTALLED,), remarks=(_REMARK,)), "json"
        ),
    ),
    "probe": (json.dumps(probe_json.data([_MEASURED], 1)),),
}

# Keys that none of these outputs has anything for; each is of the type of another key of its object.
UNSEEN = {
    "check": {"advice.beside", "package.forks"},
    "diagnose": {
        "assumption.line",
        *(".ruled_out", "ruled_out.issue", "ruled_out.sentence", "ruled_out.title", "skipped.line"),
    },
    "inspect": {"package.forks"},
    "plan": {"assumption.line", "assumption.path", "change.because", "plan.introduced", "verified.notes"},
}


@cache
def jsonschema() -> Any:
    """Imported only where these tests run: with its grammars of formats it takes a second and a half."""
    return pytest.importorskip("jsonschema", reason="needs jsonschema, of the extra `dev`")


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name: str) -> None:
    jsonschema().Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_printed_is_of_the_schema_and_the_schema_of_it(run: Run, tmp_path: Path, name: str) -> None:
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    schema = SCHEMAS[name]
    validator = jsonschema().Draft202012Validator(schema, format_checker=jsonschema().FormatChecker())
    printed = [run(*command.split(), "--format", "json").out for command in RUNS if command.split()[0] == name]
    met: set[str] = set()
    for text in (*printed, *MADE.get(name, ())):
        data = json.loads(text)
        assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(data)] == []
        for key, named in keys(schema, data, schema):
            assert named, f"the schema does not name {key}"
            met.add(key)
    assert {key for key, _ in all_keys(schema)} - met == UNSEEN.get(name, set())


def keys(schema: dict[str, Any], data: Any, root: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """The description of each key that has a value; and of each key that the schema does not name, the key itself."""
    shapes = list(branches(schema, data, root))
    named = {key: one for shape in shapes for key, one in shape.get("properties", {}).items()}
    if isinstance(data, list):
        for one in data:
            yield from keys(next(shape["items"] for shape in shapes if "items" in shape), one, root)
    elif isinstance(data, dict) and named:
        for key, value in data.items():
            if key not in named:
                yield key, False
            elif value not in (None, [], {}, ""):
                yield path_of(named[key], root), True
                yield from keys(named[key], value, root)


def branches(schema: dict[str, Any], data: Any, root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema, and those of its alternatives that the data are of, without references."""
    if "$ref" in schema:
        yield from branches(root["$defs"][schema["$ref"].rpartition("/")[2]], data, root)
        return
    yield schema
    for one in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        if jsonschema().Draft202012Validator({**one, "$defs": root["$defs"]}).is_valid(data):
            yield from branches(one, data, root)


def path_of(wanted: dict[str, Any], root: dict[str, Any]) -> str:
    """``finding.id``: the object of the schema, and its key."""
    return next(path for path, one in all_keys(root) if one is wanted)


def all_keys(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, one in (("", root), *root.get("$defs", {}).items(), *(("", one) for one in root.get("oneOf", ()))):
        for key, described in one.get("properties", {}).items():
            yield f"{name}.{key}", described
