"""Changes of the code that trains, between two releases: divisions, reductions, losses, masks, clipping, order.

Both files are parsed, and nothing of them is run. What counts is which expressions a function no longer has and which
it has now; code that moves within a module is no change.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gradcompat.curation.watch.candidate import RULES, Candidate

Features = Mapping[str, "Counter[str]"]
"""Rule → the expressions that it looks at."""

# Modules that train, by a part of their dotted name.
_TRAINS = re.compile(
    r"train(?!ed|able)|loss|collat|optim|accelerat|schedul|sampler|data_loader|dataloader|grad|packing"
)
# Modules of models: only what makes a loss there is compared.
_MODEL = re.compile(r"\bmodeling_\w+$")
_LOSS_FUNCTION = re.compile(r"loss")

_LOSS_CALL = re.compile(
    r"(?:loss|cross_entropy|nll|kl_div|log_softmax|logsumexp|selective_log_softmax|entropy\w*)$", re.I
)
_CLIP_CALL = re.compile(r"clip_grad|clip_by|^clip_coef|^clamp_?$")
_FLOW_CALL = re.compile(r"^(?:detach_?|backward|zero_grad|no_sync|no_grad|requires_grad_|set_requires_grad|unscale_)$")
_ORDER_CALL = re.compile(r"^(?:set_epoch|skip_first_batches|manual_seed|set_seed|seed_worker|randperm|shuffle)$")
_ORDER_NAME = re.compile(r"Sampler$")
_MASK_CALL = re.compile(r"^masked_(?:fill_?|select|scatter_?)$|_mask$")
_MASK_NAME = re.compile(r"(?:^|_)(?:mask|labels)$")
_PATH = re.compile(r"path|dir\b|folder|directory|root|__file__|cwd")
# Names of what an amount of training is divided by, or of what is divided.
_AMOUNT = re.compile(
    r"loss|grad|num_items|accum|num_processes|world_size|token|mask|norm|scale|adv|reward|logp|ratio|count|\.sum\(|numel"
)
_HEAVY = re.compile(r"loss|grad|num_items|accumul|num_processes|world_size|average_tokens|ignore_index")
_SCALED = re.compile(r"loss|grad")
_HEAVY_FUNCTION = re.compile(
    r"loss|training_step|inner_training_loop|accumul|clip|get_batch_samples|backward|torch_call"
)
# What few people train with.
_ASIDE = re.compile(r"experimental|legacy|deprecated")
_NO_TRAINING = re.compile(r"(?:^|\.)(?:test|tests|testing|test_utils|scripts|commands|cli)(?:\.|$)")
# What an expression may be long in a list of candidates.
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class _Function:
    line: int
    features: Features


@dataclass(frozen=True, slots=True)
class _Change:
    rule: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


def trains(module: str) -> bool:
    """Whether a module is compared at all."""
    return bool(_TRAINS.search(module) or _MODEL.search(module)) and not _NO_TRAINING.search(module)


def source_changes(
    package: str, module: str, before: bytes, after: bytes, pair: tuple[str, str]
) -> Iterator[Candidate]:
    """The candidates of one module.

    Args:
        package: its normalised name.
        module: its dotted name.
        before: the source in the older release.
        after: the source in the newer one.
        pair: the two releases.

    Raises:
        ValueError: if one of the sources cannot be parsed.
    """
    only_losses = _TRAINS.search(module) is None
    old, new = _functions(before, only_losses), _functions(after, only_losses)
    changes: dict[str, list[_Change]] = {}
    for rule in RULES:
        gone = _total(old, rule) - _total(new, rule)
        come = _total(new, rule) - _total(old, rule)
        for name in sorted(old.keys() | new.keys()):
            mine = old[name].features.get(rule, Counter()) if name in old else Counter[str]()
            its = new[name].features.get(rule, Counter()) if name in new else Counter[str]()
            # What moves to another function of the module is neither gone nor new.
            removed, added = (mine - its) & gone, (its - mine) & come
            gone, come = gone - removed, come - added
            if removed or (added and name in old):
                changes.setdefault(name, []).append(_Change(rule, _listed(removed), _listed(added)))
    for name, found in changes.items():
        weights = [_weight(change, name) for change in found]
        weight = max(weights) + 3 * (len(found) - 1)
        weight -= 25 if name not in old or name not in new else 0  # what is gone has often been replaced by others
        weight -= (15 if only_losses else 0) + (15 if _ASIDE.search(module) else 0)
        yield Candidate(
            rule=found[0].rule,  # rules come in the order of their weights
            package=package,
            before=pair[0],
            after=pair[1],
            place=f"{module}: {name}",
            line=new[name].line if name in new else None,
            removed=tuple(dict.fromkeys(text for change in found for text in change.removed)),
            added=tuple(dict.fromkeys(text for change in found for text in change.added)),
            weight=weight,
        )


def _weight(change: _Change, function: str) -> int:
    texts = (*change.removed, *change.added)
    weight = RULES[change.rule].weight
    weight += 15 if any(_HEAVY.search(text) for text in texts) else 0
    weight += 10 if _HEAVY_FUNCTION.search(function) else 0
    if change.rule in ("division", "reduction") and not (change.removed and change.added):
        weight += 10  # it is there in one release alone
    if change.rule == "loss":
        called = [{text.partition("(")[0] for text in several} for several in (change.removed, change.added)]
        weight += 5 if called[0] & called[1] else -10  # other arguments, or another function of the same kind
    return weight


def _listed(texts: Counter[str]) -> tuple[str, ...]:
    return tuple(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in sorted(texts))


def _total(functions: Mapping[str, _Function], rule: str) -> Counter[str]:
    total: Counter[str] = Counter()
    for function in functions.values():
        total.update(function.features.get(rule, {}))
    return total


def _functions(source: bytes, only_losses: bool) -> dict[str, _Function]:
    """The functions of a module by their qualified names, each with the expressions that rules look at."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("cannot be parsed") from None
    found: dict[str, _Function] = {}
    for name, node in _defined(tree, ""):
        if only_losses and not (_LOSS_FUNCTION.search(node.name) or _takes_labels(node)):
            continue
        features: dict[str, Counter[str]] = {}
        for inner in ast.walk(node):
            for rule, text in _expressions(inner, only_losses):
                features.setdefault(rule, Counter())[text] += 1
        found[name] = _Function(node.lineno, features)
    return found


