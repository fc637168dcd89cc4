"""Matches an environment against issues: pure, and the only thing that decides what is affected.

An issue is any of its combinations, a combination all of its terms. A combination is looked at only where at least one
of its packages is listed: what might be installed besides is no news about an environment that was read. Facts decide
in three values; where the environment may be presumed upon, :mod:`gradcompat.presumptions` decides what is left open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.host.torch_builds import TORCH, Build, build_of
from gradcompat.matching.forks import Forks, releases_of
from gradcompat.messages import condition, entry_text, joined, value_text, versions_text
from gradcompat.model.assumption import Assumption
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.environment import Environment, Location, Package, Setting, SettingValue
from gradcompat.model.finding import Finding, Reason, Status, Unknown
from gradcompat.model.issue import (
    Combination,
    Issue,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.presumptions.engines import FRAMEWORK_KEY
from gradcompat.presumptions.presumer import Presumed, Presumer
from gradcompat.presumptions.release_age import too_new
from gradcompat.presumptions.replaced import (
    ANY_STEP_KEY,
    OF_STEP,
    OF_TRAINER,
    OF_TRAINING,
    OWN_STEP_KEY,
    REPLACED,
)
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import ALL, VersionSet, all_of, locate
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.class_facts import MODEL_KEY, classes_of
from gradcompat.terms.comparison import named, satisfies, texts
from gradcompat.terms.symbol_patterns import (
    CALLS_KEY,
    LIBRARIES_KEY,
    OPTIONAL_KEY,
    SYMBOLS_KEY,
    are_called,
    met_by,
    name_of,
    truth_of_use,
)
from gradcompat.terms.term_keys import GUARDED_KEY, key_of
from gradcompat.truth import Certainty, Truth

if TYPE_CHECKING:
    from gradcompat.model.release_question import ReleaseQuestion
    from gradcompat.requirements.markers import Release

# A lockfile with more choices of entries for one combination than this is not taken apart: no two entries of it are
# asked whether they go together, and nothing about it is better than UNKNOWN.
MAX_CHOICES = 2_000
_CHOICE = 3  # steps of the budget of the forks
_FEW = 8  # entries or choices that are looked through sooner than prepared
_LONGEST_SPECIFIER = 2_000
_PRE_RELEASE = lazy_pattern(r"\d[._-]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)[._-]?\d*", re.IGNORECASE)

_OF_CUDA = frozenset({"__cuda", "__cuda_arch"})

STRATEGY_KEY = "distributed.strategy"
IMPORT = "import"  # the category of what keeps packages from being imported together
_DEEPSPEED = PackageAbsentTerm(name="deepspeed")

# Strategies beside which there is no other; a pipeline may be DeepSpeed's.
_ALONE = frozenset({"none", "ddp", "dp", "fsdp", "deepspeed"})

_STATUS: dict[Certainty, Status] = {
    Certainty.YES: "affected",
    Certainty.PRESUMED_YES: "affected",
    Certainty.OPEN: "conditional",
    Certainty.PRESUMED_NO: "dormant",
    Certainty.NO: "not_affected",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Under which names packages go.

    Attributes:
        families: another name of the same code → the canonical one (``lightning`` → ``pytorch-lightning``).
        conda: conda name → PyPI name, where they differ (``pytorch`` → ``torch``).
        built_for: package → the one that its compiled library is linked with (``torchvision`` → ``torch``). Which
            releases go together is a fact of each build, and conda builds its own.
    """

    families: Mapping[str, str]
    conda: Mapping[str, str]
    built_for: Mapping[str, str] = field(default_factory=dict)

    def canonical(self, package: Package) -> str:
        name = package.name
        if package.source == "conda":
            name = self.conda.get(name, normalise(name))
        return self.families.get(name, name)


@dataclass(slots=True)
class _Verdict:
    """One term: how it stands, with the sentence for whichever it is.

    ``said`` is that sentence, or makes it: most of what is open is decided by a presumption, and not told.
    ``presumed`` is what was taken to hold, or what an answer to the open question would be.
    """

    certainty: Certainty
    said: str | Callable[[], str]
    key: str
    location: Location | None = None
    unlisted: bool = False
    presumed: Presumed | None = None

    @property
    def sentence(self) -> str:
        return self.said if isinstance(self.said, str) else self.said()


@dataclass(slots=True)
class _Match:
    """One combination with one choice of entries."""

    certainty: Certainty
    packages: tuple[Package, ...]
    verdicts: Sequence[_Verdict]
    terms: tuple[Term, ...]


def match(
    environment: Environment, issues: Iterable[Issue], names: Names, forks: Forks | None = None
) -> tuple[Finding, ...]:
    """Every issue that could be decided for this environment, and every one that could not.

    Args:
        environment: what is matched.
        issues: the records to match it with.
        names: under which names packages go.
        forks: of the environment, where it is matched several times; it remembers which entries go together.

    Returns:
        Findings in the order of the issues; ``not_affected`` ones are among them where a package of the issue is
        listed. An issue none of whose packages is listed has no finding. An issue has one finding for each status
        other than ``not_affected`` that some fork of the environment gives it. Where a special record of a defect is
        affected, the general one has none.
    """
    return match_in(View(environment, names, Forks(environment.conflicts) if forks is None else forks), issues)


