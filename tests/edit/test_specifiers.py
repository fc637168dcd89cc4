from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.edit.pins import PinEdit
from gradcompat.edit.specifier_clauses import Dialect
from gradcompat.edit.specifiers import allows_old, is_settled, moved
from gradcompat.errors import EditError


def pin(old: str | None, new: str, kind: str = "upgrade") -> PinEdit:
    assert kind in ("upgrade", "downgrade", "add")
    return PinEdit(package="transformers", version_from=old, version_to=new, kind=kind)  # type: ignore[arg-type] # literal


UP = pin("4.49.0", "4.52.0")
UP_BY_A_PATCH = pin("4.52.0", "4.52.3")
DOWN = pin("4.49.0", "4.48.3")
NEXT_MAJOR = pin("4.49.0", "5.1.0")


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        # exact
        ("==4.49.0", UP, "==4.52.0"),
        ("== 4.49.0", UP, "== 4.52.0"),
        ("===4.49.0", UP, "===4.52.0"),
        ("==4.49.0", DOWN, "==4.48.3"),
        ("==2.5.1+cu124", pin("2.5.1+cu124", "2.6.0"), "==2.6.0"),
        ("==2.5.1+cu124", pin("2.5.1+cu124", "2.6.0+cu126"), "==2.6.0+cu126"),
        ("==2.5.1", pin("2.5.1+cu118", "2.5.1+cu124"), "==2.5.1+cu124"),
        (">=2.5", pin("2.5.1+cu118", "2.5.1+cu124"), "==2.5.1+cu124"),
        # lower bounds
        ("", UP, ">=4.52.0"),
        (">=4.45", UP, ">=4.52.0"),
        (">4.45", UP, ">=4.52.0"),
        (">=4.45,>4.46", UP, ">=4.52.0"),
        (">= 4.45 , < 5", UP, ">= 4.52.0 , < 5"),
        ("<5", UP, ">=4.52.0,<5"),
        ("!=4.46.0", UP, ">=4.52.0,!=4.46.0"),
        ("!=4.46.0, <5", UP, ">=4.52.0, !=4.46.0, <5"),
        # upper bounds
        (">=4.45,<4.50", UP, ">=4.52.0,<4.53"),
        (">=4.45,<4.50.0", UP, ">=4.52.0,<4.53.0"),
        (">=4.45,<5", NEXT_MAJOR, ">=5.1.0,<6"),
        (">=4.45,<5.0.0", NEXT_MAJOR, ">=5.1.0,<6.0.0"),
        (">=4.45,<4.50.dev0", UP, ">=4.52.0,<4.53"),
        ("<=4.50", UP, ">=4.52.0,<=4.52.0"),
        (">=4.45,<5", pin("4.49.0", "5.0.0rc1"), ">=5.0.0rc1,<6"),
        (">=2.4,!=2.5.0", pin("2.5.0", "2.6.0rc1"), ">=2.6.0rc1,!=2.5.0"),
        # compatible, prefixes
        ("~=4.49.0", UP, "~=4.52.0"),
        ("~=4.49", UP, "~=4.52"),
        ("~=4.49", UP_BY_A_PATCH, ">=4.52.3,~=4.52"),
        ("~=4.49", NEXT_MAJOR, "~=5.1"),
        ("~=4.49.0", pin("4.49.0", "5"), "~=5.0.0"),
        ("==4.49.*", UP, "==4.52.*"),
        ("==4.52.*", UP_BY_A_PATCH, ">=4.52.3,==4.52.*"),
        ("==4.*", UP, ">=4.52.0,==4.*"),
        # excluded
        (">=4.45,!=4.52.0", UP, ">=4.52.0"),
        (">=4.45,!=4.52.*,<5", UP, ">=4.52.0,<5"),
        # downwards
        ("", DOWN, "<=4.48.3"),
        (">=4.45", DOWN, ">=4.45,<=4.48.3"),
        (">=4.45, <5", DOWN, ">=4.45, <=4.48.3"),
        (">=4.49", DOWN, ">=4.48.3,<=4.48.3"),
        ("~=4.49.0", DOWN, "~=4.48.3"),
        ("~=4.45", DOWN, "~=4.45,<=4.48.3"),
        ("==4.49.*", DOWN, "==4.48.*"),
        ("==4.*", DOWN, "==4.*,<=4.48.3"),
        ("<4.48", pin("4.47.1", "4.46.3"), "<=4.46.3"),
        # nothing to do
        (">=4.52", UP, ">=4.52"),
        (">=4.45,!=4.49.0", UP, ">=4.45,!=4.49.0"),
        ("==4.52", UP, "==4.52"),
        (">=4.45", pin("4.49.0", "4.49.0"), ">=4.45"),
        (">=4.45", pin(None, "4.52.0", "add"), ">=4.45"),
        # the old version is not known
        (">=4.45", pin(None, "4.52.0"), ">=4.52.0"),
        (">=4.45", pin(None, "4.48.3", "downgrade"), ">=4.45,<=4.48.3"),
        (">=4.45", pin("a checkout", "4.52.0"), ">=4.52.0"),
        # vendors and epochs
        (">=2.5", pin("2.6.0a0+ecf3bae40a.nv25.1", "2.6.0"), ">=2.6.0"),
        ("~=1!2.3", pin("1!2.3", "1!2.5"), "~=1!2.5"),
    ],
)
def test_a_specifier_moves(before: str, change: PinEdit, after: str) -> None:
    result = moved(before, change).specifier
    assert result == after
    assert moved(result, change).specifier == result


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("4.49.0", UP, "4.52.0"),
        ("=4.49.0", UP, "=4.52.0"),
        ("^4.45", UP, "^4.52.0"),
        ("^4.45", NEXT_MAJOR, "^5.1.0"),
        ("^4", UP, "^4.52.0"),
        ("^0.3.1", pin("0.3.1", "0.4.2"), "^0.4.2"),
        ("~4.49", UP, "~4.52.0"),
        ("~4", UP, ">=4.52.0,~4"),
        ("4.49.*", UP, "4.52.*"),
        ("4.*", UP, ">=4.52.0,4.*"),
        ("*", UP, ">=4.52.0"),
        ("*", DOWN, "<=4.48.3"),
        (">=4.45 <5", UP, ">=4.52.0 <5"),
        ("^4.45", DOWN, "^4.45,<=4.48.3"),
        ("^4.49", DOWN, "^4.48.3,<=4.48.3"),
        ("~4.49", DOWN, "~4.48.3"),
        ("^3 || ^4.45", UP, "^3 || ^4.52.0"),
        ("^3 || ^4.45", pin("3.5.1", "4.50.0"), "^4.50.0 || ^4.45"),
        ("^3 || ^4.45", pin(None, "4.52.0"), " ^4.52.0"),
        (">=4.52,<5.0", UP, ">=4.52,<5.0"),
    ],
)
def test_a_constraint_of_poetry_moves(before: str, change: PinEdit, after: str) -> None:
    result = moved(before, change, "poetry").specifier
    assert result == after
    assert moved(result, change, "poetry").specifier == result


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("=2.4", pin("2.4.1", "2.6.0"), "=2.6"),
        ("=2.4", pin("2.4.1", "2.6.1"), "=2.6.1"),
        ("=2.4", pin("2.4.0", "2.4.1"), "=2.4.1"),
        ("=2.4", pin("2.4.1", "2.3.0"), "=2.3.0"),
        ("=2.4.*", pin("2.4.1", "2.6.0"), "=2.6.*"),
        ("2.4.*", pin("2.4.1", "2.6.0"), "2.6.*"),
        ("==2.4.1", pin("2.4.1", "2.6.0"), "==2.6.0"),
        (" 2.4.1", pin("2.4.1", "2.6.0"), " 2.6.0"),
        (">=2.4,<2.5", pin("2.4.1", "2.6.0"), ">=2.6.0,<2.7"),
        (">=2.4.*", pin("2.4.1", "2.6.0"), ">=2.6.0"),
        ("2.3.*|2.4.*", pin("2.4.1", "2.6.0"), "2.3.*|2.6.*"),
        ("=0.1.5.post20221221", pin("0.1.5.post20221221", "0.1.6"), "=0.1.6"),
        ("=1.1.1t", pin("1.1.1t", "3.0.0"), "=3.0.0"),
        ("=1.1.1t", pin("3.0.1", "3.0.2"), "=3.0.2"),
    ],
)
def test_a_specification_of_conda_moves(before: str, change: PinEdit, after: str) -> None:
    result = moved(before, change, "conda").specifier
    assert result == after
    assert moved(result, change, "conda").specifier == result


