"""The breaks that no record tells: packages that do not import together, and code that a release breaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from packaging.version import Version

from gradcompat.breaks.pairs import Break, Pair, known_names, pair_of, pairs_among
from gradcompat.matching.entries import Names
from gradcompat.model.environment import Environment, Package
from gradcompat.model.finding import Finding
from gradcompat.model.issue import Issue, SymbolTerm, is_break
from gradcompat.requirements.versions import Window, locate
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.terms.class_facts import MODEL_KEY
from gradcompat.terms.comparison import texts
from gradcompat.terms.name_patterns import matches
from gradcompat.truth import Truth

if TYPE_CHECKING:
    from gradcompat.breaks.code_issues import BrokenUse
    from gradcompat.model.code_use import CodeUse


_MODELS = "transformers"  # whose classes a run names by its model


@dataclass(frozen=True, slots=True)
class EnvironmentBreaks:
    """What may be broken in an environment, as issues, and what they come from.

    Attributes:
        issues: in the order of their ids.
        pairs: by the id of their issue.
        code: the same, of what the code uses.
        imports: by the id of the issue of a pair the uses that lead to it, where the code imports what breaks.
    """

    issues: tuple[Issue, ...] = ()
    pairs: Mapping[str, Pair] = field(default_factory=dict)
    code: Mapping[str, BrokenUse] = field(default_factory=dict)
    imports: Mapping[str, Sequence[CodeUse]] = field(default_factory=dict)


def breaks_of(environment: Environment, uses: Sequence[CodeUse], names: Names) -> EnvironmentBreaks:
    """The pairs that do not go together in some versions that the environment lists or allows, and the broken code.

    Args:
        environment: with the releases that its ranges allow.
        uses: what the code beside it takes from other packages.
        names: under which names packages go.
    """
    listed: dict[str, list[Package]] = {}
    for package in filter(_is_released, environment.packages):
        listed.setdefault(names.canonical(package), []).append(package)
    issues: list[Issue] = []
    pairs: dict[str, Pair] = {}
    for pair in pairs_among(listed):
        chosen = next(_candidates(pair, listed[pair.consumer], listed[pair.provider]), None)
        if chosen is None:
            continue
        issue = _issue(pair, *(package.version for package in chosen))
        issues.append(issue)
        pairs[issue.id] = pair
    if not uses:
        return EnvironmentBreaks(tuple(issues), pairs)
    from gradcompat.breaks.pair_issues import issue_of_versions

    uses = _of_files_that_start(environment, _of_code_at_hand(environment, uses), names)
    versions = released_versions(environment, names)
    imports: dict[str, Sequence[CodeUse]] = {}
    for pair, leading, one in _broken_imports(versions, uses):
        issue = issue_of_versions(pair, one, *(str(versions[name][0]) for name in (pair.consumer, pair.provider)))
        issues.append(issue)
        pairs[issue.id], imports[issue.id] = pair, leading
    code = {broken_use.issue.id: broken_use for broken_use in _broken_code(environment, versions, uses, names)}
    return EnvironmentBreaks((*issues, *(broken_use.issue for broken_use in code.values())), pairs, code, imports)


def _broken_imports(
    versions: Mapping[str, Sequence[Version]], uses: Sequence[CodeUse]
) -> Iterator[tuple[Pair, Sequence[CodeUse], Break]]:
    """What the code imports that misses something in another listed package, where the package itself is imported."""
    from gradcompat.breaks.code_imports import imports_of, leading_uses, may_miss, pairs_of_code, really_missing

    only = {name: some[0] for name, some in versions.items() if len(some) == 1}
    suspects = may_miss(only)
    suspects = really_missing(suspects, uses, only) if suspects else []
    if not suspects:
        return
    imports = imports_of(uses, only)
    for consumer, provider in suspects:
        whole = pair_of(consumer, provider)
        here, beside = str(only[consumer]), str(only[provider])
        if consumer not in imports or (whole is not None and whole.broken(here, beside) is not None):
            continue
        leading = leading_uses(consumer, provider, imports[consumer], only)
        pair = next(iter(pairs_of_code(consumer, (provider,), imports[consumer])), None) if leading else None
        broken = None if pair is None else pair.broken(here, beside)
        if pair is not None and broken is not None:
            yield pair, leading, broken


def _broken_code(
    environment: Environment, versions: Mapping[str, Sequence[Version]], uses: Sequence[CodeUse], names: Names
) -> Iterator[BrokenUse]:
    """What fails in the versions that are listed, or in the newest that a range allows."""
    # Only where there is code; a lockfile alone needs no table.
    from gradcompat.breaks.code_issues import broken_uses
    from gradcompat.releases.table import table_of

    ranges = _allowed_releases(environment)
    for package, found in _by_package(uses).items():
        if package not in versions or (table := table_of(package)) is None:
            continue
        canonical = names.families.get(package, package)
        for version in versions[package]:
            broken = broken_uses(found, canonical, table, version, _beside(versions), ranges)
            yield from broken
            if broken:
                break  # the issue speaks of every release; the matcher finds the other entries


def _of_code_at_hand(environment: Environment, uses: Sequence[CodeUse]) -> Sequence[CodeUse]:
    """The uses without those of a package that the environment takes from a repository: it imports another state."""
    elsewhere = {package.name for package in environment.packages if package.source == "git"}
    if not elsewhere:
        return uses
    return [
        use
        for use in uses
        if not any(part.lower().replace("_", "-") in elsewhere for part in PurePosixPath(use.location.path).parts[:-1])
    ]


def _of_files_that_start(environment: Environment, uses: Sequence[CodeUse], names: Names) -> Sequence[CodeUse]:
    """The uses without those of files that import what is certainly not there: they are for another environment.

    A project may train with JAX as well, or have a requirements file of its own for vLLM.
    """
    if not environment.closed:
        return uses
    from gradcompat.releases.table import package_of

    listed = {name for package in environment.packages for name in (package.name, names.canonical(package))}
    absent: set[str] = set()
    imports = [use for use in uses if use.kind == "import" and not use.conditional]
    for root in {use.root for use in imports}:
        package = package_of(root)
        # tensorflow-cpu and opencv-python-headless bring the modules of others.
        if package is not None and not any(name.startswith(names.families.get(package, package)) for name in listed):
            absent.add(root)
    elsewhere = {use.location.path for use in imports if use.root in absent}
    return [use for use in uses if use.location.path not in elsewhere] if elsewhere else uses


def _is_released(package: Package) -> bool:
    """Is it what an index serves? A checkout, and what somebody built, may differ from the release of its version.

    What a repository holds today is judged by the newest release, and that is a condition of what is told.
    """
    return package.source in ("registry", "conda") or package.trunk


def _by_package(uses: Sequence[CodeUse]) -> dict[str, list[CodeUse]]:
    """The uses by the distribution that they are of, where a table of it ships."""
    from gradcompat.releases.table import package_of

    found: dict[str, list[CodeUse]] = {}
    for use in uses:
        package = package_of(use.root)
        if package is not None:
            found.setdefault(package, []).append(use)
    return found


def released_versions(environment: Environment, names: Names) -> dict[str, list[Version]]:
    """The versions that are listed of each distribution, or the newest that its range allows."""
    found: dict[str, list[Version]] = {}
    for package in filter(_is_released, environment.packages):
        written = package.version or (package.releases[-1] if package.releases else None)
        unreleased = package.unreleased and package.version is not None
        window = None if written is None else locate(written, unreleased=unreleased)
        if window is not None and window.exact:
            name = names.canonical(package) if package.source == "conda" else package.name
            found.setdefault(name, []).append(window.low)
    return {name: list(dict.fromkeys(versions)) for name, versions in found.items()}


def _allowed_releases(environment: Environment) -> dict[str, tuple[Version, ...]]:
    """The packages that are listed once and with a range, with the releases that it allows."""
    listed: dict[str, list[Package]] = {}
    for package in environment.packages:
        listed.setdefault(package.name, []).append(package)
    return {
        name: tuple(map(Version, one.releases))
        for name, (one, *others) in listed.items()
        if not others and one.version is None and one.releases
    }


def _beside(versions: Mapping[str, Sequence[Version]]) -> Callable[[str], Version | None]:
    """The release of a package that is listed in one version."""
    return _release_of(tuple(sorted((name, some[0]) for name, some in versions.items() if len(some) == 1)))


# A table remembers signatures by this function: the same releases have to give the same one.
@lru_cache(maxsize=64)
def _release_of(only: tuple[tuple[str, Version], ...]) -> Callable[[str], Version | None]:
    return dict(only).get


@lru_cache(maxsize=256)
def _issue(pair: Pair, consumer: str | None, provider: str | None) -> Issue:
    from gradcompat.breaks.pair_issues import issue_of_versions, pair_issue

    broken = None if consumer is None or provider is None else pair.broken(consumer, provider)
    if broken is None or consumer is None or provider is None:
        return pair_issue(pair)
    return issue_of_versions(pair, broken, consumer, provider)


def _candidates(
    pair: Pair, consumers: Sequence[Package], providers: Sequence[Package]
) -> Iterator[tuple[Package, Package]]:
    """Entries that may be broken beside each other, those that surely are first."""
    open_ones: list[tuple[Package, Package]] = []
    windows = [_window(provider) for provider in providers]
    known: dict[tuple[int, int], Truth] = {}  # by the break and the provider
    for consumer in consumers:
        at = _window(consumer)
        here = () if at is None else [(index, one.consumers.truth(at)) for index, one in enumerate(pair.breaks)]
        breaking = [(index, truth) for index, truth in here if truth is not Truth.NO]
        for number, (provider, beside) in enumerate(zip(providers, windows, strict=True)):
            if consumer.version is None or provider.version is None:
                open_ones.append((consumer, provider))
                continue
            if beside is None:
                continue
            truth = Truth.NO
            for index, of_consumer in breaking:
                if (index, number) not in known:
                    known[index, number] = pair.breaks[index].providers.truth(beside)
                truth = max(truth, min(of_consumer, known[index, number]))
            if truth is Truth.YES:
                yield consumer, provider
            elif truth is Truth.UNKNOWN:
                open_ones.append((consumer, provider))
    yield from open_ones


def _window(package: Package) -> Window | None:
    """Where an entry's version sits, if it has one that can be read."""
    return None if package.version is None else locate(package.version, unreleased=package.unreleased)


