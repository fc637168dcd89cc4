"""In which order a program calls the methods of a stream (``datasets.IterableDataset``), where that decides.

``interleave_datasets([a.shuffle(seed=1), b])`` mixes streams that were shuffled before; where the mix is shuffled as
well, that says nothing. ``split_dataset_by_node`` may stand before a mixture, a skip or another split, or behind a
mixture. ``stream.shuffle().map(f)`` maps what was shuffled. ``stream.map(f).skip(n)`` passes over samples and no
longer over tables of them. ``DataLoader(interleave_datasets(streams, probabilities=p))`` draws the sources of streams.
What a mixture or a step is of says what it cannot have: tables, streams of one shard, streams that are read row by row.
``table.shuffle().filter(f)`` filters rows of a table that were chosen before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from gradcompat.scanners.code.names import Names, Scope
from gradcompat.scanners.code.object_history import called_name, calls_behind
from gradcompat.scanners.code.regions import end, start
from gradcompat.scanners.code.syntax import argument_of
from gradcompat.startup.lazy_patterns import lazy_pattern

_MIXING = frozenset({"interleave_datasets", "concatenate_datasets"})
_SPLIT = "split_dataset_by_node"
_LOADERS = frozenset({"DataLoader", "StatefulDataLoader"})
_CHANGING = frozenset({"map", "filter"})
_BY_SAMPLES = _CHANGING | {"remove_columns", "rename_column", "rename_columns"}
# What leaves a table as it is and says which of its rows count, and what writes these into a new one.
_CHOOSING = frozenset({"shuffle", "select", "filter", "sort", "shard", "train_test_split", "interleave_datasets"})
_OF_CHOSEN = ("of_chosen", "of_chosen_table")
_WRITING = frozenset({"map", "flatten_indices", "cast", "class_encode_column"})
_WITH_START = 2  # arguments of range(0, n)
# Formats whose files are read row by row, and data sets of the hub that are such files.
_ROWS = frozenset({"json", "csv", "text", "allenai/c4", "c4"})
_ONE_FILE = lazy_pattern(r"[^*?\[\]{}]*\.(?:csv|json|jsonl|parquet|txt)(?:\.gz|\.zst)?")


def manners_of_stream(call: ast.Call, called: str, names: Names, scope: Scope) -> Iterator[tuple[str, ast.Call]]:
    """The words behind the name of a function or method of `datasets` that is called late: on what was done before.

    Each comes with the call that makes it so, if one does by itself, and with the late one otherwise.

    Args:
        call: the call.
        called: what is called, by its full name, or the bare name of the method.
    """
    for word in _words(call, called, names, scope):
        choosing = _choosing(call, names, scope) if word in _OF_CHOSEN else [call]
        yield from ((word, one) for one in choosing)


def _words(call: ast.Call, called: str, names: Names, scope: Scope) -> Iterator[str]:
    last = called.rpartition(".")[2]
    if last in _MIXING:
        given = [*call.args[:1], *(word.value for word in call.keywords if word.arg in ("datasets", "dsets"))]
        calls = [call for one in given for call in calls_behind(one, names, scope)]
        steps = set(map(called_name, calls))
        tables = any(map(_makes_table, calls)) and not any(map(_makes_stream, calls))
        if "shuffle" in steps and not tables:
            yield "of_shuffled"
        if tables:
            yield "of_tables"
        elif _is_one_shard(calls):
            yield "of_one_shard"
        if _SPLIT in steps and not any(map(_makes_table, calls)):
            yield from _split_of(calls)
    elif last == _SPLIT:
        shared = argument_of(call, "dataset", 0)
        behind = calls_behind(shared, names, scope) if shared is not None else ()
        calls = [one for one in behind if not _stand_apart(one, call, names)]
        if _MIXING & set(map(called_name, calls)):
            yield "of_mix"
        elif any(called_name(one) == _SPLIT and not _is_single(one) for one in calls):
            yield from _split_of(calls)
        if "map" in _steps_of_stream(calls):
            yield "of_mapped"
        elif any(map(_makes_table, calls)) and not any(map(_makes_stream, calls)):
            yield "of_table"
    elif last == "shuffle" and isinstance(call.func, ast.Attribute):
        if _MIXING & _steps(call.func.value, names, scope):
            yield "of_mix"
    elif last == "skip" and isinstance(call.func, ast.Attribute):
        calls = list(calls_behind(call.func.value, names, scope))
        if _SPLIT in map(called_name, calls) and not _is_one_shard(calls):
            yield "of_split"
        if _BY_SAMPLES & _steps_of_stream(calls):
            yield "of_mapped"
    elif last in _BY_SAMPLES and isinstance(call.func, ast.Attribute):
        calls = list(calls_behind(call.func.value, names, scope))
        if last in _CHANGING:
            yield from _changed_behind(calls)
        if last == "filter" and _choosing(call, names, scope):
            yield _OF_CHOSEN[0]
            if any(map(_makes_table, calls)):
                yield _OF_CHOSEN[1]
        sources = [one for one in calls if _makes_stream(one)]
        if sources and all(map(_makes_rows, sources)):
            yield "of_rows"
    elif last in _LOADERS and _draws_streams(call, names, scope):
        yield "of_drawn_streams"


def _changed_behind(calls: Sequence[ast.Call]) -> Iterator[str]:
    """What a stream went through since it is one; a table that was shuffled before says nothing."""
    steps = _steps_of_stream(calls)
    if "shuffle" in steps:
        yield "of_shuffled"
    elif "with_format" in steps:
        yield "of_formatted"


def _choosing(call: ast.Call, names: Names, scope: Scope) -> list[ast.Call]:
    """The calls that choose rows of the table of a method, or put them in another order, if none writes them anew."""
    calls = list(calls_behind(call.func.value, names, scope)) if isinstance(call.func, ast.Attribute) else []
    if any(map(_makes_stream, calls)):
        return []
    since = takewhile(lambda one: called_name(one) not in _WRITING, calls)
    return [one for one in since if called_name(one) in _CHOOSING and not _takes_first_rows(one, names, scope)]


def _takes_first_rows(call: ast.Call, names: Names, scope: Scope) -> bool:
    """``select(range(1000))``, ``train_test_split(shuffle=False)``: of the first rows each has the number it had."""
    match called_name(call):
        case "select":
            chosen = argument_of(call, "indices", 0)
            made = calls_behind(chosen, names, scope) if chosen is not None else ()
            first = next((one for one in made if called_name(one) not in ("list", "tuple")), None)
            return first is not None and called_name(first) in ("range", "arange") and _counts_from_zero(first)
        case "train_test_split":
            shuffled = argument_of(call, "shuffle", 2)
            return isinstance(shuffled, ast.Constant) and shuffled.value is False
    return False


def _counts_from_zero(call: ast.Call) -> bool:
    """``range(n)``, ``range(0, n)``."""
    first = call.args[0] if len(call.args) == _WITH_START else None
    return len(call.args) == 1 or (isinstance(first, ast.Constant) and first.value == 0)


def _steps_of_stream(calls: Sequence[ast.Call]) -> set[str]:
    """The methods that a stream went through since it is one."""
    made = next((place for place, call in enumerate(calls) if _makes_stream(call)), 0)
    return set(map(called_name, calls[:made]))


def _is_one_shard(calls: Iterable[ast.Call]) -> bool:
    """Streams that certainly have one shard each: of one generator, of a table, of one file.

    Of such a one each process takes its share of the samples, and not of the shards.
    """
    sources = [call for call in calls if _makes_stream(call)]
    return bool(sources) and all(map(_makes_one_shard, sources))


def _makes_one_shard(call: ast.Call) -> bool:
    if called_name(call) != "load_dataset":
        return not _streams_shards(call)
    files = argument_of(call, "data_files", 3)
    name = files.value if isinstance(files, ast.Constant) else None
    return isinstance(name, str) and _ONE_FILE.fullmatch(name) is not None


def _split_of(calls: Iterable[ast.Call]) -> Iterator[str]:
    """That something was split before, and where it certainly is a stream, that a stream was."""
    yield "of_split"
    if any(map(_makes_stream, calls)):
        yield "of_split_stream"


def _is_single(split: ast.Call) -> bool:
    """A split into one part, which is the whole."""
    size = argument_of(split, "world_size", 2)
    return isinstance(size, ast.Constant) and size.value == 1


def _stand_apart(first: ast.Call, second: ast.Call, names: Names) -> bool:
    """Is one of two calls under an ``if`` and the other one under its ``else``?"""
    for node in names.nodes(ast.If):
        if node.orelse:
            other = start(node.orelse[0])
            inside = [start(node.body[0]) <= start(one) < end(node) for one in (first, second)]
            if all(inside) and (start(first) < other) != (start(second) < other):
                return True
    return False


def _makes_table(call: ast.Call) -> bool:
    """``load_dataset("a")``, which streams nothing; a table of what a stream has given."""
    match called_name(call):
        case "load_dataset":
            return all(word.arg is not None for word in call.keywords) and not _told(call, "streaming", 14)
        case "from_list" | "from_dict" | "from_pandas":
            return True
    return False


def _makes_stream(call: ast.Call) -> bool:
    match called_name(call):
        case "load_dataset":
            return _told(call, "streaming", 14)
        case "to_iterable_dataset":
            return True
        case "from_generator":
            return "IterableDataset" in ast.unparse(call.func)
    return False


def _makes_rows(call: ast.Call) -> bool:
    """A stream that comes row by row, and not by tables of Arrow."""
    if called_name(call) != "load_dataset":
        return called_name(call) == "from_generator"
    path = argument_of(call, "path", 0)
    return isinstance(path, ast.Constant) and path.value in _ROWS


def _draws_streams(loader: ast.Call, names: Names, scope: Scope) -> bool:
    """Does a loader hand out a mixture by probabilities of streams that have several shards, as far as it shows?"""
    given = [*loader.args[:1], *(word.value for word in loader.keywords if word.arg == "dataset")]
    calls = [call for one in given for call in calls_behind(one, names, scope)]
    drawn = any(called_name(call) == "interleave_datasets" and _told(call, "probabilities", 1) for call in calls)
    return drawn and any(map(_streams_shards, calls))


def _streams_shards(call: ast.Call) -> bool:
    """A stream that is no single shard, which one worker alone would read."""
    match called_name(call):
        case "load_dataset":
            return _told(call, "streaming", 14)
        case "to_iterable_dataset":
            return _told(call, "num_shards", 0, nothing=1)
        case "from_generator":  # of an IterableDataset, for a table has another way to its rows
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            return "IterableDataset" in ast.unparse(owner or call.func) and _told(call, "gen_kwargs", 2)
    return False


def _told(call: ast.Call, name: str, position: int, nothing: object = None) -> bool:
    """Is an argument given that is neither None nor False, nor another value that asks for nothing?"""
    value = argument_of(call, name, position)
    return value is not None and not (isinstance(value, ast.Constant) and value.value in (None, False, nothing))


def _steps(node: ast.AST, names: Names, scope: Scope) -> set[str]:
    return {called_name(call) for call in calls_behind(node, names, scope)}
