"""Are gradients under autocast those of float64, and does loss scaling do what it is for?

An overflow has to skip the step and halve the scale, good steps have to double it, clipping has to see gradients
without their scale, and a NaN that a mask takes out of the loss, yet not out of the gradients, must not reach the
weights. The control is the same model in float32 without autocast.

Through the Trainer of transformers the question is whether a run that asks for no mixed precision gets none where an
earlier one in the same process did ask for it. There the control is the run before it.
"""

import contextlib
import copy
import math
import os

from .. import models, trainers
from ..comparing import cosine, flat, norm_ratio, ratio
from ..skipping import Skip

_SCALE = 1024.0
_RATE = 0.1
_LIMIT = 0.01  # far below the norm of the gradients, so that clipping always acts
_VARIABLE = "ACCELERATE_MIXED_PRECISION"


def measure(parameters, device, seed):
    """``dtype``: bfloat16, float16 (with a GradScaler); ``through``: torch, trainer (bfloat16, then nothing).

    ``plant`` breaks the loop as its values say; ``left_behind`` sets the variable of the launcher.
    """
    if parameters.get("through", "torch") == "trainer":
        with _restored():
            return _by_trainer(parameters.get("plant") == "left_behind", device, seed)
    return _by_torch(parameters, device, seed)


@contextlib.contextmanager
def _restored():
    """Whatever comes after in this process must not compute in what was asked for here."""
    from accelerate.state import AcceleratorState

    before = os.environ.pop(_VARIABLE, None)
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE, None)
        if before is not None:
            os.environ[_VARIABLE] = before
        AcceleratorState._reset_state()


def _by_trainer(plant, device, seed):
    import torch

    batch = models.samples("toy_plain", "equal", 4, seed)

    def trained(bf16):
        """One step of SGD: the bits of what a layer computes, and the gradients."""
        model = models.build("toy_plain", seed)
        bits = []
        model.head.register_forward_hook(lambda *given: bits.append(torch.finfo(given[-1].dtype).bits))
        before = flat(model.parameters())
        trainers.train(
            model, batch, bf16=bf16, max_steps=1, per_device_train_batch_size=4, optim="sgd", learning_rate=_RATE,
            max_grad_norm=0.0, **trainers.on(device),
        )  # fmt: skip
        return min(bits), (before - flat(model.parameters())) / _RATE

    exact = models.build("toy_plain", seed).double()
    exact(**trainers.collate(batch))["loss"].backward()
    _, control = trained(False)
    if trained(True)[0] != 16:
        raise Skip("the Trainer does not compute in bfloat16 on %s in this release" % device.split(":")[0])
    if plant:
        os.environ[_VARIABLE] = "bf16"
    return {
        "bits_share": trained(False)[0] / 32,
        "control_gradient_ratio": norm_ratio(control, flat([weight.grad for weight in exact.parameters()])),
    }


def _by_torch(parameters, device, seed):
    import torch

    torch.manual_seed(seed)
    kind = device.split(":")[0]
    dtype = getattr(torch, parameters.get("dtype", "bfloat16"))
    plant = parameters.get("plant", "nothing")
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))
    inputs = torch.randn(8, 16)
    targets = torch.randn(8, 4)
    exact = _gradients(copy.deepcopy(model).double(), inputs.double(), targets.double())
    model = model.to(device)
    inputs, targets = inputs.to(device), targets.to(device)

    def autocast():
        return torch.autocast(kind, dtype=dtype)

    with autocast():
        seen = model(inputs).dtype
    if seen is not dtype:
        raise Skip("autocast on %s does not compute in %s in this release of torch" % (kind, parameters.get("dtype")))
    control = _gradients(copy.deepcopy(model), inputs, targets)
    with autocast():
        found = _gradients(copy.deepcopy(model), inputs, targets)
    values = {
        "gradient_ratio": norm_ratio(found, exact),
        "gradient_cosine": cosine(found, exact),
        "control_gradient_ratio": norm_ratio(control, exact),
    }
    if parameters.get("dtype") == "float16":
        values.update(_scaling(model, inputs, targets, kind, autocast, plant))
    return values


def _loss(model, inputs, targets):
    outputs = model(inputs)
    return (outputs.to(targets.dtype) - targets).pow(2).mean()


def _gradients(model, inputs, targets):
    _loss(model, inputs, targets).backward()
    return flat([weight.grad for weight in model.parameters()])


def _scaling(model, inputs, targets, kind, autocast, plant):
    import torch

    def step(factor=1.0, clipped=False, masked=False):
        """One step from the same weights: how far they move, and what becomes of the scale."""
        trained = copy.deepcopy(model)
        before = flat(trained.parameters())
        scaler = _scaler(kind)
        optimizer = torch.optim.SGD(trained.parameters(), lr=_RATE)
        with autocast():
            loss = _loss(trained, inputs, targets) * factor
            if masked:
                # The root has no finite slope at nothing, and the mask takes away its value alone.
                weight = trained[0].weight.float()
                loss = loss + torch.where(weight > 9.0, (weight * 0.0).sqrt(), torch.zeros_like(weight)).sum()
        scaler.scale(loss).backward()
        if clipped:
            if plant != "clip_scaled":
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(trained.parameters(), _LIMIT)
        if plant == "hide_nan":
            for one in trained.parameters():
                one.grad.nan_to_num_(0.0, 0.0, 0.0)
        if plant == "step_anyway":
            optimizer.step()
        scaler.step(optimizer)
        scaler.update()
        return math.isfinite(float(loss)), (flat(trained.parameters()) - before).norm(), scaler.get_scale()

    _, plain, grown = step()
    _, overflowed, backed_off = step(factor=1e30)
    finite, masked, masked_scale = step(masked=True)
    _, clipped, _ = step(clipped=True)
    return {
        "overflow_scale": ratio(backed_off, _SCALE),
        "overflow_moved": float(overflowed),
        "grown_scale": ratio(grown, _SCALE),
        "clipped_ratio": ratio(clipped, _RATE * _LIMIT),
        "masked_nan_scale": ratio(masked_scale, _SCALE),
        "masked_nan_moved": float(masked),
        "control_masked_loss_finite": finite,
        "control_moved": float(plain),
    }


def _scaler(kind):
    import torch

    options = {"init_scale": _SCALE, "growth_interval": 1}
    if hasattr(torch.amp, "GradScaler"):
        scaler = torch.amp.GradScaler(kind, **options)
    elif kind == "cuda":
        scaler = torch.cuda.amp.GradScaler(**options)
    else:
        raise Skip("this release of torch scales losses on CUDA alone")
    if not scaler.is_enabled():
        raise Skip("this release of torch does not scale losses on %s" % kind)
    return scaler
