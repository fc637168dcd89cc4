"""What runs the cells of a campaign: local processes, or a cluster."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from gradcompat.errors import UsageError
from gradcompat.probes.pool import Pool


@contextmanager
def executor_of(jobs: int, scheduler: str | None) -> Iterator[Executor]:
    """Local processes, or a cluster; what is at work when something stops us is stopped.

    Args:
        jobs: how many local processes there are.
        scheduler: the address of a Dask scheduler, in their place.

    Raises:
        UsageError: if Dask is not installed, or nothing answers at the address.
    """
    if scheduler is None:
        with Pool(jobs) as processes:
            try:
                yield processes
            except BaseException:
                processes.interrupt()
                raise
        return
    try:
        distributed = importlib.import_module("distributed")  # an extra
    except ImportError:
        raise UsageError("`--scheduler` needs Dask", hint="pip install 'gradcompat[dask]'") from None
    try:
        client = distributed.Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise UsageError(f"there is no scheduler: {error}", path=scheduler) from None
    with client:
        # Each cell is submitted once, and a name made of its content would cost more than it says.
        yield client.get_executor(pure=False)
