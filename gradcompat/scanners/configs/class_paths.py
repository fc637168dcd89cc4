"""Optimizers by their import path, as configs name classes that are to be made: ``class_path: torch.optim.AdamW``."""

from __future__ import annotations

from gradcompat.scanners.key_mapping import Feed

_OPTIMIZERS = {
    ("torch", "torch.optim"): (
        *("Adafactor", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "LBFGS", "Muon", "NAdam", "RAdam"),
        *("RMSprop", "Rprop", "SGD", "SparseAdam"),
    ),
    ("transformers", "transformers"): ("Adafactor", "AdamW"),
    ("transformers", "transformers.optimization"): ("Adafactor", "AdamW"),
    ("bitsandbytes", "bitsandbytes.optim"): (
        *("Adam", "Adam8bit", "Adam32bit", "PagedAdam", "PagedAdam8bit", "PagedAdam32bit"),
        *("AdamW", "AdamW8bit", "AdamW32bit", "PagedAdamW", "PagedAdamW8bit", "PagedAdamW32bit"),
        *("AdEMAMix", "AdEMAMix8bit", "AdEMAMix32bit", "PagedAdEMAMix", "PagedAdEMAMix8bit"),
        *("Lion", "Lion8bit", "Lion32bit", "PagedLion", "PagedLion8bit", "PagedLion32bit"),
        *("SGD", "SGD8bit", "Adagrad", "Adagrad8bit", "RMSprop", "RMSprop8bit", "LAMB", "LAMB8bit", "LARS"),
    ),
    ("torchao", "torchao.optim"): ("AdamW8bit", "AdamW4bit", "AdamWFp8", "Adam8bit", "Adam4bit"),
    ("torchao", "torchao.prototype.low_bit_optim"): ("AdamW8bit", "AdamW4bit", "AdamWFp8", "Adam8bit", "Adam4bit"),
    ("deepspeed", "deepspeed.ops.adam"): ("FusedAdam", "DeepSpeedCPUAdam"),
    ("apex", "apex.optimizers"): ("FusedAdam", "FusedSGD"),
}
_LISTED = [
    (f"{module}.{name}".lower(), library, name) for (library, module), names in _OPTIMIZERS.items() for name in names
]

OPTIMIZER = (
    Feed("optimizer.name", {path: name for path, _, name in _LISTED}),
    Feed("optimizer.library", {path: library for path, library, _ in _LISTED}, only=True),
)
