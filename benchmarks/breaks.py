"""What do pairs and code findings cost? Processor time of `check` with and without them, in turn.

    python benchmarks/breaks.py FILE... [--runs 5] [--largest 20] [--code]

Checks the largest of the files, each in a process of its own. Without them no package has a table, and the file of
pairs is empty. With `--code` each file lies beside a training program that takes something from ten packages with
tables; without it, only pairs are looked at. Prints the sum of the medians and their ratio; the aim is at most 1.15.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

_CHECK = """
import sys
from gradcompat.breaks import pairs
if sys.argv[1] == "without":
    pairs._content = lambda path: {}
    from gradcompat.releases import table
    table._index = lambda: {}
    table._tops = lambda: {}
from gradcompat.cli.main import main
sys.argv[1:2] = ["check"]
sys.stdout = open("/dev/null", "w")
sys.exit(main())
"""
# What a fine-tuning program takes from ten packages.
_PROGRAM = """
import torch
import diffusers
from accelerate import Accelerator
from datasets import load_dataset
from huggingface_hub import snapshot_download
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from tokenizers import AddedToken
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForSeq2Seq, TrainingArguments
from trl import SFTConfig, SFTTrainer

accelerator = Accelerator(gradient_accumulation_steps=4, mixed_precision="bf16")
data = load_dataset("wikitext", split="train")
model = AutoModelForCausalLM.from_pretrained(snapshot_download("gpt2"), attn_implementation="sdpa")
tokenizer = AutoTokenizer.from_pretrained("gpt2", use_fast=True)
tokenizer.add_tokens([AddedToken("<image>", special=True)])
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["c_attn"]))
collator = DataCollatorForSeq2Seq(tokenizer=tokenizer, padding=True)
arguments = SFTConfig(output_dir="out", per_device_train_batch_size=1, gradient_accumulation_steps=8, bf16=True)
trainer = SFTTrainer(model=model, args=arguments, train_dataset=data, data_collator=collator)
trainer.train()
save_file(model.state_dict(), "model.safetensors")
scores = SentenceTransformer("all-MiniLM-L6-v2").encode(["a"], normalize_embeddings=True)
pipeline = diffusers.StableDiffusionPipeline.from_pretrained("sd")
"""


def used(mode: str, target: str) -> float:
    """Processor time of one check, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", _CHECK, mode, target], stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def beside_a_program(file: Path, folder: Path) -> Path:
    """A folder with a lockfile under its usual name (``org__repo__uv.lock``) and a program."""
    folder.mkdir()
    shutil.copy(file, folder / file.name.rpartition("__")[2])
    (folder / "train.py").write_text(_PROGRAM)
    return folder


def main() -> None:
    """Time each of the largest files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--largest", type=int, default=20)
    parser.add_argument("--code", action="store_true", help="beside a program that uses ten packages")
    asked = parser.parse_args()
    largest = sorted(asked.files, key=lambda path: -path.stat().st_size)[: asked.largest]
    sums = {"with": 0.0, "without": 0.0}
    with tempfile.TemporaryDirectory() as scratch:
        for number, path in enumerate(largest):
            target = beside_a_program(path, Path(scratch, str(number))) if asked.code else path
            times: dict[str, list[float]] = {mode: [] for mode in sums}
            for _ in range(asked.runs):
                for mode, some in times.items():
                    some.append(used(mode, str(target)))
            medians = {mode: statistics.median(some) for mode, some in times.items()}
            for mode, median in medians.items():
                sums[mode] += median
            print(json.dumps({"file": path.name, **{mode: round(median, 4) for mode, median in medians.items()}}))
    print(f"with {sums['with']:.2f} s, without {sums['without']:.2f} s, ratio {sums['with'] / sums['without']:.3f}")


if __name__ == "__main__":
    main()
