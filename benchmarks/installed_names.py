"""What an installed release really has: run by the interpreter that has it, see `release_tables.py`.

Reads the names of modules on standard input, one a line, imports each, and writes a JSON object a line: the names that
it has, and the parameters of what is public and callable. The first line is the installed version of the package that
is its argument.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import os
import sys
import warnings

os.environ["TOKENIZERS_PARALLELISM"] = "false"
warnings.simplefilter("ignore")
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # some packages greet on standard output


def parameters(found: object) -> list[list[object]] | None:
    """Name, kind and whether there is a default; None where Python does not say it."""
    try:
        signature = inspect.signature(found)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return None
    return [[one.name, one.kind.name, one.default is not one.empty] for one in signature.parameters.values()]


out.write(json.dumps({"version": importlib.metadata.version(sys.argv[1])}) + "\n")
for line in sys.stdin:
    name = line.strip()
    try:
        module = importlib.import_module(name)
        names = dir(module)
        lazily = hasattr(module, "_class_to_module")
        if lazily:  # what the class of lazy modules has itself
            names = [one for one in names if not one.startswith("_")]
    except BaseException as error:
        out.write(json.dumps({"module": name, "failed": f"{type(error).__name__}: {error}"[:200]}) + "\n")
        continue
    signatures = {}
    for one in () if lazily else names:
        if one.startswith("_"):
            continue
        found = vars(module).get(one)
        if getattr(found, "__module__", None) != name:
            continue
        if inspect.isclass(found):
            signatures[one] = parameters(found)
            for method, function in vars(found).items():
                if not method.startswith("_") and inspect.isfunction(function):
                    taken = parameters(function) or []
                    bound = taken[1:] if taken and taken[0][1] != "VAR_POSITIONAL" else taken
                    signatures[f"{one}.{method}"] = bound
        elif inspect.isfunction(found):
            signatures[one] = parameters(found)
    out.write(json.dumps({"module": name, "names": names, "lazy": lazily, "signatures": signatures}) + "\n")
    out.flush()
