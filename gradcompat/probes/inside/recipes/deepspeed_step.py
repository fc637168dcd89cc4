"""Does one DeepSpeed engine step as a loop written by hand does? Three SGD steps in a process without peers.

What stands around the optimizer depends on the stage, the type and the class of the optimizer, and so do its defects:
steps that move nothing, gradients that are divided by a loss scale which never multiplied the loss, gradients that are
not cleared, micro-batches that are lost, gradients that are divided once more for every output of the model. The loop
by hand computes in the same type; the control is that loop in float64. Where a communication type is asked for, the
engine has to survive without it: only then is it the type's fault.

``plant`` shows the engine the first micro-batch in the place of all but the last.
"""

from .. import engines, ranks
from ..comparing import cosine, flat, norm_ratio, one_line

_STEPS = 3


def measure(parameters, device, seed):
    """``stage``, ``dtype``, ``optimizer``, ``offload``, ``accumulation``, …, as :mod:`engines` takes them."""
    with ranks.group(0, 1, device) as own:
        return _steps(parameters, own, seed)


def _steps(parameters, device, seed):
    import torch

    dtype = parameters.get("dtype", "float32")
    data = engines.samples(_STEPS * parameters.get("accumulation", 1), seed, dtype, device)
    steps = [data[index::_STEPS] for index in range(_STEPS)]
    doubled = [[tuple(tensor.double() for tensor in part) for part in parts] for parts in steps]

    start = _weights(seed, dtype)
    expected = engines.trained(engines.plain(engines.network(seed, dtype), device), steps)
    exact = engines.trained(engines.plain(engines.network(seed, dtype).double(), device), doubled)
    moved = _moved(start, expected[0])
    values = {
        "control_update_norm": float(moved.norm()),
        "control_update_ratio": norm_ratio(moved, _moved(start, exact[0])),
    }
    if parameters.get("communication_data_type", "default") != "default":
        _, error = _engine({**parameters, "communication_data_type": "default"}, steps, seed, device)
        if error:
            raise RuntimeError("without a communication type it fails as well: " + error)
        found, error = _engine(parameters, steps, seed, device)
        values.update(completed=not error, error=error)
        if error:
            return values
    else:
        engine = engines.deepspeed(engines.network(seed, dtype), parameters, device)
        if parameters.get("plant"):
            engine = (_forgetful(engine[0]), engine[1])
        found = engines.trained(engine, steps)
    first = _moved(start, found[0])
    values["moved"] = float(_moved(start, found[-1]).norm())
    values["update_ratio"] = norm_ratio(first, moved)
    values["last_update_ratio"] = norm_ratio(_moved(found[-2], found[-1]), _moved(expected[-2], expected[-1]))
    if bool(torch.any(first)):
        values["update_cosine"] = cosine(first, moved)
    return values


def _weights(seed, dtype):
    return {name: weight.detach().clone() for name, weight in engines.network(seed, dtype).named_parameters()}


def _moved(before, after):
    return flat(engines.update(before, after).values())


def _engine(parameters, steps, seed, device):
    """The weights after each step and no error, or no weights and the error."""
    engine = engines.deepspeed(engines.network(seed, parameters.get("dtype", "float32")), parameters, device)
    try:
        return engines.trained(engine, steps), ""
    except (KeyError, RuntimeError) as error:
        return None, one_line(error)


def _forgetful(step):
    """Wrong on purpose: nothing between the first and the last micro-batch of a step reaches the engine."""

    def forgetful(parts):
        step([parts[0]] * (len(parts) - 1) + [parts[-1]])

    return forgetful
