"""The table of cells: which releases, which program, and what the guard has to say.

Whether gradient accumulation is wrong in a release is not assumed: it is what `knowledge measure` has found there, by
comparing one large batch with several small ones (`knowledge/measured/`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parents[2] / "knowledge" / "measured" / "transformers.jsonl"

_OF_TRANSFORMERS_5 = (
    *("typer==0.29.2", "click==8.5.1", "rich==15.0.0", "shellingham==1.5.4", "markdown-it-py==4.3.0", "mdurl==0.1.2"),
    *("pygments==2.21.0", "httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.16.0", "annotated-doc==0.0.7"),
    "typer-slim==0.24.0",
)

_OF_LIGHTNING = ("lightning-utilities==0.15.3", "torchmetrics==1.9.0")

# Name → what is laid over the base: torch 2.13.0, transformers 4.49.0, accelerate 1.4.0, peft 0.15.0.
STACKS: dict[str, list[str]] = {
    "transformers 4.45.2": ["transformers==4.45.2", "tokenizers==0.20.3"],
    "transformers 4.46.3": ["transformers==4.46.3", "tokenizers==0.20.3"],
    "transformers 4.47.0": ["transformers==4.47.0"],
    "transformers 4.49.0": [],
    "transformers 4.51.3": ["transformers==4.51.3"],
    "transformers 4.52.4": ["transformers==4.52.4"],
    "transformers 4.57.6": ["transformers==4.57.6", "tokenizers==0.22.2"],
    **{
        f"transformers {version}": [
            f"transformers=={version}",
            "huggingface-hub==1.33.0",
            "tokenizers==0.22.2",
            "peft==0.21.2",
            *_OF_TRANSFORMERS_5,
        ]
        for version in ("5.0.0", "5.3.0")
    },
    "transformers 5.23.0": [
        "transformers==5.23.0",
        "huggingface-hub==2.4.0",
        "tokenizers==0.23.3",
        "peft==0.21.2",
        "accelerate==1.15.0",
        "httpx2==2.16.2",
        "httpcore2==2.16.2",
        "truststore==0.10.5",
        *_OF_TRANSFORMERS_5,
    ],
    "torch 2.13.0": [],
    "accelerate 0.30.1": ["accelerate==0.30.1"],
    "accelerate 1.4.0": [],
    "accelerate 1.15.0": ["accelerate==1.15.0"],
    "pytorch-lightning 2.0.9": [
        "setuptools==75.8.0",
        "pytorch-lightning==2.0.9",
        "lightning-utilities==0.15.3",
        "torchmetrics==1.9.0",
    ],
    "pytorch-lightning 2.6.6": ["pytorch-lightning==2.6.6", "lightning-utilities==0.15.3", "torchmetrics==1.9.0"],
}

MODELS = (
    *("llama", "gpt2", "t5", "mt5", "bart", "whisper", "llava", "vip_llava", "llama_lora"),
    *("bert_sequence_classification", "qwen2_sequence_classification", "llama_sequence_classification"),
    *("llama_token_classification", "toy_kwargs", "toy_plain", "toy_refusing"),
)
_TRAINERS = tuple(name for name in STACKS if name.startswith("transformers"))
TOLERANCE = 0.03


@dataclass(frozen=True)
class Cell:
    """One trial.

    Attributes:
        stack: in which releases.
        what: in words, for the table.
        way: the way in.
        job: for ``inside.py``.
        detectors: of which one has to speak; empty if the cell is healthy.
        ratio: of the gradients, as it was measured without the guard; None if it was not.
    """

    stack: str
    what: str
    way: str
    job: dict[str, Any]
    detectors: tuple[str, ...] = ()
    ratio: float | None = field(default=None)

    @property
    def name(self) -> str:
        """Unique among all cells."""
        return f"{self.stack} / {self.way} / {self.what}"

    @property
    def healthy(self) -> bool:
        """Whether nothing may be told."""
        return not self.detectors


def cells() -> list[Cell]:
    """All of them."""
    in_process = (*_accumulation(), *_trainer(), *_experts(), *_packing(), *_loops(), *_accelerate(), *_lightning())
    return [*in_process, *_commands(), *_ranks()]


def _measured() -> dict[tuple[str, str, str], dict[str, float]]:
    """Release, model and labels → what `accumulation_equivalence` measured."""
    found = {}
    for line in MEASURED.read_text("utf-8").splitlines():
        row = json.loads(line)
        parameters = row["parameters"]
        plain = not parameters.keys() - {"model", "labels"}
        of_ours = row["probe"] == "accumulation_equivalence" and row["state"] == "measured"
        if of_ours and plain and row["device"] == "cpu":
            key = (row["version"], parameters["model"], parameters.get("labels", "equal"))
            found[key] = row["values"]
    return found


def _accumulation() -> Iterator[Cell]:
    """Gradient accumulation over four micro-batches with the Trainer, for each model and release that was measured."""
    measured = _measured()
    for stack in _TRAINERS:
        for model in MODELS:
            for labels in ("equal", "unequal"):
                values = measured.get((stack.split()[1], model, labels))
                if values is None:
                    continue
                job = {"program": "trainer", "model": model, "labels": labels}
                what = f"{model}, accumulation 4" + (", unequal labels" if labels == "unequal" else "")
                detectors = _wrong(values, labels)
                ratio = values["update_ratio"] if labels == "equal" else None
                yield Cell(stack, what, "GuardCallback", job, detectors, ratio)


def _wrong(values: dict[str, float], labels: str) -> tuple[str, ...]:
    detectors = []
    if labels == "unequal":
        if values["update_cosine"] < 0.98:
            detectors += ["token weights"]
        # The mean of means has another length, so only a whole factor is one of scale.
        if not 0.6 < values["update_ratio"] < 1.6:
            detectors += ["objective weight"]
    elif abs(values["update_ratio"] - 1) > TOLERANCE:
        detectors += ["objective weight"]
    if not detectors and abs(values["loss_ratio"] - 1) > TOLERANCE:
        detectors += ["logged loss"]
    return tuple(detectors)


def _trainer() -> Iterator[Cell]:
    """Other settings of the Trainer, with Llama."""
    way = "GuardCallback"
    for stack in _TRAINERS:
        four = stack.split()[1].startswith("4")
        frozen = {"program": "trainer", "model": "llama", "accumulation": 1, "prepare": "frozen_embeddings"}
        checkpointed = {**frozen, "arguments": {"gradient_checkpointing": True}}
        # Transformers 5 checkpoints without reentrance unless it is asked for.
        yield Cell(stack, "frozen embeddings, checkpointing", way, checkpointed, ("missing gradient",) if four else ())
        other = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}
        yield Cell(stack, "frozen embeddings, checkpointing without reentrance", way, {**frozen, "arguments": other})
        broken = {"program": "trainer", "model": "llama", "accumulation": 1, "prepare": "nan"}
        yield Cell(stack, "a loss that is NaN", way, broken, ("finite loss",))
        one = {"program": "trainer", "model": "llama", "accumulation": 1, "batch": 2}
        yield Cell(stack, "llama, accumulation 1", way, one)
    for stack in ("transformers 4.49.0", "transformers 4.57.6", "transformers 5.23.0"):
        llama = {"program": "trainer", "model": "llama", "accumulation": 1, "batch": 2}
        for prepare, what, detectors in (
            ("unlabelled", "no label counts", ("labels", "finite loss")),
            ("shifted twice", "labels shifted twice", ("labels",)),
            ("no end", "end of sequence is no label", ("labels",)),
            ("padding", "padding counts as labels", ("labels",)),
            ("end", "end of sequence is a label", ()),
            ("right padding", "padding without labels", ()),
        ):
            yield Cell(stack, what, way, {**llama, "prepare": prepare}, detectors)
        for what, arguments in (
            ("bf16", {"bf16": True}),
            ("warm-up", {"warmup_steps": 1}),
            ("clipping at 0.1", {"max_grad_norm": 0.1}),
            ("no clipping", {"max_grad_norm": 0.0}),
            ("Adafactor", {"optim": "adafactor"}),
            ("checkpointing", {"gradient_checkpointing": True}),
        ):
            yield Cell(stack, what, way, {**llama, "arguments": arguments})
        yield Cell(stack, "llama, accumulation 8", way, {**llama, "accumulation": 8, "batch": 1}, ())


def _experts() -> Iterator[Cell]:
    """The router's loss, which counts as often as micro-batches are accumulated from 4.46 on."""
    for stack in _TRAINERS:
        job = {"program": "trainer", "model": "mixtral"}
        version = stack.split()[1]
        wrong: dict[str, tuple[str, ...]] = dict.fromkeys(("4.57.6", "5.23.0"), ("auxiliary loss",))
        wrong |= {"4.45.2": (), "4.46.3": ("auxiliary loss", "objective weight")}
        if version in wrong:
            yield Cell(stack, "mixtral, router's loss, accumulation 4", "GuardCallback", job, wrong[version])


