"""The issues of a plan by the packages that they speak of: the same in all of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradcompat.matching.alike_runs import packages_seen
from gradcompat.model.issue import Issue
from gradcompat.planner.request import Request


class IssueIndex:
    """Which issues speak of a package, and of which packages an issue.

    Attributes:
        issues: in the order of their ids.
        mentions: id of an issue → the (canonical) packages whose entries decide about it.
        names: id of an issue → the same under all of their names.
        about: canonical name → the issues that speak of it.
        ids_about: the same with their ids.
        counting_about: the same with those of which a finding has to go.
        neighbours: canonical name → whatever takes part in an issue about the package, under all of its names.
    """

    def __init__(self, issues: Sequence[Issue], families: Mapping[str, str], request: Request) -> None:
        self.issues = tuple(sorted(issues, key=lambda issue: issue.id))
        self.mentions = {issue.id: packages_seen(issue) for issue in self.issues}
        aliases: dict[str, list[str]] = {}
        for name, canonical in families.items():
            aliases.setdefault(canonical, []).append(name)
        self.names = {
            identifier: tuple(sorted({alias for name in mentions for alias in (name, *aliases.get(name, ()))}))
            for identifier, mentions in self.mentions.items()
        }
        self.about: dict[str, list[Issue]] = {}
        for issue in self.issues:
            for name in self.mentions[issue.id]:
                self.about.setdefault(name, []).append(issue)
        self.ids_about = {name: frozenset(issue.id for issue in about) for name, about in self.about.items()}
        self.counting_about = {
            name: [issue for issue in about if request.counts(issue)] for name, about in self.about.items()
        }
        self.neighbours = {
            name: frozenset(other for issue in about for other in self.names[issue.id])
            for name, about in self.about.items()
        }
