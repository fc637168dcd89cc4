"""A record in parts, each a title and its sentences: what every way to show a record is made of."""

from __future__ import annotations

from dataclasses import dataclass

from gradcompat.messages import condition, remedy_text
from gradcompat.model.issue import Issue, PackageAbsentTerm, PackageTerm
from gradcompat.presumptions.engines import named_engines
from gradcompat.presumptions.presumed import Presumed
from gradcompat.presumptions.presumer import Presumer
from gradcompat.renderers.affected_text import BASIS
from gradcompat.truth import Certainty

REFERENCES = "References"  # what was measured stands before them


@dataclass(frozen=True, slots=True)
class Part:
    """A title and what stands below it, a sentence or a clause each."""

    title: str
    lines: tuple[str, ...]


def kind(issue: Issue) -> str:
    """``error, silent, loss-scale``."""
    level = "informational" if issue.informational else issue.level
    return f"{level}, {'silent' if issue.silent else 'loud'}, {', '.join(issue.categories)}"


def known(issue: Issue) -> str:
    """How its ranges are known: ``measured by running releases; torch <2.5.0: stated in release notes``."""
    bounds = (f"{bound.package} {bound.versions}: {BASIS[bound.basis]}" for bound in issue.bounds)
    return "; ".join((BASIS[issue.range_basis], *bounds))


def _checked(issue: Issue) -> tuple[str, ...]:
    """That somebody has checked it independently, and what."""
    if issue.checked is None:
        return ()
    return (f"Checked independently on {issue.checked.date}: {', '.join(issue.checked.what)}.",)


def presumptions(issue: Issue) -> tuple[str, ...]:
    """How each term of a record stands where no file states its fact, a sentence each.

    The engines that its own packages name are taken to be used; an environment that names more presumes less.
    """
    lines: dict[str, None] = {}
    for combination in issue.affected:
        packages = frozenset(term.name for term in combination.terms if isinstance(term, PackageTerm))
        presumer = Presumer(named_engines(packages, {}, run=False), packages, {})
        for term in combination.terms:
            if isinstance(term, PackageTerm):
                continue
            presumed = presumer.of_absence(term) if isinstance(term, PackageAbsentTerm) else presumer.of_term(term)
            lines[f"{condition(term, full=True)}: {_presumed(presumed)}"] = None
    return tuple(lines)


def _presumed(presumed: Presumed) -> str:
    match presumed.certainty:
        case Certainty.PRESUMED_YES:
            return f"presumed to hold, taking it that {presumed.taking}"
        case Certainty.PRESUMED_NO:
            return f"presumed not to hold unless you use {presumed.feature}"
        case _:
            return f"nothing is presumed; it could apply if {presumed.condition}"


def parts(issue: Issue) -> tuple[Part, ...]:
    """Everything but its summary, its details and what was measured; a part that has nothing to say is left out."""
    combinations = [
        " and ".join(condition(term, full=True) for term in combination.terms) for combination in issue.affected
    ]
    bases = [issue.range_basis, *(f"{bound.package} {bound.versions}: {bound.basis}" for bound in issue.bounds)]
    found = (
        Part("Affected when", (combinations[0], *(f"or {combination}" for combination in combinations[1:]))),
        Part("Where no file says", presumptions(issue)),
        Part("Shows as", issue.symptoms),
        Part("What to do, in order", tuple(map(remedy_text, issue.remedies))),
        Part(f"Evidence (ranges: {'; '.join(bases)})", (*_checked(issue), *issue.evidence)),
        Part(REFERENCES, tuple(f"{reference.type.lower()}: {reference.url}" for reference in issue.references)),
    )
    return tuple(part for part in found if part.lines)
