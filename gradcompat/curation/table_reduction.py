"""What a table can do without: names of edges, and what no public module of a package leads to.

It is taken out of a finished table, so that one is reduced the same whether it was read at once or extended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradcompat.releases.imported import UNSAID
from gradcompat.releases.runs import Value
from gradcompat.releases.table import BINARY, EXISTS, INNER, LAZY, OLD_PATHS, OPEN, PACKAGE, target_of

Spans = list[tuple[int, int, Value]]
"""First release, the one behind the last, and the value."""
Lines = Mapping[str, dict[str, dict[str, Spans]]]
"""Section → module → key → its values."""
Symbol = tuple[str, str]
"""A module and a name in it."""

# Packages that are internal for the most part, and larger than all that anybody imports from: modules with a `_` in
# front, and those below these.
_INTERNAL: Mapping[str, tuple[str, ...]] = {
    "jax": (),
    "torch": (),
    "vllm": tuple(
        f"vllm.{name}"
        for name in (
            *("attention", "benchmarks", "compilation", "core", "distributed.ec_transfer", "distributed.kv_transfer"),
            *("entrypoints", "executor", "ir", "kernels", "lora.layers", "lora.ops", "model_executor", "models"),
            *("multimodal", "parser", "platforms", "profiler", "reasoning", "renderers", "spec_decode", "third_party"),
            *("tokenizers", "tool_parsers", "transformers_utils", "triton_utils", "v1", "vllm_flash_attn", "worker"),
        )
    ),
}
# Large packages whose `__init__` modules export what is public: of other classes a table says that they are there.
_EXPORTING = frozenset({*_INTERNAL, "diffusers", "keras", "transformers"})
# Of packages that bring more than their library, an application or modules of the build, those that are the library.
_LIBRARIES: Mapping[str, frozenset[str]] = {
    "axolotl": frozenset({"axolotl"}),
    "torch": frozenset({"functorch", "torch", "torchgen"}),
    "unsloth": frozenset({"unsloth"}),
}
PRIVATE = "private"
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__call__", "__post_init__"})


def reduce_lines(package: str, lines: Lines) -> None:
    """Take out what no answer needs.

    * An import within the package is written as the modules that it executes, and one of another package as a whole
      without its line.
    * Methods stay with the classes that a package's ``__init__`` leads to, and with what those inherit from; of others
      only the constructor stays, and of large packages that export what is public not even that.
    * Of a package that is mostly internal, those modules keep what public ones lead to. Their other names are unknown.

    Args:
        package: its normalised name.
        lines: of its table; changed in place.
    """
    _with_modules_as_edges(lines)
    internal = _INTERNAL.get(package)
    if internal is not None:
        _without_internal_names(lines, internal)
    _without_inner_methods(lines, constructors=package not in _EXPORTING)


def _with_modules_as_edges(lines: Lines) -> None:
    """Write each import within the package as those of the modules that it executes.

    What a lazy name executes is looked up here, once, and not whenever an import is followed. A module above one that
    is imported is executed anyway.
    """
    names = lines["names"]
    for importing, line in lines["needs"].items():
        executed: dict[str, Spans] = {}
        for key in [key for key, spans in line.items() if any(not value for _, _, value in spans)]:
            module, _, name = key.partition(":")
            spans = line.pop(key)
            if rest := [span for span in spans if span[2]]:
                line[key] = rest
            for start, end in ((start, end) for start, end, value in spans if not value):
                for one, low, high in _executed(names, module, name, start, end):
                    if not f"{importing}.".startswith(f"{one}."):
                        executed.setdefault(one, []).append((low, high, 0))
        for key, spans in line.items():
            # A package that is there has its module at the top, and nobody asks where it is imported.
            if key.endswith(":") and "." not in key:
                line[key] = _united((start, end, UNSAID) for start, end, _ in spans)
        united = {one: _united(spans) for one, spans in executed.items()}
        for one, spans in united.items():
            below = [
                (low, high) for other, some in united.items() if other.startswith(f"{one}.") for low, high, _ in some
            ]
            if any(list(_rest(low, high, list(_common(low, high, below)))) for low, high, _ in spans):
                line[f"{one}:"] = _united([*line.get(f"{one}:", ()), *spans])


def _executed(
    names: Mapping[str, Mapping[str, Spans]], module: str, name: str, start: int, end: int
) -> Iterator[tuple[str, int, int]]:
    """The modules that an import executes in some releases, without those above them, and in which of these."""
    seen: set[tuple[str, str, int, int]] = set()
    waiting = [(module, name, start, end)]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        module, name, start, end = one
        yield module, start, end
        if name in ("", "*"):
            continue
        bound: list[tuple[int, int]] = []
        for low, high, value in names.get(module, {}).get(name, ()):
            behind = target_of(value, name) if isinstance(value, str) else None
            inner, outer = max(start, low), min(end, high)
            # A name that a module imports from itself is its submodule.
            if inner >= outer or behind == (module, name):
                continue
            bound.append((inner, outer))
            if behind is not None and str(value).startswith(LAZY):
                waiting.append((*behind, inner, outer))
        submodule = f"{module}.{name}"
        existing = [(low, high) for low, high, _ in names.get(submodule, {}).get(EXISTS, ())]
        for low, high in _rest(start, end, sorted(bound)):
            waiting += [(submodule, "", inner, outer) for inner, outer in _common(low, high, existing)]


def library_modules(package: str, tops: Iterable[str]) -> set[str]:
    """The modules at the top of a package that are of its library."""
    return set(tops) & _LIBRARIES[package] if package in _LIBRARIES else set(tops)


def _without_internal_names(lines: Lines, internal: tuple[str, ...]) -> None:
    names, classes = lines["names"], lines["classes"]
    below = tuple(f"{module}." for module in internal)
    private = {one for one in names if _is_private(one) or one in internal or one.startswith(below)}
    public = [module for module in names if module not in private]
    start = [(module, name) for module in public for name in (*names[module], *classes.get(module, ()))]
    kept = _led_to(lines, start)
    for module, line in names.items():
        if module not in private or any(value == BINARY for _, _, value in line.get(EXISTS, ())):
            continue
        inherited = {
            base.partition(".")[0]
            for name, spans in classes.get(module, {}).items()
            if (module, name) in kept
            for base in _bases(spans)
        }
        for name in line.keys() - inherited - {EXISTS, OLD_PATHS}:
            if (module, name) not in kept:
                del line[name]
        line[OPEN] = [(start, end, PRIVATE) for start, end, _ in line.get(EXISTS, ())]
        for section in ("signatures", "classes"):
            found = lines[section].get(module, {})
            for key in [key for key in found if (module, key.partition(".")[0]) not in kept]:
                del found[key]


def _without_inner_methods(lines: Lines, *, constructors: bool) -> None:
    names, classes = lines["names"], lines["classes"]
    start = [
        (module, name)
        for module, line in names.items()
        if not _is_private(module) and any(value == PACKAGE for _, _, value in line.get(EXISTS, ()))
        for name in (*line, *classes.get(module, ()))
    ]
    kept = _led_to(lines, start)
    for module, line in lines["signatures"].items():
        for key in list(line):
            owner, _, method = key.partition(".")
            inner = method and (module, owner) not in kept
            if inner and not (constructors and method in _CONSTRUCTORS):
                del line[key]
    for module, by_name in classes.items():
        for name in [name for name in by_name if (module, name) not in kept]:
            if constructors:
                by_name[name] = [(start, end, _inner(str(text))) for start, end, text in by_name[name]]
            else:
                del by_name[name]


def _inner(text: str) -> str:
    """A class as one whose methods are not there: those of its bases are not its own."""
    kind, _, rest = text.partition("\n")
    return text if kind.startswith(INNER) else f"{INNER}{kind}\n{rest}"


def _led_to(lines: Lines, start: Iterable[Symbol]) -> set[Symbol]:
    """The names that some names lead to: through re-exports, and from a class to what it inherits from."""
    names, classes = lines["names"], lines["classes"]
    found: set[Symbol] = set()
    waiting = list(start)
    while waiting:
        symbol = waiting.pop()
        if symbol in found:
            continue
        found.add(symbol)
        module, name = symbol
        waiting += _targets(names, module, name)
        for base in _bases(classes.get(module, {}).get(name, ())):
            first, *rest = base.split(".")
            waiting.append((module, first))
            if rest:
                waiting += [
                    (".".join(part for part in (*target, *rest[:-1]) if part), rest[-1])
                    for target in _targets(names, module, first)
                ]
    return found


def _targets(names: Mapping[str, Mapping[str, Spans]], module: str, name: str) -> Iterator[Symbol]:
    for _, _, value in names.get(module, {}).get(name, ()):
        target = target_of(value, name) if isinstance(value, str) else None
        if target is not None:
            yield target


def _bases(spans: Iterable[tuple[int, int, Value]]) -> set[str]:
    return {base for _, _, text in spans for base in str(text).split("\n")[1].split()}


def _is_private(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))


def _common(start: int, end: int, others: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of a stretch that are in one of some others, in their order."""
    for low, high in sorted(others):
        inner, outer = max(start, low), min(end, high)
        if inner < outer:
            yield inner, outer


def _rest(start: int, end: int, inside: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of a stretch that are in none of those inside of it."""
    for low, high in inside:
        if start < low:
            yield start, low
        start = high
    if start < end:
        yield start, end


def _united(spans: Iterable[tuple[int, int, Value]]) -> Spans:
    """Stretches of one value as those that do not overlap."""
    found: Spans = []
    for start, end, value in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]), value)
        else:
            found.append((start, end, value))
    return found
