"""Sets of choices, as markers and as what holds under them."""

from __future__ import annotations

import pytest

from gradcompat.sources.uv_choices import Choices

A, B, C = "extra-4-demo-a", "extra-4-demo-b", "group-4-demo-c"
CHOICES = Choices([frozenset({A, B})])
PAIRED = Choices([frozenset({A, B}), frozenset({C})])


@pytest.mark.parametrize("choices", [CHOICES, PAIRED])
@pytest.mark.parametrize(
    "marker",
    [
        f"extra == '{A}'",
        f"extra == '{A}' or extra == '{B}'",
        f"extra != '{A}'",
        f"extra != '{A}' and extra != '{B}'",
        f"extra == '{A}' and extra == '{C}'",
        f"extra != '{A}' or extra == '{C}'",
    ],
)
def test_the_marker_of_a_set_holds_under_it_alone(choices: Choices, marker: str) -> None:
    held = choices.holding(marker)
    written = choices.marker(held)
    assert (choices.holding(written) == held) if held else (written is None)


def test_other_conditions_hold_somewhere() -> None:
    assert CHOICES.holding("sys_platform == 'linux' and extra == 'dev'") == CHOICES.every
    assert CHOICES.holding("what is this") == CHOICES.every
    assert CHOICES.marker(CHOICES.every) is None


def test_too_many_to_be_looked_at() -> None:
    assert not Choices([frozenset(f"extra-4-demo-{number}" for number in range(40))]).countable
    assert not Choices([]).countable
