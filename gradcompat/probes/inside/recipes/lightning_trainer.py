"""Does Lightning do what it is asked to: accumulate, go on where it stopped, seed its workers, save what there is?

The control of each question is the same thing done in the way that nobody has complained about.
"""

import importlib
import os
import random
import tempfile
import threading

from .. import lightnings
from ..skipping import Skip

_SAMPLES = (1.0, 2.0, 4.0, 8.0)
_EPOCH = 8  # samples of one epoch, where the order is looked at
_BASE_SEEDS = (1000, 2000, 987654321)


def measure(parameters, device, seed):
    """``what``: validation (in the middle of an accumulated step), batch_index (a training_step that asks for none),
    order and stream (of a run that is resumed), worker_seeds, async_checkpoint, fsdp_weights.

    With ``plant`` the gradients are cleared in between, the state of the data is not restored, every worker gets the
    same seed, the weights change before they are saved, or are made in half precision.
    """
    lightning = lightnings.package()
    what = parameters.get("what", "validation")
    plant = bool(parameters.get("plant"))
    with lightnings.quiet(lightning):
        if what in ("validation", "batch_index"):
            return _accumulated(lightning, what, plant, device)
        if what in ("order", "stream"):
            return _resumed(lightning, what, plant, device, seed)
        if what == "worker_seeds":
            return _worker_seeds(lightning, plant)
        if what == "async_checkpoint":
            return _async_checkpoint(lightning, plant)
        return _fsdp_weights(lightning, plant)


def _accumulated(lightning, what, plant, device):
    """How far one step over four samples moves a weight, as a part of what their mean moves it."""
    import torch

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch, batch_idx):
            return self.loss(batch)

        def loss(self, batch):
            if self.plant:
                self.zero_grad()
            return (self.weight * batch).sum()

        def validation_step(self, batch, batch_idx):
            return None

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1.0)

    class WithoutIndex(Module):
        def training_step(self, batch):
            return self.loss(batch)

    def moved(module, planted, validated=False):
        module.plant = planted
        loader = torch.utils.data.DataLoader(torch.tensor(_SAMPLES), batch_size=1)
        given = {"val_check_interval": 2} if validated else {"limit_val_batches": 0}
        trainer = lightnings.trainer(lightning, device, max_epochs=1, accumulate_grad_batches=len(_SAMPLES), **given)
        trainer.fit(module, loader, loader if validated else None)
        return -float(module.weight.detach()) / (sum(_SAMPLES) / len(_SAMPLES))

    wrong = moved(Module(), plant, True) if what == "validation" else moved(WithoutIndex(), plant)
    return {"moved": wrong, "control": moved(Module(), False)}


