"""What the source of one module says, before anything is known of the modules beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, slots=True)
class Import:
    """One name of an import statement that stands outside of functions.

    Attributes:
        module: from which something is imported, absolute.
        name: what is imported from it; None for the module itself, ``*`` for everything.
        line: in the file.
        guarded: it is not certain that it is executed, or that a failure of it gets out.
    """

    module: str
    name: str | None
    line: int
    guarded: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a name that a module binds comes from.

    Attributes:
        module: absolute.
        name: in that module; empty for the module itself.
    """

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """A class, as its statement says it.

    Attributes:
        bases: dotted names, as written; ``?`` for what is none.
        kind: ``dataclass``, ``dataclass kw_only``, ``class``, ``model`` for one of pydantic and what is mixed into it;
            ``unknown`` where a decorator or a metaclass may change how it is called.
        fields: the annotated fields of its body that a dataclass would take, as parameters of :class:`ModuleFacts`; of
            a model also the aliases, and as ``key>`` what else its validators read.
    """

    bases: tuple[str, ...]
    kind: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleFacts:
    """A module as it is written.

    Attributes:
        package: it is an ``__init__``.
        own: the names that it defines.
        origins: the names that it imports.
        listed: its ``__all__``; None where there is none, or where it is not literal.
        open: why it may have names that are not seen; None where it cannot.
        lazy: names that are imported when they are asked for → the module that has them.
        whole: modules of which all public names are lazy.
        only_lazy: the module object is replaced by one that has the lazy names alone.
        structured: folders whose modules say what is lazy (``define_import_structure``), relative to its own.
        stars: modules of which everything is imported.
        imports: what is imported when the module is.
        exported: what ``define_import_structure`` takes of the module.
        raises: importing it fails in any case.
        signatures: functions and methods by qualified name. A parameter is ``name`` or ``name=default``; ``/``,
            ``*``, ``*args`` and ``**kwargs`` stand where they stand in Python; ``?`` at the end says that a decorator
            may have changed it, and ``old>new`` that the keyword was renamed.
        classes: by qualified name.
        installs: paths of modules that it may put into ``sys.modules``, absolute or below its own package.
        finder: it puts a finder on ``sys.meta_path``.
        gives: the names that it puts into other modules, as :mod:`gradcompat.curation.given_names` has them.
        models: classes with a loss, attention flags or tied weights, as :mod:`gradcompat.curation.model_reader` has
            them.
    """

    package: bool
    own: frozenset[str]
    origins: Mapping[str, Origin]
    listed: tuple[str, ...] | None = None
    open: str | None = None
    lazy: Mapping[str, str] = field(default_factory=dict)
    whole: tuple[str, ...] = ()
    only_lazy: bool = False
    structured: tuple[str, ...] = ()
    stars: tuple[str, ...] = ()
    imports: tuple[Import, ...] = ()
    exported: tuple[str, ...] = ()
    raises: bool = False
    installs: tuple[str, ...] = ()
    finder: bool = False
    gives: tuple[str, ...] = ()
    signatures: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: Mapping[str, ClassFacts] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def dumps(facts: ModuleFacts) -> bytes:
    """The facts of a module as they are kept."""
    # Everything but what differs from its default: most of it is empty in most modules.
    content = {one.name: value for one in fields(facts) if (value := getattr(facts, one.name)) or one.name in _ALWAYS}
    content["own"] = sorted(facts.own)
    content["origins"] = {name: (one.module, one.name) for name, one in facts.origins.items()}
    if facts.imports:
        content["imports"] = [(one.module, one.name, one.line, one.guarded) for one in facts.imports]
    if facts.classes:
        content["classes"] = {name: (one.bases, one.kind, one.fields) for name, one in facts.classes.items()}
    return json.dumps(content, separators=(",", ":")).encode()


def loads(content: bytes) -> ModuleFacts:
    """What :func:`dumps` made of them.

    Raises:
        ValueError: if it is something else.
    """
    try:
        found = json.loads(content)
        listed = found.get("listed")
        return ModuleFacts(
            package=found["package"],
            own=frozenset(found["own"]),
            origins={name: Origin(*parts) for name, parts in found["origins"].items()},
            listed=None if listed is None else tuple(listed),
            open=found.get("open"),
            lazy=found.get("lazy", {}),
            whole=tuple(found.get("whole", ())),
            only_lazy=found.get("only_lazy", False),
            structured=tuple(found.get("structured", ())),
            stars=tuple(found.get("stars", ())),
            imports=tuple(Import(*parts) for parts in found.get("imports", ())),
            exported=tuple(found.get("exported", ())),
            raises=found.get("raises", False),
            installs=tuple(found.get("installs", ())),
            finder=found.get("finder", False),
            gives=tuple(found.get("gives", ())),
            signatures={name: tuple(parts) for name, parts in found.get("signatures", {}).items()},
            classes={
                name: ClassFacts(tuple(bases), kind, tuple(fields))
                for name, (bases, kind, fields) in found.get("classes", {}).items()
            },
            models=found.get("models", {}),
        )
    except (KeyError, TypeError):
        raise ValueError("are no facts of a module") from None


_ALWAYS = frozenset({"package", "own", "origins", "listed"})
