"""One short, seeded run of the Hugging Face Trainer, as every release since 4.30 takes it."""

import contextlib
import inspect
import io
import tempfile
import warnings


def arguments(**wanted):
    """TrainingArguments for a run that reaches out to nothing; names that a release does not know are left out."""
    from transformers import TrainingArguments

    known = inspect.signature(TrainingArguments).parameters
    common = {
        "output_dir": tempfile.mkdtemp(dir="."),
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 1,
        "seed": 0,
        "lr_scheduler_type": "constant",
        "weight_decay": 0.0,
        "remove_unused_columns": False,
        "save_safetensors": False,
    }
    return TrainingArguments(**{name: value for name, value in {**common, **wanted}.items() if name in known})


def on(device):
    """The arguments that keep a Trainer on a device."""
    return {"use_cpu": True, "no_cuda": True} if device == "cpu" else {}


def collate(batch):
    """Stack the tensors of samples."""
    import torch

    return {name: torch.stack([sample[name] for sample in batch]) for name in batch[0]}


def train(model, data, trainer_class=None, **wanted):
    """Train, and return the Trainer; what it prints is thrown away."""
    from transformers import Trainer

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        trainer = (trainer_class or Trainer)(
            model=model, args=arguments(**wanted), train_dataset=data, data_collator=collate
        )
        trainer.train()
    return trainer
