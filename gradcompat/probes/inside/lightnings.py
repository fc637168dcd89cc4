"""Lightning under whichever of its two names is looked at, and quiet runs of a few steps."""

import contextlib
import importlib
import importlib.util
import io
import logging
import os
import sys
import warnings

_NAMES = ("pytorch_lightning", "lightning")


def package():
    """The package with the Trainer.

    `lightning` brings some release of `pytorch-lightning` along. The one that stands first on the path is meant, and
    `pytorch_lightning` where they stand in one folder, since they are of one code.
    """
    name = min(_NAMES, key=_position)
    if name == "lightning":
        return importlib.import_module("lightning.pytorch")
    return importlib.import_module(name)


def _position(name):
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.origin:
        return len(sys.path) + 1
    folder = os.path.dirname(os.path.dirname(os.path.abspath(spec.origin)))
    folders = [os.path.abspath(one or ".") for one in sys.path]
    return folders.index(folder) if folder in folders else len(folders)


def trainer(lightning, device, **wanted):
    """A Trainer that writes and shows nothing unless it is asked to."""
    common = {
        "accelerator": "cpu" if device == "cpu" else "auto",
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
    }
    return lightning.Trainer(**{**common, **wanted})


@contextlib.contextmanager
def quiet(lightning):
    """Nothing of what Lightning likes to say."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.getLogger(lightning.__name__).setLevel(logging.ERROR)
        yield
