"""Facts that follow from the class of a model: which release counts, what counts more, and where nothing follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import gradcompat
from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import AuditOptions
from gradcompat.knowledge.load import load
from gradcompat.matching.alike_runs import alike
from gradcompat.matching.matcher import match
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Location, Setting, SettingValue
from gradcompat.model.issue import Term
from gradcompat.requirements.versions import VersionSet
from gradcompat.terms.class_facts import with_class_facts
from tests.building import HERE, NAMES, environment, equals, issue, package, versions

USES, TAKES, CLASS = "model.uses_num_items_in_batch", "model.forward_takes_kwargs", "model.architecture"


def fact(key: str, value: bool, text: str) -> ClassFact:
    return ClassFact(key=key, value=value, package="transformers", versions=VersionSet.parse(text))


TABLE = {
    "LlamaForCausalLM": (fact(USES, True, ">=4.46.0"),),
    "LlavaForConditionalGeneration": (fact(USES, False, ">=4.46.0,<4.52.0"), fact(USES, True, ">=4.52.0")),
}
ASKS = equals(USES, False)
DEFECT = issue((versions("transformers", ">=4.46.0"), ASKS))


def facts(found: Environment) -> Environment:
    return with_class_facts(found, lambda name: TABLE.get(name, ()))


def status(found: Environment, *terms: Term) -> str:
    asked = issue(terms) if terms else DEFECT
    return " ".join(finding.status for finding in match(facts(found), [asked], NAMES))


def of(names: Sequence[str], version: str = "4.49.0") -> Environment:
    return environment(package("transformers", version), settings={CLASS: tuple(names)})


@pytest.mark.parametrize(
    ("names", "version", "expected"),
    [
        (["LlamaForCausalLM"], "4.49.0", "not_affected"),
        (["LlavaForConditionalGeneration"], "4.49.0", "affected"),
        (["LlavaForConditionalGeneration"], "4.52.1", "not_affected"),
        (["MyModel"], "4.49.0", "conditional"),
        # A pre-release of the release that changed it may have either.
        (["LlavaForConditionalGeneration"], "4.52.0.dev0", "conditional"),
        # What holds of one class only is not known of the run.
        (["LlamaForCausalLM", "LlavaForConditionalGeneration"], "4.49.0", "conditional"),
        (["LlamaForCausalLM", "LlavaForConditionalGeneration"], "4.52.1", "not_affected"),
        (["LlamaForCausalLM", "MyModel"], "4.49.0", "conditional"),
    ],
)
def test_the_release_that_has_the_class_decides(names: list[str], version: str, expected: str) -> None:
    assert status(of(names, version)) == expected


def test_it_is_certain_and_stands_where_the_class_does() -> None:
    stated = Location(path="config.json", line=3)
    found = of(["LlavaForConditionalGeneration"])
    found = replace(found, settings=(replace(found.settings[0], location=stated),))
    (finding,) = match(facts(found), [DEFECT], NAMES)
    assert (finding.status, finding.because[-1].location, finding.because[-1].sentence) == (
        "affected",
        stated,
        "model.uses_num_items_in_batch is false for LlavaForConditionalGeneration",
    )


def test_what_is_stated_counts_more_than_the_class() -> None:
    stated: dict[str, SettingValue] = {CLASS: ("LlamaForCausalLM",), USES: False}
    assert status(environment(package("transformers", "4.49.0"), settings=stated)) == "affected"
    unread = environment(package("transformers", "4.49.0"), settings={CLASS: ("LlamaForCausalLM",)})
    unread = replace(unread, settings=(*unread.settings, Setting(key=USES, value=None, location=HERE)))
    assert status(unread) == "conditional"


@pytest.mark.parametrize(
    ("method", "expected"),
    [("sft", "affected"), ("dpo", "conditional"), ("grpo", "conditional"), (None, "conditional")],
)
def test_a_loss_of_ones_own_does_not_ask_how_the_model_divides_its(method: str | None, expected: str) -> None:
    """DPO of TRL 0.15.2 is right with transformers 4.48.0, where a Llama is not, and wrong with 4.47.1, where it is."""
    stated: dict[str, SettingValue] = {CLASS: ("LlavaForConditionalGeneration",), "training.method": method or "dpo"}
    found = environment(package("transformers", "4.49.0"), settings=stated)
    if method is None:  # two runs of one program, of which one takes the model's
        other = Setting(key="training.method", value="sft", location=HERE)
        found = replace(found, settings=(*found.settings, other))
        expected = "affected"
    assert status(found) == expected


@pytest.mark.parametrize(
    ("version", "told"), [("4.46.3", ["GC-0020"]), ("4.47.1", ["GC-0020"]), ("4.48.0", []), ("4.49.0", [])]
)
def test_dpo_is_told_where_its_steps_were_measured_too_long(tmp_path: Path, version: str, told: list[str]) -> None:
    (tmp_path / "requirements.txt").write_text(f"transformers=={version}\ntrl==0.15.2\n")
    settings: dict[str, SettingValue] = {
        "training.framework": "trl",
        "training.method": "dpo",
        "training.gradient_accumulation_steps": 4,
        CLASS: ("LlamaForCausalLM",),
    }
    report = gradcompat.check(tmp_path / "requirements.txt", settings=settings)
    errors = [one.finding for one in report.findings if one.finding.issue.level == "error"]
    assert [one.issue.id for one in errors if one.status == "affected"] == told


def test_a_class_that_cannot_be_read_decides_nothing() -> None:
    found = of(["LlamaForCausalLM"])
    found = replace(found, settings=(*found.settings, Setting(key=CLASS, value=None, location=HERE)))
    assert facts(found).class_facts == ()


@pytest.mark.parametrize(
    ("specifier", "expected"),
    [
        (">=4.52.0", "not_affected"),
        (">=4.47.0,<4.50.0", "affected"),
        (">=4.50.0", "conditional"),  # it could be either side of 4.52.0
    ],
)
def test_a_range_of_releases(specifier: str, expected: str) -> None:
    found = environment(
        package("transformers", specifier=specifier), settings={CLASS: ("LlavaForConditionalGeneration",)}
    )
    assert status(found) == expected


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        ("4.51.3", "conditional"),  # wrong in the release that would be installed today
        ("4.57.6", "dormant"),  # and right in this one
    ],
)
def test_the_newest_release_of_a_range_counts_where_one_presumes(newest: str, expected: str) -> None:
    entry = replace(package("transformers", specifier=">=4.50.0"), releases=("4.50.0", newest))
    found = environment(entry, settings={CLASS: ("LlavaForConditionalGeneration",)})
    assert status(found) == "conditional"
    found = replace(found, engines=frozenset())
    (finding,) = match(facts(found), [DEFECT], NAMES)
    assert finding.status == expected
    if expected == "conditional":
        ((unknown,),) = finding.unknown
        assert unknown.plain == "transformers 4.51.3 is installed, the newest that is allowed"


def test_a_range_counts_only_where_the_record_is_true() -> None:
    found = environment(
        package("transformers", specifier=">=4.40.0"), settings={CLASS: ("LlavaForConditionalGeneration",)}
    )
    assert status(found, versions("transformers", ">=4.52.0"), ASKS) == "not_affected"


def test_each_fork_by_its_own_release() -> None:
    found = environment(
        package("transformers", "4.49.0", forks=("old",)),
        package("transformers", "4.52.1", forks=("new",)),
        settings={CLASS: ("LlavaForConditionalGeneration",)},
    )
    (finding,) = match(facts(found), [DEFECT], NAMES)
    assert (finding.status, [entry.version for entry in finding.packages]) == ("affected", ["4.49.0"])


def test_a_class_that_is_presumed_gives_presumed_facts() -> None:
    presumed = Setting(key=CLASS, value=("LlavaForConditionalGeneration",), location=HERE, presumed=True)
    found = replace(environment(package("transformers", "4.49.0")), settings=(presumed,), engines=frozenset())
    (finding,) = match(facts(found), [DEFECT], NAMES)
    assert (finding.status, [one.key for one in finding.assumed]) == ("affected", [USES])
    assert status(replace(found, packages=(package("transformers", "4.52.1"),))) == "dormant"


def test_a_record_that_does_not_name_the_package_is_left_open() -> None:
    found = environment(
        package("transformers", "4.49.0"), package("trl", "0.20.0"), settings={CLASS: ("LlamaForCausalLM",)}
    )
    assert status(found, versions("trl"), ASKS) == "conditional"


def test_runs_with_other_classes_are_told_apart() -> None:
    runs = [facts(of([name])) for name in ("LlamaForCausalLM", "LlavaForConditionalGeneration", "LlamaForCausalLM")]
    assert alike(runs, [DEFECT]) == [[0, 2], [1]]


# --- the table that ships ---


def check(version: str, name: str, **settings: SettingValue) -> dict[str, str]:
    run = Context(
        source="train.yaml",
        kind="llamafactory",
        run=True,
        settings=tuple(
            Setting(key=key, value=value, location=HERE)
            for key, value in {CLASS: (name,), "training.gradient_accumulation_steps": 8, **settings}.items()
        ),
    )
    matched = match_runs(environment(package("transformers", version)), (run,), load(), AuditOptions())
    return {finding.issue.id: finding.status for finding in matched.findings}


@pytest.mark.parametrize("version", ["4.46.3", "4.47.1", "4.49.0", "4.57.6", "5.1.0", "5.23.0"])
def test_llama_has_no_defect_of_models_that_ignore_the_count(version: str) -> None:
    found = check(version, "LlamaForCausalLM")
    stated = {found.get(identifier, "not_affected") for identifier in ("GC-0004", "GC-0006", "GC-0007", "GC-0184")}
    assert stated == {"not_affected"}


@pytest.mark.parametrize(
    ("version", "name", "told", "general"),
    [
        ("4.49.0", "LlavaForConditionalGeneration", "GC-0004", "GC-0006"),
        ("5.23.0", "T5ForConditionalGeneration", "GC-0184", "GC-0006"),
    ],
)
def test_a_special_record_is_told_instead_of_the_general_one(version: str, name: str, told: str, general: str) -> None:
    found = check(version, name)
    assert (found[told], general in found) == ("affected", False)
    alone = check("4.49.0", "VipLlavaForConditionalGeneration")
    assert (alone["GC-0006"], alone["GC-0004"]) == ("affected", "not_affected")


def test_t5_is_not_cured_by_the_count_that_it_ignores() -> None:
    for version in ("4.45.2", "4.46.1", "4.57.6", "5.23.0"):
        assert check(version, "T5ForConditionalGeneration", **{"data.unequal_labels": True})["GC-0005"] == "affected"
    assert check("4.49.0", "LlamaForCausalLM")["GC-0005"] == "not_affected"
