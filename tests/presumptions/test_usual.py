"""The table of what is usual: complete, consistent, and of the vocabulary."""

from __future__ import annotations

import pytest

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.messages import value_text
from gradcompat.model.issue import VirtualTerm
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.left_out import LEFT_OUT
from gradcompat.presumptions.usual import USUAL
from gradcompat.term_keys import SYMBOLS_KEY, key_of
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES, parse_value


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


@pytest.mark.parametrize("default", LEFT_OUT, ids=lambda one: f"{one.key} {one.value} {one.versions}")
def test_a_default(default: object) -> None:
    assert default in LEFT_OUT
    one = next(one for one in LEFT_OUT if one is default)
    assert one.key in KEYS
    assert one.read
    assert parse_value(one.key, value_text(one.value)) == one.value
