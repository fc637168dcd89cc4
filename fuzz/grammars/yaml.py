"""YAML: any, conda's files, and training configs."""

from __future__ import annotations

import json
from random import Random

from fuzz.grammars.words import (
    NUMBERS,
    amount,
    chance,
    many,
    name,
    odd,
    pick,
    secret_line,
    specifier,
    text,
    url,
    version,
)

SETTINGS = (
    *("gradient_accumulation_steps: 8", "gradient_checkpointing: true", "bf16: auto", "use_reentrant: false"),
    *("per_device_train_batch_size: 2", "output_dir: out", "dataset_name: x", "learning_rate: 1e-4", "packing: true"),
    *("model_name_or_path: llava-hf/llava", "deepspeed: ds.json", "optim: adamw_8bit", "label_smoothing_factor: 0.1"),
    *("mixed_precision: bf16", "num_processes: 8", "distributed_type: FSDP", "fsdp_config:\n  fsdp_version: 2"),
    *("base_model: x/y", "micro_batch_size: 1", "adapter: qlora", "sequence_len: 2048", "stage: sft", "lora_r: 8"),
    *(
        "trainer:\n  devices: 2\n  accumulate_grad_batches: 4",
        "model:\n  _target_: a.B\n  lr: ${lr}",
        "defaults:\n  - _self_",
    ),
    *("optimizer:\n  _component_: torch.optim.AdamW", "finetuning_type: lora", "train_type: lora", "rlhf_type: dpo"),
    *("zero_optimization:\n  stage: 3", "train_batch_size: 16", "fp16:\n  enabled: true", "compute_environment: LOCAL"),
)
HEADS = {
    "accelerate": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\n",
    "axolotl": "base_model: x/y\ndatasets:\n  - path: a\nmicro_batch_size: 1\nadapter: lora\nsequence_len: 2048\n",
    "llamafactory": "stage: sft\nfinetuning_type: lora\nmodel_name_or_path: x/y\ndo_train: true\ndataset: a\n",
    "ms-swift": "train_type: lora\nmodel_type: qwen2\ntorch_dtype: bfloat16\nattn_impl: sdpa\nmodel: x/y\n",
    "trl": "model_name_or_path: x/y\ndataset_name: a\nper_device_train_batch_size: 2\noutput_dir: out\n",
    "verl": "actor_rollout_ref:\n  model:\n    path: x/y\n  actor:\n    strategy: fsdp\nalgorithm:\n  adv_estimator: grpo\n",
    "torchtune": "tokenizer:\n  _component_: torchtune.models.x\nmodel:\n  _component_: torchtune.models.lora_x\n",
    "lightning-cli": "trainer:\n  accelerator: gpu\n  devices: 8\nmodel:\n  class_path: a.B\n",
    "hydra": "defaults:\n  - _self_\n  - model: llava\ntrainer:\n  _target_: lightning.Trainer\n",
    "deepspeed": "train_batch_size: 8\nzero_optimization:\n  stage: 3\n",
}


def scalar(random: Random) -> str:
    """A scalar in any style."""
    draw = random.random()
    if draw < 0.4:
        return (
            pick(random, NUMBERS)
            if draw < 0.15
            else pick(random, ("true", "no", "~", "2001-01-01", "1:30", "0o7", "auto"))
        )
    value = text(random).replace("\n", " ")
    return (
        json.dumps(value)
        if draw < 0.7
        else value
        if draw < 0.9
        else pick(random, (f"|\n    {value}", f">-\n    {value}"))
    )


def value(random: Random, indent: int) -> str:
    """What stands behind a key."""
    draw = random.random()
    if indent > 8 or draw < 0.65:
        return " " + scalar(random)
    if draw < 0.68:
        return pick(
            random, (" &a " + scalar(random), " *a", " !!python/name:os.system x", " !!binary aGk=", " !include x")
        )
    if draw < 0.7:
        deep = pick(random, (30, 300, 20_000))
        return " " + pick(random, ("[", "{a: ", "- ")) * deep
    if draw < 0.8:
        return f" [{many(random, scalar, ', ', 3)}]"
    items = range(1 + int(random.random() * 3))
    pad = " " * (indent + 2)
    if draw < 0.9:
        return "\n" + "\n".join(f"{pad}-{value(random, indent + 4)}" for _ in items)
    return "\n" + "\n".join(f"{pad}{key(random)}:{value(random, indent + 2)}" for _ in items)


