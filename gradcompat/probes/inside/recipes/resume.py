"""Is saving and resuming the same as going on? A Trainer's run of three epochs, and one resumed in the second epoch.

Weights and random numbers are looked at with samples that are all alike, so that their order cannot be the reason; the
order is looked at for itself. The control is the whole run repeated: it gives the same again.
"""

import contextlib
import io
import os
import re
import tempfile
import warnings

from .. import trainers

_SAMPLES = 12
_STEPS = 18
_SAVED = 8  # the middle of the second epoch
_PLANTED = {"weights": "optimizer.pt", "rng": "rng_state.pth"}


def measure(parameters, device, seed):
    """``what``: weights (with the optimizer and the scheduler), order, rng (dropout).

    With ``plant`` the checkpoint loses what the question is about, or the Trainer is told not to skip samples.
    """
    what = parameters.get("what", "weights")
    folder = tempfile.mkdtemp(dir=".")

    def run(place, **given):
        return _run(what, place, device, seed, **given)

    whole = run(folder)
    again = run(tempfile.mkdtemp(dir="."))
    checkpoint = os.path.join(folder, "checkpoint-%d" % _SAVED)
    planted = bool(parameters.get("plant"))
    if planted and what in _PLANTED:
        os.remove(os.path.join(checkpoint, _PLANTED[what]))
    values = {"resumed": 1, "error": ""}
    try:
        resumed = run(folder, resume_from_checkpoint=checkpoint, ignore_data_skip=planted and what == "order")
    except Exception as error:  # that it cannot go on at all is a measurement too
        said = re.sub(r"\x1b\[[0-9;]*m", "", str(error).replace(os.getcwd(), "."))
        values.update(resumed=0, error=("%s: %s" % (type(error).__name__, " ".join(said.split())))[:120])
    else:
        values.update(_compared(whole, resumed, what))
    values["control_difference"] = _distance(whole, again)
    values["control_moved"] = float((whole["weights"] - whole["saved"]).norm())
    return values


def _compared(whole, resumed, what):
    """How far a run is from the whole one, after the step at which that was saved."""
    if what == "order":
        wanted, found = whole["order"][_SAVED:], resumed["order"][-(_STEPS - _SAVED) :]
        return {"same_order_share": sum(one == two for one, two in zip(wanted, found)) / len(wanted)}
    if what == "rng":
        return {"difference": _distance(whole, resumed)}
    rates = sum(one == two for one, two in zip(whole["rates"][_SAVED:], resumed["rates"][_SAVED:]))
    return {
        "difference": _distance(whole, resumed),
        "optimizer_difference": float((resumed["moments"] - whole["moments"]).norm() / whole["moments"].norm()),
        "same_rate_share": rates / (_STEPS - _SAVED),
    }


def _distance(whole, other):
    """How far apart the weights end, as a part of the way that they went after the checkpoint."""
    moved = float((whole["weights"] - whole["saved"]).norm())
    return float((other["weights"] - whole["weights"]).norm()) / moved if moved else float("nan")


def _run(what, folder, device, seed, resume_from_checkpoint=None, ignore_data_skip=False):
    """The end of a run: its weights, the optimizer's state, the learning rates, and the samples of each step."""
    import torch
    from transformers import Trainer, TrainerCallback

    torch.manual_seed(seed)
    model = _model(dropout=0.5 if what == "rng" else 0.0)
    samples = torch.randn(_SAMPLES, 4, generator=torch.Generator().manual_seed(seed + 1))
    if what != "order":
        samples = samples[:1].expand(_SAMPLES, 4).clone()
    data = [{"number": torch.tensor(index), "inputs": row, "labels": row.sum()} for index, row in enumerate(samples)]
    saved = []

    class Watch(TrainerCallback):
        def on_step_end(self, args, state, control, **given):
            if state.global_step == _SAVED:
                saved.append(_flat(model.parameters()))

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        trainer = Trainer(
            model=model,
            args=trainers.arguments(
                output_dir=folder,
                num_train_epochs=3,
                per_device_train_batch_size=2,
                save_strategy="steps",
                save_steps=_SAVED,
                save_safetensors=True,
                learning_rate=0.01,
                lr_scheduler_type="linear",
                warmup_steps=4,
                ignore_data_skip=ignore_data_skip,
                **trainers.on(device),
            ),
            train_dataset=data,
            data_collator=trainers.collate,
            callbacks=[Watch()],
        )
        trainer.train(resume_from_checkpoint=resume_from_checkpoint)
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    state = [entry[name] for entry in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    return {
        "weights": _flat(model.parameters()),
        "saved": saved[0] if saved else None,
        "moments": _flat(state),
        "rates": [entry["learning_rate"] for entry in trainer.state.log_history if "learning_rate" in entry],
        "order": model.order,
    }


def _flat(tensors):
    import torch

    return torch.cat([tensor.detach().cpu().double().flatten() for tensor in tensors])


def _model(dropout):
    import torch

    class Model(torch.nn.Module):
        """Two layers, which notes the samples that it sees."""

        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(4, 16)
            self.dropout = torch.nn.Dropout(dropout)
            self.second = torch.nn.Linear(16, 1)
            self.order = []

        def forward(self, number, inputs, labels=None):
            self.order.append(number.tolist())
            hidden = self.dropout(torch.tanh(self.first(inputs)))
            return {"loss": (self.second(hidden).squeeze(-1) - labels).pow(2).mean()}

    return Model()
