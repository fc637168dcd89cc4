"""Which record describes a defect that a release causes: the one whose own probe was run for it."""

from __future__ import annotations

from functools import cache

from gradcompat.database.open import public_records
from gradcompat.model.issue import Issue, PackageTerm
from gradcompat.model.probe import ParameterValue
from gradcompat.requirements.versions import parse_version


def measured_by(package: str, version: str, probe: str, **parameters: ParameterValue) -> tuple[str, ...]:
    """Records that affect a release and list a probe with exactly these parameters.

    Args:
        package: canonical name.
        version: of the package.
        probe: the recipe's name.
        parameters: of the recipe.

    Returns:
        Ids; empty where no record describes the defect.
    """
    return tuple(
        issue.id
        for issue in _issues()
        if _affects(issue, package, version)
        and any(one.spec.name == probe and one.spec.parameters == parameters for one in issue.probes)
    )


@cache
def _issues() -> tuple[Issue, ...]:
    base = public_records(lambda _: None)
    found = (base.get(str(row["id"])) for row in base.records)
    return tuple(issue for issue in found if issue is not None)


def _affects(issue: Issue, package: str, version: str) -> bool:
    wanted = parse_version(version)
    return wanted is not None and any(
        isinstance(term, PackageTerm) and term.name == package and wanted in term.versions
        for combination in issue.affected
        for term in combination.terms
    )