def told(findings: Sequence[Finding], breaks: EnvironmentBreaks, names: Names) -> list[Finding]:
    """The findings without the breaks that a record tells, and the others with what the wheels say.

    Of a pair only what is affected is told: that two packages go together is no news, and of ranges a resolver takes
    releases that do.
    """
    if not breaks.issues:
        return list(findings)
    from gradcompat.breaks.pair_issues import CATEGORIES, with_evidence

    by_records = [
        frozenset(map(names.canonical, finding.packages))
        for finding in findings
        if not is_break(finding.issue.id)
        and finding.status in ("affected", "conditional")
        and not set(CATEGORIES).isdisjoint(finding.issue.categories)
    ]
    kept: list[Finding] = []
    for finding in findings:
        pair, code = breaks.pairs.get(finding.issue.id), breaks.code.get(finding.issue.id)
        if code is not None:
            if finding.status in ("affected", "conditional") and not _speaks_of(code.use, findings):
                from gradcompat.breaks.code_issues import with_lines

                kept.append(with_lines(finding, code))
        elif pair is None:
            kept.append(finding)
        elif finding.status == "affected" and {pair.consumer, pair.provider} not in by_records:
            shown = with_evidence(finding, pair, _entries(finding.packages, pair, names))
            if (leading := breaks.imports.get(finding.issue.id)) is not None:
                from gradcompat.breaks.code_issues import with_uses

                shown = with_uses(shown, leading)
            kept.append(shown)
    return kept


