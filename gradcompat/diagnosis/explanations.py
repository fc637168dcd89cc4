"""What a curve means where no record is needed to say so: one explanation for each kind of observation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One explanation.

    Attributes:
        title: what it probably is.
        weight: to rank by, as the score of a diagnosis.
        categories: records of these categories may be its cause, if their versions are those of the run.
        settles: what would settle it.
    """

    title: str
    weight: float
    categories: frozenset[str] = frozenset()
    settles: tuple[str, ...] = ()
    harmless: bool = False


_NAN = Explanation(
    title="The run has gone to NaN: what is learned from there on is worthless",
    weight=0.7,
    categories=frozenset({"nan"}),
    settles=(
        "the first bad step; a Hugging Face Trainer shows it with logging_nan_inf_filter=False, and prints 0.0 else",
        "a few steps in fp32 on the same batches: right there, it is the precision; else the data or the model",
    ),
)
_NO_PROGRESS = frozenset({"no-op-training", "lost-gradient", "optimizer"})

# What is said of errors that explain themselves, for each of their kinds.
ERRORS = {
    "error-not-finite": "an error says that a loss or a gradient is not finite",
    "outdated-signature": "transformers passes an argument that the method does not take",
    "newer-tokenizer-file": "tokenizers finds a part of tokenizer.json that it has no form for",
    "extension-of-other-torch": "a compiled library looks for a function that the loaded torch has not",
    "extension-of-other-numpy": "a compiled package finds NumPy laid out otherwise than it was built for",
    "gone-from-numpy": "NumPy has no such name any more",
    "older-protobuf-code": "protobuf refuses what an older compiler of it has generated",
    "no-list-of-texts": "a tokenizer takes a text or a list of texts, and nothing else",
    "untaken-column": "the model is given token_type_ids, which its class does not take",
}

