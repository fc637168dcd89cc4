"""Environments that serve models: what shows it, and what shows that they train as well.

Where no code was read, an environment that lists a server and nothing that training brings along starts no trainer,
although inference libraries list transformers and accelerate, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradcompat.model.environment import Package

SERVING = "serving"  # among the engines of an environment
# Servers of models, and servers as such that a program which trains has no use for.
SERVERS = frozenset(
    {
        *("vllm", "sglang", "lmdeploy", "text-generation", "text-generation-server", "lorax-client", "mlc-llm"),
        *("openllm", "bentoml", "litserve", "mosec", "xinference", "torchserve", "nvidia-pytriton", "tritonclient"),
        *("grpcio-reflection", "grpcio-health-checking", "grpc-interceptor"),
    }
)
# What an environment that trains lists beside its framework: trainers, engines, trackers of experiments, metrics.
TRAINING_COMPANIONS = frozenset(
    {
        *("trl", "axolotl", "llamafactory", "ms-swift", "unsloth", "verl", "openrlhf", "torchtune", "lmflow"),
        *("pytorch-lightning", "sentence-transformers", "deepspeed", "megatron-core", "liger-kernel", "mmengine"),
        *("wandb", "tensorboard", "tensorboardx", "mlflow", "swanlab", "comet-ml", "neptune", "trackio", "clearml"),
        *("evaluate", "hydra-core", "torchmetrics"),
    }
)
# The same where they are not left to an extra: servers read data to calibrate quantised weights, and load adapters.
TRAINING_LIBRARIES = frozenset({"datasets", "peft"})


def serves(packages: Iterable[tuple[str, Package]]) -> bool:
    """Does an environment serve models, and train none?

    Args:
        packages: what is listed, each entry behind its canonical name.
    """
    entries = tuple(packages)
    listed = {name for name, _ in entries}
    required = {name for name, package in entries if not package.extras}
    trains = listed & TRAINING_COMPANIONS or required & TRAINING_LIBRARIES
    return not trains and not listed.isdisjoint(SERVERS)
