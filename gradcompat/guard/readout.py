"""Numbers on a device, read in one transfer."""

from __future__ import annotations

from typing import Any

from gradcompat.guard.instrumentation import loaded


class Readout:
    """Collects tensors, and turns all of them into numbers with one synchronisation of the device."""

    def __init__(self) -> None:
        """Collect nothing yet."""
        self._tensors: list[Any] = []
        self._lengths: list[int] = []
        self._numbers: list[list[float]] | None = None

    def add(self, value: Any) -> int:
        """Add a tensor or a number; the place at which :meth:`numbers` has it. None has no numbers."""
        torch = loaded("torch")
        if value is None:
            self._lengths.append(0)
        else:
            tensor = value.detach() if torch.is_tensor(value) else torch.tensor(float(value))
            self._tensors.append(tensor.reshape(-1).to(torch.float32))
            self._lengths.append(tensor.numel())
        return len(self._lengths) - 1

    def fetch(self) -> None:
        """Read everything."""
        torch = loaded("torch")
        devices = [tensor.device for tensor in self._tensors if tensor.device.type != "cpu"]
        target = devices[0] if devices else torch.device("cpu")
        flat: list[float] = []
        if self._tensors:
            flat = torch.cat([tensor.to(target, non_blocking=True) for tensor in self._tensors]).tolist()
        self._numbers, start = [], 0
        for length in self._lengths:
            self._numbers.append(flat[start : start + length])
            start += length

    def numbers(self, place: int) -> list[float]:
        """The numbers of a tensor."""
        if self._numbers is None:
            raise RuntimeError("nothing has been read yet")
        return self._numbers[place]

    def number(self, place: int, default: float = 0.0) -> float:
        """The only number of a tensor; ``default`` where there is none."""
        found = self.numbers(place)
        return found[0] if found else default
