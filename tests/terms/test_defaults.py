"""Defaults of tools: which version they hold in, and that they never stand against what is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import AuditOptions
from gradcompat.knowledge.load import load
from gradcompat.model.context import Context, Unset
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue
from gradcompat.releases.argument_defaults import Stated
from gradcompat.requirements.versions import VersionSet
from gradcompat.scanners.key_mapping import convert
from gradcompat.terms.defaults import DEFAULTS, Default, defaults_of
from gradcompat.vocabulary import KEYS
from tests.building import environment, package
from tests.conftest import Run

HERE = Location(path="train.py", line=6)


def context(*keys: str, run: bool = True, **stated: SettingValue | None) -> Context:
    return Context(
        source="train.py",
        kind="python",
        settings=tuple(
            Setting(key=key.replace("__", "."), value=value, location=HERE) for key, value in stated.items()
        ),
        run=run,
        unset=tuple(Unset(of="transformers.TrainingArguments", key=key, location=HERE) for key in keys),
    )


def values(where: Environment, of: Context) -> dict[str, tuple[SettingValue | None, str]]:
    return {one.key: (one.value, str(one.location)) for one in defaults_of(where, of)}


STEPS, REENTRANT = "training.gradient_accumulation_steps", "training.use_reentrant"


def test_a_default_says_whose_it_is() -> None:
    assert values(environment(package("transformers", "4.49.0")), context(STEPS)) == {
        STEPS: (1, "default of transformers 4.49.0")
    }


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("4.10.3", {}),
        ("4.37.2", {REENTRANT: (True, "default of transformers 4.37.2")}),
        ("4.38.0", {REENTRANT: (True, "default of transformers 4.38.0")}),
        ("4.57.6", {REENTRANT: (True, "default of transformers 4.57.6")}),
        ("4.49.0.dev0", {REENTRANT: (True, "default of transformers 4.49.0.dev0")}),
        ("5.0.0.dev0", {}),
        ("5.0.0rc3", {}),
        ("5.0.0", {}),
    ],
)
def test_checkpointing_was_turned_round(version: str, expected: dict[str, tuple[SettingValue | None, str]]) -> None:
    asked = context(REENTRANT, training__gradient_checkpointing=True)
    assert values(environment(package("transformers", version)), asked) == expected


@pytest.mark.parametrize("checkpointing", [False, None])
def test_without_checkpointing_there_is_nothing_to_be_reentrant(checkpointing: bool | None) -> None:
    here = environment(package("transformers", "4.49.0"))
    assert values(here, context(REENTRANT, training__gradient_checkpointing=checkpointing)) == {}
    assert values(here, context(REENTRANT)) == {}


@pytest.mark.parametrize(
    "packages",
    [
        (),
        (package("torch", "2.6.0"),),
        (package("transformers"),),
        (package("transformers", specifier=">=4.49.0,<4.50"),),
        (package("transformers", "main"),),
        (package("transformers", "99.0"),),
        (package("transformers", "4.49.0"), package("transformers", "99.0")),
        (package("transformers", "4.0.0", unreleased=True),),
    ],
)
def test_a_version_that_is_not_surely_known_has_none(packages: tuple[Package, ...]) -> None:
    assert values(environment(*packages), context(STEPS)) == {}


def test_several_versions_that_agree() -> None:
    both = environment(package("transformers", "4.49.0"), package("transformers", "4.57.6"))
    assert values(both, context(STEPS)) == {STEPS: (1, "default of transformers 4.49.0 and 4.57.6")}


@pytest.mark.parametrize("value", [8, None])
def test_what_is_said_has_no_default(value: int | None) -> None:
    here = environment(package("transformers", "4.49.0"))
    assert values(here, context(STEPS, training__gradient_accumulation_steps=value)) == {}
    told = Setting(key=STEPS, value=value, location=HERE)
    assert values(replace(here, settings=(told,)), context(STEPS)) == {}


def test_what_describes_no_run_has_none() -> None:
    assert values(environment(package("transformers", "4.49.0")), context(STEPS, run=False)) == {}


def test_a_call_of_something_else_has_none() -> None:
    other = replace(context(), unset=(Unset(of="mine.TrainingArguments", key=STEPS, location=HERE),))
    assert values(environment(package("transformers", "4.49.0")), other) == {}


@pytest.mark.parametrize("default", DEFAULTS, ids=lambda default: f"{default.of[0]}:{default.key}")
def test_each_default_is_of_the_vocabulary(default: Default) -> None:
    assert default.key in KEYS
    for key, value in default.beside.items():
        assert convert(key, value) == value
    assert default.phrases
    if isinstance(default.default, Stated):
        assert convert(default.key, default.default.value) == default.default.value
        assert default.default.reference.startswith("https://")
        versions = VersionSet.parse(default.default.versions)
        assert versions.bounded
        # Both ends were looked at.
        assert all(str(bound) in default.default.read for bound in versions.bounds)
    else:
        values = {value for _, value in default.default.history(Version("5.23.0")) if value is not None}
        assert len(values) == 1
        assert {convert(default.key, value) for value in values} == values


@pytest.mark.parametrize(
    ("default", "installed", "expected"),
    [
        ("distributed.sync_each_batch", ("accelerate", "0.27.2"), None),  # which has no such argument
        ("distributed.sync_each_batch", ("accelerate", "0.28.0"), False),
        ("peft.trainable_tokens", ("peft", "0.14.0"), None),
        ("peft.trainable_tokens", ("peft", "0.15.0"), False),
        ("peft.layers_to_transform", ("peft", "0.8.0"), False),
        ("optimizer.weight_decay", ("transformers", "5.23.0"), 0.0),
    ],
)
def test_the_tables_say_which_release_has_it(default: str, installed: tuple[str, str], expected: object) -> None:
    (one, *_) = (one for one in DEFAULTS if one.key == default)
    here = environment(package(*installed))
    asked = replace(context(), unset=(Unset(of=one.of[0], key=default, location=HERE),))
    assert {key: value for key, (value, _) in values(here, asked).items()}.get(default) == expected


PROGRAM = """\
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("facebook/opt-125m")
model = get_peft_model(model, LoraConfig(r=8))
arguments = TrainingArguments(output_dir="out", gradient_checkpointing=True)
Trainer(model=model, args=arguments).train()
"""


def lock(folder: Path, **versions: str) -> None:
    entries = "".join(
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "x" }}\n'
        for name, version in versions.items()
    )
    (folder / "uv.lock").write_text(f"version = 1\n{entries}")


def statuses(run: Run, *arguments: str) -> dict[str, str]:
    outcome = run("check", *arguments, "--all", "--format", "json")
    return {one["id"]: one["status"] for one in json.loads(outcome.out)["findings"]}


def test_adapters_without_gradients_are_found_where_only_the_version_tells(run: Run, tmp_path: Path) -> None:
    """GC-0002 needs reentrant checkpointing, which transformers before 5 has unless it is told otherwise."""
    lock(tmp_path, transformers="4.49.0", peft="0.15.0")
    (tmp_path / "train.py").write_text(PROGRAM)
    found = statuses(run, ".")
    assert {key: found[key] for key in ("GC-0002", "GC-0006", "GC-0024")} == {
        "GC-0002": "affected",
        "GC-0006": "not_affected",  # one step is no accumulation
        "GC-0024": "not_affected",  # every layer has the adapter
    }
    shown = run("check", ".", "--only", "GC-0002", "--all").out
    assert "training.use_reentrant is true (default of transformers 4.49.0)" in " ".join(shown.split())
    (tmp_path / "train.py").write_text(PROGRAM.replace('"out"', '"out", **options'))
    assert statuses(run, ".", "--only", "GC-0002") == {"GC-0002": "affected"}  # presumed of what the options hold
    assert statuses(run, ".", "--only", "GC-0002", "--assume", "none") == {"GC-0002": "conditional"}


def test_the_user_knows_better(run: Run, tmp_path: Path) -> None:
    lock(tmp_path, transformers="4.49.0", peft="0.15.0")
    (tmp_path / "train.py").write_text(PROGRAM)
    assert statuses(run, ".", "--only", "GC-0002", "--set", "training.use_reentrant=false") == {
        "GC-0002": "not_affected"
    }


def test_a_config_in_yaml_gets_none() -> None:
    """Flags may add to it, and what runs with it may set anything."""
    config = Context(source="train.yaml", kind="llamafactory", settings=(), run=True)
    found = match_runs(environment(package("transformers", "4.49.0")), (config,), load(), AuditOptions())
    assert [one for one in found.runs["train.yaml"].settings if str(one.location).startswith("default")] == []
