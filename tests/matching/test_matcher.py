"""Findings as whole values: what is said, about which entries, and why."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest

from gradcompat.matching.entries import Listed, Listing
from gradcompat.matching.forks import Forks
from gradcompat.matching.matcher import match, match_in
from gradcompat.matching.package_terms import MAX_CHOICES
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue, SourceKind
from gradcompat.model.finding import Finding, Reason, Unknown
from gradcompat.model.issue import (
    Combination,
    ModelTerm,
    PackageAbsentTerm,
    PlatformTerm,
    PythonTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.model.release_question import ReleaseQuestion
from gradcompat.requirements.versions import ALL, VersionSet
from gradcompat.terms.term_keys import key_of
from tests.building import HERE, NAMES, compares, environment, equals, issue, package, versions

AFFECTED_RANGE = versions("transformers", ">=4.49.0,<4.52.0")
LOADS = SymbolTerm(symbols=("torch.load() if not given(weights_only)",))
LOAD: tuple[str, SettingValue] = ("code.symbols", ("torch.load",))
STEPS = compares("training.gradient_accumulation_steps", ">", 1)
LLAVA = ModelTerm(classes=("Llava*ForConditionalGeneration",))
DEFECT = issue((AFFECTED_RANGE, STEPS, LLAVA))
TERMS = (AFFECTED_RANGE, STEPS, LLAVA)
SEEN: dict[str, SettingValue] = {
    "training.gradient_accumulation_steps": 8,
    "model.architecture": ("LlavaNextForConditionalGeneration",),
}


def test_affected() -> None:
    entry = package("transformers", "4.49.0", line=7)
    assert match(environment(entry, package("numpy", "2.0.0"), settings=SEEN), [DEFECT], NAMES) == (
        Finding(
            issue=DEFECT,
            status="affected",
            source="uv.lock",
            packages=(entry,),
            because=(
                Reason(
                    sentence="transformers 4.49.0 is in >=4.49.0,<4.52.0", location=Location(path="uv.lock", line=7)
                ),
                Reason(sentence="training.gradient_accumulation_steps is 8", location=HERE),
                Reason(sentence="model.architecture is LlavaNextForConditionalGeneration", location=HERE),
            ),
            unknown=(),
            terms=TERMS,
        ),
    )


def test_what_was_matched_goes_without_a_collector() -> None:
    # A command runs without one.
    here = environment(package("transformers", "4.49.0"), settings=SEEN)
    listing = Listing.of(here.packages, NAMES)
    view = View(here, NAMES, Forks(), listing)
    entries = weakref.ref(listing.packages["transformers"])
    gc.disable()
    try:
        assert match_in(view.moved({"transformers": Listed(here.packages)}, Forks()), [DEFECT])
        assert match_in(view, [DEFECT])
        del listing, view
        assert entries() is None
    finally:
        gc.enable()


def test_conditional() -> None:
    entry = package("transformers", "4.52.0.dev0")
    assert match(environment(entry), [DEFECT], NAMES) == (
        Finding(
            issue=DEFECT,
            status="conditional",
            source="uv.lock",
            packages=(entry,),
            because=(),
            unknown=(
                (
                    Unknown(
                        key="transformers",
                        sentence="transformers 4.52.0.dev0, a build of an unreleased commit, still behaves as "
                        "transformers >=4.49.0,<4.52.0",
                    ),
                    Unknown(
                        key="training.gradient_accumulation_steps",
                        sentence="training.gradient_accumulation_steps is more than 1",
                    ),
                    Unknown(key="model.architecture", sentence="the model is Llava*ForConditionalGeneration"),
                ),
            ),
            terms=TERMS,
        ),
    )


def test_not_affected() -> None:
    entry = package("transformers", "4.52.0")
    assert match(environment(entry, settings=SEEN), [DEFECT], NAMES) == (
        Finding(
            issue=DEFECT,
            status="not_affected",
            source="uv.lock",
            packages=(entry,),
            because=(),
            unknown=(),
            terms=TERMS,
        ),
    )


@pytest.mark.parametrize("closed", [True, False])
def test_an_issue_about_other_packages_has_no_finding(closed: bool) -> None:
    assert match(environment(package("torch", "2.5.1"), settings=SEEN, closed=closed), [DEFECT], NAMES) == ()
    assert match(environment(closed=closed), [DEFECT], NAMES) == ()


def test_findings_come_in_the_order_of_the_issues() -> None:
    issues = [issue((versions("torch"),), identifier=f"GC-000{number}") for number in (3, 1, 2)]
    found = match(environment(package("torch", "2.5.1")), issues, NAMES)
    assert [finding.issue.id for finding in found] == ["GC-0003", "GC-0001", "GC-0002"]


def stated(*settings: tuple[str, SettingValue]) -> tuple[Setting, ...]:
    return environment(settings=settings).settings


def one_term(term: Term, **facts: object) -> tuple[str, str]:
    """Status and sentence for a torch that is there and one more term."""
    made = replace(environment(package("torch", "2.5.1")), **facts)  # type: ignore[arg-type]  # any field of it
    (finding,) = match(made, [issue((versions("torch"), term))], NAMES)
    if finding.status == "conditional":
        return finding.status, finding.unknown[0][-1].sentence
    return finding.status, finding.because[-1].sentence


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        # Booleans are not numbers, numbers are not words.
        (True, True, "affected"),
        (True, 1, "not_affected"),
        (1, True, "not_affected"),
        (0, False, "not_affected"),
        (1, 1.0, "affected"),
        (1, "1", "not_affected"),
        ("adamw_8bit", "adamw_8bit", "affected"),
        ("AdamW_8bit", "adamw_*", "affected"),
        ("sgd", "adamw_*", "not_affected"),
        (("sgd", "adamw_8bit"), "adamw_*", "affected"),
        ((), "adamw_*", "not_affected"),
    ],
)
def test_values(value: SettingValue, wanted: bool | int | float | str, expected: str) -> None:
    assert one_term(equals("optimizer.name", wanted), settings=stated(("optimizer.name", value)))[0] == expected


@pytest.mark.parametrize(
    ("value", "operator", "operand", "expected"),
    [
        (2, ">", 1, "affected"),
        (1, ">", 1, "not_affected"),
        (1, ">=", 1, "affected"),
        (0.5, "<", 1, "affected"),
        (1, "<", 1, "not_affected"),
        (1, "<=", 1, "affected"),
        (2, "<=", 1, "not_affected"),
        (2, "!=", 1, "affected"),
        (1, "!=", 1, "not_affected"),
        ("bf16", "!=", "fp32", "affected"),
        ("FP32", "!=", "fp32", "not_affected"),
        (("fp32", "bf16"), "!=", "fp32", "not_affected"),
        # What cannot be put in order says nothing.
        ("many", ">", 1, "conditional"),
        (True, ">", 0, "conditional"),
        (("1", "2"), ">", 1, "conditional"),
    ],
)
def test_comparisons(value: SettingValue, operator: str, operand: int | str, expected: str) -> None:
    assert (
        one_term(compares("training.seed", operator, operand), settings=stated(("training.seed", value)))[0] == expected
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((8, 4), "affected"),
        ((1, 0), "not_affected"),
        ((8, 1), "conditional"),
        ((), "conditional"),
    ],
)
def test_places_that_disagree(values: tuple[int, ...], expected: str) -> None:
    places = stated(*(("training.gradient_accumulation_steps", value) for value in values))
    assert one_term(STEPS, settings=places)[0] == expected


@pytest.mark.parametrize(
    ("term", "facts", "expected"),
    [
        (LLAVA, {"settings": stated(("model.architecture", "LlavaForConditionalGeneration"))}, "affected"),
        (LLAVA, {"settings": stated(("model.architecture", ("T5Model", "LlavaForConditionalGeneration")))}, "affected"),
        (LLAVA, {"settings": stated(("model.architecture", ("llavaForConditionalGeneration",)))}, "not_affected"),
        (
            SymbolTerm(symbols=("torch.optim.*",)),
            {"settings": stated(("code.symbols", ("torch.optim.SGD",)))},
            "affected",
        ),
        (SymbolTerm(symbols=("torch.optim.*",)), {"settings": stated(("code.symbols", ("torch.nn",)))}, "not_affected"),
        (LOADS, {"settings": stated(LOAD, ("code.calls", ("torch.load(path)",)))}, "affected"),
        (LOADS, {"settings": stated(LOAD, ("code.calls", ("torch.load(path, weights_only=True)",)))}, "not_affected"),
        (LOADS, {"settings": stated(LOAD, ("code.calls", ("torch.load(path, **options)",)))}, "conditional"),
        (LOADS, {"settings": stated(LOAD, ("code.calls", ()))}, "not_affected"),
        (LOADS, {"settings": stated(LOAD)}, "conditional"),  # named by hand: nobody knows how it is called
        (LOADS, {"settings": stated(("code.symbols", ("torch.save",)))}, "not_affected"),
        (PythonTerm(versions=VersionSet.parse(">=3.12")), {"python": "3.12.4"}, "affected"),
        (PythonTerm(versions=VersionSet.parse(">=3.12")), {"python": "3.11.9"}, "not_affected"),
        (PythonTerm(versions=VersionSet.parse(">=3.12")), {"python": "3.12.0+"}, "conditional"),
        (PythonTerm(versions=VersionSet.parse(">=3.13")), {"python": "3.13.0rc1"}, "conditional"),
        (PlatformTerm(platforms=("linux", "darwin")), {"platform": "darwin"}, "affected"),
        (PlatformTerm(platforms=("linux", "darwin")), {"platform": "win32"}, "not_affected"),
        (VirtualTerm(name="__cuda", versions=VersionSet.parse("<12.4")), {"virtual": {"__cuda": "12.1"}}, "affected"),
        (VirtualTerm(name="__cuda", versions=VersionSet.parse("<12.4")), {"virtual": {"__glibc": "2"}}, "conditional"),
    ],
)
def test_facts(term: Term, facts: dict[str, object], expected: str) -> None:
    assert one_term(term, **facts)[0] == expected


@pytest.mark.parametrize(
    ("specifier", "expected", "sentence"),
    [
        (">=4.52.0", "not_affected", None),
        ("<4.49.0", "not_affected", None),
        (">2,<1", "not_affected", None),
        ("==4.50.0", "affected", "all that transformers==4.50.0 allows is in >=4.49.0,<4.52.0"),
        (">=4.49.0,<4.51", "affected", "all that transformers>=4.49.0,<4.51 allows is in >=4.49.0,<4.52.0"),
        (">=4.40", "conditional", "transformers>=4.40 resolves to >=4.49.0,<4.52.0"),
        ("*", "conditional", "transformers resolves to >=4.49.0,<4.52.0"),
        (None, "conditional", "transformers is >=4.49.0,<4.52.0"),
        ("what?", "conditional", "transformers is >=4.49.0,<4.52.0"),
        (" || ".join(["==4.50.0"] * 500), "conditional", "transformers is >=4.49.0,<4.52.0"),
    ],
)
def test_ranges_do_not_count_as_their_lower_bound(specifier: str | None, expected: str, sentence: str | None) -> None:
    entry = package("transformers", specifier=specifier)
    (finding,) = match(environment(entry), [issue((AFFECTED_RANGE,))], NAMES)
    said = [reason.sentence for reason in finding.because] + [
        one.sentence for group in finding.unknown for one in group
    ]
    assert (finding.status, said) == (expected, [] if sentence is None else [sentence])


@pytest.mark.parametrize(
    ("specifier", "affected", "expected"),
    [
        (">=4.41.2,!=4.46.*,!=4.47.*,!=4.48.0", ">=4.46.2,<4.48.0", "not_affected"),
        (">=4.41.2,!=4.46.*,!=4.47.*", ">=4.46.2,<4.48.0", "not_affected"),
        ("<2.4", "==2.4.*", "not_affected"),
        (">=4.48.0rc1,!=4.48.0", ">=4.46.2,<4.48.0", "conditional"),
        (">=4.41.2,!=4.46.*", ">=4.46.2,<4.48.0", "conditional"),
        (">4.48.0,<4.49", ">=4.48.0,<4.48.1", "conditional"),  # 4.48.0.post1
    ],
)
def test_a_range_that_names_no_pre_release_allows_none(specifier: str, affected: str, expected: str) -> None:
    entry = package("transformers", None, specifier=specifier)
    (found,) = match(environment(entry), [issue((versions("transformers", affected),))], NAMES)
    assert found.status == expected


def test_a_range_without_an_end_is_never_sure() -> None:
    # Releases that nobody has looked at yet would be in both.
    entry = package("transformers", specifier=">=4.50")
    (finding,) = match(environment(entry), [issue((versions("transformers", ">=4.49"),))], NAMES)
    assert finding.status == "conditional"


@pytest.mark.parametrize("entry", [package("torch"), package("torch", "what?"), package("torch", specifier=">=2")])
def test_any_version_will_do_where_every_version_is_meant(entry: Package) -> None:
    (finding,) = match(environment(entry), [issue((versions("torch"),))], NAMES)
    assert finding.status == "affected"


def test_no_version() -> None:
    (finding,) = match(environment(package("torch", "nightly")), [issue((versions("torch", "<2"),))], NAMES)
    assert finding.status == "conditional"
    assert finding.unknown == (
        (Unknown(key="torch", sentence="`nightly`, which is not a version, stands for torch <2"),),
    )


PAIR = issue((versions("torch", "==2.4.*"), versions("torchvision", ">=0.20")))
PAIRED = replace(NAMES, built_for={"torchvision": "torch"})


@pytest.mark.parametrize(("source", "status"), [("registry", "affected"), ("conda", "conditional")])
def test_a_build_of_conda_is_not_paired_as_the_wheels_of_the_index_are(source: SourceKind, status: str) -> None:
    entries = (package("torch", "2.4.1", source=source), package("torchvision", "0.20.0", source=source))
    (found,) = match(environment(*entries), [PAIR], PAIRED)
    assert found.status == status
    said = [one.sentence for group in found.unknown for one in group]
    assert said == (["conda's torchvision 0.20.0 is not built for its torch 2.4.1"] if source == "conda" else [])


@pytest.mark.parametrize(
    ("torch", "torchvision", "paired"),
    [
        ("2.4.1+git8514f05", "0.20.0+d801a34", True),
        ("2.4.1+rocm6.4.2.git76481f7c", "0.20.0+rocm6.4.2.git4040d51f", True),
        ("2.4.1+cu121", "0.20.0+cu121", False),
        ("2.4.1+cu121", "0.20.0+d801a34", False),
        ("2.4.1", "0.20.0.dev20240811", False),
    ],
)
def test_builds_of_one_builder_are_made_for_each_other(torch: str, torchvision: str, paired: bool) -> None:
    (found,) = match(environment(package("torch", torch), package("torchvision", torchvision)), [PAIR], PAIRED)
    said = [one.sentence for group in found.unknown for one in group]
    assert any("is not built for its" in one for one in said) is paired


@pytest.mark.parametrize(("day", "paired"), [("20240811", True), ("20240704", False)])
def test_nightly_builds_of_one_day_are_made_for_each_other(day: str, paired: bool) -> None:
    entries = (package("torch", "2.5.0.dev20240811+cu124"), package("torchvision", f"0.20.0.dev{day}+cu124"))
    record = issue((versions("torch", "==2.5.*"), versions("torchvision", ">=0.19")))
    (found,) = match(environment(*entries), [record], PAIRED)
    said = [one.sentence for group in found.unknown for one in group]
    assert any("is not built for its" in one for one in said) is paired


def test_a_wheel_beside_a_build_of_conda_is_paired_as_wheels_are() -> None:
    entries = (package("pytorch", "2.4.1", source="conda"), package("torchvision", "0.20.0"))
    (found,) = match(environment(*entries), [PAIR], PAIRED)
    assert found.status == "affected"


def test_a_build_of_conda_that_is_out_of_range_is_not_affected() -> None:
    entries = (package("torch", "2.4.1", source="conda"), package("torchvision", "0.19.1", source="conda"))
    (found,) = match(environment(*entries), [PAIR], PAIRED)
    assert found.status == "not_affected"


def test_conda_names_and_families() -> None:
    torch, lightning = issue((versions("torch", "==2.5.1"),)), issue((versions("pytorch-lightning", "<2.5"),))
    conda, other = package("pytorch", "2.5.1", source="conda"), package("pytorch", "2.5.1")
    assert [one.packages for one in match(environment(conda, other), [torch], NAMES)] == [(conda,)]
    assert match(environment(other), [torch], NAMES) == ()
    under_conda = package("Lightning", "2.4.0", source="conda")
    assert [one.status for one in match(environment(under_conda), [lightning], NAMES)] == ["affected"]
    old, new = package("lightning", "2.4.0"), package("pytorch-lightning", "2.5.1")
    (finding,) = match(environment(new, old), [lightning], NAMES)
    assert (finding.status, finding.packages) == ("affected", (old,))


@pytest.mark.parametrize(
    ("listed", "closed", "expected"),
    [
        ([], True, "affected"),
        ([], False, "conditional"),
        ([package("liger-kernel", "0.5.0")], True, "not_affected"),
        ([package("liger-kernel")], False, "not_affected"),
        ([package("liger-kernel", "0.5.0", marker="sys_platform == 'linux'")], True, "conditional"),
        ([package("liger-kernel", "0.5.0", forks=("cuda",))], True, "affected"),
        ([package("liger-kernel", "0.5.0", forks=("cuda", "cpu"))], True, "not_affected"),
    ],
)
def test_absent_packages(listed: list[Package], closed: bool, expected: str) -> None:
    term = PackageAbsentTerm(name="liger-kernel")
    found = match(
        environment(package("torch", "2.5.1", forks=("cpu",)), *listed, closed=closed),
        [issue((versions("torch"), term))],
        NAMES,
    )
    assert [finding.status for finding in found] == [expected]


@pytest.mark.parametrize(
    ("marker", "platform", "expected"),
    [
        ("sys_platform == 'darwin' and platform_machine == 'x86_64'", None, "conditional"),
        ("sys_platform == 'darwin' and platform_machine == 'x86_64'", "linux", "not_affected"),
        ("sys_platform == 'darwin' and platform_machine == 'x86_64'", "darwin", "affected"),
        ("sys_platform != 'linux'", "win32", "affected"),
        ("sys_platform == 'darwin' or python_version >= '3.10'", None, "affected"),
        ("sys_platform == 'emscripten'", None, "affected"),
        (None, None, "affected"),
    ],
)
def test_an_entry_for_another_platform_than_linux_asks_for_that(
    marker: str | None, platform: str | None, expected: str
) -> None:
    torch = package("torch", "2.2.2", marker=marker)
    [finding] = match(environment(torch, platform=platform), [issue((versions("torch", "<2.3"),))], NAMES)
    assert finding.status == expected


@pytest.mark.parametrize(
    "term", [VirtualTerm(name="__cuda", versions=ALL), VirtualTerm(name="__cuda_arch", versions=ALL)]
)
def test_a_build_for_something_else_than_cuda_has_no_defect_of_cuda(term: VirtualTerm) -> None:
    builds = ("2.9.1+cpu", "2.9.1+cu128", "2.9.1+rocm6.4")
    torches = [package("torch", build, forks=(build[6:],), line=line) for line, build in enumerate(builds, start=1)]
    about = issue((versions("torch", "<2.10"), term))
    found = {finding.status: finding for finding in match(environment(*torches), [about], NAMES)}
    assert [entry.version for status in found for entry in found[status].packages] == ["2.9.1+cu128"]
    [only] = match(environment(torches[0], torches[2]), [about], NAMES)
    assert only.status == "not_affected"
    # What is stated of the host counts more than a label.
    [stated] = match(environment(torches[0], virtual={term.name: "12.8"}), [about], NAMES)
    assert stated.status == "affected"


def test_the_label_of_each_entry_says_which_cuda_it_is_for() -> None:
    torches = [package("torch", f"2.9.1+{cuda}", forks=(cuda,)) for cuda in ("cu126", "cu130")]
    about = issue((versions("torch", "<2.10"), VirtualTerm(name="__cuda", versions=VersionSet.parse(">=13"))))
    [finding] = match(environment(*torches), [about], NAMES)
    assert finding.status == "affected"
    assert [entry.version for entry in finding.packages] == ["2.9.1+cu130"]


def test_forks_that_are_affected_and_forks_that_may_be() -> None:
    sure = package("transformers", "4.50.0", marker="python_version >= '3.10'")
    perhaps = package("transformers", "4.52.0.dev0", marker="python_version < '3.10'")
    clean = package("transformers", "4.48.3", marker="sys_platform == 'win32'")
    found = match(environment(clean, perhaps, sure), [issue((AFFECTED_RANGE,))], NAMES)
    assert [(one.status, one.packages) for one in found] == [("affected", (sure,)), ("conditional", (perhaps,))]


def test_what_is_affected_anyhow_is_not_affected_if_besides() -> None:
    entry = package("transformers", "4.50.0")
    found = match(environment(entry), [issue((AFFECTED_RANGE, STEPS), (AFFECTED_RANGE,))], NAMES)
    assert [(one.status, one.packages) for one in found] == [("affected", (entry,))]


def test_alternatives_of_conditions() -> None:
    entry = package("transformers", "4.50.0")
    (finding,) = match(environment(entry), [issue((AFFECTED_RANGE, STEPS), (AFFECTED_RANGE, LLAVA))], NAMES)
    assert [[one.key for one in group] for group in finding.unknown] == [
        ["training.gradient_accumulation_steps"],
        ["model.architecture"],
    ]
    assert finding.because == (Reason(sentence="transformers 4.50.0 is in >=4.49.0,<4.52.0", location=HERE),)


def test_entries_that_differ_in_their_place_only_are_one_reason() -> None:
    entries = [package("transformers", "4.50.0", line=line) for line in (3, 9)]
    (finding,) = match(environment(*entries), [issue((AFFECTED_RANGE,))], NAMES)
    assert finding.packages == tuple(entries)
    assert finding.because == (
        Reason(sentence="transformers 4.50.0 is in >=4.49.0,<4.52.0", location=Location(path="uv.lock", line=3)),
    )


TWO = issue((versions("torch", "<3"), versions("transformers", "<5")))


def test_a_hostile_lockfile_is_not_compared_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Forks, one: Package, other: Package) -> bool:
        raise AssertionError(f"{one} was compared with {other}: 25 million pairs take many minutes")

    monkeypatch.setattr(Forks, "together", never)
    torches = [package("torch", f"2.{minor}", marker=f"python_version != '{minor}'") for minor in range(5_000)]
    others = [package("transformers", f"4.{minor}", forks=(str(minor),)) for minor in range(5_000)]
    (finding,) = match(environment(*torches, *others), [TWO], NAMES)
    assert finding.status == "conditional"
    assert len(finding.packages) == 10_000
    assert finding.unknown == (
        (
            Unknown(
                key="torch",
                sentence="torch and transformers are installed together in versions that are affected",
            ),
        ),
    )


def test_entries_that_are_alike_or_out_of_range_do_not_count_as_choices() -> None:
    torches = [package("torch", "2.5.1", line=line) for line in range(MAX_CHOICES)]
    others = [package("transformers", f"5.{minor}") for minor in range(MAX_CHOICES)]
    found = match(environment(*torches, *others, package("transformers", "4.9")), [TWO], NAMES)
    assert [(finding.status, len(finding.packages)) for finding in found] == [("affected", MAX_CHOICES + 1)]
    found = match(environment(*torches, *others), [TWO], NAMES)
    assert [(finding.status, len(finding.packages)) for finding in found] == [("not_affected", 2 * MAX_CHOICES)]


def test_the_limit_on_choices() -> None:
    def status(count: int) -> list[str]:
        torches = [package("torch", f"2.{minor}") for minor in range(count)]
        return [one.status for one in match(environment(*torches, package("transformers", "4.9")), [TWO], NAMES)]

    assert status(MAX_CHOICES) == ["affected"]
    assert status(MAX_CHOICES + 1) == ["conditional"]
    # One package alone is never compared with another.
    alone = [package("torch", f"2.{minor}") for minor in range(MAX_CHOICES + 1)]
    assert [one.status for one in match(environment(*alone), [issue((versions("torch"),))], NAMES)] == ["affected"]


def test_many_entries_beside_a_package_that_must_be_absent() -> None:
    absent = issue((versions("torch"), PackageAbsentTerm(name="peft")))
    pefts = [package("peft", f"0.{minor}", forks=("x",)) for minor in range(3_000)]
    torches = [package("torch", f"2.{minor}") for minor in range(3_000)]
    assert [one.status for one in match(environment(*torches, *pefts), [absent], NAMES)] == ["conditional"]


def test_the_key_that_decides_a_term() -> None:
    terms: tuple[Term, ...] = (STEPS, LLAVA, SymbolTerm(symbols=("x",)), PackageAbsentTerm(name="x"), AFFECTED_RANGE)
    assert [key_of(term) for term in Combination(terms=terms).terms] == [
        "training.gradient_accumulation_steps",
        "model.architecture",
        "code.symbols",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ([("transformers.Trainer",)], "not_affected"),
        ([("transformers.Trainer",), ("transformers.Adafactor",)], "affected"),  # two files of one program
        ([("transformers.Trainer",), None], "conditional"),  # and a module that nobody has read
        ([("transformers.Adafactor",), None], "affected"),
        ([None], "conditional"),
        ([], "conditional"),
    ],
)
def test_symbols_of_several_files_are_used_together(stated: list[tuple[str, ...] | None], expected: str) -> None:
    here = replace(
        environment(package("transformers", "4.50.0")),
        settings=tuple(
            Setting(key="code.symbols", value=value, location=Location(path="train.py")) for value in stated
        ),
    )
    used = issue((versions("transformers", "<5"), SymbolTerm(symbols=("transformers.Adafactor",))))
    (finding,) = match(here, [used], NAMES)
    assert finding.status == expected


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ([("transformers.Trainer",)], "affected"),
        ([("transformers.Trainer",), ("transformers.Adafactor",)], "not_affected"),
        ([("transformers.Trainer",), None], "conditional"),  # a module that nobody has read
        ([("transformers.Adafactor",), None], "not_affected"),
        ([], "conditional"),
    ],
)
def test_what_the_code_must_not_use(stated: list[tuple[str, ...] | None], expected: str) -> None:
    here = replace(
        environment(package("transformers", "4.50.0")),
        settings=tuple(
            Setting(key="code.symbols", value=value, location=Location(path="train.py")) for value in stated
        ),
    )
    spared = issue((versions("transformers", "<5"), SymbolAbsentTerm(symbols=("transformers.Adafactor",))))
    (finding,) = match(here, [spared], NAMES)
    assert finding.status == expected
    # What is not there is no reason.
    assert [reason.sentence for reason in finding.because if "Adafactor" in reason.sentence] == []


@pytest.mark.parametrize(
    ("strategies", "expected"),
    [
        ([], "conditional"),
        (["fsdp"], "not_affected"),
        (["ddp"], "not_affected"),
        (["deepspeed"], "conditional"),
        (["ddp", "deepspeed"], "conditional"),  # two files that do not agree
        (["pipeline"], "conditional"),  # which may be DeepSpeed's
        ([None], "conditional"),
    ],
)
def test_a_setting_of_deepspeed_where_another_strategy_is_used(strategies: list[str | None], expected: str) -> None:
    here = replace(
        environment(package("deepspeed", "0.16.4")),
        settings=tuple(
            Setting(key="distributed.strategy", value=value, location=Location(path="train.yaml"))
            for value in strategies
        ),
    )
    defect = issue((versions("deepspeed", "<0.19"), compares("deepspeed.zero_stage", ">", 0)))
    (finding,) = match(here, [defect], NAMES)
    assert finding.status == expected


@pytest.mark.parametrize(
    ("torch", "status"),
    [
        (package("torch", "2.13.0"), "not_affected"),
        (package("torch", "2.6.0"), "affected"),
        (package("torch", "2.13.0", unreleased=True), "affected"),
        (package("torch", None, specifier=">=2.7"), "not_affected"),
        (package("torch", None, specifier=">=2.6"), "affected"),
        (package("jax", "0.6.0"), "affected"),
    ],
)
def test_what_the_program_does_with_older_releases_alone(torch: Package, status: str) -> None:
    defect = issue((versions("transformers", ">=4.0"), SymbolTerm(symbols=("torch.load",))))
    run = _run_that_asks(torch, package("transformers", "4.49.0"))
    assert [found.status for found in match(run, [defect], NAMES)] == [status]


def test_a_release_that_is_moved_changes_what_the_program_does() -> None:
    defect = issue((versions("transformers", ">=4.0"), SymbolTerm(symbols=("torch.load",))))
    run = _run_that_asks(package("torch", "2.13.0"), package("transformers", "4.49.0"))
    view = View(run, NAMES, Forks(()))
    assert [found.status for found in match_in(view, [defect])] == ["not_affected"]
    moved = view.moved({"torch": Listed([package("torch", "2.6.0")])}, Forks(()))
    assert [found.status for found in match_in(moved, [defect])] == ["affected"]


@pytest.mark.parametrize(
    ("platform", "status"), [(None, "not_affected"), ("linux", "not_affected"), ("win32", "affected")]
)
def test_what_a_program_does_on_windows_alone(platform: str | None, status: str) -> None:
    question = ReleaseQuestion(package="sys.platform", operator="==", literal="win32", reading="text")
    used = Setting(key="code.symbols", value=("torch.save",), location=HERE)
    there = Setting(key="code.symbols", value=("torch.load",), location=HERE, where=(question,))
    defect = issue((versions("torch", ">=2.0"), SymbolTerm(symbols=("torch.load",))))
    run = replace(environment(package("torch", "2.6.0")), settings=(used, there), platform=platform)
    assert [found.status for found in match(run, [defect], NAMES)] == [status]


def _run_that_asks(*packages: Package) -> Environment:
    question = ReleaseQuestion(package="torch", operator="<", literal="2.7")
    used = Setting(key="code.symbols", value=("torch.save",), location=HERE)
    older = Setting(key="code.symbols", value=("torch.load",), location=HERE, where=(question,))
    return replace(environment(*packages), settings=(used, older))
