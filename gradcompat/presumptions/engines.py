"""Engines and libraries that a run uses or does not use, and what names them.

An engine that neither the environment nor a config nor the code names is presumed not to be used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcompat.startup.lazy_dataclasses import dataclass

FRAMEWORK_KEY = "training.framework"
NO_TRAINER = "none"  # what drives the runs of code that was read and has none


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Something that a run uses or does not use, and what shows that it does.

    Attributes:
        packages: an environment that lists one of them names it.
        prefix: a setting below this prefix names it.
        settings: a setting of this key with this value names it.
        unused: a setting of this key with this value says that it is not used, whatever is listed.
        feature: what it is called.
        of_run: a run that was read and does not name it does not use it, whatever is installed.
    """

    packages: frozenset[str] = frozenset()
    prefix: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    unused: tuple[tuple[str, str], ...] = ()
    feature: str
    of_run: bool = True


ENGINES: dict[str, Engine] = {
    "deepspeed": Engine(
        packages=frozenset({"deepspeed"}),
        prefix="deepspeed.",
        settings=(("distributed.strategy", "deepspeed"), ("optimizer.library", "deepspeed")),
        feature="DeepSpeed",
    ),
    "fsdp": Engine(prefix="fsdp.", settings=(("distributed.strategy", "fsdp"),), feature="FSDP"),
    "megatron": Engine(
        packages=frozenset({"megatron-core"}),
        settings=(("distributed.strategy", "tensor_parallel"),),
        feature="tensor parallelism",
    ),
    "peft": Engine(
        packages=frozenset({"peft"}),
        prefix="peft.",
        unused=(("peft.method", "none"),),
        feature="PEFT",
        of_run=False,
    ),
    "quantisation": Engine(
        packages=frozenset({"bitsandbytes", "torchao", "auto-gptq", "gptqmodel", "autoawq"}),
        prefix="quantization.",
        feature="quantised weights",
        of_run=False,
    ),
    "bitsandbytes": Engine(packages=frozenset({"bitsandbytes"}), feature="bitsandbytes", of_run=False),
    "liger": Engine(
        packages=frozenset({"liger-kernel"}),
        settings=(("training.use_liger_kernel", "true"),),
        feature="Liger kernels",
    ),
    "transformers": Engine(packages=frozenset({"transformers"}), feature="transformers", of_run=False),
    "torch": Engine(packages=frozenset({"torch"}), feature="torch", of_run=False),
    "trl": Engine(
        packages=frozenset({"trl", "llamafactory", "axolotl", "ms-swift", "unsloth", "verl"}),
        feature="TRL",
        of_run=False,
    ),
    "lightning": Engine(
        packages=frozenset({"pytorch-lightning"}),
        settings=(("training.framework", "lightning"),),
        feature="Lightning",
        of_run=False,
    ),
    "torchtune": Engine(packages=frozenset({"torchtune"}), feature="torchtune", of_run=False),
    "verl": Engine(packages=frozenset({"verl"}), feature="verl", of_run=False),
    "openrlhf": Engine(packages=frozenset({"openrlhf"}), feature="OpenRLHF", of_run=False),
    "stable-baselines3": Engine(packages=frozenset({"stable-baselines3"}), feature="Stable-Baselines3", of_run=False),
    "keras": Engine(packages=frozenset({"keras"}), feature="Keras", of_run=False),
    "sentence-transformers": Engine(
        packages=frozenset({"sentence-transformers"}), feature="sentence-transformers", of_run=False
    ),
    "accelerate": Engine(packages=frozenset({"accelerate"}), feature="accelerate", of_run=False),
    "rocm": Engine(
        packages=frozenset({"pytorch-triton-rocm"}),
        prefix="__rocm",
        settings=(("host.device", "rocm"),),
        feature="ROCm",
    ),
}


def named_engines(packages: Iterable[str], settings: Mapping[str, object], *, run: bool) -> frozenset[str]:
    """What an environment and its run name.

    Args:
        packages: canonical names of what is listed.
        settings: what is stated, by key.
        run: a training run was read; what it does not name it does not use, though it may be installed.
    """
    listed = frozenset(packages)
    found = set()
    for name, engine in ENGINES.items():
        stated = any(engine.prefix is not None and key.startswith(engine.prefix) for key in settings)
        valued = any(str(settings.get(key)).lower() == value for key, value in engine.settings)
        unused = any(key in settings and str(settings[key]).lower() == value for key, value in engine.unused)
        installed = bool(listed & engine.packages) and not (run and engine.of_run)
        if (stated or valued or installed) and not unused:
            found.add(name)
    return frozenset(found)
