"""What the data loaders and streams of a whole program come to: batches, workers, order, repetitions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from gradcompat.model.environment import Location, Setting
from gradcompat.scanners.code.arguments import Argument, unpacked
from gradcompat.scanners.code.calls import LOADER, LOADERS, STATEFUL_LOADERS
from gradcompat.scanners.code.config_lookups import lookup
from gradcompat.scanners.code.findings import Called, Findings
from gradcompat.scanners.code.names import UNKNOWN, Names
from gradcompat.scanners.code.object_history import called_name
from gradcompat.scanners.code.option_defaults import option_behind
from gradcompat.scanners.code.own_loops import read_epochs
from gradcompat.scanners.code.walk import Step

# Who trains in a loop of the program's own, or in one that recomputes nothing by itself.
LOOPS_OF_ITS_OWN = ("torch", "accelerate", "lightning")
# MONAI's takes the workers before all else behind its dataset.
_OF_MONAI = frozenset({"monai.data.DataLoader", "monai.data.dataloader.DataLoader"})
_LOADERS = frozenset({"torch.utils.data.DataLoader", *STATEFUL_LOADERS, *_OF_MONAI})
_BEFORE_SHUFFLE = 2  # dataset and batch_size
_BEFORE_WORKERS = 5  # dataset, batch_size, shuffle, sampler and batch_sampler come before num_workers


def streamed(found: Findings) -> None:
    """A stream comes in its own order where the program, all of which was read, shuffles nothing, and as a whole where
    it filters nothing.

    Trainers and data loaders shuffle no stream themselves.
    """
    made = found.symbols.get("datasets.IterableDataset.from_generator")
    if made is not None:
        found.settings.append(Setting(key="data.streaming", value=True, location=made))
    streams = [one.location for one in found.settings if one.key == "data.streaming" and one.value is True]
    names = found.names
    if not streams or found.runs_modules or names.relative or names.stars or names.rewritten or found.dynamic:
        return
    words = {name for name in found.mentioned if "shuffle" in name}
    if not words or (words == {"shuffle"} and _shuffles_lists(names)):
        found.settings.append(Setting(key="data.shuffle", value=False, location=streams[0]))
    if "filter" not in found.mentioned:
        found.settings.append(Setting(key="data.stream_filter", value=False, location=streams[0]))


def _shuffles_lists(names: Names) -> bool:
    """Is the result of every ``shuffle(…)`` dropped? A stream's is a new one: these put lists into another order."""
    dropped = {id(one.value) for one in names.nodes(ast.Expr)}
    calls = [one for one in names.nodes(ast.Call) if called_name(one) == "shuffle"]
    called = {id(one.func) for one in calls}
    others = [one for one in names.nodes(ast.Attribute) if one.attr == "shuffle"]
    return all(id(one) in dropped for one in calls) and all(id(one) in called for one in others)


def loaded(found: Findings) -> None:
    """The worker processes of the data loaders that a program makes itself, if all loaders agree on several or none.

    That a number is given and computed is told, too.
    """
    agreed: tuple[int | None, Location] | None = _of_loaders(found, _workers, alone=0)
    if agreed is None and found.is_driven_by(*LOOPS_OF_ITS_OWN):
        loaders = [(one, call) for one in (found, *found.parts) for call in one.called if {*call.names} <= _LOADERS]
        calls = [(one, _unpacked(one, call)) for one, call in loaders]
        if _workers_of_one_place(found, [call for one, call in calls if one is found], others=len(calls)):
            return
        computed = [(None, one.place(call)) for one, call in calls if _computes_workers(call, one.names)]
        agreed = computed[0] if computed else None
    if agreed is not None:
        found.settings.append(Setting(key="training.dataloader_num_workers", value=agreed[0], location=agreed[1]))


def repeated(found: Findings) -> None:
    """How often a loop of the program's own goes through the data, where it counts its epochs."""
    if not found.is_driven_by("torch", "accelerate"):
        return
    for loop in found.names.nodes(ast.For):
        if isinstance(loop, ast.For) and read_epochs(found, loop, found.names.scope_of(loop)):
            return


