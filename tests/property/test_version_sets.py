"""The algebra of version sets against membership, and its operators against ``packaging``."""

from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.knowledge.range_index import RangeIndex, index_of
from gradcompat.matching.entries import Listed
from gradcompat.requirements.versions import ALL, VersionSet, any_of, locate
from gradcompat.truth import Truth
from tests.building import package
from tests.examples import examples

OFTEN = settings(deadline=None, max_examples=examples(150))

numbers = st.integers(0, 3)
suffixes = st.sampled_from(
    ["", "", "", "a0", "a1", "rc1", "rc2", ".post0", ".post1", ".dev0", "rc1.dev2", ".post1.dev0"]
)
finals = st.builds("{}.{}.{}".format, numbers, numbers, numbers) | st.builds("{}.{}".format, numbers, numbers)
epochs = st.sampled_from(["", "", "", "", "1!"])
texts = st.builds("{}{}{}".format, epochs, finals, suffixes)
versions = st.builds(Version, texts)
operators = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
clauses = (
    st.builds("{}{}".format, operators, texts)
    | st.builds("~={}".format, finals)
    | st.builds("{}{}.*".format, st.sampled_from(["==", "!="]), finals)
)
conjunctions = st.lists(clauses, min_size=1, max_size=3).map(",".join)
sets = st.lists(conjunctions, min_size=1, max_size=3).map(" || ".join).map(VersionSet.parse)
labels = st.sampled_from(["", "+cu124", "+cpu.cxx11.abi", "+git1234abcd", "+ecf3bae40a.nv25.1", "+551331d"])
builds = st.builds("{}{}".format, texts, labels)


@OFTEN
@given(sets, sets, versions)
def test_membership(a: VersionSet, b: VersionSet, version: Version) -> None:
    assert (version in (a | b)) == (version in a or version in b)
    assert (version in (a & b)) == (version in a and version in b)
    assert (version in ~a) == (version not in a)
    if a <= b:
        assert version not in a or version in b


@OFTEN
@given(sets, sets, sets)
def test_laws(a: VersionSet, b: VersionSet, c: VersionSet) -> None:
    assert ~~a == a
    assert a | b == b | a
    assert a & b == b & a
    assert ~(a | b) == ~a & ~b
    assert (a | b) & c == (a & c) | (b & c)
    assert any_of([a, b, c]) == any_of([c, a, b]) == a | b | c
    assert a & b <= a <= a | b
    assert (a <= b) == (a | b == b)
    assert a & ~a == VersionSet(())
    assert a | ~a == ALL


@OFTEN
@given(sets)
def test_what_is_shown_is_what_is_read(a: VersionSet) -> None:
    if a:
        assert VersionSet.parse(str(a)) == a
    else:
        assert str(a) == "nothing"


@OFTEN
@given(st.lists(clauses, min_size=1, max_size=3), finals)
def test_operators_agree_with_packaging(parts: list[str], final: str) -> None:
    # Bounds at pre-releases or at post-releases are read differently on purpose (`<2.6` has 2.6rc1 here, and `>2.6`
    # has 2.6.post1), final releases between them never.
    text = ",".join(parts)
    assert (Version(final) in VersionSet.parse(text)) == SpecifierSet(text, prereleases=True).contains(final)


@OFTEN
@given(builds, texts)
def test_below_and_above_are_never_both(build: str, bound: str) -> None:
    found = locate(build)
    assert found is not None
    assert found.low <= found.high
    below, above = VersionSet.parse(f"<{bound}").truth(found), VersionSet.parse(f">={bound}").truth(found)
    assert below + above == Truth.YES


@OFTEN
@given(builds, sets)
def test_truth_of_a_complement(build: str, a: VersionSet) -> None:
    found = locate(build)
    assert found is not None
    assert a.truth(found) + (~a).truth(found) == Truth.YES


@OFTEN
@given(builds, sets, versions)
def test_a_build_is_judged_as_every_place_of_its_window(build: str, a: VersionSet, place: Version) -> None:
    found = locate(build)
    assert found is not None
    if found.low <= place <= found.high and not found.prerelease:
        truth = a.truth(found)
        assert truth is not Truth.YES or place in a
        assert truth is not Truth.NO or place not in a


# So few that bounds and builds often meet.
near = st.sampled_from(
    ["1.0", "1.1", "1.1.post0", "1.2", "1.2rc1", "1.3", "2.0", "2.0.dev0", "2.1", "2.2", "2.3+cu124"]
)
near_clauses = st.lists(
    st.builds("{}{}".format, operators, st.sampled_from(["1.0", "1.1", "1.3", "2.1", "2.2"])), min_size=1, max_size=3
)
near_sets = (near_clauses.map(" || ".join) | near_clauses.map(",".join)).map(VersionSet.parse)


@OFTEN
@given(st.lists((sets | near_sets).filter(bool), min_size=1, max_size=4), st.lists(builds | near, max_size=12))
def test_the_index_rules_out_what_no_build_may_be_in(ranges: list[VersionSet], listed: list[str]) -> None:
    index = RangeIndex(index_of({"affected": [[["package", "torch", str(one)]]]} for one in ranges))
    windows = frozenset(window for window in map(locate, listed) if window is not None)
    for position, one in enumerate(ranges):
        may_be = any(one.truth(window) is not Truth.NO for window in windows)
        left = index.possible(position, {"torch": windows}, closed=True)
        # A candidate before a bound that is one is no build of the release behind it, which the index does not know.
        assert left == may_be or (left and any(window.prerelease for window in windows))
    assert index.possible(0, {"torch": windows | {None}}, closed=True)
    assert index.possible(0, {}, closed=False)
    assert not index.possible(0, {}, closed=True)


@given(sets | near_sets, sets | near_sets)
def test_a_set_that_is_read_later_is_the_same(a: VersionSet, b: VersionSet) -> None:
    later = VersionSet.spelled(str(a)) if a else a
    assert later == a
    assert hash(VersionSet.spelled(str(b)) if b else b) == hash(b)
    assert pickle.loads(pickle.dumps(later)) == a  # noqa: S301  # made here


@OFTEN
@given(sets | near_sets, st.lists(builds | near, min_size=5, max_size=30, unique_by=locate))
def test_entries_that_may_be_in_a_set(a: VersionSet, listed: list[str]) -> None:
    entries = [package("torch", version) for version in listed]
    left = [one for group in Listed(entries).perhaps_in(a) for one in group]
    assert left == sorted(left, key=entries.index)
    for version, entry in zip(listed, entries, strict=True):
        window = locate(version)
        if entry not in left:
            assert len(listed) > 8
            assert window is not None
            assert a.truth(window) is Truth.NO
        elif len(listed) > 8 and window is not None and window.exact:
            assert a.truth(window) is Truth.YES
