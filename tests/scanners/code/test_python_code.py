"""The fixtures are written by hand, in the ways in which people write training programs."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.scanners.code.python_code import FEEDS, scan
from gradcompat.scanners.registry import candidates
from gradcompat.terms.comparison import texts
from gradcompat.vocabulary import KEYS
from tests.scanners.scanned import stated

FIXTURES = Path(__file__).parents[2] / "fixtures" / "scanners" / "python"
# Two tokenizers, one of which a trainer gets.
TOKENIZERS = (
    "from transformers import AutoTokenizer\ntokenizer = AutoTokenizer.from_pretrained('a')\n"
    "other = AutoTokenizer.from_pretrained('b')\nFoo(processing_class=tokenizer)\n"
)
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


Row = tuple[int | None, int | None, str, SettingValue | None, str | None]
Fact = tuple[int | None, str, SettingValue | None]


def of_file(name: str) -> Context:
    return scan(read_document(FIXTURES / name, name))


def of_text(text: str) -> Context:
    return scan(Document("x.py", text))


def rows(context: Context) -> list[Row]:
    return [
        (one.location.line, one.location.column, one.key, one.value, one.spelling)
        for one in context.settings
        if one.key not in ("code.symbols", "code.calls") and not one.presumed
    ]


def facts(text: str) -> list[Fact]:
    settings = of_text(text).settings
    return [
        (one.location.line, one.key, one.value)
        for one in settings
        if one.key not in ("code.symbols", "code.calls") and not one.presumed
    ]


def presumed(text: str) -> dict[str, SettingValue | None]:
    return {one.key: one.value for one in of_text(text).settings if one.presumed}


def symbols(text: str) -> tuple[str, ...]:
    found = [one.value for one in of_text(text).settings if one.key == "code.symbols" and one.value is not None]
    assert len(found) <= 1
    value = found[0] if found else ()
    assert isinstance(value, tuple)
    return value


def test_trainer_with_an_adapter() -> None:
    context = of_file("trainer_lora.py")
    assert rows(context) == [
        (8, 8, "model.name", "Qwen/Qwen2-7B", "NAME = {}"),
        (8, 8, "model.architecture", ("Qwen2ForCausalLM",), None),
        (9, 9, "training.gradient_accumulation_steps", 8, "STEPS = {}"),
        (14, 27, "data.pad_is_eos", True, None),
        (17, 21, "model.torch_dtype", "bfloat16", "torch_dtype={}"),
        (17, 21, "precision.half_weights", True, None),
        (18, 29, "model.attn_implementation", "flash_attention_2", "attn_implementation={}"),
        # what is not there, in a program that hides nothing
        (20, 13, "training.enable_input_require_grads", False, None),
        (20, 13, "peft.prepare_model_for_kbit_training", False, None),
        (20, 13, "training.checkpointing_before_peft", False, None),
        (20, 35, "peft.method", "lora", None),
        (20, 35, "peft.attention_only", True, None),  # what PEFT chooses
        (20, 67, "peft.modules_to_save", True, None),
        (20, 67, "peft.overlapping_modules", False, None),
        (21, 17, "training.framework", "transformers.Trainer", None),
        (24, 37, "training.per_device_train_batch_size", 1, "per_device_train_batch_size={}"),
        (25, 32, "training.gradient_checkpointing", True, "gradient_checkpointing={}"),
        (26, 57, "training.use_reentrant", True, '"use_reentrant": {}'),
        (28, 14, "precision.mode", "bf16", None),
        (29, 15, "optimizer.name", "adamw_torch_fused", "optim={}"),
        (29, 15, "optimizer.library", "torch", None),
        (29, 15, "optimizer.fused", True, None),
        (31, 31, "training.max_grad_norm", 0.5, "arguments.max_grad_norm = {}"),
        (33, 42, "training.resume_from_checkpoint", True, None),
    ]
    assert (context.kind, context.run, context.refers_to) == (
        "python",
        True,
        ("Qwen/Qwen2-7B/tokenizer_config.json", "Qwen/Qwen2-7B/config.json"),
    )
    assert context.skipped == ()


@pytest.mark.parametrize(
    "by_hand",
    ["automatic_optimization = False", "@property\n    def automatic_optimization(self):\n        return False"],
)
def test_a_lightning_module_turns_automatic_optimization_off_in_its_body(by_hand: str) -> None:
    program = f"""import pytorch_lightning as pl
class Net(pl.LightningModule):
    {by_hand}
    def training_step(self, batch, i):
        self.optimizers().step()
pl.Trainer().fit(Net())
"""
    assert (3 + by_hand.startswith("@"), "training.manual_optimization", True) in facts(program)


def test_lightning() -> None:
    assert rows(of_file("lightning_adafactor.py")) == [
        (6, 1, "training.framework", "lightning", None),
        (9, 22, "model.architecture", ("LlavaForConditionalGeneration",), None),
        (9, 81, "model.name", "somebody/model", None),
        (11, 5, "training.batch_idx", True, None),
        (11, 5, "training.manual_optimization", False, None),
        (15, 16, "optimizer.name", "adafactor", None),
        (15, 16, "optimizer.library", "transformers", None),
        (15, 16, "optimizer.groups", "one", None),
        (15, 71, "optimizer.weight_decay", 0.1, "weight_decay={}"),
        (19, 29, "training.gradient_accumulation_steps", 4, "accumulate_grad_batches={}"),
        (20, 15, "precision.mode", "bf16", None),
        (21, 14, "distributed.strategy", "ddp", None),
        (21, 49, "distributed.find_unused_parameters", False, "find_unused_parameters={}"),
        (22, 23, "training.max_grad_norm", 1.0, "gradient_clip_val={}"),
        (23, 24, "training.validation_inside_epoch", True, None),
        (25, 33, "training.resume_from_checkpoint", True, None),
    ]


def test_loop_by_hand() -> None:
    context = of_file("loop_by_hand.py")
    assert rows(context) == [
        (15, 41, "precision.tf32", True, "torch.backends.cuda.matmul.allow_tf32 = {}"),
        (16, 15, "training.framework", "accelerate", None),
        (16, 55, "training.gradient_accumulation_steps", None, "gradient_accumulation_steps={}"),  # the command line's
        (16, 83, "precision.mode", "fp16", "mixed_precision={}"),
        (17, 9, "training.torch_compile", True, None),
        (17, 23, "distributed.strategy", "ddp", None),
        (19, 13, "optimizer.name", "paged_lion_32bit", None),
        (19, 13, "optimizer.library", "bitsandbytes", None),
        (19, 13, "optimizer.groups", "one", None),
        (19, 71, "optimizer.weight_decay", 0.1, "weight_decay={}"),
        (24, 53, "training.max_grad_norm", 1.0, None),
        (27, 5, "training.gradient_checkpointing", None, None),  # in a branch
    ]
    assert context.settings[-1] != context.settings[0]
    assert context.run
    assert context.skipped == (
        Skipped(
            what=".data",
            reason="is part of this project, and is not found in it",
            gap=False,
            location=Location(path="loop_by_hand.py", line=9),
        ),
    )


def test_programs_of_keras_are_runs() -> None:
    fitted = """
import keras

model = keras.Sequential([keras.layers.Dense(10)])
model.compile(optimizer=keras.optimizers.Adam(1e-3, gradient_accumulation_steps=4), loss="mse")
model.fit(x, y, epochs=3)
"""
    found = {
        one.key: (one.value, one.presumed)
        for one in of_text(fitted).settings
        if one.key not in ("code.symbols", "code.calls")
    }
    assert of_text(fitted).run
    assert found == {
        "training.framework": ("keras", False),
        "training.gradient_accumulation_steps": (4, False),
        "optimizer.weight_decay": (0.0, True),
    }
    tape = "import tensorflow as tf\nwith tf.GradientTape() as tape: ...\nopt.apply_gradients(zip(grads, weights))\n"
    assert of_text(tape).run
    batches = "import keras\nmodel = keras.Sequential([])\nfor x, y in batches:\n    model.train_on_batch(x, y)\n"
    assert of_text(batches).run
    assert not of_text("import keras\nprint(keras.models.load_model('m.keras').predict(x))\n").run


def test_frozen_embeddings() -> None:
    assert rows(of_file("frozen_embeddings.py")) == [
        (5, 15, "training.framework", "accelerate", None),
        (5, 43, "precision.mode", "bf16", "mixed_precision={}"),
        (5, 79, "training.gradient_accumulation_steps", 2, "gradient_accumulation_steps={}"),
        (6, 9, "model.architecture", ("LlamaForCausalLM",), None),
        (6, 42, "model.name", "meta-llama/Llama-2-7b-hf", None),
        (7, 1, "training.gradient_checkpointing", True, None),
        (7, 85, "training.use_reentrant", True, '"use_reentrant": {}'),
        (9, 5, "training.frozen_embeddings", True, None),
        (9, 5, "training.enable_input_require_grads", False, None),
        (10, 13, "optimizer.name", "adamw_torch", None),
        (10, 13, "optimizer.library", "torch", None),
        (10, 13, "optimizer.groups", "one", None),
        (10, 45, "optimizer.fused", True, "fused={}"),
    ]


WRAPPED = """\
from transformers import AutoModelForCausalLM, Trainer
from peft import get_peft_model
model = AutoModelForCausalLM.from_pretrained(name)
{before}
model = get_peft_model(model, config)
{after}
trainer = Trainer(model=model)
trainer.train()
"""
HOOK = "training.enable_input_require_grads"
ORDER = "training.checkpointing_before_peft"


@pytest.mark.parametrize(
    ("program", "prepared"),
    [
        ("model = load('gpt2')\nSFTTrainer(get_peft_model(model, config)).train()", [False]),
        ("model = load('gpt2')\nSFTTrainer(model, peft_config=config).train()", []),
        ("model = load('gpt2', load_in_4bit=True)\nSFTTrainer(get_peft_model(model, config)).train()", []),
    ],
)
def test_trl_prepares_no_model_in_full_precision(program: str, prepared: list[bool]) -> None:
    head = (
        "from trl import SFTTrainer\nfrom peft import get_peft_model\nfrom transformers import AutoModelForCausalLM\n"
    )
    found = facts(head + program.replace("load(", "AutoModelForCausalLM.from_pretrained("))
    assert [value for _, key, value in found if key == "peft.prepare_model_for_kbit_training"] == prepared


@pytest.mark.parametrize("module", ["embed_tokens", "wte", "q_proj"])
def test_an_adapter_of_the_embeddings(module: str) -> None:
    found = facts(f"import peft\npeft.LoraConfig(target_modules=['v_proj', {module!r}])\n")
    assert ((2, HOOK, True) in found) is (module != "q_proj")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", {HOOK: False}),
        ("", "model.enable_input_require_grads()", {HOOK: True}),
        ("if hasattr(model, 'enable_input_require_grads'): pass", "", {}),
        ("", "if training_args.gradient_checkpointing:\n    model.enable_input_require_grads()", {HOOK: True}),
        ("", "if args.bits == 4:\n    model.enable_input_require_grads()", {HOOK: None}),
        ("", "if hasattr(model, 'enable_input_require_grads'):\n    model.enable_input_require_grads()", {HOOK: True}),
        ("", "if args.gradient_checkpointing:\n    pass\nelse:\n    model.enable_input_require_grads()", {HOOK: None}),
        (
            "",
            "if args.gradient_checkpointing:\n    if args.lora:\n        model.enable_input_require_grads()",
            {HOOK: None},
        ),
        (
            "",
            "if args.gradient_checkpointing:\n"
            "    if hasattr(model, 'enable_input_require_grads'):\n        model.enable_input_require_grads()\n"
            "    else:\n        hook()",
            {HOOK: True},
        ),
        (
            "model.get_input_embeddings().register_forward_hook(lambda _, i, o: o.requires_grad_(True))",
            "",
            {HOOK: True},
        ),
        ("model.get_input_embeddings().register_forward_hook(add_noise)", "", {}),
        ("", "model.get_input_embeddings().weight.requires_grad = True", {HOOK: True}),
        ("", "model.get_input_embeddings().requires_grad_(True)", {HOOK: True}),
        (
            "",
            "for name, one in model.named_parameters():\n"
            "    if 'embed' in name or 'norm' in name:\n        one.requires_grad = True",
            {HOOK: True},
        ),
        (
            "",
            "for name, one in model.named_parameters():\n    if 'lora_' in name:\n        one.requires_grad = True",
            {HOOK: False},
        ),
        (
            "for n, p in model.named_parameters():\n"
            "    if 'embed' in n or 'head' in n:\n        p.requires_grad = True",
            "",
            {HOOK: True},
        ),
        ("for p in model.parameters():\n    p.requires_grad = True", "", {}),
        ("for p in model.embeddings.parameters():\n    p.requires_grad = True", "", {HOOK: True}),
        (
            "for n, p in model.named_parameters():\n    if 'lora' in n:\n        p.requires_grad = True",
            "",
            {HOOK: False},
        ),
        ("for p in model.head.parameters():\n    p.requires_grad = True", "", {HOOK: False}),
        ("from .models import change", "", {}),
        ("model.project_in = lambda x: x.requires_grad_(True)", "", {}),
        ("from somewhere import change", "change(model)", {}),
        ("def change(model): pass", "change(model)", {HOOK: False}),
        ("import trl", "", {}),
        ("model.gradient_checkpointing_enable()", "", {HOOK: False, ORDER: True}),
        ("", "model.gradient_checkpointing_enable()", {HOOK: False, ORDER: False}),
        ("if x: model.gradient_checkpointing_enable()", "", {HOOK: False, ORDER: None}),
        (
            "if args.gradient_checkpointing:\n    model.gradient_checkpointing_enable()",
            "",
            {HOOK: False, ORDER: True},
        ),
        ("parser = HfArgumentParser((Model, TrainingArguments))", "", {HOOK: False, ORDER: False}),
        ("model.enable_gradient_checkpointing()", "model.gradient_checkpointing_enable()", {HOOK: False, ORDER: True}),
    ],
)
def test_absence_and_order(before: str, after: str, expected: dict[str, bool | None]) -> None:
    found = {key: value for _, key, value in facts(WRAPPED.format(before=before, after=after)) if key in (HOOK, ORDER)}
    assert found == expected


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("model, args = HfArgumentParser((ModelConfig, RewardConfig)).parse_args_into_dataclasses()", True),
        ("parser = TrlParser((ModelConfig, RewardConfig))\nmodel, args = parser.parse_args_and_config()", True),
        ("parser = HfArgumentParser(RewardConfig)\nargs = parser.parse_args_into_dataclasses()[0]", True),
        ("parser = HfArgumentParser((ModelConfig, Own))\n_, args = parser.parse_args_into_dataclasses()", True),
        (
            "parser = HfArgumentParser((RewardConfig, ModelConfig))\n_, args = parser.parse_args_into_dataclasses()",
            False,
        ),
        ("parser = HfArgumentParser(RewardConfig)\n*_, args = parser.parse_args_into_dataclasses()", False),
        ("parser = ArgumentParser()\nother, args = parser.parse_known_args()", False),
    ],
)
def test_what_is_put_into_parsed_arguments_is_said(program: str, said: bool) -> None:
    """TRL's example of a reward model does so, with what a command cannot say."""
    text = (
        "from argparse import ArgumentParser\nfrom transformers import HfArgumentParser\n"
        "from trl import ModelConfig, RewardConfig, TrlParser\nclass Own(RewardConfig):\n    beta: float = 0.1\n"
        f"{program}\nargs.gradient_checkpointing_kwargs = dict(use_reentrant=False)\n"
    )
    assert (("training.use_reentrant", False) in {(key, value) for _, key, value in facts(text)}) is said


def test_what_the_arguments_of_the_trainer_say_is_not_said_twice() -> None:
    """LLaVA's training program hands them on so; the value stands on the command line."""
    prepare = "from peft import prepare_model_for_kbit_training as prepare\n"
    key = "training.gradient_checkpointing"
    passed = prepare + "prepare(model, use_gradient_checkpointing={})"
    assert key not in {name for _, name, _ in facts(passed.format("training_args.gradient_checkpointing"))}
    assert (2, key, None) in facts(passed.format("config.gradient_checkpointing"))
    assert (2, key, None) in facts(passed.format("training_args.bf16"))
    made = "from transformers import TrainingArguments\nTrainingArguments(gradient_checkpointing={})"
    assert (2, key, None) in facts(made.format("training_args.gradient_checkpointing"))


@pytest.mark.parametrize(
    "passed",
    [
        "prepare_model_for_kbit_training(model, gradient_checkpointing_kwargs=args.gradient_checkpointing_kwargs)",
        "prepare_model_for_kbit_training(model, **options)",
    ],
)
@pytest.mark.parametrize(("kind", "said"), [("RewardConfig", True), ("Options", False)])
def test_arguments_of_a_trainer_that_a_function_passes_on_are_said_where_they_are_made(
    passed: str, kind: str, said: bool
) -> None:
    program = (
        "from peft import prepare_model_for_kbit_training\nfrom trl import RewardConfig\nfrom mine import Options\n"
        f"def wrap(model, args: {kind}):\n    options = {{}}\n    if args.gradient_checkpointing_kwargs is not None:\n"
        '        options["gradient_checkpointing_kwargs"] = args.gradient_checkpointing_kwargs\n'
        f"    return {passed}\n"
    )
    assert ("training.use_reentrant" in {name for _, name, _ in facts(program)}) is not said