def match_in(view: View, issues: Iterable[Issue]) -> tuple[Finding, ...]:
    """The same in a view, which remembers it."""
    return _without_general([finding for issue in issues for finding in view.findings(issue)])


def is_about(
    issue: Issue, view: View, entries: Collection[int], statuses: Collection[Status] = ("affected", "conditional")
) -> bool:
    """Is there a finding of the issue, of one of these statuses, with one of these entries, by identity?"""
    return any(
        _STATUS[found.certainty] in statuses and any(id(package) in entries for package in found.packages)
        for combination in issue.affected
        for found in _matches(combination, issue, view)
    )


def _without_general(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    special: dict[str, set[int]] = {}
    for finding in findings:
        if finding.status == "affected":
            for general in finding.issue.instead_of:
                special.setdefault(general, set()).update(map(id, finding.packages))
    if not special:
        return tuple(findings)
    return tuple(
        finding
        for finding in findings
        if finding.issue.id not in special or not special[finding.issue.id].issuperset(map(id, finding.packages))
    )


def alike(runs: Sequence[Environment], issues: Iterable[Issue]) -> list[list[int]]:
    """The runs of one environment, by their index, in groups that no issue can tell apart."""
    if len(runs) == 1:
        return [[0]]
    terms = (term for issue in issues for combination in issue.affected for term in combination.terms)
    # What stands for the strategy decides about the settings of every other one; four keys no term asks for.
    unasked = {STRATEGY_KEY, OWN_STEP_KEY, GUARDED_KEY, LIBRARIES_KEY, OPTIONAL_KEY}
    keys = {*unasked, *(key for term in terms if (key := key_of(term)) is not None)}
    groups: dict[object, list[int]] = {}
    for index, run in enumerate(runs):
        stated = tuple(
            (setting.key, type(setting.value), setting.value, setting.presumed, setting.where)
            for setting in run.settings
            if setting.key in keys
        )
        facts = (run.python, run.platform, tuple(sorted(run.virtual.items())), run.excluded, run.engines)
        of_class = tuple(fact for fact in run.class_facts if fact.key in keys)
        groups.setdefault((stated, facts, of_class), []).append(index)
    return list(groups.values())


def decisive_facts(issue: Issue, view: View) -> Hashable:
    """What of a run decides about an issue, whatever releases of the packages that are listed are chosen.

    In runs of one environment in which it is equal the issue has the same status, about the same entries. None where
    the program itself goes by releases: such a run is like no other.
    """
    if view.asked:
        return None
    environment = view.environment
    terms = [term for combination in issue.affected for term in combination.beyond]
    asked = {key_of(term) for term in terms}
    return (
        tuple([_verdict(term, view).certainty for term in terms]),
        tuple([verdict.certainty for one in issue.affected for verdict in _of_run(one, issue, view)]),
        # A class decides what nobody states.
        tuple([fact for fact in environment.class_facts if fact.key in asked]),
        tuple([bool(view.stated(key)) for key in (MODEL_KEY, *sorted(filter(None, asked)))]),
        (environment.python, environment.platform, tuple(sorted(environment.virtual.items()))),
        (environment.excluded, environment.engines),
    )


def packages_seen(issue: Issue) -> frozenset[str]:
    """The packages whose entries decide about an issue."""
    named = {term.name for one in issue.affected for terms in (one.packages, one.absent) for term in terms}
    if any(key_of(term) == STRATEGY_KEY for combination in issue.affected for term in combination.beyond):
        named.add(_DEEPSPEED.name)
    return frozenset(named)


def questions(counts: Mapping[str, int], issues: Iterable[Issue]) -> list[int]:
    """For each issue how many entries and choices of entries it is asked about, at most, in one run.

    Args:
        counts: how many entries each package has, by its canonical name.
        issues: the records.
    """
    return [sum(_questions(combination, counts) for combination in issue.affected) for issue in issues]


def _questions(combination: Combination, counts: Mapping[str, int]) -> int:
    named = {term.name for terms in (combination.packages, combination.absent) for term in terms}
    entries = [counts.get(name) or 1 for name in named]
    return sum(entries) + min(prod(entries), MAX_CHOICES)


def entries_by_name(packages: Iterable[Package], names: Names) -> dict[str, list[Package]]:
    """The entries of each package, by its canonical name."""
    found: dict[str, list[Package]] = {}
    for package in packages:
        found.setdefault(names.canonical(package), []).append(package)
    return found


def ruled_out(issue: Issue, view: View) -> bool:
    """Do versions alone keep an issue from applying, whatever the run? That is what most versions do."""
    return all(any(not view.choices(term).possible for term in combination.packages) for combination in issue.affected)


def _findings(issue: Issue, view: View) -> Iterator[Finding]:
    matches = [found for combination in issue.affected for found in _matches(combination, issue, view)]
    if not matches:
        return
    certainties: set[Certainty] = {found.certainty for found in matches if found.certainty is not Certainty.NO}
    told: set[int] = set()  # entries of what is more certain
    for certainty in sorted(certainties or {Certainty.NO}, reverse=True):
        # What is affected anyhow is not also "affected if", and what is open is not also dormant.
        chosen = [
            found
            for found in matches
            if found.certainty is certainty and not (told and told.issuperset(map(id, found.packages)))
        ]
        if not chosen:
            continue
        packages = {id(package): package for found in chosen for package in found.packages}
        told.update(packages)
        verdicts = {id(verdict): verdict for found in chosen for verdict in found.verdicts}  # forks share most of them
        guesses = certainty in (Certainty.OPEN, Certainty.PRESUMED_YES)
        yield Finding(
            issue=issue,
            status=_STATUS[certainty],
            source=view.environment.source,
            packages=tuple(packages.values()),
            because=tuple(dict.fromkeys(_reasons(verdicts.values()))),
            unknown=tuple(dict.fromkeys(map(_unknown, chosen))) if certainty is Certainty.OPEN else (),
            # The presumptions of one combination are enough for it.
            assumed=min(map(_assumed, chosen), key=len) if guesses else (),
            # What is not used in the combination of which least is presumed not to hold.
            dormant=min(map(_dormant, chosen), key=len) if certainty is Certainty.PRESUMED_NO else (),
            terms=chosen[0].terms,
        )


class Listing:
    """The entries of an environment by canonical name; what terms say of them is the same in all runs of it."""

    def __init__(self, entries: Mapping[str, Sequence[Package] | Listed]) -> None:
        self.packages = {name: found if isinstance(found, Listed) else Listed(found) for name, found in entries.items()}

    @classmethod
    def of(cls, packages: Iterable[Package], names: Names) -> Listing:
        return cls(entries_by_name(packages, names))

    @property
    def counts(self) -> dict[str, int]:
        """How many entries each package has."""
        return {name: len(listed.entries) for name, listed in self.packages.items()}

    def moved(self, packages: Mapping[str, Listed]) -> Listing:
        """The same with other entries of some packages."""
        listing = object.__new__(Listing)
        listing.packages = {**self.packages, **packages}
        return listing


class Listed:
    """The entries of one package, those that are alike together, and the choices that terms leave of them."""

    def __init__(self, entries: Sequence[Package]) -> None:
        self.alike = _alike(entries)
        self.entries = tuple(entry for group in self.alike for entry in group)
        self.choices: dict[int, tuple[PackageTerm, _Choices]] = {}  # by the identity of a term

    def perhaps_in(self, versions: VersionSet) -> Sequence[tuple[Package, ...]]:
        """The groups without those that surely are none of these versions, where there are so many that it pays."""
        if len(self.alike) <= _FEW:
            return self.alike
        releases, groups, others = self._in_order
        found = sorted(
            [
                *others,
                *(group for places in versions.places_in(releases) for group in groups[places.start : places.stop]),
            ]
        )
        return [self.alike[group] for group in found]

    @cached_property
    def _in_order(self) -> tuple[list[Version], list[int], list[int]]:
        """The releases of the groups from low to high, these groups, and those that are no release, by their index."""
        windows = [
            None if one.version is None else locate(one.version, unreleased=one.unreleased) for one, *_ in self.alike
        ]
        exact = sorted(
            (window.low, group) for group, window in enumerate(windows) if window is not None and window.exact
        )
        groups = [group for _, group in exact]
        return [low for low, _ in exact], groups, sorted(set(range(len(windows))).difference(groups))

    @cached_property
    def releases(self) -> frozenset[Release]:
        """The versions of Python at which the markers of the entries change."""
        return releases_of(self.entries)


class View:
    """A run of an environment: its entries, its settings by key, and what was found out about its terms.

    Args:
        environment: the run.
        names: under which names packages go.
        forks: compares entries.
        listing: the entries; those of the environment, if none are given.
    """

    def __init__(self, environment: Environment, names: Names, forks: Forks, listing: Listing | None = None) -> None:
        self.environment = environment
        self.names = names
        self.forks = forks
        self.listing = Listing.of(environment.packages, names) if listing is None else listing
        self.verdicts: dict[int, tuple[Term, _Verdict]] = {}  # of terms that are not about packages, by identity
        self.ranges: dict[int, tuple[Term, str]] = {}  # of terms, by identity, too
        self.absent = Listed(())  # what is said of packages that are not listed
        self.settings: dict[str, list[Setting]] = {}
        self.asked: set[str] = set()  # the packages by whose releases the program goes one way or the other
        for setting in environment.settings:
            self.asked.update(self._canonical(question) for question in setting.where)
            if all(map(self._may_hold, setting.where)):
                self.settings.setdefault(setting.key, []).append(setting)
        self.presumer = None
        if environment.engines is not None:
            absent = too_new(lambda name: self.listing.packages.get(name, self.absent).entries)
            self.presumer = Presumer(
                environment.engines, self.listing.packages, self.settings, environment.platform, absent
            )
        used = {name.partition(".")[0] for one in self.stated(SYMBOLS_KEY) for name in texts(one.value)}
        self.replacing = [library for library in REPLACED if library in used]
        self._found: dict[int, tuple[Issue, tuple[Finding, ...]]] = {}  # of issues, by identity
        self._unmoved: View | None = None
        self._moved: Collection[str] = ()

    def moved(self, packages: Mapping[str, Listed], forks: Forks) -> View:
        """The same run with other entries of some of its packages; what is found about others alone stays."""
        if not packages.keys() <= self.listing.packages.keys() or not self.asked.isdisjoint(packages):
            # What is presumed of a run may hang on what is listed, and what the program does on what it asks for.
            return View(self.environment, self.names, forks, self.listing.moved(packages))
        view = object.__new__(View)
        vars(view).update(vars(self))  # as `copy` does, which takes longer to import than most records to match
        view.listing, view.forks = self.listing.moved(packages), forks
        view._found, view._unmoved, view._moved = {}, self, packages.keys()
        return view

    def findings(self, issue: Issue) -> tuple[Finding, ...]:
        """What is found of an issue."""
        known = self._found.get(id(issue))
        if known is None:
            stays = self._unmoved is not None and packages_seen(issue).isdisjoint(self._moved)
            found = self._unmoved.findings(issue) if self._unmoved and stays else tuple(_findings(issue, self))
            known = self._found[id(issue)] = (issue, found)
        return known[1]

    def listed(self, name: str) -> tuple[tuple[Package, ...], ...]:
        """The entries of a package in groups that are one choice; none if it is not listed."""
        found = self.listing.packages.get(name)
        return () if found is None else found.alike

    def choices(self, term: PackageTerm) -> _Choices:
        """The entries that a term may be about; records share terms, and each is decided once."""
        listed = self.listing.packages.get(term.name, self.absent)
        known = listed.choices.get(id(term))
        if known is None:
            known = listed.choices[id(term)] = (term, _choices(term, listed, self))
        return known[1]

    def releases(self, combination: Combination) -> frozenset[Release]:
        """The versions of Python at which the markers of the entries of its packages change."""
        listed = (self.listing.packages.get(term.name, self.absent) for term in combination.packages)
        return frozenset().union(*(one.releases for one in listed))

    def range_text(self, term: PackageTerm) -> str:
        """The range of a term as its record spells it, in words; each fork may have to say it."""
        known = self.ranges.get(id(term))
        if known is None:
            known = self.ranges[id(term)] = (term, versions_text(term.versions))
        return known[1]

    def _canonical(self, question: ReleaseQuestion) -> str:
        return self.names.families.get(question.package, question.package)

    def _may_hold(self, question: ReleaseQuestion) -> bool:
        """May the answer be yes in some entry? It may where nothing is known of the release."""
        entries = self.listing.packages.get(self._canonical(question), self.absent).entries
        return not entries or any(_may_hold_in(question, entry) for entry in entries)

    @cached_property
    def guarded_uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names and calls that the code can do without where they cannot be imported, and the others."""
        guarded = tuple(name for setting in self.stated(GUARDED_KEY) for name in texts(setting.value))
        stated = [*self.stated(SYMBOLS_KEY), *self.stated(CALLS_KEY)] if guarded else []
        return _by_guard(tuple(symbol for setting in stated for symbol in texts(setting.value)), guarded)

    def stated(self, key: str) -> list[Setting]:
        """What states the fact; what is only presumed is none."""
        return [setting for setting in self.settings.get(key, ()) if not setting.presumed]


@lru_cache(maxsize=64)
def _by_guard(used: tuple[str, ...], guarded: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is used of guarded names, and what else; the runs of a program use the same."""
    inside = tuple(f"{name}." for name in guarded)
    caught = {symbol for symbol in used if (name := name_of(symbol)) in guarded or name.startswith(inside)}
    return tuple(one for one in used if one in caught), tuple(one for one in used if one not in caught)


def _alike(entries: Sequence[Package]) -> tuple[tuple[Package, ...], ...]:
    """The entries of one package in groups that are one choice: they agree in all that decides about an entry."""
    if len(entries) == 1:
        return ((entries[0],),)
    groups: dict[object, list[Package]] = {}
    for entry in entries:
        same = (
            entry.name,
            entry.version,
            entry.specifier,
            entry.marker,
            entry.reached,
            entry.forks,
            entry.unreleased,
            entry.build,
        )
        groups.setdefault(same, []).append(entry)
    return tuple(map(tuple, groups.values()))


def _matches(combination: Combination, issue: Issue, view: View) -> Iterator[_Match]:
    """A match for each choice of entries that can be installed together, if any package is listed at all.

    Where no choice can be affected there is one match that says so, with all entries.
    """
    if not any(view.listed(term.name) for term in combination.packages):
        return
    choices = [view.choices(term) for term in combination.packages]
    # A choice with a term that does not hold is not affected, whatever else it holds; mostly few are left.
    possible = [alternatives.possible for alternatives in choices]
    # Versions rule out most combinations, and cost less to look at than the run.
    others = [_verdict(term, view) for term in combination.beyond] if all(possible) else []
    matched = False
    if all(possible) and all(other.certainty for other in others):
        beside = prod(len(view.listed(term.name)) or 1 for term in combination.absent)
        of_run = list(_of_run(combination, issue, view))
        for chosen, verdicts in _chosen(choices, beside, view.forks, partial(view.releases, combination)):
            absent = [_absence(term, chosen, view) for term in combination.absent]
            beside_these = _by_class(combination, _without_deepspeed(combination, others, chosen, view), chosen, view)
            beside_these = _by_build(combination, beside_these, chosen, view)
            if all(verdict.certainty for verdict in (*absent, *beside_these)):
                matched = True
                apart = _built_apart(chosen, view) if len(chosen) > 1 else ()
                decisive = [*verdicts, *absent, *beside_these, *apart, *of_run]
                yield _Match(min([one.certainty for one in decisive]), chosen, decisive, combination.terms)
    if not matched:
        entries = tuple(entry for alternatives in choices for entry in alternatives.entries)
        verdicts = [choice.verdict for alternatives in possible for choice in alternatives]
        # What is open or presumed decides nothing here.
        yield _Match(Certainty.NO, entries, [*verdicts, *others], combination.terms)


@dataclass(slots=True)
class _Choice:
    """Entries of one package that differ in nothing that decides, and the verdict on them; none if none is listed."""

    entries: tuple[Package, ...]
    verdict: _Verdict


@dataclass(slots=True)
class _Choices:
    """All entries of the package of a term, and those that it may be about."""

    entries: tuple[Package, ...]
    possible: tuple[_Choice, ...]


def _choices(term: PackageTerm, listed: Listed, view: View) -> _Choices:
    decided = (
        ((alike, _package(term, alike[0], view)) for alike in listed.perhaps_in(term.versions))
        if listed.alike
        else [((), _absent_package(term, view))]
    )
    possible = tuple([_Choice(alike, verdict) for alike, verdict in decided if verdict.certainty])
    return _Choices(listed.entries, possible)


def _chosen(
    alternatives: Sequence[_Choices], beside: int, forks: Forks, releases: Callable[[], frozenset[Release]]
) -> Iterator[tuple[tuple[Package, ...], list[_Verdict]]]:
    """The entries of each choice that can be installed together, with their verdicts.

    Args:
        alternatives: those of each term.
        beside: how many entries each choice will be compared with in addition.
        forks: compares entries.
        releases: the versions of Python at which the markers of any of the entries change.
    """
    possible = [one.possible for one in alternatives]
    compared = beside > 1 or sum(1 for one in alternatives if one.entries) > 1
    count = prod(map(len, possible)) * beside
    if compared and (count > MAX_CHOICES or (count > 1 and not forks.budget.take(_CHOICE * count))):
        entries = tuple(entry for choices in possible for choice in choices for entry in choice.entries)
        names = tuple(choices[0].verdict.key for choices in possible)
        sentence = f"{joined(names, 'and')} are installed together in versions that are affected"
        yield entries, [_Verdict(Certainty.OPEN, sentence, names[0])]
        return
    shared = releases() if compared and count > _FEW else frozenset()
    for choices in product(*possible):
        first = [choice.entries[0] for choice in choices if choice.entries]
        if all(forks.together(entry, other, shared) for index, entry in enumerate(first) for other in first[:index]):
            yield tuple(entry for choice in choices for entry in choice.entries), [choice.verdict for choice in choices]


def _reasons(verdicts: Iterable[_Verdict]) -> Iterator[Reason]:
    for verdict in verdicts:
        if verdict.certainty is Certainty.YES and verdict.sentence:
            yield Reason(sentence=verdict.sentence, location=verdict.location)


def _unknown(found: _Match) -> tuple[Unknown, ...]:
    """What is open in a match."""
    return tuple(_question(verdict) for verdict in found.verdicts if verdict.certainty is Certainty.OPEN)


def _question(verdict: _Verdict) -> Unknown:
    if verdict.presumed is None:
        return Unknown(key=verdict.key, sentence=verdict.sentence, unlisted=verdict.unlisted)
    return Unknown(
        key=verdict.key,
        sentence=verdict.sentence,
        unlisted=verdict.unlisted,
        plain=verdict.presumed.condition,
        asks=verdict.presumed.asks,
        likelihood=verdict.presumed.likelihood,
    )


def _assumed(found: _Match) -> tuple[Assumption, ...]:
    """What is presumed to hold in a match."""
    return tuple(
        Assumption(key=verdict.key, sentence=verdict.presumed.taking, location=verdict.presumed.location)
        for verdict in found.verdicts
        if verdict.certainty is Certainty.PRESUMED_YES and verdict.presumed is not None
    )


def _dormant(found: _Match) -> tuple[str, ...]:
    """What is presumed not to hold in a match."""
    return tuple(
        dict.fromkeys(
            verdict.presumed.feature
            for verdict in found.verdicts
            if verdict.certainty is Certainty.PRESUMED_NO and verdict.presumed is not None
        )
    )


def _with(verdict: _Verdict, presumed: Presumed) -> _Verdict:
    """An open verdict with what is presumed of it."""
    return _Verdict(presumed.certainty, verdict.said, verdict.key, verdict.location, verdict.unlisted, presumed)


def _package(term: PackageTerm, entry: Package, view: View) -> _Verdict:
    """Does this entry's version lie in the term's range?"""
    verdict = _version_of(term, entry, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        return _with(verdict, view.presumer.of_range(term, entry))
    return verdict


def _version_of(term: PackageTerm, entry: Package, view: View) -> _Verdict:
    """The same by facts alone."""
    if entry.version is not None:
        window = locate(entry.version, unreleased=entry.unreleased)
        if term.versions == ALL:
            return _Verdict(Certainty.YES, f"{entry_text(entry)} is there", term.name, entry.location)
        if window is None:
            sentence = f"`{entry.version}`, which is not a version, stands for {term.name} {view.range_text(term)}"
            return _Verdict(Certainty.OPEN, sentence, term.name, entry.location)
        truth = term.versions.truth(window)
        if truth is Truth.UNKNOWN:
            kind = "pre-release" if window.prerelease else "build of an unreleased commit"
            sentence = f"{entry_text(entry)}, a {kind}, still behaves as {term.name} {view.range_text(term)}"
            return _Verdict(Certainty.of(truth), sentence, term.name, entry.location)
        if truth is Truth.NO:
            return _no(term)
        return _Verdict(
            Certainty.of(truth), f"{entry_text(entry)} is in {view.range_text(term)}", term.name, entry.location
        )
    allowed = _allowed(entry.specifier)
    if allowed is None or term.versions == ALL:
        truth = Truth.YES if term.versions == ALL else Truth.UNKNOWN
        return _Verdict(Certainty.of(truth), partial(condition, term), term.name, entry.location)
    met = allowed & term.versions
    # "Pre-releases of any kind MUST be implicitly excluded", unless the specifier names one.
    if _PRE_RELEASE.search(str(entry.specifier)) is None:
        met, allowed = met.without_pre_releases, allowed.without_pre_releases
    if not met:
        return _no(term)
    if met == allowed and allowed.bounded:
        return _Verdict(
            Certainty.YES,
            f"all that {entry_text(entry)} allows is in {view.range_text(term)}",
            term.name,
            entry.location,
        )
    return _Verdict(
        Certainty.OPEN, f"{entry_text(entry)} resolves to {view.range_text(term)}", term.name, entry.location
    )


def _built_apart(chosen: Sequence[Package], view: View) -> Iterator[_Verdict]:
    """What a record of wheels leaves open of two packages of which one is built for the other.

    Conda builds its own pairs, and whoever resolves a range takes the build that belongs to the other package.
    """
    entries = {view.names.canonical(entry): entry for entry in chosen}
    for name, entry in entries.items():
        base = entries.get(view.names.built_for.get(name, ""))
        if base is None:
            continue
        of_conda = entry.source == base.source == "conda"
        owner = "conda's " if of_conda else ""
        sentence = f"{owner}{entry_text(entry)} is not built for its {entry_text(base)}"
        verdict = _Verdict(Certainty.OPEN, sentence, name, entry.location)
        if view.presumer is not None and (of_conda or entry.version is None or base.version is None):
            yield _with(verdict, view.presumer.of_builds(name, view.names.canonical(base)))
        elif of_conda:
            yield verdict


def _of_run(combination: Combination, issue: Issue, view: View) -> Iterator[_Verdict]:
    """What the run keeps from applying, though no term asks for it."""
    yield from _replaced(combination, issue, view)
    yield from _own_step(combination, issue, view)
    yield from _guarded(combination, issue, view)


def _replaced(combination: Combination, issue: Issue, view: View) -> Iterator[_Verdict]:
    """What a record says of trainers, losses and forward passes that another library puts its own in the place of."""
    if view.presumer is None or not view.replacing or OF_TRAINING.isdisjoint(issue.categories):
        return
    named = {term.name for term in combination.packages}
    for library in view.replacing:
        if named & REPLACED[library] and not any(name.startswith(library) for name in named):
            verdict = _Verdict(Certainty.OPEN, f"{library} leaves it as it is", library)
            yield _with(verdict, view.presumer.of_replaced(library))


def _own_step(combination: Combination, issue: Issue, view: View) -> Iterator[_Verdict]:
    """What a record says of how the Trainer's step divides, where the program has a step of its own."""
    own = [setting for setting in view.stated(OWN_STEP_KEY) if setting.value is True]
    if view.presumer is None or not own or OF_STEP.isdisjoint(issue.categories):
        return
    asked = {term.key: term for term in combination.terms if isinstance(term, SettingTerm)}
    framework = asked.get(FRAMEWORK_KEY)
    if framework is not None and OF_TRAINER.issuperset(map(str, framework.values)) and ANY_STEP_KEY not in asked:
        verdict = _Verdict(Certainty.OPEN, "the Trainer's own training_step runs", OWN_STEP_KEY, own[0].location)
        yield _with(verdict, view.presumer.of_own_step())


def _guarded(combination: Combination, issue: Issue, view: View) -> Iterator[_Verdict]:
    """What cannot be imported, where the code catches that, and goes on without it."""
    if view.presumer is None or IMPORT not in issue.categories:
        return
    caught, others = view.guarded_uses
    for term in combination.terms:
        # A name that nothing catches fails all the same.
        if not isinstance(term, SymbolTerm) or not caught or truth_of_use(others, term.symbols) is Truth.YES:
            continue
        if met := met_by(caught, term.symbols):
            name = name_of(next(symbol for symbol in caught if symbol in met))
            verdict = _Verdict(Certainty.OPEN, f"the code cannot do without {name}", GUARDED_KEY)
            yield _with(verdict, view.presumer.of_guarded(name))


def _may_hold_in(question: ReleaseQuestion, entry: Package) -> bool:
    if entry.version is not None:
        return entry.unreleased or question.holds(entry.version) is not False
    allowed = _allowed(entry.specifier)
    return allowed is None or bool(allowed & question.versions)


@lru_cache(maxsize=1024)
def _allowed(specifier: str | None) -> VersionSet | None:
    """The versions that a specifier allows; None where none is given or it cannot be read."""
    if specifier is None or len(specifier) > _LONGEST_SPECIFIER:
        return None
    try:
        return VersionSet.parse(specifier)
    except ValueError:
        return None


def _no(term: PackageTerm) -> _Verdict:
    """Most terms do not hold, and nobody reads why: only what holds or is open is put into words."""
    return _Verdict(Certainty.NO, "", term.name)


def _absent_package(term: PackageTerm, view: View) -> _Verdict:
    if view.environment.closed:
        return _no(term)
    presumed = None if view.presumer is None else view.presumer.of_unlisted(term)
    certainty = Certainty.OPEN if presumed is None else presumed.certainty
    return _Verdict(certainty, partial(condition, term), term.name, unlisted=True, presumed=presumed)


def _absence(term: PackageAbsentTerm, chosen: tuple[Package, ...], view: View) -> _Verdict:
    """Is no entry of that name installed where the chosen ones are?"""
    verdict = _beside(term, chosen, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        return _with(verdict, view.presumer.of_absence(term))
    return verdict


def _without_deepspeed(
    combination: Combination, others: list[_Verdict], chosen: tuple[Package, ...], view: View
) -> list[_Verdict]:
    """The verdicts, where an open strategy is not DeepSpeed because that is not installed beside the chosen entries."""
    if all(verdict.key != STRATEGY_KEY or verdict.certainty is Certainty.YES for verdict in others):
        return others
    if _beside(_DEEPSPEED, chosen, view).certainty is not Certainty.YES:
        return others
    truths = [_of_any_but_deepspeed(term) for term in combination.terms if key_of(term) == STRATEGY_KEY]
    known = min(truths)
    if known is Truth.UNKNOWN or (known is Truth.YES and max(truths) is not known):
        return others
    decided = _Verdict(Certainty.of(known), "deepspeed is not installed", STRATEGY_KEY)
    return [
        decided if other.key == STRATEGY_KEY and other.certainty is not Certainty.YES else other for other in others
    ]


def _by_class(
    combination: Combination, others: list[_Verdict], chosen: tuple[Package, ...], view: View
) -> list[_Verdict]:
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


def _by_build(
    combination: Combination, others: list[_Verdict], chosen: tuple[Package, ...], view: View
) -> list[_Verdict]:
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


def _of_build(term: VirtualTerm, build: Build, torch: Package) -> _Verdict | None:
    if build.device != "cuda":
        return _Verdict(Certainty.NO, f"{entry_text(torch)} is not built for CUDA", term.name, torch.location)
    window = None if build.version is None or term.name != "__cuda" else locate(build.version)
    if window is None:
        return None
    truth = term.versions.truth(window)
    return _Verdict(Certainty.of(truth), f"__cuda is {build.version}", term.name, torch.location)


def _of_class(term: SettingTerm, combination: Combination, chosen: tuple[Package, ...], view: View) -> _Verdict | None:
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
            return _Verdict(Certainty.of(truth), sentence, term.key, stated)
        presumed = Presumed(
            certainty=Certainty.presumed(truth), taking=sentence, feature=f"another model than {classes}"
        )
        return _Verdict(presumed.certainty, condition(term), term.key, presumed=presumed)
    return None


def _of_newest(term: SettingTerm, verdict: _Verdict, chosen: tuple[Package, ...], view: View) -> _Verdict:
    """The verdict, where a range leaves releases that differ: by the class in the newest of them, if one presumes."""
    if view.presumer is None or verdict.certainty is not Certainty.OPEN:
        return verdict
    for fact in view.environment.class_facts:
        for entry in _entries_of(fact.package, chosen, view):
            if fact.key != term.key or entry.version is not None or not entry.releases:
                continue
            window = locate(entry.releases[-1])
            if window is not None and fact.versions.truth(window) is Truth.YES:
                return _with(
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
        allowed = _allowed(entry.specifier)
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


def _beside(term: PackageAbsentTerm, chosen: tuple[Package, ...], view: View) -> _Verdict:
    """The same by facts alone."""
    listed = view.listed(term.name)
    if len(listed) * len(chosen) > MAX_CHOICES:
        return _Verdict(Certainty.OPEN, partial(condition, term), term.name)
    beside = [
        entry
        for alike in listed
        for entry in alike[:1]
        if all(view.forks.together(entry, package) for package in chosen)
    ]
    if not beside:
        certainty = Certainty.YES if view.environment.closed else Certainty.OPEN
        return _Verdict(certainty, condition(term), term.name)
    if view.forks.covered(chosen, beside):
        return _Verdict(Certainty.NO, f"{term.name} is there", term.name)
    return _Verdict(Certainty.OPEN, partial(condition, term), term.name)


def _verdict(term: Term, view: View) -> _Verdict:
    """How a term stands that is not about a package; many combinations of an issue share one."""
    known = view.verdicts.get(id(term))
    if known is not None and known[0] is term:
        return known[1]
    verdict = _stated(term, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        verdict = _with(verdict, view.presumer.of_term(term))
    view.verdicts[id(term)] = (term, verdict)
    return verdict


def _stated(term: Term, view: View) -> _Verdict:
    """The same by facts alone."""
    environment = view.environment
    match term:
        case SettingTerm(key=key):
            return _setting(term, key, view, lambda value: satisfies(term, value))
        case ModelTerm(classes=classes):
            return _setting(term, MODEL_KEY, view, lambda value: named(classes, value))
        case SymbolTerm(symbols=symbols):
            return _symbols(term, symbols, view)
        case SymbolAbsentTerm(symbols=symbols):
            return _no_symbols(term, symbols, view)
        case PythonTerm(versions=versions):
            return _fact(term, "python", environment.python, versions)
        case VirtualTerm(name=name) if name in environment.excluded:
            return _Verdict(Certainty.NO, f"there is no {name}", name)
        case VirtualTerm(name=name, versions=versions):
            return _fact(term, name, environment.virtual.get(name), versions)
        case PlatformTerm(platforms=platforms):
            if environment.platform is None and environment.excluded.issuperset(platforms):
                return _Verdict(Certainty.NO, "the platform is another one", "platform")
            if environment.platform is None:
                return _Verdict(Certainty.OPEN, partial(condition, term), "platform")
            truth = Truth.of(environment.platform in platforms)
            return _Verdict(Certainty.of(truth), f"the platform is {environment.platform}", "platform")
        case PackageTerm() | PackageAbsentTerm():
            raise AssertionError("package terms are matched with their entries")


def _setting(term: Term, key: str, view: View, holds: Callable[[SettingValue], Truth]) -> _Verdict:
    """A setting that stands several times holds if all of its places agree."""
    stated = view.stated(key)
    if not stated and _of_another_strategy(key, view):
        return _Verdict(Certainty.NO, "", key)
    truths = {Truth.UNKNOWN if setting.value is None else holds(setting.value) for setting in stated}
    truth = truths.pop() if len(truths) == 1 else Truth.UNKNOWN
    first = stated[0] if stated else None
    if truth is Truth.UNKNOWN or first is None or first.value is None:
        return _Verdict(Certainty.OPEN, partial(condition, term), key, None if first is None else first.location)
    return _Verdict(Certainty.of(truth), f"{key} is {value_text(first.value)}", key, first.location)


def _of_another_strategy(key: str, view: View) -> bool:
    """Is it a setting of DeepSpeed or FSDP, and is the run distributed in a way that leaves no place for that?"""
    needed = key.partition(".")[0]
    strategies = [setting.value for setting in view.stated(STRATEGY_KEY)]
    return (
        needed in ("deepspeed", "fsdp")
        and bool(strategies)
        and _ALONE.issuperset(strategies)
        and (needed not in strategies)
    )


def _symbols(term: Term, symbols: tuple[str, ...], view: View) -> _Verdict:
    """A symbol is used if any of the files uses it; it is not if all that is known of them was listed."""
    stated = view.stated(SYMBOLS_KEY)
    listed = [*stated, *view.stated(CALLS_KEY)]
    truths = [Truth.UNKNOWN if one.value is None else truth_of_use(texts(one.value), symbols) for one in listed]
    for setting, truth in zip(listed, truths, strict=True):
        if truth is Truth.YES:
            met = met_by(texts(setting.value), symbols)
            used = [
                (name_of(symbol), setting.place(index))
                for index, symbol in enumerate(texts(setting.value))
                if symbol in met
            ]
            shown = joined(tuple(dict.fromkeys(name for name, _ in used)), "and")
            return _Verdict(Certainty.YES, f"the code uses {shown}", SYMBOLS_KEY, used[0][1])
    # Of functions that somebody names by hand nobody knows how they are called.
    named_alone = len(listed) == len(stated) and any(are_called(texts(one.value), symbols) for one in stated)
    if not stated or Truth.UNKNOWN in truths or named_alone:
        return _Verdict(Certainty.OPEN, partial(condition, term), SYMBOLS_KEY)
    optional = (
        one for one in view.settings.get(OPTIONAL_KEY, ()) if truth_of_use(texts(one.value), symbols) is not Truth.NO
    )
    if next(optional, None) is not None:  # where options are given
        return _Verdict(Certainty.OPEN, partial(condition, term), SYMBOLS_KEY)
    return _Verdict(Certainty.NO, "the code does not use it", SYMBOLS_KEY, stated[0].location)


def _no_symbols(term: Term, symbols: tuple[str, ...], view: View) -> _Verdict:
    """None of several symbols is used, if all that is used was listed."""
    used = _symbols(term, symbols, view)
    if used.certainty is Certainty.OPEN:
        return used
    # What is not there is no reason that anybody looks for.
    return _Verdict(Certainty.NO if used.certainty is Certainty.YES else Certainty.YES, "", SYMBOLS_KEY)


def _fact(term: Term, key: str, value: str | None, versions: VersionSet) -> _Verdict:
    """A version of the interpreter or of the host."""
    window = None if value is None else locate(value)
    if window is None:
        return _Verdict(Certainty.OPEN, partial(condition, term), key)
    truth = versions.truth(window)
    if truth is Truth.UNKNOWN:
        return _Verdict(Certainty.OPEN, partial(condition, term), key)
    subject = "Python" if key == "python" else key
    return _Verdict(Certainty.of(truth), f"{subject} is {value}", key)
