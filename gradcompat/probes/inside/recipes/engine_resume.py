"""Has a DeepSpeed engine in bf16 the moments of Adam that it had when its checkpoint was written? Without peers.

The moments of a new engine that has loaded the checkpoint are compared with those of the one that wrote it. The control
is the same with ZeRO.
"""

import os
import tempfile

from .. import engines, ranks
from ..comparing import ratio

_STEPS = 3
_DTYPE = "bfloat16"
_RATE = 0.01


def measure(parameters, device, seed):
    """``stage``: of the engine that is asked about. With ``plant`` it loads the weights alone."""
    with ranks.group(0, 1, device) as own:
        return {
            "moment_ratio": _kept(parameters.get("stage", 0), own, seed, bool(parameters.get("plant"))),
            "control_ratio": _kept(1, own, seed, False),
        }


def _kept(stage, device, seed, plant):
    """How long the moments are behind the checkpoint, by their length before it."""
    folder = os.path.abspath(tempfile.mkdtemp(dir="."))
    engine = _engine(stage, device, seed)
    for inputs, targets in engines.samples(_STEPS, seed, _DTYPE, device):
        engine.backward(engines.loss_of(engine(inputs), targets))
        engine.step()
    engine.save_checkpoint(folder)
    resumed = _engine(stage, device, seed + 1)
    resumed.load_checkpoint(folder, load_optimizer_states=not plant)
    return ratio(_moments(resumed), _moments(engine))


def _engine(stage, device, seed):
    import torch

    package = engines.deepspeed_package(device)
    model = engines.network(seed, "float32")
    weights = list(model.parameters())
    engine, _, _, _ = package.initialize(
        model=model,
        model_parameters=weights,
        optimizer=torch.optim.AdamW(weights, lr=_RATE),
        config=engines.deepspeed_settings({"stage": stage, "dtype": _DTYPE}),
    )
    return engine


def _moments(engine):
    """Of the optimizer that DeepSpeed has put its own around; there are none before its first step."""
    states = engine.optimizer.optimizer.state.values()
    return (
        sum(float(state["exp_avg"].detach().double().square().sum()) for state in states if "exp_avg" in state) ** 0.5
    )