@pytest.mark.parametrize(
    ("arguments", "takes"),
    [
        ("self, batch, batch_idx", True),
        ("self, batch, number", True),
        ("self, *args", True),
        ("self, batch_idx", True),
        ("self, batch", False),
        ("self, batch, *, batch_idx=0", False),
        ("self, batch, **kwargs", False),
    ],
)
def test_whether_lightning_gives_a_step_the_number_of_its_batch(arguments: str, takes: bool) -> None:
    """As `is_param_in_hook_signature(…, "batch_idx", min_args=2)` of 1.7.0 to 2.0.9 decides."""
    code = f"import lightning as L\nclass M(L.LightningModule):\n    def training_step({arguments}):\n        return 1"
    assert (3, "training.batch_idx", takes) in facts(code)


def test_a_trainer_of_sentence_transformers_is_a_run_of_its_own() -> None:
    context = of_text(
        "from sentence_transformers import SentenceTransformerTrainer as T, SentenceTransformerTrainingArguments as A\n"
        "T(model, A('out', gradient_accumulation_steps=4)).train()"
    )
    stated = {one.key: one.value for one in context.settings if one.key not in ("code.symbols", "code.calls")}
    assert context.run
    assert stated == {"training.framework": "sentence-transformers", "training.gradient_accumulation_steps": 4}


OWN = """\
from transformers import AutoModelForCausalLM, Trainer
{before}
class Own(Trainer):
    def __init__(self, **kw):
        super().__init__(**kw)
        {init}
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        {body}
model = AutoModelForCausalLM.from_pretrained("gpt2")
Own(model=model).train()
"""
WRAPPER = "import torch\nclass Mine(torch.nn.Module):\n    pass"


@pytest.mark.parametrize(
    ("name", "written", "alone"),
    [
        ("gpt2", "get_input_embeddings()", True),
        ("google-bert/bert-base-uncased", "bert.embeddings.word_embeddings", True),
        ("google-bert/bert-base-uncased", "bert.embeddings", False),
        ("Qwen/Qwen3-0.6B", "get_input_embeddings()", False),
    ],
)
def test_a_table_that_trained_positions_are_added_to(name: str, written: str, alone: bool) -> None:
    text = (
        "from transformers import AutoModel, Trainer\n"
        f"model = AutoModel.from_pretrained('{name}')\nmodel.{written}.requires_grad_(False)\nTrainer(model).train()\n"
    )
    assert ("training.frozen_embeddings", True) in [row[1:] for row in facts(text)]
    assert ("torch.nn.Parameter.frozen_table" in symbols(text)) is alone


@pytest.mark.parametrize(
    ("before", "init", "body", "expected"),
    [
        ("", "pass", "return model(**inputs).loss", True),
        ("", "pass", "return super().compute_loss(model, inputs)", True),
        ("", "pass", "return super().compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)", "its own"),
        ("", "pass", "return super().compute_loss(model, inputs, False, num_items_in_batch)", "its own"),
        ("", "pass", "return super().compute_loss(model, inputs) * self.weight(num_items_in_batch)", "its own"),
        ("", "self.model_accepts_loss_kwargs = False", "return super().compute_loss(model, inputs)", "its own"),
        ("", "pass", "return model(**inputs, num_items_in_batch=num_items_in_batch).loss", False),
        ("", "pass", "return model(**inputs).loss / self.args.gradient_accumulation_steps", False),
        ("", "self.model_accepts_loss_kwargs = False", "return model(**inputs).loss", False),
        (WRAPPER, "pass", "return model(**inputs).loss", None),
        ("", "pass", "return weigh(model(**inputs).logits, inputs['labels'])", True),
        ("", "pass", "return contrast(model(**inputs['left']), model(**inputs['right']))", None),
    ],
)
def test_a_loss_of_the_projects_own(before: str, init: str, body: str, expected: bool | str | None) -> None:
    found = {key: value for _, key, value in facts(OWN.format(before=before, init=init, body=body))}
    own = {key: found[key] for key in ("training.custom_compute_loss", "data.unequal_labels") if key in found}
    assert own == (
        {} if expected == "its own" else {"training.custom_compute_loss": expected, "data.unequal_labels": None}
    )


@pytest.mark.parametrize(
    ("body", "divides"),
    [
        ("return f(model(**inputs).logits).sum() / num_items_in_batch", [True]),
        (
            "loss = model(**inputs).loss\n        loss /= self.args.gradient_accumulation_steps\n        return loss",
            [None],
        ),
        ("return model(**inputs, num_items_in_batch=num_items_in_batch).loss", []),
        ("return super().compute_loss(model, inputs) / num_items_in_batch", []),
    ],
)
def test_a_loss_of_the_projects_own_divides_in_the_place_of_the_model(body: str, divides: list[bool | None]) -> None:
    found = facts(OWN.format(before="", init="pass", body=body))
    assert [value for _, key, value in found if key == "model.uses_num_items_in_batch"] == divides


OWN_LOOP = """\
import torch
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda").train()
optimizer = torch.optim.SGD(model.parameters())
for batch in loader:
    outputs = model(**batch)
    loss = {loss}
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "stated"),
    [
        ("torch.nn.functional.cross_entropy(outputs.logits, batch['labels'])", [False]),
        ("outputs.loss", []),
        ("outputs.loss.mean()", []),
        ("outputs['loss']", []),
        ("outputs[0]", []),
    ],
)
def test_a_loop_takes_its_loss_from_the_model_or_does_not(loss: str, stated: list[bool]) -> None:
    found = facts(OWN_LOOP.format(loss=loss))
    assert [value for _, key, value in found if key == "model.returns_loss"] == stated


RESUMING = """\
import argparse
from accelerate import Accelerator
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
args = parser.parse_args()
accelerator = Accelerator()
{line}
"""


@pytest.mark.parametrize(
    ("line", "by_option"),
    [
        ("if args.resume:\n    accelerator.load_state(find(args.resume))", True),
        ("if args.resume is not None:\n    accelerator.load_state(args.resume)", True),
        ("if found:\n    accelerator.load_state(args.resume)", False),
        ("if args.resume:\n    other.load_state(args.resume)", None),
    ],
)
def test_an_option_guards_what_resumes(line: str, by_option: bool | None) -> None:
    context = of_text(RESUMING.format(line=line))
    stated = [one.value for one in context.settings if one.key == "training.resume_from_checkpoint"]
    assert stated == ([] if by_option is None else [None])
    assert [one.flags for one in context.defaults] == ([("resume",)] if by_option else [])


@pytest.mark.parametrize(
    ("trained", "resumes"),
    [
        ("trainer.train()", None),  # what the arguments name, the Trainer does not look at
        ("trainer.train(resume_from_checkpoint=arguments.resume_from_checkpoint)", True),
        ("last = arguments.resume_from_checkpoint\ntrainer.train(last)", True),
        ("trainer.train(resume_from_checkpoint=True)", True),
        ("launch(trainer)", True),
    ],
)
def test_a_trainer_goes_on_from_what_train_is_given(trained: str, resumes: bool | None) -> None:
    text = (
        "from transformers import Trainer, TrainingArguments\n"
        "arguments = TrainingArguments('out', resume_from_checkpoint='out/checkpoint-5')\n"
        f"trainer = Trainer(model=model, args=arguments)\n{trained}\n"
    )
    stated = [one.value for one in of_text(text).settings if one.key == "training.resume_from_checkpoint"]
    assert (True in stated) is bool(resumes), stated


AVERAGING = """\
import argparse
from diffusers.training_utils import EMAModel
parser = argparse.ArgumentParser()
parser.add_argument("--use_ema", action="store_true")
args = parser.parse_args()
{line}
"""


@pytest.mark.parametrize(
    ("line", "stated", "flags"),
    [
        ("ema = EMAModel(weights)", [True], []),
        ("if args.use_ema:\n    ema = EMAModel(weights)", [None], [("use_ema",)]),
        ("if wanted:\n    ema = EMAModel(weights)", [None], []),
        ("if args.use_ema:\n    print(weights)", [], []),
    ],
)
def test_an_option_says_whether_an_average_is_kept(
    line: str, stated: list[bool | None], flags: list[tuple[str, ...]]
) -> None:
    context = of_text(AVERAGING.format(line=line))
    assert [one.value for one in context.settings if one.key == "training.weight_average"] == stated
    assert [one.flags for one in context.defaults] == flags


@pytest.mark.parametrize(
    "text",
    [
        "import optax\nupdates, state = tx.update(grads, state)\nparams = optax.apply_updates(params, updates)\n",
        "import transformers\nloss.backward()\noptimizer.step()\n",
    ],
)
def test_a_loop_trains_whichever_library_is_named(text: str) -> None:
    assert of_text(text).run
    assert not of_text(text.rpartition("\n")[0].rpartition("\n")[0] + "\n").run


@pytest.mark.parametrize(
    ("signature", "refuses"),
    [
        ("self, model, inputs, return_outputs=False", True),
        ("self, model, inputs, return_outputs=False, num_items_in_batch=None", False),
        ("self, model, inputs, return_outputs=False, *, num_items_in_batch", False),
        ("self, model, inputs, return_outputs=False, **kwargs", False),
        ("self, *given", True),
    ],
)
@pytest.mark.parametrize("body", ["return model(**inputs).loss", "return super().compute_loss(model, inputs)"])
def test_a_loss_that_the_trainer_cannot_tell_its_count(signature: str, refuses: bool, body: str) -> None:
    text = (
        "from transformers import AutoModelForCausalLM, Trainer\n"
        "class Own(Trainer):\n"
        f"    def compute_loss({signature}):\n        {body}\n"
        "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
        "Own(model=model).train()\n"
    )
    found = {key: value for _, key, value in facts(text)}
    assert ("transformers.Trainer.compute_loss.without_num_items_in_batch" in symbols(text)) is refuses
    if refuses and "super" not in body:
        assert found["training.custom_compute_loss"] is False  # it stops, and trains nothing wrongly
        assert found["model.uses_num_items_in_batch"] is None  # nor does it hand the count on


@pytest.mark.parametrize(
    ("signature", "refuses"),
    [
        ("self, model, inputs", True),
        ("self, model, inputs, **kwargs", True),
        ("self, model, inputs, num_items_in_batch=None", False),
        ("self, model, inputs, n=None", False),
        ("self, *given", False),
        ("self, model, inputs, *rest", False),
    ],
)
@pytest.mark.parametrize(
    "body", ["return self.compute_loss(model, inputs)", "return super().training_step(model, inputs)"]
)
def test_a_step_that_has_no_place_for_the_count(signature: str, refuses: bool, body: str) -> None:
    text = (
        "from transformers import Trainer\n"
        "class Own(Trainer):\n"
        f"    def training_step({signature}):\n        {body}\n"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer.training_step.without_num_items_in_batch" in symbols(text)) is refuses


@pytest.mark.parametrize(
    ("base", "more", "told"),
    [
        ("Trainer", "", True),
        ("Seq2SeqTrainer", "", True),
        ("Trainer", "    def create_scheduler(self, num_training_steps, optimizer=None):\n        pass\n", False),
        ("Trainer", "    def prepare(self):\n        self.create_optimizer_and_scheduler(10)\n", False),
        ("PPOTrainer", "", False),
    ],
)
def test_an_optimizer_and_a_schedule_that_are_made_at_once(base: str, more: str, told: bool) -> None:
    text = (
        "from transformers import Seq2SeqTrainer, Trainer\n"
        "from trl import PPOTrainer\n"
        f"class Own({base}):\n"
        "    def create_optimizer_and_scheduler(self, num_training_steps):\n"
        "        super().create_optimizer_and_scheduler(num_training_steps)\n"
        "        self.optimizer.param_groups[0]['lr'] = 1\n"
        f"{more}"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer.create_optimizer_and_scheduler.own" in symbols(text)) is told


def test_a_step_behind_a_decorator_may_have_another_signature() -> None:
    text = (
        "from transformers import Trainer\nclass Own(Trainer):\n    @wrapped\n"
        "    def training_step(self, model, inputs):\n        return 0\nOwn(model=model).train()\n"
    )
    assert "transformers.Trainer.training_step.without_num_items_in_batch" not in symbols(text)


@pytest.mark.parametrize(
    ("signature", "takes"), [("self, model, inputs", False), ("self, model, inputs, n=None", True)]
)
def test_a_step_with_the_count_in_place_of_gliners(signature: str, takes: bool) -> None:
    text = (
        "from gliner.training import Trainer\nclass Own(Trainer):\n"
        f"    def training_step({signature}):\n        return super().training_step(model, inputs)\n"
        "Own(model=model).train()\n"
    )
    assert ("gliner.training.Trainer.training_step.with_num_items_in_batch" in symbols(text)) is takes


@pytest.mark.parametrize(
    ("body", "own"),
    [("return None, logits, inputs['labels']", True), ("return super().prediction_step(model, inputs, only)", False)],
)
def test_a_prediction_step_that_asks_nobody(body: str, own: bool) -> None:
    text = (
        "from transformers import Trainer\nclass Own(Trainer):\n"
        f"    def prediction_step(self, model, inputs, only, ignore_keys=None):\n        {body}\n"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer.prediction_step.own" in symbols(text)) is own


@pytest.mark.parametrize(
    ("body", "own"), [("return my_evaluation(self.model)", True), ("return super().evaluate(*args)", False)]
)
def test_an_evaluation_that_asks_nobody(body: str, own: bool) -> None:
    text = (
        "from trl import GRPOTrainer\nclass Own(GRPOTrainer):\n"
        f"    def evaluate(self, *args):\n        {body}\n"
        "Own(model=model).evaluate()\n"
    )
    assert ("transformers.Trainer.evaluate.own" in symbols(text)) is own


@pytest.mark.parametrize(
    ("body", "own"),
    [("return model(**inputs).loss", True), ("return super().compute_loss(model, inputs)", False)],
)
def test_a_loss_that_asks_nobody(body: str, own: bool) -> None:
    text = (
        "from transformers import Trainer\nclass Own(Trainer):\n"
        f"    def compute_loss(self, model, inputs, return_outputs=False):\n        {body}\n"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer.compute_loss.own" in symbols(text)) is own


@pytest.mark.parametrize(
    ("body", "own"), [("self.optimizer = optimizer", True), ("return super().create_optimizer()", False)]
)
def test_an_optimizer_that_the_trainer_does_not_build(body: str, own: bool) -> None:
    text = (
        "from transformers import Trainer\nclass Own(Trainer):\n"
        f"    def create_optimizer(self):\n        {body}\n"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer.create_optimizer.own" in symbols(text)) is own


@pytest.mark.parametrize(
    ("body", "own"),
    [("return RandomSampler(self.train_dataset)", True), ("return super()._get_train_sampler()", False)],
)
def test_a_trainer_that_samples_by_itself(body: str, own: bool) -> None:
    text = (
        "from transformers import Trainer\nclass Own(Trainer):\n"
        f"    def _get_train_sampler(self):\n        {body}\n"
        "Own(model=model).train()\n"
    )
    assert ("transformers.Trainer._get_train_sampler.own" in symbols(text)) is own


@pytest.mark.parametrize("trainer", ["Trainer", "AbsaTrainer", "SetFitTrainer"])
def test_setfits_trainers_train(trainer: str) -> None:
    context = of_text(f"from setfit import {trainer}\n{trainer}(model=model, train_dataset=data).train()\n")
    assert ("training.framework", "transformers.Trainer") in [(one.key, one.value) for one in context.settings]


@pytest.mark.parametrize(("given", "said"), [("True", False), ("False", None)])
def test_a_dataset_that_is_left_as_it_is_goes_through_no_template(given: str, said: bool | None) -> None:
    context = of_text(
        "from trl import SFTConfig, SFTTrainer\n"
        f"args = SFTConfig('out', dataset_kwargs={{'skip_prepare_dataset': {given}}})\n"
        "SFTTrainer(model=model, args=args).train()\n"
    )
    stated = {one.key: one.value for one in context.settings if one.key not in ("code.symbols", "code.calls")}
    assert stated.get("data.conversational") is said


LOOP = """\
from datasets import IterableDataset, load_dataset
from torch.utils.data import DataLoader
{body}
for batch in loader:
    model(**batch).loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "streaming", "shuffle"),
    [
        ("ds = load_dataset('c4', streaming=True).map(f)", True, False),
        ("ds = load_dataset('c4', streaming=True).map(f).shuffle(seed=1)", True, None),
        ("ds = load_dataset('c4', streaming=True)\nds = shuffled(ds)\nother.shuffle_all()", True, None),
        ("random.shuffle(files)\nds = load_dataset('json', data_files=files, streaming=True)", True, False),
        ("mix = random.shuffle\nds = load_dataset('c4', streaming=True)\nmix(ds)", True, None),
        ("from .data import *\nds = load_dataset('c4', streaming=True)", True, None),
        ("ds = IterableDataset.from_generator(lines).map(f)", True, False),
        ("ds = load_dataset('c4').map(f)", None, None),
    ],
)
def test_a_stream_that_nothing_shuffles(body: str, streaming: bool | None, shuffle: bool | None) -> None:
    found = {key: value for _, key, value in facts(LOOP.format(body=body))}
    assert (found.get("data.streaming"), found.get("data.shuffle")) == (streaming, shuffle)


