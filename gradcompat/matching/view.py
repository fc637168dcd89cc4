"""A run of an environment: its entries, its settings by key, and what was found out about its terms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from gradcompat.matching.entries import Listed, Listing, Names, allowed_versions
from gradcompat.matching.forks import Forks
from gradcompat.matching.verdict import Verdict
from gradcompat.messages import versions_text
from gradcompat.model.environment import Environment, Package, Setting
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Combination, Issue, PackageTerm, Term
from gradcompat.presumptions.presumer import Presumer
from gradcompat.presumptions.release_age import too_new
from gradcompat.presumptions.replaced import REPLACED
from gradcompat.terms.comparison import texts
from gradcompat.terms.symbol_patterns import CALLS_KEY, SYMBOLS_KEY, name_of
from gradcompat.terms.term_keys import GUARDED_KEY, IMPORTED_KEY

if TYPE_CHECKING:
    from gradcompat.model.release_question import ReleaseQuestion
    from gradcompat.requirements.markers import Release


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
        self.verdicts: dict[int, tuple[Term, Verdict]] = {}  # of terms that are not about packages, by identity
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
        self.found: dict[int, tuple[Issue, tuple[Finding, ...]]] = {}  # of issues, by identity
        self.unmoved: View | None = None
        self.moved_names: Collection[str] = ()

    def moved(self, packages: Mapping[str, Listed], forks: Forks) -> View:
        """The same run with other entries of some of its packages; what is found about others alone stays."""
        if not packages.keys() <= self.listing.packages.keys() or not self.asked.isdisjoint(packages):
            # What is presumed of a run may hang on what is listed, and what the program does on what it asks for.
            return View(self.environment, self.names, forks, self.listing.moved(packages))
        view = object.__new__(View)
        vars(view).update(vars(self))  # as `copy` does, which takes longer to import than most records to match
        view.listing, view.forks = self.listing.moved(packages), forks
        view.found, view.unmoved, view.moved_names = {}, self, packages.keys()
        return view

    def listed(self, name: str) -> tuple[tuple[Package, ...], ...]:
        """The entries of a package in groups that are one choice; none if it is not listed."""
        found = self.listing.packages.get(name)
        return () if found is None else found.alike

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
        if question.is_of_system:
            return question.holds_on(self.environment.platform)
        entries = self.listing.packages.get(self._canonical(question), self.absent).entries
        return not entries or any(_may_hold_in(question, entry) for entry in entries)

    @cached_property
    def used_text(self) -> str:
        """All that the code is known to use, for :func:`~gradcompat.terms.symbol_patterns.may_be_used`."""
        stated = (*self.stated(SYMBOLS_KEY), *self.stated(CALLS_KEY))
        return "\n".join(symbol for setting in stated for symbol in texts(setting.value))

    @cached_property
    def guarded_uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names and calls that the code can do without where they cannot be imported, and the others."""
        guarded = tuple(name for setting in self.stated(GUARDED_KEY) for name in texts(setting.value))
        stated = [*self.stated(SYMBOLS_KEY), *self.stated(CALLS_KEY)] if guarded else []
        return _by_guard(tuple(symbol for setting in stated for symbol in texts(setting.value)), guarded)

    @cached_property
    def imported_uses(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names that the code imports and does not use, and what it uses."""
        named = tuple(name for setting in self.stated(IMPORTED_KEY) for name in texts(setting.value))
        if not named:
            return (), ()
        calls = tuple(call for setting in self.stated(CALLS_KEY) for call in texts(setting.value))
        called = set(map(name_of, calls))
        imported = tuple(name for name in named if name not in called)  # by another program of the run
        names = (name for setting in self.stated(SYMBOLS_KEY) for name in texts(setting.value))
        return imported, (*(name for name in names if name not in imported), *calls)

    def stated(self, key: str) -> list[Setting]:
        """What states the fact; what is only presumed is none."""
        return [setting for setting in self.settings.get(key, ()) if not setting.presumed]


@lru_cache(maxsize=64)
def _by_guard(used: tuple[str, ...], guarded: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is used of guarded names, and what else; the runs of a program use the same."""
    inside = tuple(f"{name}." for name in guarded)
    caught = {symbol for symbol in used if (name := name_of(symbol)) in guarded or name.startswith(inside)}
    return tuple(one for one in used if one in caught), tuple(one for one in used if one not in caught)


def _may_hold_in(question: ReleaseQuestion, entry: Package) -> bool:
    if entry.version is not None:
        return entry.unreleased or question.holds(entry.version) is not False
    allowed = allowed_versions(entry.specifier)
    return allowed is None or bool(allowed & question.versions)
