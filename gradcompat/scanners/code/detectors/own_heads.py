"""Trainers of a model that the program writes itself, whose loss may be a mean over samples as well as over tokens."""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

# What brings no head: a class below a model with a head, as LLaVA's own, computes that model's loss.
_WITHOUT_HEAD = lazy_pattern(
    r"torch\.nn\.(?:modules\.module\.)?Module|transformers\.(?:\w+\.)*\w*(?:PreTrained|[a-z0-9])Model"
)
_LANGUAGE_MODEL = lazy_pattern(r"(?:LMHead|DoubleHeads|EncoderDecoder)Model")
_MOVED = frozenset({"to", "cuda", "from_pretrained", "from_config", "train"})
_DEEPEST = 4  # classes below classes


def trains_own_head(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``Trainer(model=Tagger())``, ``Trainer(Tagger.from_pretrained(…))``, whatever holds the model before."""
    made = argument_of(call, "model", 0)
    if isinstance(made, ast.Name):
        bound = names.bound_once(made.id, scope)
        if bound is None:
            return False
        made, scope = bound
    while isinstance(made, ast.Call):
        called = made.func
        made = called.value if isinstance(called, ast.Attribute) and called.attr in _MOVED else called
    return isinstance(made, (ast.Name, ast.Attribute)) and _is_headless(made, names, scope)


def _is_headless(node: ast.expr, names: Names, scope: Scope, depth: int = 0) -> bool:
    defined = names.definition(node, scope)
    if defined is None or depth > _DEEPEST:
        called = names.resolve(node, scope) if depth else ()
        return any(_WITHOUT_HEAD.fullmatch(one) and not _LANGUAGE_MODEL.search(one) for one in called)
    owner, made, within = defined
    return isinstance(made, ast.ClassDef) and any(_is_headless(base, owner, within, depth + 1) for base in made.bases)
