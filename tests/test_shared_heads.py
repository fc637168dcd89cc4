"""Models whose heads share one head of keys and values, by their names."""

from __future__ import annotations

import pytest

from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.shared_heads import shares_heads, with_shared_heads


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("tiiuae/falcon-7b", True),
        ("vilsonrodrigues/falcon-7b-instruct-sharded", True),
        ("bigcode/starcoderbase-3b", True),
        ("google/gemma-2b-it", True),
        ("google/gemma-2-2b", False),
        ("tiiuae/falcon-40b", False),
        ("tiiuae/falcon-rw-1b", False),
    ],
)
def test_names(name: str, shared: bool) -> None:
    assert shares_heads(name) is shared


def said(**settings: SettingValue) -> list[tuple[SettingValue | None, bool]]:
    place = Location(path="train.py", line=1)
    stated = tuple(Setting(key=f"model.{key}", value=value, location=place) for key, value in settings.items())
    environment = Environment(source="r.txt", kind="requirements", packages=(), closed=False, settings=stated)
    settled = with_shared_heads(environment).settings
    return [(one.value, one.presumed) for one in settled if one.key == "model.multi_query"]


def test_a_config_counts_more() -> None:
    assert said(name="tiiuae/falcon-7b") == [(True, True)]
    assert said(name="tiiuae/falcon-7b", multi_query=False) == [(False, False)]
    assert said(name="tiiuae/falcon-40b") == []
