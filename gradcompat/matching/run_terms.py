"""Terms about all but packages: settings, the model's class, the code, Python and the host."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from gradcompat.matching.verdict import Verdict, with_presumption
from gradcompat.matching.view import View
from gradcompat.messages import condition, joined, value_text
from gradcompat.model.environment import SettingValue
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
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.comparison import named, satisfies, texts
from gradcompat.terms.symbol_patterns import (
    CALLS_KEY,
    OPTIONAL_KEY,
    SYMBOLS_KEY,
    are_called,
    given_to,
    may_be_used,
    met_by,
    name_of,
    truth_of_use,
)
from gradcompat.terms.symbol_words import in_words
from gradcompat.truth import Certainty, Truth

STRATEGY_KEY = "distributed.strategy"
# Strategies beside which there is no other; a pipeline may be DeepSpeed's.
_ALONE = frozenset({"none", "ddp", "dp", "fsdp", "deepspeed"})


def verdict_of(term: Term, view: View) -> Verdict:
    """How a term stands that is not about a package; many combinations of an issue share one."""
    known = view.verdicts.get(id(term))
    if known is not None and known[0] is term:
        return known[1]
    verdict = _stated(term, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        verdict = with_presumption(verdict, view.presumer.of_term(term))
    view.verdicts[id(term)] = (term, verdict)
    return verdict


def _stated(term: Term, view: View) -> Verdict:
    """The same by facts alone."""
    environment = view.environment
    match term:
        case SettingTerm(key=key):
            return _setting(term, key, view, lambda value: satisfies(term, value))
        case ModelTerm(classes=classes):
            return _setting(term, MODEL_KEY, view, lambda value: named(classes, value))
        case SymbolTerm(symbols=symbols):
            return _symbols(term, symbols, view)
        case SymbolAbsentTerm(symbols=symbols):
            return _no_symbols(term, symbols, view)
        case PythonTerm(versions=versions):
            return _fact(term, "python", environment.python, versions)
        case VirtualTerm(name=name) if name in environment.excluded:
            return Verdict(Certainty.NO, f"there is no {name}", name)
        case VirtualTerm(name=name, versions=versions):
            return _fact(term, name, environment.virtual.get(name), versions)
        case PlatformTerm(platforms=platforms):
            if environment.platform is None and environment.excluded.issuperset(platforms):
                return Verdict(Certainty.NO, "the platform is another one", "platform")
            if environment.platform is None:
                return Verdict(Certainty.OPEN, partial(condition, term), "platform")
            truth = Truth.of(environment.platform in platforms)
            return Verdict(Certainty.of(truth), f"the platform is {environment.platform}", "platform")
        case PackageTerm() | PackageAbsentTerm():
            raise AssertionError("package terms are matched with their entries")


def _setting(term: Term, key: str, view: View, holds: Callable[[SettingValue], Truth]) -> Verdict:
    """A setting that stands several times holds if all of its places agree."""
    stated = view.stated(key)
    if not stated and _of_another_strategy(key, view):
        return Verdict(Certainty.NO, "", key)
    truths = {Truth.UNKNOWN if setting.value is None else holds(setting.value) for setting in stated}
    truth = truths.pop() if len(truths) == 1 else Truth.UNKNOWN
    first = stated[0] if stated else None
    if truth is Truth.UNKNOWN or first is None or first.value is None:
        return Verdict(Certainty.OPEN, partial(condition, term), key, None if first is None else first.location)
    return Verdict(Certainty.of(truth), f"{key} is {value_text(first.value)}", key, first.location)


def _of_another_strategy(key: str, view: View) -> bool:
    """Is it a setting of DeepSpeed or FSDP, and is the run distributed in a way that leaves no place for that?"""
    needed = key.partition(".")[0]
    strategies = [setting.value for setting in view.stated(STRATEGY_KEY)]
    return (
        needed in ("deepspeed", "fsdp")
        and bool(strategies)
        and _ALONE.issuperset(strategies)
        and (needed not in strategies)
    )


def _uses(used: tuple[str, ...], patterns: tuple[str, ...]) -> str:
    """What the code uses; of the first call of a name that arguments decide about, what it gives."""
    shown: dict[str, str] = {}
    told: set[str] = set()
    for symbol in used:
        name = name_of(symbol)
        behind = symbol.removeprefix(name)
        if behind and behind in told:
            continue  # the options of one command line, as each of the dataclasses that a parser fills gets them
        told.add(behind)
        if name not in shown:
            given = given_to(symbol, patterns) if behind else ""
            shown[name] = f"{in_words(name) or name} {given}".rstrip()
    return f"the code uses {joined(tuple(dict.fromkeys(shown.values())), 'and')}"


def _symbols(term: Term, symbols: tuple[str, ...], view: View, unused: Collection[str] = ()) -> Verdict:
    """A symbol is used if any of the files uses it; it is not if all that is known of them was listed.

    Names that are imported alone are used as well, unless they are among those that are not.
    """
    stated = [one.without(unused) for one in view.stated(SYMBOLS_KEY)]
    listed = [*stated, *view.stated(CALLS_KEY)]
    perhaps = may_be_used(view.used_text, symbols)
    truths = [
        Truth.UNKNOWN if one.value is None else truth_of_use(texts(one.value), symbols) if perhaps else Truth.NO
        for one in listed
    ]
    for setting, truth in zip(listed, truths, strict=True):
        if truth is Truth.YES:
            met = met_by(texts(setting.value), symbols)
            used = [
                (symbol, setting.place(index)) for index, symbol in enumerate(texts(setting.value)) if symbol in met
            ]
            text = partial(_uses, tuple(symbol for symbol, _ in used), symbols)
            return Verdict(Certainty.YES, text, SYMBOLS_KEY, used[0][1])
    # Of functions that somebody names by hand nobody knows how they are called.
    named_alone = len(listed) == len(stated) and any(are_called(texts(one.value), symbols) for one in stated)
    if not stated or Truth.UNKNOWN in truths or named_alone:
        return Verdict(Certainty.OPEN, partial(condition, term), SYMBOLS_KEY)
    optional = (
        one for one in view.settings.get(OPTIONAL_KEY, ()) if truth_of_use(texts(one.value), symbols) is not Truth.NO
    )
    if next(optional, None) is not None:  # where options are given
        return Verdict(Certainty.OPEN, partial(condition, term), SYMBOLS_KEY)
    return Verdict(Certainty.NO, "the code does not use it", SYMBOLS_KEY, stated[0].location)


def _no_symbols(term: Term, symbols: tuple[str, ...], view: View) -> Verdict:
    """None of several symbols is used, if all that is used was listed."""
    used = _symbols(term, symbols, view, view.imported_uses[0])
    if used.certainty is Certainty.OPEN:
        return used
    # What is not there is no reason that anybody looks for.
    return Verdict(Certainty.NO if used.certainty is Certainty.YES else Certainty.YES, "", SYMBOLS_KEY)


def _fact(term: Term, key: str, value: str | None, versions: VersionSet) -> Verdict:
    """A version of the interpreter or of the host."""
    window = None if value is None else locate(value)
    if window is None:
        return Verdict(Certainty.OPEN, partial(condition, term), key)
    truth = versions.truth(window)
    if truth is Truth.UNKNOWN:
        return Verdict(Certainty.OPEN, partial(condition, term), key)
    subject = "Python" if key == "python" else key
    return Verdict(Certainty.of(truth), f"{subject} is {value}", key)
