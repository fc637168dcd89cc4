"""Candidates for records as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gradcompat.curation.watch.candidate import Candidate
from gradcompat.curation.watch.survey import Survey


def data(
    surveys: Sequence[Survey],
    lost: Sequence[str],
    candidates: Iterable[Candidate],
    verdicts: Mapping[str, str],
    exit_status: int,
) -> dict[str, Any]:
    """What is printed.

    Args:
        surveys: of each package.
        lost: why there is no survey of a package, a sentence each.
        candidates: those that are shown, in their order.
        verdicts: id → what was judged.
        exit_status: of the command.
    """
    return {
        "packages": [
            {
                "name": survey.package,
                "releases": [str(release.version) for release in survey.releases],
                "seen": survey.seen,
                "gaps": survey.gaps,
            }
            for survey in surveys
        ],
        "lost": list(lost),
        "candidates": [
            {"id": candidate.id, **asdict(candidate), "verdict": verdicts.get(candidate.id)} for candidate in candidates
        ],
        "exit_status": exit_status,
    }
