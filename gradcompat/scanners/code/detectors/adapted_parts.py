"""Adapters on a part of a model: what a trainer gets is a class of its own then, and no PeftModel.

``model.vit = get_peft_model(model.vit, config)``, and ``self.encoder = get_peft_model(encoder, config)`` in a module.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.syntax import is_on_lines_of
from gradcompat.scanners.code.walk import text
from gradcompat.startup.lazy_patterns import lazy_pattern

_MODULE = lazy_pattern(r"torch\.nn\.(?:\w+\.)*Module|transformers\.(?:\w+\.)*\w*(?:Model|For[A-Z]\w+)")
_DRIVER = lazy_pattern(r"(?i)(?:\w+[._])?trainer")  # whose model is the whole one


def adapts_part(call: ast.Call, names: Names, scope: Scope) -> bool:
    """Does what ``get_peft_model`` returns become a part of another module, as far as its file shows it?"""
    assignments = names.nodes(ast.Assign)
    own = {
        target.id
        for one in assignments
        if one.value is call
        for target in one.targets
        if isinstance(target, ast.Name) and names.bindings(target.id, scope) is not None
    }
    of_modules = [one for one in names.nodes(ast.ClassDef) if _is_module(one, names)]

    def is_adapted(node: ast.expr) -> bool:
        return node is call or (isinstance(node, ast.Name) and node.id in own)

    for one in assignments:
        if not is_adapted(one.value):
            continue
        for target in one.targets:
            if isinstance(target, ast.Attribute) and _is_part(target, of_modules):
                return True
    classes = {one.name for one in of_modules}
    return any(
        isinstance(made.func, ast.Name)
        and made.func.id in classes
        and any(map(is_adapted, (*made.args, *(word.value for word in made.keywords))))
        for made in names.nodes(ast.Call)
    )


def _is_part(target: ast.Attribute, of_modules: list[ast.ClassDef]) -> bool:
    """``model.vit``, and ``self.encoder`` of a module; ``self.model`` of anything else is the whole model."""
    if isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
        return any(is_on_lines_of(target, one) for one in of_modules)
    return not _DRIVER.fullmatch(text(target.value))


def _is_module(own: ast.ClassDef, names: Names) -> bool:
    scope = names.module
    bases = [name for base in own.bases for name in (*names.resolve(base, scope), *names.bases(base, scope))]
    return any(map(_MODULE.fullmatch, bases))
