"""What a check says to do leads into no release that the code, or the model of a config, cannot be run with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradcompat
from gradcompat.audit.breaks import uses_of_models
from gradcompat.audit.change_advice import PLAN_QUESTIONS, advise_findings
from gradcompat.audit.environment_findings import Matched, match_runs
from gradcompat.audit.options import PLAN_STEPS, AuditOptions
from gradcompat.audit.plans import PlanOptions, plan_of
from gradcompat.audit.project_files import Project
from gradcompat.budget import Budget
from gradcompat.formats.document import Document
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.knowledge.load import load
from gradcompat.model.code_use import CodeUse, ProjectCode
from gradcompat.model.environment import Location
from gradcompat.model.issue import SettingRemedy, VersionRemedy
from gradcompat.model.plan import Plan
from gradcompat.scanners.any_config import scan
from gradcompat.sources import requirements
from gradcompat.startup.lazy_dataclasses import replace
from tests.examples import examples

BASE = load()
# 4.48.3 divides by the accumulation steps for models that do not, and has no Qwen2.5-VL, which came with 4.49.0.
PINS = "torch==2.6.0\ntransformers==4.49.0\naccelerate==1.2.1\n"
CONFIG = """\
model_name_or_path: Qwen/Qwen2.5-VL-7B-Instruct
stage: sft
finetuning_type: full
template: qwen2_vl
dataset: identity
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
output_dir: saves
"""


@pytest.mark.parametrize(
    ("model", "kind"),
    [("Qwen/Qwen2.5-VL-7B-Instruct", SettingRemedy), ("llava-hf/llava-1.5-7b-hf", VersionRemedy)],
)
def test_no_change_loses_the_class_of_a_model_that_a_config_names(model: str, kind: type[object]) -> None:
    text = CONFIG.replace("Qwen/Qwen2.5-VL-7B-Instruct", model)
    context = scan(Document("train.yaml", text, Path("train.yaml")))
    environment = requirements.read(Document("requirements.txt", PINS))
    matched = match_runs(environment, (context,), BASE, AuditOptions())
    advised = advise_findings(environment, matched, None, BASE, AuditOptions())
    (found,) = (one for one in matched.findings if one.issue.id == "GC-0005" and one.status == "affected")
    assert isinstance(advised.advice[id(found)].remedy, kind)


@pytest.mark.parametrize("plan_questions", [PLAN_QUESTIONS, 0])
@pytest.mark.parametrize(("used", "kind"), [("modeling_utils", "upgrade"), ("generation_utils", "downgrade")])
def test_no_change_loses_what_the_code_imports(used: str, kind: str, plan_questions: int) -> None:
    """The Trainer of 4.32 to 4.39 does not go with accelerate 1; ``transformers.generation_utils`` went with 4.40."""
    environment = requirements.read(Document("requirements.txt", "transformers==4.39.3\naccelerate==1.2.0\n"))
    use = CodeUse(kind="import", module=f"transformers.{used}", name=None, location=Location(path="train.py", line=1))
    options = AuditOptions(settings=(("training.framework", "transformers.Trainer"),), only=frozenset({"GC-0034"}))
    matched = match_runs(environment, (), BASE, options, code=ProjectCode(uses=(use,)))
    advised = advise_findings(environment, matched, None, BASE, options, plan_questions)
    (found,) = (one for one in matched.findings if one.issue.id == "GC-0034")
    remedy = advised.advice[id(found)].remedy
    assert isinstance(remedy, VersionRemedy)
    assert (remedy.package, remedy.kind) == ("transformers", kind)


def test_a_model_that_is_none_of_the_release_keeps_nothing_in_place() -> None:
    """Its code comes from elsewhere."""
    environment = requirements.read(Document("requirements.txt", PINS))
    context = scan(Document("train.yaml", CONFIG, Path("train.yaml")))
    runs = match_runs(environment, (context,), BASE, AuditOptions()).runs.values()
    assert [use.name for use in uses_of_models(environment, runs, BASE.names)] == ["Qwen2_5_VLForConditionalGeneration"]
    older = requirements.read(Document("requirements.txt", PINS.replace("4.49.0", "4.48.3")))
    assert uses_of_models(older, runs, BASE.names) == ()


RELEASES = {
    "accelerate": ("1.2.1", "1.10.0"),
    "deepspeed": ("0.15.4", "0.17.6"),
    "huggingface-hub": ("0.26.0", "0.34.0"),
    "peft": ("0.14.0", "0.17.0"),
    "torch": ("2.4.1", "2.6.0"),
    "transformers": ("4.46.0", "4.49.0", "4.56.1"),
    "trl": ("0.12.0", "0.16.0"),
}
FACTS = (
    ("training.framework", "transformers.Trainer"),
    ("training.gradient_accumulation_steps", 4),
    ("model.uses_num_items_in_batch", False),
    ("deepspeed.zero_stage", 2),
    ("deepspeed.offload_optimizer", "cpu"),
)


@settings(deadline=None, max_examples=examples(30))
@given(
    st.lists(
        st.sampled_from([(name, one) for name, some in RELEASES.items() for one in some]), min_size=3, unique=True
    ),
    st.sampled_from(["", ' ; sys_platform == "win32"', ' ; python_version >= "3.10"']),
    st.sets(st.sampled_from(FACTS)),
)
def test_a_plan_is_the_same_from_all_records_and_without_what_was_matched(
    pins: list[tuple[str, str]], marker: str, facts: set[tuple[str, str | int | bool]]
) -> None:
    lines = [f"{name}=={release}{marker if place % 2 else ''}\n" for place, (name, release) in enumerate(pins)]
    environment = requirements.read(Document("requirements.txt", "".join(lines)))
    options = AuditOptions(settings=(*sorted(facts, key=str), ("host.python", "3.11"), ("host.platform", "linux")))
    options = replace(options, fail_on="note")
    found = match_runs(environment, (), BASE, options, whole=False)

    def made(found: Matched) -> Plan | None:
        asked = environment, found, Project(), BASE, shipped_snapshot(), options, PlanOptions()
        return plan_of(*asked, changes_only=True, budget=Budget(PLAN_STEPS), requirers=shipped_snapshot().requirers)

    assert found.views
    assert made(found) == made(replace(found, views=())) == made(replace(found, recorded=BASE.in_force))


def test_no_note_makes_the_change_for_a_warning_larger(tmp_path: Path) -> None:
    """transformers 5.19 alone cures the warning and the notes, and is a major version away."""
    (tmp_path / "requirements.txt").write_text("transformers==4.56.0\naccelerate==1.10.1\n")
    (tmp_path / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "args = TrainingArguments('out', num_train_epochs=5, seed=1)\n"
        "Trainer(model, args, train_dataset=data).train(resume_from_checkpoint=True)\n"
    )
    (audit,) = gradcompat.check(tmp_path).audits
    moved = {found.finding.issue.level: found.advice.package for found in audit.findings if found.advice is not None}
    assert moved == {"warning": "accelerate", "note": "transformers"}
