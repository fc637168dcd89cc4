"""Exchanges of fixed size between ranks, so that all of them judge the same numbers and stop together.

One that a rank does not come to takes place on none (:mod:`gradcompat.guard.rendezvous`).
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from typing import Any

from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.measurement import RankShare, Replay
from gradcompat.guard.rendezvous import Rendezvous

_FIELDS = 14
_numbers = itertools.count(1)  # ranks make their guards in the same order


@dataclass(frozen=True)
class RankReport:
    """What one rank tells the others: its share, its replay, and elements of gradients, as many on every rank."""

    share: RankShare
    replay: Replay | None
    elements: tuple[float, ...]


def world_size() -> int:
    """Number of processes of the default group; 1 without one."""
    distributed = getattr(loaded("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return 1
    return int(distributed.get_world_size())


def rank() -> int:
    """Number of this process in the default group; before it is made and after it is gone, what the launcher said."""
    if world_size() > 1:
        return int(loaded("torch").distributed.get_rank())
    number = os.environ.get("RANK", "")
    return int(number) if number.isdecimal() else 0


class Ranks:
    """The exchanges of a guard with those of the other ranks, each of which takes place on all of them or on none."""

    def __init__(self) -> None:
        """Find the store of the process group where the first exchange is."""
        self._number = next(_numbers)
        self._met: Rendezvous | None = None

    @property
    def apart(self) -> bool:
        """Whether some rank did not come to an exchange: from then on each is alone."""
        return self._met is not None and self._met.broken

    def exchange(self, mine: RankReport, device: Any) -> list[RankReport] | None:
        """The reports of all ranks, in their order; None if some rank does not answer.

        Args:
            mine: of this rank.
            device: of the parameters.
        """
        torch = loaded("torch")
        dtype = torch.float32 if device.type == "mps" else torch.float64
        rows = self._gathered("reports", torch.tensor([*_encode(mine), *mine.elements], dtype=dtype).to(device))
        return None if rows is None else [_decode(row) for row in rows]

    def flagged(self, mine: bool, device: Any) -> list[int]:
        """The ranks that have raised a flag, in their order; every rank has to call this.

        Args:
            mine: whether this rank raises it, which counts where the others do not answer.
            device: of the parameters.
        """
        rows = self._gathered("flags", loaded("torch").tensor([float(mine)], device=device))
        if rows is None:
            return [rank()] if mine else []
        return [place for place, (one,) in enumerate(rows) if one]

    def finished(self, failing: bool, parameters: Any, device: Any) -> list[tuple[bool, float]] | None:
        """Of each rank behind its last guarded step, whether it has found an error, and a digest of its parameters.

        Args:
            failing: of this rank.
            parameters: the digest, on the device; None where parameters are not whole here.
            device: of the parameters.
        """
        torch = loaded("torch")
        digest = torch.zeros((), device=device) if parameters is None else parameters.to(device)
        rows = self._gathered("ends", torch.stack([torch.tensor(float(failing), device=device), digest.float()]))
        return None if rows is None else [(bool(flag), number) for flag, number in rows]

    def summed(self, squares: Any) -> Any:
        """The sums over all ranks of sums over their shards; None if some rank does not answer.

        Args:
            squares: a tensor with an entry a parameter.
        """
        total = squares.clone()
        if not self._rendezvous().agree("norms"):
            return None
        loaded("torch").distributed.all_reduce(total)
        return total

    def agree(self, place: str) -> bool:
        """Whether all ranks have come to a place, behind which they exchange something by themselves."""
        return self._rendezvous().agree(place)

    def meet(self, seconds: float) -> bool:
        """Wait until every rank has come here; one that is gone or late is not waited for.

        Args:
            seconds: to wait at most.
        """
        return self._rendezvous().wait("end", seconds)

    def withdraw(self) -> None:
        """The guard of this rank ends: the others need not wait for it."""
        if world_size() > 1:
            self._rendezvous().withdraw()

    def _gathered(self, place: str, vector: Any) -> list[list[float]] | None:
        torch = loaded("torch")
        received = [torch.empty_like(vector) for _ in range(world_size())]
        if not self._rendezvous().agree(place):
            return None
        try:
            torch.distributed.all_gather(received, vector)
        except RuntimeError:  # a rank has gone meanwhile
            self._rendezvous().withdraw()
            return None
        rows: list[list[float]] = torch.stack(received).tolist()
        return rows

    def _rendezvous(self) -> Rendezvous:
        if self._met is None:
            self._met = Rendezvous(_store(), world_size(), number=self._number)
        return self._met


def _store() -> Any:
    """The store by which the default group was made; None where it has none (MPI)."""
    internals = loaded("torch.distributed.distributed_c10d")
    try:
        return internals._get_default_store()
    except (AttributeError, ValueError, KeyError):
        return None


def _encode(report: RankReport) -> list[float]:
    share, replay = report.share, report.replay
    replayed = [0.0] * 6
    if replay is not None:
        replayed = [1.0, replay.loss, replay.weight or 0.0, float(replay.weight is not None), replay.unexplained]
        replayed.append(replay.share or 0.0)
    return [
        share.first,
        share.total,
        share.labels,
        share.loss,
        share.unexplained,
        float(share.data),
        share.parameters,
        float(share.failing),
        *replayed,
    ]


def _decode(row: list[float]) -> RankReport:
    replay = None
    if row[8]:
        replay = Replay(loss=row[9], weight=row[10] if row[11] else None, unexplained=row[12], share=row[13] or None)
    share = RankShare(
        first=row[0],
        total=row[1],
        labels=row[2],
        loss=row[3],
        unexplained=row[4],
        data=int(row[5]),
        parameters=row[6],
        failing=bool(row[7]),
    )
    return RankReport(share=share, replay=replay, elements=tuple(row[_FIELDS:]))
