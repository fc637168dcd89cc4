"""Can packages be imported, together and in this order? A smoke test of what they ask of one another's binaries.

The names behind the first are looked up as attributes, since many packages import their parts only when they are asked
for. A process that dies is an answer as well. The control is torch alone, which is imported first; a module that has
nothing to do with torch has none.
"""

import importlib
import importlib.util

from ..comparing import one_line
from ..skipping import Skip

_WITHOUT_TORCH = ("triton", "jax", "flax", "numba")


def measure(parameters, device, seed):  # noqa: ARG001  # an import is the same on every device
    """``module``: what to import, with the attribute to touch; ``after``: what is imported before it."""
    module = parameters.get("module", "torchvision")
    after = parameters.get("after", "nothing")
    before = [] if module in _WITHOUT_TORCH else ["torch"]
    if after != "nothing":
        before.append(after)
    for name in (*before, module):
        root = name.partition(".")[0]
        if root not in ("torch", "numpy") and importlib.util.find_spec(root) is None:
            raise Skip("there is no module `%s`" % root)
    values = {}
    for name in before:
        error = _import(name)
        values["control_imported"] = error is None
        if error is not None:
            return {**values, "control_error": error}
    if not before:
        values["control_imported"] = True
    error = _import(module)
    values["imported"] = error is None
    if error is not None:
        values["error"] = error
    return values


def _import(name):
    """What is wrong with it, if anything."""
    try:
        if name == "torch.from_numpy":
            _exchange()
            return None
        found = importlib.import_module(name.partition(".")[0])
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    except Exception as error:  # whatever a package raises while it is imported
        return one_line(error)
    return None


def _exchange():
    """Arrays go from NumPy to torch and back only if the two were built for one another."""
    import numpy
    import torch

    torch.from_numpy(numpy.zeros(2)).numpy()
