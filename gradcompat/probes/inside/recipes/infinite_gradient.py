"""One weight of two gets an infinite gradient: does DeepSpeed, which clips by the norm of both, spare the other one?

That one stays finite if the step is skipped, or if the norm is left out; it is lost if the norm becomes a factor that
is not a number. The control is the same step without clipping.

``plant`` loses the other weight on purpose, after the step.
"""

import math

from .. import engines, ranks


def measure(parameters, device, _seed):
    """``stage``, ``dtype``, ``plant``."""
    with ranks.group(0, 1, device) as own:
        return {
            "control_spared": _spared(parameters, own, 0.0),
            "spared": _spared(parameters, own, 1.0, parameters.get("plant", False)),
        }


def _spared(parameters, device, clipping, lose=False):
    import torch

    kind = parameters.get("dtype", "bfloat16")
    dtype = getattr(torch, kind)
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    settings = {"stage": parameters.get("stage", 1), "dtype": kind, "gradient_clipping": clipping}
    engine, weights = engines.deepspeed_engine(model.to(dtype), settings, device)
    outputs = engine(torch.tensor([[math.inf, 1.0]], dtype=dtype, device=device))
    engine.backward(outputs.float().sum())
    engine.step()
    if lose:
        with torch.no_grad():
            model.weight[0, 1] = math.nan
    return bool(torch.isfinite(weights()["weight"][0, 1]))
