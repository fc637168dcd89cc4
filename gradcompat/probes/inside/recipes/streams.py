"""Does a streamed dataset hand out every sample once when it goes on from its state, and keep all workers busy?

The control of a state is that of a stream to which nothing was done; that of the workers is one that is not shuffled.
"""

import copy
import multiprocessing

from ..skipping import Skip

_ROWS = 40
_TAKEN = 10
_BUFFER = 10
_SHARDS = 8
_WORKERS = 2
_PLANTED = 3


def measure(parameters, device, seed):  # noqa: ARG001  # data are read on every device alike
    """``what``: filter, map, shuffle (through a buffer), workers; ``format``: none, numpy, torch, of the stream.

    With ``plant`` the resumed stream drops its first samples, or all data lie in one shard. A release without
    states resumes by skipping what was seen.
    """
    import datasets

    if not hasattr(datasets.Dataset, "to_iterable_dataset"):
        raise Skip("this release of datasets does not stream what is in memory")
    plant = bool(parameters.get("plant"))
    if parameters.get("what") == "workers":
        return {
            "busy_share": _busy(_stream(1 if plant else _SHARDS).shuffle(seed=seed, buffer_size=_BUFFER)),
            "control": _busy(_stream(_SHARDS)),
        }
    lost, repeated, known = _resumed(lambda: _prepared(parameters, seed), plant)
    control = _resumed(lambda: _stream(1), plant=False)
    return {
        "known": known,
        "lost_share": lost,
        "repeated_share": repeated,
        "control": 1.0 - control[0] - control[1],
    }


def _stream(shards):
    import datasets

    table = datasets.table.InMemoryTable.from_pydict({"number": list(range(_ROWS))})
    # Without a fingerprint releases from 5.0.1 pickle the table, and dill takes a pyarrow that does not lie in
    # `site-packages` for a module of the user, with all that is in it.
    return datasets.Dataset(table, fingerprint="streams").to_iterable_dataset(num_shards=shards)


def _prepared(parameters, seed):
    what = parameters.get("what", "filter")
    stream = _stream(4 if what == "shuffle" else 1)
    if parameters.get("format", "none") != "none":
        stream = stream.with_format(parameters["format"])
    if what == "filter":
        return stream.filter(lambda row: row["number"] >= 0)
    if what == "map":
        return stream.map(lambda row: {"number": row["number"]})
    return stream.shuffle(seed=seed, buffer_size=_BUFFER)


def _numbers(stream):
    return [int(row["number"]) for row in stream]


def _resumed(make, plant):
    """The shares of the samples behind a state that are lost and that come again, and whether there is a state."""
    whole = _numbers(make())
    stream = make()
    known = hasattr(stream, "state_dict")
    if known:
        rows = iter(stream)
        for _ in range(_TAKEN):
            next(rows)
        following = make()
        following.load_state_dict(copy.deepcopy(stream.state_dict()))
    else:
        following = stream.skip(_TAKEN)
    found = _numbers(following)
    if plant:
        found = found[_PLANTED:]
    wanted = whole[_TAKEN:]
    lost = len(set(wanted) - set(found))
    return lost / len(wanted), (len(found) - len(wanted) + lost) / len(wanted), known


def _busy(stream):
    """The share of the workers of a loader that hand out anything."""
    import torch

    if "fork" not in multiprocessing.get_all_start_methods():
        raise Skip("workers would have to be spawned, which cannot read a recipe")

    def worker_of(rows):  # noqa: ARG001  # who reads is what is asked
        return torch.utils.data.get_worker_info().id

    loader = torch.utils.data.DataLoader(
        stream, batch_size=1, num_workers=_WORKERS, collate_fn=worker_of, multiprocessing_context="fork"
    )
    return len(set(loader)) / _WORKERS
