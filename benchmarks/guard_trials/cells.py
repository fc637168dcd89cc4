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

from guard_trials.records import measured_by

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
    "pytorch-lightning 2.4.0": ["pytorch-lightning==2.4.0", "lightning-utilities==0.15.3", "torchmetrics==1.9.0"],
    "pytorch-lightning 2.6.6": ["pytorch-lightning==2.6.6", "lightning-utilities==0.15.3", "torchmetrics==1.9.0"],
}

_OF_DATASETS = (
    *("datasets==4.4.1", "pyarrow==22.0.0", "pandas==2.3.3", "dill==0.4.0", "multiprocess==0.70.18", "xxhash==3.6.0"),
    *("python-dateutil==2.9.0.post0", "pytz==2025.2", "tzdata==2025.2", "six==1.17.0", "aiohttp==3.11.18"),
    *("aiohappyeyeballs==2.4.6", "aiosignal==1.3.2", "attrs==25.3.0", "frozenlist==1.5.0", "multidict==6.4.3"),
    *("propcache==0.2.1", "yarl==1.18.3", "httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.16.0"),
)
_OF_RICH = ("rich==15.0.0", "markdown-it-py==4.3.0", "mdurl==0.1.2", "pygments==2.21.0")
_OF_DEEPSPEED = (
    *("hjson==3.1.0", "ninja==1.13.0", "py-cpuinfo==9.0.0", "msgpack==1.1.2", "einops==0.8.1", "pydantic==2.12.5"),
    *("pydantic-core==2.41.5", "annotated-types==0.7.0", "typing-inspection==0.4.2"),
)
_NEWEST = ("transformers 4.57.6", "transformers 5.23.0")
_SKLEARN = ("scikit-learn==1.7.2", "scipy==1.16.3", "joblib==1.5.2", "threadpoolctl==3.6.0", "pillow==12.0.0")

