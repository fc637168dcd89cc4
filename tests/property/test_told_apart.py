"""A plan that matches a record once for the runs that it cannot tell apart finds what matching every run finds.

The runs have the settings of the examples of records, so that nearly everything that decides about one is in some run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.knowledge.examples import environment_from
from gradcompat.knowledge.load import load
from gradcompat.knowledge.records import read, records_file
from gradcompat.matching.entries import Listing
from gradcompat.matching.forks import Forks
from gradcompat.matching.matcher import match_in
from gradcompat.matching.view import View
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue
from gradcompat.planner.assignment_issues import told_apart
from gradcompat.presumptions.upon import presumed_upon
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.class_facts import with_class_facts
from tests.examples import examples

BASE = load()


@cache
def stated() -> dict[str, list[Environment]]:
    """The environments of the examples of each record."""
    return {
        record.id: [
            environment_from(example)
            for kind in ("affected", "not_affected", "conditional")
            for example in getattr(record.examples, kind)
        ]
        for record in read(records_file()).records
        if record.withdrawn is None
    }


def found(issue: Issue, views: Sequence[View]) -> set[tuple[str, frozenset[str]]]:
    return {
        (finding.status, frozenset(package.name for package in finding.packages))
        for view in views
        for finding in match_in(view, [issue])
    }


@pytest.mark.e2e  # reads all records as they are written
@given(st.data())
@settings(max_examples=examples(300))
def test_runs_that_a_record_cannot_tell_apart_have_the_same_findings(data: st.DataObject) -> None:
    identifier = data.draw(st.sampled_from(sorted(stated())))
    here = data.draw(st.sampled_from(stated()[identifier]))
    settings_of_runs = data.draw(st.lists(st.sampled_from(stated()[identifier]), min_size=2, max_size=6))
    presumes = data.draw(st.booleans())
    runs = []
    for one in settings_of_runs:
        run = with_class_facts(replace(one, packages=here.packages, closed=not presumes), BASE.class_facts)
        names = map(BASE.names.canonical, here.packages)
        runs.append(presumed_upon(run, names, run=True, code=None) if presumes else run)
    listing, forks = Listing.of(here.packages, BASE.names), Forks(())
    views = [View(run, BASE.names, forks, listing) for run in runs]
    for issue in BASE.about([here]):
        few = [views[index] for index in told_apart(issue, views)]
        assert found(issue, few) == found(issue, views), issue.id


def test_most_records_tell_few_runs_apart() -> None:
    """Else nothing is gained: the runs of a project differ in paths and learning rates."""
    runs = [
        environment_from(
            {"transformers": "4.31.0", "training.gradient_accumulation_steps": 4, "training.learning_rate": 1e-5 * seed}
        )
        for seed in range(8)
    ]
    listing, forks = Listing.of(runs[0].packages, BASE.names), Forks(())
    views = [View(run, BASE.names, forks, listing) for run in runs]
    assert {len(told_apart(issue, views)) for issue in BASE.about([runs[0]])} == {1}
