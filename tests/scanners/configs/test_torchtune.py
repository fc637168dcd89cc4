"""torchtune's recipes: components by import path, and interpolations that are not resolved."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.scanners.configs import torchtune
from tests.scanners.scanned import fixture, lines, stated


def test_a_recipe() -> None:
    context = torchtune.scan(fixture("torchtune/qlora.yaml"))
    assert (context.source, context.kind, context.run, context.skipped) == ("qlora.yaml", "torchtune", True, ())
    assert lines(context) == [
        (4, "data.sequence_length", 2048),
        (6, "peft.method", "lora"),
        (6, "quantization.method", "torchao"),
        (6, "quantization.bits", 4),
        (9, "training.framework", "torchtune"),
        (12, "training.packing", True),
        (14, "training.per_device_train_batch_size", 2),
        (16, "optimizer.name", "AdamW"),
        (16, "optimizer.library", "torch"),
        (17, "optimizer.fused", True),
        (18, "optimizer.weight_decay", 0.01),
        (21, "training.gradient_accumulation_steps", None),
        (22, "training.num_train_epochs", 1.0),
        (24, "training.torch_compile", False),
        (25, "precision.mode", "bf16"),
        (26, "training.gradient_checkpointing", True),
        (28, "optimizer.scheduler", "cosine"),
        (6, "model.architecture", ("torchtune.models.llama3_1.qlora_llama3_1_8b",)),
    ]
    assert [(one.key, one.value) for one in context.settings if one.presumed] == [("training.use_reentrant", False)]


@pytest.mark.parametrize(
    ("component", "method"),
    [
        ("torchtune.models.llama3.llama3_8b", "none"),
        ("torchtune.models.llama3.lora_llama3_8b", "lora"),
        ("mine.models.tiny", "absent"),
    ],
)
def test_what_is_trained_of_the_model(component: str, method: str) -> None:
    text = f"model: {{_component_: {component}}}\nloss: {{_component_: torchtune.rlhf.loss.DPOLoss}}\n"
    settings = stated(torchtune.scan(Document("a.yaml", text)))
    assert settings.pop("training.method") == "dpo"
    assert settings == ({} if method == "absent" else {"peft.method": method, "model.architecture": (component,)})


@pytest.mark.parametrize(
    ("loss", "method"),
    [
        ("torchtune.modules.loss.CEWithChunkedOutputLoss", "sft"),
        ("torch.nn.CrossEntropyLoss", "sft"),
        ("torchtune.rlhf.loss.DPOLoss", "dpo"),
        ("torchtune.rlhf.loss.PPOLoss", "ppo"),
        ("mine.Loss", None),
    ],
)
def test_how_it_trains_by_its_loss(loss: str, method: str | None) -> None:
    text = f"model: {{_component_: torchtune.models.llama3.llama3_8b}}\nloss: {{_component_: {loss}}}\n"
    assert stated(torchtune.scan(Document("a.yaml", text))).get("training.method") == method


@pytest.mark.parametrize("text", ["epochs: 1", "model: {_component_: mine.model}", "model: [1]", "- 1", ""])
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        torchtune.scan(Document("a.yaml", text))


@pytest.mark.parametrize(
    ("dataset", "alike"),
    [
        ("{_component_: torchtune.datasets.text_completion_dataset, packed: true}", False),
        ("{_component_: torchtune.datasets.text_completion_dataset, packed: false}", None),
        ("{_component_: torchtune.datasets.text_completion_dataset}", None),
        ("{_component_: torchtune.datasets.chat_dataset, packed: true}", None),
    ],
)
def test_packed_texts_have_equally_many_labels(dataset: str, alike: bool | None) -> None:
    text = f"model: {{_component_: torchtune.models.llama3.llama3_8b}}\ndataset: {dataset}\n"
    settings = torchtune.scan(Document("a.yaml", text)).settings
    assert next((one.value for one in settings if one.key == "data.unequal_labels"), None) is alike