def _speaks_of(use: CodeUse, findings: Sequence[Finding]) -> bool:
    """Does a record tell that the use fails? One that trains wrongly, or of another argument of a class, does not."""
    name = ".".join(part for part in (use.module, use.name) if part)
    missing = re.compile(rf"(?<!\w){re.escape((use.keyword or name).rpartition('.')[2])}(?!\w)")
    return any(
        isinstance(term, SymbolTerm) and any(matches(name, pattern) for pattern in term.symbols)
        for finding in findings
        if finding.status in ("affected", "conditional") and not is_break(finding.issue.id)
        if not finding.issue.silent and missing.search(f"{finding.issue.summary} {finding.issue.details}")
        for term in finding.terms
    )


def _entries(packages: Iterable[Package], pair: Pair, names: Names) -> Iterator[tuple[Package, Package]]:
    packages = tuple(packages)
    for consumer in packages:
        for provider in packages:
            if (names.canonical(consumer), names.canonical(provider)) == (pair.consumer, pair.provider):
                yield consumer, provider


def breaks_ahead(
    environment: Environment,
    runs: Iterable[Environment],
    uses: Sequence[CodeUse],
    names: Names,
    among: frozenset[str] | None = None,
) -> tuple[Issue, ...]:
    """What no change of versions may lead into: packages that do not go together, what the code or its models miss.

    Args:
        environment: with the releases that its ranges allow.
        runs: its training runs.
        uses: what the code beside it takes from other packages.
        names: under which names packages go.
        among: leaves out what the code needs of other (canonical) packages than these; None leaves out nothing.
    """
    listed = frozenset(map(names.canonical, environment.packages))
    needed = (*uses, *uses_of_models(environment, runs, names))
    return (*constraints_of(listed), *constraints_of_code(environment, needed, names, among))


