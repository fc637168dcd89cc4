"""Known-good sets out of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcompat.model.issue import Issue
from gradcompat.planner.good_set import Chosen, GoodSet, good_set
from gradcompat.planner.request import Request
from tests.building import NAMES
from tests.building import environment as built
from tests.planner.toy import TARGET, issue, table

PLACE = "Python 3.11.7 on Linux x86_64"
NEWEST = (f"the newest release that fits {PLACE}",)

PACKAGES: dict[str, Any] = {
    "transformers": {"4.46.0": ["tokenizers<0.21", "filelock"], "4.47.0": ["tokenizers>=0.21"], "5.0.0": []},
    "tokenizers": {"0.20.0": [], "0.21.0": []},
    "trl": {"0.12.0": [], "0.13.0": ["transformers<5"]},
    "peft": {"0.14.0": ["torch>=2"], "0.15.0": {"requires_python": ">=3.12"}},
    "torch": {"2.5.0": [], "2.6.0": [], "2.7.0rc1": [], "2.8.0": {"yanked": True}},
}


def of(*wanted: str, records: Sequence[dict[str, Any]] = (), dead: Sequence[str] = (), **asked: Any) -> GoodSet:
    issues: list[Issue] = [issue(number, one) for number, one in enumerate(records, 1)]
    here = built(closed=False)
    return good_set(wanted, here, issues, NAMES, table(PACKAGES, dead), Request(target=TARGET, **asked))


def chosen(made: GoodSet) -> dict[str, str]:
    return {one.package: one.version for one in made.chosen}


def test_the_newest_that_go_together() -> None:
    made = of("trl", "transformers", "peft", records=[{"affected": [{"packages": {"torch": "==2.6.0"}}]}])
    assert made == GoodSet(
        chosen=(
            Chosen(package="peft", version="0.14.0", reasons=NEWEST),
            Chosen(package="tokenizers", version="0.21.0", reasons=NEWEST),
            Chosen(package="torch", version="2.5.0", reasons=("torch 2.6.0 is in GC-0001",)),
            Chosen(package="transformers", version="4.47.0", reasons=("trl 0.13.0 requires transformers<5",)),
            Chosen(package="trl", version="0.13.0", reasons=NEWEST),
        ),
        target=PLACE,
    )


def test_who_requires_an_older_release_gets_it() -> None:
    assert chosen(of("transformers", "trl")) == {"tokenizers": "0.21.0", "transformers": "4.47.0", "trl": "0.13.0"}


def test_what_is_wrong_only_in_company() -> None:
    record = {"affected": [{"packages": {"transformers": ">=4.47,<5", "trl": ">=0.13"}}]}
    made = of("trl", "transformers", records=[record])
    assert chosen(made) == {"trl": "0.13.0", "transformers": "4.46.0", "tokenizers": "0.20.0"}
    assert made.chosen[1].reasons == (
        "trl 0.13.0 requires transformers<5",
        "transformers 4.47.0 is in GC-0001",
    )


def test_few_conditions_are_better_than_many() -> None:
    record = {"affected": [{"packages": {"transformers": ">=5"}, "models": ["LlavaForConditionalGeneration"]}]}
    made = of("transformers", records=[record])
    assert chosen(made) == {"tokenizers": "0.21.0", "transformers": "4.47.0"}
    assert made.chosen[1].reasons == ("transformers 5.0.0 may be in GC-0001",)
    assert made.conditional == ()


def test_a_condition_that_every_release_has_is_named() -> None:
    record = {"affected": [{"packages": {"transformers": "*"}, "models": ["LlavaForConditionalGeneration"]}]}
    made = of("transformers", records=[record])
    assert chosen(made) == {"transformers": "5.0.0"}
    assert made.conditional == ("GC-0001",)
    none = of("transformers", records=[record], conditional=True)
    assert none == GoodSet(
        chosen=(),
        core=("transformers is asked for", "releases that are in GC-0001 are left out"),
        target=PLACE,
    )


def test_what_nobody_has_and_what_nobody_answers() -> None:
    assert of("nothing").core == ("a table has no releases of nothing",)
    assert of("trl", dead=["trl"]).core == ("which releases trl has could not be looked up: `trl` was not answered",)
    made = of("trl", dead=["trl 0.13.0"])
    assert chosen(made) == {"trl": "0.13.0"}
    assert made.unverified == ("the requirements of trl 0.13.0 could not be read: `trl` 0.13.0 was not answered",)


def test_what_does_not_go_together_is_said() -> None:
    records = [{"affected": [{"packages": {"transformers": "<5", "trl": "<0.13"}}]}]
    records += [{"affected": [{"packages": {"trl": "<0.13"}}]}]
    records += [{"affected": [{"packages": {"transformers": "<5"}}]}]
    assert of("trl", "transformers", records=records).core == (
        "transformers is asked for",
        "trl 0.13.0 requires transformers<5",
        "releases that are in GC-0002 or GC-0003 are left out",
    )
