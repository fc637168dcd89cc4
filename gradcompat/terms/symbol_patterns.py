"""Patterns of what a program uses: of names, ``transformers.*Trainer``, and of calls.

What a program uses is a list of names and, beside them, of the calls of these functions
(:mod:`gradcompat.terms.calls`). A pattern of names asks for names alone, one of calls
(:mod:`gradcompat.terms.call_patterns`) for calls alone. A method of an object that nobody knows is used by its name
alone, and so ``*.backward`` asks for ``backward`` as well as for ``accelerate.Accelerator.backward``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from gradcompat.terms.name_patterns import any_matches, matches, matching
from gradcompat.truth import Truth

SYMBOLS_KEY = "code.symbols"
CALLS_KEY = "code.calls"  # of the same functions, with what they are told
LIBRARIES_KEY = "code.libraries"  # what the tool of a config imports
OPTIONAL_KEY = "code.optional"  # names and calls that options of the command line have to ask for
_BRACKET = "("
_ANY_OWNER = "*."
# With which a value begins that an option of the command line gives, or a config.
_OPTION, _CONFIG = "_option(", "_config("
# Packages that are imported by another name.
_IMPORTED_AS = {
    "awq": "autoawq",
    "flash_attn": "flash-attn",
    "hydra": "hydra-core",
    "lightning_fabric": "lightning-fabric",
    "mmaction": "mmaction2",
    "mmseg": "mmsegmentation",
    "pyannote": "pyannote-audio",
    "pytorch_lightning": "pytorch-lightning",
    "sentence_transformers": "sentence-transformers",
}


def is_call(symbol: str) -> bool:
    """Is this a call, or a pattern of calls, and not a name alone?"""
    return _BRACKET in symbol


def name_of(symbol: str) -> str:
    """The name in a call or a pattern of calls.

    >>> name_of("torch.load(f) if given(weights_only)")
    'torch.load'
    """
    return symbol.partition(_BRACKET)[0]


def settings_of_use(used: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What a program uses, given as names and calls, by the keys of the vocabulary: whose call is there is used."""
    names, calls = _apart(tuple(used))
    return {SYMBOLS_KEY: tuple(dict.fromkeys((*names, *map(name_of, calls)))), CALLS_KEY: calls}


@lru_cache(maxsize=1024)
def names_of(pattern: str) -> tuple[str, ...]:
    """The names that a pattern asks for, with their stars.

    >>> names_of("torch.optim.{Adam,AdamW}() if capturable")
    ('torch.optim.Adam', 'torch.optim.AdamW')
    >>> names_of("*.backward")
    ('*.backward', 'backward')
    """
    waiting, found = [name_of(pattern)], []
    while waiting:
        name = waiting.pop(0)
        begin, brace, rest = name.partition("{")
        words, _, end = rest.partition("}")
        if brace:
            waiting += [f"{begin}{word}{end}" for word in words.split(",")]
        else:
            found.append(name)
    return (*found, *(name.removeprefix(_ANY_OWNER) for name in found if name.startswith(_ANY_OWNER)))


def whole_library(pattern: str) -> str:
    """The package that a pattern asks for whatever of it is used; empty for what names a part of one.

    >>> whole_library("flash_attn.*"), whole_library("datasets.load_dataset")
    ('flash-attn', '')
    """
    name, _, rest = pattern.partition(".")
    return _IMPORTED_AS.get(name, name) if rest == "*" and name != "*" else ""


def arguments_in_words(pattern: str) -> str:
    """What a pattern of calls asks of the arguments.

    >>> arguments_in_words("torch.load(f) if given(weights_only)")
    'with weights_only'
    """
    from gradcompat.terms.call_patterns import read_pattern

    return read_pattern(pattern).in_words()


def truth_of_use(used: tuple[str, ...], patterns: tuple[str, ...]) -> Truth:
    """Is one of the patterns met by what is used? Unknown where a call hides the arguments that a pattern asks for."""
    return _truth_of_use(used, patterns)


@lru_cache(maxsize=32768)  # a thousand patterns, asked of the names and the calls of many runs in turn
def _truth_of_use(used: tuple[str, ...], patterns: tuple[str, ...]) -> Truth:
    """The same, for a program uses many names, is asked for each record, and has many runs."""
    names, calls = _apart(used)
    by_name, by_call = _patterns_apart(patterns)
    if any_matches(names, by_name):
        return Truth.YES
    truths = (_truth_of_call(call, pattern) for pattern in by_call for call in _calls_of(calls, pattern))
    return max(truths, default=Truth.NO)


def may_be_used(text: str, patterns: tuple[str, ...]) -> bool:
    """Do the letters of one of the patterns stand in a text that holds all that is used? Most stand in none.

    >>> may_be_used("torch.optim.Adam torch.load(f)", ("torch.{load,save}() if given(weights_only)",))
    True
    >>> may_be_used("torch.optim.Adam torch.load(f)", ("*.Trainer", "torch.optim.SGD"))
    False
    """
    return any(all(part in text for part in parts) for parts in _parts(patterns))


