"""What a program does with what ``apply_chat_template`` returns.

Since transformers 5 a mapping is returned of token ids, whose length is the number of entries and not of tokens.
Of text the first token may be taken off before a tokenizer adds it again, or the tokenizer is told to add none.
"""

from __future__ import annotations

import ast

from gradcompat.scanners.code.names import Names, Scope

_TEMPLATE = "apply_chat_template"
_TAKES_OFF = frozenset({"removeprefix", "lstrip", "replace"})


def manner_of_count(call: ast.Call, names: Names, scope: Scope) -> tuple[str, str] | None:
    """The name of what makes the ids whose number is taken, and the word behind it: ``len(ids)``.

    Args:
        call: any call of the program.
    """
    match call:
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            made = _maker(counted, names, scope)
            if made is not None and _returns_ids(made):
                found = names.resolve(made.func, scope)
                return (found[0] if found else _TEMPLATE), "counted"
    return None


def manner_of_trimming(call: ast.Call, names: Names, scope: Scope) -> tuple[str, str] | None:
    """The name of what makes the text that gets no second first token, and the word behind it.

    Args:
        call: any call of the program.
    """
    match call:
        case ast.Call(func=ast.Attribute(value=text, attr=method)) if method in _TAKES_OFF:
            made = _maker(text, names, scope)
        case ast.Call(args=[text, *_], keywords=words) if any(_leaves_out(word) for word in words):
            made = _maker(text, names, scope)
            if made is not None and any(
                word.arg == "add_generation_prompt" and _is(word, True) for word in made.keywords
            ):
                return None  # a prompt, which is not trained on
        case _:
            return None
    if made is None:
        return None
    found = names.resolve(made.func, scope)
    return (found[0] if found else _TEMPLATE), "trimmed"


def _leaves_out(word: ast.keyword) -> bool:
    """``add_special_tokens=False``."""
    return word.arg == "add_special_tokens" and _is(word, False)


def _is(word: ast.keyword, value: bool) -> bool:
    return isinstance(word.value, ast.Constant) and word.value.value is value


def _maker(node: ast.AST, names: Names, scope: Scope) -> ast.Call | None:
    """The call of the template that an expression is, or the only one that a name is bound to."""
    if isinstance(node, ast.Name):
        bound = names.bound_once(node.id, scope)
        if bound is None:
            return None
        node = bound[0]
    match node:
        case ast.Call(func=ast.Attribute(attr="apply_chat_template")):
            return node
    return None


def _returns_ids(call: ast.Call) -> bool:
    """Is neither text asked for, which processors return unless they are told, nor said what is returned?"""
    if "processor" in ast.unparse(call.func).lower():
        return False
    told = {word.arg: word.value for word in call.keywords}
    if None in told or told.keys() & {"return_dict", "return_tensors"}:
        return False
    match told.get("tokenize"):
        case None | ast.Constant(value=True):
            return len(call.args) < 2
    return False