def _workers_of_one_place(found: Findings, calls: Sequence[ast.Call], *, others: int) -> bool:
    """Does one option of the command line, or of a config, say it for all loaders? Then it is noted.

    ``num_workers=args.workers`` is one, ``num_workers=config["workers"]`` another.
    """
    given = [word.value for call in calls for word in call.keywords if word.arg == "num_workers"]
    if not given or len(given) != others or len({ast.unparse(one) for one in given}) != 1:
        return False
    scope = found.names.scope_of(given[0])
    known = option_behind(given[0], found.names, scope, found.options)
    if known is None and not lookup(given[0], found.names, scope):
        return False
    step = Step(given[0], scope, scope, branch=False)
    found.feed(step, LOADER, [Argument("num_workers", UNKNOWN, given[0], None, given[0])], LOADERS)
    return True


def _unpacked(found: Findings, call: Called) -> ast.Call:
    return unpacked(call.node, found.names, found.names.scope_of(call.node))


def _computes_workers(call: ast.Call, names: Names) -> bool:
    given = [one.value for one in call.keywords if one.arg == "num_workers"]
    return any(names.literal(one, names.scope_of(one)) is UNKNOWN for one in given)


def batched(found: Findings) -> None:
    """The samples of a batch of the data loaders that a program makes itself, if all agree on several or one."""
    agreed = _of_loaders(found, _batch, alone=1)
    if agreed is not None:
        found.settings.append(
            Setting(key="training.per_device_eval_batch_size", value=agreed[0], location=agreed[1], presumed=True)
        )


def _of_loaders(
    found: Findings, count: Callable[[ast.Call, Names], int | None], *, alone: int
) -> tuple[int, Location] | None:
    """The least count of the data loaders and where it stands, if all say it and all are above one, or `alone`.

    Loaders of training and of validation are not told apart.
    """
    if not found.is_driven_by(*LOOPS_OF_ITS_OWN):
        return None
    everything = (found, *found.parts)
    calls = [(one, call) for one in everything for call in one.called if _LOADERS.issuperset(call.names)]
    given = [None if _is_counted_otherwise(call) else count(_unpacked(one, call), one.names) for one, call in calls]
    counts = [one for one in given if one is not None]
    if not counts or len(counts) != len(given) or (min(counts) <= 1 and max(counts) != alone):
        return None
    owner, least = calls[counts.index(min(counts))]
    return min(counts), owner.place(least.node)


def _is_counted_otherwise(call: Called) -> bool:
    """Has MONAI's loader its workers where torch's has the size of a batch?"""
    return len(call.node.args) > 1 and not _OF_MONAI.isdisjoint(call.names)


def _batch(call: ast.Call, names: Names) -> int | None:
    """The batch size of one loader, 1 where it says nothing; None if what it says is computed."""
    if any(one.arg in (None, "batch_sampler") for one in call.keywords):
        return None
    told = [one.value for one in call.keywords if one.arg == "batch_size"] or call.args[1:_BEFORE_SHUFFLE]
    if not told:
        return 1
    return _whole(told[0], names)


def _whole(node: ast.expr, names: Names) -> int | None:
    value = names.literal(node, names.scope_of(node))
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shuffled(found: Findings) -> None:
    """Loaders of torch in a loop of the program's own take the samples in their order, if none is told to shuffle."""
    if not found.is_driven_by("torch", "accelerate") or {"shuffle", "sampler"} & found.mentioned:
        return
    if any(one.key == "data.shuffle" or (one.key == "data.streaming" and one.value) for one in found.settings):
        return
    calls = [_unpacked(found, call) for call in found.called if _LOADERS.issuperset(call.names)]
    if calls and all(map(_keeps_order, calls)):
        found.settings.append(Setting(key="data.shuffle", value=False, location=found.place(calls[0])))


def _keeps_order(call: ast.Call) -> bool:
    """Is a loader neither told to shuffle nor given a sampler, by what stands in the call?"""
    if len(call.args) > _BEFORE_SHUFFLE or any(one.arg is None for one in call.keywords):
        return False
    told = [one.value for one in call.keywords if one.arg in ("shuffle", "sampler", "batch_sampler")]
    return all(isinstance(one, ast.Constant) and one.value in (False, None) for one in told)


def _workers(call: ast.Call, names: Names) -> int | None:
    """The workers of one loader, none where it says nothing; None if what it says is computed."""
    if len(call.args) > _BEFORE_WORKERS or any(one.arg is None for one in call.keywords):
        return None
    for one in call.keywords:
        if one.arg == "num_workers":
            return _whole(one.value, names)
    return 0
