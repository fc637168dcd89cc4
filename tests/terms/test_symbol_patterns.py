"""Patterns of names and of calls against what a program uses."""

from __future__ import annotations

from keyword import iskeyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.terms.call_patterns import read_pattern
from gradcompat.terms.calls import Call, Unread, read_call
from gradcompat.terms.symbol_patterns import arguments_in_words, names_of, settings_of_use, truth_of_use
from gradcompat.truth import Truth

YES, UNKNOWN, NO = Truth.YES, Truth.UNKNOWN, Truth.NO


@pytest.mark.parametrize(
    ("pattern", "call", "expected"),
    [
        ("a.f()", "a.f()", YES),
        ("a.f()", "a.g()", NO),
        ("a.f()", "a.f", NO),
        ("a.f", "a.f()", NO),
        ("a.*f()", "a.b.f(1)", YES),
        ("a.{f,g}()", "a.g()", YES),
        ("{a.,}f()", "f()", YES),
        ("a.f() if x", "a.f(x=1)", YES),
        ("a.f() if x", "a.f()", NO),
        ("a.f(*, x=True) if x", "a.f()", YES),
        ("a.f(w, x) if x == 2", "a.f(0, 2)", YES),
        ("a.f(w, x) if x == 2", "a.f(2)", NO),
        ("a.f() if x == 'yes'", "a.f(x='yes')", YES),
        ("a.f() if x not in (None, 0)", "a.f(x=0.0)", NO),
        ("a.f() if x > 1", "a.f(x='many')", NO),
        ("a.f() if x > 1", "a.f(x=None)", NO),
        ("a.f() if 0 < x < y", "a.f(x=1, y=2)", YES),
        ("a.f() if 0 < x < y", "a.f(x=2, y=2)", NO),
        ("a.f() if x % y == 0", "a.f(x=4, y=2)", YES),
        ("a.f() if x[0] < x[-1]", "a.f(x=[1, 2])", YES),
        ("a.f() if x[0] < x[-1]", "a.f(x=[2, 3, 1])", NO),
        ("a.f() if x[0] < x[-1]", "a.f(x=[])", NO),
        ("a.f() if x[0] < x[-1]", "a.f(x=3)", NO),
        ("a.f() if isinstance(x[0], int) and x[0] < x[-1]", "a.f(x=sizes)", NO),
        ("a.f() if isinstance(x[0], int) and x[0] < x[-1]", "a.f(x=[size, 2])", NO),
        ("a.f() if x[0]['lr'] > 0", "a.f(x=[{'lr': 0.1}, {'lr': 0}])", YES),
        ("a.f() if x[-1]['lr'] > 0", "a.f(x=[{'lr': 0.1}, {'lr': 0}])", NO),
        ("a.f() if x[0]['lr'] > 0", "a.f(x=[{'params': w}])", NO),
        ("a.f() if x[0]['lr'] > 0", "a.f(x=[w])", YES),
        ("a.f() if x[0]['lr'] > 0", "a.f(x=[])", NO),
        ("a.f() if isinstance(x, list) and x[0]['lr'] > 0", "a.f(x=w)", NO),
        ("a.f() if x % y == 0", "a.f(x=4, y=0)", NO),
        ("a.f() if min(x) != 1", "a.f(x=[1, 0.5])", YES),
        ("a.f() if min(x) != 1", "a.f(x=[1, 1])", NO),
        ("a.f() if 100 not in x", "a.f(x=(1, 10))", YES),
        ("a.f() if isinstance(x, int)", "a.f(x=True)", NO),
        ("a.f() if isinstance(x, list) and len(x) == 1", "a.f(x=('one',))", YES),
        ("a.f() if given(x, y)", "a.f(y=None)", YES),
        ("a.f() if not given()", "a.f()", YES),
        ("a.f() if not given()", "a.f(1)", NO),
        ("a.f() if like(x, 'yolov8?.pt', '*/beit*')", "a.f(x='YOLOv8n.pt')", YES),
        ("a.f() if like(x, 'yolov8?.pt', '*/beit*')", "a.f(x='timm/beit_base')", YES),
        ("a.f() if like(x, 'yolov8?.pt')", "a.f(x='yolo11n.pt')", NO),
        ("a.f() if like(x, 'yolov8?.pt')", "a.f()", NO),
        ("a.f() if like(x, 'yolov8?.pt')", "a.f(x=path)", NO),
        ("a.f() if like(x, '*.pt')", "a.f(x=_ending('.PT', 1))", YES),
        ("a.f() if like(x, '*.pt')", "a.f(x=_ending('.onnx', 1))", NO),
        ("*.f() if x", "a.b.f(x=1)", YES),
        ("*.f() if x", "f(x=1)", YES),  # a method of an object that nobody knows
        ("*.{f,g}() if x", "g(x=1)", YES),
        ("*.f() if x", "af(x=1)", NO),
        ("*.b.f() if x", "f(x=1)", NO),
        ("a.f() if like(x, '*')", "a.f(x=_ending('.onnx', 1))", YES),
        ("a.f() if like(x, 'yolov8*.pt')", "a.f(x=_ending('.pt', 1))", NO),
        ("a.f() if x is None", "a.f(x=_ending('.pt', 1))", NO),
        ("a.f() if x == y", "a.f(x=_ending('.pt', 1), y=_ending('.pt', 2))", YES),
        ("a.f() if like(x, '*embed*')", "a.f(x=['head', 'embeddings', name])", YES),
        ("a.f() if like(x, '*embed*')", "a.f(x=['head', name])", NO),
        ("a.f() if like(x['k'], 'flash*')", "a.f(x={'k': 'flash_2'})", YES),
        ("a.f() if like(x['k'], 'flash*')", "a.f(x={'other': 'flash_2'})", NO),
        ("a.f() if x['k']", "a.f(x={'k': chosen})", YES),
        ("a.f() if x['k']", "a.f(x=options)", YES),
        ("a.f() if '{val' in x", "a.f(x='{epoch}-{val_loss:.2f}')", YES),
        # what cannot be read
        ("a.f() if x > 1", "a.f(x=much)", YES),
        ("a.f() if not x", "a.f(x=much)", YES),
        ("a.f() if x is not None", "a.f(x=much)", YES),
        ("a.f() if x is False", "a.f(x=much)", NO),
        ("a.f() if isinstance(x, int)", "a.f(x=much)", NO),
        ("a.f() if x > 1 and y", "a.f(x=much)", NO),
        ("a.f() if 100 not in x", "a.f(x=[1, limit])", YES),
        ("a.f() if 100 not in x and y", "a.f(x=[100, limit], y=1)", NO),
        ("a.f() if len(x) == 1", "a.f(x=[one, other])", NO),
        ("a.f() if min(x) > 1", "a.f(x=[one, 0])", YES),
        ("a.f() if x == [1, 2] and y", "a.f(x=[1, other], y=False)", NO),
        ("a.f() if x != y", "a.f(x=same, y=same)", NO),
        ("a.f() if x != y", "a.f(x=one, y=other)", YES),
        ("a.f() if x == 'yes'", "a.f(x=word)", UNKNOWN),
        ("a.f() if 'yes' in x", "a.f(x=words)", YES),
        ("a.f() if x in ('yes', 'always')", "a.f(x=word)", YES),
        ("a.f() if x == 'yes' or y", "a.f(x=word)", UNKNOWN),
        ("a.f() if x == 'yes' or y", "a.f(x=word, y=True)", YES),
        ("a.f() if 'yes' not in x and y", "a.f(x=words, y=False)", NO),
        ("a.f() if x not in ('yes', 'always') and y", "a.f(x=word, y=True)", YES),
        ("a.f() if 'yes' in x and y > 1", "a.f(x='yes', y=much)", YES),
        # what is put together elsewhere
        ("a.f() if x", "a.f(**options)", UNKNOWN),
        ("a.f() if x", "a.f(x=True, **options)", YES),
        ("a.f() if x and y", "a.f(x=much, **options)", UNKNOWN),
        ("a.f() if not given(x)", "a.f(**options)", UNKNOWN),
        ("a.f(w, x) if x", "a.f(1, *rest)", UNKNOWN),
        ("a.f() if like(x, '*')", "a.f(**options)", UNKNOWN),
        ("a.f() if x", "no expression(", NO),
        ("* if x()", "no expression(", NO),
    ],
)
def test_calls_meet_patterns(pattern: str, call: str, expected: Truth) -> None:
    assert truth_of_use((call,), (pattern,)) is expected


