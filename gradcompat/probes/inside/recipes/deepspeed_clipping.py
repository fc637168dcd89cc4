"""Does a DeepSpeed engine clip where its configuration says so, and only there? One SGD step without peers.

The control is the step with clipping off, which has to be as long as that of a loop written by hand.
"""

from .. import engines, ranks
from ..comparing import flat, ratio

_TIMES = 8.0  # the gradients are so many times as long as the limit
_DTYPE = "float32"


def measure(parameters, device, seed):
    """``stage``; ``limit``: given, or none in the configuration; ``plant``: clipping is on where it should be off, and
    the other way round.
    """
    with ranks.group(0, 1, device) as own:
        return _lengths(parameters, own, seed)


def _lengths(parameters, device, seed):
    start = dict(engines.network(seed, _DTYPE).named_parameters())
    parts = engines.samples(1, seed, _DTYPE, device)

    def length(engine):
        (after,) = engines.trained(engine, [parts])
        return float(flat(engines.update(start, after).values()).norm()) / engines.RATE

    def clipped(limit):
        return length(_engine(engines.network(seed, _DTYPE), parameters.get("stage", 2), limit, device))

    long = length(engines.plain(engines.network(seed, _DTYPE), device))
    limit = long / _TIMES
    plant = parameters.get("plant")
    values = {"control_ratio": ratio(clipped(0.0), long)}
    if parameters.get("limit") == "none":
        values["default_ratio"] = ratio(clipped(limit if plant else None), long)
    else:
        values["clipped_ratio"] = ratio(clipped(0.0 if plant else limit), limit)
    return values


def _engine(model, stage, limit, device):
    """An engine with this limit, or without a word about clipping in its configuration."""
    package = engines.deepspeed_package(device)
    import torch

    settings = engines.deepspeed_settings({"stage": stage, "dtype": _DTYPE, "gradient_clipping": limit})
    if limit is None:
        del settings["gradient_clipping"]
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=engines.RATE)
    engine, _, _, _ = package.initialize(model=model, model_parameters=weights, optimizer=optimizer, config=settings)

    def step(parts):
        for inputs, targets in parts:
            engine.backward(engines.loss_of(engine(inputs), targets))
            engine.step()

    return step, lambda: {name: weight.detach().cpu().clone() for name, weight in engine.module.named_parameters()}
