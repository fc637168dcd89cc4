"""What a program takes from a config that it loads: ``config["train"]``, ``cfg.train.steps``.

Only names and literal keys are followed, and the file is the one that a call names literally.
"""

from __future__ import annotations

import ast
import re

from gradcompat.scanners.code.names import Names, Scope, Source
from gradcompat.startup.lazy_patterns import lazy_pattern

# What a loaded config is called where it is handed on.
CALLED = frozenset({"cfg", "config", "conf", "yaml_config", "yaml_cfg"})
_LOADERS = frozenset(
    {
        *("yaml.safe_load", "yaml.load", "yaml.full_load", "json.load", "json.loads", "tomllib.load", "toml.load"),
        *("omegaconf.OmegaConf.load", "omegaconf.OmegaConf.create", "omegaconf.OmegaConf.merge"),
    }
)
_SAME = frozenset({"omegaconf.OmegaConf.to_container", "omegaconf.OmegaConf.to_object", "copy.deepcopy", "copy.copy"})
_OPENERS = frozenset({"pathlib.Path", "omegaconf.OmegaConf.load", "io.open"})
_LOADING = lazy_pattern(r"(?:load|read|parse|get)\w*(?:config|cfg|conf|ya?ml|json)\w*", re.IGNORECASE)
_CONFIGS = (".yaml", ".yml", ".json")
_DEEPEST = 10
_LONGEST = 500


def lookup(node: ast.expr, names: Names, scope: Scope, depth: int = 0) -> tuple[str, ...] | None:
    """The keys by which an expression looks something up in a config; None if it does something else."""
    if depth >= _DEEPEST:
        return None
    match node:
        case ast.Subscript(value=inner, slice=ast.Constant(value=str(key))):
            return _below(inner, key, names, scope, depth)
        case ast.Call(func=ast.Attribute(value=inner, attr="get" | "pop"), args=[ast.Constant(value=str(key)), *_]):
            return _below(inner, key, names, scope, depth)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            source = names.source_of(node, scope)
            path = _followed(source, depth)
            return () if path is None and name in CALLED else path
        case ast.Attribute(value=inner, attr=key):
            return _below(inner, key, names, scope, depth)
        case ast.Call(func=ast.Name(id="dict" | "int" | "float" | "bool" | "str"), args=[inner], keywords=[]):
            return lookup(inner, names, scope, depth + 1)  # `int(cfg["steps"])`, whichever way the config writes it
        case ast.Call(func=called, args=[inner, *_]) if set(names.resolve(called, scope)) & _SAME:
            return lookup(inner, names, scope, depth + 1)
        case ast.Call(func=called):
            return () if set(names.resolve(called, scope)) & _LOADERS else None
        case ast.Name(id=name):
            bound = names.bound_once(name, scope)
            source = names.source_of(node, scope) if bound is None else Source(bound[0], names, bound[1], None)
            path = _followed(source, depth)
            if path is not None or name not in CALLED or names.bindings(name, scope) is None:
                return path
            return None if source is not None and _is_of_model(source) else ()
    return None


def _followed(source: Source | None, depth: int) -> tuple[str, ...] | None:
    return None if source is None else lookup(source.node, source.names, source.scope, depth + 1)


def _is_of_model(source: Source) -> bool:
    """``config = AutoConfig.from_pretrained("gpt2")``, which no file of the project holds."""
    if not isinstance(source.node, ast.Call):
        return False
    parts = (part for name in source.names.resolve(source.node.func, source.scope) for part in name.split("."))
    return any(part.endswith("Config") and part != "DictConfig" for part in parts)


def item_path(node: ast.expr, names: Names, scope: Scope) -> tuple[str, ...] | None:
    """The keys that lead to a single value as the config has it, or as a number if it is one there."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "float"), args=[inner], keywords=[]):
            return item_path(inner, names, scope)
        case ast.Call(func=ast.Attribute(attr="get" | "pop")) | ast.Subscript() | ast.Attribute() | ast.Name():
            return lookup(node, names, scope)
    return None


def _below(node: ast.expr, key: str, names: Names, scope: Scope, depth: int) -> tuple[str, ...] | None:
    path = lookup(node, names, scope, depth + 1)
    return None if path is None else (*path, key)


def loaded_file(call: ast.Call, names: Names, scope: Scope) -> str | None:
    """The config that a call reads, as it is named: ``open("train.yaml")``, ``load_config(HERE / "train.yaml")``."""
    if not call.args or not _reads(call, names, scope):
        return None
    path = _written(call.args[0], names, scope)
    return path if path is not None and is_config(path) else None


def is_config(path: str) -> bool:
    """Could a file of that name be a config?"""
    return path.lower().endswith(_CONFIGS) and len(path) <= _LONGEST


def _reads(call: ast.Call, names: Names, scope: Scope) -> bool:
    match call.func:
        case ast.Name(id="open") if names.bindings("open", scope) is None:
            modes = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "mode")]
            return all(isinstance(mode, ast.Constant) and str(mode.value).startswith("r") for mode in modes)
        case ast.Name(id=name) | ast.Attribute(attr=name) if _LOADING.fullmatch(name):
            return True
    return bool(set(names.resolve(call.func, scope)) & _OPENERS)


def _written(node: ast.expr, names: Names, scope: Scope) -> str | None:
    """The literal end of a path."""
    match node:
        case ast.BinOp(op=ast.Div(), right=right):
            return _written(right, names, scope)
        case ast.Call(func=ast.Attribute(attr="join"), args=[_, *_] as parts):
            return _written(parts[-1], names, scope)
    value = names.literal(node, scope)
    return value if isinstance(value, str) else None