def test_of_several_one_is_enough() -> None:
    used = ("a.f", "a.f(**options)", "a.f(x=1)")
    assert truth_of_use(used, ("b.*", "a.f() if x")) is YES
    assert truth_of_use(used[:2], ("b.*", "a.f() if x")) is UNKNOWN
    assert truth_of_use(used, ("a.*",)) is YES
    assert truth_of_use((), ("a.*", "a.f() if x")) is NO


def test_a_line_that_is_no_call_says_nothing() -> None:
    assert truth_of_use(("a.f(",), ("a.f() if x",)) is UNKNOWN


@pytest.mark.parametrize(
    "pattern",
    [
        "a.f(",
        "a.f() unless x",
        "a.f() if",
        "a.f(*args) if x",
        "a.f(**kw) if x",
        "a.f(x=1 + y) if x",
        "a.f() if x.shape > 1",
        "a.f() if open(x)",
        "a.f() if [one for one in x]",
        "a.f() if (lambda: x)()",
        "a.f() if x @ y",
    ],
)
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|name the parameters|malformed"):
        read_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("f()", ""),
        ("f() if x", "with x"),
        ("f() if x is not None", "with x"),
        ("f() if given(x)", "with x"),
        ("f() if not given(x)", "without x"),
        ("f() if not given()", "without arguments"),
        ("f() if x == 'y'", "with x='y'"),
        ("f() if x is False", "with x=False"),
        ("f() if x > 1 and y", "where x > 1 and y"),
        ("f() if given(x, y, z)", "with x or one of 2 other arguments"),
        (
            "f() if isinstance(first, int) and isinstance(second, int) and first % second == 0",
            "by what first and second say",
        ),
        ("f() if like(name, 'one_of_several*', 'another_of_several*', 'a_third*')", "by what name says"),
    ],
)
def test_what_is_asked_in_words(pattern: str, words: str) -> None:
    assert arguments_in_words(pattern) == words


def test_names() -> None:
    assert names_of("{a,b}.{c,d}() if x in {1}") == ("a.c", "a.d", "b.c", "b.d")
    assert settings_of_use(["a.f", "a.g(1)", "a.f(2)"]) == {
        "code.symbols": ("a.f", "a.g"),
        "code.calls": ("a.g(1)", "a.f(2)"),
    }
    assert settings_of_use(["a.f"]) == {"code.symbols": ("a.f",), "code.calls": ()}


UNREAD = st.builds(Unread, st.from_regex(r"_[1-9]", fullmatch=True))
SIMPLE = (
    UNREAD | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda word: not iskeyword(word))
VALUES = SIMPLE | st.lists(SIMPLE, max_size=3) | st.dictionaries(st.text(), SIMPLE, max_size=3)


@given(
    st.builds(
        Call,
        st.lists(WORDS, min_size=1, max_size=3).map(".".join),
        st.lists(VALUES, max_size=3).map(tuple),
        st.dictionaries(WORDS, VALUES, max_size=3),
        st.booleans(),
    )
)
def test_a_call_is_read_as_it_was_written(call: Call) -> None:
    assert read_call(str(call)) == call
