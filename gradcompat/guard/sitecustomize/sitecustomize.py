"""Python imports this at its start where the folder is on PYTHONPATH, as ``gradcompat run`` sets it.

It starts the guard if ``GRADCOMPAT_GUARD`` is 1, and then runs the ``sitecustomize`` that would have been found
without it.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _start_guard() -> None:
    import importlib.util

    # The package alone is loaded, not what is installed beside it: the training keeps its own dependencies.
    package = os.path.dirname(os.path.dirname(_HERE))
    spec = importlib.util.spec_from_file_location("gradcompat", os.path.join(package, "__init__.py"))
    if "gradcompat" not in sys.modules and spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["gradcompat"] = module
        spec.loader.exec_module(module)
    from gradcompat.guard.startup import start

    start()


def _chain() -> None:
    """Run the next ``sitecustomize`` on the path."""
    import importlib.machinery
    import importlib.util

    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    sys.path[:] = others
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if os.environ.get("GRADCOMPAT_GUARD") == "1":
    try:
        _start_guard()
    except Exception as error:  # whatever it is, the program has to start
        sys.stderr.write("gradcompat guard: cannot start (%s: %s)\n" % (type(error).__name__, error))
_chain()
