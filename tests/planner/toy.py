"""Small universes in plain tables: releases with their requirements, records, an environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.knowledge.compile import compile_record
from gradcompat.knowledge.load import issue_from
from gradcompat.knowledge.schema import Record
from gradcompat.matching.matcher import match
from gradcompat.model.environment import Environment, Location, Package, Setting
from gradcompat.model.issue import Issue
from gradcompat.model.plan import Alternative, Change, Plan
from gradcompat.model.release import Release, Target
from gradcompat.planner.plan import plan
from gradcompat.planner.request import Request
from gradcompat.requirements.versions import VersionSet
from tests.building import NAMES

HERE = Location(path="uv.lock", line=1)
TARGET = Target(python="3.11.7")
ANYWHERE = ("py3-none-any",)


@dataclass
class Table:
    """A catalogue out of tables; what is dead raises."""

    packages: Mapping[str, Mapping[str, tuple[Release, tuple[str, ...] | None]]]
    dead: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    @property
    def described(self) -> str:
        return "a table"

    def expect(self, names: Iterable[str]) -> None:
        self.asked += names

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        self.asked += [f"{one.name} {one.version}" for one in releases]

    def releases(self, name: str) -> tuple[Release, ...]:
        if name in self.dead or "*" in self.dead:
            raise IndexUnavailable(f"`{name}` was not answered")
        found = [release for release, _ in self.packages.get(name, {}).values()]
        return tuple(sorted(found, key=lambda one: one.version))

    def release(self, name: str, version: Version) -> Release | None:
        return next((one for one in self.releases(name) if one.version == version), None)

    def requires(self, release: Release) -> tuple[str, ...] | None:
        if f"{release.name} {release.version}" in self.dead:
            raise IndexUnavailable(f"`{release.name}` {release.version} was not answered")
        return self.packages[release.name][str(release.version)][1]


def table(packages: Mapping[str, Any], dead: Iterable[str] = ()) -> Table:
    """``{name: {version: requirements}}``; a version may also be a table with the fields of a release."""
    return Table(
        {
            name: {version: _release(name, version, written) for version, written in releases.items()}
            for name, releases in packages.items()
        },
        frozenset(dead),
    )


def _release(name: str, version: str, written: Any) -> tuple[Release, tuple[str, ...] | None]:
    if isinstance(written, list):
        written = {"requires": written}
    fields = {"wheels": ANYWHERE, **written}
    requires = fields.pop("requires", ())
    if requires == "unknown":
        requires = None
    fields["wheels"] = tuple(fields["wheels"])
    release = Release(name=name, version=Version(version), **fields)
    return release, None if requires is None else tuple(requires)


def environment(written: Mapping[str, Any]) -> Environment:
    """``[environment]``; a package is its text as ``name version``, or a table of its fields."""
    fields = dict(written)
    packages = []
    for one in fields.pop("packages"):
        entry: dict[str, Any] = (
            dict(zip(("name", "version"), one.split(" ", 1), strict=False)) if isinstance(one, str) else one
        )
        entry = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        packages.append(Package(**{"version": None, "location": HERE, **entry}))
    settings = tuple(
        Setting(key=key, value=value, location=Location(path="train.yaml", line=3), spelling=f"{key}: {{}}")
        for key, value in fields.pop("settings", {}).items()
    )
    made = {"source": "uv.lock", "kind": "uv.lock", "closed": True, **fields}
    return Environment(packages=tuple(packages), settings=settings, **made)


def issue(number: int, written: Mapping[str, Any]) -> Issue:
    """A record as in ``knowledge/issues.yaml``, with what it needs beside its terms filled in."""
    record = Record.model_validate(
        {
            "id": f"GC-{number:04}",
            "summary": "Something is wrong",
            "details": "It is.",
            "level": "error",
            "silent": True,
            "categories": ["wrong-loss"],
            "remedies": [{"kind": "upgrade", "package": "transformers", "versions": ">=1000"}],
            "references": [{"type": "REPORT", "url": "https://example.org/1"}],
            "range_basis": "measured",
            "evidence": ["seen"],
            "examples": {"affected": [{}], "not_affected": [{}]},
            **written,
        }
    )
    return issue_from(compile_record(record))


def request(written: Mapping[str, Any]) -> Request:
    """``[request]``; ``direct`` holds specifiers, ``python`` and ``platform`` describe the target."""
    fields = dict(written)
    target = replace(
        TARGET, **{key: fields.pop(key) for key in ("python", "platform", "machine", "glibc") if key in fields}
    )
    if "direct" in fields:
        fields["direct"] = {name: VersionSet.parse(text) for name, text in fields["direct"].items()}
    fields["keep"] = frozenset(fields.get("keep", ()))
    return Request(target=target, **fields)


def planned(here: Environment, issues: Sequence[Issue], catalogue: Table, asked: Request) -> Plan:
    """Match and plan, as the command does."""
    return plan(here, match(here, issues, NAMES), issues, NAMES, catalogue, asked)


def shown(made: Plan) -> dict[str, Any]:
    """A plan as the universes write it, with what is empty left out and the alternatives apart."""
    verified = made.verified
    facts: dict[str, Any] = {
        "complete": made.complete,
        "changes": [change_text(one) for one in made.changes],
        "because": [sentence for one in made.changes for sentence in one.because],
        "settings": [f"{one.key} = {one.value}" for one in made.settings],
        "code": [one.text for one in made.code],
        "fixed": list(made.fixed),
        "introduced": list(made.introduced),
        "remaining": list(made.remaining),
        "tolerated": list(made.tolerated),
        "core": list(made.core),
        "cost": made.cost,
        "unverified": list(verified.unverified),
        "notes": list(verified.notes),
    }
    if verified.requirements is not True:
        facts["requirements"] = "unknown" if verified.requirements is None else "not all seen"
    if verified.wheels is not True:
        facts["wheels"] = "unknown" if verified.wheels is None else "to be built"
    for name, value in (("matched_again", verified.matched_again), ("smallest", verified.smallest)):
        if not value:
            facts[name] = value
    return {key: value for key, value in facts.items() if value not in ([], "")}


def change_text(change: Change) -> str:
    """``transformers 4.49.0 -> 4.52.1``."""
    if change.kind == "add":
        return f"+ {change.package} {change.version_to}"
    return f"{change.package} {change.version_from or '(a range)'} -> {change.version_to}"


def alternative_text(alternative: Alternative) -> str:
    """An alternative in one line, with what blocks it."""
    parts = [change_text(one) for one in alternative.changes]
    parts += [f"{one.key} = {one.value}" for one in alternative.settings]
    parts += [one.text for one in alternative.code]
    text = f"{', '.join(parts)} ({alternative.cost})"
    return f"{text}: {'; '.join(alternative.blocked)}" if alternative.blocked else text
