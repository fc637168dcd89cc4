"""Ranks of which one does not come to an exchange of the guard: the others go on, soon and without it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from gradcompat.guard.rendezvous import Rendezvous
from tests.guard.test_training import TORCHRUN, Trained, train
from tests.probes.really import NEEDS_TORCH

RUN = r"""
import os, sys
import torch
import torch.distributed as dist
from torch.nn import functional as F

dist.init_process_group("gloo")
rank, what = dist.get_rank(), sys.argv[1]
if os.environ.get("GRADCOMPAT_GUARD") == "1":
    from gradcompat.guard import model_watch, observer, rendezvous
    if what in ("short", "joined"):
        rendezvous.Rendezvous.__init__.__kwdefaults__["longest"] = 1.0
    def fail(*arguments): raise RuntimeError("planted")
    places = {"measure": (observer.Observer, "measure"), "share": (observer, "_share"),
              "gradient": (model_watch.GradientSum, "add"), "compare": (observer.Observer, "compare"),
              "run": (observer.Observer, "run")}
    if rank == 1 and what in places:
        setattr(*places[what], fail)
torch.manual_seed(0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
generator = torch.Generator().manual_seed(rank)


def step():
    x, y = torch.randn(8, 8, generator=generator), torch.randint(0, 3, (8,), generator=generator)
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()


if what == "short":  # each rank by itself, and rank 1 has less data
    with model.no_sync():
        for _ in range(1 if rank == 1 else 5):
            step()
elif what == "joined":  # as DDP takes unequal numbers of batches: the rank that is done shadows the others' collectives
    with model.join():
        for _ in range(1 if rank == 1 else 5):
            step()
else:
    for _ in range(5):
        step()
dist.barrier()
total = torch.stack([one.detach().double().sum() for one in model.parameters()]).sum()
dist.all_reduce(total)
sys.stdout.write(f"trained {rank} {total.item().hex()}\n")  # in one piece, since both ranks print
sys.stdout.flush()
del model, optimizer
dist.destroy_process_group()
"""


class Store:
    """What is asked of a store of torch, in one process."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def add(self, key: str, amount: int) -> int:
        with self._lock:
            self._values[key] = str(int(self._values.get(key, b"0")) + amount).encode()
            return int(self._values[key])

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        with self._lock:
            if self._values.get(key, b"") == expected.encode():
                self._values[key] = desired.encode()
            return self._values[key]


class LostStore:
    """Of a rank that is gone."""

    def add(self, key: str, amount: int) -> int:
        raise ConnectionError(key, amount)

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        raise ConnectionError(key, expected, desired)


def ranks(count: int, *, longest: float) -> list[Rendezvous]:
    """As each rank makes its own, under one number."""
    store = Store()
    return [Rendezvous(store, count, longest=longest, pause=lambda _seconds: None) for _ in range(count)]


def at_once(*calls: Callable[[], bool]) -> list[bool]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result(timeout=60) for one in [pool.submit(call) for call in calls]]


def test_ranks_that_all_come_agree() -> None:
    meeting = ranks(3, longest=60)
    for place in ("reports", "flags", "reports"):
        assert at_once(*(partial(one.agree, place) for one in meeting)) == [True] * 3
    assert not meeting[0].broken


def test_a_rank_that_withdraws_is_not_waited_for() -> None:
    first, second = ranks(2, longest=1e9)
    second.withdraw()
    assert (first.agree("reports"), first.agree("flags"), first.wait("end", 1e9)) == (False, False, False)
    assert (first.broken, second.agree("reports")) == (True, False)


def test_a_rank_that_withdraws_while_another_waits() -> None:
    first, second = ranks(2, longest=1e9)
    waits = threading.Event()
    first._pause = lambda _seconds: waits.set()

    def withdraw() -> bool:
        waits.wait(60)
        second.withdraw()
        return True

    assert at_once(lambda: first.agree("reports"), withdraw) == [False, True]


def test_a_rank_that_is_late_obeys_the_verdict() -> None:
    first, second = ranks(2, longest=-1.0)
    second._longest = 1e9
    assert first.agree("reports") is False
    assert second.agree("reports") is False


def test_ranks_at_different_places_wait_no_longer_than_they_may() -> None:
    first, second = ranks(2, longest=0.05)
    assert at_once(lambda: first.agree("reports"), lambda: second.agree("flags")) == [False, False]


def test_ranks_that_meet_at_the_end_wait_for_each_other() -> None:
    first, second = ranks(2, longest=60)
    assert at_once(lambda: first.wait("end", 60), lambda: second.wait("end", 60)) == [True, True]
    alone, _ = ranks(2, longest=60)
    assert alone.wait("end", -1.0) is False


@pytest.mark.parametrize("store", [LostStore(), None])
def test_a_store_that_does_not_answer_is_no_error(store: object) -> None:
    alone = Rendezvous(store, 2)
    assert (alone.agree("reports"), alone.wait("end", 1.0)) == (False, False)
    alone.withdraw()


def trained(tmp_path: Path, what: str, *, guarded: bool = True, **variables: str) -> Trained:
    return train(RUN, tmp_path, *TORCHRUN, what, guarded=guarded, **variables)


def lines(found: Trained) -> list[str]:
    return sorted(line for line in found.out.splitlines() if line.startswith("trained"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What both ranks print of a run without the guard."""
    return lines(trained(tmp_path_factory.mktemp("alone"), "alone", guarded=False))


class TestInProcesses:
    pytestmark = NEEDS_TORCH

    @pytest.mark.parametrize("what", ["measure", "share", "gradient", "compare", "run"])
    def test_a_guard_that_fails_on_one_rank_holds_up_no_other(
        self, tmp_path: Path, alone: list[str], what: str
    ) -> None:
        found = trained(tmp_path, what)
        assert len(lines(found)) == 2, found.err
        assert lines(found) == alone
        assert found.err.count("failed (RuntimeError: planted); the run goes on without it") == 1

    @pytest.mark.parametrize("what", ["short", "joined"])
    def test_a_rank_with_less_data_holds_up_no_other(self, tmp_path: Path, what: str) -> None:
        found = trained(tmp_path, what, GRADCOMPAT_GUARD_ON_DEFECT="warn")
        assert len(lines(found)) == 2, found.err
        assert lines(found) == lines(trained(tmp_path, what, guarded=False))
        assert "guard: failed" not in found.err
        assert "not verified: ranks (the guard of another rank has ended or failed)" in found.err