@pytest.mark.parametrize(
    ("body", "workers"),
    [
        ("loader = DataLoader(ds, batch_size=8)", 0),
        ("loader = DataLoader(ds, batch_size=8, num_workers=4)", 4),
        ("loader, val = DataLoader(ds, num_workers=8), DataLoader(held, num_workers=2)", 2),
        ("loader, val = DataLoader(ds, num_workers=8), DataLoader(held)", None),
        ("loader = DataLoader(ds, num_workers=args.workers)", None),
        ("loader = DataLoader(ds, **options)", None),
        ("import torchdata.stateful_dataloader as s\nloader = s.StatefulDataLoader(ds, num_workers=2)", 2),
        ("loader = DataLoader(ds, 8, True, None, None, 4)", None),
        ("import monai\nloader = monai.data.DataLoader(ds, batch_size=2, num_workers=4)", 4),
        ("from monai.data import DataLoader\nloader = DataLoader(ds, batch_size=2)", 0),
        ("from monai.data import DataLoader\nloader = DataLoader(ds, 4)", None),
        ("from transformers import Trainer\nTrainer(model).train()\nval = DataLoader(held, num_workers=4)", None),
    ],
)
def test_workers_of_the_data_loaders(body: str, workers: int | None) -> None:
    found = {key: value for _, key, value in facts(LOOP.format(body=body))}
    assert found.get("training.dataloader_num_workers") == workers


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("A(seed=7)", 7),
        ("A(seed=3 + 4)", 7),
        ("N = 7\nA(seed=N)", 7),
        ("N = M = 7\nA(seed=M)", 7),
        ("N, M = 1, 7\nA(seed=M)", 7),
        ("if True:\n    A(seed=7)\nelse:\n    A(seed=8)", 7),
        ("FAST = False\nif not FAST:\n    A(seed=7)", 7),
        ("if __name__ == '__main__':\n    A(seed=7)", 7),
        ("with open('x') as f:\n    A(seed=7)", 7),
        ("A(**{'seed': 7})", 7),
        ("kw = dict(seed=7)\nA(**kw)", 7),
        ("kw = {}\nkw['seed'] = 7\nA(**kw)", 7),
        ("kw = dict(lr=1)\nkw.update(seed=7)\nA(**kw)", 7),
        ("kw = {'seed': 8}\nkw.update({'lr': 1})\nkw['seed'] = 7\nA(**kw)", 7),
        ("kw = {}\nwith x:\n    kw['seed'] = 7\nA(**kw)\nkw['seed'] = 8", 7),
        ("kw = {}\nif x:\n    kw['seed'] = 7\nA(**kw)", None),
        ("a = A()\na.seed = 7", 7),
        ("class B(A): pass\nB(seed=7)", 7),
        ("N = 7\nN = 8\nA(seed=N)", None),
        ("N = 7\nN += 1\nA(seed=N)", None),
        ("def f(n=7):\n    A(seed=n)", None),
        ("for n in (7, 8):\n    A(seed=n)", None),
        ("if x:\n    A(seed=7)", None),
        ("try:\n    pass\nexcept E:\n    A(seed=7)", None),
        ("A(seed=f'{7}')", 7),
        ("A(seed=f'{x}')", None),
        ("from config import Config\nA(seed=Config.SEED)", None),
        ("class Config:\n    SEED = 7\nA(seed=Config.SEED)", 7),
        ("A(seed=int('7'))", 7),
        ("A(seed=max(1, 14 // 2))", 7),
        ("A(seed=int(x))", None),
        ("A(seed=int('x'))", None),
        ("A(seed=7 if True else x)", 7),
        ("A(seed=7 if x else 7)", None),
        ("N = 7\nexec(open('x').read())\nA(seed=N)", None),
        ("N = 7\nvars()[name] = 8\nA(seed=N)", None),
        ("N = 7\nprint(vars(args))\nA(seed=N)", 7),
        ("A(seed=7) if x else A()", None),
        ("D = 'mps'\nA(seed=7) if D == 'mps' else A(seed=8)", 7),
        ("D = 'mps'\nif D in ('cuda', 'cpu'):\n    A(seed=8)\nelse:\n    A(seed=7)", 7),
        ("D = 'mps'\nif D not in ('cuda', name):\n    A(seed=7)", None),
        ("def f(d='mps'):\n    if d != 'cuda':\n        A(seed=7)", None),
        ("def f():\n    global N\n    N = 8\nN = 7\nA(seed=N)", None),
    ],
)
def test_literals(code: str, value: int | None) -> None:
    found = facts(f"from transformers import TrainingArguments as A\n{code}\n")
    assert [one for _, key, one in found if key == "training.seed"] == [value]


@pytest.mark.parametrize("filling", ["kw[name] = 7", "kw.update(other)", "kw.update({name: 7})"])
def test_options_that_are_filled_from_elsewhere_are_not_read(filling: str) -> None:
    context = of_text(f"from transformers import TrainingArguments as A\nkw = {{'seed': 7}}\n{filling}\nA(**kw)\n")
    assert [one.what for one in context.skipped] == ["**kw"]


def test_a_config_that_is_computed_makes_no_pipeline() -> None:
    engine = "import deepspeed\nengine, *_ = deepspeed.initialize(model=model, config=made())\n"
    assert [one for _, key, one in facts(engine) if key.startswith("deepspeed.pipeline")] == []
    stages = f"from deepspeed.pipe import PipelineModule\nmodel = PipelineModule(layers, num_stages=made())\n{engine}"
    assert [one for _, key, one in facts(stages) if key.startswith("deepspeed.pipeline")] == [None]


def test_what_is_set_later_than_training_is_no_part_of_it() -> None:
    before = "from transformers import Trainer\nt = Trainer()\nm.config.use_cache = False\n"
    text = f"{before}t.train()\nm.config.use_cache = True\n"
    assert facts(text) == [(2, "training.framework", "transformers.Trainer"), (3, "model.use_cache", False)]
    loop = text.replace("t.train()\n", "for x in y:\n  t.train()\n  m.config.use_cache = True\n")
    assert facts(loop)[2:] == [(6, "model.use_cache", True)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("model.config.attn_logit_softcapping = None", ["(None)"]),
        ("config.attn_logit_softcapping = 30.0", ["(30.0)"]),
        ("layer.attn_logit_softcapping = None", []),
    ],
)
def test_what_is_put_into_the_config_of_a_model_is_a_call_of_the_setting(line: str, expected: list[str]) -> None:
    text = f"from transformers import AutoConfig\nconfig = AutoConfig.from_pretrained('g')\n{line}\nloss.backward()\n"
    name = "transformers.PretrainedConfig.attn_logit_softcapping"
    found = [one.value for one in scan(Document("train.py", text)).settings if one.key == "code.calls"]
    calls = found[0] if found and isinstance(found[0], tuple) else ()
    assert [one.removeprefix(name) for one in calls if one.startswith(name)] == expected


def test_who_asks_for_a_name_with_a_default_does_without_it() -> None:
    assert "torchaudio.info" not in symbols("import torchaudio\ninfo = getattr(torchaudio, 'info', None)\n")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import torch.nn.functional as F\nF.rrelu(x)", "torch.nn.functional.rrelu"),
        ("from torch import nn\nnn.RReLU()", "torch.nn.RReLU"),
        ("import torch\ngetattr(torch.nn, 'RReLU')()", "torch.nn.RReLU"),
        ("import torch\nload = torch.load\nload(x)", "torch.load"),
        (
            "import importlib\ndatasets = importlib.import_module('datasets')\ndatasets.load_dataset('x')",
            "datasets.load_dataset",
        ),
        (
            "from importlib import import_module\nimport_module('unsloth').FastLanguageModel.from_pretrained('x')",
            "unsloth.FastLanguageModel.from_pretrained",
        ),
        ("from transformers import Adafactor as A\nA(p)", "transformers.Adafactor"),
        ("from transformers.optimization import *\nAdafactor(p)", "transformers.optimization.Adafactor"),
        ("import torch\nself.register_buffer('a', b)", "register_buffer"),
        (
            "from transformers import LlamaForCausalLM\nclass M(LlamaForCausalLM):\n"
            "    def _init_weights(self, m):\n        m.weight.data.normal_()\nM.from_pretrained('mine')",
            "transformers.PreTrainedModel._init_weights",
        ),
        (
            "from torch import nn\nfrom transformers import PreTrainedModel\nclass Rope(nn.Module):\n"
            "    def __init__(self):\n        self.register_buffer('f', t, False)\nROPES = {'rope': Rope}\n"
            "class M(PreTrainedModel):\n    def __init__(self, config):\n        self.rope = ROPES[config.rope]()\n"
            "M.from_pretrained('m')",
            "transformers.PreTrainedModel.register_buffer",
        ),
        (
            "from accelerate import Accelerator\na = Accelerator()\na.skip_first_batches(x)",
            "accelerate.Accelerator.skip_first_batches",
        ),
        (
            "import accelerate\nclass T:\n  def __init__(self):\n    self.a = accelerate.Accelerator()\n"
            "  def f(self):\n    self.a.skip_first_batches(x)",
            "accelerate.Accelerator.skip_first_batches",
        ),
        (
            "from datasets import load_dataset\nd = load_dataset('x', streaming=True)\n"
            "d = d.filter(f)\nd.load_state_dict(s)",
            "datasets.IterableDataset.load_state_dict",
        ),
        (
            "from datasets import load_dataset\nd = load_dataset('x')['train'].to_iterable_dataset(num_shards=4)\n"
            "d.load_state_dict(s)",
            "datasets.IterableDataset.load_state_dict",
        ),
        ("import torch\nfrom .data import MultiTurnSFTDataset\nMultiTurnSFTDataset()", ".data.MultiTurnSFTDataset"),
        ("import tensorflow as tf\ntf.distribute.MirroredStrategy()", "tensorflow.distribute.MirroredStrategy"),
    ],
)
def test_symbols(code: str, expected: str) -> None:
    assert expected in symbols(code)


@pytest.mark.parametrize(
    ("code", "set_by_hand"),
    [
        ("for group in optimizer.param_groups:\n    group['lr'] = 1e-4", True),
        ("for g in optimizer.param_groups:\n    g['lr'] = 1e-4", True),
        ("for g in options:\n    g['lr'] = 1e-4", False),
    ],
)
def test_rates_of_groups(code: str, set_by_hand: bool) -> None:
    assert ("group.lr" in symbols(f"import torch\noptimizer = torch.optim.SGD(p)\n{code}")) is set_by_hand


FILLS = "tokenizer.pad_token = tokenizer.eos_token"


@pytest.mark.parametrize(
    ("code", "filled"),
    [
        (f"if tokenizer.pad_token is None:\n    {FILLS}", True),
        (f"if not tokenizer.pad_token:\n    {FILLS}", True),
        (f"if getattr(tokenizer, 'pad_token', None) is None:\n    {FILLS}", True),
        ("if tokenizer.pad_token_id is None:\n    tokenizer.pad_token_id = tokenizer.eos_token_id", True),
        ("tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token", True),
        (f"if x:\n    if tokenizer.pad_token is None:\n        {FILLS}", True),
        (f"if tokenizer.pad_token is None:\n    if x:\n        {FILLS}", False),
        (f"if tokenizer.pad_token is None:\n    pass\nelse:\n    {FILLS}", False),
        (f"if tokenizer.pad_token is None or x:\n    {FILLS}", False),
        (f"if model.config.pad_token_id == 0:\n    {FILLS}", False),
        (FILLS, False),
        ("tokenizer.pad_token = tokenizer.unk_token or tokenizer.eos_token", False),
    ],
)
def test_padding_that_is_put_in_where_there_is_none(code: str, filled: bool) -> None:
    assert ("tokenizer.pad_token.filled" in symbols(TOKENIZERS + code)) is filled


@pytest.mark.parametrize(
    ("code", "replaced"),
    [
        ("tokenizer.eos_token = '<end_of_turn>'", True),
        ("tokenizer.eos_token_id = 106", True),
        ("tokenizer.pad_token = tokenizer.eos_token", False),
        ("model.generation_config.eos_token_id = tokenizer.eos_token_id", False),
    ],
)
def test_an_end_of_sequence_that_is_replaced(code: str, replaced: bool) -> None:
    assert ("tokenizer.eos_token.replaced" in symbols(TOKENIZERS + code)) is replaced