def key(random: Random) -> str:
    """A key, as a rule one that a tool knows."""
    return (
        pick(random, SETTINGS).split(":")[0]
        if chance(random, 0.85)
        else pick(random, ("<<", "? a", "1", '"a b"', odd(random)))
    )


def document(random: Random) -> str:
    """Any YAML."""
    lines = [f"{key(random)}:{value(random, 0)}\n" for _ in range(amount(random, 8))]
    if chance(random, 0.1):
        lines.append(aliases(random))
    if chance(random, 0.05):
        lines.insert(0, pick(random, ("%YAML 1.1\n---\n", "---\n", "--- !x\n", "...\n---\n")))
    return "".join(lines)


def aliases(random: Random) -> str:
    """A name for a list of names for a list …, or a thing that holds itself."""
    depth = pick(random, (3, 9, 30))
    if chance(random, 0.2):
        return "a0: &a0\n  b: *a0\n"
    lines = ["a0: &a0 [x, x, x]\n"]
    lines += [f"a{one}: &a{one} [{', '.join([f'*a{one - 1}'] * 9)}]\n" for one in range(1, depth)]
    return "".join(lines) + pick(random, ("", f"deepspeed: *a{depth - 1}\n", f"<<: *a{depth - 1}\n"))


def config(kind: str, random: Random) -> str:
    """A training config of that tool."""
    parts = [HEADS[kind] if chance(random, 0.9) else ""]
    for _ in range(amount(random, 6)):
        draw = random.random()
        if draw < 0.6:
            parts.append(pick(random, SETTINGS) + "\n")
        elif draw < 0.9:
            parts.append(f"{key(random)}:{value(random, 0)}\n")
        else:
            parts.append(
                pick(random, (secret_line(random), f"hub_token: {odd(random)}", f"report_to: {url(random)}")) + "\n"
            )
    if chance(random, 0.03):
        parts.append(aliases(random))
    return "".join(parts)


def environment(random: Random) -> str:
    """An environment.yml of conda."""
    lines = [
        "name: x\nchannels:\n  - conda-forge\n",
        f"  - {url(random)}\n" if chance(random, 0.2) else "",
        "dependencies:\n",
    ]
    lines += [f"  - {_spec(random)}\n" for _ in range(amount(random, 8))]
    if chance(random, 0.5):
        lines += ["  - pip:\n", *(f"    - {name(random)}{specifier(random)}\n" for _ in range(amount(random, 4)))]
    lines.append(secret_line(random) + "\n" if chance(random, 0.05) else "")
    return "".join(lines)


def _spec(random: Random) -> str:
    joint = pick(random, ("=", "==", " >=", "=*=", ">=1,<"))
    return pick(random, ("", "", "conda-forge::", f"{url(random)}::")) + name(random) + joint + version(random)


def conda_lock(random: Random) -> str:
    """A conda-lock.yml."""
    lines = ["version: 1\nmetadata:\n  platforms: [linux-64]\npackage:\n"]
    for _ in range(amount(random, 6)):
        manager = pick(random, ("conda", "pip", "pip", odd(random)))
        lines.append(
            f"- name: {name(random)}\n  version: {json.dumps(version(random))}\n  manager: {json.dumps(manager)}\n"
        )
        lines.append(f"  platform: linux-64\n  url: {url(random)}\n  category: main\n  optional: false\n")
    return "".join(lines)


def pixi_lock(random: Random) -> str:
    """A pixi.lock."""
    addresses = [f"https://index.example/{name(random)}-{version(random)}-0.conda" for _ in range(amount(random, 5))]
    addresses += [url(random)]
    lines = [
        f"version: {pick(random, ('5', '6', '6', '9'))}\nenvironments:\n  default:\n    channels:\n    - url: {url(random)}\n"
    ]
    lines.append("    packages:\n      linux-64:\n" + "".join(f"      - conda: {one}\n" for one in addresses))
    lines.append("packages:\n")
    for one in addresses:
        lines.append(f"- conda: {one}\n  depends:\n  - python {scalar(random)}\n")
        if chance(random, 0.3):
            lines.append(f"- pypi: {url(random)}\n  name: {name(random)}\n  version: {json.dumps(version(random))}\n")
    return "".join(lines)
