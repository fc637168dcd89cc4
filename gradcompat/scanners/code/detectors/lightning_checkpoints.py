"""Checkpoints of Lightning that hold more than tensors and plain values, because hyperparameters are objects.

``save_hyperparameters()`` puts every argument of ``__init__`` into the checkpoint: configs of OmegaConf, paths,
modules, optimizers that Hydra has half made. ``torch.load`` reads them with ``weights_only=False`` alone.

What keeps objects and what reads the checkpoint are told apart: a program whose modules a config has made does not
import them.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from gradcompat.scanners.code.syntax import argument_of, last_name, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

KEEPS_OBJECTS = "lightning.LightningModule.object_hyperparameters"
READS = "lightning.checkpoint_read"
READS_ALL = "lightning.checkpoint_read.whole"

_OBJECT = lazy_pattern(r"DictConfig|ListConfig|OmegaConf|partial|Path\b|Module\b|[Oo]ptimizer|scheduler|Callable")
_NAMESPACE = "Namespace"
# A class of the project whose values are plain ones.
_PLAIN = frozenset({"TypedDict", "dict", "list", "tuple", "str", "int", "float"})
# What a config of Hydra or OmegaConf is called where its type is not said.
_CONFIG = frozenset({"cfg", "config", "conf", "hparams", "model_cfg", "model_config", "hydra_cfg"})
_CONFIGS = frozenset({"omegaconf", "hydra"})
_LOADING = frozenset({"fit", "test", "validate", "predict"})
# Without a model they read the best checkpoint, whether it is named or not.
_OF_BEST = _LOADING - {"fit"}
_TRAINER = lazy_pattern(r"(?:\w*_)?trainer|Trainer")
# It goes back to where it was by a checkpoint.
_FINDERS = frozenset({"lr_find", "LearningRateFinder"})
# A program with one of these words lets such a checkpoint be read, or makes plain values of the config.
_REMEDY = lazy_pattern(
    r"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD|safe_globals|torch\.load\s*=|to_container|_convert_|hyper_parameters"
)


def remedied(texts: Sequence[str]) -> bool:
    """Does a program let whole checkpoints be read, or keep plain values?"""
    return any(map(_REMEDY.search, texts))


def keeps_objects(modules: Sequence[Sequence[ast.stmt]], imported: Collection[str]) -> bool:
    """Does a class keep hyperparameters that are objects?

    Args:
        modules: the statements of all modules of the program.
        imported: the packages that they import.
    """
    nodes = [node for module in modules for node in nodes_in(*module)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    own = frozenset(node.name for node in classes if _PLAIN.isdisjoint(map(last_name, node.bases)))
    configured = not _CONFIGS.isdisjoint(imported)
    return any(_saves_objects(node, nodes, own, configured=configured) for node in classes)


def first_read(statements: Sequence[ast.stmt]) -> ast.Call | None:
    """The first load of a whole checkpoint that does not say how it is to be read."""
    calls = [node for node in nodes_in(*statements) if isinstance(node, ast.Call)]
    kept = not any(_keeps_none(call) for call in calls)
    return next((call for call in calls if _loads(call) or (kept and _takes_best(call))), None)


def _saves_objects(
    node: ast.ClassDef, everything: Sequence[ast.AST], own: Collection[str], *, configured: bool
) -> bool:
    made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if made is None:
        return False
    saving = (
        one
        for one in nodes_in(made)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "save_hyperparameters"
    )
    kept = [argument for call in saving for argument in _kept(call, made.args)]
    if any(_is_object(argument, own, configured=configured, spread=spread) for argument, spread in kept):
        return True
    untyped = {argument.arg for argument, spread in kept if argument.annotation is None and not spread}
    return bool(untyped) and _is_given_object(node.name, made.args, untyped, everything, own)


def _kept(call: ast.Call, parameters: ast.arguments) -> Iterator[tuple[ast.arg, bool]]:
    """The arguments that a call keeps, and whether by itself, as its values."""
    left_out: set[object] = set()
    ignored = argument_of(call, "ignore")
    if ignored is not None:
        try:
            told = ast.literal_eval(ignored)
        except ValueError:
            return
        left_out = {told} if isinstance(told, str) else set(told)
    given = {one.arg: one for one in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)}
    names = [*given][1:]
    if call.args:
        names = [one.id if isinstance(one, ast.Name) else str(getattr(one, "value", "")) for one in call.args]
    spread = len(call.args) == 1 and isinstance(call.args[0], ast.Name)
    yield from ((given[name], spread) for name in names if name in given and name not in left_out)


def _is_object(argument: ast.arg, own: Collection[str], *, configured: bool, spread: bool) -> bool:
    if argument.annotation is None:
        return configured and argument.arg in _CONFIG
    said = ast.unparse(argument.annotation)
    # A namespace that is handed over by itself is kept as its values.
    values = _NAMESPACE in said or last_name(argument.annotation) in own
    return bool(_OBJECT.search(said)) or (values and not spread)


def _is_given_object(
    name: str, parameters: ast.arguments, wanted: Collection[str], everything: Sequence[ast.AST], own: Collection[str]
) -> bool:
    """Does a call of a class hand it an object of a class of the project's, or a layer, by one of some names?"""
    bound: dict[str, ast.expr] = {}
    for node in everything:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                bound[target] = value
    ordered = [one.arg for one in (*parameters.posonlyargs, *parameters.args)][1:]
    for node in everything:
        if not isinstance(node, ast.Call) or last_name(node.func) != name:
            continue
        by_name = ((one.value, one.arg) for one in node.keywords)
        for given, word in (*zip(node.args, ordered, strict=False), *by_name):
            value = bound.get(given.id, given) if isinstance(given, ast.Name) else given
            if word in wanted and isinstance(value, ast.Call) and _makes_object(value, own):
                return True
    return False


def _makes_object(call: ast.Call, own: Collection[str]) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in own
        case ast.Attribute(value=ast.Name(id="nn") | ast.Attribute(attr="nn"), attr=name):
            return name[:1].isupper()
    return False


def _loads(call: ast.Call) -> bool:
    """Does it read a whole checkpoint, and without saying how?"""
    said = {one.arg: one.value for one in call.keywords}
    if last_name(call.func) in _FINDERS:
        return True
    if not isinstance(call.func, ast.Attribute) or "weights_only" in said:
        return False
    if call.func.attr == "load_from_checkpoint":
        return True
    path = said.get("ckpt_path")
    none = isinstance(path, ast.Constant) and path.value is None
    return call.func.attr in _LOADING and path is not None and not none


def _takes_best(call: ast.Call) -> bool:
    """``trainer.test(datamodule=data)``: no model is given, so that the best checkpoint is read."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[], keywords=words) if name in _OF_BEST:
            named = {word.arg for word in words}
            return _TRAINER.fullmatch(last_name(owner)) is not None and named.isdisjoint(
                {None, "model", "ckpt_path", "weights_only"}
            )
    return False


def _keeps_none(call: ast.Call) -> bool:
    """A Trainer that writes no checkpoints, or only tries itself out."""
    words = {word.arg: word.value for word in call.keywords}
    written, tried = words.get("enable_checkpointing"), words.get("fast_dev_run")
    off = isinstance(written, ast.Constant) and written.value is False
    return off or (isinstance(tried, ast.Constant) and bool(tried.value))
