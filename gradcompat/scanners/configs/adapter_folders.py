"""What the folder of an adapter says of the stage of training that has written it."""

from __future__ import annotations

import re


def is_of_stage(path: str, stage: str) -> bool:
    """Is a folder called after a stage of training, and not after that of the supervised one?

    >>> is_of_stage("saves/qwen/lora/dpo", "dpo"), is_of_stage("sft-for-dpo", "dpo")
    (True, False)
    """
    words = re.split(r"[^a-z0-9]+", path.lower())
    return any(word.startswith(stage) for word in words) and not any(word.startswith("sft") for word in words)


def is_below(path: str, folder: str) -> bool:
    """Is it a folder or a file of another one, or that one itself?"""
    inner, outer = path.rstrip("/").removeprefix("./"), folder.rstrip("/").removeprefix("./")
    return bool(outer) and f"{inner}/".startswith(f"{outer}/")