def test_what_is_imported_and_not_used_is_no_symbol() -> None:
    assert symbols("import torch\nfrom transformers import Adafactor\n") == ()
    assert symbols("import torch\ndef f(torch):\n    torch.load(x)\n") == ("load",)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("tokenizer.pad_token = tokenizer.eos_token", [("data.pad_is_eos", True)]),
        ("if tokenizer.pad_token is None:\n    tokenizer.pad_token = tokenizer.eos_token", []),
        ("if x:\n    tokenizer.pad_token = tokenizer.eos_token", [("data.pad_is_eos", None)]),
        ("tokenizer.pad_token = '<pad>'", [("data.pad_is_eos", False)]),
        ("setattr(tokenizer, 'pad_token', '<pad>')", [("data.pad_is_eos", False)]),
        ("setattr(model.config, 'use_cache', False)", [("model.use_cache", False)]),
        ("setattr(model.config, name, False)", []),
        ("model.config.router_aux_loss_coef = 0.0", [("model.output_router_logits", False)]),
        ("if x:\n    model.config.router_aux_loss_coef = 0", [("model.output_router_logits", None)]),
        ("model.config.router_aux_loss_coef = 0.02", []),
        ("tokenizer.pad_token = '<|endoftext|>'", [("data.pad_is_eos", None)]),
        ("if x:\n    tokenizer.pad_token = '<unk>'", [("data.pad_is_eos", None)]),
        ("if x:\n    tokenizer.pad_token = '<pad>'", [("data.pad_is_eos", None)]),
        (
            "from transformers import LlamaTokenizer as T\nT.from_pretrained(x, pad_token='<pad>')",
            [("data.pad_is_eos", False)],
        ),
        ("model.from_pretrained(x, pad_token='<pad>')", []),
        (f"{TOKENIZERS}other.pad_token = other.eos_token", []),
        (f"{TOKENIZERS}tokenizer.pad_token = tokenizer.eos_token", [("data.pad_is_eos", True)]),
        (f"{TOKENIZERS}Collator(tokenizer=other)\nother.pad_token = other.eos_token", [("data.pad_is_eos", True)]),
        ("model.config.pad_token_id = tokenizer.pad_token_id", []),
        ("model.config.pad_token_id = tokenizer.eos_token_id", []),
        ("model.generation_config.pad_token_id = tokenizer.eos_token_id", []),
        ("tokenizer.add_special_tokens({'pad_token': '[PAD]'})", [("data.pad_is_eos", False)]),
        ("model.embed_tokens.requires_grad_(False)", [("training.frozen_embeddings", True)]),
        ("model.head.requires_grad_(False)", []),
        ("model.bert.embeddings.requires_grad_(False)", [("training.frozen_embeddings", True)]),
        ("model.bert.embeddings.position_embeddings.requires_grad_(False)", []),
        ("model.visual.patch_embed.requires_grad_(False)", []),
        ("teacher.get_input_embeddings().requires_grad_(False)", []),
        ("config._attn_implementation = 'eager'", [("model.attn_implementation", "eager")]),
        (
            "for n, p in model.named_parameters():\n    if 'embed' in n:\n        p.requires_grad = False",
            [("training.frozen_embeddings", True)],
        ),
        ("torch.autocast('cuda', dtype=torch.bfloat16)", [("precision.mode", "bf16")]),
        ("torch.autocast('cuda')", [("precision.mode", None)]),
        ("torch.autocast('cuda', enabled=False)", []),
        ("torch.autocast('cuda', torch.float16)", [("precision.mode", "fp16")]),
        ("torch.cuda.amp.autocast(False)", []),
        ("@torch.compile\ndef f(x): return model(x)", [("training.torch_compile", True)]),
        (
            "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy\n"
            "FSDP(m, sharding_strategy=ShardingStrategy.SHARD_GRAD_OP)",
            [("distributed.strategy", "fsdp"), ("fsdp.version", 1), ("fsdp.sharding_strategy", "SHARD_GRAD_OP")],
        ),
        (
            "from transformers import BitsAndBytesConfig\nBitsAndBytesConfig(load_in_4bit=True)",
            [("quantization.method", "bitsandbytes"), ("quantization.bits", 4)],
        ),
        (
            "from trl import DPOConfig\nDPOConfig()",
            [("training.method", "dpo"), ("training.framework", "trl")],
        ),
        (
            "from trl.experimental.gold import GOLDTrainer\nGOLDTrainer(model=model)",
            [("training.method", "gold"), ("training.framework", "trl")],
        ),
        (
            "from trl.experimental.minillm import MiniLLMTrainer\nMiniLLMTrainer(model=model)",
            [("training.method", "minillm"), ("training.framework", "trl")],
        ),
        (
            "from trl.experimental.async_grpo import AsyncGRPOConfig\nAsyncGRPOConfig()",
            [("training.method", "async_grpo"), ("training.framework", "trl")],
        ),
        (
            "from accelerate.utils import DynamoBackend, TorchDynamoPlugin\n"
            "TorchDynamoPlugin(DynamoBackend.INDUCTOR, use_regional_compilation=True)",
            [("training.torch_compile", True), ("training.regional_compilation", True)],
        ),
        (
            "from accelerate import Accelerator\nAccelerator(dynamo_backend='inductor')",
            [("training.framework", "accelerate"), ("training.torch_compile", True)],
        ),
        (
            "from accelerate import Accelerator\nAccelerator(dynamo_backend='no')",
            [("training.framework", "accelerate"), ("training.torch_compile", False)],
        ),
        (
            "from peft import LoraConfig\nnew = tok.convert_tokens_to_ids(s)\nLoraConfig(trainable_token_indices=new)",
            [("peft.method", "lora"), ("peft.attention_only", True), ("peft.trainable_tokens", True)],
        ),
        (
            "from peft import LoraConfig\nLoraConfig(layers_to_transform=list(range(n, 32)))",
            [("peft.method", "lora"), ("peft.attention_only", True), ("peft.layers_to_transform", True)],
        ),
        (
            "from accelerate.parallelism_config import ParallelismConfig\nParallelismConfig(tp_size=4, cp_size=1)",
            [("distributed.strategy", "tensor_parallel")],
        ),
        (
            "from accelerate.parallelism_config import ParallelismConfig\nParallelismConfig(cp_size=2, sp_size=1)",
            [("distributed.strategy", "context_parallel"), ("distributed.sequence_split", "context_parallel")],
        ),
        (
            "from accelerate.parallelism_config import ParallelismConfig\nParallelismConfig(sp_size=4)",
            [("distributed.sequence_split", "ulysses")],
        ),
        (
            "import bitsandbytes as bnb\nbnb.optim.Lion(p)",
            [("optimizer.name", "lion_32bit"), ("optimizer.library", "bitsandbytes"), ("optimizer.groups", None)],
        ),
        (
            "import deepspeed\nc = {'zero_optimization': {'stage': 3}}\ndeepspeed.initialize(config=c)",
            [
                ("distributed.strategy", "deepspeed"),
                ("deepspeed.zero_stage", 3),
                ("deepspeed.offload_optimizer", "none"),
                ("deepspeed.gradient_clipping", 0.0),
            ],
        ),
        (
            "import deepspeed\ndeepspeed.initialize(config={'zero_optimization': {'stage': 1, 'reduce_scatter': False, "
            "'offload_optimizer': {'device': 'cpu'}}, 'gradient_clipping': 1.0})",
            [
                ("distributed.strategy", "deepspeed"),
                ("deepspeed.zero_stage", 1),
                ("deepspeed.reduce_scatter", False),
                ("deepspeed.offload_optimizer", "cpu"),
                ("deepspeed.gradient_clipping", 1.0),
            ],
        ),
        (
            "import deepspeed\nc = {'gradient_clipping': 1.0}\ndeepspeed.initialize(config=c)",
            [
                ("deepspeed.gradient_clipping", 1.0),
                ("distributed.strategy", "deepspeed"),
                ("deepspeed.zero_stage", 0),
            ],
        ),
        (
            "from transformers import AutoTokenizer\nt = AutoTokenizer.from_pretrained('gpt2', padding_side='left')",
            [("data.padding_side", "left")],
        ),
        (
            "from pytorch_optimizer import SPAM\nSPAM(ps, lr=1e-3, weight_decay=0.01)",
            [("optimizer.weight_decay", 0.01)],
        ),
        ("tokenizer.padding_side = 'right'", [("data.padding_side", "right")]),
        (
            "from trl import DPOTrainer\nDPOTrainer(model, beta=0.1, loss_type='ipo')",
            [
                ("training.method", "dpo"),
                ("training.framework", "trl"),
                ("training.beta", 0.1),
                ("training.loss_type", "ipo"),
            ],
        ),
        (
            "o = torch.optim.SGD(ps)\no.load_state_dict(state)",
            [
                ("optimizer.name", "sgd"),
                ("optimizer.library", "torch"),
                ("optimizer.groups", None),
                ("training.resume_from_checkpoint", True),
            ],
        ),
        (
            "o = torch.optim.SGD(ps)\nif found:\n    o.load_state_dict(state)",
            [("optimizer.name", "sgd"), ("optimizer.library", "torch"), ("optimizer.groups", None)],
        ),
        (
            "from fla.models import KDAForCausalLM\nKDAForCausalLM.from_pretrained('some/kda')",
            [("model.architecture", ("KDAForCausalLM",)), ("model.name", "some/kda")],
        ),
        (
            "from transformers import LlavaForConditionalGeneration as A, LlamaForCausalLM as B\n"
            "if seen:\n    A.from_pretrained('some/a')\nelse:\n    B(config)",
            [
                ("model.architecture", ("LlavaForConditionalGeneration",)),
                ("model.name", "some/a"),
                ("model.architecture", ("LlamaForCausalLM",)),
            ],
        ),
        (
            "from transformers import MixtralConfig as C, MixtralForCausalLM as M\nM(C(output_router_logits=True))",
            [("model.architecture", ("MixtralForCausalLM",)), ("model.output_router_logits", True)],
        ),
        (
            "from transformers import AutoConfig\n"
            "AutoConfig.from_pretrained('m', output_router_logits=True, router_aux_loss_coef=0.0, use_cache=False)",
            [("model.output_router_logits", False)],
        ),
        (
            "from deepspeed.pipe import PipelineModule\nPipelineModule(layers=layers, num_stages=2)",
            [("deepspeed.pipeline_stages", 2)],
        ),
        (
            "from transformers import PreTrainedModel\nclass MyForCausalLM(PreTrainedModel):\n"
            "    def forward(self, x, **kwargs):\n        return x",
            [
                ("model.forward_takes_kwargs", True),
                ("model.of_library", False),
                ("model.uses_num_items_in_batch", False),
            ],
        ),
        (
            "from transformers import PreTrainedModel\nclass MyForCausalLM(PreTrainedModel):\n"
            "    def forward(self, x, **kwargs):\n        return f(x, **kwargs)",
            [("model.forward_takes_kwargs", True), ("model.of_library", False)],
        ),
        (
            "from transformers import PreTrainedModel\nclass MyForCausalLM(PreTrainedModel):\n"
            "    accepts_loss_kwargs = False\n    def forward(self, x, **kwargs):\n        return f(x, **kwargs)",
            [("model.forward_takes_kwargs", False), ("model.of_library", False)],
        ),
        (
            "from transformers import PreTrainedModel\nclass Tagger(PreTrainedModel):\n"
            "    def forward(self, x, labels=None):\n        return x",
            [
                ("model.forward_takes_kwargs", False),
                ("model.of_library", False),
                ("model.uses_num_items_in_batch", False),
            ],
        ),
        (
            "from transformers import PreTrainedModel\nclass Net(PreTrainedModel):\n"
            "    def forward(self, x, y):\n        return {'loss': (x - y).mean()}",
            [
                ("model.forward_takes_kwargs", False),
                ("model.of_library", False),
                ("model.uses_num_items_in_batch", False),
            ],
        ),
        (
            "from transformers import LlamaForCausalLM\nclass M(LlamaForCausalLM):\n"
            "    def forward(self, x, labels=None, **kwargs):\n        return Out(loss=f(super().forward(x), labels))",
            [
                ("model.forward_takes_kwargs", True),
                ("model.of_library", False),
                ("model.uses_num_items_in_batch", False),
            ],
        ),
        (
            "from transformers import LlamaForCausalLM\nclass M(LlamaForCausalLM):\n"
            "    def forward(self, x, labels=None):\n        return super().forward(x, labels=labels)",
            [
                ("model.forward_takes_kwargs", False),
                ("model.of_library", False),
                ("model.uses_num_items_in_batch", False),
            ],
        ),
        (
            "from transformers import LlamaForCausalLM\nclass M(LlamaForCausalLM):\n"
            "    def forward(self, x, labels=None, **k):\n        return super().forward(x, labels=labels, **k)",
            [],
        ),
        (
            "from transformers import LlamaForCausalLM\nclass M(LlamaForCausalLM):\n"
            "    def forward(self, x, **kwargs):\n        out = super().forward(x, **kwargs)\n        return out",
            [],
        ),
        (
            "from transformers import LlamaModel\nclass M(LlamaModel):\n"
            "    def forward(self, x, labels):\n        return x",
            [],
        ),
        (
            "from accelerate.utils import DataLoaderConfiguration as C\nC(use_seedable_sampler=True)",
            [("data.seedable_sampler", True)],
        ),
        ("model.accepts_loss_kwargs = False", [("model.forward_takes_kwargs", False)]),
        ("if loss:\n    model.accepts_loss_kwargs = False", [("model.forward_takes_kwargs", None)]),
        ("model.accepts_loss_kwargs = True", []),
        ("trainer.model_accepts_loss_kwargs = False", [("model.forward_takes_kwargs", False)]),
        (
            "from transformers import VisionEncoderDecoderModel as M\nM.from_pretrained('some/ocr')",
            [("model.architecture", ("VisionEncoderDecoderModel",)), ("model.name", "some/ocr")],
        ),
        (
            "from transformers import VisionEncoderDecoderModel as M\nM.from_encoder_decoder_pretrained('a', 'b')",
            [("model.architecture", ("VisionEncoderDecoderModel",))],
        ),
        (
            "from transformers import Trainer\nTrainer(model, compute_loss_func=mine)",
            [
                ("model.uses_num_items_in_batch", None),
                ("model.returns_loss", False),
                ("training.framework", "transformers.Trainer"),
            ],
        ),
        (
            "from functools import partial\nfrom transformers import Trainer\n"
            "def own(outputs, labels, num_items_in_batch, k):\n    return outputs.sum() / num_items_in_batch\n"
            "Trainer(model, compute_loss_func=partial(own, k=1))",
            [
                ("model.uses_num_items_in_batch", True),
                ("model.returns_loss", False),
                ("training.framework", "transformers.Trainer"),
            ],
        ),
        (
            "import os\nos.environ.setdefault('TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD', 'true')\nimport torch",
            [("environment.loads_whole_pickles", True)],
        ),
        (
            "import os, torch\nos.environ['TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD'] = '0'",
            [("environment.loads_whole_pickles", False)],
        ),
        (
            "import os\nos.environ['TIMM_FUSED_ATTN'] = '0'\nimport timm",
            [("environment.timm_fused_attention", False)],
        ),
        ("import os\nimport timm\nos.environ['TIMM_FUSED_ATTN'] = '0'", []),
        (
            "import torch._inductor.config\ntorch._inductor.config.triton.mix_order_reduction = False",
            [("environment.mix_order_reduction", False)],
        ),
        ("import transformer_engine.pytorch as te\nte.fp8_autocast()", [("precision.mode", "fp8")]),
        ("import transformer_engine.pytorch as te\nte.fp8_autocast(enabled=fp8)", [("precision.mode", None)]),
        ("import transformer_engine.pytorch as te\nte.fp8_autocast(False)", []),
        (
            "from transformers import AutoModelForSequenceClassification as M\nM.from_pretrained('Qwen/Qwen2-7B')",
            [("model.name", "Qwen/Qwen2-7B"), ("model.architecture", ("Qwen2ForSequenceClassification",))],
        ),
        (
            "from liger_kernel.transformers import AutoLigerKernelForCausalLM as M\nM.from_pretrained('Qwen/Qwen2-7B')",
            [("model.name", "Qwen/Qwen2-7B"), ("model.architecture", ("Qwen2ForCausalLM",))],
        ),
    ],
)
def test_settings(code: str, expected: list[tuple[str, SettingValue | None]]) -> None:
    assert [(key, value) for _, key, value in facts(f"import torch\n{code}\n")] == expected


@pytest.mark.parametrize("base", ["LightningModule", "Callback"])
def test_a_hook_that_lightning_left_may_be_called_by_its_own_class(base: str) -> None:
    code = f"import lightning as L\nclass A(L.{base}):\n    def on_epoch_end(self):\n        pass\n"
    calling = "    def on_train_epoch_end(self):\n        self.on_epoch_end()\n"
    asking = calling.replace("self.on", "super().on")
    used = f"lightning.{base}.calls_own_hook"
    assert used not in symbols(code)
    assert used not in symbols(code + asking)
    assert used in symbols(code + calling)
    assert used in symbols(f"{code}    on_train_epoch_end = on_epoch_end\n")


@pytest.mark.parametrize("base", ["LightningModule", "Callback"])
@pytest.mark.parametrize(
    ("body", "idle"),
    [
        ("pass", True),
        ("'''Nothing.'''", True),
        ("return None", True),
        ("super().on_epoch_end()", True),
        ("self.count += 1", False),
        ("super().on_epoch_start()", False),
    ],
)
def test_a_hook_that_lightning_left_may_do_nothing(base: str, body: str, idle: bool) -> None:
    used = symbols(f"import lightning as L\nclass A(L.{base}):\n    def on_epoch_end(self):\n        {body}\n")
    assert (f"lightning.{base}.on_epoch_end.idle" in used) is idle
    assert (f"lightning.{base}.on_epoch_end" in used) is not idle


def test_initialisers_of_torch_leave_loaded_tensors_alone() -> None:
    code = (
        "from torch import nn\nfrom transformers import PreTrainedModel\n"
        "class M(PreTrainedModel):\n    def _init_weights(self, m):\n"
    )
    used = "transformers.PreTrainedModel._init_weights"
    loaded = "M.from_pretrained('mine')\n"
    assert used not in symbols(f"{code}        nn.init.normal_(m.weight)\n{loaded}")
    assert used in symbols(f"{code}        nn.init.normal_(m.weight)\n        m.bias.zero_()\n{loaded}")


def test_a_model_that_is_built_anew_has_nothing_to_overwrite() -> None:
    code = (
        "from transformers import AutoTokenizer, PreTrainedModel\n"
        "class M(PreTrainedModel):\n    def _init_weights(self, m):\n        m.weight.data.normal_()\n"
        "AutoTokenizer.from_pretrained('mine')\n"
    )
    used = "transformers.PreTrainedModel._init_weights"
    assert used not in symbols(f"{code}M(config)\n")
    assert used in symbols(f"{code}M.from_pretrained('mine')\n")


@pytest.mark.parametrize(
    ("given", "quantised"),
    [
        ("'Qwen/Qwen3-8B'", {"quantization.method": "none", "quantization.bits": 16}),
        ("'Qwen/Qwen3-8B', quantization_config=config", {}),
        ("'Qwen/Qwen3-8B', load_in_4bit=True", {}),
        ("'Qwen/Qwen3-8B', **options", {}),
        ("'unsloth/Qwen3-8B-bnb-4bit'", {"quantization.method": "bitsandbytes", "quantization.bits": 4}),
        ("'TheBloke/Mistral-7B-v0.1-GPTQ'", {"quantization.method": "gptq"}),
        ("'Qwen/Qwen3-8B-FP8'", {}),
        ("name", {}),
    ],
)
def test_weights_that_are_loaded_as_they_are_are_not_quantised(given: str, quantised: dict[str, object]) -> None:
    found = presumed(f"from transformers import AutoModelForCausalLM as M\nM.from_pretrained({given})\n")
    assert found == quantised


@pytest.mark.parametrize(
    ("given", "quantised"),
    [
        ("'unsloth/Qwen3-8B', max_seq_length=2048", {"quantization.method": "bitsandbytes", "quantization.bits": 4}),
        ("model_name=name", {"quantization.method": "bitsandbytes", "quantization.bits": 4}),
        ("'unsloth/Qwen3-8B', load_in_4bit=False", {"quantization.method": "none", "quantization.bits": 16}),
        ("'unsloth/Qwen3-8B-bnb-4bit', load_in_4bit=False", {}),
        ("'unsloth/Qwen3-8B', load_in_4bit=False, load_in_8bit=True", {}),
        ("'unsloth/Qwen3-8B', full_finetuning=True", {}),
        ("'unsloth/Qwen3-8B', load_in_4bit=quantises", {}),
        ("'unsloth/Qwen3-8B', **options", {}),
        ("'Qwen/Qwen3-8B-FP8'", {}),
    ],
)
def test_unsloth_quantises_unless_it_is_told_otherwise(given: str, quantised: dict[str, object]) -> None:
    found = presumed(f"from unsloth import FastLanguageModel as M\nM.from_pretrained({given})\n")
    assert {key: value for key, value in found.items() if key.startswith("quantization.")} == quantised


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("data_collator=DataCollatorForSeq2Seq(tokenizer)", "DataCollatorForSeq2Seq"),
        ("data_collator=join", "join"),
        ("data_collator=make()", None),
        ("data_collator=None", "nothing"),
        ("args=args", "nothing"),
        ("args, join", "join"),
        ("**{'data_collator': join}", "join"),
        ("data_collator=Pad(tokenizer)", "Pad"),
        ("data_collator=padded", "Pad"),
        ("data_collator=Heir(tokenizer)", "Base"),
    ],
)
def test_a_collator(given: str, value: str | None) -> None:
    code = (
        "from transformers import DataCollatorForSeq2Seq, Trainer\nfrom somewhere import Base\n"
        "def join(rows):\n    return rows\n@dataclass\nclass Pad:\n    tokenizer: object\nclass Heir(Base):\n    pass\n"
        f"padded = Pad(tokenizer)\nTrainer(model, {given})\n"
    )
    assert {key: value for _, key, value in facts(code)}.get("data.collator", "nothing") == value


def test_a_stream_that_goes_on_from_a_state() -> None:
    code = (
        "from datasets import load_dataset\n"
        "stream = load_dataset('c4', streaming=True){}\nstream.load_state_dict(state)\nmodel.load_state_dict(weights)\n"
    )
    said = {key: value for _, key, value in facts(code.format(".filter(good)"))}
    assert (said["training.resume_from_checkpoint"], said["data.stream_filter"]) == (True, True)
    assert {key: value for _, key, value in facts(code.format(""))}["data.stream_filter"] is False
    split = "\nfrom datasets.distributed import split_dataset_by_node\nstream = split_dataset_by_node(stream, 0, 2)"
    assert "datasets.IterableDataset.load_state_dict" in symbols(code.format(split))
    assert "training.resume_from_checkpoint" not in {key for _, key, _ in facts("import torch\nm.load_state_dict(w)\n")}


@pytest.mark.parametrize(
    ("modules", "overlapping"),
    [
        ("['head', 'head2']", True),
        ("['lm_head', 'embed_tokens']", False),
        ("['score_aux']", None),  # PEFT adds `score` for classifiers
        ("None", False),
        ("names", None),
    ],
)
def test_names_of_which_one_is_part_of_another(modules: str, overlapping: bool | None) -> None:
    found = {
        key: value for _, key, value in facts(f"from peft import LoraConfig\nLoraConfig(modules_to_save={modules})\n")
    }
    assert found["peft.overlapping_modules"] is overlapping


