"""Exchanges of fixed size between ranks, so that all of them judge the same numbers and stop together."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.measurement import RankShare, Replay

_FIELDS = 14
_POLL = 0.005  # seconds


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


def exchange(mine: RankReport, device: Any) -> list[RankReport]:
    """The reports of all ranks, in their order.

    Args:
        mine: of this rank.
        device: of the parameters.
    """
    torch = loaded("torch")
    numbers = [*_encode(mine), *mine.elements]
    dtype = torch.float32 if device.type == "mps" else torch.float64
    vector = torch.tensor(numbers, dtype=dtype).to(device)
    received = [torch.empty_like(vector) for _ in range(world_size())]
    torch.distributed.all_gather(received, vector)
    rows: list[list[float]] = torch.stack(received).tolist()
    return [_decode(row) for row in rows]


def flagged(mine: bool, device: Any) -> list[int]:
    """The ranks that have raised a flag, in their order; every rank has to call this.

    Args:
        mine: whether this rank raises it, which counts where the others cannot be asked.
        device: of the parameters.
    """
    torch = loaded("torch")
    flag = torch.tensor([float(mine)], device=device)
    received = [torch.empty_like(flag) for _ in range(world_size())]
    try:
        torch.distributed.all_gather(received, flag)
    except RuntimeError:  # a rank is gone
        return [rank()] if mine else []
    return [place for place, one in enumerate(torch.cat(received).tolist()) if one]


def summed(squares: Any) -> Any:
    """The sums over all ranks of sums over their shards; every rank has to call this.

    Args:
        squares: a tensor with an entry a parameter.
    """
    total = squares.clone()
    loaded("torch").distributed.all_reduce(total)
    return total


def meet(device: Any, seconds: float) -> bool:
    """Wait until every rank has come here; one that is gone or late is not waited for.

    Args:
        device: of the parameters.
        seconds: to wait at most.
    """
    torch = loaded("torch")
    until = time.monotonic() + seconds
    try:
        work = torch.distributed.all_reduce(torch.zeros(1, device=device), async_op=True)
        while not work.is_completed():
            if time.monotonic() > until:
                return False
            time.sleep(_POLL)
    except Exception:  # whatever a backend raises when a rank is gone: this one ends as it was going to
        return False
    return True


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
