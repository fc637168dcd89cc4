"""Where a program keeps the values of its configuration: mappings, classes and their objects, parameters.

``config["steps"]`` below ``config = {"steps": 8}``, ``CFG.steps``, ``config.steps`` below ``config = Config()``, and
``steps`` of ``def train(steps)`` that is called once. What the file may set to something else, by whatever object, is
not followed. A function of an imported module is given what the one call gives that a program has of it
(:mod:`gradcompat.scanners.code.only_calls`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from gradcompat.scanners.code.names import Changes, Names, Scope, Source
from gradcompat.scanners.code.syntax import defaults_of, last_name, nodes_in
from gradcompat.startup.lazy_patterns import lazy_pattern

_DEEPEST = 8
# What a class of settings may derive from; pydantic's BaseSettings asks the environment, too.
_BASES = frozenset({"abc.ABC", "pydantic.BaseModel", "typing.NamedTuple"})
_DECORATORS = frozenset(
    {"dataclasses.dataclass", "pydantic.dataclasses.dataclass", "attr.s", "attr.define", "attrs.define"}
)
_FIELDS = frozenset({"dataclasses.field", "pydantic.Field", "attr.ib", "attrs.field"})
# What makes an object whose attributes are the keywords or the mapping that it is given.
_NAMESPACES = frozenset(
    {
        *("types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict", "addict.Dict", "munch.Munch", "box.Box"),
        *("omegaconf.OmegaConf.create", "ml_collections.ConfigDict", "ml_collections.config_dict.ConfigDict"),
    }
)
# What a function is called that changes a configuration which it is handed, in this module or in another one.
_SETTING = lazy_pattern(r"(?:^|_)(?:update|merge|override|overwrite|patch|apply|parse|fill|populate)", re.IGNORECASE)
_MERGING = lazy_pattern(r"merge_(?!from_file)\w+|merge")  # a command line or another config, into its own
_LAUNCHERS = frozenset({"accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher"})


class ProgramNames(Names):
    """The names of a program, with what it keeps in objects of its own."""

    def source_of(self, node: ast.AST, scope: Scope) -> Source | None:
        return source_of(node, self, scope)

    def returned(self, call: ast.Call, scope: Scope) -> Source | None:
        return returned(call, self, scope)


def source_of(node: ast.AST, names: Names, scope: Scope, depth: int = 0) -> Source | None:
    """What an item, an attribute or a parameter has its value from; None where that cannot be read off."""
    if depth >= _DEEPEST or names.rewritten:
        return None
    match node:
        case ast.Name(id=name):
            return _given(name, names, scope)
        case ast.Subscript(value=owner, slice=chosen, ctx=ast.Load()) if not isinstance(chosen, ast.Slice):
            key = names.literal(chosen, scope, depth + 1)
            return _item(owner, key, names, scope, depth) if isinstance(key, str) else None
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(key)), *_]):
            return _item(owner, key, names, scope, depth)
        case ast.Attribute(value=ast.Name(id="self"), attr=key, ctx=ast.Load()):
            return _own(key, names, scope)
        case ast.Attribute(value=(ast.Name() | ast.Subscript() | ast.Attribute()) as owner, attr=key, ctx=ast.Load()):
            return _attribute(owner, key, names, scope, depth)
    return None


def fields_of(node: ast.expr, names: Names, scope: Scope) -> list[str]:
    """The names of the fields of a dataclass of the project that an expression is an object of; none of others."""
    made = _made(node, names, scope, 0)
    defined = None if made is None else made.names.definition(_called(made.node), made.scope)
    found: dict[str, None] = {}
    for _ in range(_DEEPEST):
        if defined is None:
            break
        owner, own, within = defined
        if not isinstance(own, ast.ClassDef):
            break
        for statement in own.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = None
        defined = owner.definition(own.bases[0], within) if len(own.bases) == 1 else None
    return list(found)


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


# Parameters


def _given(name: str, names: Names, scope: Scope) -> Source | None:
    """What the one call of a function gives for its parameter, or its default."""
    found = names.bindings(name, scope)
    if found is None or found[0] != [None] or (names.is_imported and not names.only_calls):
        return None
    function, within = found[1].node, found[1].parent
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or within is None:
        return None
    if isinstance(within.node, ast.ClassDef) and function.name == "__init__":
        return _constructed(name, function, within, names)
    if within is not names.module or function.decorator_list or within.names.get(function.name) != [function]:
        return None
    call = _only_call(function, names)
    return None if call is None else _parameter(name, function.args, call[0], names, within, caller=call[1])


def _constructed(
    name: str, constructor: ast.FunctionDef | ast.AsyncFunctionDef, own: Scope, names: Names
) -> Source | None:
    """What the one object of a class of the module is made with."""
    kind = own.node
    if not isinstance(kind, ast.ClassDef) or own.parent is not names.module:
        return None
    if kind.decorator_list or kind.keywords or names.module.names.get(kind.name) != [kind]:
        return None
    call = _only_call(kind, names)
    if call is None:
        return None
    return _parameter(name, constructor.args, call[0], names, names.module, caller=call[1], bound=1)


def _only_call(
    own: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, names: Names
) -> tuple[ast.Call, Names] | None:
    """The call that a function of the module is used in, if that is its only use, and the names that hold there."""
    if names.is_imported:
        return names.only_calls.get(own)
    if names.reads[own.name] != 1:
        return None
    if own.name in names.calls_by_name:
        return names.calls_by_name[own.name][0], names
    launched = None if _LAUNCHERS.isdisjoint(names.imports) else _launched(own.name, names)
    return None if launched is None else (launched, names)


def _launched(function: str, names: Names) -> ast.Call | None:
    """``notebook_launcher(train, (config, model))`` as a call of ``train``."""
    for calls in names.calls_by_name.values():
        for call in calls:
            match call:
                case ast.Call(func=called, args=[ast.Name(id=started), *others], keywords=words):
                    if started != function or _LAUNCHERS.isdisjoint(names.resolve(called, names.module)):
                        continue
                    given = others[0] if others else next((one.value for one in words if one.arg == "args"), None)
                    if isinstance(given, ast.Name) and (bound := names.bound_once(given.id, names.module)) is not None:
                        given = bound[0]
                    if isinstance(given, ast.Tuple):
                        made = ast.Call(func=call.args[0], args=given.elts, keywords=[])
                        return ast.copy_location(made, call)
    return None


def _parameter(
    name: str,
    parameters: ast.arguments,
    call: ast.Call,
    names: Names,
    defined_in: Scope,
    *,
    caller: Names | None = None,
    bound: int = 0,
) -> Source | None:
    """What a call gives for a parameter, or its default.

    Args:
        name: the parameter.
        parameters: all of the function's.
        call: a call of the function.
        names: those of the module that has the function.
        defined_in: the scope that the function stands in.
        caller: those of the module that has the call, if it is another one.
        bound: how many of the first parameters no call gives, as ``self``.
    """
    if any(isinstance(one, ast.Starred) for one in call.args) or any(word.arg is None for word in call.keywords):
        return None
    ordered = [*parameters.posonlyargs, *parameters.args]
    positions = {one.arg: place - bound for place, one in enumerate(ordered)}
    given = next((word.value for word in call.keywords if word.arg == name), None)
    caller = names if caller is None else caller
    if given is not None:
        return Source(given, caller, caller.scope_of(call), f"{name}={{}}")
    if 0 <= positions.get(name, -1) < len(call.args):
        return Source(call.args[positions[name]], caller, caller.scope_of(call), None)
    defaults = defaults_of(parameters)
    return Source(defaults[name], names, defined_in, f"{name}={{}}") if name in defaults else None


# Mappings


def _item(owner: ast.expr, key: str, names: Names, scope: Scope, depth: int) -> Source | None:
    """An entry of a mapping that is written out and that no statement of the file changes there."""
    made = _made(owner, names, scope, depth)
    if made is None or any(is_item_set(_root(owner), key, one) for one in {names, made.names}):
        return None
    return _entry(made, key)


def _entry(made: Source, key: str) -> Source | None:
    match made.node:
        case ast.Dict(keys=keys, values=values):
            if any(one is None for one in keys):
                return None
            found = [
                value
                for one, value in zip(keys, values, strict=True)
                if isinstance(one, ast.Constant) and one.value == key
            ]
            return made._replace(node=found[-1], spelling=f'"{key}": {{}}') if found else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=words):
            if any(word.arg is None for word in words):
                return None
            found = [word.value for word in words if word.arg == key]
            return made._replace(node=found[-1], spelling=f"{key}={{}}") if found else None
    return None


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _changes(names: Names) -> Changes:
    """What the statements of a file set, looked at once."""
    if names.changes is None:
        names.changes = _set_by(names)
    return names.changes


def _set_by(names: Names) -> Changes:
    keys, attributes, any_attribute = set(), set(), False
    mappings: dict[tuple[str, Scope], None] = {}
    updates: dict[str, list[tuple[str, Scope]]] = {}
    for store in names.stores:
        match store:
            case ast.Subscript(slice=ast.Constant(value=key)):
                keys.add(str(key))
            case ast.Subscript():
                mappings[_root(store), names.scope_of(store)] = None
            case ast.Attribute(value=ast.Name(id="self")):
                continue
            case ast.Attribute(attr=name):
                attributes.add(name)
            case ast.Call(args=[_, ast.Constant(value=str(name)), *_]):
                attributes.add(name)
            case ast.Call():
                any_attribute = True
    for scope in names.scopes.values():
        for name, filled in scope.filled.items():
            for key, _ in filled:
                if key is None:
                    mappings[name, scope] = None
                else:
                    updates.setdefault(key, []).append((name, scope))
    handed = {
        call.func.value.id
        for call in names.nodes(ast.Call)
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        if _MERGING.fullmatch(call.func.attr)
    }
    handed |= {
        given.id
        for call in names.nodes(ast.Call)
        if _SETTING.search(last_name(call.func))
        for given in (*call.args, *(word.value for word in call.keywords))
        if isinstance(given, ast.Name)
    }
    return Changes(frozenset(keys), list(mappings), updates, frozenset(attributes), any_attribute, frozenset(handed))


def is_item_set(root: str, key: str, names: Names) -> bool:
    """May a statement of the file set that key of the mapping, or of one in it?"""
    changes = _changes(names)
    return (
        key in changes.keys
        or root in changes.handed
        or any(
            _is_called(name, root, scope, names) for name, scope in (*changes.mappings, *changes.updates.get(key, ()))
        )
    )


def may_be_set(node: ast.expr, path: tuple[str, ...], names: Names) -> bool:
    """May a statement of the file set what these keys lead to in a config, or a part that it lies in?"""
    root = _root(_of_converted(node))
    return names.rewritten or any(is_item_set(root, key, names) or _is_attribute_set(root, key, names) for key in path)


def keys_set(names: Names, called: Collection[str]) -> frozenset[str] | None:
    """The keys that statements of a file may set in a config; None for any.

    Args:
        names: those of the file.
        called: what a config is called.
    """
    changes = _changes(names)
    opened = {name for name, _ in changes.mappings} | changes.handed
    opened |= {last_name(one.args[0]) for one in names.stores if isinstance(one, ast.Call) and one.args}
    if names.rewritten or not opened.isdisjoint(called):
        return None
    updated = {key for key, owners in changes.updates.items() if any(name in called for name, _ in owners)}
    return changes.keys | changes.attributes | updated


def _of_converted(node: ast.expr) -> ast.expr:
    """``config`` of ``float(config.get("lr"))``."""
    while isinstance(node, ast.Call):
        node = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else node.func
    return node


def _is_called(name: str, root: str, scope: Scope, names: Names) -> bool:
    """May a name be the mapping that is called `root`: the same name, or a parameter that is given it?"""
    if name == root:
        return True
    function = scope.node
    if scope.names.get(name) != [None] or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return any(
        isinstance(given, ast.Name) and given.id == root
        for call in names.calls_by_name.get(function.name, ())
        for given in (*call.args, *(word.value for word in call.keywords))
    )


# Classes and their objects


def _attribute(owner: ast.expr, key: str, names: Names, scope: Scope, depth: int) -> Source | None:
    """A field of a class of the project, of an object of one, or of a namespace."""
    made = _made(owner, names, scope, depth)
    if made is None:
        return None
    defined: ast.AST | None = None
    call: ast.Call | None = None
    found: Source | None = None
    match made.node:
        case ast.Dict():  # in a namespace: an attribute of a mapping itself has no value here
            found = _entry(made, key)
        case ast.Call(func=called) if _NAMESPACES.intersection(made.names.resolve(called, made.scope)):
            found = _in_namespace(made, key)
        case ast.Call(func=called):
            call = made.node
            of_class = made.names.definition(called, made.scope)
            defined = None if of_class is None else of_class[1]
        case ast.Name() | ast.Attribute():
            of_class = made.names.definition(made.node, made.scope)
            defined = None if of_class is None else of_class[1]
    if isinstance(defined, ast.ClassDef) and of_class is not None:
        found = _field(defined, key, of_class[0], of_class[2], call, made)
    if found is None or any(_is_attribute_set(_root(owner), key, one) for one in {names, made.names, found.names}):
        return None
    return found


def _own(key: str, names: Names, scope: Scope) -> Source | None:
    """What ``self.key`` is, if the constructor of the class sets it and nothing else does."""
    within = scope.around_class
    if within is None or not isinstance(within.node, ast.ClassDef):
        return None
    constructor = _method(within.node, "__init__")
    values = within.attributes.get(key, [])
    if constructor is None or len(values) != 1 or _is_attribute_set("self", key, names):
        return None
    value = _set_at_once(values[0], constructor)
    return None if value is None else Source(value, names, names.scopes[constructor], f"self.{key} = {{}}")


def _set_at_once(value: object, constructor: ast.FunctionDef) -> ast.expr | None:
    """A value that each way through a constructor gives an attribute."""
    plain = (one.value for one in constructor.body if isinstance(one, (ast.Assign, ast.AnnAssign)))
    return next((one for one in plain if one is value), None)


def _in_namespace(made: Source, key: str) -> Source | None:
    match made.node:
        case ast.Call(args=[ast.Dict() as mapping], keywords=[]):
            return _entry(made._replace(node=mapping), key)
        case ast.Call(args=[], keywords=words) if all(word.arg is not None for word in words):
            value = next((word.value for word in words if word.arg == key), None)
            return None if value is None else made._replace(node=value, spelling=f"{key}={{}}")
    return None


def _field(
    own: ast.ClassDef, key: str, names: Names, scope: Scope, call: ast.Call | None, made: Source, depth: int = 0
) -> Source | None:
    """A field of a class, as the call that makes an object of it gives it, or its default."""
    written = (one.func if isinstance(one, ast.Call) else one for one in own.decorator_list)
    decorators = [names.resolve(one, scope) for one in written]
    if not _are_plain(own.bases, names, scope, depth):
        return None
    if depth >= _DEEPEST or own.keywords or any(len(one) != 1 or one[0] not in _DECORATORS for one in decorators):
        return None
    constructor = _method(own, "__init__")
    values = [value for name, value in _assigned(own) if name == key]
    if constructor is not None and not values:
        return _of_constructor(own, constructor, key, names, scope, call, made)
    if names.scopes[own].attributes.get(key):
        return None
    if call is not None:
        given = next((word.value for word in call.keywords if word.arg == key), None)
        if given is not None:
            return made._replace(node=given, spelling=f"{key}={{}}")
        if call.args or any(word.arg is None for word in call.keywords):
            return None
    if len(values) == 1:
        value = _default(values[0], names, scope)
        return None if value is None else Source(value, names, names.scopes[own], f"{key} = {{}}")
    for base in own.bases if not values else ():
        defined = names.definition(base, scope)
        if defined is not None and isinstance(defined[1], ast.ClassDef):
            found = _field(defined[1], key, defined[0], defined[2], call, made, depth + 1)
            if found is not None:
                return found
    return None


def _are_plain(bases: list[ast.expr], names: Names, scope: Scope, depth: int) -> bool:
    """Does a class derive from nothing that fills its fields? Of one of the project that is asked again."""
    for base in bases:
        if isinstance(base, ast.Name) and base.id == "object":
            continue
        defined = names.definition(base, scope) if depth < _DEEPEST else None
        if defined is None and _BASES.isdisjoint(names.resolve(base, scope)):
            return False
        if defined is not None and not (
            isinstance(defined[1], ast.ClassDef) and _are_plain(defined[1].bases, defined[0], defined[2], depth + 1)
        ):
            return False
    return True


def _of_constructor(
    own: ast.ClassDef,
    constructor: ast.FunctionDef,
    key: str,
    names: Names,
    scope: Scope,
    call: ast.Call | None,
    made: Source,
) -> Source | None:
    """What the constructor alone sets: ``self.steps = 8``, or what it is given."""
    values = names.scopes[own].attributes.get(key, [])
    value = _set_at_once(values[0], constructor) if len(values) == 1 else None
    if call is None or own.bases or value is None:
        return None
    inner = names.scopes[constructor]
    if isinstance(value, ast.Name) and inner.names.get(value.id) == [None]:
        if made.names is not names:
            return None
        return _parameter(value.id, constructor.args, call, names, scope, bound=1)
    return Source(value, names, inner, f"self.{key} = {{}}")


def _method(own: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((one for one in own.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def _assigned(own: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """The names that the body of a class binds, with what they are bound to; in a branch to what cannot be read."""
    for statement in own.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, ast.Constant(value=...)
            case ast.AnnAssign() | ast.Expr() | ast.Pass():
                continue
            case _:
                for inner in ast.walk(statement):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, ast.Constant(value=...)


def _default(value: ast.expr, names: Names, scope: Scope) -> ast.expr | None:
    """The default of a field: ``8``, ``field(default=8)``; None where it is made anew for each object."""
    match value:
        case ast.Constant(value=written) if written is ...:
            return None
        case ast.Call(func=called, args=given, keywords=words) if _FIELDS.intersection(names.resolve(called, scope)):
            return next((word.value for word in words if word.arg == "default"), given[0] if given else None)
    return value


def _is_attribute_set(root: str, key: str, names: Names) -> bool:
    """May a statement of the file set an attribute of that name, of another object than the one whose method it is?"""
    changes = _changes(names)
    return changes.any_attribute or key in changes.attributes or root in changes.handed


# What an expression stands for


def _made(node: ast.expr, names: Names, scope: Scope, depth: int) -> Source | None:
    """The mapping, the call or the class that an expression stands for."""
    found = Source(node, names, scope, None)
    for _ in range(_DEEPEST):
        match found.node:
            case ast.Call(func=ast.Name() | ast.Attribute()) if not _is_get(found.node):
                further = returned(found.node, found.names, found.scope)
                if further is None:
                    return found
            case ast.Dict():
                return found
            case ast.Name(id=name):
                bound = found.names.bindings(name, found.scope)
                if bound is None or len(bound[0]) != 1:
                    return None
                value = bound[0][0]
                if isinstance(value, ast.ClassDef):
                    return found
                if isinstance(value, ast.expr):
                    found = found._replace(node=value, scope=bound[1])
                    continue
                further = _imported(found) if value is not None else source_of(found.node, found.names, found.scope)
            case ast.Subscript() | ast.Attribute() | ast.Call():
                further = source_of(found.node, found.names, found.scope, depth + 1) or _imported(found)
            case _:
                return None
        if further is None:
            return None
        if further.node is found.node:
            return found
        found = further
    return None


def _is_get(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"


def returned(call: ast.Call, names: Names, scope: Scope) -> Source | None:
    """What a function of the project returns that has one way to its end."""
    defined = names.definition(call.func, scope)
    if defined is None or not isinstance(defined[1], ast.FunctionDef) or defined[1].decorator_list:
        return None
    known = defined[0].returns
    if defined[1] not in known:
        known[defined[1]] = _only_return(defined[1])
    value = known[defined[1]]
    return None if value is None else Source(value, defined[0], defined[0].scopes[defined[1]], None)


def _only_return(function: ast.FunctionDef) -> ast.expr | None:
    found = [one for one in function.body if isinstance(one, ast.Return)]
    if len(found) != 1 or sum(isinstance(one, ast.Return) for one in nodes_in(function)) > 1:
        return None
    return found[0].value


def handed(node: ast.AST, inside: Scope, call: ast.Call, names: Names) -> ast.expr | None:
    """What a call gives for a parameter of the function that it calls, or its literal default; None of all else."""
    defined = names.definition(call.func, names.scope_of(call))
    if not isinstance(node, ast.Name) or defined is None or inside.names.get(node.id) != [None]:
        return None
    owner, function, within = defined
    if not isinstance(function, ast.FunctionDef) or owner.scopes[function] is not inside:
        return None
    given = _parameter(node.id, function.args, call, names, within)
    return None if given is None or (given.scope is within and not isinstance(given.node, ast.Constant)) else given.node


def _imported(found: Source) -> Source | None:
    """A class or an object of another module of the project, which binds its name once."""
    if found.names.definition(found.node, found.scope) is not None:
        return found
    bound = found.names.exported(found.node, found.scope)
    return None if bound is None else Source(bound[1], bound[0], bound[0].module, None)