def constraints_of_code(
    environment: Environment, uses: Sequence[CodeUse], names: Names, among: frozenset[str] | None = None
) -> tuple[Issue, ...]:
    """What the code uses, as issues of the releases that do not have it, or are too old for anybody to know.

    Args:
        environment: with the releases that its ranges allow.
        uses: what the code beside it takes from other packages.
        names: under which names packages go.
        among: leaves out issues that speak of none of these (canonical) packages; None leaves out none.
    """
    if not uses:
        return ()
    from gradcompat.breaks.code_issues import constraint_of, unread_before
    from gradcompat.releases.table import table_of

    versions = released_versions(environment, names)
    beside = _beside(versions)
    found: dict[str, Issue] = {}
    for package, some in _by_package(uses).items():
        name = names.families.get(package, package)
        if package not in versions or (among is not None and name not in among) or (table := table_of(package)) is None:
            continue
        oldest = unread_before(name, min(*versions[package], table.versions[0]))
        found[oldest.id] = oldest
        for use in {use.what: use for use in some}.values():  # the same in many files is one
            issue = constraint_of(use, name, table, beside)
            if issue is not None:
                found.setdefault(issue.id, issue)
    return (*found.values(), *_constraints_of_imports(versions, uses))


def uses_of_models(environment: Environment, runs: Iterable[Environment], names: Names) -> tuple[CodeUse, ...]:
    """The classes of the models that the runs train, as imports from transformers: no change may lose them.

    A config names its model on the hub, and no line of code imports the class. Those alone that every listed release
    has; whatever else such a class is, it is none of transformers.

    Args:
        environment: with the releases that its ranges allow.
        runs: the training runs.
        names: under which names packages go.
    """
    trained = {
        name: setting.location
        for run in runs
        for setting in run.settings
        if setting.key == MODEL_KEY and setting.value is not None and not setting.presumed
        for name in texts(setting.value)
    }
    versions = released_versions(environment, names)
    if not trained or not versions.get(_MODELS):
        return ()
    from gradcompat.breaks.code_issues import is_there
    from gradcompat.model.code_use import CodeUse
    from gradcompat.releases.table import table_of

    if (table := table_of(_MODELS)) is None:
        return ()
    beside = _beside(versions)
    uses = (CodeUse(kind="import", module=_MODELS, name=name, location=location) for name, location in trained.items())
    return tuple(use for use in uses if all(is_there(use, table, version, beside) for version in versions[_MODELS]))


def _constraints_of_imports(versions: Mapping[str, Sequence[Version]], uses: Sequence[CodeUse]) -> Iterator[Issue]:
    """Where what the code imports fails, over all releases of the listed packages."""
    from gradcompat.breaks.code_imports import imports_of, pairs_of_code
    from gradcompat.breaks.module_needs import leading_to, providers_of
    from gradcompat.breaks.pair_issues import pair_issue

    only = {name: some[0] for name, some in versions.items() if len(some) == 1}
    providers = {consumer: sorted(only.keys() & providers_of(consumer)) for consumer in only}
    followed = leading_to([consumer for consumer, some in providers.items() if some], only)
    imports = imports_of(uses, {name: only[name] for name in followed})
    for consumer in imports:
        yield from map(pair_issue, pairs_of_code(consumer, providers[consumer], imports[consumer]))


def constraints_of(listed: Iterable[str]) -> tuple[Issue, ...]:
    """Every pair of these packages (canonical names) in all releases: what no set of versions may lead into."""
    return tuple(map(_constraint, pairs_among(frozenset(listed))))


def constraints_of_all() -> tuple[Issue, ...]:
    """Every pair that is known, for a set of packages that is yet to be chosen."""
    return constraints_of(known_names())


@lru_cache(maxsize=256)
def _constraint(pair: Pair) -> Issue:
    from gradcompat.breaks.pair_issues import pair_issue

    return pair_issue(pair)
