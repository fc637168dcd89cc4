"""The parameters of functions and the fields of classes, as their statements say them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradcompat.curation.module_facts import ClassFacts
from gradcompat.curation.rename_reader import warned_renames
from gradcompat.curation.word_lines import WordLines

# A default is text for people and for comparison with what is set; one that is longer says nothing to either.
_LONGEST_DEFAULT = 60

# Decorators that leave the parameters as they are, by the last part of their name.
_TRANSPARENT = frozenset(
    {
        *("staticmethod", "classmethod", "abstractmethod", "property", "cached_property", "setter", "wraps"),
        *("no_grad", "inference_mode", "enable_grad", "lru_cache", "cache", "contextmanager", "final", "override"),
        *("add_start_docstrings", "add_start_docstrings_to_model_forward", "add_end_docstrings", "auto_docstring"),
        *("add_code_sample_docstrings", "replace_return_docstrings", "can_return_tuple", "check_model_inputs"),
        *("requires", "export", "keras_export", "deprecated", "experimental", "dynamic_rope_update", "jit", "ignore"),
        *("unused", "compatibility", "rank_zero_only", "validate_hf_hub_args", "use_kernel_forward_from_hub"),
        *("wraps_cached", "merge_with_config_defaults", "capture_outputs", "is_compileable", "torch_no_grad"),
    }
)
# Those of pydantic that see what a model is given.
_VALIDATORS = frozenset({"model_validator", "root_validator"})
# Those that take a keyword under its old name, too.
_RENAMING = frozenset({"deprecate_kwarg", "deprecate_argument", "deprecated_argument", "deprecate_positional_args"})


def signature(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, warning_lines: WordLines | None = None
) -> tuple[str, ...]:
    """The parameters of a function, as :class:`ModuleFacts` has them.

    Args:
        node: the function.
        warning_lines: as :func:`warned_renames` takes it.
    """
    found = list(_parameters(node.args))
    if isinstance(node, ast.Lambda):
        return tuple(found)
    changed = False
    for decorator in node.decorator_list:
        called = _last(decorator)
        if called in _RENAMING:
            found += _renames(decorator)
            changed = changed or called == "deprecate_positional_args"
        else:
            changed = changed or called not in _TRANSPARENT
    if not changed:
        given = {hit.partition("=")[0] for hit in found}
        found += warned_renames(node, given, warning_lines)
    return (*found, "?") if changed else tuple(found)


def class_facts(
    node: ast.ClassDef, warning_lines: WordLines | None = None
) -> tuple[ClassFacts, Mapping[str, tuple[str, ...]]]:
    """A class, and the signatures of its methods that are public or construct it.

    Of ``__post_init__`` there are the fields alone that it warns of. The fields of a model of pydantic, and of what is
    mixed into one, are followed by the other keys that its validators read, as ``key>``.
    """
    methods: dict[str, tuple[str, ...]] = {}
    fields: list[str] = []
    checked: ast.FunctionDef | None = None
    keys: list[str] = []
    aliases: list[str] = []
    validates = takes_any = False
    for inner in node.body:
        match inner:
            case ast.FunctionDef(name="__post_init__"):
                checked = inner
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                decorators = {_last(expression) for expression in inner.decorator_list}
                if "overload" not in decorators and "setter" not in decorators and "deleter" not in decorators:
                    if not decorators.isdisjoint(_VALIDATORS):
                        validates = True
                        keys += _keys_read(inner)
                    if "property" in decorators or "cached_property" in decorators:
                        methods.pop(name, None)
                    elif not name.startswith("_") or name in ("__init__", "__new__", "__call__"):
                        found = signature(inner, warning_lines)
                        methods[name] = found if "staticmethod" in decorators else _bound(found)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                field = _field(name, annotation, value)
                if field is not None:
                    fields.append(field)
                    aliases += _aliases(value) if isinstance(value, ast.Call) else ()
            case ast.Assign(targets=[ast.Name(id="model_config")]) | ast.ClassDef(name="Config"):
                takes_any = takes_any or "allow" in ast.unparse(inner)
    kind, replaced = "class", False
    for decorator in node.decorator_list:
        if _last(decorator) == "dataclass":
            kind = "dataclass"
            if isinstance(decorator, ast.Call):
                for keyword in decorator.keywords:
                    if isinstance(keyword.value, ast.Constant):
                        if keyword.arg == "kw_only" and keyword.value.value:
                            kind = "dataclass kw_only"
                        if keyword.arg == "init" and keyword.value.value is False:
                            kind = "class"
        elif _last(decorator) not in _CLASS_TRANSPARENT or _takes_any_keyword(decorator):
            replaced = True
    for keyword in node.keywords:
        if keyword.arg == "metaclass" and _last(keyword.value) != "ABCMeta":
            replaced = True
    bases = tuple(_dotted(base) for base in node.bases)
    if kind == "class" and (validates or _is_of_models(bases, node)):
        kind = "unknown" if takes_any else "model"
        fields += (*aliases, *(f"{key}>" for key in dict.fromkeys(keys)))
    kind = "unknown" if replaced else kind
    if checked is not None and kind != "class":
        renamed = tuple(warned_renames(checked, {field.partition("=")[0] for field in fields}, warning_lines))
        if renamed:
            methods["__post_init__"] = renamed
    return ClassFacts(bases, kind, tuple(fields) if kind != "class" else ()), methods


def _is_of_models(bases: tuple[str, ...], node: ast.ClassDef) -> bool:
    """Does a class inherit from pydantic's, or do nothing but mix others into one?"""
    last = [base.rpartition(".")[2] for base in bases]
    empty = all(isinstance(inner, (ast.Pass, ast.Expr)) for inner in node.body)
    return "BaseModel" in last or (empty and any(base.endswith("Mixin") for base in last))