def _packing() -> Iterator[Cell]:
    """Packed samples in a loop of one's own; which releases keep them apart is measured (attention_masks)."""
    leaks = {"transformers 4.49.0": True, "transformers 4.57.6": False, "transformers 5.0.0": False}
    leaks["transformers 5.23.0"] = False
    for stack, leaking in leaks.items():
        for model, attention in (("llama", "sdpa"), ("llama", "eager"), ("gpt2", "sdpa")):
            job = {"program": "language", "model": model, "attention": attention}
            detectors = ("packing",) if leaking else ()
            yield Cell(stack, f"{model}, packed, {attention}", "Guard", job, detectors)
        job = {"program": "language", "model": "llama"}
        yield Cell(stack, "llama, packed, sdpa, mask of ones", "Guard", {**job, "mask": "ones"}, ("packing",))
        yield Cell(stack, "llama, packed, sdpa, mask of blocks", "Guard", {**job, "mask": "blocks"})
        yield Cell(stack, "llama, one sample a row", "Guard", {**job, "mask": "single"})


_HEALTHY_LOOPS = (
    *("plain", "batch norm", "checkpointed", "reentrant", "autocast", "smoothing", "class weights", "summed"),
    *("elementwise", "two halves", "two losses", "regression", "binary", "preferences", "module loss", "by hand"),
    *("inplace", "clipped", "scaler", "token embedding", "two optimizers"),
)
_WRONG_LOOPS = {
    "undivided": ("objective weight",),
    "erased": ("accumulated gradient",),
    "step each": ("objective weight",),
    "never zeroed": ("accumulated gradient",),
    "stale": ("optimizer parameters", "movement"),
    "some left out": ("optimizer parameters",),
    "no rate": ("learning rate",),
    "tiny rate": ("movement",),
    "bfloat16": ("movement",),
    "nan": ("finite loss",),
    "infinite gradient": ("finite loss",),
    "evaluation": ("evaluation mode",),
    "scaler not unscaled": ("accumulated gradient",),
    "unequal": ("token weights",),
}


