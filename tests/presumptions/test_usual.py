"""The table of what is usual: complete, consistent, and of the vocabulary."""

from __future__ import annotations

import pytest
from packaging.version import Version

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.messages import value_text
from gradcompat.model.issue import VirtualTerm
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.left_out import LEFT_OUT, LeftOut
from gradcompat.presumptions.usual import USUAL
from gradcompat.releases.argument_defaults import Argument, Stated
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY
from gradcompat.terms.term_keys import key_of
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES, parse_value

NEWEST = Version("5.23.0")  # of transformers
TRL = "trl"
WITH_CONFIGS = Version("0.9.2")
TRL_CONFIGS = tuple(f"trl.{kind}Config" for kind in ("SFT", "DPO", "KTO", "GRPO", "RLOO", "CPO", "ORPO", "BCO"))


def asked_by_records() -> set[str]:
    """Every key that some record asks for."""
    virtual = {name: key for key, name in VIRTUAL_PACKAGES.items()}
    terms = [term for issue in load().in_force() for one in issue.affected for term in one.terms]
    keys = {key for term in terms if (key := key_of(term)) is not None}
    return keys | {virtual[term.name] for term in terms if isinstance(term, VirtualTerm)}


def test_every_fact_that_a_record_asks_for_has_a_row() -> None:
    assert asked_by_records() - {SYMBOLS_KEY} - USUAL.keys() == set()


@pytest.mark.parametrize("key", USUAL)
def test_a_row(key: str) -> None:
    usual = USUAL[key]
    assert key in KEYS
    assert usual.reason
    assert usual.engine is None or usual.engine in ENGINES
    assert usual.named.keys() <= ENGINES.keys()
    values = [*usual.values, *(one for more in usual.named.values() for one in more)]
    for value, share in values:
        assert 0 < share <= 1
        try:
            assert parse_value(key, value_text(value)) == value
        except UsageError:
            pytest.fail(f"{value!r} is no value of {key}")
    if len(values) == 1 and usual.engine is None:
        assert usual.taking, "what is presumed is said"
    if len(values) > 1:
        assert usual.condition, "what is open is said as a person would"
    if {str(value) for value, _ in values} >= {"True", "False"} and "{}" not in usual.condition and not usual.asks:
        assert "false" in usual.conditions, "a clause that is the same for both says the wrong thing of one"


@pytest.mark.parametrize("one", LEFT_OUT, ids=lambda one: f"{one.key} {one.default.package} {one.frameworks[0]}")
def test_a_default(one: LeftOut) -> None:
    assert one.key in KEYS
    if isinstance(one.default, Stated):
        assert one.default.read
        values = {one.default.value}
    else:
        values = {value for _, value in one.default.history(NEWEST) if value is not None}
    assert values
    assert {parse_value(one.key, value_text(value)) for value in values} == values


@pytest.mark.parametrize("one", [one for one in LEFT_OUT if TRL in one.frameworks], ids=lambda one: one.key)
def test_what_is_presumed_of_trl_is_what_its_configs_have(one: LeftOut) -> None:
    """In each release that has configs of its own; it is presumed by the release of transformers beside it."""
    if isinstance(one.default, Stated) or one.default.package == "trl":
        return
    own = replace(one.default, package="trl", callables=TRL_CONFIGS, inherits="transformers")
    theirs = dict(one.default.history())[NEWEST]
    assert {value for version, value in own.history(NEWEST) if version >= WITH_CONFIGS} == {theirs}


def test_half_precision_of_both_kinds_is_off_alike() -> None:
    histories = [
        list(Argument(package="transformers", callables=("transformers.TrainingArguments",), name=name).history())
        for name in ("fp16", "bf16")
    ]
    assert histories[0] == histories[1]


def test_whatever_drives_the_loop_has_a_name_in_reports() -> None:
    drivers = KEYS["training.framework"].meaning.partition(": ")[2].split(", ")
    assert set(drivers) == USUAL["training.framework"].features.keys()
