"""Can a part of a package be imported that the package itself does not import? Packages that load lazily hide it.

The control is the package alone.
"""

import importlib
import importlib.util

from ..comparing import one_line
from ..skipping import Skip


def measure(parameters, device, seed):  # noqa: ARG001  # an import is the same on every device
    """``module``: the part, by its full name."""
    import torch

    torch.zeros(1).sum()  # with a torch that can do nothing, what cannot be imported says nothing of the package
    module = parameters.get("module", "torchtune.training")
    root = module.partition(".")[0]
    if importlib.util.find_spec(root) is None:
        raise Skip("there is no module `%s`" % root)
    importlib.import_module(root)
    try:
        importlib.import_module(module)
    except Exception as error:  # whatever a package raises while it is imported
        return {"imported": 0, "error": one_line(error), "control_imported": 1}
    return {"imported": 1, "control_imported": 1}
