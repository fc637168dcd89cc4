"""The words for symbols that scanners make up."""

from __future__ import annotations

import pytest

from gradcompat.knowledge.load import load
from gradcompat.model.issue import SymbolAbsentTerm, SymbolTerm
from gradcompat.terms.symbol_patterns import name_of
from gradcompat.terms.symbol_words import _IN_WORDS, in_words


def asked() -> set[str]:
    """Every symbol that a record asks for."""
    terms = (term for issue in load().in_force() for one in issue.affected for term in one.terms)
    return {symbol for term in terms if isinstance(term, (SymbolTerm, SymbolAbsentTerm)) for symbol in term.symbols}


@pytest.mark.parametrize("ending", _IN_WORDS)
def test_a_record_asks_for_each(ending: str) -> None:
    names = (".".join(part for part in name_of(one).replace("*", "").split(".") if part) for one in asked())
    assert any(name.endswith(ending) for name in names)


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("AdamW", ""),
        ("torch.optim.AdamW", ""),
        ("torchaudio.*.replaced", "a function of its own in the place of torchaudio's"),
        ("numpy.sctypes.replaced", "something of its own in the place of sctypes"),
        ("*.LightningModule.no_grad", "a pass without gradients inside a training step"),
        ("torch.no_grad", ""),
    ],
)
def test_what_was_made_up_has_words_and_a_name_needs_none(symbol: str, words: str) -> None:
    assert in_words(symbol) == words