STACKS |= {
    "trl 0.13.0": ["trl==0.13.0", *_OF_RICH, *_OF_DATASETS],
    "trl 0.15.2": ["trl==0.15.2", *_OF_RICH, *_OF_DATASETS],
    "trl 0.26.2": ["trl==0.26.2", "accelerate==1.15.0", *STACKS[_NEWEST[0]], *_OF_DATASETS],
    "trl 1.16.0": ["trl==1.16.0", *STACKS[_NEWEST[1]], *_OF_DATASETS],
    "deepspeed 0.18.2": ["deepspeed==0.18.2", *_OF_DEEPSPEED],
    "deepspeed 0.18.2, transformers 4.46.3": ["deepspeed==0.18.2", *_OF_DEEPSPEED, *STACKS["transformers 4.46.3"]],
    "deepspeed 0.18.3": ["deepspeed==0.18.3", *_OF_DEEPSPEED],
    "deepspeed 0.19.8": ["deepspeed==0.19.8", *_OF_DEEPSPEED],
    "sentence-transformers 5.2.0": [
        "sentence-transformers==5.2.0",
        "accelerate==1.15.0",
        *STACKS[_NEWEST[0]],
        *_OF_DATASETS,
        *_SKLEARN,
    ],
    "diffusers 0.36.0": [
        "diffusers==0.36.0",
        "peft==0.21.2",
        *STACKS[_NEWEST[0]],
        *("pillow==12.0.0", "importlib-metadata==8.7.0", "zipp==3.23.0"),
        *("httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.16.0"),
    ],
    "keras 3.12.0": [
        *("keras==3.12.0", "namex==0.1.0", "optree==0.18.0", "ml-dtypes==0.5.4", "h5py==3.15.1", "absl-py==2.3.1"),
        *_OF_RICH,
    ],
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
        records: that describe the defect, where a release causes it; None for a defect that is planted.
    """

    stack: str
    what: str
    way: str
    job: dict[str, Any]
    detectors: tuple[str, ...] = ()
    ratio: float | None = field(default=None)
    records: tuple[str, ...] | None = field(default=None)

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
    other = (*_smoothing(), *_tails(), *_trl(), *_sentences(), *_diffusion(), *_deepspeed(), *_keras())
    return [*in_process, *other, *_commands(), *_ranks()]


def _measured(extra: str = "") -> dict[tuple[str, str, str], dict[str, float]]:
    """Release, model and labels → what `accumulation_equivalence` measured, with one more parameter or none."""
    found = {}
    for line in MEASURED.read_text("utf-8").splitlines():
        row = json.loads(line)
        parameters = row["parameters"]
        alike = parameters.keys() - {"model", "labels"} == ({extra} if extra else set())
        of_ours = row["probe"] == "accumulation_equivalence" and row["state"] == "measured"
        if of_ours and alike and row["device"] == "cpu":
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
                yield Cell(stack, what, "GuardCallback", job, detectors, ratio, _records(stack, model, detectors))


# What was measured with one of these holds for the other, which has the same loss.
_SAME_LOSS = {"gpt2": "llama", "llama_lora": "llama", "toy_refusing": "toy_plain", "vip_llava": "toy_kwargs"}


def _records(stack: str, model: str, detectors: tuple[str, ...]) -> tuple[str, ...]:
    """Those whose own probe has measured what the detectors should tell."""
    package, version = stack.split()
    found: dict[str, None] = {}
    for one in dict.fromkeys((model, _SAME_LOSS.get(model, model))):
        if "token weights" in detectors:
            unequal = measured_by(package, version, "accumulation_equivalence", model=one, labels="unequal")
            found |= dict.fromkeys(unequal)
        if detectors != ("token weights",):
            found |= dict.fromkeys(measured_by(package, version, "accumulation_equivalence", model=one))
    return tuple(found)


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
        lost = ("missing gradient",) if four else ()
        yield Cell(stack, "frozen embeddings, checkpointing", way, checkpointed, lost, records=("GC-0001",))
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
            what = "mixtral, router's loss, accumulation 4"
            yield Cell(stack, what, "GuardCallback", job, wrong[version], records=("GC-0230",))


def _smoothing() -> Iterator[Cell]:
    """Label smoothing, whose loss is the Trainer's own."""
    measured = _measured("label_smoothing")
    arguments = {"label_smoothing_factor": 0.1}
    probe, what = "accumulation_equivalence", "llama, label smoothing, unequal labels"
    for stack in _TRAINERS:
        version = stack.split()[1]
        detectors = _wrong(measured[version, "llama", "unequal"], "unequal")
        records = measured_by("transformers", version, probe, model="llama", labels="unequal", label_smoothing=True)
        if "token weights" in detectors:
            records += measured_by("transformers", version, probe, model="llama", labels="unequal")
        job: dict[str, Any] = {"program": "trainer", "model": "llama", "labels": "unequal", "arguments": arguments}
        yield Cell(stack, what, "GuardCallback", job, detectors, records=records)
    for stack in _NEWEST:
        job = {"program": "trainer", "model": "llama", "accumulation": 1, "batch": 2, "arguments": arguments}
        yield Cell(stack, "llama, label smoothing, accumulation 1", "GuardCallback", job)


_TOO_FEW_LABELS = ("transformers 4.46.3", "llama")


def _tails() -> Iterator[Cell]:
    """The last window of an epoch with half of its micro-batches: too small a step is a note (GC-0209).

    4.46.3 counts the samples of the last window where it needs its micro-batches (trainer.py, line 2418), so that a
    window with fewer of them than it takes for granted is divided by too few labels; no record says so.
    """
    measured = _measured("tail")
    for stack in _TRAINERS:
        for model in ("llama", "toy_plain"):
            if 0.4 < measured[stack.split()[1], model, "equal"]["update_ratio"] < 1.1:
                job = {"program": "trainer", "model": model, "tail": True}
                told = ("objective weight",) if (stack, model) == _TOO_FEW_LABELS else ()
                yield Cell(
                    stack, f"{model}, last window half full", "GuardCallback", job, told, records=() if told else None
                )


# What accumulates wrongly was measured (`preference_accumulation`).
_TRL_WRONG = {"trl 0.13.0": ("dpo", "orpo", "kto", "cpo"), "trl 0.15.2": ("orpo",)}
_TRL_METHODS = {
    "trl 0.13.0": ("sft", "dpo", "orpo", "kto", "cpo"),
    "trl 0.15.2": ("sft", "dpo", "orpo", "kto", "cpo", "grpo"),
    "trl 0.26.2": ("sft", "dpo", "grpo"),
    "trl 1.16.0": ("sft", "dpo", "grpo"),
}


def _trl() -> Iterator[Cell]:
    for stack, methods in _TRL_METHODS.items():
        for method in methods:
            job = {"program": "trl", "method": method}
            wrong = ("objective weight",) if method in _TRL_WRONG.get(stack, ()) else ()
            records = measured_by("trl", stack.split()[1], "preference_accumulation", method=method)
            ratio = 4.0 if wrong else None
            yield Cell(stack, f"{method.upper()}, accumulation 4", "GuardCallback", job, wrong, ratio, records)
        single = {"program": "trl", "method": "sft", "accumulation": 1}
        yield Cell(stack, "SFT, accumulation 1", "GuardCallback", single)


def _sentences() -> Iterator[Cell]:
    stack = "sentence-transformers 5.2.0"
    for loss in ("MultipleNegativesRankingLoss", "CoSENTLoss"):
        for accumulation in (1, 4):
            job = {"program": "sentences", "loss": loss, "accumulation": accumulation}
            yield Cell(stack, f"{loss}, accumulation {accumulation}", "GuardCallback", job)


def _diffusion() -> Iterator[Cell]:
    stack = "diffusers 0.36.0"
    for what in ("noise", "min-SNR weights"):
        yield Cell(stack, f"UNet, {what}", "Guard", {"program": "diffusion", "what": what})
    undivided = {"program": "diffusion", "what": "undivided"}
    yield Cell(stack, "UNet, undivided", "Guard", undivided, ("objective weight",))


def _deepspeed() -> Iterator[Cell]:
    """What was measured without the guard is in `deepspeed_step` and `deepspeed_accumulation`."""
    lost = ("accumulated gradient",)
    engine = {"program": "deepspeed", "alone": True}
    for stage in (0, 1, 2, 3):
        for accumulation in (1, 4):
            job = {**engine, "stage": stage, "accumulation": accumulation}
            yield Cell("deepspeed 0.19.8", f"engine, stage {stage}, accumulation {accumulation}", RUN, job)
    for stage in (2, 3):
        two = {**engine, "stage": stage, "accumulation": 2}
        yield Cell("deepspeed 0.19.8", f"engine, stage {stage}, accumulation 2", TORCHRUN, two)
    job = {**engine, "stage": 2, "accumulation": 4}
    records = measured_by("deepspeed", "0.18.2", "deepspeed_step", accumulation=4, stage=2)
    yield Cell("deepspeed 0.18.2", "engine, stage 2, accumulation 4", RUN, job, lost, records=records)
    job, what = (
        {**engine, "stage": 1, "accumulation": 4, "loss": "inside"},
        "engine, stage 1, accumulation 4, loss inside",
    )
    records = measured_by("deepspeed", "0.18.3", "deepspeed_step", accumulation=4, stage=1, loss="inside")
    yield Cell("deepspeed 0.18.3", what, RUN, job, (*lost, "objective weight"), 0.25, records)
    yield Cell("deepspeed 0.19.8", what, RUN, job)
    trainer = {"program": "deepspeed_trainer", "model": "llama", "alone": True}
    yield Cell("deepspeed 0.18.2", "Trainer, llama, accumulation 4", RUN, trainer)
    stack = "deepspeed 0.18.2, transformers 4.46.3"
    records = measured_by("transformers", "4.46.3", "deepspeed_accumulation")
    yield Cell(stack, "Trainer, llama, accumulation 4", RUN, trainer, ("objective weight",), 0.25, records)


def _keras() -> Iterator[Cell]:
    yield Cell("keras 3.12.0", "fit over torch", RUN, {"program": "keras", "alone": True})


def _packing() -> Iterator[Cell]:
    """Packed samples in a loop of one's own; which releases keep them apart is measured (attention_masks)."""
    leaks = {"transformers 4.49.0": True, "transformers 4.57.6": False, "transformers 5.0.0": False}
    leaks["transformers 5.23.0"] = False
    for stack, leaking in leaks.items():
        for model, attention in (("llama", "sdpa"), ("llama", "eager"), ("gpt2", "sdpa")):
            job = {"program": "language", "model": model, "attention": attention}
            detectors = ("packing",) if leaking else ()
            yield Cell(stack, f"{model}, packed, {attention}", "Guard", job, detectors, records=("GC-0067",))
        job = {"program": "language", "model": "llama"}
        ones, records = {**job, "mask": "ones"}, ("GC-0067", "GC-0068")
        yield Cell(stack, "llama, packed, sdpa, mask of ones", "Guard", ones, ("packing",), records=records)
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
        job = {"program": "accelerate", "sync_each_batch": True}
        yield Cell(stack, "sync_each_batch", "Guard", job, detectors, records=("GC-0026",))


_LIGHTNING = ("pytorch-lightning 2.0.9", "pytorch-lightning 2.4.0", "pytorch-lightning 2.6.6")


def _lightning() -> Iterator[Cell]:
    for stack in _LIGHTNING:
        old = stack.endswith("2.0.9")
        lost = ("accumulated gradient",) if old else ()
        for accumulation in (1, 4):
            job = {"program": "lightning", "accumulation": accumulation}
            yield Cell(stack, f"accumulation {accumulation}", "LightningGuard", job)
        yield Cell(stack, "clipping", "LightningGuard", {"program": "lightning", "clip": 0.01})
        job = {"program": "lightning", "what": "validation"}
        inside = "validation inside an accumulated step"
        yield Cell(stack, inside, "LightningGuard", job, lost, records=("GC-0049",))
        job = {"program": "lightning", "what": "batch_index"}
        without = "training_step without batch_idx"
        yield Cell(stack, without, "LightningGuard", job, lost, records=("GC-0107",))


RUN = "gradcompat run"
TORCHRUN = "gradcompat run -- torchrun"


def _commands() -> Iterator[Cell]:
    """Programs that know nothing of the guard, started by the command."""
    measured = _measured()
    for stack in _TRAINERS:
        for model in ("llama", "t5", "llava"):
            values = measured[stack.split()[1], model, "equal"]
            job = {"program": "trainer", "model": model, "alone": True}
            what, ratio = f"{model}, accumulation 4", values["update_ratio"]
            detectors = _wrong(values, "equal")
            yield Cell(stack, what, RUN, job, detectors, ratio, _records(stack, model, detectors))
    for what in ("plain", "checkpointed", "autocast", "scaler", "two optimizers", "smoothing"):
        yield Cell("torch 2.13.0", what, RUN, {"program": "loop", "what": what, "alone": True})
    yield Cell("torch 2.13.0", "two models and two optimizers (GAN)", RUN, {"program": "adversarial", "alone": True})
    yield Cell("torch 2.13.0", "closures (LBFGS)", RUN, {"program": "closure", "alone": True})
    for what in ("undivided", "erased", "never zeroed", "some left out", "tiny rate", "evaluation"):
        yield Cell("torch 2.13.0", what, RUN, {"program": "loop", "what": what, "alone": True}, _WRONG_LOOPS[what])
    for stack in ("accelerate 1.4.0", "accelerate 1.15.0"):
        yield Cell(stack, "accumulation 4", RUN, {"program": "accelerate", "alone": True})
    for stack in _LIGHTNING:
        job = {"program": "lightning", "alone": True}
        yield Cell(stack, "accumulation 4", RUN, job)
        lost = ("accumulated gradient",) if stack.endswith("2.0.9") else ()
        inside = "validation inside an accumulated step"
        yield Cell(stack, inside, RUN, {**job, "what": "validation"}, lost, records=("GC-0049",))


def _ranks() -> Iterator[Cell]:
    """Two processes with gloo."""
    stack, job = "torch 2.13.0", {"program": "ranks", "alone": True}
    for accumulation in (1, 2):
        yield Cell(stack, f"DDP, accumulation {accumulation}", TORCHRUN, {**job, "accumulation": accumulation})
        other = {**job, "accumulation": accumulation, "engine": "fsdp2"}
        yield Cell(stack, f"FSDP2, accumulation {accumulation}", TORCHRUN, other)
        first = {**job, "accumulation": accumulation, "engine": "fsdp1"}
        yield Cell(stack, f"FSDP1, accumulation {accumulation}", TORCHRUN, first)
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
        what = f"{model}, DDP, accumulation {accumulation}"
        yield Cell(stack, what, TORCHRUN, job, wrong, ratio, ("GC-0229",))