@lru_cache(maxsize=4096)
def _parts(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The letters between the stars of each name that patterns ask for; none where any of several may stand."""
    by_name, by_call = _patterns_apart(patterns)
    names = (*by_name, *(name for pattern in by_call for name in names_of(pattern)))
    return tuple(() if "[" in name or "?" in name else tuple(filter(None, name.split("*"))) for name in names)


@lru_cache(maxsize=1024)
def met_by(used: tuple[str, ...], patterns: tuple[str, ...]) -> frozenset[str]:
    """The names and calls of what is used that surely meet one of the patterns."""
    if not used:  # by a lockfile alone, which is asked all the same
        return frozenset()
    names, calls = _apart(used)
    by_name, by_call = _patterns_apart(patterns)
    met = (
        call for pattern in by_call for call in _calls_of(calls, pattern) if _truth_of_call(call, pattern) is Truth.YES
    )
    return matching(names, by_name).union(met)


def given_to(call: str, patterns: tuple[str, ...]) -> str:
    """What a call gives of the arguments that the pattern asks for which it meets; empty where none is asked for.

    >>> given_to("trl.SFTConfig(save_steps=500, eval_steps=50)", ("*.SFTConfig() if save_steps > eval_steps",))
    'with save_steps=500 and eval_steps=50'
    """
    from gradcompat.terms.call_patterns import read_pattern
    from gradcompat.terms.calls import read_call

    for pattern in filter(is_call, patterns):
        if _calls_of((call,), pattern) and _truth_of_call(call, pattern) is Truth.YES:
            return read_pattern(pattern).given(read_call(call))
    return ""


def are_called(names: Iterable[str], patterns: Iterable[str]) -> bool:
    """Is one of the names that of a pattern of calls?"""
    wanted = [name for pattern in filter(is_call, patterns) for name in names_of(pattern)]
    return any(matches(name, pattern) for pattern in wanted for name in names)


def meets(symbol: str, pattern: str) -> bool:
    """Does a name or a call meet a pattern?"""
    return truth_of_use((symbol,), (pattern,)) is Truth.YES


def hides(symbol: str, pattern: str) -> bool:
    """Is it a call that may meet a pattern, by arguments that are put together elsewhere?"""
    return is_call(symbol) and truth_of_use((symbol,), (pattern,)) is Truth.UNKNOWN


def has_options(call: str) -> bool:
    """Are arguments of a call what options of the program's command line give?"""
    return _OPTION in call


def has_items(call: str) -> bool:
    """Are arguments of a call what it looks up in a config?"""
    return _CONFIG in call


def by_defaults(call: str, patterns: Iterable[str]) -> tuple[tuple[tuple[str, object], ...], Truth] | None:
    """The options of a call that patterns ask for, each with its default, and whether these meet one of the patterns.

    None where the options do not decide.
    """
    patterns = tuple(patterns)
    if not has_options(call) or truth_of_use((call,), patterns) is not Truth.UNKNOWN:
        return None
    from gradcompat.terms.calls import read_call

    read = read_call(call)

    def truth(left: tuple[object, ...] = ()) -> Truth:
        told = read.with_options(lambda option: option if option in left else option.default)
        return truth_of_use((str(told),), patterns)

    deciding = [option for option in read.options if truth((option,)) is Truth.UNKNOWN] or read.options
    return tuple((option.shown, option.default) for option in deciding), truth()


def _calls_of(calls: tuple[str, ...], pattern: str) -> list[str]:
    """The calls whose name is that of a pattern."""
    names = _names(calls)
    named = matching(names, names_of(pattern)) if calls else frozenset()
    return [call for call, name in zip(calls, names, strict=True) if name in named] if named else []


@lru_cache(maxsize=256)
def _names(calls: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(name_of, calls))


@lru_cache(maxsize=32768)  # programs that share modules make the same calls
def _truth_of_call(call: str, pattern: str) -> Truth:
    from gradcompat.terms.call_patterns import read_pattern
    from gradcompat.terms.calls import read_call

    try:
        return read_pattern(pattern).truth(read_call(call))
    except ValueError:  # said by hand, and no call
        return Truth.UNKNOWN


@lru_cache(maxsize=1024)
def _apart(symbols: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names, and the calls."""
    return tuple(one for one in symbols if not is_call(one)), tuple(filter(is_call, symbols))


@lru_cache(maxsize=1024)
def _patterns_apart(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that patterns of names ask for, and the patterns of calls."""
    by_name, by_call = _apart(patterns)
    return tuple(name for pattern in by_name for name in names_of(pattern)), by_call
