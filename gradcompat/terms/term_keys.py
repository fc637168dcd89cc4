"""Which key of the vocabulary decides a term."""

from __future__ import annotations

from gradcompat.model.issue import (
    Combination,
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
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY, whole_library
from gradcompat.vocabulary import VIRTUAL_PACKAGES

GUARDED_KEY = "code.guarded"
IMPORTED_KEY = "code.imported"
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


def asks_for_use(term: Term) -> bool:
    """Does it ask that one of some libraries is used at all, ``datasets.*``, as what is installed mostly is?"""
    return isinstance(term, SymbolTerm) and all(map(whole_library, term.symbols))


def single_package(combination: Combination) -> PackageTerm | None:
    """The package and range that a combination asks for, if it asks for nothing else than that the package is used."""
    match combination.terms:
        case (PackageTerm() as term,):
            return term
        case (PackageTerm() as term, SymbolTerm(symbols=symbols) as use):
            return term if asks_for_use(use) and term.name in map(whole_library, symbols) else None
    return None


def _setting_of(term: SettingTerm | ModelTerm | SymbolTerm | SymbolAbsentTerm) -> str:
    match term:
        case SettingTerm(key=key):
            return key
        case ModelTerm():
            return MODEL_KEY
        case SymbolTerm() | SymbolAbsentTerm():
            return SYMBOLS_KEY
