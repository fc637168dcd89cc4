"""Can a model be loaded where a package is missing that transformers calls optional?

Where the package is there, nothing is measured: what works beside it says nothing. The control is that the model can be
built and saved.
"""

import importlib.util
import tempfile

from .. import models
from ..comparing import one_line
from ..skipping import Skip


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``package``: which one is missing; with ``plant`` the weights are missing from the folder too."""
    model = models.build("llama", seed)
    package = parameters.get("package", "accelerate")
    if importlib.util.find_spec(package) is not None:
        raise Skip("%s is there" % package)
    folder = tempfile.mkdtemp(dir=".")
    model.save_pretrained(folder)
    values = {"control_saved": 1}
    if parameters.get("plant"):
        folder = tempfile.mkdtemp(dir=".")
        model.config.save_pretrained(folder)
    try:
        type(model).from_pretrained(folder)
    except Exception as error:  # whatever it is that stands in the way
        return {**values, "loaded": 0, "error": one_line(error)}
    return {**values, "loaded": 1}
