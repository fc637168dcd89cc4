"""``KEY=VALUE`` as users write it, and the keys themselves."""

from __future__ import annotations

import re

import pytest

from gradcompat.errors import UsageError
from gradcompat.model.environment import SettingValue
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES, parse_setting


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.seed=3", ("training.seed", 3)),
        (" training.seed = -1 ", ("training.seed", -1)),
        ("training.max_grad_norm=0.5", ("training.max_grad_norm", 0.5)),
        ("training.max_grad_norm=1", ("training.max_grad_norm", 1.0)),
        ("training.packing=true", ("training.packing", True)),
        ("training.packing=On", ("training.packing", True)),
        ("training.packing=0", ("training.packing", False)),
        ("precision.mode=no", ("precision.mode", "no")),
        ("model.architecture=A, B", ("model.architecture", ("A", "B"))),
        ("code.symbols=a==b", ("code.symbols", ("a==b",))),
        ("host.cuda=12.4", ("host.cuda", "12.4")),
    ],
)
def test_settings(text: str, expected: tuple[str, SettingValue]) -> None:
    key, value = parse_setting(text)
    assert (key, value, type(value)) == (*expected, type(expected[1]))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("training.seed", "`--set training.seed` is not of the form KEY=VALUE", None),
        ("training.seed=", "`--set training.seed=` is not of the form KEY=VALUE", None),
        ("training.sed=1", "`training.sed` is not a known setting", "did you mean `training.seed`?"),
        (
            "zzz=1",
            "`zzz` is not a known setting",
            "`gradcompat explain settings` lists them; the version of a package is `package.NAME=VERSION`",
        ),
        ("training.seed=x", "`x` is not a value for `training.seed`, which takes a whole number", None),
        ("training.seed=1.5", "`1.5` is not a value for `training.seed`, which takes a whole number", None),
        ("training.max_grad_norm=x", "`x` is not a value for `training.max_grad_norm`, which takes a number", None),
        ("training.packing=maybe", "`maybe` is not a value for `training.packing`, which takes true or false", None),
        ("host.cuda=new", "`new` is not a value for `host.cuda`, which takes a version", None),
    ],
)
def test_what_makes_no_sense(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        parse_setting(text)
    assert (str(caught.value), caught.value.hint) == (message, hint)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_has_a_subject_and_half_a_sentence(key: str) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z0-9_]+", key)
    assert KEYS[key].meaning
    assert not KEYS[key].meaning.endswith(".")


def test_facts_of_the_host() -> None:
    assert {key for key, one in KEYS.items() if one.type == "version"} == {*VIRTUAL_PACKAGES, "host.python"}
    assert len(set(VIRTUAL_PACKAGES.values())) == len(VIRTUAL_PACKAGES)
