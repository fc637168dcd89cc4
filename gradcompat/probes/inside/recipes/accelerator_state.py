"""Does ``load_state`` of accelerate go on with the random numbers that ``save_state`` was about to draw?

The control is the weights, which come back as they were saved.
"""

import random
import tempfile

from ..comparing import one_line


def measure(parameters, device, seed):  # noqa: ARG001  # what accelerate takes: the CPU, by its variable
    """With ``plant`` a number is drawn after loading."""
    import numpy
    import torch
    from accelerate import Accelerator

    torch.manual_seed(seed)
    accelerator = Accelerator()
    layer = torch.nn.Linear(2, 2)
    layer, _ = accelerator.prepare(layer, torch.optim.SGD(layer.parameters(), lr=0.1))
    folder = tempfile.mkdtemp(dir=".")
    accelerator.save_state(folder)
    kept = [weight.detach().clone() for weight in layer.parameters()]

    def drawn():
        return random.random(), float(numpy.random.rand()), float(torch.rand(1))  # noqa: S311  # what a run draws

    expected = drawn()
    with torch.no_grad():
        for weight in layer.parameters():
            weight.add_(1.0)
    try:
        accelerator.load_state(folder)
    except Exception as error:  # whatever it is that stands in the way
        loaded, message = 0, one_line(error)
    else:
        loaded, message = 1, ""
    if parameters.get("plant"):
        drawn()
    found = drawn()
    values = {
        "loaded": loaded,
        "same_share": sum(new == old for new, old in zip(found, expected)) / len(expected),
        "control_same_share": float(all(torch.equal(new, old) for new, old in zip(layer.parameters(), kept))),
    }
    return {**values, "error": message} if message else values
