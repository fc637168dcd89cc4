"""The cases that the project starts from: open or dormant without their config, affected with it, not with a change."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Run

FROZEN = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-0.5B")
model.get_input_embeddings().requires_grad_(False)
arguments = TrainingArguments(
    "out",
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": True},
)
Trainer(model=model, args=arguments, train_dataset=data).train()
"""
LLAVA = """model_name_or_path: llava-hf/llava-1.5-7b-hf
stage: sft
finetuning_type: lora
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
"""
CLOSURE = """import lightning.pytorch as pl
from transformers import Adafactor, T5ForConditionalGeneration


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = T5ForConditionalGeneration.from_pretrained("t5-small")

    def training_step(self, batch, index):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return Adafactor(self.parameters(), lr=1e-3, relative_step=False)


pl.Trainer(max_epochs=1).fit(Module(), loader)
"""
QLORA = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained(
    "meta-llama/Llama-2-7b-hf", quantization_config=BitsAndBytesConfig(load_in_4bit=True)
)
model = get_peft_model(model, LoraConfig(r=8))
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()
"""
RACE = """{
 "train_micro_batch_size_per_gpu": 1,
 "bf16": {"enabled": true},
 "communication_data_type": "fp32",
 "zero_optimization": {
  "stage": 2,
  "overlap_comm": true
 }
}
"""


@dataclass(frozen=True)
class Case:
    """Versions, a config, the record that it makes true, and what to write instead to make it untrue."""

    identifier: str
    versions: dict[str, str]
    file: str
    text: str
    wrong: str
    right: str


CASES = {
    "frozen embeddings under reentrant checkpointing": Case(
        "GC-0001", {"transformers": "4.57.6"}, "train.py", FROZEN, '"use_reentrant": True', '"use_reentrant": False'
    ),
    "LLaVA and gradient accumulation": Case(
        "GC-0004", {"transformers": "4.49.0"}, "train.yaml", LLAVA, "accumulation_steps: 8", "accumulation_steps: 1"
    ),
    "Lightning and an optimizer of transformers": Case(
        "GC-0009",
        {"lightning": "2.0.3", "transformers": "4.30.0"},
        "train.py",
        CLOSURE,
        "from transformers import Adafactor, T5",
        "from torch.optim import Adafactor\nfrom transformers import T5",
    ),
    "QLoRA without the hook on the embeddings": Case(
        "GC-0002",
        {"transformers": "4.57.6", "peft": "0.18.0"},
        "train.py",
        QLORA,
        "model = get_peft_model(",
        "model.enable_input_require_grads()\nmodel = get_peft_model(",
    ),
    "the race of overlap_comm": Case(
        "GC-0011", {"deepspeed": "0.12.6"}, "ds.json", RACE, '"overlap_comm": true', '"overlap_comm": false'
    ),
    "a communication type that is not the parameters'": Case(
        "GC-0012",
        {"deepspeed": "0.18.1"},
        "ds.json",
        RACE,
        '"communication_data_type": "fp32"',
        '"communication_data_type": "bf16"',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_case(run: Run, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    entries = "".join(
        f'[[package]]\nname = "{package}"\nversion = "{version}"\nsource = {{ registry = "x" }}\n'
        for package, version in case.versions.items()
    )
    (tmp_path / "uv.lock").write_text(f"version = 1\n{entries}")

    def status() -> str:
        outcome = run("check", ".", "--only", case.identifier, "--all", "--format", "json")
        (finding,) = json.loads(outcome.out)["findings"]
        return str(finding["status"])

    assert status() in ("conditional", "dormant")
    (tmp_path / case.file).write_text(case.text)
    assert status() == "affected"
    assert case.wrong in case.text
    (tmp_path / case.file).write_text(case.text.replace(case.wrong, case.right))
    assert status() == "not_affected"
