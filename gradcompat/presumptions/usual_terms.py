"""What is usual of a setting, or presumed of it, asked by a term: whether it holds, and in which words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from gradcompat.messages import joined, value_text, versions_text
from gradcompat.model.environment import Setting, SettingValue
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
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.presumed import Presumed
from gradcompat.presumptions.usual import USUAL, Usual, Values, usual_values
from gradcompat.requirements.versions import locate
from gradcompat.terms.comparison import named, satisfies, texts
from gradcompat.terms.symbol_patterns import truth_of_use
from gradcompat.terms.term_keys import fact_of
from gradcompat.truth import Certainty, Truth

_HALF = 0.5
_GPUS = {
    "7.0": "a V100",
    "7.5": "a T4",
    "8.0": "an A100",
    "8.6": "an RTX 30",
    "8.9": "an RTX 40 or L40",
    "9.0": "an H100 or H200",
    "10.0": "a B200",
    "12.0": "an RTX 50",
}
# What a run leaves open, which stands in no line of a file.
_LEFT_TO_OTHERS = frozenset({"precision.chosen", "model.attention_chosen"})


def of_stated(term: Term, key: str, stated: Sequence[Setting], unusual: frozenset[SettingValue]) -> Presumed:
    """What is presumed by what is presumed of the key, if that agrees; else nothing."""
    usual, wanted = USUAL.get(key), wanted_by(term)
    presumed = [setting for setting in stated if setting.presumed and setting.value is not None]
    if presumed and len(presumed) == len(stated):
        truths = {truth_of(term, setting.value) for setting in presumed if setting.value is not None}
        if len(truths) == 1:
            first = presumed[0]
            if usual is not None and key in _LEFT_TO_OTHERS and first.value is False:
                return Presumed(certainty=Certainty.presumed(truths.pop()), taking=usual.taking, feature=usual.feature)
            values = dict.fromkeys(value_text(setting.value) for setting in presumed if setting.value is not None)
            return Presumed(
                certainty=Certainty.presumed(truths.pop()),
                taking=f"{key} is {joined(tuple(values))}",
                feature=feature_of(usual, key, wanted),
                condition=_condition(usual, key, wanted),
                location=first.location,
            )
    # It is set, and not to anything that can be read.
    condition = _condition(usual, key, wanted)
    if usual is None or not usual.rare_is_named:
        return Presumed(certainty=Certainty.OPEN, condition=condition)
    read = [truth_of(term, setting.value) for setting in stated if setting.value is not None]
    certainty, likelihood = _share(usual.values, term, unusual)
    if certainty is Certainty.PRESUMED_NO and max(read, default=Truth.NO) is Truth.NO:
        return Presumed(certainty=certainty, feature=feature_of(usual, key, wanted))
    return Presumed(certainty=Certainty.OPEN, condition=condition, likelihood=likelihood)


def of_usual(term: Term, engines: frozenset[str], unusual: frozenset[SettingValue], *, asked: bool) -> Presumed:
    """What is presumed where nothing is stated: the same in every environment that names these engines.

    Args:
        term: what is asked for.
        engines: what the environment names.
        unusual: values that are usual elsewhere.
        asked: the fact that a person is asked for instead is stated.
    """
    return _of_usual(term, _types_in(term), engines, unusual, asked=asked)


@lru_cache(maxsize=4096)
def _of_usual(
    term: Term,
    types: tuple[type, ...],  # noqa: ARG001  # 1 is no True
    engines: frozenset[str],
    unusual: frozenset[SettingValue],
    *,
    asked: bool,
) -> Presumed:
    key, wanted = fact_of(term), wanted_by(term)
    usual, values = USUAL.get(key), usual_values(key, engines)
    if usual is None or values is None:
        return Presumed(certainty=Certainty.OPEN, condition=_condition(usual, key, wanted))
    if not values and usual.engine is not None and usual.engine not in engines:
        return Presumed(certainty=Certainty.PRESUMED_NO, feature=usual.feature or ENGINES[usual.engine].feature)
    if isinstance(term, PythonTerm):
        # One that cannot be is none of those that may be; a class that cannot be leaves others that nobody lists.
        values = tuple((value, share) for value, share in values if value not in unusual)
    certainty, likelihood = _share(values, term, unusual)
    if usual.mostly and not asked and likelihood > _HALF:
        certainty = Certainty.PRESUMED_YES
    if certainty is Certainty.PRESUMED_NO:
        return Presumed(certainty=certainty, feature=feature_of(usual, key, wanted))
    condition = _condition(usual, key, wanted)
    if certainty is Certainty.PRESUMED_YES:
        return Presumed(certainty=certainty, taking=usual.taking.format(wanted) or condition)
    return Presumed(certainty=certainty, condition=condition, asks=usual.asks or "", likelihood=likelihood)


def _types_in(term: Term) -> tuple[type, ...]:
    """The types of its values: terms that ask for 1 and for True are equal."""
    if not isinstance(term, SettingTerm):
        return ()
    return tuple(map(type, term.values if term.comparison is None else term.comparison))


def truth_of(term: Term, value: SettingValue) -> Truth:
    """Does a value satisfy a term that has a key?"""
    match term:
        case SettingTerm():
            return satisfies(term, value)
        case ModelTerm(classes=patterns) | PlatformTerm(platforms=patterns):
            return named(patterns, value)
        case SymbolTerm(symbols=patterns):
            return truth_of_use(texts(value), patterns)
        case PythonTerm(versions=versions) | VirtualTerm(versions=versions):
            window = locate(str(value))
            return Truth.UNKNOWN if window is None else versions.truth(window)
        case SymbolAbsentTerm(symbols=patterns):
            return Truth(Truth.YES - truth_of_use(texts(value), patterns))
        case PackageTerm() | PackageAbsentTerm():
            raise AssertionError("package terms are presumed upon with their entries")


def _condition(usual: Usual | None, key: str, wanted: str) -> str:
    if usual is None or not usual.condition:
        return f"{key}: {wanted}"
    return usual.conditions.get(wanted) or usual.condition.format(wanted)


def _share(values: Values, term: Term, unusual: frozenset[SettingValue]) -> tuple[Certainty, float]:
    """What usual values make of a term, and the share of those that satisfy it."""
    truths = [(Truth.NO if value in unusual else truth_of(term, value), share) for value, share in values]
    whole = sum(share for _, share in truths) or 1.0
    likelihood = sum(share for truth, share in truths if truth is Truth.YES) / whole
    kinds = {truth for truth, _ in truths}
    if len(kinds) == 1:
        return Certainty.presumed(kinds.pop()), likelihood
    # Nothing usual at all: what is not usual is not there.
    return (Certainty.OPEN if kinds else Certainty.PRESUMED_NO), likelihood


def feature_of(usual: Usual | None, key: str, wanted: str) -> str:
    if usual is None:
        return key
    for value in wanted.split(", "):
        for word in value.split(" or "):
            if word in usual.features:
                return usual.features[word]
    return usual.feature.format(wanted) or key


def wanted_by(term: Term) -> str:
    """The values that satisfy a term, in words."""
    match term:
        case SettingTerm(comparison=(operator, value)):
            return f"{operator} {value_text(value)}" if operator != "!=" else f"not {value_text(value)}"
        case SettingTerm(values=values):
            return joined(tuple(map(value_text, values[:3])))
        case ModelTerm(classes=classes):
            return _models(classes)
        case PlatformTerm(platforms=platforms):
            return joined(platforms)
        case VirtualTerm(name="__cuda_arch", versions=versions):
            return _gpus(term)
        case PythonTerm(versions=versions) | VirtualTerm(versions=versions):
            return versions_text(versions)
        case SymbolTerm() | SymbolAbsentTerm() | PackageTerm() | PackageAbsentTerm():
            raise AssertionError("what it asks for has no values")


def _models(classes: tuple[str, ...]) -> str:
    shown = tuple(dict.fromkeys(name.replace("*", "").removesuffix("For") for name in classes))
    return joined(shown) if len(shown) <= 2 else f"{shown[0]}, {shown[1]} or {len(shown) - 2} more classes"


def _gpus(term: VirtualTerm) -> str:
    shown = tuple(name for arch, name in _GPUS.items() if truth_of(term, arch) is Truth.YES)
    return joined(shown[:3]) if shown else f"a GPU of compute capability {versions_text(term.versions)}"
