"""The words for symbols that scanners make up."""

from __future__ import annotations

import pytest

from gradcompat.knowledge.load import load
from gradcompat.model.issue import SymbolAbsentTerm, SymbolTerm
from gradcompat.presumptions.symbol_words import _IN_WORDS, in_words


def asked() -> set[str]:
    """Every symbol that a record asks for."""
    terms = (term for issue in load().in_force() for one in issue.affected for term in one.terms)
    return {symbol for term in terms if isinstance(term, (SymbolTerm, SymbolAbsentTerm)) for symbol in term.symbols}


@pytest.mark.parametrize("ending", _IN_WORDS)
def test_a_record_asks_for_each(ending: str) -> None:
    names = (".".join(part for part in symbol.replace("*", "").split(".") if part) for symbol in asked())
    assert any(name.endswith(ending) for name in names)


def test_a_name_needs_no_words() -> None:
    assert in_words("AdamW") == ""