def _defined(node: ast.AST, above: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions and methods; what is defined inside a function is part of it."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield above + inner.name, inner
        elif isinstance(inner, ast.ClassDef):
            yield from _defined(inner, f"{above}{inner.name}.")
        elif isinstance(inner, ast.If | ast.Try):
            yield from _defined(inner, above)


def _takes_labels(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return any(argument.arg == "labels" for argument in arguments)


def _expressions(node: ast.AST, only_losses: bool) -> Iterator[tuple[str, str]]:
    """What of one node of a function the rules look at, as rule and text."""
    match node:
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            text = _text(node)
            if _AMOUNT.search(text) and not _PATH.search(text):
                yield "division", text
        case ast.AugAssign(op=ast.Mult()):
            text = _text(node)
            if _HEAVY.search(text):
                yield "division", text
        case ast.BinOp(op=ast.Mult(), right=ast.Attribute(attr="num_processes") | ast.Name(id="world_size")):
            text = _text(node)
            if _SCALED.search(text):
                yield "division", text
        case ast.Call():
            yield from _of_call(node, only_losses)
        case ast.Assign(targets=[target]) if _MASK_NAME.search(_name(target)) and not only_losses:
            yield "mask", _text(node)
        case ast.Compare() if "-100" in (text := _text(node)) or "ignore_index" in text:
            yield "mask", text


def _of_call(call: ast.Call, only_losses: bool) -> Iterator[tuple[str, str]]:
    called = _name(call.func)
    for keyword in call.keywords:
        if keyword.arg == "reduction":
            yield "reduction", f"{called}({_text(keyword)})"
    if called in ("div", "div_", "true_divide"):
        yield "division", _text(call)
    elif _LOSS_CALL.search(called):
        yield "loss", _text(call)
    elif _CLIP_CALL.search(called):
        yield "clipping", _text(call)
    elif _FLOW_CALL.search(called):
        yield "gradients", _text(call)
    elif _ORDER_CALL.search(called) or _ORDER_NAME.search(called):
        yield "order", _text(call)
    elif _MASK_CALL.search(called) and not only_losses:
        yield "mask", _text(call)


def _name(node: ast.expr) -> str:
    """The last name of what is called or assigned."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return key if key.isidentifier() else _name(value)
        case ast.Subscript(value=value):
            return _name(value)
    return ""


def _text(node: ast.AST) -> str:
    return ast.unparse(node).replace("self.", "").replace("\n", " ")