def test_what_is_left_out_is_said() -> None:
    assert moved(">=4.45,!=4.52.0", UP).notes == (
        "`transformers`: `!=4.52.0` is left out, because it excludes the new version",
    )
    assert moved("==4.49.0+local.1", UP).notes == (
        "`transformers`: the local label `+local.1` is left out, because the new version has none",
    )
    assert moved("^3 || ^4", pin(None, "4.52.0"), "poetry").notes == (
        "`transformers`: of the alternatives `^3 || ^4` only the last one is kept",
    )


def test_settled_and_old() -> None:
    assert is_settled(">=4.52,<5", UP)
    assert not is_settled(">=4.45", UP)
    assert allows_old(">=4.45", UP)
    assert not allows_old("==4.40.0", UP)
    assert allows_old("==4.40.0", pin(None, "4.52.0"))


@pytest.mark.parametrize(
    ("specifier", "dialect"),
    [
        ("4.49.0", "pep440"),
        ("=>4.49", "pep440"),
        (">=4.45 <5", "pep440"),
        ("^4", "pep440"),
        (">=", "pep440"),
        (">=" + "9" * 5000, "pep440"),
        (">=" + "9" * 900, "pep440"),
        ("^four", "poetry"),
        ("^4 || four", "poetry"),
        ("~4", "conda"),
        (">=4 <5", "conda"),
    ],
)
def test_what_is_no_specifier_is_refused(specifier: str, dialect: Dialect) -> None:
    if specifier == ">=" + "9" * 900:
        assert moved(specifier, UP, dialect).specifier == ">=4.52.0"  # silly, and a specifier
        return
    shown = specifier if len(specifier) <= 80 else specifier[:79] + "…"
    with pytest.raises(EditError) as error:
        moved(specifier, UP, dialect)
    assert str(error.value) == f"`{shown}` is not a specifier"


