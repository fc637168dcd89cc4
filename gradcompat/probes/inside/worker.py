"""Runs recipes in the interpreter that is looked at, and writes down what each measured.

Started as ``python worker.py INPUT``. INPUT is a JSON file: ``{"output": path, "threads": n, "jobs": [{"recipe",
"parameters", "device", "seed"}, …]}``. The output file is replaced as a whole before and after every job, so that
whatever kills this process leaves what was measured, and the job that it died in. Standard output and standard error
belong to the packages, which are free to chatter. Standard input is a lifeline: when it ends, whoever started this is
gone, and so are this process and its children.
"""

import importlib
import importlib.util
import json
import math
import os
import re
import signal
import sys
import threading
import time
import types

PROTOCOL = 1
_PACKAGE = "gradcompat_inside"


def main(path):
    """Run all jobs of an input file."""
    threading.Thread(target=_follow_parent, daemon=True).start()
    with open(path, encoding="utf-8") as file:
        task = json.load(file)
    # The folder of a script is first on the path; its modules must not stand before those of the environment.
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    package = types.ModuleType(_PACKAGE)
    package.__path__ = [here]
    sys.modules[_PACKAGE] = package
    state = {
        "protocol": PROTOCOL,
        "python": ".".join(map(str, sys.version_info[:3])),
        "running": None,
        "results": [],
    }
    for index, job in enumerate(task["jobs"]):
        state["running"] = {"job": index, "since": time.time()}
        _write(task["output"], state)
        state["results"].append(_measured(index, job, task.get("threads", 1)))
    state["running"] = None
    _write(task["output"], state)


def _measured(index, job, threads):
    started = time.perf_counter()
    result = {"job": index, "state": "measured", "reason": "", "values": {}, "device": job["device"]}
    skipping = importlib.import_module(_PACKAGE + ".skipping")
    try:
        device = _device(job["device"], job["devices"], skipping.Skip)
        result["device"] = device
        _prepare(threads)
        recipe = _recipe(job["recipe"])
        values = recipe.measure(job["parameters"], device, job["seed"])
        result["values"] = {name: _plain(value) for name, value in values.items()}
        result["device"] = _device_name(device)
    except skipping.Skip as error:
        result.update(state="skipped", reason=str(error))
    except ModuleNotFoundError as error:
        result.update(state="skipped", reason="there is no module `%s`" % error.name)
    except ImportError as error:
        result.update(state="skipped", reason="cannot be imported: " + _one_line(error))
    except Exception as error:  # a recipe that fails is an outcome, and the next one still runs
        result.update(state="failed", reason=type(error).__name__ + ": " + _one_line(error), where=_place(error))
    result["seconds"] = time.perf_counter() - started
    result["packages"] = _versions()
    return result


def _recipe(name):
    """The module of a recipe: one of ours by its name, or a file by its path, as if it lay among ours."""
    if not os.path.isabs(name):
        return importlib.import_module(_PACKAGE + ".recipes." + name)
    stem = os.path.splitext(os.path.basename(name))[0]
    spec = importlib.util.spec_from_file_location(_PACKAGE + ".recipes." + stem, name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _prepare(threads):
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "set_num_threads"):
        torch.set_num_threads(threads)


def _one_line(error):
    # An ImportError ends in the path of the package, which is nobody's business.
    return re.sub(r" \(/[^)]*\)", "", " ".join(str(error).split()))[:300]


def _place(error):
    """The last frame, which says more to whoever looks into it than the message alone."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return "" if frame is None else "%s:%d" % (frame.tb_frame.f_code.co_filename, frame.tb_lineno)


def _plain(value):
    """A number, a truth, a word or nothing; what JSON cannot hold becomes a word."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _versions():
    """Versions as the imported modules themselves say, which is what ran, whatever metadata lies beside them."""
    found = {}
    own = getattr(sys, "stdlib_module_names", ())  # from Python 3.10 on
    for name, module in sorted(sys.modules.items()):
        version = getattr(module, "__version__", None) if "." not in name and name not in own else None
        if isinstance(version, str) and len(version) < 60 and not name.startswith("_"):
            found[name] = version
    return found


def _device(wanted, possible, skip):
    """The device to run on: what was asked for, if it is there; for ``auto`` the first possible one that is."""
    if wanted == "auto":
        for kind in ("cuda", "mps", "xpu", "cpu"):
            if kind in possible and _is_there(kind):
                return kind
        raise skip("it needs %s, and there is none" % " or ".join(possible))
    kind, _, index = wanted.partition(":")
    if kind not in possible:
        raise skip("it cannot be measured on %s, only on %s" % (kind, " or ".join(possible)))
    if not _is_there(kind, int(index) if index.isdigit() else 0):
        raise skip("there is no device `%s`" % wanted)
    return wanted


def _is_there(kind, index=0):
    if kind == "cpu":
        return index == 0
    import torch

    module = torch.backends.mps if kind == "mps" else getattr(torch, kind, None)
    if module is None or not module.is_available():
        return False
    return kind == "mps" or index < module.device_count()


def _device_name(device):
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return device
    return "%s %s" % (device, torch.cuda.get_device_name(device))


def _write(path, state):
    temporary = "%s.%d" % (path, os.getpid())
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(temporary, path)


def _follow_parent():
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        return  # there is no lifeline: somebody runs this by hand
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
