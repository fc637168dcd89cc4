"""``gradcompat constraints``: a file for ``pip install -c`` and ``uv --constraint``, every line with its reason."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from packaging.utils import is_normalized_name

from gradcompat.audit.breaks import constraints_of_all
from gradcompat.audit.environment_findings import with_facts
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.plans import PlanOptions, exit_status, plan_all
from gradcompat.audit.targets import resolve_targets
from gradcompat.cli.audit_options import options_of
from gradcompat.cli.console import known_records, package_index, print_unread
from gradcompat.cli.index_parameters import ResolutionParameters
from gradcompat.cli.parameters import AuditParameters, repeatable
from gradcompat.errors import ResolutionError, UsageError
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.model.environment import Environment
from gradcompat.model.issue import LEVELS, Issue
from gradcompat.model.plan import Change
from gradcompat.model.plan_report import Planned
from gradcompat.model.release import Catalogue
from gradcompat.planner.exclusions import Exclusion, exclusions
from gradcompat.planner.good_set import good_set
from gradcompat.planner.host_target import target_of
from gradcompat.planner.request import Request
from gradcompat.renderers.constraints import Line, write
from gradcompat.renderers.terminal import safe, skipped_text
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.terms.class_facts import with_class_facts


def command(
    *,
    audit: AuditParameters,
    resolution: ResolutionParameters,
    wanted: Annotated[
        list[str],
        repeatable("--for", metavar="NAME,…", help="A known-good set of these packages for a new project."),
    ],
    every: Annotated[
        bool, typer.Option("--all", help="Exclude the releases that are affected under every condition.")
    ] = False,
    python_version: Annotated[
        str | None, typer.Option("--python-version", metavar="3.11", help="The Python that a new set is for.")
    ] = None,
) -> int:
    """Write constraints for `pip install -c` and uv, each with its reason as a comment.

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index are kept

    Examples:
      gradcompat constraints uv.lock --context train.yaml > constraints.txt
      gradcompat constraints --for transformers,peft,trl --python-version 3.11
      gradcompat constraints --all
    """
    if sum((bool(audit.targets), bool(wanted), every)) > 1:
        raise UsageError("a target, `--for` and `--all` exclude one another", hint="use one of them")
    base = known_records(audit.knowledge)
    if python_version is not None:
        audit = replace(audit, facts=[*audit.facts, f"host.python={python_version}"])
    options = options_of(base, audit)
    with package_index(resolution.lookup) as catalogue:
        if every:
            return _all(base, options, catalogue)
        if wanted:
            return _known_good(wanted, base, options, catalogue)
        asked = resolve_targets(audit.targets, audit.python, audit.contexts)
        done = plan_all(asked, base, catalogue, options, PlanOptions.of(resolution.keep, prereleases=False))
    print_unread(done)
    if any(work.environment is not None for work in done):
        lines = _of_plans([work.planned for work in done])
        # A file of constraints is read again long after what was said here is gone.
        unread = [skipped_text(skipped) for work in done for skipped in work.planned.skipped]
        write([*_head(base, "what makes these environments right"), *unread], lines, sys.stdout, complete=not unread)
    return exit_status(done, left=any(work.left for work in done))


def _head(base: KnowledgeBase, what: str) -> list[str]:
    return [
        f"gradcompat: {what}, by the knowledge of {base.date}",
        "use: pip install -c FILE …, uv … --constraint FILE",
    ]


def _of_plans(plans: Iterable[Planned]) -> list[Line]:
    lines: dict[str, Line] = {}
    for planned in plans:
        if planned.plan is None:
            continue
        for change in planned.plan.changes:
            line = _of_change(change, planned)
            if lines.setdefault(change.package, line).specifier != line.specifier:
                hint = "write constraints for each of them alone"
                raise UsageError(f"the targets need different versions of `{change.package}`", hint=hint)
        for sentence in planned.plan.verified.unverified:
            sys.stderr.write(safe(f"unverified: {sentence}") + "\n")
        for remaining in planned.plan.remaining:
            sys.stderr.write(safe(f"remains: {remaining} {planned.summaries.get(remaining, '')}") + "\n")
    return [lines[name] for name in sorted(lines)]


def _of_change(change: Change, planned: Planned) -> Line:
    was = f"was {change.version_from} in {planned.source}" if change.version_from is not None else planned.source
    return Line(
        package=change.package,
        specifier=f"=={change.version_to}",
        reasons=(*(_cured(cure, planned) for cure in change.cures), *change.because, was),
    )


def _cured(identifier: str, planned: Planned) -> str:
    said = f"{identifier}: {planned.summaries.get(identifier, '')}"
    return "; ".join((said, *filter(None, [planned.references.get(identifier)])))


def _reason(issue: Issue) -> str:
    return "; ".join((f"{issue.id}: {issue.summary}", *(reference.url for reference in issue.references[:1])))


def _all(base: KnowledgeBase, options: AuditOptions, catalogue: Catalogue) -> int:
    least = LEVELS.index(options.fail_on or "note")
    issues = [
        issue
        for issue in base.in_force()
        if not issue.informational
        and LEVELS.index(issue.level) >= least
        and (not options.only or issue.id in options.only)
        and issue.id not in options.ignore
    ]
    found = exclusions(issues, base.names, catalogue)
    lines = [
        Line(package=hit.package, specifier=hit.specifier, reasons=tuple(map(_reason, hit.issues)))
        for hit in found
        if hit.specifier is not None
    ]
    unnamed = [without_releases(hit) for hit in found if hit.specifier is None]
    for sentence in unnamed:
        sys.stderr.write(safe(f"unverified: {sentence}") + "\n")
    head = [*_head(base, "releases that are wrong without any condition"), *unnamed]
    write(head, lines, sys.stdout, complete=not unnamed)
    return 3 if unnamed else 0


def without_releases(one: Exclusion) -> str:
    """Why nothing is written of a package: constraints name single releases, and none is known here."""
    return f"{one.package}: its releases are not known here, so those in {one.excluded} are not excluded"


def _known_good(wanted: Sequence[str], base: KnowledgeBase, options: AuditOptions, catalogue: Catalogue) -> int:
    names = tuple(dict.fromkeys(normalise(name) for one in wanted for name in one.split(",") if name.strip()))
    if not names:
        raise UsageError("`--for` names no package", hint="write `--for transformers,peft`")
    for name in names:
        if not is_normalized_name(name):
            hint = "names only, joined by commas; gradcompat chooses the versions"
            raise UsageError(f"`{name}` is not a package name", hint=hint)
    empty = with_facts(
        Environment(source="--for", kind="wish", packages=(), closed=False), options.settings, options.kept_at
    )
    empty = with_class_facts(empty, base.class_facts)
    request = Request(
        target=target_of(empty),
        level=options.fail_on or "note",
        conditional=options.strict,
        yanked=base.yanked,
    )
    issues = (*base.in_force(), *constraints_of_all())
    found = good_set(names, empty, issues, base.names, catalogue, request)
    lines = [
        Line(package=chosen.package, specifier=f"=={chosen.version}", reasons=chosen.reasons) for chosen in found.chosen
    ]
    for sentence in found.unverified:
        sys.stderr.write(safe(f"unverified: {sentence}") + "\n")
    if not lines:
        raise ResolutionError("no set of releases is known to be good", hint="; ".join(found.core) or None)
    write(_head(base, f"a known-good set for {', '.join(names)} ({found.target})"), lines, sys.stdout)
    return 3 if found.unverified else 0