def test_a_version_that_is_none_is_refused() -> None:
    with pytest.raises(EditError) as error:
        moved(">=4", pin("4.49.0", "latest"))
    assert str(error.value) == "`transformers` is to move to `latest`, which is not a version"


numbers = st.integers(0, 4)
releases = st.lists(numbers, min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
suffixes = st.sampled_from(["", "", "", "", "rc1", ".post1", ".dev2", "a0"])
versions = st.builds(lambda release, suffix: release + suffix, releases, suffixes)
plain = st.one_of(
    st.builds(
        lambda operator, version: operator + version, st.sampled_from(["==", ">=", ">", "<=", "<", "!="]), versions
    ),
    st.builds(lambda operator, release: f"{operator}{release}.*", st.sampled_from(["==", "!="]), releases),
    st.builds(lambda release, suffix: f"~={release}.0{suffix}", releases, suffixes),
)
specifiers = st.lists(plain, max_size=4).map(",".join)
changes = st.builds(
    lambda old, new, kind: PinEdit(package="x", version_from=old, version_to=new, kind=kind),
    st.one_of(st.none(), versions, versions.map(lambda version: version + "+cu124")),
    versions,
    st.sampled_from(["upgrade", "downgrade", "add"]),
)


@given(specifiers, changes)
def test_the_result_allows_the_new_version_and_not_the_old_one(specifier: str, change: PinEdit) -> None:
    old = None if change.version_from is None else Version(change.version_from)
    new = Version(change.version_to)
    assume(old is None or Version(old.public) != new)
    result = moved(specifier, change).specifier
    allowed = SpecifierSet(result)
    assert allowed.contains(new, prereleases=True), result
    if old is not None:
        assert not allowed.contains(old, prereleases=True), result
    elif change.kind != "add":
        # Nothing on the wrong side of the new version is left, but for pre-releases that share a prefix with it.
        beyond = Version("0" if change.kind == "upgrade" else "5")
        assume(Version(new.base_version) != beyond)
        assert not allowed.contains(beyond, prereleases=True), result
    assert moved(result, change).specifier == result


@given(specifiers, changes)
def test_a_clause_that_is_no_obstacle_stays(specifier: str, change: PinEdit) -> None:
    result = moved(specifier, change).specifier
    if not specifier:
        return
    if result in (f"=={change.version_to}", f"==={change.version_to}"):
        # A pin takes the place of a pin; elsewhere it would say more than anybody asked for.
        assert "==" in specifier, result
        return
    kept = set(result.split(","))
    new = Version(change.version_to)
    for clause in specifier.split(","):
        if clause.startswith("!=") and SpecifierSet(clause).contains(new, prereleases=True):
            assert clause in kept, result


poetry_clauses = st.one_of(
    st.builds(
        lambda operator, version: operator + version,
        st.sampled_from(["", "=", "==", ">=", ">", "<=", "<", "!=", "^", "~"]),
        versions,
    ),
    releases.map(lambda release: release + ".*"),
    st.just("*"),
)
constraints = st.lists(st.lists(poetry_clauses, min_size=1, max_size=3).map(",".join), min_size=1, max_size=2).map(
    " || ".join
)


@given(constraints, changes)
def test_a_second_edit_of_poetry_changes_nothing(constraint: str, change: PinEdit) -> None:
    result = moved(constraint, change, "poetry").specifier
    assert moved(result, change, "poetry").specifier == result