def test_options_that_are_put_together_elsewhere() -> None:
    context = of_text("from transformers import TrainingArguments as A\nA(seed=1, **options)\n")
    assert context.settings[:1] == (
        Setting(
            key="training.framework", value="transformers.Trainer", location=Location(path="x.py", line=2, column=1)
        ),
    )
    assert context.skipped == (
        Skipped(
            what="**options",
            reason="arguments that are put together elsewhere",
            gap=False,
            location=Location(path="x.py", line=2, column=13),
        ),
    )


def test_a_value_of_the_wrong_type_is_skipped() -> None:
    context = of_text("from transformers import TrainingArguments as A\nA(gradient_accumulation_steps='many')\n")
    assert [(one.what, one.reason, str(one.location)) for one in context.skipped] == [
        (
            "gradient_accumulation_steps",
            "has no value that training.gradient_accumulation_steps takes, which is of type int",
            "x.py:2",
        )
    ]


DEEP = 100_000


@pytest.mark.parametrize(
    "name",
    [
        "monai.losses.DiceCELoss",
        "torchmetrics.classification.MulticlassRecall",
        "pytorch_metric_learning.miners.BatchEasyHardMiner",
    ],
)
def test_a_loss_or_a_metric_without_a_training_loop(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    context = of_text(f"from {module} import {attribute}\n\nmade = {attribute}()\n")
    (symbols,) = (setting.value for setting in context.settings if setting.key == "code.symbols")
    assert isinstance(symbols, tuple)
    assert name in symbols


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`x.py`: imports no library for training"),
        ("import os\n", "`x.py`: imports no library for training"),
        ("import torch\n\nprint 'hello'\n", "`x.py:3`: not valid Python {version}: Missing parentheses in call to"),
        ("import torch\nx = (\n", "`x.py:2`: not valid Python {version}: '(' was never closed"),
        ("import torch\nx\0y\n", "`x.py:2`: not valid Python: holds a null byte"),
        ("import torch\nx = '\ud800'\n", "`x.py:2`: not valid Python: holds half a character"),
        ("\nx" + ".a" * DEEP, "`x.py:2`: nested too deeply"),
        ("\nx" + "()" * DEEP, "`x.py:2`: nested too deeply"),
        ("\nx" + "+x" * DEEP, "`x.py:2`: nested too deeply"),
        ("\n" + "(" * DEEP, "`x.py:2`: nested too deeply"),
        ("\nf'{x" + ".a" * DEEP + "}'", "`x.py:2`: nested too deeply"),
        ("\nx = Rf'{x" + ".a" * DEEP + "}'", "`x.py:2`: nested too deeply"),
        ("\nx = 'f' '{" + ".a" * DEEP + "}'", "`x.py`: imports no library for training"),  # a plain text
        ("-" * DEEP + "1", "`x.py`: nested too deeply"),
        ("x" * (512 * 1024 + 1), "`x.py`: is longer than 512 KiB, which is too long to read"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(Malformed) as raised:
        of_text(text)
    assert str(raised.value).startswith(message.format(version=VERSION))


def test_names_that_stand_for_one_another_without_end() -> None:
    lists = "\n".join(f"a{n + 1} = [{', '.join([f'a{n}'] * 50)}]" for n in range(20))
    mappings = "\n".join(f"b{n + 1} = dict(x=b{n}, y=b{n})" for n in range(60))
    circles = "a = b\nb = a\nclass C(D): pass\nclass D(C): pass\nC()\n"
    call = "A(seed=a20, optim=a, gradient_checkpointing_kwargs=b60)\n"
    text = f"from transformers import TrainingArguments as A\n{circles}{lists}\n{mappings}\n{call}"
    assert [value for _, key, value in facts(text) if key == "training.seed"] == [None]


def test_invalid_escapes_are_not_our_business() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert facts('import torch\nx = "\\d"\ntorch.manual_seed(3)\n') == [(3, "training.seed", 3)]


def test_columns_count_characters() -> None:
    context = of_text("import torch\nx = 'äöü'; torch.manual_seed(3)\n")
    assert context.settings[0].location == Location(path="x.py", line=2, column=30)


def test_recognised_by_its_words() -> None:
    for path in FIXTURES.glob("*.py"):
        assert [one.kind for one in candidates(path.name, path.read_text("utf-8"))] == ["python"]
    assert candidates("setup.py", "from setuptools import setup\nsetup()\n") == []


def test_every_key_is_in_the_vocabulary() -> None:
    keys = {one.key for feed in FEEDS.values() for one in (feed if isinstance(feed, tuple) else (feed,))}
    assert keys <= KEYS.keys()
    assert {"code.symbols", "training.checkpointing_before_peft", "training.frozen_embeddings"} <= keys


def test_modules_of_the_project_leave_the_symbols_open() -> None:
    text = "import torch\nfrom .losses import distil\ndistil()\n"
    stated = [(one.value, one.location.line) for one in of_text(text).settings if one.key == "code.symbols"]
    assert stated == [((".losses.distil", "torch.__init__"), 3), (None, 2)]


def test_an_import_alone_runs_what_a_module_does_when_it_is_imported() -> None:
    assert symbols("import torchaudio\nimport json\nimport torch\ntorch.load('a')\n") == (
        "torch.load",
        "torchaudio.__init__",
    )
    assert symbols("import torch\nif torch.load('a'):\n    import torchaudio\n") == ("torch.load",)


@pytest.mark.parametrize(
    ("plugin", "whole", "alike"),
    [
        ("zero_stage=2, gradient_accumulation_steps=4", "gradient_accumulation_steps=4", [True]),
        ("zero_stage=2, gradient_accumulation_steps=2", "gradient_accumulation_steps=4", [False]),
        ("zero_stage=2", "gradient_accumulation_steps=4", [False]),
        ("zero_stage=2", "", [True]),
        ("zero_stage=2", "gradient_accumulation_steps=steps", []),
        ("hf_ds_config='ds.json'", "gradient_accumulation_steps=4", []),
        ("zero_stage=2", "**options", []),
    ],
)
def test_deepspeeds_plugin_accumulates_as_the_accelerator_does_or_not(
    plugin: str, whole: str, alike: list[bool]
) -> None:
    text = "from accelerate import Accelerator, DeepSpeedPlugin\n"
    text += f"p = DeepSpeedPlugin({plugin})\nAccelerator(deepspeed_plugin=p, {whole})\n"
    assert [one.value for one in of_text(text).settings if one.key == "deepspeed.same_accumulation"] == alike


def test_what_a_mapping_of_deepspeed_leaves_to_the_arguments_is_said_by_them() -> None:
    text = (
        "from transformers import TrainingArguments\n"
        "DS = {'zero_optimization': {'stage': 0}, 'gradient_accumulation_steps': 'auto', 'bf16': {'enabled': 'auto'}}\n"
        "TrainingArguments('out', gradient_accumulation_steps=8, bf16=True, deepspeed=DS)\n"
    )
    said = {(key, value) for _, key, value in facts(text)}
    assert {("training.gradient_accumulation_steps", 8), ("precision.mode", "bf16")} <= said
    assert ("deepspeed.same_accumulation", True) in said
    assert not {one for one in said if one[0].startswith(("training.gradient_acc", "precision.")) and one[1] is None}
    # Where the arguments leave it out, or the program makes the engine, nothing is known of the number.
    assert "training.gradient_accumulation_steps" not in {
        key for _, key, _ in facts(text.replace("gradient_accumulation_steps=8, ", ""))
    }
    engine = "import deepspeed\ndeepspeed.initialize(config={'gradient_accumulation_steps': 'auto'})\n"
    assert [value for _, key, value in facts(engine) if key == "training.gradient_accumulation_steps"] == [None]


@pytest.mark.parametrize(
    ("text", "trains"),
    [
        ("from trainer import Trainer\nfrom TTS.tts.models.vits import Vits\nTrainer(Vits()).fit()\n", True),
        ("from TTS.api import TTS\nTTS('xtts').tts('hello')\n", False),
    ],
)
def test_trainers_of_other_packages(text: str, trains: bool) -> None:
    assert of_text(text).run is trains


@pytest.mark.parametrize(
    ("placed", "name"),
    [
        ("torchaudio.load = read", "torchaudio.load.replaced"),
        ("torchaudio.list_audio_backends = lambda: []", "torchaudio.list_audio_backends.replaced"),
        ("if not hasattr(torchaudio, 'info'):\n    torchaudio.info = torchaudio.load", "torchaudio.info.replaced"),
        ("torchaudio.sctypes = {'int': [int]}", "torchaudio.sctypes.replaced"),
        (
            "import transformers.utils\ntransformers.utils.FLAX_WEIGHTS_NAME = 'f'",
            "transformers.utils.FLAX_WEIGHTS_NAME.replaced",
        ),
        ("import torch\ntorch.backends.cudnn.benchmark = True", None),
        ("torch.backends.cudnn.benchmark = True", None),
        ("torch.backends.cudnn.benchmark = fast", None),
        ("if True:\n    class Meta: ...\n    torchaudio.AudioMetaData = Meta", "torchaudio.AudioMetaData.replaced"),
        ("torchaudio.load = read(torchaudio.load)", "torchaudio.load.replaced"),
        ("setattr(torchaudio, 'info', read)", "torchaudio.info.replaced"),
        ("setattr(torch.backends.cudnn, 'benchmark', True)", None),
        ("model.load = read", None),
        ("import sys\nsys.modules['torchaudio.backend.common'] = torch", "torchaudio.backend.common.replaced"),
        ("import sys\nsys.modules[name] = torch", None),
    ],
)
def test_a_function_in_the_place_of_another_packages_is_a_use_of_its_own(placed: str, name: str | None) -> None:
    text = f"import torch, torchaudio\ndef read(path): ...\n{placed}\n"
    assert [one for one in symbols(text) if one.endswith(".replaced")] == ([] if name is None else [name])


@pytest.mark.parametrize(
    ("schedule", "hook", "refused"),
    [
        ("torch.optim.lr_scheduler.StepLR(o, 1)", "", True),
        ("transformers.get_cosine_schedule_with_warmup(o, 1, 9)", "", True),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau(o)", "", False),
        ("torch.optim.lr_scheduler.StepLR(o, 1)", "    def lr_scheduler_step(self, scheduler, metric): ...\n", False),
    ],
)
def test_a_module_leaves_the_step_of_a_schedule_to_lightning(schedule: str, hook: str, refused: bool) -> None:
    text = f"""import lightning, torch, transformers
class Model(lightning.LightningModule):
{hook}    def configure_optimizers(self):
        o = torch.optim.SGD(self.parameters(), 0.1)
        return [o], [{schedule}]
lightning.Trainer().fit(Model())
"""
    assert ("lightning.LightningModule.torchs_scheduler" in symbols(text)) is refused


GROUPING = """\
import torch
by_layer, trained = [], []
for layer in model.layers:
    by_layer.append(dict(params=layer.parameters(), lr=rate(layer)))
for parameter in model.parameters():
    trained.append(parameter)
def of_layers(model):
    groups = []
    for layer in model.layers:
        group = {"params": layer.parameters(), "lr": rate(layer)}
        groups.append(group)
    return groups
def by_decay(model):
    return [{"params": weights(model), "weight_decay": 0.1}, {"params": biases(model)}]
def filtered(model):
    return [one for one in model.parameters() if one.requires_grad]
"""


@pytest.mark.parametrize(
    ("parameters", "groups"),
    [
        ("model.parameters()", "one"),
        ("[{'params': a}, {'params': b, 'weight_decay': 0.0}]", "several"),
        ("[{'params': a}, {'params': b, 'lr': 1e-4}]", "own_rates"),
        ("[{'params': layer.parameters(), 'lr': 0.1 ** i} for i, layer in enumerate(layers)]", "own_rates"),
        ("by_layer", "own_rates"),
        ("trained", "one"),
        ("of_layers(model)", "own_rates"),
        ("by_decay(model)", "several"),
        ("filtered(model)", None),
        ("grouped(model)", None),
    ],
)
def test_the_groups_of_an_optimizer(parameters: str, groups: str | None) -> None:
    stated = facts(f"{GROUPING}optimizer = torch.optim.AdamW({parameters})\n")
    assert [value for _, key, value in stated if key == "optimizer.groups"] == [groups]


@pytest.mark.parametrize(
    "line", ["model(**batch, cross_attention_mask=mask)", "transformers.AutoProcessor.from_pretrained('m')"]
)
def test_a_mask_that_the_program_passes(line: str) -> None:
    key = "model.cross_attention_mask"
    assert [value for _, told, value in facts(f"import transformers\n{line}\n") if told == key] == [True]
    assert not [value for _, told, value in facts("import transformers\nmodel(**batch)\n") if told == key]
    without = "import transformers\nmodel(input_ids=i, pixel_values=x, aspect_ratio_ids=y)\n"
    assert [value for _, told, value in facts(without) if told == key] == [False]
    # A call that names what it takes counts more than what a processor makes.
    of_processor = f"{without}p = transformers.AutoProcessor.from_pretrained('m')\n"
    assert [value for _, told, value in facts(of_processor) if told == key] == [False]
    for other in (
        "model.vision_model(pixel_values=x, aspect_ratio_ids=y)",
        "model.generate(input_ids=i, aspect_ratio_ids=y)",
    ):
        assert not [value for _, told, value in facts(f"import transformers\n{other}\n") if told == key]


@pytest.mark.parametrize(
    "code",
    [
        "def f(model: PreTrainedModel) -> PreTrainedModel:\n    return model",
        "model: PreTrainedModel = nn.Linear(2, 2)",
        "if isinstance(model, (nn.Module, PreTrainedModel)):\n    pass",
    ],
)
def test_a_type_is_no_use(code: str) -> None:
    text = (
        f"from torch import nn, optim\nfrom transformers import PreTrainedModel\noptim.SGD(nn.Linear(1, 1))\n{code}\n"
    )
    assert symbols(text) == ("torch.nn.Linear", "torch.optim.SGD")


@pytest.mark.parametrize(
    ("base", "arguments"),
    [
        ("PreTrainedModel", "'a', t"),
        ("PreTrainedModel", "'a', t, persistent=True"),
        ("nn.Module", "'a', t, persistent=False"),
    ],
)
def test_a_buffer_that_comes_back(base: str, arguments: str) -> None:
    """Of the checkpoint, or of a module that from_pretrained does not make."""
    text = (
        "from torch import nn\nfrom transformers import PreTrainedModel\n"
        f"class M({base}):\n    def __init__(self):\n        self.register_buffer({arguments})\n"
    )
    assert "transformers.PreTrainedModel.register_buffer" not in symbols(text)


def test_a_buffer_of_a_loss_is_not_one_of_the_model() -> None:
    text = (
        "from torch import nn\nfrom transformers import PreTrainedModel\nclass Loss(nn.Module):\n"
        "    def __init__(self):\n        self.register_buffer('f', t, persistent=False)\n"
        "class M(PreTrainedModel):\n    def __init__(self, config):\n        self.head = nn.Linear(1, 1)\n"
    )
    assert "transformers.PreTrainedModel.register_buffer" not in symbols(text)


def test_each_symbol_has_its_own_place() -> None:
    found = of_text("import torch\nx = torch.load(path)\ny = torch.compile(x)\n")
    (used,) = (one for one in found.settings if one.key == "code.symbols")
    assert used.value == ("torch.compile", "torch.load")
    assert [place.line for place in used.places] == [3, 2]


def test_activation_checkpointing_is_the_new_name_of_gradient_checkpointing() -> None:
    """transformers 5.23.0 has both names, of arguments and of methods."""
    text = (
        "from transformers import AutoModelForCausalLM, TrainingArguments, Trainer\n"
        "model = AutoModelForCausalLM.from_pretrained('m')\n"
        "model.activation_checkpointing_enable(activation_checkpointing_kwargs={'use_reentrant': True})\n"
        "args = TrainingArguments('out', activation_checkpointing=True)\n"
        "Trainer(model, args).train()\n"
    )
    stated = {(one.location.line, one.key, one.value) for one in scan(Document("train.py", text)).settings}
    assert (3, "training.gradient_checkpointing", True) in stated
    assert (3, "training.use_reentrant", True) in stated
    alone = text.replace("model.activation_checkpointing_enable(", "print(")
    stated = {(one.location.line, one.key, one.value) for one in scan(Document("train.py", alone)).settings}
    assert (4, "training.gradient_checkpointing", True) in stated


@pytest.mark.parametrize(
    ("call", "reduction"),
    [
        ("LigerFusedLinearCrossEntropyLoss(reduction='none')", "none"),
        ("LigerCrossEntropyLoss(reduction='sum')", "sum"),
        ("LigerFusedLinearCrossEntropyLoss(None, -100, 0.0, 0.0, 'none')", "none"),
        ("LigerFusedLinearCrossEntropyLoss(reduction=how())", None),
    ],
)
def test_how_losses_of_liger_reduce(call: str, reduction: str | None) -> None:
    found = facts(f"from liger_kernel.transformers import {call.partition('(')[0]}\nloss = {call}")
    assert [value for _, key, value in found if key == "training.loss_reduction"] == [reduction]


@pytest.mark.parametrize(
    ("statement", "stated"),
    [
        ('os.environ["USE_TF"] = "0"', [False]),
        ('os.environ.setdefault("USE_TF", "NO")', [False]),
        ('os.environ.update(USE_TORCH="1")', [False]),
        ('os.environ.update({"USE_TF": "1"})', [True]),
        ('os.environ["USE_TF"] = "AUTO"', []),
        ('os.environ["USE_TORCH"] = "0"', []),
        ('os.environ["USE_TF"] = choice()', [None]),
        ('if quick:\n    os.environ["USE_TF"] = "0"', [None]),
        ('settings["USE_TF"] = "0"', []),
    ],
)
def test_a_variable_that_the_program_sets(statement: str, stated: list[bool | None]) -> None:
    told = facts(f"import os\n{statement}\nimport transformers\n")
    assert [value for _, key, value in told if key == "environment.use_tf"] == stated


def test_a_variable_that_is_set_too_late() -> None:
    assert facts('import os\nimport trl\nos.environ["USE_TF"] = "0"\n') == []


def test_the_chat_format_of_trl_pads_with_its_end() -> None:
    told = facts("from trl import setup_chat_format\nmodel, tokenizer = setup_chat_format(model, tokenizer)\n")
    assert (2, "data.pad_is_eos", True) in told


def test_a_training_step_of_ones_own() -> None:
    head = "from transformers import Trainer\nclass Own(Trainer):\n    def training_step(self, model, inputs):\n"
    assert (3, "training.own_step", True) in facts(f"{head}        return self.compute_loss(model, inputs)\n")
    assert facts(f"{head}        return super().training_step(model, inputs)\n") == []


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("return super().compute_loss(model, inputs) / self.args.gradient_accumulation_steps", [True]),
        ("return super().compute_loss(model, inputs, False, num_items_in_batch) / gradient_accumulation_steps", [True]),
        ("return super().compute_loss(model, inputs)", []),
    ],
)
def test_a_loss_of_the_projects_own_that_divides_by_the_steps(body: str, own: list[bool]) -> None:
    found = facts(OWN.format(before="", init="pass", body=body))
    assert [value for _, key, value in found if key == "training.own_step"] == own


