"""Builds model classes as small as their configs allow, and says how each shifts labels, attends and ties weights.

``model_builds.py`` runs this in the interpreter that has the release. The arguments are mappings of classes.
"""

from __future__ import annotations

import copy
import json
import resource
import signal
import sys
from importlib import import_module
from typing import Any

from class_losses import MOST_PARAMETERS, SMALL

MOST_MEMORY = 6 * 2**30
MOST_SECONDS = 20  # of processor time, for a class
ATTENTION = {"sdpa": "sdpa", "flash_attention_2": "flash_attn", "flex_attention": "flex_attn"}


def inside(mappings: list[str]) -> None:
    """Print a line for each class, in the interpreter that has the release."""
    torch, transformers = map(import_module, ("torch", "transformers"))
    modeling_auto = import_module("transformers.models.auto.modeling_auto")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGVTALRM, _give_up)
    known: set[str] = set()
    for mapping in mappings:
        names = getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES", {})
        for value in names.values():
            for name in [value] if isinstance(value, str) else value:
                if name in known:
                    continue
                known.add(name)
                said: dict[str, Any] = {"class": name, "version": transformers.__version__}
                for measure in (_shifts, _attention, _ties):
                    signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
                    try:
                        said |= measure(getattr(transformers, name), torch)
                    except Exception as error:  # whatever a class does with such a config
                        said[f"error of {measure.__name__[1:]}"] = f"{type(error).__name__}: {error}"[:200]
                print(json.dumps(said), flush=True)


def _give_up(*_: object) -> None:
    raise TimeoutError("it takes too long")


def _config(model_class: Any, torch: Any) -> Any:
    config = model_class.config_class()
    for key, value in SMALL.items():
        if hasattr(config, key) and isinstance(getattr(config, key), (int, type(None))):
            setattr(config, key, value)
    with torch.device("meta"):
        count = sum(one.numel() for one in model_class(copy.deepcopy(config)).parameters())
    if count > MOST_PARAMETERS:
        raise ValueError(f"{count:,} parameters")
    return config


def _shifts(model_class: Any, torch: Any) -> dict[str, Any]:
    """Whether ``forward`` shifts, by the labels that its loss function is given, or by the loss without one."""
    torch.manual_seed(0)
    config = _config(model_class, torch)
    if hasattr(config, "is_decoder") and model_class.__name__.endswith(("LMHeadModel", "ForCausalLM")):
        config.is_decoder = True
    model = model_class(config).eval()
    given: list[Any] = []
    looked_up = getattr(model_class, "loss_function", None)
    if isinstance(looked_up, property) and looked_up.fget is not None:
        get = looked_up.fget

        def _watched(self: Any) -> Any:
            inner = get(self)

            def _called(*args: Any, **kwargs: Any) -> Any:
                given.append(kwargs["labels"] if "labels" in kwargs else args[1])
                return inner(*args, **kwargs)

            return _called

        model_class.loss_function = property(_watched, looked_up.fset)
    try:
        ids, labels = torch.randint(5, 90, (2, 12)), torch.randint(5, 90, (2, 12))
        with torch.no_grad():
            out = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels)
    finally:
        if isinstance(looked_up, property):
            model_class.loss_function = looked_up
    logits = out.logits.float()
    loss = torch.nn.functional.cross_entropy
    width = logits.shape[-1]
    plain = float(loss(logits.reshape(-1, width), labels.reshape(-1)))
    shifted = float(loss(logits[:, :-1].reshape(-1, width), labels[:, 1:].reshape(-1)))
    measured = float(out.loss)
    total = {"plain": abs(measured - plain) < 1e-4, "shifted": abs(measured - shifted) < 1e-4}
    if total["plain"] == total["shifted"]:
        return {"error of shifts": f"a loss of {measured}, which is neither {plain} nor {shifted} or both"}
    unchanged = bool(given) and given[0].shape == labels.shape and bool((given[0] == labels).all())
    return {"shifts": not unchanged if given else total["shifted"], "shifted at all": total["shifted"]}


def _attention(model_class: Any, torch: Any) -> dict[str, Any]:
    """Which implementations a class takes; one of which only the package is missing is taken."""
    found: dict[str, bool] = {}
    config = _config(model_class, torch)
    for name, flag in ATTENTION.items():
        try:
            with torch.device("meta"):
                model_class._from_config(copy.deepcopy(config), attn_implementation=name)
            found[flag] = True
        except ImportError as error:
            if "flash" not in str(error).lower():
                raise
            found[flag] = True
        except ValueError as error:
            if "support" not in str(error):
                raise
            found[flag] = False
    return {"supports": found}


def _ties(model_class: Any, torch: Any) -> dict[str, Any]:
    """The names of the output's weight, and whether it is the input's where the config asks for that and by default."""
    config = _config(model_class, torch)
    if not hasattr(config, "tie_word_embeddings"):
        return {}
    said: dict[str, Any] = {"tied by default": bool(config.tie_word_embeddings)}
    for wanted in (True, False):
        config.tie_word_embeddings = wanted
        model = model_class(copy.deepcopy(config))
        model.tie_weights()
        output, given = model.get_output_embeddings(), model.get_input_embeddings()
        if output is None or given is None:
            return {}
        said[f"same of {wanted}"] = output.weight is given.weight
        said["output"] = (
            next(name for name, one in model.named_modules(remove_duplicate=False) if one is output) + ".weight"
        )
    return said


if __name__ == "__main__":
    inside(sys.argv[1:])
