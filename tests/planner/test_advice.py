"""Which remedy is shown: the one that a plan would take, if that clears the finding and brings nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from packaging.version import Version

from gradcompat.matching.matcher import match
from gradcompat.matching.package_terms import MAX_CHOICES
from gradcompat.model.environment import Environment, Package
from gradcompat.model.finding import Advice
from gradcompat.model.issue import CodeRemedy, Issue, Remedy, SettingRemedy, VersionRemedy
from gradcompat.planner.advice import advise
from gradcompat.requirements.versions import VersionSet
from tests.building import NAMES, compares, environment, issue, package, versions

STEPS = "training.gradient_accumulation_steps"


def upgrade(text: str, name: str = "transformers") -> VersionRemedy:
    return VersionRemedy(kind="upgrade", package=name, versions=VersionSet.parse(text))


def downgrade(text: str, name: str = "transformers") -> VersionRemedy:
    return VersionRemedy(kind="downgrade", package=name, versions=VersionSet.parse(text))


ONE_STEP = SettingRemedy(key=STEPS, value=1)
CODE = CodeRemedy(text="divide the loss by the number of micro-batches")


def defect(*remedies: Remedy) -> Issue:
    return issue((versions("transformers", ">=4.49.0,<4.52.0"), compares(STEPS, ">", 1)), remedies=remedies)


# Those who leave the first defect for 4.52.0 meet this one.
TRAP = issue((versions("transformers", ">=4.52.0,<4.52.2"),), identifier="GC-0002")


def advice(here: Environment, *issues: Issue, status: str = "affected") -> Advice | None:
    (finding,) = (one for one in match(here, issues[:1], NAMES) if one.status == status)
    return advise(finding, here, issues, NAMES)


def trained(*packages: Package, steps: int = 8) -> Environment:
    return environment(*packages, settings={STEPS: steps})


def test_the_first_remedy_that_helps() -> None:
    here = trained(package("transformers", "4.50.0"), package("torch", "2.5.1"))
    remedy = upgrade(">=4.52.1")
    assert advice(here, defect(remedy, ONE_STEP, CODE)) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.52.1", package="transformers", introduces=()
    )


def test_the_shortest_step_counts_more_than_the_order_of_the_record() -> None:
    here = trained(package("transformers", "4.50.0"))
    found = advice(here, defect(upgrade(">=5.0.0"), downgrade("==4.48.3")))
    assert found is not None
    assert (found.target, found.remedy.kind) == ("4.48.3", "downgrade")  # type: ignore[union-attr]


def test_up_rather_than_down_where_both_are_as_far() -> None:
    here = trained(package("transformers", "4.50.0"))
    found = advice(here, defect(downgrade("==4.48.3"), upgrade(">=4.52.1")))
    assert found is not None
    assert found.target == "4.52.1"


def test_a_version_counts_more_than_a_setting_or_code_that_the_record_has_behind_another() -> None:
    here = trained(package("transformers", "4.50.0"))
    found = advice(here, defect(upgrade(">=4.51.0"), ONE_STEP, CODE, downgrade("==4.48.3")))
    assert found is not None
    assert found.target == "4.48.3"


@pytest.mark.parametrize(("remedies", "first"), [((ONE_STEP, CODE), ONE_STEP), ((CODE, ONE_STEP), CODE)])
def test_what_the_record_puts_before_every_version_comes_first(remedies: tuple[Remedy, ...], first: Remedy) -> None:
    here = trained(package("transformers", "4.50.0"))
    found = advice(here, defect(*remedies, upgrade(">=4.52.1")))
    assert found is not None
    assert found.remedy is first


def test_a_trap_is_passed_over() -> None:
    here = trained(package("transformers", "4.50.0"))
    remedy = downgrade("==4.48.3")
    assert advice(here, defect(upgrade(">=4.52.0"), remedy), TRAP) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.48.3", package="transformers", introduces=()
    )


def test_a_trap_is_better_than_nothing_and_says_so() -> None:
    here = trained(package("transformers", "4.50.0"))
    remedy = upgrade(">=4.52.0")
    assert advice(here, defect(remedy), TRAP) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.52.0", package="transformers", introduces=("GC-0002",)
    )


def test_a_change_of_code_is_better_than_a_trap() -> None:
    here = trained(package("transformers", "4.50.0"))
    assert advice(here, defect(upgrade(">=4.52.0"), CODE), TRAP) == Advice(
        remedy=CODE, clears=False, target=None, introduces=()
    )


def test_the_trap_with_the_fewest_issues() -> None:
    here = trained(package("transformers", "4.50.0"))
    second = issue((versions("transformers", "==4.52.0"),), identifier="GC-0003")
    remedy = upgrade("==4.52.1")
    assert advice(here, defect(upgrade("==4.52.0"), remedy), TRAP, second) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.52.1", package="transformers", introduces=("GC-0002",)
    )


def test_an_issue_that_is_there_already_is_not_introduced() -> None:
    here = trained(package("transformers", "4.50.0"))
    everywhere = issue((versions("transformers", "<5"),), identifier="GC-0003")
    remedy = upgrade(">=4.52.2")
    assert advice(here, defect(remedy), everywhere) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.52.2", package="transformers", introduces=()
    )


def test_an_informational_record_is_no_trap() -> None:
    here = trained(package("transformers", "4.50.0"))
    told = issue((versions("transformers", ">=4.52.0"),), identifier="GC-0003", level="note", informational=True)
    found = advice(here, defect(upgrade(">=4.52.0")), told)
    assert found is not None
    assert found.introduces == ()


def test_a_condition_that_the_change_leaves_open_is_no_trap() -> None:
    here = trained(package("transformers", "4.50.0"))
    perhaps = issue((versions("transformers", ">=4.52.0"), compares("training.seed", ">", 1)), identifier="GC-0003")
    found = advice(here, defect(upgrade(">=4.52.0")), perhaps)
    assert found is not None
    assert found.introduces == ()


def test_only_a_downgrade() -> None:
    here = trained(package("transformers", "4.50.0"))
    remedy = downgrade(">=4.40,<=4.48.3 || <=4.30.0")
    assert advice(here, defect(remedy)) == Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.48.3", package="transformers", introduces=()
    )


def test_a_setting() -> None:
    here = trained(package("transformers", "4.50.0"))
    assert advice(here, defect(ONE_STEP)) == Advice(remedy=ONE_STEP, clears=True, target=None, introduces=())


def test_a_setting_that_is_a_trap() -> None:
    here = trained(package("transformers", "4.50.0"))
    trap = issue((versions("transformers", "*"), compares(STEPS, "<=", 1)), identifier="GC-0003")
    assert advice(here, defect(ONE_STEP), trap) == Advice(
        remedy=ONE_STEP, clears=True, target=None, introduces=("GC-0003",)
    )


def test_only_code() -> None:
    here = trained(package("transformers", "4.50.0"))
    assert advice(here, defect(CODE)) == Advice(remedy=CODE, clears=False, target=None, introduces=())


@pytest.mark.parametrize(
    "remedies",
    [
        (),
        (upgrade(">=4.50.0"),),  # does not move
        (upgrade(">=4.51.0"),),  # still affected
        (downgrade("==4.51.0"),),  # is an upgrade
        (upgrade(">=1.0", "accelerate"),),  # is not there
        (upgrade(">4.52.0"),),  # names no release
        (SettingRemedy(key=STEPS, value=4),),
        (SettingRemedy(key="training.seed", value=1),),
    ],
)
def test_no_remedy_fits(remedies: tuple[Remedy, ...]) -> None:
    assert advice(trained(package("transformers", "4.50.0")), defect(*remedies)) is None


@pytest.mark.parametrize(("version", "taken"), [("4.49.0", False), ("4.50.0", True), ("4.51.0", True), (None, True)])
def test_a_setting_that_the_listed_release_does_not_have_is_no_remedy(version: str | None, taken: bool) -> None:
    newer = SettingRemedy(key=STEPS, value=1, packages={"transformers": VersionSet.parse(">=4.50.0")})
    here = trained(package("transformers", version))
    found = advice(here, defect(newer, CODE), status="affected" if version else "conditional")
    assert found is not None
    assert found.remedy == (newer if taken else CODE)


def test_the_nearest_release_of_several_ranges() -> None:
    remedy = upgrade(">=4.46.3,<4.47 || >=4.52.0")
    found = advice(trained(package("transformers", "4.50.0")), defect(remedy))
    assert found is not None
    assert found.target == "4.52.0"


def test_another_name_of_the_same_code() -> None:
    remedy = upgrade(">=2.5.1", "pytorch-lightning")
    one = issue((versions("pytorch-lightning", "<2.5"),), remedies=(remedy,))
    here = environment(package("lightning", "2.4.0"))
    assert advice(here, one) == Advice(
        remedy=remedy, clears=True, current="2.4.0", target="2.5.1", package="lightning", introduces=()
    )


def test_every_affected_fork_moves() -> None:
    remedy = upgrade(">=4.52.1")
    here = trained(
        package("transformers", "4.50.0", marker="python_version >= '3.10'"),
        package("transformers", "4.49.0", marker="python_version < '3.10'"),
    )
    assert advice(here, defect(remedy)) == Advice(
        remedy=remedy, clears=True, current="4.50.0 and 4.49.0", target="4.52.1", package="transformers", introduces=()
    )


def test_a_fork_with_a_finding_of_its_own_is_no_obstacle() -> None:
    remedy = upgrade(">=4.52.1")
    here = trained(
        package("transformers", "4.50.0", marker="python_version >= '3.10'"),
        package("transformers", "4.52.0.dev0", marker="python_version < '3.10'"),
    )
    wanted = Advice(
        remedy=remedy, clears=True, current="4.50.0", target="4.52.1", package="transformers", introduces=()
    )
    assert advice(here, defect(remedy)) == wanted
    assert advice(here, defect(remedy), status="conditional") == replace(wanted, current="4.52.0.dev0")


def test_conditional_findings() -> None:
    remedy = upgrade(">=4.52.1")
    unseen = environment(package("transformers", "4.50.0"))
    assert advice(unseen, defect(ONE_STEP, remedy), status="conditional") == Advice(
        remedy=ONE_STEP, clears=True, target=None, introduces=()
    )
    trunk = trained(package("transformers", "4.52.0.dev0"))
    found = advice(trunk, defect(remedy), status="conditional")
    assert found is not None
    assert found.target == "4.52.1"


def test_a_checkout_moves_to_a_release() -> None:
    # Were the target taken for a checkout too, it would lie anywhere from 4.51.0 and cure nothing.
    remedy = upgrade(">=4.52.0")
    here = trained(package("transformers", "4.49.0", unreleased=True))
    assert advice(here, defect(remedy), status="conditional") == Advice(
        remedy=remedy, clears=True, current="4.49.0", target="4.52.0", package="transformers", introduces=()
    )


def test_a_range_goes_up_only() -> None:
    here = trained(package("transformers", specifier=">=4.40"))
    remedy = upgrade(">=4.52.1")
    assert advice(here, defect(downgrade("==4.48.3"), remedy), status="conditional") == Advice(
        remedy=remedy, clears=True, target="4.52.1", package="transformers", introduces=()
    )


def test_no_remedy_is_tried_on_thousands_of_entries() -> None:
    here = trained(*(package("transformers", "4.50.0", line=line) for line in range(MAX_CHOICES + 1)))
    assert advice(here, defect(ONE_STEP)) is None
    assert advice(here, defect(ONE_STEP, CODE)) == Advice(remedy=CODE, clears=False, target=None, introduces=())


def test_the_other_package_of_a_combination() -> None:
    remedy = upgrade(">=0.15.0", "peft")
    one = issue((versions("transformers", "<5"), versions("peft", "<0.15.0")), remedies=(remedy,))
    here = environment(package("transformers", "4.50.0"), package("peft", "0.14.0"))
    assert advice(here, one) == Advice(
        remedy=remedy, clears=True, current="0.14.0", target="0.15.0", package="peft", introduces=()
    )


def test_a_package_that_is_held_stays() -> None:
    here = trained(package("transformers", "4.50.0"))
    some = defect(upgrade(">=4.52.1"), CODE)
    (finding,) = match(here, (some,), NAMES)
    found = advise(finding, here, (some,), NAMES, held={"transformers"})
    assert found == Advice(remedy=CODE, clears=False, target=None, introduces=())


def published(*releases: str) -> Callable[[str], tuple[Version, ...]]:
    return lambda name: tuple(map(Version, releases)) if name == "transformers" else ()


def test_the_nearest_release_that_was_published() -> None:
    # 4.52.0 was withdrawn: the record ends there, and nobody is given it; the last patch of 4.52 is the one to have.
    here = trained(package("transformers", "4.50.0"))
    one = defect(upgrade(">=4.53.0"), CODE)
    (finding,) = match(here, [one], NAMES)
    found = advise(finding, here, [one], NAMES, published("4.48.0", "4.51.0", "4.52.1", "4.52.2", "4.53.0"))
    assert found == Advice(
        remedy=upgrade("==4.52.2"),
        clears=True,
        current="4.50.0",
        target="4.52.2",
        package="transformers",
        introduces=(),
    )


def test_a_published_release_that_is_a_trap_is_passed_over() -> None:
    here = trained(package("transformers", "4.50.0"))
    one = defect(upgrade(">=4.52.0"))
    (finding,) = match(here, [one], NAMES)
    found = advise(finding, here, [one, TRAP], NAMES, published("4.52.0", "4.52.1", "4.52.2", "4.53.0"))
    assert found is not None
    assert (found.remedy, found.target, found.introduces) == (upgrade(">=4.52.0"), "4.52.2", ())


def test_the_way_that_no_remedy_names_is_found_among_the_published() -> None:
    here = trained(package("transformers", "4.50.0"))
    one = defect(upgrade(">=5.0.0"))
    (finding,) = match(here, [one], NAMES)
    found = advise(finding, here, [one], NAMES, published("4.47.0", "4.48.3", "5.0.0"))
    assert found is not None
    assert (found.remedy, found.target) == (downgrade("==4.48.3"), "4.48.3")