@pytest.mark.parametrize(
    ("size", "fact"),
    [
        ("STEPS", (2, "training.gradient_accumulation_steps", 4)),
        ("8", (7, "training.gradient_accumulation_steps", 8)),
        ("steps_of(loader)", (7, "training.gradient_accumulation_steps", None)),
    ],
)
def test_a_loop_of_ones_own_that_steps_now_and_then(size: str, fact: Fact) -> None:
    told = facts(
        "import torch\nSTEPS = 4\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters())\n"
        f"for i, batch in enumerate(loader):\n    model(batch).sum().backward()\n    if (i + 1) % {size} == 0:\n"
        "        optimizer.step()\n"
    )
    assert [one for one in told if one[1] == fact[1]] == [fact]


@pytest.mark.parametrize(
    ("name", "more", "stated"),
    [
        ("huggyllama/llama-7b", "", False),
        ("EleutherAI/pythia-70m", "", None),  # whose end is token 0
        ("huggyllama/llama-7b", "tokenizer.pad_token = tokenizer.unk_token\n", None),
    ],
)
def test_the_first_token_as_padding(name: str, more: str, stated: bool | None) -> None:
    load = f"transformers.AutoModelForCausalLM.from_pretrained({name!r})"
    told = facts(f"import transformers\nmodel = {load}\ntokenizer.pad_token_id = 0\n{more}")
    assert {value for _, key, value in told if key == "data.pad_is_eos"} == {stated}


def test_a_loop_that_only_logs_now_and_then() -> None:
    told = facts(
        "import torch\noptimizer = torch.optim.SGD(p)\nfor i, batch in enumerate(loader):\n"
        "    model(batch).sum().backward()\n    optimizer.step()\n    if i % 50 == 0:\n        logger.step(i)\n"
    )
    assert "training.gradient_accumulation_steps" not in {key for _, key, _ in told}


@pytest.mark.parametrize("name", ["SentenceTransformer", "CrossEncoder"])
def test_a_model_of_sentence_transformers_trains_itself(name: str) -> None:
    loads = f"from sentence_transformers import {name}\nmodel = {name}('bert-base-uncased')\n"
    assert of_text(f"{loads}model.fit(train_objectives=[(data, loss)])\n").run
    assert not of_text(f"{loads}model.predict(sentences)\n").run


@pytest.mark.parametrize(
    "imports", ["import keras", "from tensorflow import keras", "import tensorflow as tf\nkeras = tf.keras"]
)
def test_a_model_of_keras_is_trained_by_compile_and_fit(imports: str) -> None:
    text = f"{imports}\nmodel = keras.Sequential([])\nmodel.compile(optimizer='adam', loss='mse')\nmodel.fit(x, y)\n"
    found = of_text(text)
    assert found.run
    assert [one.value for one in found.settings if one.key == "training.framework"] == ["keras"]
    assert not of_text(text.replace(".fit(", ".predict(")).run


def test_optimizers_of_keras_accumulate_gradients_themselves() -> None:
    found = facts("import keras\nadam = keras.optimizers.AdamW(1e-3, weight_decay=0.01, gradient_accumulation_steps=3)")
    assert (2, "training.gradient_accumulation_steps", 3) in found
    assert (2, "optimizer.weight_decay", 0.01) in found
    assert "training.gradient_accumulation_steps" not in {
        key for _, key, _ in facts("import keras\nkeras.optimizers.SGD()")
    }


@pytest.mark.parametrize(
    ("code", "framework"),
    [
        ("import torch\nfor x in data:\n    loss(x).backward()\n    optimizer.step()\n", (3, "torch")),
        ("import keras\nmodel.compile(loss='mse')\nmodel.fit(data)\n", (3, "keras")),
    ],
)
def test_a_loop_stands_where_it_goes_back(code: str, framework: tuple[int, str]) -> None:
    assert [(line, value) for line, key, value in facts(code) if key == "training.framework"] == [framework]


_LOOP = (
    "import torch\nfrom torch.utils.data import DataLoader\nopt = torch.optim.SGD(model.parameters(), lr=1.0)\n{before}"
    "for batch in loader:\n    model(batch).mean().backward()\n    opt.step()\n{inside}"
)
_EVALUATE = "def evaluate():\n    model.eval()\n    for batch in dev:\n        print(model(batch))\n"


@pytest.mark.parametrize(
    ("before", "inside", "stated"),
    [
        ("", "    model.eval()\n    for one in dev:\n        print(model(one))\n", [True]),
        (_EVALUATE, "    if step % 500 == 0:\n        evaluate()\n", [True]),
        (_EVALUATE, "evaluate()\n", []),
        ("", "model.eval()\nfor one in dev:\n    print(model(one))\n", []),
        ("", "    for group in opt.param_groups:\n        print(group)\n", []),
        ("", "    model.eval()\n    for turn in range(2):\n        print(model(turn))\n", []),
        ("def evaluate():\n    model.eval()\n    for turn in range(2):\n        model(turn)\n", "    evaluate()\n", []),
    ],
)
def test_a_loop_of_ones_own_that_evaluates_between_its_steps(before: str, inside: str, stated: list[bool]) -> None:
    context = of_text(_LOOP.format(before=before, inside=inside))
    assert [one.value for one in context.settings if one.key == "training.validation_inside_epoch"] == stated


@pytest.mark.parametrize(
    ("loaders", "size"),
    [
        ("loader = DataLoader(data, batch_size=8)\ndev = DataLoader(rest, 4)\n", 4),
        ("loader = DataLoader(data)\n", 1),
        ("loader = DataLoader(data, batch_size=8)\ndev = DataLoader(rest, batch_size=1)\n", None),
        ("loader = DataLoader(data, batch_size=args.size)\n", None),
        ("loader = DataLoader(data, batch_sampler=sampler)\n", None),
        ("", None),
    ],
)
def test_the_batches_of_data_loaders(loaders: str, size: int | None) -> None:
    found = presumed(_LOOP.format(before=loaders, inside=""))
    assert found.get("training.per_device_eval_batch_size") == size


@pytest.mark.parametrize(
    ("line", "value"), [("", "none"), ("model = get_peft_model(model, config)\n", None), ("use_adapter()\n", None)]
)
def test_a_program_without_a_word_of_adapters_trains_none(line: str, value: str | None) -> None:
    code = f"from transformers import Trainer\n{line}Trainer(model=model).train()\n"
    assert presumed(code).get("peft.method") == value


def test_a_trainer_that_takes_its_loss_from_the_logits() -> None:
    code = (
        "from transformers import BertForMaskedLM, Trainer\nclass T(Trainer):\n"
        "    def compute_loss(self, model, inputs, **options):\n        out = model(**inputs)\n        return {loss}\n"
        "model = BertForMaskedLM.from_pretrained('bert-base-cased')\nT(model=model).train()\n"
    )
    of_logits = of_text(code.format(loss="criterion(out.logits)"))
    assert [one.value for one in of_logits.settings if one.key == "model.returns_loss"] == [False]
    of_model = of_text(code.format(loss="out.loss"))
    assert not any(one.key == "model.returns_loss" for one in of_model.settings)


def test_a_trainer_with_a_step_of_its_own_calls_its_loss_as_it_likes() -> None:
    code = (
        "from transformers import Trainer\nclass T(Trainer):\n"
        "    def compute_loss(self, model, inputs):\n        return 2 * model(**inputs).loss\n"
    )
    step = "    def training_step(self, model, inputs, n=None):\n        return self.compute_loss(model, inputs)\n"
    used = "transformers.Trainer.compute_loss.without_num_items_in_batch"
    assert used in symbols(f"{code}T(model=model).train()\n")
    assert used not in symbols(f"{code}{step}T(model=model).train()\n")


@pytest.mark.parametrize(("device", "value"), [("'cpu'", "cpu"), ("'cuda'", None), ("args.device", None)])
def test_a_loop_on_the_cpu(device: str, value: str | None) -> None:
    code = f"import torch\nmodel.to({device})\nfor one in data:\n    model(one).backward()\n    optimizer.step()\n"
    assert presumed(code).get("host.device") == value


def test_a_pipeline_of_deepspeed_is_a_run() -> None:
    code = "import deepspeed\nengine, _, _, _ = deepspeed.initialize(config={})\nengine.train_batch(data)\n"
    assert of_text(code).run
    assert "torch" in [value for _, key, value in facts(code) if key == "training.framework"]


@pytest.mark.parametrize(
    ("given", "overlaps"),
    [("", [True]), ("stage=2, overlap_comm=False", [False]), ("config='ds.json'", []), ("**given", [])],
)
def test_lightning_overlaps_unless_its_strategy_is_told_otherwise(given: str, overlaps: list[bool]) -> None:
    code = f"from lightning.pytorch.strategies import DeepSpeedStrategy\nstrategy = DeepSpeedStrategy({given})\n"
    assert [value for _, key, value in facts(code) if key == "deepspeed.overlap_comm"] == overlaps


@pytest.mark.parametrize(
    ("given", "offloaded"),
    [
        *(("", ["none"]), ("stage=2", ["none"]), ("offload_optimizer=False", ["none"])),
        *(("offload_optimizer=True", ["cpu"]), ("config='ds.json'", [])),
    ],
)
def test_lightning_offloads_no_optimizer_unless_its_strategy_is_told_to(given: str, offloaded: list[str]) -> None:
    code = f"from lightning.pytorch.strategies import DeepSpeedStrategy\nstrategy = DeepSpeedStrategy({given})\n"
    assert [value for _, key, value in facts(code) if key == "deepspeed.offload_optimizer"] == offloaded


@pytest.mark.parametrize(("method", "own"), [("save_checkpoint", True), ("load_checkpoint", False)])
def test_a_plugin_of_checkpoints_may_save_by_its_own_code(method: str, own: bool) -> None:
    code = "from lightning.pytorch.plugins.io import AsyncCheckpointIO\nclass Copying(AsyncCheckpointIO):\n"
    code += f"    def {method}(self, checkpoint, path): ...\n"
    assert ("lightning.AsyncCheckpointIO.save_checkpoint" in symbols(code)) is own


@pytest.mark.parametrize(
    ("config", "clipped"),
    [("{'train_batch_size': 4}", [0.0]), ("{'train_batch_size': 4, 'gradient_clipping': 1.0}", [1.0])],
)
def test_an_engine_of_deepspeed_without_zero_clips_only_where_its_config_says_so(
    config: str, clipped: list[float]
) -> None:
    code = f"import deepspeed\nengine, _, _, _ = deepspeed.initialize(model=model, config={config})\n"
    assert [value for _, key, value in facts(code) if key == "deepspeed.gradient_clipping"] == clipped


@pytest.mark.parametrize("name", ["contiguous_gradients", "reduce_scatter"])
def test_what_the_strategy_of_lightning_tells_deepspeed(name: str) -> None:
    code = f"from lightning.pytorch.strategies import DeepSpeedStrategy\nDeepSpeedStrategy(stage=3, {name}=False)\n"
    assert [value for _, key, value in facts(code) if key == f"deepspeed.{name}"] == [False]


SAVED = """\
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, pipeline
trainer = Trainer(AutoModelForCausalLM.from_pretrained("gpt2"))
trainer.train()
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('trainer.save_model("out")\nAutoModelForCausalLM.from_pretrained("out")', True),
        ("trainer.save_model(folder)\nAutoModelForCausalLM.from_pretrained(folder)", True),
        ('trainer.save_model("out")\nAutoModelForCausalLM.from_pretrained("out/best")', True),
        ('trainer.save_model("out")\nAutoTokenizer.from_pretrained("out")', False),
        ('trainer.save_model("out")\nAutoModelForCausalLM.from_pretrained("gpt2")', False),
        ('AutoModelForCausalLM.from_pretrained("out")', False),
        ('trainer.save_model("out")\npipeline("text-generation", "out")', True),
        ('trainer.save_model("out")\npipeline(task="text-generation", model="out")', True),
        ('trainer.save_model("out")\npipeline("text-generation", trainer.model)', False),
        ('trainer.save_model("out")\npipeline("text-generation")', False),
    ],
)
def test_a_model_that_the_program_has_saved_itself(text: str, found: bool) -> None:
    assert any(name.endswith(".of_saved") for name in symbols(SAVED + text)) is found


COMBINED = "import evaluate\nfrom transformers import Trainer\n{}\nTrainer(model).train()\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("metrics = evaluate.combine(['f1'])\nmetrics.compute(predictions=p, references=r, average='macro')", True),
        ("metrics = evaluate.combine(['f1'])\nmetrics.compute(predictions=p, references=r)", False),
        ("evaluate.load('f1').compute(predictions=p, references=r, average='macro')", False),
    ],
)
def test_arguments_for_combined_metrics(text: str, found: bool) -> None:
    assert ("evaluate.combine.arguments" in symbols(COMBINED.format(text))) is found


_MODEL_ALONE = "torch.distributed.checkpoint.load.no_optimizer"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("{'type': 'video', 'video': path}", [(True, False)]),
        ("{'type': 'image', 'image': path}, {'type': 'video', 'path': path}", [(True, False)]),
        ("{'type': 'image', 'image': path}, {'type': 'text', 'text': q}", [(False, True)]),
        ("{'type': 'text', 'text': q}", []),
        ("{'video': path}", []),
        ("{'type': kind, kind: path}", []),
    ],
)
def test_videos_in_messages(parts: str, expected: list[tuple[SettingValue, bool]]) -> None:
    program = (
        f"from transformers import Trainer\nmessages = [{{'role': 'user', 'content': [{parts}]}}]\nTrainer().train()"
    )
    found = [(one.value, one.presumed) for one in of_text(program).settings if one.key == "data.videos"]
    assert found == expected


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("{'prompt': [{'role': 'user', 'content': q}], 'completion': [{'role': 'assistant', 'content': a}]}", [True]),
        ("{'prompt': row['messages'][:-1], 'completion': row['messages'][-1:]}", [True]),
        ("{'prompt': f'{q} ', 'completion': a + '</s>'}", [False]),
        ("{'prompt': [{'role': 'user', 'content': q}], 'completion': a}", []),
        ("{'prompt': q, 'completion': a}", []),
        ("{'prompt': row['text'][:9], 'completion': row['text'][9:]}", []),
        ("{'prompt': f'{q} ', 'chosen': a + '</s>'}", []),
    ],
)
def test_columns_of_prompt_and_completion(sample: str, expected: list[SettingValue]) -> None:
    program = f"from trl import SFTTrainer\ndef f(row):\n    return {sample}\nSFTTrainer(args=a).train()"
    assert [one.value for one in of_text(program).settings if one.key == "data.conversational"] == expected
    assert ("columns.completion" in symbols(program)) is (expected == [True])


def test_a_prompt_of_messages_without_a_completion() -> None:
    sample = "{'prompt': [{'role': 'user', 'content': q}], 'answer': a}"
    program = f"from trl import GRPOTrainer\ndef f(row):\n    return {sample}\nGRPOTrainer(args=a).train()"
    assert [one.value for one in of_text(program).settings if one.key == "data.conversational"] == [True]
    assert "columns.completion" not in symbols(program)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('sample["a"] + tokenizer.eos_token', True),
        ("fmt.format(sample) + EOS_TOKEN", True),
        ("""f"{sample['q']} {sample['a']}{tokenizer.eos_token}\"""", True),
        ("""f"{tokenizer.eos_token}{sample['a']}\"""", False),
        ("""f"[INST] {sample['q']} [/INST] {sample['a']} </s>\"""", True),
        ("""sample['q'] + sample['a'] + '<|endoftext|>\\n'""", True),
        ("""f"<s>{sample['q']}</s>{sample['a']}\"""", False),
        ("""sample['q'] + '</s>' + sample['a']""", False),
        ('f"{tokenizer.eos_token}"', False),
        ("tokenizer.eos_token + sample", False),
        ('sample["a"] + end', False),
        ('sample["q"] + tokenizer.eos_token + sample["a"]', False),
        ('sample["q"] + tokenizer.eos_token + sample["a"] + tokenizer.eos_token', True),
        ('sample["q"] + (sample["a"] + tokenizer.eos_token)', True),
        ('sample["q"] + (sample["a"] + tokenizer.eos_token) + end', False),
        ("""f"{sample['q']}{tokenizer.eos_token}" + sample["a"]""", False),
        ("""f"{sample['q'] + tokenizer.eos_token} {sample['a']}\"""", False),
    ],
)
def test_samples_that_a_program_ends(text: str, told: bool) -> None:
    program = (
        f"from trl import SFTTrainer\ndata.map(lambda sample: {{'text': {text}}})\nSFTTrainer(model, args).train()\n"
    )
    found = [one.value for one in of_text(program).settings if one.key == "data.ends_with_eos"]
    assert found == ([True] if told else [])


