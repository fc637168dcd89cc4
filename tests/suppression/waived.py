"""A small project for tests of waivers: a lockfile with one error, and a file that waives it."""

from __future__ import annotations

from pathlib import Path

LOCK = """\
version = 1
requires-python = ">=3.10"

[[package]]
name = "accelerate"
version = "1.4.0"
source = { registry = "https://index.example/simple" }

[[package]]
name = "torch"
version = "2.5.1"
source = { registry = "https://index.example/simple" }

[[package]]
name = "transformers"
version = "4.49.0"
source = { registry = "https://index.example/simple" }
"""
FACTS = (
    "--set",
    "training.gradient_accumulation_steps=8",
    "--set",
    "model.architecture=LlavaForConditionalGeneration",
)
ID = "GC-0004"  # an error of transformers 4.49.0, which one probe shows


def waiver(**more: str) -> str:
    """The table of a waiver; values as TOML writes them."""
    keys = {"id": f'"{ID}"', "reason": '"one step only"', **more}
    return "\n".join(["[[waivers]]", *(f"{key} = {value}" for key, value in keys.items()), ""])


def project(folder: Path, *waivers: str, lock: str = LOCK, levels: str = "") -> None:
    (folder / "uv.lock").write_text(lock, "utf-8")
    (folder / "gradcompat.toml").write_text(levels + "\n".join(waivers), "utf-8")
