"""Plans where a table alone does not say it: several runs, findings nobody asked about, a search that is cut off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradcompat.matching.matcher import match
from gradcompat.model.environment import Location, Setting
from gradcompat.model.plan import Change, Plan, SettingChange, Verified
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request
from tests.building import HERE, NAMES, package
from tests.building import environment as built
from tests.planner.toy import TARGET, change_text, issue, planned, shown, table

ACCUMULATION = "training.gradient_accumulation_steps"
TRANSFORMERS: dict[str, Any] = {"transformers": {"4.46.0": [], "4.46.1": [], "4.47.0": []}}


def asked(**fields: Any) -> Request:
    return Request(target=TARGET, **fields)


def test_a_plan_as_a_whole() -> None:
    made = planned(
        built(package("transformers", "4.46.0", line=7)),
        [issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}}]})],
        table(TRANSFORMERS),
        asked(),
    )
    assert made == Plan(
        source="uv.lock",
        complete=True,
        changes=(
            Change(
                package="transformers",
                version_from="4.46.0",
                version_to="4.46.1",
                kind="upgrade",
                direct=None,
                cures=("GC-0001",),
                locations=(Location(path="uv.lock", line=7),),
            ),
        ),
        fixed=("GC-0001",),
        cost="1 package, a patch up",
        verified=Verified(
            matched_again=True,
            requirements=True,
            wheels=True,
            smallest=True,
            against="a table",
            target="Python 3.11.7 on Linux x86_64",
        ),
    )


def test_nothing_to_do() -> None:
    record = issue(1, {"affected": [{"packages": {"transformers": "==4.40.0"}}]})
    made = planned(built(package("transformers", "4.46.0")), [record], table(TRANSFORMERS), asked())
    assert shown(made) == {"complete": True}


def test_a_plan_suits_every_run() -> None:
    """One run needs the release behind 4.46.0, the other may not have 4.46.1."""
    here = built(package("transformers", "4.46.0"))
    issues = [
        issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}, "settings": {ACCUMULATION: 4}}]}),
        issue(2, {"affected": [{"packages": {"transformers": "==4.46.1"}, "settings": {ACCUMULATION: 8}}]}),
    ]
    runs = [replace(here, settings=(Setting(key=ACCUMULATION, value=value, location=HERE),)) for value in (4, 8)]
    findings = [finding for run in runs for finding in match(run, issues, NAMES)]
    made = plan(here, findings, issues, NAMES, table(TRANSFORMERS), asked(), runs=runs)
    assert [change_text(one) for one in made.changes] == ["transformers 4.46.0 -> 4.47.0"]
    assert made.fixed == ("GC-0001",)
    assert made.complete


@pytest.mark.parametrize(("release", "set_to"), [("4.45.0", []), ("4.46.0", [1])])
def test_a_setting_counts_where_the_listed_release_has_it(release: str, set_to: list[int]) -> None:
    remedy = {"kind": "setting", "key": ACCUMULATION, "value": 1, "packages": {"transformers": ">=4.46.0"}}
    record = {
        "affected": [{"packages": {"transformers": "*"}, "settings": {ACCUMULATION: ">1"}}],
        "remedies": [remedy],
    }
    setting = Setting(key=ACCUMULATION, value=4, location=HERE)
    here = replace(built(package("transformers", release)), settings=(setting,))
    made = planned(here, [issue(1, record)], table({"transformers": {release: []}}), asked())
    assert [change.value for change in made.settings] == set_to


def test_a_setting_is_shown_where_it_stands() -> None:
    record = {
        "affected": [{"packages": {"transformers": "*"}, "settings": {ACCUMULATION: ">1"}}],
        "remedies": [{"kind": "setting", "key": ACCUMULATION, "value": 1, "note": "with a larger batch"}],
    }
    where = Location(path="train.py", line=12)
    setting = Setting(key=ACCUMULATION, value=4, location=where, spelling="gradient_accumulation_steps={},")
    here = replace(built(package("transformers", "4.46.0")), settings=(setting,))
    made = planned(here, [issue(1, record)], table(TRANSFORMERS), asked())
    assert made.settings == (
        SettingChange(
            key=ACCUMULATION,
            value=1,
            cures=("GC-0001",),
            location=where,
            line="gradient_accumulation_steps=1,",
            note="with a larger batch",
        ),
    )
    assert made.complete


def test_a_finding_that_nobody_asked_about_may_stay() -> None:
    here = built(package("transformers", "4.46.0"), package("trl", "0.9.0"))
    issues = [
        issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}}]}),
        issue(2, {"affected": [{"packages": {"trl": "==0.9.0"}}]}),
    ]
    wanted = match(here, issues[:1], NAMES)
    made = plan(here, wanted, issues, NAMES, table({**TRANSFORMERS, "trl": {"0.9.0": [], "0.9.1": []}}), asked())
    assert shown(made) == {
        "complete": True,
        "changes": ["transformers 4.46.0 -> 4.46.1"],
        "fixed": ["GC-0001"],
        "tolerated": ["GC-0002"],
        "cost": "1 package, a patch up",
    }


def test_what_comes_below_the_level_is_named() -> None:
    issues = [
        issue(1, {"affected": [{"packages": {"transformers": "<4.47"}}]}),
        issue(2, {"affected": [{"packages": {"transformers": ">=4.47"}}], "level": "warning"}),
    ]
    made = planned(built(package("transformers", "4.46.0")), issues, table(TRANSFORMERS), asked())
    assert (made.complete, made.introduced) == (True, ("GC-0002",))
    strict = planned(built(package("transformers", "4.46.0")), issues, table(TRANSFORMERS), asked(level="warning"))
    assert (strict.complete, strict.remaining) == (False, ("GC-0001",))
    assert strict.core == (
        "GC-0001 has to go, and it is there where transformers is <4.47",
        "GC-0002 has to go, and it is there where transformers is >=4.47",
    )


def test_findings_that_have_nothing_to_do_with_one_another_are_no_product() -> None:
    """Twenty good releases of each of four packages are 160,000 plans; a few states prove which one is the smallest."""
    names = ("one", "two", "three", "four")
    releases: dict[str, Any] = {name: {f"1.{number}": [] for number in range(90)} for name in names}
    issues = [issue(number, {"affected": [{"packages": {name: "<1.70"}}]}) for number, name in enumerate(names, 1)]
    made = planned(built(*(package(name, "1.0") for name in names)), issues, table(releases), asked(limit=50))
    assert [change_text(one) for one in made.changes] == [f"{name} 1.0 -> 1.70" for name in sorted(names)]
    assert made.verified.smallest


def test_a_search_that_is_cut_off_says_so() -> None:
    """Only the last of many releases can be installed, and nobody looks that far."""
    releases: dict[str, Any] = {f"1.{number}": ["trl>=9"] for number in range(1, 60)}
    catalogue = table({"one": {"1.0": [], **releases, "1.60": []}, "trl": {"0.9.0": [], "0.9.1": []}})
    here = built(package("one", "1.0"), package("trl", "0.9.0"))
    record = issue(1, {"affected": [{"packages": {"one": "==1.0"}}]})
    whole = planned(here, [record], catalogue, asked())
    assert [change_text(one) for one in whole.changes] == ["one 1.0 -> 1.60"]
    cut = planned(here, [record], catalogue, asked(limit=20))
    assert (cut.complete, cut.changes, cut.remaining, cut.verified.smallest) == (False, (), ("GC-0001",), False)
    assert cut.core == (
        "GC-0001 has to go, and it is there where one is ==1.0",
        "the search was cut off after 20 states, so that a plan may exist nevertheless",
    )


def test_metadata_of_what_is_installed_is_asked_first() -> None:
    catalogue = table({**TRANSFORMERS, "trl": {"0.9.0": [], "0.9.1": ["transformers>=4.47"]}}, dead=["trl 0.9.0"])
    here = built(package("transformers", "4.46.0"), package("trl", "0.9.0"))
    record = issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}}]})
    blind = planned(here, [record], catalogue, asked())
    assert blind.verified.unverified == ("what trl requires could not be looked up",)
    known = {("trl", "0.9.0"): ("transformers<4.46.1",)}
    seeing = planned(here, [record], catalogue, asked(known=known))
    assert [change_text(one) for one in seeing.changes] == ["transformers 4.46.0 -> 4.47.0", "trl 0.9.0 -> 0.9.1"]
    assert seeing.verified.unverified == ()


def test_only_what_may_be_needed_is_fetched() -> None:
    """Requirements of releases that a record rules out are never asked for."""
    catalogue = table({"transformers": {f"4.{minor}.0": [] for minor in range(60)}})
    record = issue(1, {"affected": [{"packages": {"transformers": "<4.50"}}]})
    planned(built(package("transformers", "4.10.0")), [record], catalogue, asked())
    fetched = [one for one in catalogue.asked if one.startswith("transformers ") and one != "transformers 4.10.0"]
    assert fetched[:4] == [f"transformers 4.{minor}.0" for minor in range(50, 54)]
    assert not {f"transformers 4.{minor}.0" for minor in range(10)}.intersection(fetched[:4])


@pytest.mark.parametrize("odd", ["1" * 5_000, "not a version", "1.0+local.label", ""])
def test_odd_versions_are_no_traceback(odd: str) -> None:
    here = built(package("transformers", "4.46.0"), package("trl", odd))
    record = issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}}]})
    catalogue = table({**TRANSFORMERS, "trl": {"1.0": ["transformers"]}})
    made = planned(here, [record], catalogue, asked())
    assert [change_text(one) for one in made.changes] == ["transformers 4.46.0 -> 4.46.1"]


def test_what_is_only_perhaps_gone_is_said() -> None:
    defect = {
        "affected": [
            {"packages": {"transformers": "==4.46.0"}},
            {"packages": {"transformers": "==4.46.1"}, "settings": {ACCUMULATION: ">1"}},
        ]
    }
    releases: dict[str, Any] = {"transformers": {"4.46.0": [], "4.46.1": []}}
    made = planned(built(package("transformers", "4.46.0")), [issue(1, defect)], table(releases), asked())
    assert [one.version_to for one in made.changes] == ["4.46.1"]
    assert made.verified.unverified == ("whether GC-0001 is gone then depends on facts that were not seen",)


def test_a_catalogue_without_the_package_is_said() -> None:
    defect = {
        "affected": [{"packages": {"transformers": "==4.46.0"}, "settings": {ACCUMULATION: ">1"}}],
        "remedies": [{"kind": "setting", "key": ACCUMULATION, "value": 1}],
    }
    here = built(package("transformers", "4.46.0"), settings={ACCUMULATION: 8})
    made = planned(here, [issue(1, defect)], table({"transformers": {}}), asked())
    assert "a table has no releases of transformers, so that no other version was tried" in made.verified.unverified


def test_a_setting_is_shown_where_the_runs_that_have_the_finding_state_it() -> None:
    """Another run may state it, too, and be right."""
    record = {
        "affected": [{"packages": {"transformers": "*"}, "settings": {ACCUMULATION: ">1"}}],
        "remedies": [{"kind": "setting", "key": ACCUMULATION, "value": 1}],
    }
    here = built(package("transformers", "4.46.0"))
    runs = [
        replace(here, settings=(Setting(key=ACCUMULATION, value=value, location=where, spelling="accumulation: {}"),))
        for value, where in ((4, Location(path="a.yaml", line=3)), (1, Location(path="b.yaml", line=5)))
    ]
    findings = [finding for run in runs for finding in match(run, [issue(1, record)], NAMES)]
    made = plan(here, findings, [issue(1, record)], NAMES, table(TRANSFORMERS), asked(), runs=runs)
    assert [(change.location, change.line) for change in made.settings] == [
        (runs[0].settings[0].location, "accumulation: 1")
    ]


@pytest.mark.parametrize(
    ("older", "moved"),
    [
        ("0.11.0", ["transformers 4.46.0 -> 4.46.1", "trl 0.12.0 -> 0.11.0"]),
        ("0.2.5", ["torch 2.9.0 -> 2.10.0", "transformers 4.46.0 -> 4.46.1", "trl 0.12.0 -> 0.13.0"]),
    ],
    ids=["a little", "far"],
)
def test_what_is_not_wrong_goes_back_a_little_and_not_far(older: str, moved: list[str]) -> None:
    releases = {
        "transformers": {"4.46.0": [], "4.46.1": []},
        "trl": {older: [], "0.12.0": ["transformers<4.46.1"], "0.13.0": ["transformers>=4.46.1", "torch>=2.10"]},
        "torch": {"2.9.0": [], "2.10.0": []},
    }
    here = built(package("transformers", "4.46.0"), package("trl", "0.12.0"), package("torch", "2.9.0"))
    made = planned(
        here, [issue(1, {"affected": [{"packages": {"transformers": "==4.46.0"}}]})], table(releases), asked()
    )
    assert sorted(map(change_text, made.changes)) == moved
