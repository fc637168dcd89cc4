"""A candidate: a change between two releases that a rule singles out, and that a person or a probe has to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from packaging.version import Version


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of change.

    Attributes:
        weight: how often such a change is a defect or its fix, from 0 to 100; it ranks, and means nothing else.
        meaning: what has changed, as a heading.
    """

    weight: int
    meaning: str


RULES = {
    "loss-facts": Rule(80, "what a model class does with its loss"),
    "division": Rule(60, "a division"),
    "reduction": Rule(60, "the reduction of a loss"),
    "loss": Rule(50, "how a loss is computed"),
    "clipping": Rule(50, "clipping"),
    "gradients": Rule(40, "where gradients flow, or a step is made"),
    "order": Rule(40, "seeds, samplers or the order of data"),
    "mask": Rule(35, "a mask, or labels that do not count"),
    "title": Rule(30, "a fix, by the title in the release notes"),
    "default": Rule(30, "a default"),
    "renamed": Rule(20, "a parameter has another name"),
    "removed": Rule(15, "a parameter is gone"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What differs between two releases.

    Attributes:
        rule: a key of ``RULES``.
        package: its normalised name.
        before: the release without the change.
        after: the next release, with it.
        place: module and function, class and parameter, or where the notes say it.
        removed: what is gone, as it is written.
        added: what has come.
    """

    rule: str
    package: str
    before: str
    after: str
    place: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Eight hexadecimal digits of what differs; weights, lines and verdicts leave it as it is.

        A title is the same in whatever file it is listed, and whichever releases are compared.
        """
        found_in = () if self.rule == "title" else (self.before, self.after, self.place)
        parts = (self.rule, self.package, *found_in, *self.removed, "→", *self.added)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate(Change):
    """A change, with what ranks and shows it.

    Attributes:
        line: in the file of the newer release; None where there is none.
        weight: the higher, the sooner it is worth a look.
        links: pull requests that the notes name, and the comparison of the two releases.
        elsewhere: how many other places have the same change.
    """

    line: int | None = None
    weight: int
    links: tuple[str, ...] = ()
    elsewhere: int = 0


def grouped(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for the same change in many places: the heaviest of them, with how many others there are."""
    found: dict[tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        parameter = candidate.place.partition("(")[2]
        texts = (candidate.removed, candidate.added, parameter)
        key = (candidate.rule, candidate.package, candidate.before, candidate.after, *texts)
        known = found.get(key)
        if known is None:
            found[key] = candidate
        else:
            first = max(known, candidate, key=lambda one: one.weight)
            found[key] = replace(first, elsewhere=known.elsewhere + candidate.elsewhere + 1)
    return list(found.values())


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The heaviest first; of equal ones those of the newest release, and then by place."""
    by_place = sorted(candidates, key=lambda candidate: (candidate.place, candidate.rule))
    newest = sorted(by_place, key=lambda candidate: Version(candidate.after), reverse=True)
    return sorted(newest, key=lambda candidate: -candidate.weight)