EXPLANATIONS: dict[str, Explanation] = {
    "loss-not-finite": _NAN,
    "outdated-signature": Explanation(
        title="A subclass of a Trainer overrides a method as an older transformers called it",
        weight=0.8,
        settles=(
            "which class that is: of a library, take a release of it that knows this transformers; of your own code, "
            "take the new argument",
            "the signature of the method in the installed transformers: compute_loss takes num_items_in_batch from "
            "4.46 on, log start_time from 4.47 on, _get_train_sampler the dataset from 4.52 on",
        ),
    ),
    "newer-tokenizer-file": Explanation(
        title="tokenizer.json was written by a newer tokenizers than the one that reads it, or is no whole file of one",
        weight=0.7,
        settles=(
            "the versions of tokenizers and transformers where the tokenizer was saved, and here: pip show tokenizers",
            "whether it goes away with a newer tokenizers, and the transformers that asks for it: merges as pairs came "
            "with 0.20, the split of Metaspace with 0.19",
            "whether tokenizer.json is whole: its size beside that on the hub",
        ),
    ),
    "extension-of-other-torch": Explanation(
        title="A compiled library was built for another torch than the one that loads it: another release, or C++ ABI",
        weight=0.85,
        settles=(
            "which torch it was built for, in the name of its wheel or in its log, and what is loaded: "
            "python -c 'import torch; print(torch.__version__, torch.compiled_with_cxx11_abi())'; cxx11 in the symbol "
            "is the ABI for which that prints True",
            "whether it goes away with the release of it that belongs to this torch, or with it compiled anew: "
            "pip install --force-reinstall --no-deps --no-cache-dir --no-build-isolation",
        ),
    ),
    "extension-of-other-numpy": Explanation(
        title="A compiled package was built for another NumPy than the one that loads it, often 1 and 2",
        weight=0.8,
        settles=(
            "the package whose file the last frames of the traceback name",
            "whether it goes away with a newer release of that package, or else with numpy <2",
        ),
    ),
    "gone-from-numpy": Explanation(
        title="Older code asks for a name that NumPy has removed: np.float and its like in 1.24, more in 2.0",
        weight=0.8,
        settles=(
            "whose code the last frame of the traceback is: of a package, take a newer release of it",
            "whether it goes away with numpy <2, and for np.float, np.int, np.bool and np.object with numpy <1.24",
        ),
    ),
    "older-protobuf-code": Explanation(
        title="A package brings code that a protobuf compiler before 3.19 generated, which protobuf 4 and later refuse",
        weight=0.8,
        settles=(
            "the package whose *_pb2.py the traceback names: take a newer release of it",
            "whether it goes away with protobuf <4, as 3.20.3",
        ),
    ),
    "no-list-of-texts": Explanation(
        title="The tokenizer was given no list: a column of a dataset is none from datasets 4 on, and None is no text",
        weight=0.7,
        settles=(
            "the type of what it was given, and of its first elements",
            "whether it goes away with list(dataset['text']) in place of dataset['text'], or with datasets <4",
        ),
    ),
    "untaken-column": Explanation(
        title="The tokenizer makes token_type_ids, as generic ones do unless told otherwise, and the model has none",
        weight=0.7,
        settles=(
            "the columns of a tokenised sample, and tokenizer.model_input_names",
            "whether it goes away with model_input_names of input_ids and attention_mask before the data are "
            "tokenised, or with that column removed; axolotl removes it for Mistral from 0.7.0 on",
        ),
    ),
    "loss-and-norm-zero": Explanation(
        title="The loss and its gradient are exactly 0: nothing is trained",
        weight=0.6,
        categories=_NO_PROGRESS | {"masking"},
        settles=("how many labels of a batch are not -100", "which parameters require grad"),
    ),
    "loss-zero-throughout": Explanation(
        title="The loss is exactly 0 from the first step on: no token counts, or it stands for NaN",
        weight=0.5,
        categories=frozenset({"masking"}),
        settles=(
            "whether it is nan with logging_nan_inf_filter=False of a Hugging Face Trainer",
            "how many labels of a batch are not -100",
        ),
    ),
    "loss-zero": _NAN,
    "grad-norm-not-finite": _NAN,
    "error-not-finite": _NAN,
    "grad-norm-overflow": Explanation(
        title="Single steps overflow in fp16 and are skipped, which is what loss scaling does",
        weight=0.2,
        harmless=True,
    ),
    "grad-norm-constant": Explanation(
        title="The gradient norm never changes: it is clipped before it is logged, or it stands for NaN",
        weight=0.5,
        categories=frozenset({"clipping", "nan"}),
        settles=("the norm without clipping, for one step: torch.nn.utils.clip_grad_norm_ with an infinite bound",),
    ),
    "grad-norm-zero": Explanation(
        title="No gradient arrives: nothing is trained",
        weight=0.6,
        categories=_NO_PROGRESS,
        settles=("which parameters have `grad None` or zeros after one backward pass",),
    ),
    "rewards-equal": Explanation(
        title="All answers to a prompt get the same reward: there is no advantage, and so no gradient",
        weight=0.6,
        settles=("the rewards of a few answers to one prompt, by hand",),
    ),
    "grad-norm-spike": Explanation(
        title="The gradient norm jumps by orders of magnitude",
        weight=0.4,
        categories=frozenset({"gradient-scale", "wrong-gradient", "nan"}),
        settles=("the batch of that step on its own: a spike that comes with it is in the data",),
    ),
    "loss-times-accumulation": Explanation(
        title="The loss is the sum over the micro-batches of a step, not their mean",
        weight=0.75,
        categories=frozenset({"loss-scale"}),
        settles=("the first loss with gradient_accumulation_steps 1 and the same batches: it should be the same",),
    ),
    "loss-too-high": Explanation(
        title="The first loss is worse than knowing nothing: its scale, the labels or the weights are wrong",
        weight=0.5,
        categories=frozenset({"loss-scale", "wrong-loss", "weights", "masking"}),
        settles=(
            "gradient accumulation, if the loss over it is plausible: --set training.gradient_accumulation_steps=…",
            "the loss of the untrained model on one batch, from its forward pass alone",
        ),
    ),
    "loss-constant": Explanation(
        title="The loss does not move: nothing is learned",
        weight=0.5,
        categories=_NO_PROGRESS,
        settles=("whether a trained parameter differs before and after one optimizer step",),
    ),
    "learning-rate-zero": Explanation(
        title="The learning rate is 0: no parameter moves",
        weight=0.6,
        categories=frozenset({"optimizer", "no-op-training"}),
        settles=("the schedule: its number of steps and of warm-up steps, and whether every first step was skipped",),
    ),
    "learning-rate-still-zero": Explanation(
        title="The learning rate is 0 as long as every first step overflows in fp16 and is skipped",
        weight=0.2,
        harmless=True,
    ),
    "loss-scale-collapse": Explanation(
        title="The loss scale falls without end: the gradients overflow in fp16 at any scale",
        weight=0.7,
        categories=frozenset({"nan", "dtype"}),
        settles=("bf16 or fp32 for a few steps: a model that was trained in bf16 often does not fit into fp16",),
    ),
    "steps-skipped": Explanation(
        title="Most optimizer steps are skipped for overflow: hardly anything is trained",
        weight=0.6,
        categories=frozenset({"nan", "dtype"}),
        settles=("bf16 or fp32 for a few steps",),
    ),
    "losses-repeat": Explanation(
        title="The same losses come again: the run sees the same data in the same order once more",
        weight=0.5,
        categories=frozenset({"data-order", "resume"}),
        settles=("which samples the first batch after resuming holds",),
    ),
    "run-resumed": Explanation(
        title="The run was resumed from an earlier step, so some steps are there twice",
        weight=0.1,
        harmless=True,
    ),
}  # fmt: skip