def test_a_prompt_that_ends_is_no_end_of_a_sample() -> None:
    program = (
        "from trl import SFTTrainer\n"
        "data.map(lambda sample: {'prompt': sample['q'] + tokenizer.eos_token, 'completion': sample['a']})\n"
        "SFTTrainer(model, args).train()\n"
    )
    assert not [one for one in of_text(program).settings if one.key == "data.ends_with_eos"]


def test_videos_that_some_messages_have() -> None:
    program = "from transformers import Trainer\nif q:\n    part = {'type': 'video', 'video': q}\nTrainer().train()"
    assert [one.value for one in of_text(program).settings if one.key == "data.videos"] == [None]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("optimizer.param_groups[0]['capturable'] = True", "group.capturable"),
        ("batch['token_type_ids'] = zeros", "batch.token_type_ids"),
        ("batch['position_ids'] = positions", "batch.position_ids"),
        ("model(input_ids=x, token_type_ids=torch.zeros_like(x))", "batch.token_type_ids"),
        ("def f(x):\n    return {'input_ids': x, 'completion_mask': g(x)}", "batch.completion_mask"),
        ("model[0].unpad_inputs = False", "sentence_transformers.Transformer.padded"),
        ("model.peft_config['a'].use_rslora = False", "peft.PeftConfig.plain_scaling"),
        ("for group in o.param_groups:\n    group['weight_decay'] = 0.1", "group.weight_decay"),
        ("trainer.label_smoother = None", "transformers.Trainer.label_smoother"),
        ("model.peft_config['a'].lora_alpha = 4", "peft.PeftConfig.plain_scaling"),
        ("for layer in layers:\n    layer.scaling['a'] /= 4", "peft.PeftConfig.plain_scaling"),
        ("import torch.distributed.checkpoint as dcp\ndcp.load({'model': m.state_dict()})", _MODEL_ALONE),
        ("import torch.distributed.checkpoint as dcp\nstate = {'model': m}\ndcp.load(state)", _MODEL_ALONE),
        ("import deepspeed\ne = deepspeed.initialize(m)\nm.add_adapter(c)", "late_adapter"),
        (
            "from trl import GRPOTrainer\nclass T(GRPOTrainer):\n    def _get_per_token_logps(self):\n        pass",
            "trl.GRPOTrainer._get_per_token_logps",
        ),
        (
            "from trl import GRPOTrainer\nclass T(GRPOTrainer):\n    def compute_loss(self, m, i):\n        return 0",
            "trl.GRPOTrainer.compute_loss",
        ),
        (
            "from trl import DPOTrainer\nclass T(DPOTrainer):\n"
            "    @staticmethod\n    def tokenize_row(f):\n        return f",
            "trl.DPOTrainer.tokenize_row",
        ),
        (
            "from trl.experimental.distillation import DistillationTrainer\nclass T(DistillationTrainer):\n"
            "    def compute_loss(self, m, i):\n        return 0",
            "trl.DistillationTrainer.compute_loss",
        ),
        (
            "from sentence_transformers.losses import CoSENTLoss\nclass L(CoSENTLoss):\n"
            "    def forward(self, f, l):\n        return 0",
            "sentence_transformers.losses.CoSENTLoss.forward",
        ),
        ("def f(x):\n    return {'input_ids': x, 'labels': [-100] * 3}", "batch.labels"),
        ("labels[:3] = -100\nbatch['labels'] = labels", "batch.labels"),
        ("labels[:3] = -100\nlabels[labels == pad_token_id] = -100\nbatch['labels'] = labels", "batch.labels"),
        (
            "class S(torch.utils.data.Sampler):\n    def set_epoch(self, e):\n        self.e = e",
            "torch.utils.data.Sampler.set_epoch",
        ),
        (
            "from lightning import LightningModule\nclass M(LightningModule):\n    pass",
            "lightning.LightningModule.no_hyperparameters",
        ),
        (
            "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
            "AutoModelForCausalLM.from_pretrained('a/b')\nAutoTokenizer.from_pretrained('c/d')",
            "transformers.AutoTokenizer.from_pretrained.of_other",
        ),
    ],
)
def test_what_a_program_does_by_hand(text: str, name: str) -> None:
    assert name in symbols(f"import torch\n{text}")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "from trl import GRPOTrainer\nclass T(GRPOTrainer):\n"
            "    def compute_loss(self, m, i):\n        return super().compute_loss(m, i)",
            "trl.GRPOTrainer.compute_loss",
        ),
        (
            "from sentence_transformers.losses import CoSENTLoss\nclass L(CoSENTLoss):\n"
            "    def forward(self, f, l):\n        return 2 * super().forward(f, l)",
            "sentence_transformers.losses.CoSENTLoss.forward",
        ),
        (
            "from trl import DPOTrainer\nclass T(DPOTrainer):\n    def __init__(self):\n        pass",
            "trl.DPOTrainer.__init__",
        ),
        ("def f(x):\n    return {'input_ids': x, 'labels': x.copy()}", "batch.labels"),
        ("batch['labels'] = [-100 if i == tokenizer.pad_token_id else i for i in ids]", "batch.labels"),
        ("batch['labels'] = ids\nkept = labels != -100", "batch.labels"),
        ("batch['labels'] = ids\nloss = torch.nn.CrossEntropyLoss(ignore_index=-100)", "batch.labels"),
        ("print({'labels': -100})", "batch.labels"),
        ("batch['labels'] = ids\nprompt = 'Rate it from 0-100.'", "batch.labels"),
        ("print({'completion_mask': [1]})", "batch.completion_mask"),
        ("def f(x, token_type_ids):\n    m(input_ids=x, token_type_ids=token_type_ids)", "batch.token_type_ids"),
        ("model(input_ids=x, token_type_ids=None)", "batch.token_type_ids"),
        (
            "class S(torch.utils.data.DistributedSampler):\n    def set_epoch(self, e):\n        self.e = e",
            "torch.utils.data.Sampler.set_epoch",
        ),
    ],
)
def test_what_only_looks_so(text: str, name: str) -> None:
    assert name not in symbols(f"import torch\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        "print(group['capturable'], batch['token_type_ids'])",
        "import torch.distributed.checkpoint as dcp\ndcp.load({'model': m, 'optimizer': o.state_dict()})",
        "import torch.distributed.checkpoint as dcp\ndcp.load(state)",
        "import deepspeed\nm.add_adapter(c)\ne = deepspeed.initialize(m)",
        "from lightning import LightningModule\n"
        "class M(LightningModule):\n    def f(self):\n        self.save_hyperparameters()",
    ],
)
def test_what_it_does_not(text: str) -> None:
    by_hand = {"capturable", "token_type_ids", "no_optimizer", "late_adapter", "late_optimizer", "no_hyperparameters"}
    assert by_hand.isdisjoint(name.rpartition(".")[2] for name in symbols(f"import torch\n{text}"))


def test_an_optimizer_by_the_member_of_its_enumeration() -> None:
    text = (
        "from transformers import Trainer, TrainingArguments\nfrom transformers.training_args import OptimizerNames\n"
        "Trainer(model, TrainingArguments('out', optim=OptimizerNames.{})).train()\n"
    )
    for member, name in (("ADAMW_BNB", "adamw_8bit"), ("PAGED_ADAMW", "paged_adamw_32bit"), ("SGD", "sgd")):
        assert [one.value for one in of_text(text.format(member)).settings if one.key == "optimizer.name"] == [name]


def test_the_backend_of_the_compiler() -> None:
    text = 'import torch\nmodel = torch.compile(model, backend="eager")\ntorch.optim.SGD(x)\n'
    assert [one.value for one in of_text(text).settings if one.key == "training.compile_backend"] == ["eager"]


@pytest.mark.parametrize(
    ("loaded", "classes"),
    [
        (
            "AutoModelForTokenClassification.from_pretrained('SCUT-DLVCLab/lilt-roberta-en-base')",
            "LiltForTokenClassification",
        ),
        (
            "AutoModelForSequenceClassification.from_pretrained('BAAI/bge-base-en-v1.5')",
            "BertForSequenceClassification",
        ),
        ("AutoModelForSequenceClassification.from_pretrained('gpt2')", None),
    ],
)
def test_a_head_on_what_is_published_without_one(loaded: str, classes: str | None) -> None:
    context = of_text(f"from transformers import {loaded.partition('.')[0]}\nmodel = {loaded}\n")
    stated = [one.value for one in context.settings if one.key == "model.architecture"]
    assert stated == [None if classes is None else (classes,)]


@pytest.mark.parametrize(
    ("made", "classes"),
    [
        ("SentenceTransformer('sentence-transformers/all-MiniLM-L6-v2')", ["BertModel"]),
        ("SentenceTransformer(model_name_or_path='bert-base-uncased', device='cuda')", ["BertModel"]),
        ("SentenceTransformer('microsoft/mpnet-base')", ["MPNetModel"]),
        ("SentenceTransformer('BAAI/bge-m3')", ["XLMRobertaModel"]),
        ("CrossEncoder('cross-encoder/ms-marco-MiniLM-L-6-v2')", ["BertForSequenceClassification"]),
        ("CrossEncoder('FacebookAI/roberta-base', num_labels=1)", ["RobertaForSequenceClassification"]),
        ("SentenceTransformer('acme/own')", []),
        ("SentenceTransformer(name)", []),
        # Whatever else is loaded is the model of the run.
        (
            "SentenceTransformer('BAAI/bge-m3'), AutoModelForCausalLM.from_pretrained('Qwen/Qwen3-8B')",
            ["Qwen3ForCausalLM"],
        ),
    ],
)
def test_the_model_of_an_embedding(made: str, classes: list[str]) -> None:
    context = of_text(
        "from sentence_transformers import CrossEncoder, SentenceTransformer\n"
        f"from transformers import AutoModelForCausalLM\nmodel = {made}\n"
    )
    stated = [one.value for one in context.settings if one.key == "model.architecture" and one.value is not None]
    assert stated == [(name,) for name in classes]


BLOCKS = """from transformers import Trainer, {collator}
def group_texts(examples):
    total = len(examples["input_ids"]) // block_size * block_size
    result = {{k: [t[i : i + block_size] for i in range(0, total, block_size)] for k, t in examples.items()}}
    result["labels"] = {labels}
    return result
Trainer(model, data_collator={collator}({given})).train()
"""


@pytest.mark.parametrize(
    ("collator", "given", "labels", "expected"),
    [
        ("DataCollatorForLanguageModeling", "tokenizer, mlm=False", 'result["input_ids"].copy()', [False]),
        ("DefaultDataCollator", "", 'result["input_ids"].copy()', [False]),
        ("DataCollatorForLanguageModeling", "tokenizer", 'result["input_ids"].copy()', []),
        ("DefaultDataCollator", "", "masked(result, -100)", []),
    ],
)
def test_blocks_of_one_length_have_equally_many_labels(
    collator: str, given: str, labels: str, expected: list[bool]
) -> None:
    context = of_text(BLOCKS.format(collator=collator, given=given, labels=labels))
    assert [one.value for one in context.settings if one.key == "data.unequal_labels" and one.presumed] == expected


FILLED = """from transformers import Trainer, {collator}
def prepare(sample):
    sample = tokenizer(sample["text"], padding={padding}, truncation=True)
    sample["labels"] = sample["input_ids"].copy()
    {more}
    return sample
Trainer(model, data_collator={collator}).train()
"""


@pytest.mark.parametrize(
    ("padding", "collator", "more", "expected"),
    [
        ("'max_length'", "default_data_collator", "", [False]),
        ("True", "default_data_collator", "", []),
        ("'max_length'", "DataCollatorForLanguageModeling", "", []),
        ("'max_length'", "default_data_collator", "sample['labels'] = masked(sample, -100)", []),
    ],
)
def test_padding_that_counts_makes_equally_many_labels(
    padding: str, collator: str, more: str, expected: list[bool]
) -> None:
    context = of_text(FILLED.format(padding=padding, collator=collator, more=more))
    assert [one.value for one in context.settings if one.key == "data.unequal_labels" and one.presumed] == expected


def test_unsloths_trainer_is_that_of_supervised_training_in_trl() -> None:
    text = (
        "from unsloth import UnslothTrainer, UnslothTrainingArguments\n"
        "args = UnslothTrainingArguments(output_dir='o', gradient_accumulation_steps=4)\n"
        "UnslothTrainer(model=model, args=args, train_dataset=data).train()\n"
    )
    context = of_text(text)
    stated = {one.key: one.value for one in context.settings}
    assert context.run
    assert (stated["training.framework"], stated["training.method"]) == ("trl", "sft")
    assert stated["training.gradient_accumulation_steps"] == 4


@pytest.mark.parametrize(
    ("device", "value"),
    [
        ("'mps' if torch.backends.mps.is_available() else 'cpu'", "mps"),
        ("'cuda' if torch.cuda.is_available() else 'mps'", None),
        ("'cpu' if torch.backends.mps.is_available() is None else pick()", None),
    ],
)
def test_a_loop_that_takes_the_gpu_of_a_mac_and_no_other(device: str, value: str | None) -> None:
    code = (
        f"import torch\ndevice = torch.device({device})\nmodel.to(device)\n"
        "for one in data:\n    model(one).backward()\n    optimizer.step()\n"
    )
    assert presumed(code).get("host.device") == value


@pytest.mark.parametrize(
    ("device", "value"),
    [
        ("device = 'cpu' if slow else 'mps'", "mps"),
        ("device = pick()\nif device.type == 'mps':\n    torch.mps.empty_cache()", None),
        ("device = pick()\npinned = device != 'mps'", None),
        ("import click\ndevice = 'mps' if mac else given", None),
        ("device = torch.accelerator.current_accelerator() or 'cpu'\nname = 'cpu' if cpu else 'mps'", None),
    ],
)
def test_a_loop_that_only_compares_its_device_with_that_of_a_mac(device: str, value: str | None) -> None:
    code = (
        f"import torch\n{device}\nmodel.to(device)\nfor one in data:\n    model(one).backward()\n    optimizer.step()\n"
    )
    assert presumed(code).get("host.device") == value


def test_a_mac_that_the_program_names_is_not_presumed() -> None:
    code = "import torch\nmodel.to('mps')\nfor one in data:\n    model(one).backward()\n    optimizer.step()\n"
    assert "host.device" not in presumed(code)


LOOP_OF_TORCH = "import torch\nopt = torch.optim.SGD(net.parameters(), 0.1)\nfor x in data:\n    {}\n    opt.step()\n"


@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ("net(x).backward()", ["no"]),
        ("net(x.half()).backward()", []),
        ("with torch.autocast('cuda', torch.bfloat16): net(x).backward()", ["bf16"]),
    ],
)
def test_a_loop_without_a_word_of_another_precision_has_the_full_one(body: str, mode: list[str]) -> None:
    context = of_text(LOOP_OF_TORCH.format(body))
    assert [one.value for one in context.settings if one.key == "precision.mode"] == mode


def test_what_a_class_of_lightning_restores() -> None:
    text = (
        "import lightning as L\n"
        "class Data(L.LightningDataModule):\n    def load_state_dict(self, state): ...\n"
        "class Kept(L.Callback):\n    def on_load_checkpoint(self, *given): ...\n"
        "class Net(torch.nn.Module):\n    def load_state_dict(self, state): ...\n"
    )
    found = [name for name in symbols(text) if name.rpartition(".")[2] in ("load_state_dict", "on_load_checkpoint")]
    assert found == ["lightning.Callback.on_load_checkpoint", "lightning.LightningDataModule.load_state_dict"]


@pytest.mark.parametrize(("value", "frozen"), [("False", True), ("True", False)])
def test_parameters_that_are_not_trained(value: str, frozen: bool) -> None:
    text = f"import torch\nfor p in tower.parameters():\n    p.requires_grad = {value}\n"
    assert ("torch.nn.Parameter.frozen" in symbols(text)) is frozen


@pytest.mark.parametrize(
    ("given", "stored"),
    [("bnb_4bit_quant_storage=torch.bfloat16", [True]), ("bnb_4bit_quant_storage='uint8'", [False])],
)
def test_how_four_bits_are_stored(given: str, stored: list[bool]) -> None:
    text = (
        f"import torch\nfrom transformers import BitsAndBytesConfig\nBitsAndBytesConfig(load_in_4bit=True, {given})\n"
    )
    assert [value for _, key, value in facts(text) if key == "quantization.float_storage"] == stored


@pytest.mark.parametrize(
    ("trainer", "framework"),
    [
        ("sentence_transformers.SentenceTransformerTrainer", "sentence-transformers"),
        ("gliner.training.Trainer", "gliner"),
        ("transformers.Trainer", "transformers.Trainer"),
    ],
)
def test_trainers_that_derive_from_transformers_say_whether_they_resume(trainer: str, framework: str) -> None:
    module = trainer.rpartition(".")[0]
    text = f"import {module}\nt = {trainer}(model=m, train_dataset=d)\nt.train(resume_from_checkpoint=True)\n"
    found = stated(of_text(text))
    assert (found["training.framework"], found["training.resume_from_checkpoint"]) == (framework, True)


