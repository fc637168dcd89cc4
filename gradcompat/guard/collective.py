"""One exchange of fixed size between ranks, so that all of them judge the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.measurement import RankShare, Replay

_FIELDS = 14


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
    """Number of this process in the default group."""
    return int(loaded("torch").distributed.get_rank()) if world_size() > 1 else 0


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
