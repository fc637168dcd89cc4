"""Checkpoints of Lightning that hold more than tensors and plain values, because hyperparameters are objects.

``save_hyperparameters()`` puts every argument of ``__init__`` into the checkpoint: configs of OmegaConf, paths,
modules, optimizers that Hydra has half made. ``torch.load`` reads them with ``weights_only=False`` alone.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

_OBJECT = lazy_pattern(r"DictConfig|ListConfig|OmegaConf|partial|Path\b|Module\b|[Oo]ptimizer|scheduler|Callable")
_NAMESPACE = "Namespace"
# What a config of Hydra or OmegaConf is called where its type is not said.
_CONFIG = frozenset({"cfg", "config", "conf", "hparams", "model_cfg", "model_config", "hydra_cfg"})
_CONFIGS = frozenset({"omegaconf", "hydra"})
_LOADING = frozenset({"fit", "test", "validate", "predict"})
# It goes back to where it was by a checkpoint.
_FINDERS = frozenset({"lr_find", "LearningRateFinder"})
# A program with one of these words lets such a checkpoint be read, or makes plain values of the config.
_REMEDY = lazy_pattern(
    r"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD|safe_globals|torch\.load\s*=|to_container|_convert_|hyper_parameters"
)


def reads_objects(
    modules: Sequence[Sequence[ast.stmt]], texts: Sequence[str], imported: Collection[str]
) -> ast.AST | None:
    """The first load of a checkpoint with such hyperparameters, if the program saves some.

    Args:
        modules: the statements of all modules of the program.
        texts: of these modules.
        imported: the packages that they import.
    """
    if any(_REMEDY.search(text) for text in texts):
        return None
    nodes = [node for module in modules for statement in module for node in ast.walk(statement)]
    configured = not _CONFIGS.isdisjoint(imported)
    if not any(_saves_objects(node, configured=configured) for node in nodes if isinstance(node, ast.ClassDef)):
        return None
    return next((node for node in nodes if isinstance(node, ast.Call) and _loads(node)), None)


def _saves_objects(node: ast.ClassDef, *, configured: bool) -> bool:
    made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if made is None:
        return False
    given = {one.arg: one for one in (*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs)}
    saving = (
        one
        for one in ast.walk(made)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "save_hyperparameters"
    )
    return any(any(_kept(call, given, configured=configured)) for call in saving)


def _kept(call: ast.Call, given: dict[str, ast.arg], *, configured: bool) -> Iterator[bool]:
    """Of each argument that a call keeps, whether it is an object."""
    ignored = argument_of(call, "ignore")
    if ignored is not None:
        try:
            told = ast.literal_eval(ignored)
        except ValueError:
            return
        left_out = {told} if isinstance(told, str) else set(told)
    else:
        left_out = set()
    names = [*given]
    if call.args:
        names = [one.id if isinstance(one, ast.Name) else getattr(one, "value", "") for one in call.args]
    for name in names:
        argument = given.get(name) if isinstance(name, str) else None
        if argument is None or name in left_out:
            continue
        said = "" if argument.annotation is None else ast.unparse(argument.annotation)
        # A namespace that is handed over by itself is kept as its values.
        spread = _NAMESPACE in said and not call.args
        yield bool(_OBJECT.search(said)) or spread or (not said and configured and name in _CONFIG)


def _loads(call: ast.Call) -> bool:
    """Does it read a whole checkpoint, and without saying how?"""
    said = {one.arg: one.value for one in call.keywords}
    if (call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")) in _FINDERS:
        return True
    if not isinstance(call.func, ast.Attribute) or "weights_only" in said:
        return False
    if call.func.attr == "load_from_checkpoint":
        return True
    path = said.get("ckpt_path")
    none = isinstance(path, ast.Constant) and path.value is None
    return call.func.attr in _LOADING and path is not None and not none