def _loops() -> Iterator[Cell]:
    """Loops of one's own with planted defects, and with everything that is unusual and right."""
    stack = "torch 2.13.0"
    for what in _HEALTHY_LOOPS:
        yield Cell(stack, what, "Guard", {"program": "loop", "what": what})
    for what, detectors in _WRONG_LOOPS.items():
        yield Cell(stack, what, "Guard", {"program": "loop", "what": what}, detectors)
    unclipped = {"program": "loop", "max_grad_norm": 0.001}
    yield Cell(stack, "not clipped", "Guard", unclipped, ("clipping",))
    for accumulation in (1, 2, 8):
        job = {"program": "loop", "accumulation": accumulation}
        yield Cell(stack, f"accumulation {accumulation}", "Guard", job)
    automatic = {"program": "loop", "automatic": True, "declared": False}
    yield Cell(stack, "plain", "Guard without a model", automatic)
    undeclared = {**automatic, "what": "undivided"}
    yield Cell(stack, "undivided", "Guard without a model", undeclared, ("objective weight",))
    yield Cell(stack, "two models and two optimizers (GAN)", "Guard without a model", {"program": "adversarial"})
    yield Cell(stack, "closures (LBFGS)", "Guard", {"program": "closure"})


def _accelerate() -> Iterator[Cell]:
    for stack in ("accelerate 0.30.1", "accelerate 1.4.0", "accelerate 1.15.0"):
        for accumulation in (1, 2, 4):
            job = {"program": "accelerate", "accumulation": accumulation}
            yield Cell(stack, f"accumulation {accumulation}", "Guard", job)
        yield Cell(stack, "clipping", "Guard", {"program": "accelerate", "clip": True})
        yield Cell(stack, "accumulation 4", "Guard without a model", {"program": "accelerate", "automatic": True})
        # 0.28 to 0.30 step on every micro-batch (GC-0026).
        detectors = ("objective weight",) if stack.endswith("0.30.1") else ()
        yield Cell(stack, "sync_each_batch", "Guard", {"program": "accelerate", "sync_each_batch": True}, detectors)


