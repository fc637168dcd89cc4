"""Notebooks of other projects: what they say of the training, each line looked at by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code.notebook_code import scan

_PEFT = "huggingface__peft__5d602fdb__examples__int8_training__"

# The names that a notebook uses have a test of their own.
NAMES = ("code.symbols", "code.calls", "code.guarded")

Facts = list[tuple[int, str, SettingValue | None]]

REVIEWED: dict[str, Facts] = {
    # `compile` with Adam and `fit`: what Keras does unless it is told otherwise
    "Graham-Broughton__Mushroom-Classifier__ef6bc372__training__train.ipynb": [
        (997, "training.framework", "keras"),
        (997, "training.gradient_accumulation_steps", 1),
        (997, "optimizer.weight_decay", 0.0),
    ],
    # for inference; the class comes from one of two packages, so what it loads is not sure
    "QwenLM__Qwen__2df8e8ac__recipes__quickstart__qwen.ipynb": [
        # cells behind one that may end: which of them run is not known, and what each loads is
        (119, "quantization.method", "none"),
        (119, "quantization.bits", 16),
        (119, "model.name", "Qwen/Qwen-7B-Chat/"),
        (119, "model.architecture", ("QWenLMHeadModel",)),
        (336, "model.torch_dtype", None),
        (336, "precision.half_weights", None),
        (385, "model.name", "output_qwen_merged"),
        (385, "model.architecture", None),
    ],
    # all three load the model once more at the end, which is no part of the training
    f"{_PEFT}Finetune_flan_t5_large_bnb_peft.ipynb": [
        (301, "model.name", "google/flan-t5-large"),
        (301, "model.architecture", ("T5ForConditionalGeneration",)),
        (303, "quantization.method", "bitsandbytes"),
        (303, "quantization.bits", 8),
        (342, "peft.prepare_model_for_kbit_training", True),
        (342, "training.checkpointing_before_peft", True),
        (396, "peft.method", "lora"),
        (397, "peft.all_linear", False),
        (397, "peft.dropout", 0.05),
        (397, "peft.task_type", "SEQ_2_SEQ_LM"),
        (397, "peft.names_task", True),
        (397, "peft.attention_only", False),
        (629, "training.framework", "transformers.Trainer"),
        (631, "training.evaluates", True),
        (633, "training.gradient_accumulation_steps", 1),
        (634, "training.auto_find_batch_size", True),
        (635, "training.num_train_epochs", 1.0),
        (645, "model.use_cache", False),
    ],
    f"{_PEFT}Finetune_opt_bnb_peft.ipynb": [
        (225, "model.name", "facebook/opt-6.7b"),
        (225, "model.architecture", ("OPTForCausalLM",)),
        (225, "quantization.method", "bitsandbytes"),
        (225, "quantization.bits", 8),
        (255, "peft.prepare_model_for_kbit_training", True),
        (255, "training.checkpointing_before_peft", True),
        (314, "peft.method", "lora"),
        (315, "peft.all_linear", False),
        (315, "peft.dropout", 0.05),
        (315, "peft.task_type", "CAUSAL_LM"),
        (315, "peft.names_task", True),
        (315, "peft.attention_only", True),
        (1209, "training.framework", "transformers.Trainer"),
        (1213, "training.per_device_train_batch_size", 4),
        (1214, "training.gradient_accumulation_steps", 4),
        (1216, "training.max_steps", 200),
        (1218, "precision.mode", "fp16"),
        (1222, "data.collator", "DataCollatorForLanguageModeling"),
        (1224, "model.use_cache", False),
    ],
    f"{_PEFT}peft_bnb_whisper_large_v2_training.ipynb": [
        (135, "data.loading_script", True),
        (1108, "model.architecture", ("WhisperForConditionalGeneration",)),
        (1108, "model.name", "openai/whisper-large-v2"),
        (1108, "quantization.method", "bitsandbytes"),
        (1108, "quantization.bits", 8),
        (1160, "peft.prepare_model_for_kbit_training", True),
        (1160, "training.checkpointing_before_peft", True),
        (1198, "peft.all_linear", False),
        (1198, "peft.dropout", 0.05),
        (1198, "peft.method", "lora"),
        (1198, "peft.attention_only", True),
        (1243, "training.framework", "transformers.Trainer"),
        (1245, "training.per_device_train_batch_size", 8),
        (1246, "training.gradient_accumulation_steps", 1),
        (1249, "training.num_train_epochs", 3.0),
        (1250, "training.evaluates", True),
        (1251, "precision.mode", "fp16"),
        (1252, "training.per_device_eval_batch_size", 8),
        (1256, "training.label_names", True),
        (1325, "data.collator", "DataCollatorSpeechSeq2SeqWithPadding"),
        (1330, "model.use_cache", False),
    ],
    "huggingface__trl__f2cd5771__examples__notebooks__sft_nemotron_3.ipynb": [
        # this cell is one string, and so one line of the file
        (319, "model.attn_implementation", "eager"),
        (319, "model.torch_dtype", "bfloat16"),
        (319, "precision.half_weights", True),
        (319, "quantization.method", "none"),
        (319, "quantization.bits", 16),
        (319, "model.name", "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"),
        (319, "model.architecture", None),
        (342, "peft.method", "lora"),
        (345, "peft.all_linear", False),
        (345, "peft.attention_only", False),
        (376, "training.method", "sft"),
        (376, "training.framework", "trl"),
        (378, "training.per_device_train_batch_size", 1),
        (379, "training.gradient_accumulation_steps", 4),
        (380, "training.num_train_epochs", 1.0),
        (382, "optimizer.name", "paged_adamw_8bit"),
        (382, "optimizer.library", "bitsandbytes"),
        (390, "data.sequence_length", 128),
        (390, "data.truncated", True),
        (391, "training.gradient_checkpointing", False),
        (419, "peft.given_to_trainer", True),
    ],
    "instructlab__instructlab__2d734099__notebooks__Training_a_LoRA_With_Instruct_Lab.ipynb": [
        (266, "model.name", "instructlab/merlinite-7b-lab"),
        (266, "model.architecture", None),
        (268, "data.pad_is_eos", True),
        (274, "data.ends_with_eos", True),
        (351, "quantization.method", "bitsandbytes"),
        (351, "quantization.bits", 4),
        (353, "quantization.double_quant", True),
        (578, "peft.dropout", 0.1),
        (584, "peft.method", "lora"),
        (589, "peft.task_type", "CAUSAL_LM"),
        (589, "peft.names_task", True),
        (590, "peft.all_linear", False),
        (590, "peft.attention_only", True),
        (636, "training.per_device_train_batch_size", 1),
        (641, "training.num_train_epochs", 5.0),
        (643, "precision.mode", "fp16"),
        (669, "data.sequence_length", 300),
        (670, "training.method", "sft"),
        (670, "peft.given_to_trainer", True),
        (670, "training.framework", "trl"),
        (676, "data.collator", "DataCollatorForCompletionOnlyLM"),
        (682, "model.use_cache", False),
    ],
}
# It only starts scripts.
NO_TRAINING = "philschmid__deep-learning-pytorch-huggingface__59b37973__training__rl-with-llms-in-2025-dpo.ipynb"

SYMBOLS = {
    f"{_PEFT}Finetune_opt_bnb_peft.ipynb": {
        "peft.get_peft_model",
        "peft.PeftModel.from_pretrained",
        "transformers.AutoModelForCausalLM.from_pretrained",
        "transformers.DataCollatorForLanguageModeling",
    },
    "huggingface__trl__f2cd5771__examples__notebooks__sft_nemotron_3.ipynb": {"trl.SFTTrainer", "peft.LoraConfig"},
}


def context_of(corpus: Path, name: str) -> Context:
    path = corpus / "notebook" / name
    if not path.is_file():
        pytest.skip(f"the corpus has no {name}")
    return scan(read_document(path, name))


@pytest.mark.parametrize("name", REVIEWED)
def test_reviewed_settings(corpus: Path, name: str) -> None:
    context = context_of(corpus, name)
    found = [(one.location.line, one.key, one.value) for one in context.settings if one.key not in NAMES]
    assert found == REVIEWED[name]
    assert context.skipped == ()
    assert context.run is any(key == "training.framework" for _, key, _ in REVIEWED[name])


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols(corpus: Path, name: str) -> None:
    listed = next(one.value for one in context_of(corpus, name).settings if one.key == "code.symbols")
    assert isinstance(listed, tuple)
    assert SYMBOLS[name] <= set(listed)


def test_a_notebook_that_trains_nothing_itself(corpus: Path) -> None:
    with pytest.raises(Malformed, match="imports no library for training"):
        context_of(corpus, NO_TRAINING)


def test_every_notebook_is_reviewed(corpus: Path) -> None:
    assert {path.name for path in (corpus / "notebook").iterdir()} == {*REVIEWED, NO_TRAINING}
