"""Terms about packages: is an entry's version in the range, and is a package absent beside others?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from gradcompat.matching.entries import Choice, Choices, Listed, allowed_versions
from gradcompat.matching.verdict import Verdict, with_presumption
from gradcompat.matching.view import View
from gradcompat.messages import condition, entry_text
from gradcompat.model.environment import Package
from gradcompat.model.issue import PackageAbsentTerm, PackageTerm
from gradcompat.presumptions.extras import brought_by_extra
from gradcompat.requirements.versions import ALL, locate
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.truth import Certainty, Truth

# A lockfile with more choices of entries for one combination than this is not taken apart: no two entries of it are
# asked whether they go together, and nothing about it is better than UNKNOWN.
MAX_CHOICES = 2_000
_NIGHTLY = lazy_pattern(r"\.dev20\d{6}")
_OF_COMMIT = lazy_pattern(r"(?:\+|[+.]git)(?=[a-f]*\d)[0-9a-f]{6,40}$")
_PRE_RELEASE = lazy_pattern(r"\d[._-]?(?:a|b|c|rc|alpha|beta|pre|preview|dev)[._-]?\d*", re.IGNORECASE)


def choices_of(term: PackageTerm, view: View) -> Choices:
    """The entries that a term may be about; records share terms, and each is decided once."""
    listed = view.listing.packages.get(term.name, view.absent)
    known = listed.choices.get(id(term))
    if known is None:
        known = listed.choices[id(term)] = (term, _choices(term, listed, view))
    return known[1]


def _choices(term: PackageTerm, listed: Listed, view: View) -> Choices:
    decided = (
        ((alike, _package(term, alike[0], view)) for alike in listed.perhaps_in(term.versions))
        if listed.alike
        else [((), _absent_package(term, view))]
    )
    possible = tuple([Choice(alike, verdict) for alike, verdict in decided if verdict.certainty])
    return Choices(listed.entries, possible)


def _package(term: PackageTerm, entry: Package, view: View) -> Verdict:
    """Does this entry's version lie in the term's range?"""
    verdict = _version_of(term, entry, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        return with_presumption(verdict, view.presumer.of_range(term, entry))
    return verdict


def _version_of(term: PackageTerm, entry: Package, view: View) -> Verdict:
    """The same by facts alone."""
    if entry.version is not None:
        window = locate(entry.version, unreleased=entry.unreleased)
        if term.versions == ALL:
            return Verdict(Certainty.YES, f"{entry_text(entry)} is there", term.name, entry.location)
        if window is None:
            sentence = f"`{entry.version}`, which is not a version, stands for {term.name} {view.range_text(term)}"
            return Verdict(Certainty.OPEN, sentence, term.name, entry.location)
        truth = term.versions.truth(window)
        if truth is Truth.UNKNOWN:
            kind = "pre-release" if window.prerelease else "build of an unreleased commit"
            sentence = f"{entry_text(entry)}, a {kind}, still behaves as {term.name} {view.range_text(term)}"
            return Verdict(Certainty.of(truth), sentence, term.name, entry.location)
        if truth is Truth.NO:
            return _no(term)
        return Verdict(
            Certainty.of(truth), f"{entry_text(entry)} is in {view.range_text(term)}", term.name, entry.location
        )
    allowed = allowed_versions(entry.specifier)
    if allowed is None or term.versions == ALL:
        truth = Truth.YES if term.versions == ALL else Truth.UNKNOWN
        return Verdict(Certainty.of(truth), partial(condition, term), term.name, entry.location)
    met = allowed & term.versions
    # "Pre-releases of any kind MUST be implicitly excluded", unless the specifier names one.
    if _PRE_RELEASE.search(str(entry.specifier)) is None:
        met, allowed = met.without_pre_releases, allowed.without_pre_releases
    if not met:
        return _no(term)
    if met == allowed and allowed.bounded:
        return Verdict(
            Certainty.YES,
            f"all that {entry_text(entry)} allows is in {view.range_text(term)}",
            term.name,
            entry.location,
        )
    return Verdict(
        Certainty.OPEN, f"{entry_text(entry)} resolves to {view.range_text(term)}", term.name, entry.location
    )


def built_apart(chosen: Sequence[Package], view: View) -> Iterator[Verdict]:
    """What a record of wheels leaves open of two packages of which one is built for the other.

    Conda builds its own pairs, as do nightly builds and those who build from commits. Whoever resolves a range takes
    the build that belongs to the other package.
    """
    entries = {view.names.canonical(entry): entry for entry in chosen}
    for name, entry in entries.items():
        base = entries.get(view.names.built_for.get(name, ""))
        if base is None:
            continue
        of_conda = entry.source == base.source == "conda"
        of_one = of_conda or _of_one_builder(entry, base)
        owner = "conda's " if of_conda else ""
        sentence = f"{owner}{entry_text(entry)} is not built for its {entry_text(base)}"
        verdict = Verdict(Certainty.OPEN, sentence, name, entry.location)
        if view.presumer is not None and (of_one or entry.version is None or base.version is None):
            yield with_presumption(verdict, view.presumer.of_builds(name, view.names.canonical(base)))
        elif of_one:
            yield verdict


def _of_one_builder(entry: Package, base: Package) -> bool:
    """Are they nightly builds of one day, or both built from commits by somebody who builds them for each other?"""
    nightly, other = (_NIGHTLY.search(one.version or "") for one in (entry, base))
    if nightly is not None and other is not None:
        return nightly[0] == other[0]
    return all(_OF_COMMIT.search(one.version or "") for one in (entry, base))


def _no(term: PackageTerm) -> Verdict:
    """Most terms do not hold, and nobody reads why: only what holds or is open is put into words."""
    return Verdict(Certainty.NO, "", term.name)


def _absent_package(term: PackageTerm, view: View) -> Verdict:
    if view.environment.closed:
        return _no(term)
    presumed = None if view.presumer is None else view.presumer.of_unlisted(term)
    certainty = Certainty.OPEN if presumed is None else presumed.certainty
    return Verdict(certainty, partial(condition, term), term.name, unlisted=True, presumed=presumed)


def absence(term: PackageAbsentTerm, chosen: tuple[Package, ...], view: View) -> Verdict:
    """Is no entry of that name installed where the chosen ones are?"""
    verdict = stated_absence(term, chosen, view)
    if verdict.certainty is Certainty.OPEN and view.presumer is not None:
        by_extra = brought_by_extra(term.name, lambda name: view.listing.packages.get(name, view.absent).entries)
        return with_presumption(verdict, view.presumer.of_absence(term, by_extra=by_extra))
    return verdict


def stated_absence(term: PackageAbsentTerm, chosen: tuple[Package, ...], view: View) -> Verdict:
    """The same by facts alone."""
    listed = view.listed(term.name)
    if len(listed) * len(chosen) > MAX_CHOICES:
        return Verdict(Certainty.OPEN, partial(condition, term), term.name)
    beside = [
        entry
        for alike in listed
        for entry in alike[:1]
        if all(view.forks.together(entry, package) for package in chosen)
    ]
    if not beside:
        certainty = Certainty.YES if view.environment.closed else Certainty.OPEN
        return Verdict(certainty, condition(term), term.name)
    if view.forks.covered(chosen, beside):
        return Verdict(Certainty.NO, f"{term.name} is there", term.name)
    return Verdict(Certainty.OPEN, partial(condition, term), term.name)
