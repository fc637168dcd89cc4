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
    "newer-protobuf": "protobuf has no such method any more",
    "other-nvcc": "nvcc and torch are of different CUDA versions",
    "no-cuda-home": "something is to be compiled for CUDA, and no CUDA toolkit was found",
    "older-nvcc": "nvcc does not know the GPU or the language that it is to compile for",
    "older-ptxas": "ptxas does not know the GPU that it is to assemble for",
    "other-cuda-library": "a compiled library asks for a library of a CUDA release that is not there",
    "older-libstdcxx": "the libstdc++ that was loaded is older than a compiled library asks for",
    "older-glibc": "the C library of this system is older than a compiled library asks for",
    "no-graphics-library": "a library of the system is missing, which OpenCV asks for",
    "bitsandbytes-without-library": "bitsandbytes finds none of its libraries that fits",
    "older-pydantic-code": "pydantic 2 refuses what was written for pydantic 1",
    "companion-of-other-cuda": "torch and its companion say that they are of different CUDA versions",
    "older-model-code": "a model has not what transformers 5 gives each model in its constructor",
    "refused-release": "a package refuses the release of another that is installed",
    "mixed-cudnn": "cuDNN finds a part of itself of another release, or none",
    "gone-from-torch": "torch has no such module any more",
    "without-built-ops": "the compiled part of mmcv is not there",
    "build-without-module": "a package that is being built imports another, which its build does not see",
    "build-without-pkg-resources": "a package that is being built imports pkg_resources, which is not there",
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
    "newer-protobuf": Explanation(
        title="Older code (TensorFlow 2.18 is some) asks protobuf for what its release 6 has taken away",
        weight=0.75,
        settles=(
            "pip show protobuf tensorflow, and whose file the last frame of the traceback is",
            "whether it goes away with protobuf <6, or with a newer release of that package",
        ),
    ),
    "other-nvcc": Explanation(
        title="nvcc on this machine is of another CUDA than torch was built with, so nothing can be compiled for it",
        weight=0.85,
        settles=(
            "both: nvcc --version (of $CUDA_HOME), and python -c 'import torch; print(torch.version.cuda)'",
            "whether it goes away with a CUDA toolkit of the version that torch prints and CUDA_HOME set to it, with a "
            "torch that was built for the toolkit that is there, or with a wheel in place of a build",
        ),
    ),
    "no-cuda-home": Explanation(
        title="An extension is to be compiled, and there is no CUDA toolkit: wheels of torch bring no nvcc",
        weight=0.8,
        settles=(
            "nvcc --version: the driver and nvidia-smi are not enough",
            "whether it goes away with a toolkit of the CUDA version that torch was built with, and CUDA_HOME set to "
            "it; or without what compiles (a wheel, no fused or offloading optimizer of DeepSpeed)",
        ),
    ),
    "older-nvcc": Explanation(
        title="nvcc on this machine is older than the GPU, or than the C++ that is asked of it",
        weight=0.85,
        settles=(
            "which nvcc is found: nvcc --version and $CUDA_HOME; and the GPU: nvidia-smi --query-gpu=compute_cap "
            "--format=csv (8.6 takes CUDA 11.1, 8.9 and 9.0 11.8, 12.0 12.8; C++17 takes 11.0)",
            "whether it goes away with the toolkit of the version that torch.version.cuda prints, and CUDA_HOME on it",
        ),
    ),
    "older-ptxas": Explanation(
        title="The ptxas that Triton uses is older than the GPU: its release of Triton, and so of torch, is too old",
        weight=0.85,
        settles=(
            "the GPU, nvidia-smi --query-gpu=compute_cap --format=csv, and pip show triton torch",
            "whether it goes away with a newer torch and the Triton that it brings, or with TRITON_PTXAS_PATH set to "
            "the ptxas of a newer CUDA toolkit",
        ),
    ),
    "other-cuda-library": Explanation(
        title="A compiled library was built for another CUDA release than the one whose libraries are here",
        weight=0.8,
        settles=(
            "the library that asks: the file that the last frames of the traceback name; its number in libcudart.so.11 "
            "or .12 is the major CUDA release, and torch.version.cuda that of torch",
            "whether it goes away with the build of it that belongs to this torch",
            "whether the folder is only not searched: python -c 'import torch' before it, or LD_LIBRARY_PATH",
        ),
    ),
    "older-libstdcxx": Explanation(
        title="A compiled library needs a newer libstdc++ than the one that was loaded, that of the system or of conda",
        weight=0.8,
        settles=(
            "which one has it: strings FILE | grep GLIBCXX, for the file in the message and for "
            "$CONDA_PREFIX/lib/libstdc++.so.6",
            "whether it goes away with that of conda first (LD_LIBRARY_PATH=$CONDA_PREFIX/lib), or with a newer "
            "libstdcxx-ng",
        ),
    ),
    "older-glibc": Explanation(
        title="A compiled library was built on a newer Linux than this one: its C library is too old",
        weight=0.8,
        settles=(
            "ldd --version, against the number in the message",
            "whether it goes away with a build for an older glibc (its own wheel, or compiled here), or on a newer "
            "system",
        ),
    ),
    "no-graphics-library": Explanation(
        title="opencv-python needs graphics libraries of the system, which servers and containers do not have",
        weight=0.8,
        settles=(
            "whether it goes away with opencv-python-headless in place of opencv-python, or with the packages of the "
            "system that have them (libgl1, libglib2.0-0)",
        ),
    ),
    "bitsandbytes-without-library": Explanation(
        title="bitsandbytes has no library for this CUDA release, or was installed without any",
        weight=0.8,
        settles=(
            "which ones lie in the folder of bitsandbytes (libbitsandbytes_cuda121.so is for CUDA 12.1), against "
            "torch.version.cuda, and python -m bitsandbytes",
            "whether it goes away with a newer bitsandbytes (before 0.43 there is none for Windows), without a build "
            "from a checkout, or without BNB_CUDA_VERSION",
        ),
    ),
    "older-pydantic-code": Explanation(
        title="Code for pydantic 1 meets pydantic 2",
        weight=0.8,
        settles=(
            "whose file the last frames of the traceback name: take a newer release of it",
            "whether it goes away with pydantic <2",
        ),
    ),
    "companion-of-other-cuda": Explanation(
        title="torchvision or torchaudio is a build for another CUDA than torch, from another index or another install",
        weight=0.85,
        settles=(
            "pip list | grep torch: the labels behind + (cu118, cu121), and what each one prints as its CUDA",
            "whether it goes away with all of them installed at once, from one index",
        ),
    ),
    "older-model-code": Explanation(
        title="The model's own code was written for transformers 4, and does not call post_init as 5 needs it",
        weight=0.8,
        settles=(
            "whose class it is: of the model's repository (trust_remote_code) or of another package",
            "whether it goes away with transformers <5, with a newer revision or release of that code, or with "
            "self.post_init() at the end of the class's constructor",
        ),
    ),
    "refused-release": Explanation(
        title="A package checks for a release of another one, and refuses the one that is installed",
        weight=0.8,
        settles=(
            "which package asks: the last frames of the traceback",
            "whether it goes away with the release that the message asks for, or with a newer release of the package "
            "that asks, which may know the installed one",
        ),
    ),
    "mixed-cudnn": Explanation(
        title="cuDNN is loaded in parts of two installs: torch's own, and that of the system, conda or another package",
        weight=0.8,
        settles=(
            "which ones are loaded: LD_DEBUG=libs python SCRIPT 2>&1 | grep 'calling init.*cudnn'; and pip list | grep "
            "cudnn",
            "whether it goes away without LD_LIBRARY_PATH, or with the release of cuDNN that torch requires",
        ),
    ),
    "gone-from-torch": Explanation(
        title="Older code asks for torch._six, which torch 2.0 has taken away",
        weight=0.85,
        settles=(
            "whose file the last frame of the traceback is: take a newer release of it",
            "whether it goes away with torch <2.0, or with string_classes replaced by str, and inf by torch.inf",
        ),
    ),
    "without-built-ops": Explanation(
        title="mmcv is installed without its compiled operators: mmcv-lite, or a build that found no torch or no CUDA",
        weight=0.8,
        settles=(
            "pip list | grep mmcv, and whether it was built here: its wheels are for pairs of torch and CUDA",
            "whether it goes away with a wheel from OpenMMLab's index for this torch and CUDA, or with "
            "MMCV_WITH_OPS=1 pip install --no-build-isolation --no-binary mmcv mmcv; run outside of its checkout",
        ),
    ),
    "build-without-module": Explanation(
        title="pip and uv build in an environment of its own, where what setup.py imports (torch) is not installed",
        weight=0.85,
        settles=(
            "whether it goes away with torch, setuptools, wheel, packaging and ninja installed first, and then "
            "pip install --no-build-isolation (uv: no-build-isolation-package)",
            "whether there is a wheel for this Python, torch and CUDA: nothing is built then",
        ),
    ),
    "build-without-pkg-resources": Explanation(
        title="setup.py imports pkg_resources, which the setuptools of its build has not: 82 has taken it away",
        weight=0.85,
        settles=(
            "whether it goes away with setuptools <82 and wheel installed first and pip install "
            "--no-build-isolation, or with PIP_CONSTRAINT on a file that says setuptools<82",
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
