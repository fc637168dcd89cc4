"""Whether a run says what it could leave to a default."""

from __future__ import annotations

import pytest

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.presumptions.upon import presumed_upon

_KEYS = ("precision.chosen", "model.attention_chosen")


def chosen(stated: dict[str, SettingValue | None], *, run: bool) -> dict[str, tuple[SettingValue | None, bool]]:
    place = Location(path="train.py", line=1)
    settings = tuple(Setting(key=key, value=value, location=place) for key, value in stated.items())
    environment = Environment(source="r.txt", kind="requirements", packages=(), closed=False, settings=settings)
    upon = presumed_upon(environment, (), run=run)
    return {one.key: (one.value, one.presumed) for one in upon.settings if one.key in _KEYS}


@pytest.mark.parametrize("value", ["bf16", None])
def test_a_run_that_says_it(value: str | None) -> None:
    said = chosen({"training.framework": "trl", "precision.mode": value}, run=True)
    assert said == {"precision.chosen": (True, False), "model.attention_chosen": (False, True)}


def test_without_a_run_nobody_knows() -> None:
    assert chosen({}, run=False) == {}
