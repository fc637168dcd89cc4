"""How much work one input may cause: steps that are counted, so that every machine gives the same answer.

Time would not do: what is a finding on a fast machine would be a gap on a slow one. What exceeds its budget is
:class:`~gradcompat.errors.TooComplex` where nothing of an input can be told, and a gap beside what can.
"""

from __future__ import annotations

from gradcompat.errors import TooComplex

SMALLER = "split the file, or name a smaller one that describes the same environment or run"

MAX_CELLS = 2_000  # of a notebook: each is parsed several times


class Budget:
    """Steps that may still be taken.

    Args:
        most: how many there are.
    """

    __slots__ = ("left", "most")

    def __init__(self, most: int) -> None:
        self.most = most
        self.left = most

    def take(self, steps: int = 1) -> bool:
        """Take steps, if they are left; once they are not, the budget is spent and nothing can be taken any more."""
        if steps > self.left:
            self.left = -1
            return False
        self.left -= steps
        return True

    def spend(self, steps: int, path: str | None, line: int | None = None) -> None:
        """Take steps for a file; without a path whoever reads it says which.

        Raises:
            TooComplex: if they are not left.
        """
        if not self.take(steps):
            raise TooComplex(f"needs more than {self.most:,} steps to read", path=path, line=line, hint=SMALLER)

    @property
    def used(self) -> int:
        """How many were taken; all of them once the budget is spent."""
        return self.most - max(self.left, 0)

    @property
    def spent(self) -> bool:
        """Was more asked for than there was?"""
        return self.left < 0
