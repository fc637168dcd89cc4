"""Sets of releases that were read, as ranges that end where the next release is known to be another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gradcompat.requirements.versions import VersionSet, any_of


def ranges_of(releases: Sequence[str], holds: Callable[[int], bool]) -> VersionSet:
    """The releases of which something holds, as ranges.

    Args:
        releases: all that were read, oldest first.
        holds: of which of them, by number.

    Returns:
        A range for each stretch, and a single release by itself. A range ends below the first release of which it does
        not hold, and at the newest one that was read: nothing is said of those before and behind.

    >>> str(ranges_of(["1.0", "1.1", "1.2", "2.0"], lambda number: number in (1, 2)))
    '>=1.1,<2.0'
    >>> str(ranges_of(["1.0", "1.1"], lambda number: number == 1))
    '==1.1'
    """
    stretches: list[str] = []
    start: int | None = None
    for number in range(len(releases) + 1):
        inside = number < len(releases) and holds(number)
        if inside and start is None:
            start = number
        elif not inside and start is not None:
            end = f"<{releases[number]}" if number < len(releases) else f"<={releases[-1]}"
            alone = number == start + 1
            stretches.append(f"=={releases[start]}" if alone else f">={releases[start]},{end}")
            start = None
    return any_of(VersionSet.parse(text) for text in stretches)
