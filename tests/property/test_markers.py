"""A marker that is read clause by clause is what it is when it is read from left to right."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.requirements.markers import _clauses, _expression
from tests.examples import examples

atoms = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["sys_platform", "extra", "python_version", "os.name", "and", "or", ""]),
    st.sampled_from([" ", ""]),
    st.sampled_from(["==", "!=", "in", "not in", "<", "==="]),
    st.sampled_from([" ", "  "]),
    st.sampled_from(["'linux'", '"a and b"', "'x or y'", "'('", "')'", "'", "name"]),
)
markers = st.recursive(
    atoms,
    lambda inner: (
        st.builds("({})".format, inner)
        | st.builds("{}{}{}".format, inner, st.sampled_from([" and ", " or ", " and", "or ", "  or "]), inner)
    ),
    max_leaves=8,
)
long_ones = st.lists(
    st.lists(
        st.builds("{} == '{}'".format, st.sampled_from(["sys_platform", "extra"]), st.sampled_from("abcd")), min_size=1
    ).map(" and ".join),
    min_size=1,
).map(lambda clauses: " or ".join(f"({clause})" for clause in clauses))


@given(markers | st.text(alphabet="()' =andorex", max_size=30))
@settings(max_examples=examples(300))
def test_whatever_has_clauses_is_the_same_expression(text: str) -> None:
    assert _clauses(text) in (None, _expression(text))


@given(long_ones)
@settings(max_examples=examples(100))
def test_long_markers_have_clauses(text: str) -> None:
    assert _clauses(text) is not None
    assert _clauses(text) == _expression(text)
