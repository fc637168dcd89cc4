"""Records as OSV advisories: valid by the published schema, and claiming no more than is true."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from packaging.version import Version

from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import KnowledgeBase, issue_from, load
from gradcompat.knowledge.osv import advisory, plain_ranges, possible_ranges, with_conditions, within
from gradcompat.model.issue import Issue, PackageAbsentTerm, PackageTerm, PlatformTerm, SymbolTerm, Term, VersionRemedy
from gradcompat.requirements.versions import VersionSet
from tests.building import NAMES, equals, issue, versions
from tests.conftest import ROOT
from tests.planner.toy import Table, table

SCHEMA = ROOT / "tests" / "data" / "osv-schema.json"
RELEASES = table(
    {
        "torch": {one: [] for one in ("1.0", "1.1rc1", "1.1", "1.2", "2.0")},
        "pytorch-lightning": {one: [] for one in ("1.9.0", "2.0.0", "2.0.1")},
        "lightning": {one: [] for one in ("2.0.0", "2.0.1", "2.0.1.post0")},
    },
    dead=["peft"],
)


def knowledge(**changes: Any) -> KnowledgeBase:
    base = KnowledgeBase(
        date="2026-01-02",
        digest="0",
        names=NAMES,
        yanked={},
        horizon={"torch": ("2.0", "2026-01-01")},
        by_package={},
        records=(),
    )
    return replace(base, **changes)


def exported(some: Issue, catalogue: Table = RELEASES) -> dict[str, Any]:
    """The advisory, which is valid."""
    found = advisory(some, knowledge(), catalogue)
    assert problems(found) == []
    return found


@cache
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema, which cyclonedx-python-lib brings")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())


def problems(found: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator().iter_errors(found)]


def affected(text: str, catalogue: Table = RELEASES) -> list[Any]:
    found: list[Any] = exported(issue((versions("torch", text),)), catalogue)["affected"]
    return found


def events(text: str, catalogue: Table = RELEASES) -> list[Any]:
    (package,) = affected(text, catalogue)
    assert all(one["type"] == "ECOSYSTEM" for one in package["ranges"])
    return [one["events"] for one in package["ranges"]]


@pytest.mark.e2e  # goes over all records
def test_every_record_that_ships_is_valid() -> None:
    base, snapshot = load(), Snapshot()
    wrong = {
        record["id"]: found
        for record in base.records
        if (found := problems(advisory(issue_from(record), base, snapshot)))
    }
    assert wrong == {}


def test_the_schema_would_see_what_is_wrong() -> None:
    right = exported(issue((versions("torch", "==1.0"),)))
    assert problems({**right, "id": "GC-0001"}) != []  # a prefix that nobody has registered
    assert problems({**right, "modified": "2026-01-02"}) != []
    assert problems({**right, "references": [{"type": "BLOG", "url": "https://example.org"}]}) != []


def test_a_record_in_full() -> None:
    upgrade = VersionRemedy(kind="upgrade", package="torch", versions=VersionSet.parse(">=1.2"), note="or later")
    some = replace(issue((versions("torch", ">=1.0,<1.2"),), remedies=(upgrade,)), summary="It is wrong", details="So.")
    assert exported(some) == {
        "schema_version": "1.7.5",
        "id": "x_GC-0001",
        "modified": "2026-01-02T00:00:00Z",
        "aliases": ["GC-0001"],
        "summary": "It is wrong",
        "details": "So.\n\nNothing is raised: the run goes on, wrong.\n\nAffected when:\n\n* torch is >=1.0,<1.2\n\n"
        "What to do, in order:\n\n* upgrade torch to >=1.2 (or later)",
        "affected": [
            {
                "package": {"ecosystem": "PyPI", "name": "torch", "purl": "pkg:pypi/torch"},
                "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "1.0"}, {"fixed": "1.2"}]}],
                "versions": ["1.0", "1.1rc1", "1.1"],
            }
        ],
        "references": [
            {"type": some.references[0].type, "url": some.references[0].url},
            *([] if some.references[0].type == "WEB" else [{"type": "WEB", "url": some.references[0].url}]),
        ],
        "database_specific": {
            "record": "GC-0001",
            "level": "error",
            "silent": True,
            "informational": False,
            "categories": list(some.categories),
            "conditional": False,
            "combinations": [
                {"text": "torch is >=1.0,<1.2", "terms": [{"package": "torch", "versions": ">=1.0,<1.2"}]}
            ],
            "remedies": [
                {
                    "text": "upgrade torch to >=1.2 (or later)",
                    "kind": "upgrade",
                    "package": "torch",
                    "versions": ">=1.2",
                }
            ],
            "range_basis": some.range_basis,
            "bounds": [],
            "horizon": {"torch": "2.0"},
        },
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", [[{"introduced": "0"}]]),
        ("<1.1", [[{"introduced": "0"}, {"fixed": "1.1"}]]),
        (">=1.1", [[{"introduced": "1.1"}]]),
        (
            ">=1.0,<1.1 || >=1.2",
            [[{"introduced": "1.0"}, {"fixed": "1.1"}, {"introduced": "1.2"}]],
        ),
        # Auditors show what is fixed; the next release is where they send people.
        ("==1.1", [[{"introduced": "1.1"}, {"fixed": "1.2"}]]),
        ("<=1.2", [[{"introduced": "0"}, {"fixed": "2.0"}]]),
        # Nothing is known behind the last one, and a candidate is no way out.
        ("==2.0", [[{"introduced": "2.0"}, {"last_affected": "2.0"}]]),
        ("==1.0", [[{"introduced": "1.0"}, {"last_affected": "1.0"}]]),
        # One range cannot hold both kinds of end.
        (
            "<0.9 || ==1.0",
            [[{"introduced": "0"}, {"fixed": "0.9"}], [{"introduced": "1.0"}, {"last_affected": "1.0"}]],
        ),
        # Just above a version there is no event; the lowest version that is higher is the same.
        (">1.0", [[{"introduced": "1.0.post0.dev0"}]]),
        (">1.0.post1", [[{"introduced": "1.0.post2.dev0"}]]),
        (">1.0.dev1", [[{"introduced": "1.0.dev2"}]]),
    ],
)
def test_ranges_become_events(text: str, expected: list[Any]) -> None:
    assert events(text) == expected


@pytest.mark.parametrize("text", ["*", "<1.1", "<=1.1", ">1.0", "==1.1 || ==1.2", ">=1.0,<1.1 || >1.1,<=2.0", "==1.0"])
def test_the_algorithm_of_the_specification_finds_the_same_releases(text: str) -> None:
    wanted = VersionSet.parse(text)
    for version in map(Version, ("0.1", "1.0", "1.1", "1.2", "2.0", "2.1")):
        claimed = any(is_within(version, one) for one in events(text))
        assert claimed == (version in wanted), (text, str(version))


def is_within(version: Version, events: list[dict[str, str]]) -> bool:
    """`IncludedInRanges` of the specification, for one range."""
    vulnerable = False
    for event in events:
        ((kind, text),) = event.items()
        at = Version(text)
        if kind == "introduced" and version >= at:
            vulnerable = True
        elif (kind == "fixed" and version >= at) or (kind == "last_affected" and version > at):
            vulnerable = False
    return vulnerable


def test_a_yanked_release_is_no_way_out() -> None:
    yanked = table({"torch": {"1.0": [], "1.1": {"yanked": True}, "1.2": []}})
    assert events("==1.0", yanked) == [[{"introduced": "1.0"}, {"last_affected": "1.0"}]]


@pytest.mark.parametrize(
    "terms",
    [
        (versions("torch", "==1.0"), equals("training.packing", True)),
        (versions("torch", "==1.0"), versions("peft", "==1.0")),
        (versions("torch", "==1.0"), versions("peft")),
        (versions("torch", "==1.0"), PackageAbsentTerm(name="peft")),
        (versions("torch", "==1.0"), PlatformTerm(platforms=("linux",))),
    ],
)
def test_what_hangs_on_something_claims_nothing(terms: tuple[Term, ...]) -> None:
    some = exported(issue(terms))
    assert some["affected"] == []
    assert some["database_specific"]["conditional"] is True
    assert some["database_specific"]["combinations"][0]["terms"][0] == {"package": "torch", "versions": "==1.0"}
    assert plain_ranges(issue(terms)) == {}
    assert "torch" in possible_ranges(issue(terms))


def test_only_the_combination_without_conditions_claims_its_range() -> None:
    both = exported(
        issue((versions("torch", "==1.1"),), (versions("torch", ">=1.0"), equals("training.packing", True)))
    )
    assert both["affected"][0]["versions"] == ["1.1"]
    assert len(both["database_specific"]["combinations"]) == 2


def test_what_is_no_defect_claims_nothing() -> None:
    note = issue((versions("torch", ">=1.0"),), informational=True)
    assert exported(note)["affected"] == []
    assert possible_ranges(note) == {}


def test_a_package_with_several_names_is_affected_under_each() -> None:
    found = exported(issue((versions("pytorch-lightning", ">=2.0.0,<=2.0.1"),)))["affected"]
    assert [(one["package"]["name"], one["versions"]) for one in found] == [
        ("lightning", ["2.0.0", "2.0.1"]),
        ("pytorch-lightning", ["2.0.0", "2.0.1"]),
    ]


def test_a_package_without_known_releases_is_a_range_alone() -> None:
    (found,) = exported(issue((versions("peft", "<=1.0"),)))["affected"]
    assert found["ranges"][0]["events"] == [{"introduced": "0"}, {"last_affected": "1.0"}]
    assert "versions" not in found


def test_a_candidate_that_may_have_the_fix_is_not_listed() -> None:
    (found,) = affected("<1.1")
    assert found["versions"] == ["1.0"]  # and not 1.1rc1


def test_a_withdrawn_record_says_so() -> None:
    found = exported(replace(issue((versions("torch", "==1.0"),)), summary="It is wrong", withdrawn="it was not"))
    assert found["withdrawn"] == found["modified"] == "2026-01-02T00:00:00Z"
    assert found["summary"] == "It is wrong (withdrawn: it was not)"


def test_conditions_can_stand_in_the_summary() -> None:
    def summary(*combinations: tuple[Term, ...]) -> str:
        some = replace(issue(*combinations), summary="It is wrong")
        found = with_conditions(exported(some), some)
        assert problems(found) == []
        return str(found["summary"])

    packing, plain = (versions("torch", ">=1.0"), equals("training.packing", True)), (versions("torch", "==1.0"),)
    assert summary(plain, packing) == "It is wrong"
    assert summary(packing) == "It is wrong (only if torch is >=1.0 and training.packing is true)"
    assert summary(packing, packing, packing).endswith("packing is true, or in 2 other cases)")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0", True),
        ("1.0+cu124", True),
        ("1.1", False),
        ("1.1.0a0+git1234abc", False),
        ("1.1rc1", False),
        ("x", False),
    ],
)
def test_only_what_is_certainly_in_a_range_is(version: str, expected: bool) -> None:
    assert within(version, VersionSet.parse(">=1.0,<1.1")) is expected


def _of_use(package: PackageTerm, others: Sequence[Term]) -> bool:
    """Do the others ask for nothing else than that it is used?"""
    own = f"{package.name.replace('-', '_')}.*"
    return all(
        isinstance(one, SymbolTerm) and own in one.symbols and all(name.count(".") == 1 for name in one.symbols)
        for one in others
    )


def test_every_plain_term_that_ships_is_claimed() -> None:
    """The other way round: nothing that holds without conditions is lost."""
    base, snapshot = load(), Snapshot()
    for some in base.in_force():
        plain = {
            one.terms[0].name
            for one in some.affected
            if isinstance(one.terms[0], PackageTerm) and not some.informational and _of_use(one.terms[0], one.terms[1:])
        }
        claimed = {one["package"]["name"] for one in advisory(some, base, snapshot)["affected"]}
        assert plain <= claimed
        assert {base.names.families.get(name, name) for name in claimed} == plain
