"""Forward passes that leave no trace: random state and buffers are put back."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any

from gradcompat.guard.instrumentation import loaded
from gradcompat.guard.loss_calls import LossLedger


class RandomState:
    """The generators that a forward pass draws from."""

    def __init__(self) -> None:
        """Remember their state now."""
        torch, numpy = loaded("torch"), loaded("numpy")
        self._cpu = torch.get_rng_state()
        self._cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
        self._python = random.getstate()
        self._numpy = numpy.random.get_state() if numpy is not None else None

    def restore(self) -> None:
        """Put it back."""
        torch, numpy = loaded("torch"), loaded("numpy")
        torch.set_rng_state(self._cpu)
        if self._cuda is not None:
            torch.cuda.set_rng_state_all(self._cuda)
        random.setstate(self._python)
        if numpy is not None and self._numpy is not None:
            numpy.random.set_state(self._numpy)


@contextmanager
def unchanged(model: Any, state: RandomState, ledger: LossLedger) -> Any:
    """Within, the random state of the first micro-batch; afterwards everything as it was."""
    torch = loaded("torch")
    now = RandomState()
    buffers = {name: one.detach().clone() for name, one in model.named_buffers()}
    calls, ledger.calls, ledger.keep_outputs = ledger.calls, [], True
    state.restore()
    try:
        yield
    finally:
        ledger.calls, ledger.keep_outputs = calls, False
        now.restore()
        with torch.no_grad():
            for name, one in model.named_buffers():
                if name in buffers and one.shape == buffers[name].shape:
                    one.copy_(buffers[name])
