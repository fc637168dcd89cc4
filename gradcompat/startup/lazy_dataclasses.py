"""Dataclasses with slots whose ``__init__`` is compiled for many instances: of 90, a check makes so many of a dozen.

:func:`dataclasses.dataclass` compiles six functions for each class, half a millisecond in all, and takes six to import.
Modules that a check imports declare their classes with this one, others with the standard library's. Type
checkers see the standard library's in both cases, and so do :func:`dataclasses.replace` and the like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import MISSING, dataclass, field, fields, replace

    __all__ = ["MISSING", "dataclass", "field", "fields", "replace"]
else:
    MISSING = object()

    def field(**ways: Any) -> _Field:
        """What :func:`dataclasses.field` takes, but for ``hash`` and ``metadata``."""
        return _Field(**ways)

    def fields(cls: type) -> tuple[_Field, ...]:
        """The fields of such a class, each with its ``name`` and its ``default``, which may be :data:`MISSING`."""
        return tuple(cls.__lazy_fields__.values())

    def dataclass(
        *, slots: bool, frozen: bool = False, kw_only: bool = False, eq: bool = True
    ) -> Callable[[type], type]:
        """What :func:`dataclasses.dataclass` makes with these options; ``slots`` has to be true."""
        if not slots:
            raise TypeError("a lazy dataclass has slots")
        return lambda cls: _made(cls, _Options(frozen, kw_only, eq))

    def replace(one: Any, /, **changes: Any) -> Any:
        """The same as :func:`dataclasses.replace`, for dataclasses of both kinds."""
        declared = getattr(type(one), "__lazy_fields__", None)
        if declared is None:
            import dataclasses

            return dataclasses.replace(one, **changes)
        for name, what in declared.items():
            if what.init and name not in changes:
                changes[name] = getattr(one, name)
        return type(one)(**changes)


class _Field:
    __slots__ = ("compare", "default", "default_factory", "init", "kind", "name", "repr")

    def __init__(
        self,
        *,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        init: bool = True,
        repr: bool = True,  # noqa: A002  # as in the standard library
        compare: bool = True,
    ) -> None:
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare

    def named(self, name: str, kind: Any) -> _Field:
        """The same field, now that its class is known."""
        self.name, self.kind = name, kind
        return self


class _Options:
    __slots__ = ("eq", "frozen", "kw_only")

    def __init__(self, frozen: bool, kw_only: bool, eq: bool) -> None:
        self.frozen, self.kw_only, self.eq = frozen, kw_only, eq


class _StandardFields:
    """``__dataclass_fields__``, made by the standard library when it asks."""

    def __get__(self, _instance: object, cls: type[Any]) -> dict[str, Any]:
        if "_standard_fields" not in vars(cls):
            import dataclasses

            declared = [(one.name, one.kind, _standard_field(one, cls)) for one in cls.__lazy_fields__.values()]
            cls._standard_fields = vars(dataclasses.make_dataclass(cls.__name__, declared))["__dataclass_fields__"]
        found: dict[str, Any] = cls._standard_fields
        return found


def _standard_field(declared: _Field, cls: type[Any]) -> Any:
    from dataclasses import field

    made = field(
        init=declared.init,
        repr=declared.repr,
        compare=declared.compare,
        kw_only=cls.__dataclass_params__.kw_only,
    )
    for way in ("default", "default_factory"):
        if (value := getattr(declared, way)) is not MISSING:
            setattr(made, way, value)
    return made


def _made(cls: type[Any], options: _Options) -> type[Any]:
    """The class again, with slots for its fields and the methods of a dataclass."""
    namespace = dict(vars(cls))
    own: dict[str, _Field] = {}
    for name, kind in cls.__annotations__.items():
        value = namespace.pop(name, MISSING)
        own[name] = (value if isinstance(value, _Field) else _Field(default=value)).named(name, kind)
    inherited: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("__lazy_fields__", {})
    declared = inherited | own
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace |= {
        "__slots__": tuple(name for name in own if name not in inherited),
        "__match_args__": () if options.kw_only else tuple(name for name, one in declared.items() if one.init),
        "__dataclass_fields__": _StandardFields(),
        "__dataclass_params__": options,
        "__lazy_fields__": declared,
    }
    for name, method in _methods(declared, options).items():
        if namespace.get(name) is None:  # beside an `__eq__`, Python itself sets `__hash__` to None
            namespace[name] = method
    made: type[Any] = type(cls)(cls.__name__, cls.__bases__, namespace)  # type: ignore[misc]
    made.__qualname__ = cls.__qualname__
    made.__annotations__ = cls.__annotations__
    if "__init__" not in namespace:
        made.__init__ = _lazy_init(made)
    return made


def _methods(declared: dict[str, _Field], options: _Options) -> dict[str, Any]:
    compared = _values([name for name, one in declared.items() if one.compare])
    kept = _values(list(declared))
    shown = [name for name, one in declared.items() if one.repr]

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807  # as tracebacks have it
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    made: dict[str, Any] = {"__repr__": __repr__}
    if options.eq:
        made |= {"__eq__": __eq__, "__hash__": (lambda self: hash(compared(self))) if options.frozen else None}
    if not options.frozen:
        return made
    return made | {
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__getstate__": lambda self: kept(self),  # noqa: PLW0108  # attrgetter is no method
        "__setstate__": _restore,
    }


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    value = attrgetter(*names)
    return lambda one: (value(one),)


def _refuse(_self: object, name: str, *_value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _restore(self: Any, state: tuple[Any, ...]) -> None:
    for name, value in zip(type(self).__lazy_fields__, state, strict=True):
        object.__setattr__(self, name, value)


_UNCOMPILED = 50  # instances of a class that cost less to make one by one than what makes them costs to compile


def _lazy_init(cls: type[Any]) -> Callable[..., None]:
    left = _UNCOMPILED
    setters: list[tuple[str | None, Callable[[Any, Any], None], Any, Any]] = []
    positional = cls.__match_args__
    follows = hasattr(cls, "__post_init__")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        nonlocal left
        left -= 1
        if not setters:
            setters.extend(_setters(cls))
        given: dict[Any, Any] = {**dict(zip(positional, args, strict=False)), **kwargs} if args else kwargs.copy()
        whole = left >= 0 and len(given) == len(args) + len(kwargs)
        for name, put, default, factory in setters if whole else ():
            value = given.pop(name, default)
            if value is MISSING:
                if factory is MISSING:
                    whole = False
                    break
                value = factory()
            put(self, value)
        if not whole or given:  # many instances; or the arguments are wrong, which the compiled one tells best
            cls.__init__ = _compiled_init(cls)
            cls.__init__(self, *args, **kwargs)
        elif follows:
            self.__post_init__()

    return __init__


def _setters(cls: type[Any]) -> Iterator[tuple[str | None, Callable[[Any, Any], None], Any, Any]]:
    """For each field that a new instance has a value of: its name, if it is an argument, what sets it, its defaults."""
    for name, one in cls.__lazy_fields__.items():
        if one.init or one.default is not MISSING or one.default_factory is not MISSING:
            yield name if one.init else None, getattr(cls, name).__set__, one.default, one.default_factory


def _compiled_init(cls: type[Any]) -> Callable[..., None]:
    parameters: list[str] = []
    body: list[str] = []
    scope: dict[str, Any] = {"MISSING": MISSING}
    options: _Options = cls.__dataclass_params__
    for name, one in cls.__lazy_fields__.items():
        if one.default_factory is not MISSING:
            scope[f"new_{name}"] = one.default_factory
            value = f"new_{name}() if {name} is MISSING else {name}" if one.init else f"new_{name}()"
            parameter = f"{name}=MISSING"
        elif one.default is not MISSING:
            scope[f"default_{name}"] = one.default
            value, parameter = name if one.init else f"default_{name}", f"{name}=default_{name}"
        elif one.init:
            value = parameter = name
        else:
            continue  # `__post_init__` sets it
        if one.init:
            parameters.append(parameter)
        if options.frozen:
            scope[f"set_{name}"] = getattr(cls, name).__set__
            body.append(f"set_{name}(self, {value})")
        else:
            body.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    first = ["self", "*"] if options.kw_only and parameters else ["self"]
    source = f"def __init__({', '.join([*first, *parameters])}):\n " + "\n ".join(body or ["pass"])
    exec(source, scope)  # noqa: S102  # made of the names of fields alone
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init