def _resumed(lightning, what, plant, device, seed):
    """Which samples the second epoch of a resumed run sees, against those of the run in one piece."""
    import torch

    class Shuffled:
        """The generator of a loader, which draws from it whenever it is started."""

        def __init__(self):
            self.generator = torch.Generator().manual_seed(seed)

        def loader(self):
            return torch.utils.data.DataLoader(range(_EPOCH), batch_size=2, shuffle=True, generator=self.generator)

        def state(self):
            return self.generator.get_state()

        def restore(self, state):
            self.generator.set_state(state)

    class Stream(torch.utils.data.IterableDataset):
        """Goes on where it stopped; an epoch ends after a number of samples."""

        def __init__(self):
            self.position = 0

        def __iter__(self):
            end = (self.position // _EPOCH + 1) * _EPOCH
            while self.position < end:
                self.position += 1
                yield self.position - 1

        def loader(self):
            return torch.utils.data.DataLoader(self, batch_size=2)

        def state(self):
            return self.position

        def restore(self, state):
            self.position = state

    class Module(lightning.LightningModule):
        def __init__(self, data):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.data = data
            self.seen = []

        def training_step(self, batch, batch_idx):
            self.seen += [int(one) for one in batch]
            return (self.weight * batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

        def on_save_checkpoint(self, checkpoint):
            checkpoint["data"] = self.data.state()

        def on_load_checkpoint(self, checkpoint):
            if not plant:
                self.data.restore(checkpoint["data"])

    folder = tempfile.mkdtemp(dir=".")

    def run(place, checkpoint=None):
        data = Stream() if what == "stream" else Shuffled()
        module = Module(data)
        saving = lightning.callbacks.ModelCheckpoint(
            dirpath=place, filename="{epoch}", save_top_k=-1, every_n_epochs=1, save_on_train_epoch_end=True
        )
        trainer = lightnings.trainer(
            lightning, device, max_epochs=2, limit_val_batches=0, enable_checkpointing=True, callbacks=[saving]
        )
        trainer.fit(module, data.loader(), ckpt_path=checkpoint)
        return module.seen[-_EPOCH:] if checkpoint is None else module.seen

    whole = run(folder)
    again = run(tempfile.mkdtemp(dir="."))
    found = run(tempfile.mkdtemp(dir="."), os.path.join(folder, "epoch=0.ckpt"))
    return {"same_order_share": _agreement(found, whole), "control": _agreement(again, whole)}


def _agreement(found, wanted):
    same = sum(one == two for one, two in zip(found, wanted))
    return same / max(len(found), len(wanted))


def _worker_seeds(lightning, plant):
    """How many different numbers the first worker draws first in as many epochs."""
    import numpy
    import torch

    fabric = "lightning.fabric" if lightning.__name__ == "lightning.pytorch" else "lightning_fabric"
    seeding = _seeding(fabric, "lightning_lite", lightning.__name__)

    def firsts(prepare):
        drawn = []
        for base in _BASE_SEEDS:
            torch.manual_seed(base)  # as a DataLoader does it in each epoch, for worker 0
            prepare()
            drawn.append((float(torch.rand(())), numpy.random.rand(), random.random()))  # noqa: S311  # they are the question
        return [len(set(numbers)) / len(_BASE_SEEDS) for numbers in zip(*drawn)]

    def constant():
        torch.manual_seed(1)
        numpy.random.seed(1)
        random.seed(1)

    found = firsts(constant if plant else lambda: seeding.pl_worker_init_function(0, rank=0))
    return {
        "torch_distinct_share": found[0],
        "numpy_distinct_share": found[1],
        "random_distinct_share": found[2],
        "control": firsts(lambda: None)[0],
    }


def _seeding(*packages):
    """The module that seeds workers; it has moved twice."""
    for package in packages:
        try:
            module = importlib.import_module(package + ".utilities.seed")
        except ImportError:
            continue
        if hasattr(module, "pl_worker_init_function"):
            return module
    raise Skip("this release of Lightning does not seed workers")


def _async_checkpoint(lightning, plant):
    """How much of a change that comes after the order to save is in what is saved.

    A release that has no asynchronous plugin saves as it can.
    """
    import torch

    io = importlib.import_module(lightning.__name__ + ".plugins.io")
    known = hasattr(io, "AsyncCheckpointIO")
    gate = threading.Event()

    class Slow(io.TorchCheckpointIO):
        def save_checkpoint(self, *args, **given):
            gate.wait(30)
            super().save_checkpoint(*args, **given)

    def saved(writer):
        path = os.path.join(tempfile.mkdtemp(dir="."), "one.ckpt")
        weight = torch.zeros(4)
        if plant and writer is not plain:
            weight.fill_(1.0)
        writer.save_checkpoint({"weight": weight}, path)
        weight.fill_(1.0)
        gate.set()
        if hasattr(writer, "teardown"):
            writer.teardown()
        return float(torch.load(path)["weight"].mean())

    plain = io.TorchCheckpointIO()
    late = saved(io.AsyncCheckpointIO(Slow()) if known else io.TorchCheckpointIO())
    return {"known": known, "late_change": late, "control": 1.0 - saved(plain)}


def _fsdp_weights(lightning, plant):
    """How many bits of 32 the weights have that FSDP's mixed precision makes, in the mode that keeps fewest."""
    import torch

    precision = importlib.import_module(lightning.__name__ + ".plugins.precision")
    plugin = getattr(precision, "FSDPPrecision", None) or getattr(precision, "FSDPPrecisionPlugin", None)
    if plugin is None or not hasattr(plugin, "module_init_context"):
        raise Skip("this release of Lightning makes no weights for FSDP")

    def share(mode):
        with plugin(mode).module_init_context():
            weight = torch.nn.Linear(2, 2).weight
        return torch.finfo(weight.dtype).bits / 32

    found = share("bf16-true") if plant else min(share(mode) for mode in ("bf16-mixed", "16-mixed"))
    return {"bits_share": found, "control": torch.finfo(torch.nn.Linear(2, 2).weight.dtype).bits / 32}