def _keys_read(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """The keys that a validator may read from what a model of pydantic is given, fields or not."""
    texts = (inner.value for one in method.body for inner in ast.walk(one) if isinstance(inner, ast.Constant))
    yield from (text for text in texts if isinstance(text, str) and text.isidentifier())


def _aliases(call: ast.Call) -> Iterator[str]:
    """The other names under which a model of pydantic takes a field."""
    for keyword in call.keywords:
        if keyword.arg in ("alias", "validation_alias"):
            texts = (inner.value for inner in ast.walk(keyword.value) if isinstance(inner, ast.Constant))
            yield from (text for text in texts if isinstance(text, str))


def _takes_any_keyword(decorator: ast.expr) -> bool:
    """``strict(accept_kwargs=True)`` of huggingface-hub replaces the constructor."""
    return isinstance(decorator, ast.Call) and any(keyword.arg == "accept_kwargs" for keyword in decorator.keywords)


def _bound(parameters: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters of a method without the one that stands for the object."""
    if not parameters or parameters[0][0] in "*?":
        return parameters
    return parameters[2:] if parameters[1:2] == ("/",) else parameters[1:]


_CLASS_TRANSPARENT = frozenset(
    {
        *(
            "add_start_docstrings",
            "auto_docstring",
            "requires",
            "export",
            "add_end_docstrings",
            "final",
            "total_ordering",
        ),
        *("keras_export", "deprecated", "experimental", "use_kernel_forward_from_hub", "runtime_checkable"),
        *("register_parametrization", "register_model", "strict", "register_module"),
    }
)


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for number, (one, default) in enumerate(zip(positional, [*defaults, *arguments.defaults], strict=True), 1):
        yield _parameter(one.arg, default)
        if number == len(arguments.posonlyargs):
            yield "/"
    if arguments.vararg is not None:
        yield f"*{arguments.vararg.arg}"
    elif arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(one.arg, default)
    if arguments.kwarg is not None:
        yield f"**{arguments.kwarg.arg}"


def _parameter(name: str, default: ast.expr | None) -> str:
    return name if default is None else f"{name}={_text(default)}"


def _text(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= _LONGEST_DEFAULT else "…"


def _field(name: str, annotation: ast.expr, value: ast.expr | None) -> str | None:
    """A field of a dataclass as a parameter; None for what is none."""
    if "ClassVar" in ast.unparse(annotation):
        return None
    if "KW_ONLY" in ast.unparse(annotation):
        return "*"
    match value:
        case ast.Call(func=called, keywords=keywords) if _last(called) in ("field", "Field", "dataclass_field"):
            given = {keyword.arg: keyword.value for keyword in keywords}
            match given.get("init"):
                case ast.Constant(value=False):
                    return None
            if "default" in given:
                return f"{name}={_text(given['default'])}"
            if "default_factory" in given:
                match given["default_factory"]:
                    case ast.Name(id="list"):
                        return f"{name}=[]"
                    case ast.Name(id="dict"):
                        return f"{name}={{}}"
                    case ast.Lambda(body=body):
                        return f"{name}={_text(body)}"
                return f"{name}=…"
            # A positional argument is pydantic's default; a call with others is required.
            return f"{name}={_text(value.args[0])}" if value.args else name
    return _parameter(name, value)


def _renames(decorator: ast.expr) -> Iterator[str]:
    """``old>new`` of a decorator that renames keywords; ``old>`` where it does not say the new name."""
    if isinstance(decorator, ast.Call) and decorator.args:
        first = decorator.args[0]
        given = {keyword.arg: keyword.value for keyword in decorator.keywords}
        new = given.get("new_name")
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            name = new.value if isinstance(new, ast.Constant) and isinstance(new.value, str) else ""
            yield f"{first.value}>{name}"


def _last(node: ast.expr) -> str:
    """The last part of the name that something is, or is called by."""
    node = node.func if isinstance(node, ast.Call) else node
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return "?"


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner, attr=name):
            found = _dotted(inner)
            return "?" if found == "?" else f"{found}.{name}"
        case ast.Subscript(value=inner):  # Generic[T], and generic bases
            return _dotted(inner)
    return "?"