def _lightning() -> Iterator[Cell]:
    for stack in ("pytorch-lightning 2.0.9", "pytorch-lightning 2.6.6"):
        old = stack.endswith("2.0.9")
        lost = ("accumulated gradient",) if old else ()
        for accumulation in (1, 4):
            job = {"program": "lightning", "accumulation": accumulation}
            yield Cell(stack, f"accumulation {accumulation}", "LightningGuard", job)
        yield Cell(stack, "clipping", "LightningGuard", {"program": "lightning", "clip": 0.01})
        job = {"program": "lightning", "what": "validation"}
        yield Cell(stack, "validation inside an accumulated step", "LightningGuard", job, lost)
        job = {"program": "lightning", "what": "batch_index"}
        yield Cell(stack, "training_step without batch_idx", "LightningGuard", job, lost)


RUN = "gradcompat run"
TORCHRUN = "gradcompat run -- torchrun"


def _commands() -> Iterator[Cell]:
    """Programs that know nothing of the guard, started by the command."""
    measured = _measured()
    for stack in _TRAINERS:
        for model in ("llama", "t5", "llava"):
            values = measured[stack.split()[1], model, "equal"]
            job = {"program": "trainer", "model": model, "alone": True}
            yield Cell(stack, f"{model}, accumulation 4", RUN, job, _wrong(values, "equal"), values["update_ratio"])
    for what in ("plain", "checkpointed", "autocast", "scaler", "two optimizers", "smoothing"):
        yield Cell("torch 2.13.0", what, RUN, {"program": "loop", "what": what, "alone": True})
    yield Cell("torch 2.13.0", "two models and two optimizers (GAN)", RUN, {"program": "adversarial", "alone": True})
    yield Cell("torch 2.13.0", "closures (LBFGS)", RUN, {"program": "closure", "alone": True})
    for what in ("undivided", "erased", "never zeroed", "some left out", "tiny rate", "evaluation"):
        yield Cell("torch 2.13.0", what, RUN, {"program": "loop", "what": what, "alone": True}, _WRONG_LOOPS[what])
    for stack in ("accelerate 1.4.0", "accelerate 1.15.0"):
        yield Cell(stack, "accumulation 4", RUN, {"program": "accelerate", "alone": True})
    for stack in ("pytorch-lightning 2.0.9", "pytorch-lightning 2.6.6"):
        job = {"program": "lightning", "alone": True}
        yield Cell(stack, "accumulation 4", RUN, job)
        lost = ("accumulated gradient",) if stack.endswith("2.0.9") else ()
        yield Cell(stack, "validation inside an accumulated step", RUN, {**job, "what": "validation"}, lost)


def _ranks() -> Iterator[Cell]:
    """Two processes with gloo."""
    stack, job = "torch 2.13.0", {"program": "ranks", "alone": True}
    for accumulation in (1, 2):
        yield Cell(stack, f"DDP, accumulation {accumulation}", TORCHRUN, {**job, "accumulation": accumulation})
        other = {**job, "accumulation": accumulation, "engine": "fsdp2"}
        yield Cell(stack, f"FSDP2, accumulation {accumulation}", TORCHRUN, other)
    for what, detectors in (
        ("nan on one rank", ("finite loss",)),
        ("apart", ("replicas",)),
        ("not averaged", ("accumulated gradient",)),
    ):
        yield Cell(stack, f"DDP, {what}", TORCHRUN, {**job, "what": what}, detectors)
    for stack, model, accumulation, ratio in (
        ("transformers 4.49.0", "llama", 2, None),
        ("transformers 4.57.6", "llama", 2, None),
        ("transformers 5.23.0", "llama", 2, None),
        # Measured by hand: two processes double the gradients of these, accumulated or not.
        ("transformers 5.23.0", "t5", 1, 2.0),
        ("transformers 5.23.0", "bert_sequence_classification", 1, 2.0),
        ("transformers 4.57.6", "llama_sequence_classification", 2, 4.0),
    ):
        job = {"program": "trainer", "model": model, "accumulation": accumulation, "alone": True}
        wrong: tuple[str, ...] = () if ratio is None else ("objective weight",)
        yield Cell(stack, f"{model}, DDP, accumulation {accumulation}", TORCHRUN, job, wrong, ratio)