@pytest.mark.parametrize(("given", "returns"), [("compute_loss_func=loss", False), ("compute_loss_func=None", None)])
def test_a_trainer_that_is_given_a_loss_does_not_ask_the_model_for_it(given: str, returns: bool | None) -> None:
    text = f"from transformers import Trainer\nt = Trainer(model=m, train_dataset=d, {given})\nt.train()\n"
    assert stated(of_text(text)).get("model.returns_loss") is returns


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('sample["decoder_input_ids"] = labels\n', "batch.decoder_input_ids"),
        ('batch = {"labels": labels, "decoder_input_ids": labels}\n', "batch.decoder_input_ids"),
        ("loss = model(labels=labels, decoder_input_ids=labels).loss\n", "batch.decoder_input_ids"),
        ('ids = batch["decoder_input_ids"]\n', None),
        ("def group(rows):\n    return {k: sum(rows[k], []) for k in rows}\n", "samples.concatenated"),
        ("total = sum(rows[k])\n", None),
        (
            'class A(pl.LightningModule):\n    def configure_optimizers(self):\n        return {"interval": "step"}\n',
            "lightning.LightningModule.scheduled_by_step",
        ),
        (
            'class A(pl.LightningModule):\n    def configure_optimizers(self):\n        return {"interval": "epoch"}\n',
            None,
        ),
        ('config = {"interval": "step"}\n', None),
    ],
)
def test_what_a_program_says_of_its_samples_and_schedules(text: str, name: str | None) -> None:
    used = [one.value for one in scan(Document("x.py", f"import lightning as pl\n{text}")).settings]
    names = {one for value in used if isinstance(value, tuple) for one in value}
    asked = {"batch.decoder_input_ids", "samples.concatenated", "lightning.LightningModule.scheduled_by_step"}
    assert names & asked == ({name} if name else set())


_VALIDATING = "class A(pl.LightningModule):\n    def validation_step(self, batch): ...\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A(pl.LightningModule):\n    def training_step(self, batch): ...\n", True),
        ("class A(pl.LightningModule):\n    def validation_step(self, batch): ...\n", False),
        ("class A(Mixin, pl.LightningModule):\n    def training_step(self, batch): ...\n", False),
        ("class A(pl.LightningDataModule):\n    def setup(self, stage): ...\n", False),
        (_VALIDATING + "pl.Trainer().fit(A(), DataLoader(data))\n", True),
        (_VALIDATING + "pl.Trainer().fit(A(), DataLoader(data), DataLoader(other))\n", False),
        (_VALIDATING + "pl.Trainer().fit(A(), DataLoader(data), val_dataloaders=DataLoader(other))\n", False),
        (_VALIDATING + "pl.Trainer().fit(A(), MyDataModule(DataLoader))\n", False),
        (_VALIDATING + "    def val_dataloader(self): ...\npl.Trainer().fit(A(), DataLoader(data))\n", False),
    ],
)
def test_a_module_that_validates_nothing(text: str, expected: bool) -> None:
    used = [one.value for one in scan(Document("x.py", f"import lightning as pl\n{text}")).settings]
    names = {name for value in used if isinstance(value, tuple) for name in value}
    assert ("lightning.LightningModule.no_validation" in names) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("self, batch, batch_idx, dataloader_idx", True),
        ("self, batch, batch_idx, dataloader_idx=0", False),
        ("self, batch, batch_idx", False),
        ("self, *args", False),
    ],
)
def test_a_module_that_validates_on_several_dataloaders(arguments: str, expected: bool) -> None:
    text = f"import lightning as pl\nclass A(pl.LightningModule):\n    def validation_step({arguments}): ...\n"
    used = [one.value for one in scan(Document("x.py", text)).settings]
    names = {name for value in used if isinstance(value, tuple) for name in value}
    assert ("lightning.LightningModule.several_validations" in names) is expected


@pytest.mark.parametrize(("method", "expected"), [("step(q, r, s)", True), ("generate(q)", False)])
def test_a_trainer_of_old_that_takes_single_steps_trains(method: str, expected: bool) -> None:
    text = f"from trl import PPOConfig, PPOTrainer\nt = PPOTrainer(PPOConfig(), m, None, tok)\nt.{method}\n"
    assert scan(Document("x.py", text)).run is expected


def test_hooks_of_a_class_behind_a_class_of_its_own() -> None:
    text = (
        "import lightning as pl\nclass Base(pl.LightningModule):\n    x = 1\n"
        "class Net(Base):\n    def on_epoch_end(self):\n        self.log('a', 1)\n"
    )
    used = [one.value for one in scan(Document("x.py", text)).settings if one.key == "code.symbols"]
    assert any("lightning.LightningModule.on_epoch_end" in value for value in used if isinstance(value, tuple))


def calls_of(text: str) -> SettingValue | None:
    return next((one.value for one in of_text(text).settings if one.key == "code.calls"), None)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("f'{run}/weights/best.onnx'", "_ending('.onnx', 1)"),
        ("os.path.join(root, 'best.engine')", "_ending('.engine', 1)"),
        ("str((root / 'best.pt').resolve())", "_ending('.pt', 1)"),
        ("Path(root, 'best.pt')", "_ending('.pt', 1)"),
        ("name + '.pt'", "_ending('.pt', 1)"),
        ("made", "_ending('.onnx', 1)"),
        ("f'{run}/weights'", "_1"),
        ("f'best.{kind}'", "_1"),
        ("'best.pt'", "'best.pt'"),
        ("model('best.pt')", "_1"),
    ],
)
def test_of_a_path_that_is_put_together_the_end_is_read(path: str, told: str) -> None:
    text = f"import os\nfrom pathlib import Path\nfrom ultralytics import YOLO\nmade = root / 'a.onnx'\nYOLO({path})\n"
    assert f"ultralytics.YOLO({told})" in texts(calls_of(text))


@pytest.mark.parametrize(("value", "told"), [("0.5", "0.5"), ("1", "1"), ("args.budget", "_1")])
def test_what_is_put_into_a_setting_of_the_compiler_is_told_like_an_argument(value: str, told: str) -> None:
    program = f"import torch._functorch.config as settings\nsettings.activation_memory_budget = {value}\n"
    assert calls_of(program) == (f"torch._functorch.config.activation_memory_budget({told})",)


@pytest.mark.parametrize(
    ("dtype", "told"), [("np.int16", "'int16'"), ("np.float32", "'float32'"), ("torch.half", "'float16'")]
)
def test_a_dtype_among_arguments_is_told_by_its_name(dtype: str, told: str) -> None:
    program = f"import numpy as np\nimport torch\nfrom monai.transforms import LoadImaged\nLoadImaged(dtype={dtype})\n"
    assert calls_of(program) == (f"monai.transforms.LoadImaged(dtype={told})",)


@pytest.mark.parametrize(("device", "told"), [("'cpu'", "'cpu'"), ("name", "_1"), ("'cuda', 0", "_1")])
def test_a_device_among_arguments_is_told_by_its_name(device: str, told: str) -> None:
    program = f"import torch\ntorch.load('last.pt', map_location=torch.device({device}))\n"
    assert f"torch.load('last.pt', map_location={told})" in texts(calls_of(program))


def test_a_program_of_graphs_alone_is_read() -> None:
    program = "from torch_geometric.utils import k_hop_subgraph\nk_hop_subgraph(0, 2, edges, directed=True)\n"
    assert calls_of(program) == ("torch_geometric.utils.k_hop_subgraph(0, 2, _1, directed=True)",)


def test_what_is_put_into_another_attribute_is_no_call() -> None:
    assert calls_of("import torch\ntorch.backends.cudnn.benchmark = True\n") == ()


@pytest.mark.parametrize(
    ("loop", "framework"),
    [
        ("import lightning\nlightning.Trainer(max_epochs=args.num_train_epochs).fit(module)\n", ["lightning"]),
        ("import torch\nloss.backward()\ntorch.optim.SGD(p).step()\n", ["torch"]),
        ("from transformers import Trainer\nTrainer(model, args).train()\n", ["transformers.Trainer"]),
        (
            "from transformers import Trainer\nclass Mine(Trainer):\n    def training_step(self):\n"
            "        self.loss.backward()\n        self.opt.step()\nMine(model, args).train()\n",
            ["transformers.Trainer"],
        ),
    ],
)
def test_arguments_of_a_trainer_that_nobody_makes(loop: str, framework: list[str]) -> None:
    parser = "from transformers import HfArgumentParser, TrainingArguments\nclass Mine(TrainingArguments):\n    pass\n"
    context = of_text(f"{parser}(args,) = HfArgumentParser(Mine).parse_args_into_dataclasses()\n{loop}")
    assert [one.value for one in context.settings if one.key == "training.framework"] == framework


@pytest.mark.parametrize(
    ("calls", "steps"),
    [
        ("if args.fast:\n    a = Accelerator(gradient_accumulation_steps=1)\n", [1]),
        (
            "if args.fast:\n    a = Accelerator(gradient_accumulation_steps=1)\n"
            "else:\n    a = Accelerator(gradient_accumulation_steps=4)\n",
            [None],
        ),
    ],
)
def test_the_only_call_that_makes_the_driver_of_the_loop(calls: str, steps: list[int | None]) -> None:
    context = of_text(f"from accelerate import Accelerator\n{calls}a.backward(loss)\noptimizer.step()\n")
    key = "training.gradient_accumulation_steps"
    assert [one.value for one in context.settings if one.key == key] == steps


@pytest.mark.parametrize(("value", "expected"), [("False", False), ("args.reentrant", None)])
def test_checkpointing_that_is_put_in_the_place_of_the_usual_one(value: str, expected: bool | None) -> None:
    context = of_text(
        "import functools\nimport torch\nimport transformers.modeling_utils as utils\n"
        f"utils.checkpoint = functools.partial(utils.checkpoint, use_reentrant={value})\n"
        "model.gradient_checkpointing_enable()\nx.backward()\ntorch.optim.SGD(p).step()\n"
    )
    assert [one.value for one in context.settings if one.key == "training.use_reentrant"] == [expected]


def test_how_activations_are_recomputed_where_they_are() -> None:
    context = of_text(
        "import torch\nfrom torch.utils.checkpoint import checkpoint\nif args.saving:\n"
        "    x = checkpoint(layer, x, use_reentrant=False)\nx.backward()\ntorch.optim.SGD(p).step()\n"
    )
    told = {one.key: one.value for one in context.settings}
    assert told["training.use_reentrant"] is False
    assert told["training.gradient_checkpointing"] is None


@pytest.mark.parametrize(
    ("filling", "call"),
    [
        ("kw['x'] = 1", "build(y=2, x=1)"),
        ("if old:\n    kw['x'] = 1", "build(y=2, **_)"),
        ("kw[name] = 1", "build(**_)"),
    ],
)
def test_calls_with_options_that_are_filled_by_statements(filling: str, call: str) -> None:
    program = f"import torch\nfrom torch.nn import Linear as build\nkw = dict(y=2)\n{filling}\nbuild(**kw)\n"
    (calls,) = [one.value for one in of_text(program).settings if one.key == "code.calls"]
    assert [one for one in texts(calls) if "Linear" in one] == [call.replace("build", "torch.nn.Linear")]


@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("tokenizer.pad_token = '<unk>'", False),
        ("tokenizer.pad_token = '</s>'", True),
        ("tokenizer.add_special_tokens({'pad_token': '<unk>'})", False),
        # What a tokenizer has already is the end of a sequence for few models.
        ("if not tokenizer.pad_token:\n    tokenizer.pad_token = '<unk>'", False),
        ("if tokenizer.pad_token is None:\n    tokenizer.add_special_tokens({'pad_token': '[PAD]'})", False),
    ],
)
def test_padding_with_a_token_that_is_written_out(code: str, ends: bool) -> None:
    program = f"import transformers\ntokenizer = transformers.AutoTokenizer.from_pretrained('a')\n{code}\n"
    assert presumed(program)["data.pad_is_eos"] is ends
    assert "data.pad_is_eos" not in {key for _, key, _ in facts(program)}


def test_padding_with_the_unknown_token_presumably_ends_nothing() -> None:
    program = "import transformers\ntokenizer = transformers.AutoTokenizer.from_pretrained('a')\n"
    for name in ("pad_token", "pad_token_id"):
        line = f"tokenizer.{name} = tokenizer.{name.replace('pad', 'unk')}\n"
        assert facts(program + line)[1:] == []
        assert presumed(program + line)["data.pad_is_eos"] is False
        assert ("data.pad_is_eos", None) in [
            fact[1:] for fact in facts(f"{program}if tokenizer.unk_token:\n    {line}")
        ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("bf16=bf16_works(), fp16=not bf16_works()", {"bf16", "fp16"}),
        ("fp16=not works, bf16=works", {"bf16", "fp16"}),
        ("bf16=not works, fp16=works", {"bf16", "fp16"}),
        ("bf16=works, fp16=not others", {None}),
        ("bf16=works, fp16=works", {None}),
        ("bf16=works", {None}),
        ("bf16=works, fp16=not works, bf16_full_eval=works", {"bf16", "fp16"}),
    ],
)
def test_one_of_both_halves_is_on(arguments: str, told: set[str | None]) -> None:
    program = f"import transformers\nargs = transformers.TrainingArguments('out', {arguments})\n"
    found = facts(program.replace("args", "from probe import bf16_works, others, works\nargs"))
    assert {value for _, key, value in found if key == "precision.mode"} == told


def test_an_argument_that_is_only_changed_where_it_was_something_else() -> None:
    program = "import transformers\nargs = transformers.TrainingArguments('out')\n"
    for line in (
        "args.optim = 'adamw_torch' if args.optim == 'adamw_hf' else args.optim\n",
        "args.optim = args.optim if args.optim != 'adamw_hf' else 'adamw_torch'\n",
    ):
        assert "optimizer.name" not in {key for _, key, _ in facts(program + line)}
        assert presumed(program + line)["optimizer.name"] == "adamw_torch"
    other = "args.optim = 'adamw_torch' if args.optim == 'adamw_hf' else args.others\n"
    assert ("optimizer.name", None) in [fact[1:] for fact in facts(program + other)]


def test_an_object_of_a_class_with_several_bases_is_of_the_first_that_is_known() -> None:
    program = "from trl import PPOTrainer\nfrom transformers import Seq2SeqTrainer\nfrom timing import Timed\n\n\n"
    program += "class Saving(Seq2SeqTrainer):\n    pass\n\n\nclass Own(Timed, PPOTrainer, Saving):\n    pass\n\n\n"
    assert ("training.method", "ppo") in [fact[1:] for fact in facts(f"{program}Own(model=model).train()\n")]


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ('f"{root}/configs"', ["configs/train.yaml"]),
        ('str(root / "configs")', ["configs/train.yaml"]),
        ('f"{pyrootutils.find_root()}/configs/model"', ["configs/model/train.yaml"]),
        ('f"{other}/configs"', []),
        ('f"{root}/{other}"', []),
        ('f"{root}"', []),
    ],
)
def test_the_folder_of_configs_below_the_root_of_a_project(path: str, named: list[str]) -> None:
    program = "import hydra\nimport pyrootutils\nimport torch\nfrom paths import other\n"
    program += "root = pyrootutils.setup_root(__file__, pythonpath=True)\n\n\n"
    program += f'@hydra.main(config_path={path}, config_name="train")\ndef main(config):\n    torch.optim.AdamW([])\n'
    assert list(of_text(program).refers_to) == named


@pytest.mark.parametrize(
    ("method", "symbol"),
    [
        ("        self.model.parameters()\n", "peft.PeftModel.parameters"),
        ("    def run(self):\n        self.model.parameters()\n", "peft.PeftModel.parameters"),
        # what another method sets as well
        ("    def run(self):\n        self.model = other()\n        self.model.parameters()\n", "parameters"),
    ],
)
def test_an_attribute_has_the_type_that_its_one_method_sets_last(method: str, symbol: str) -> None:
    text = (
        "from peft import get_peft_model\nfrom transformers import GPT2LMHeadModel\nclass Run:\n"
        "    def __init__(self):\n        self.model = GPT2LMHeadModel.from_pretrained('gpt2')\n"
        "        self.model = get_peft_model(self.model, config)\n"
    )
    assert {one for one in symbols(text + method) if one.endswith("parameters")} == {symbol}


def test_the_type_of_a_variable_says_nothing_but_in_a_class() -> None:
    plain = (
        "from torch.utils.data import DataLoader\nimport torch\nloader = DataLoader(d, batch_size=4, num_workers=2)\n"
        "if x:\n    optimizer = torch.optim.SGD(w, 0.1)\nfor b in loader:\n    b.backward()\n    optimizer.step()\n"
    )
    typed = plain.replace("loader =", "loader: DataLoader =").replace("optimizer =", "optimizer: 'Optimizer' =")
    assert typed.count(":") == plain.count(":") + 2
    assert facts(typed) == facts(plain)
    assert any(key == "training.dataloader_num_workers" for _, key, _ in facts(typed))


@pytest.mark.parametrize("given", ["**options", "num_workers=WORKERS", "**dict(num_workers=2, batch_size=4)"])
def test_the_workers_of_a_loader_wherever_they_are_written(given: str) -> None:
    text = (
        "from torch.utils.data import DataLoader\nimport torch\nWORKERS = 2\noptions = {'num_workers': 2}\n"
        f"o = torch.optim.SGD(w, 0.1)\nfor b in DataLoader(d, {given}):\n    b.backward()\n    o.step()\n"
    )
    assert [value for _, key, value in facts(text) if key == "training.dataloader_num_workers"] == [2]
