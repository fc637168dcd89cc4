"""Which key of the vocabulary decides a term."""

from __future__ import annotations

from gradcompat.class_facts import MODEL_KEY
from gradcompat.model.issue import (
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.symbol_patterns import SYMBOLS_KEY
from gradcompat.vocabulary import VIRTUAL_PACKAGES

GUARDED_KEY = "code.guarded"
_KEYS_OF_VIRTUAL = {virtual: key for key, virtual in VIRTUAL_PACKAGES.items()}


def key_of(term: Term) -> str | None:
    """The key of the setting that decides the term, if one does."""
    return _setting_of(term) if isinstance(term, (SettingTerm, ModelTerm, SymbolTerm, SymbolAbsentTerm)) else None


def fact_of(term: Term) -> str:
    """The key of the setting or of the fact of the host that decides a term which is not about a package."""
    match term:
        case SettingTerm() | ModelTerm() | SymbolTerm() | SymbolAbsentTerm():
            return _setting_of(term)
        case PythonTerm():
            return "host.python"
        case VirtualTerm(name=name):
            return _KEYS_OF_VIRTUAL[name]
        case PlatformTerm():
            return "host.platform"
        case PackageTerm() | PackageAbsentTerm():
            raise AssertionError("package terms are decided by their entries")


def _setting_of(term: SettingTerm | ModelTerm | SymbolTerm | SymbolAbsentTerm) -> str:
    match term:
        case SettingTerm(key=key):
            return key
        case ModelTerm():
            return MODEL_KEY
        case SymbolTerm() | SymbolAbsentTerm():
            return SYMBOLS_KEY
