"""What a program surely leaves to the defaults of the tools that it calls.

Only a program that can be seen as a whole leaves something out for sure: all in one file, with no parser that fills
the arguments in, every call written out to its last argument, and no word anywhere that could set it otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.model.context import Unset
from gradcompat.scanners.code.findings import Called, Findings
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.defaults import DEFAULTS, TRAIN, Default

# What changes the arguments of an object that is there.
_ELSEWHERE = (
    *("set_training", "set_optimizer", "setattr", "__dict__", "partial("),
    *("training_args.bin", "hyperparameter_search"),
)
# What fills them in where the arguments of a trainer are made, and not where an adapter's config is written out.
_FILLING = ("HfArgumentParser", "TrlParser", "import dataclasses as")
# What of dataclasses fills none: the program's own classes are no arguments of a trainer, unless they derive from them.
_OF_DATACLASSES = frozenset({"dataclass", "field", "fields", "asdict", "is_dataclass"})
_DATACLASSES = lazy_pattern(r"\bdataclasses\.(\w+)")
# Packages that put their own in the place of what is called.
_PATCHING = frozenset(
    {
        *("unsloth", "axolotl", "swift", "llamafactory", "optimum", "adapters", "setfit", "sentence_transformers"),
        *("hydra", "jsonargparse", "tyro", "simple_parsing", "fire", "pyrallis", "draccus"),
    }
)


def unset(found: Findings, text: str) -> tuple[Unset, ...]:
    """What the calls of a program leave out."""
    files = (found, *found.parts)
    if not found.trains or any(file.names.rewritten or (file.names.stars and not found.parts) for file in files):
        return ()
    if _PATCHING & found.imported or any(phrase in text for phrase in _ELSEWHERE):
        return ()
    filled = any(phrase in text for phrase in _FILLING) or _fills_dataclasses(files, text)
    left: list[Unset] = []
    called = {name for file in files for call in file.called for name in call.names}
    modules = list({file.names: file for file in files}.values())
    for default in DEFAULTS:
        if filled and default.default.package != "peft":
            continue
        if default.drivers and not found.drivers.keys() <= default.drivers:
            continue
        meant = {name for name in called if _is(name, default)}
        calls = [(file, call) for file in files for call in file.called if not meant.isdisjoint(call.names)]
        if not calls or any(phrase in text for phrase in default.phrases):
            continue
        if default.of != (TRAIN,) and any(_derived(module, default) for module in modules):
            continue
        of_each: dict[int, list[Called]] = {}
        for owner, call in calls:
            of_each.setdefault(id(owner), []).append(call)
        if all(_left_out(of_each.get(id(file), []), file, default) for file in files):
            place = calls[0][0].place(calls[0][1].node)
            left.append(Unset(of=default.of[0], key=default.key, location=place))
    return tuple(left)


def _fills_dataclasses(files: Iterable[Findings], text: str) -> bool:
    """Does it take more of ``dataclasses`` than what its own classes need, by a name or by the module?"""
    imported = (name for file in files for name in file.names.imports if name.startswith("dataclasses."))
    return not _OF_DATACLASSES.issuperset((*(name.partition(".")[2] for name in imported), *_DATACLASSES.findall(text)))


def _is(name: str, default: Default) -> bool:
    """Is it one that the default is of? ``transformers.training_args.TrainingArguments`` is, too."""
    ends = (name.partition(".")[0], name.rpartition(".")[2])
    return any(name == of or ends == (of.partition(".")[0], of.rpartition(".")[2]) for of in default.of)


def _left_out(calls: list[Called], found: Findings, default: Default) -> bool:
    """Is every call there to its last argument, and does nothing else make what it makes?"""
    if default.of == (TRAIN,):
        # Of others it may not be known whose they are.
        trains = [call.node for call in found.called if call.names[0].endswith(".train")]
        return not any(call.args or call.keywords for call in trains)
    if default.default.package == "peft" and any(_other_adapter(name) for call in found.called for name in call.names):
        return False
    return all(len(call.names) == 1 and _written_out(call.node) for call in calls)


def _written_out(call: ast.Call) -> bool:
    positional = len(call.args) <= 1 and not any(isinstance(argument, ast.Starred) for argument in call.args)
    return positional and all(keyword.arg is not None for keyword in call.keywords)


def _other_adapter(name: str) -> bool:
    """Is it an adapter of another kind, or one that brings its own config?"""
    root, last = name.partition(".")[0], name.rpartition(".")[2]
    return root == "peft" and last != "LoraConfig" and last.endswith(("Config", "from_pretrained", "load_adapter"))


def _derived(found: Findings, default: Default) -> bool:
    """Does a class of the program derive from it, with defaults of its own?"""
    names = found.names
    return any(
        _is(name, default)
        for node, scope in names.scopes.items()
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        for name in names.resolve(base, scope.parent or scope)
    )
