"""TRL's trainers over a few words, as every release takes them."""

import contextlib
import inspect
import io
import tempfile
import warnings

from . import trainers
from .skipping import Skip


def trainer(model, columns, tokens, device, **wanted):
    """An SFTTrainer that has not trained yet."""
    import datasets
    import trl

    datasets.disable_progress_bars()
    if not hasattr(trl, "SFTConfig"):
        raise Skip("this release of TRL has no SFTConfig")
    arguments = settings(trl.SFTConfig, device, **wanted)
    if hasattr(arguments, "dataset_text_field") and "text" in columns:
        arguments.dataset_text_field = "text"
    with quiet():
        return trl.SFTTrainer(
            model=model,
            args=arguments,
            train_dataset=datasets.Dataset.from_dict(columns),
            **{named(trl.SFTTrainer): tokens},
        )


def settings(kind, device, **wanted):
    """The arguments of one of TRL's trainers; names that a release does not know are left out."""
    known = inspect.signature(kind.__init__).parameters
    common = {
        "output_dir": tempfile.mkdtemp(dir="."),
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 1,
        "per_device_train_batch_size": 2,
        "max_steps": 1,
        "seed": 0,
        "lr_scheduler_type": "constant",
        "bf16": False,
        "gradient_checkpointing": False,
    }
    return kind(**{name: value for name, value in {**common, **trainers.on(device), **wanted}.items() if name in known})


def named(trainer_class):
    """What a trainer calls its tokenizer."""
    known = inspect.signature(trainer_class.__init__).parameters
    return "processing_class" if "processing_class" in known else "tokenizer"


@contextlib.contextmanager
def quiet():
    """Throw away what is printed, warnings with it."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
