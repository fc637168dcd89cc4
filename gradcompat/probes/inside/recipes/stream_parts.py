"""Does a stream of datasets hand out the parts that it is asked for: one of many processes, what lies behind skip,
what is left after a second resume, another order in the next epoch, and the sum of what is interleaved?

The control is the same stream read from its start to its end.
"""

import copy
import itertools
import multiprocessing
import os
import tempfile

from ..skipping import Skip

_ROWS = 40
_GROUP = 8
_RANKS = 3
_SKIPPED = 20
_TAKEN = 10
_SHARDS = 8
_WORKERS = 2
_WORD = "all_exhausted_without_replacement"


def measure(parameters, device, seed):  # noqa: ARG001  # data are read on every device alike
    """``what``: ranks, skip, again, epochs, interleave; with ``plant`` the part is that of another stream."""
    what = parameters.get("what", "ranks")
    plant = bool(parameters.get("plant"))
    parts = {"ranks": _ranks, "skip": _skip, "again": _again, "epochs": _epochs, "interleave": _interleave}
    with tempfile.TemporaryDirectory() as folder:
        values = parts[what](folder, plant, seed)
        return {**values, "control": len(set(_numbers(_parquet(folder)))) / _ROWS}


def _parquet(folder):
    """A stream of one Parquet file with five row groups."""
    import datasets
    import pyarrow
    import pyarrow.parquet

    path = os.path.join(folder, "rows.parquet")
    if not os.path.exists(path):
        table = pyarrow.table({"number": list(range(_ROWS))})
        pyarrow.parquet.write_table(table, path, row_group_size=_GROUP)
    cache = os.path.join(folder, "cache")
    return datasets.load_dataset("parquet", data_files=path, split="train", streaming=True, cache_dir=cache)


def _numbers(stream):
    return [int(row["number"]) for row in stream]


def _ranks(folder, plant, seed):  # noqa: ARG001  # nothing is drawn
    from datasets.distributed import split_dataset_by_node

    parts = [_numbers(split_dataset_by_node(_parquet(folder), rank, _RANKS)) for rank in range(_RANKS)]
    if plant:
        parts = [list(itertools.chain(*parts)), *([] for _ in parts[1:])]
    return {
        "least_share": min(map(len, parts)) / (_ROWS // _RANKS),
        "covered_share": len(set(itertools.chain(*parts))) / _ROWS,
    }


def _skip(folder, plant, seed):  # noqa: ARG001  # nothing is drawn
    stream = _parquet(folder)
    found = _numbers(stream if plant else stream.skip(_SKIPPED))
    return {"behind_share": len(found) / (_ROWS - _SKIPPED)}


def _again(folder, plant, seed):  # noqa: ARG001  # nothing is drawn
    """A stream that goes on from its state, and the next one from the state of that."""
    stream = _parquet(folder)
    if not hasattr(stream, "state_dict"):
        raise Skip("this release of datasets has no states of streams")
    for _ in range(2):
        rows = iter(stream)
        for _ in range(_TAKEN):
            next(rows)
        state = copy.deepcopy(stream.state_dict())
        stream = _parquet(folder)
        if not plant:
            stream.load_state_dict(state)
    return {"left_share": len(_numbers(stream)) / (_ROWS - 2 * _TAKEN)}


def _epochs(folder, plant, seed):  # noqa: ARG001  # it is read from memory
    """The share of positions that two epochs fill alike, read by workers that outlive the first."""
    import datasets
    import torch

    if "fork" not in multiprocessing.get_all_start_methods():
        raise Skip("workers would have to be spawned, which cannot read a recipe")
    table = datasets.table.InMemoryTable.from_pydict({"number": list(range(_ROWS))})
    whole = datasets.Dataset(table, fingerprint="stream_parts")
    if not hasattr(whole, "to_iterable_dataset"):
        raise Skip("this release of datasets does not stream what is in memory")
    stream = whole.to_iterable_dataset(num_shards=_SHARDS).shuffle(seed=seed, buffer_size=_ROWS)
    loader = torch.utils.data.DataLoader(
        stream, batch_size=None, num_workers=_WORKERS, persistent_workers=True, multiprocessing_context="fork"
    )
    orders = []
    for epoch in range(2):
        stream.set_epoch(0 if plant else epoch)
        orders.append([int(row["number"]) for row in loader])
    return {"alike_share": sum(one == other for one, other in zip(*orders)) / _ROWS}


def _interleave(folder, plant, seed):  # noqa: ARG001  # nothing is drawn, and it is read from memory
    import datasets

    short, long = (datasets.Dataset.from_dict({"number": list(range(rows))}) for rows in (3, 5))
    try:
        found = datasets.interleave_datasets([short, long], stopping_strategy="first_exhausted" if plant else _WORD)
    except ValueError as error:
        raise Skip("this release of datasets does not know %s" % _WORD) from error
    return {"mixed_share": len(found) / 8}
