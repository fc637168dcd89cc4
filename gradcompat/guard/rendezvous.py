"""Whether every rank comes to an exchange of the guard, agreed on through the store of the process group.

A collective that one rank never enters holds up the others, or is paired with the next collective of the training. So
ranks first say in the store that they are ready. The last one writes that the exchange takes place, whoever waits in
vain that it does not; the first verdict stands, and all obey it. The store knows nothing of the order of collectives:
a rank that never comes costs a while and nothing else.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

LONGEST = 60.0  # seconds: ranks meet right behind the gradients that they have averaged
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.1  # seconds
_GO, _STAY = "go", "stay"


class Rendezvous:
    """Where the guards of all ranks meet; one that has gone or failed is soon waited for no longer."""

    def __init__(
        self,
        store: Any,
        world: int,
        *,
        number: int = 1,
        longest: float = LONGEST,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nobody is there yet.

        Args:
            store: of the process group, with ``add`` and ``compare_set``.
            world: number of ranks.
            number: of the guard, the same on every rank.
            longest: seconds to wait for the others.
            clock: seconds that pass.
            pause: waits for seconds.
        """
        self._store = store
        self._world = world
        self._longest = longest
        self._clock = clock
        self._pause = pause
        self._prefix = f"gradcompat/{number}"
        self._times: Counter[str] = Counter()
        self.broken = False

    def agree(self, place: str) -> bool:
        """Whether all ranks have come to a place; the same on every rank that asks. False for ever after the first one.

        Args:
            place: a name, for its first, second, … time.
        """
        if self.broken:
            return False
        self._times[place] += 1
        key = f"{self._prefix}/{place}/{self._times[place]}"
        try:
            verdict = _GO if self._arrives(key, self._longest) else _STAY
            agreed: bytes = self._store.compare_set(f"{key}/verdict", "", verdict)
            self.broken = agreed != _GO.encode()
        except Exception:  # whatever a store raises when the rank that has it is gone
            self.broken = True
        if self.broken:
            self.withdraw()
        return not self.broken

    def wait(self, place: str, seconds: float) -> bool:
        """Wait until all ranks have come to a place; True if they have.

        Args:
            place: a name.
            seconds: to wait at most.
        """
        if self.broken:
            return False
        try:
            return self._arrives(f"{self._prefix}/{place}", seconds)
        except Exception:  # as above
            return False

    def withdraw(self) -> None:
        """Come nowhere any more, and let nobody wait."""
        self.broken = True
        try:
            self._store.add(f"{self._prefix}/withdrawn", 1)
        except Exception:  # as above
            return

    def _arrives(self, key: str, seconds: float) -> bool:
        until, pause = self._clock() + seconds, _SHORTEST_PAUSE
        here = self._store.add(f"{key}/here", 1)
        while here < self._world:
            if self._clock() > until or self._store.add(f"{self._prefix}/withdrawn", 0):
                return bool(self._store.add(f"{key}/here", 0) >= self._world)
            self._pause(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            here = self._store.add(f"{key}/here", 0)
        return True
