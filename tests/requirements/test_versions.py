"""Where builds sit on the order of releases, and what sets of versions say of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.requirements.versions import ALL, VersionSet, Window, any_of, locate, parse_version, upward
from gradcompat.truth import Truth

TORCH_LINES = tuple(
    line
    for line in (Path(__file__).parents[1] / "data" / "torch_versions.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
)
TORCH = tuple(line.partition("  # ")[0] for line in TORCH_LINES)


def window(low: str, high: str) -> Window:
    return Window(Version(low), Version(high))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Releases, with whatever local label: the release itself.
        ("2.5.1", window("2.5.1", "2.5.1")),
        (" v2.5.1 ", window("2.5.1", "2.5.1")),
        ("2.5.1+cu124", window("2.5.1", "2.5.1")),
        ("2.5.1+rocm6.2.4", window("2.5.1", "2.5.1")),
        ("2.5.1+cpu.cxx11.abi", window("2.5.1", "2.5.1")),
        ("2.5.1+local", window("2.5.1", "2.5.1")),
        ("2.9.1+cu129.dist", window("2.9.1", "2.9.1")),
        ("2.7.4.post1+cu12torch2.6cxx11abifalse", window("2.7.4.post1", "2.7.4.post1")),
        ("2.5.1+20241112", window("2.5.1", "2.5.1")),
        ("1.13.1.post200", window("1.13.1.post200", "1.13.1.post200")),
        ("1!2.0", window("1!2.0", "1!2.0")),
        # A commit in the label: anywhere from the release before.
        ("2.5.1+git1234abcd", window("2.5.0", "2.5.1")),
        ("0.14.3+551331d", window("0.14.2", "0.14.3")),
        ("0.14.3+5513310", window("0.14.2", "0.14.3")),
        ("2.4.0+rocm6.3.4.git7cecbf6d", window("2.3.0", "2.4.0")),
        ("0.5.0+g551331d.d20241112", window("0.4.0", "0.5.0")),
        ("2.6.0a0+ecf3bae40a.nv25.1", window("2.5.0", "2.6.0")),
        ("2.1.0a0+4136153", window("2.0.0", "2.1.0")),
        # Trunk, without saying which commit.
        ("4.52.0.dev0", window("4.51.0", "4.52.0")),
        ("2.6.0.dev20241112+cu121", window("2.5.0", "2.6.0")),
        ("4.51.3.dev0", window("4.51.2", "4.51.3")),
        ("2.1.0a0+cxx11.abi", window("2.0.0", "2.1.0")),
        ("2.6.0a0", window("2.5.0", "2.6.0")),
        ("1.0rc2.dev3", window("0.0", "1.0")),
        ("1!2.1.dev0", window("1!2.0.0", "1!2.1")),
        # Behind a major release lies an unknown minor one.
        ("5.0.0.dev0", window("4.0", "5.0.0")),
        ("2.0.0+gitc263bd4", window("1.0", "2.0.0")),
        ("0.0.dev1", window("0.0.dev1", "0.0")),
        # Development behind a release, and behind a candidate.
        ("1.2.post3.dev1", window("1.2", "1.2.post3")),
        ("1.2rc1.post3.dev1+g551331d", window("1.1.0", "1.2")),
        # Published pre-releases: known places.
        ("2.6.0rc1", Window(Version("2.6.0rc1"), Version("2.6.0"), prerelease=True)),
        ("2.6.0b2+cu121", Window(Version("2.6.0b2"), Version("2.6.0"), prerelease=True)),
    ],
)
def test_where_a_build_sits(text: str, expected: Window) -> None:
    assert locate(text) == expected


@pytest.mark.parametrize("text", ["", "latest", "main", "2.x", "1.0-+", "9" * 5000, "1." * 9000, "２.５"])
def test_what_is_no_version(text: str) -> None:
    assert locate(text) is None
    assert parse_version(text) is None
    with pytest.raises(ValueError, match="is not a version"):
        VersionSet.parse(f"=={text or 'x'}")


def test_a_checkout_of_no_tag_may_lie_before_its_release() -> None:
    assert locate("4.52.0", unreleased=True) == window("4.51.0", "4.52.0")
    assert locate("4.52.0") == window("4.52.0", "4.52.0")


def truth(versions: str, build: str) -> Truth:
    found = locate(build)
    assert found is not None
    return VersionSet.parse(versions).truth(found)


@pytest.mark.parametrize(
    ("versions", "build", "expected"),
    [
        ("<2.6.0", "2.6.0a0+ecf3bae40a.nv25.1", Truth.UNKNOWN),
        (">=2.6.0", "2.6.0a0+ecf3bae40a.nv25.1", Truth.UNKNOWN),
        ("<2.5.0", "2.6.0a0+ecf3bae40a.nv25.1", Truth.NO),
        (">=2.5.0", "2.6.0a0+ecf3bae40a.nv25.1", Truth.YES),
        (">=2.4.0,<=2.6.0", "2.6.0a0+ecf3bae40a.nv25.1", Truth.YES),
        (">=2.5.1", "2.5.1+cu124", Truth.YES),
        ("<2.5.1", "2.5.1+cu124", Truth.NO),
        ("==2.5.1", "2.5.1+cu124", Truth.YES),
        ("<2.5.1", "2.5.1.post3", Truth.NO),
        ("<=2.5.1", "2.5.1.post3", Truth.NO),
        (">=4.57.0,<4.57.2", "5.0.0.dev0", Truth.UNKNOWN),
        ("<2.6.0", "1!2.5.0", Truth.NO),
        # A candidate is before its release, and may behave as it.
        ("<2.6.0", "2.6.0rc1", Truth.UNKNOWN),
        (">=2.6.0", "2.6.0rc1", Truth.UNKNOWN),
        (">=2.5.0", "2.6.0rc1", Truth.YES),
        ("<2.5.0", "2.6.0rc1", Truth.NO),
        # Who drew a bound between candidates has looked at them.
        (">=2.6.0rc2", "2.6.0rc1", Truth.NO),
        ("<2.6.0rc2", "2.6.0rc1", Truth.YES),
        ("<2.6.0rc2", "2.6.0rc2", Truth.NO),
        (">=2.6.0rc2,<2.6.0", "2.6.0rc3", Truth.YES),
        (">=2.6.0.dev0,<2.6.0", "2.6.0rc3", Truth.YES),
        ("<2.6rc2", "2.6.0rc1", Truth.YES),
        ("<2.6.0rc2", "2.6rc1", Truth.YES),
        ("<2.6.0rc2", "2.7.0rc1", Truth.NO),
        ("==2.6.*", "2.6.0rc1", Truth.YES),
        ("!=2.6.0", "2.6.0rc1", Truth.UNKNOWN),
    ],
)
def test_truth(versions: str, build: str, expected: Truth) -> None:
    assert truth(versions, build) is expected


def test_there_are_enough_builds_of_torch() -> None:
    assert len(set(TORCH)) == len(TORCH) == 524


def test_each_build_of_torch_says_where_it_was_met() -> None:
    assert [line for line in TORCH_LINES if not re.fullmatch(r"[0-9][0-9a-z.+]*  # [A-Za-z].+[^. ]", line)] == []


@pytest.mark.parametrize("build", TORCH)
def test_builds_of_torch(build: str) -> None:
    found = locate(build)
    assert found is not None
    public = build.partition("+")[0]
    assert parse_version(build) == Version(public)
    assert found.low <= Version(public) <= found.high
    for bound in ("1.13.0", "2.0.0", "2.5.1", "2.6.0rc3", "2.6.0", public, str(found.low), str(found.high)):
        below, above = VersionSet.parse(f"<{bound}").truth(found), VersionSet.parse(f">={bound}").truth(found)
        assert below + above == Truth.YES, bound  # one YES and one NO, or both UNKNOWN
    if found.exact:  # then the label says nothing, and a record speaks of the public version
        assert found == locate(public)
        assert VersionSet.parse(f"=={public}").truth(found) is Truth.YES


@pytest.mark.parametrize(
    ("build", "exact"),
    [("2.5.1+cu124", True), ("2.6.0+xpu", True), ("2.6.0.dev20241112+cu121", False), ("2.6.0+git1eba9b3", False)],
)
def test_only_releases_are_exact(build: str, exact: bool) -> None:
    found = locate(build)
    assert found is not None
    assert found.exact is exact


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("*", "*"),
        (">=1.0 , <2.0", ">=1.0,<2.0"),
        (">=1.0,<2.0||==3.0", ">=1.0,<2.0 || ==3.0"),
        ("==1.0 || >1.0", ">=1.0"),
        ("<1.0 || >=1.0", "*"),
        ("!=1.0", "<1.0 || >1.0"),
        ("==1.2.*", ">=1.2.dev0,<1.3.dev0"),
        ("!=1.2.*", "<1.2.dev0 || >=1.3.dev0"),
        ("~=2.2.1", ">=2.2.1,<2.3.dev0"),
        ("~=2.2", ">=2.2,<3.dev0"),
        ("~=2.2.post3", ">=2.2.post3,<3.dev0"),
        ("==1!2.*", ">=1!2.dev0,<1!3.dev0"),
        ("===1.0+cu118", "==1.0"),
        (">2.0,<1.0", "nothing"),
        (">=3.0 || <1.0 || >=0.5,<2.0", "<2.0 || >=3.0"),
    ],
)
def test_sets_in_their_shortest_form(text: str, shown: str) -> None:
    assert str(VersionSet.parse(text)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`` is not a set of versions: `` has no meaning"),
        ("1.0", "`1.0` is not a set of versions: `1.0` has no meaning"),
        (">=1.0,", "`>=1.0,` is not a set of versions: `` has no meaning"),
        (">=1.0 || ", "`` is not a set of versions: `` has no meaning"),
        ("^1.0", "`^1.0` is not a set of versions: `^1.0` has no meaning"),
        (">=1.0 <2.0", "`>=1.0 <2.0` is not a set of versions: `>=1.0 <2.0` has no meaning"),
        (">=abc", "`abc` is not a version"),
        (">=1.*", "`>=1.*`: a prefix goes with == and != only"),
        ("==1.0a1.*", "`==1.0a1.*`: a prefix is made of numbers only"),
        ("~=2", "`~=2` needs at least two parts"),
    ],
)
def test_what_is_no_set(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        VersionSet.parse(text)


def test_bounded_and_bounds() -> None:
    parsed = VersionSet.parse(">=1.0,<2.0 || ==3.0")
    assert parsed.bounded
    assert [str(bound) for bound in parsed.bounds] == ["1.0", "2.0", "3.0", "3.0"]
    assert not VersionSet.parse(">=1.0").bounded
    assert not VersionSet.parse("<1.0").bounded
    assert not VersionSet(()).bounded
    assert not ALL.bounded


def test_union_of_many() -> None:
    pieces = [VersionSet.parse(f"==1.{minor}") for minor in range(5)]
    assert str(any_of(reversed(pieces))) == "==1.0 || ==1.1 || ==1.2 || ==1.3 || ==1.4"
    assert any_of([]) == VersionSet(())


def test_long_sets_are_read_at_once() -> None:
    # What a hostile lockfile could hold: it took minutes when each alternative was merged by itself.
    many = VersionSet.parse(" || ".join(f"==1.{minor}" for minor in range(5_000)))
    assert len(many.intervals) == 5_000
    assert (many & ~many) == VersionSet(())
    assert (many | ~many) == ALL


def test_the_way_up_leads_to_the_next_patch_and_then_to_last_ones() -> None:
    versions = map(
        Version, ["1!1.0", "4.47.1", "4.48.0", "4.48.1", "4.48.3", "4.49.0", "4.50.0", "4.50.3", "5.0.0", "5.0.1"]
    )
    ordered = upward(versions, Version("4.48.0"))
    assert list(map(str, ordered)) == ["4.48.1", "4.48.3", "4.49.0", "4.50.3", "4.50.0", "5.0.1", "5.0.0", "1!1.0"]
