"""What the chosen entries decide about the terms of the run: the class of a model, a build of torch, no DeepSpeed."""

from __future__ import annotations

from gradcompat.host.torch_builds import TORCH, Build, build_of
from gradcompat.matching.entries import allowed_versions
from gradcompat.matching.package_terms import stated_absence
from gradcompat.matching.run_terms import STRATEGY_KEY
from gradcompat.matching.verdict import Verdict, with_presumption
from gradcompat.matching.view import View
from gradcompat.messages import condition, entry_text, joined, value_text
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.environment import Package
from gradcompat.model.issue import Combination, PackageAbsentTerm, SettingTerm, Term, VirtualTerm
from gradcompat.presumptions.presumed import Presumed
from gradcompat.requirements.versions import VersionSet, all_of, locate
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.class_facts import MODEL_KEY, classes_of
from gradcompat.terms.comparison import satisfies
from gradcompat.terms.term_keys import key_of
from gradcompat.truth import Certainty, Truth

_OF_CUDA = frozenset({"__cuda", "__cuda_arch"})
DEEPSPEED = PackageAbsentTerm(name="deepspeed")


def without_deepspeed(
    combination: Combination, others: list[Verdict], chosen: tuple[Package, ...], view: View
) -> list[Verdict]:
    """The verdicts, where an open strategy is not DeepSpeed because that is not installed beside the chosen entries."""
    if all(verdict.key != STRATEGY_KEY or verdict.certainty is Certainty.YES for verdict in others):
        return others
    if stated_absence(DEEPSPEED, chosen, view).certainty is not Certainty.YES:
        return others
    truths = [_of_any_but_deepspeed(term) for term in combination.terms if key_of(term) == STRATEGY_KEY]
    known = min(truths)
    if known is Truth.UNKNOWN or (known is Truth.YES and max(truths) is not known):
        return others
    decided = Verdict(Certainty.of(known), "deepspeed is not installed", STRATEGY_KEY)
    return [
        decided if other.key == STRATEGY_KEY and other.certainty is not Certainty.YES else other for other in others
    ]


def by_class(combination: Combination, others: list[Verdict], chosen: tuple[Package, ...], view: View) -> list[Verdict]:
    """The verdicts, where what nobody states is decided by the class of the model, in the release that is chosen."""
    facts = view.environment.class_facts
    if not facts or not {fact.key for fact in facts} & {verdict.key for verdict in others}:
        return others
    return [
        _of_class(term, combination, chosen, view) or _of_newest(term, verdict, chosen, view)
        if isinstance(term, SettingTerm) and not view.stated(term.key)
        else verdict
        for term, verdict in zip(combination.beyond, others, strict=True)
    ]


def by_build(combination: Combination, others: list[Verdict], chosen: tuple[Package, ...], view: View) -> list[Verdict]:
    """The verdicts, where what torch is built for decides about CUDA: a lockfile may hold several builds."""
    named = [verdict.key for verdict in others if verdict.key in _OF_CUDA]
    if not any(key not in view.environment.virtual for key in named):
        return others
    torches = [entry for entry in chosen if entry.name in TORCH]
    builds = {build_of(entry) for entry in torches}
    build = next(iter(builds)) if len(builds) == 1 else None
    if build is None:
        return others
    return [
        _of_build(term, build, torches[0]) or verdict
        if isinstance(term, VirtualTerm) and term.name in _OF_CUDA and term.name not in view.environment.virtual
        else verdict
        for term, verdict in zip(combination.beyond, others, strict=True)
    ]


def _of_build(term: VirtualTerm, build: Build, torch: Package) -> Verdict | None:
    if build.device != "cuda":
        return Verdict(Certainty.NO, f"{entry_text(torch)} is not built for CUDA", term.name, torch.location)
    window = None if build.version is None or term.name != "__cuda" else locate(build.version)
    if window is None:
        return None
    truth = term.versions.truth(window)
    return Verdict(Certainty.of(truth), f"__cuda is {build.version}", term.name, torch.location)


def _of_class(term: SettingTerm, combination: Combination, chosen: tuple[Package, ...], view: View) -> Verdict | None:
    """The verdict on a term by the class of the model; None if the class decides nothing for all that is meant."""
    for fact in view.environment.class_facts:
        if fact.key != term.key or not _only_in(fact, combination, chosen, view):
            continue
        truth = satisfies(term, fact.value)
        named = view.settings.get(MODEL_KEY, [])
        classes = joined(classes_of(named), "and")
        sentence = f"{term.key} is {value_text(fact.value)} for {classes}"
        stated = next((setting.location for setting in named if not setting.presumed), None)
        if stated is not None:
            return Verdict(Certainty.of(truth), sentence, term.key, stated)
        presumed = Presumed(
            certainty=Certainty.presumed(truth), taking=sentence, feature=f"another model than {classes}"
        )
        return Verdict(presumed.certainty, condition(term), term.key, presumed=presumed)
    return None


def _of_newest(term: SettingTerm, verdict: Verdict, chosen: tuple[Package, ...], view: View) -> Verdict:
    """The verdict, where a range leaves releases that differ: by the class in the newest of them, if one presumes."""
    if view.presumer is None or verdict.certainty is not Certainty.OPEN:
        return verdict
    for fact in view.environment.class_facts:
        for entry in _entries_of(fact.package, chosen, view):
            if fact.key != term.key or entry.version is not None or not entry.releases:
                continue
            window = locate(entry.releases[-1])
            if window is not None and fact.versions.truth(window) is Truth.YES:
                return with_presumption(
                    replace(verdict, key=fact.package),
                    view.presumer.of_newest_class(fact.package, satisfies(term, fact.value), entry),
                )
    return verdict


def _entries_of(name: str, chosen: tuple[Package, ...], view: View) -> list[Package]:
    """Those of the chosen entries that are the package of this canonical name."""
    listed = {id(entry) for group in view.listed(name) for entry in group}
    return [entry for entry in chosen if id(entry) in listed]


def _only_in(fact: ClassFact, combination: Combination, chosen: tuple[Package, ...], view: View) -> bool:
    """Does the fact hold in every release that the combination and the chosen entries leave?"""
    versions = [term.versions for term in combination.packages if term.name == fact.package]
    if not versions:
        return False
    entries = _entries_of(fact.package, chosen, view)
    wanted = all_of(versions)
    return all(_holds_in(fact.versions, entry, wanted) for entry in entries) if entries else wanted <= fact.versions


def _holds_in(versions: VersionSet, entry: Package, wanted: VersionSet) -> bool:
    """Is the entry one of these versions, if it is one of those that are wanted?"""
    if entry.version is None:
        allowed = allowed_versions(entry.specifier)
        return (wanted if allowed is None else allowed & wanted) <= versions
    window = locate(entry.version, unreleased=entry.unreleased)
    return wanted <= versions if window is None else versions.truth(window) is Truth.YES


def _of_any_but_deepspeed(term: Term) -> Truth:
    """What a term about the strategy comes to, if all that is known is that the strategy is not DeepSpeed."""
    if not isinstance(term, SettingTerm):
        return Truth.UNKNOWN
    if term.comparison == ("!=", "deepspeed"):
        return Truth.YES
    return Truth.NO if term.comparison is None and set(term.values) == {"deepspeed"} else Truth.UNKNOWN
