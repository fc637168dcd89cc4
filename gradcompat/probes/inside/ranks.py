"""Processes that train together: this one is rank 0, and the others are workers that it starts.

They stay in the process group of this one, where the runner's kill reaches them; the workers of torchrun would not, as
it gives each a session of its own. Each has a lifeline from this one besides. Rank 0 holds the store at which all meet,
at a port that the operating system chose, so that nobody else can have it.
"""

import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

from .skipping import Skip

_WAIT_SECONDS = 60  # for another rank, in any exchange
_END_SECONDS = 10  # for the others to end, once this one has its numbers
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker.py")


def together(recipe, parameters, device, seed, work):
    """Run ``work(rank, processes, device)`` in every rank; what it returned in this one.

    ``recipe`` is the one that calls this: the others run it too, and find in their parameters which rank they are.
    """
    processes = parameters.get("processes", 2)
    rank = parameters.get("rank", 0)
    if processes < 2:
        raise Skip("one process has nobody to train with")
    if rank:
        with group(rank, processes, device, parameters["port"]) as own:
            work(rank, processes, own)
        return {}
    _enough(processes, device)
    store = _store(0, processes)
    with others(recipe, parameters, device, seed, store.port) as started:
        try:
            with group(0, processes, device, store.port, store) as own:
                return work(0, processes, own)
        except Exception as error:
            # What is seen here of the failure of another rank is a lost connection.
            raise _cause(started, error) from error


@contextlib.contextmanager
def group(rank, processes, device, port=0, store=None):
    """A process group of torch; gives the device of this rank."""
    import torch
    from torch import distributed

    _available(distributed)
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(processes),
        LOCAL_RANK=str(rank),
        LOCAL_SIZE=str(processes),
        LOCAL_WORLD_SIZE=str(processes),
        CROSS_RANK="0",
        CROSS_SIZE="1",
        MASTER_ADDR="127.0.0.1",
    )
    if store is None:
        store = _store(rank, processes, port)
    os.environ["MASTER_PORT"] = str(store.port)
    own = device
    if device.startswith("cuda"):
        own = "cuda:%d" % rank if processes > 1 else device
        torch.cuda.set_device(own if ":" in own else 0)
    distributed.init_process_group(
        "nccl" if device.startswith("cuda") else "gloo",
        store=store,
        rank=rank,
        world_size=processes,
        timeout=datetime.timedelta(seconds=_WAIT_SECONDS),
    )
    yield own
    # Not after a failure, where the others may be gone and this would wait for them.
    distributed.destroy_process_group()


@contextlib.contextmanager
def others(recipe, parameters, device, seed, port):
    """The ranks from 1 on, as processes that run the same recipe; none is left at the end."""
    folder = tempfile.mkdtemp(prefix="ranks-", dir=".")
    started = []
    try:
        for rank in range(1, parameters.get("processes", 2)):
            output = os.path.abspath(os.path.join(folder, "output-%d.json" % rank))
            path = os.path.join(folder, "input-%d.json" % rank)
            job = {
                "recipe": recipe,
                "parameters": {**parameters, "rank": rank, "port": port},
                "device": device.partition(":")[0],
                "devices": [device.partition(":")[0]],
                "seed": seed,
            }
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"output": output, "threads": 1, "jobs": [job]}, file)
            process = subprocess.Popen([sys.executable, _WORKER, path], stdin=subprocess.PIPE)  # noqa: S603
            started.append((rank, process, output))
        yield started
        ends = time.monotonic() + _END_SECONDS
        for _, process, _ in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, ends - time.monotonic()))
    finally:
        for _, process, _ in started:
            process.kill()
            process.wait()
            # The lifeline last: a worker that sees its end takes the whole process group with it.
            process.stdin.close()


def _cause(started, error):
    """Why a common run failed: the failure of another rank, where there is one."""
    for rank, process, output in started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        try:
            with open(output, encoding="utf-8") as file:
                results = json.load(file)["results"]
        except (OSError, ValueError):
            results = []
        if results and results[0]["state"] == "skipped":
            return Skip(results[0]["reason"])
        if results and results[0]["state"] == "failed":
            return RuntimeError("rank %d: %s" % (rank, results[0]["reason"]))
        if process.returncode:
            return RuntimeError("rank %d ended with status %d" % (rank, process.returncode))
    return error


def _enough(processes, device):
    import torch
    from torch import distributed

    _available(distributed)
    if device.startswith("cuda") and torch.cuda.device_count() < processes:
        raise Skip("%d processes need as many GPUs, and there is %d" % (processes, torch.cuda.device_count()))


def _available(distributed):
    if not distributed.is_available():
        raise Skip("this torch is built without torch.distributed")


def _store(rank, processes, port=0):
    from torch import distributed

    return distributed.TCPStore(
        "127.0.0.1",
        port,
        processes,
        is_master=rank == 0,
        timeout=datetime.timedelta(seconds=_WAIT_SECONDS),
        wait_for_workers=False,
    )
