"""An environment with each of its training runs, held against the records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gradcompat.audit.breaks import breaks_ahead, breaks_of, told
from gradcompat.audit.options import AuditOptions
from gradcompat.budget import Budget
from gradcompat.knowledge.load import KnowledgeBase
from gradcompat.matching.alike_runs import alike, questions
from gradcompat.matching.entries import Listing, Names
from gradcompat.matching.forks import Forks
from gradcompat.matching.matcher import match_in
from gradcompat.matching.view import View
from gradcompat.messages import counted, joined
from gradcompat.model.environment import Environment, Location, Setting, SettingValue, Skipped
from gradcompat.model.finding import Finding, Status
from gradcompat.model.issue import LEVELS, Issue, SymbolTerm, Term
from gradcompat.presumptions.upon import presumed_upon
from gradcompat.requirements.versions import parse_version
from gradcompat.startup.lazy_dataclasses import dataclass, replace
from gradcompat.terms.class_facts import MODEL_KEY, with_class_facts
from gradcompat.terms.published_models import with_shared_heads, with_tied_embeddings
from gradcompat.terms.symbol_patterns import LIBRARIES_KEY, OPTIONAL_KEY
from gradcompat.terms.term_keys import key_of
from gradcompat.vocabulary import VIRTUAL_PACKAGES, package_of

if TYPE_CHECKING:
    from packaging.version import Version

    from gradcompat.model.code_use import CodeUse, ProjectCode
    from gradcompat.model.context import Context, OptionalUse, OptionTest

# Of one run of gradcompat, for each megabyte of the files that it reads. An environment of torch and transformers needs
# 2,500 in a training run, and repositories of fifty runs and several environments are not rare: 500,000 take some 15 s.
MATCH_STEPS = 500_000
_COMPARED = 20  # settings that are compared, or runs that are listed, in one step

_INSTALLED_IN_TURN = frozenset({"dockerfile", "notebook", "install-script"})  # by commands that know nothing of another
_STATUSES: tuple[Status, ...] = ("affected", "conditional", "dormant", "not_affected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """One environment with each of its training runs, and what was found.

    Attributes:
        environment: as it was read, with the releases that its ranges allow.
        runs: how a run is called → the environment with its settings and the facts of the host; one called ``""``
            where there is no training run, or something is true of programs that train nothing.
        findings: in the order in which they are shown.
        breaks: the issues that no record has.
        recorded: makes the others.
        views: the runs that were matched, with what was found in them; the others have an equal one among these.
        listing: the entries, which are the same in all runs.
        uses: what the code beside it takes from other packages.
        skipped: what was not decided.
        steps: how many questions were asked, and runs compared.
    """

    environment: Environment
    runs: dict[str, Environment]
    findings: tuple[Finding, ...]
    breaks: tuple[Issue, ...]
    recorded: Callable[[], tuple[Issue, ...]]
    listing: Listing
    views: tuple[View, ...] = ()
    uses: tuple[CodeUse, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    steps: int = 0

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Every issue that speaks of a package of the environment, also those that its versions rule out."""
        return (*self.recorded(), *self.breaks)

    def breaks_ahead(self, names: Names, among: frozenset[str] | None = None) -> list[Issue]:
        """What no change may lead into, and is not there yet, see :func:`~gradcompat.audit.breaks.breaks_ahead`."""
        here = {issue.id for issue in self.breaks}
        ahead = breaks_ahead(self.environment, self.runs.values(), self.uses, names, among)
        return [issue for issue in ahead if issue.id not in here]

    def run_of(self, finding: Finding) -> Environment:
        """The environment of the first run that the finding is true of."""
        return self.runs[finding.contexts[0] if finding.contexts else ""]


def match_runs(
    environment: Environment,
    contexts: tuple[Context, ...],
    base: KnowledgeBase,
    options: AuditOptions,
    most_steps: int = MATCH_STEPS,
    code: ProjectCode | None = None,
    whole: bool = True,
) -> Matched:
    """Match an environment with each of its training runs.

    Args:
        environment: as it was read.
        contexts: its training runs.
        base: the records.
        options: what counts.
        code: what the code beside it takes from other packages; None where none was read.
        whole: what does not apply is among the findings, too, and not only what applies or could apply.
        most_steps: for which runs beside the first one are matched; what they would need beyond is a gap.
    """
    if options.presume:
        environment = _with_releases(environment, base)
    listing = Listing.of(environment.packages, base.names)
    uses = () if code is None else code.uses
    breaks = breaks_of(environment, uses, base.names)
    issues = (*(base.about_packages(listing.packages) if whole else base.possible(environment)), *breaks.issues)
    # A record that is ignored still stands in the place of more general ones.
    wanted = [
        issue
        for issue in issues
        if (not options.only or issue.id in options.only) and (issue.instead_of or issue.id not in options.ignore)
    ]
    runs = _runs(environment, contexts, listing, base, options, code)
    idle = runs.pop("") if contexts and "" in runs else None
    forks = Forks(environment.conflicts)
    budget = Budget(most_steps)
    in_order = tuple(runs.values())
    groups = alike(in_order, wanted)
    matched_in = tuple([View(in_order[group[0]], base.names, forks, listing) for group in groups])
    found = _findings(runs, wanted, groups, matched_in, budget)
    if idle is not None:
        beside = View(idle, base.names, forks, listing)
        if of_programs := _of_idle_programs(beside, wanted, budget):
            found += of_programs
            runs[""] = idle
            matched_in += (beside,)
    merged = merge_findings(found)
    findings = [finding for finding in told(merged, breaks, base.names) if finding.issue.id not in options.ignore]
    findings.sort(
        key=lambda finding: (_STATUSES.index(finding.status), -LEVELS.index(finding.issue.level), finding.issue.id)
    )
    return Matched(
        environment=environment,
        runs=runs,
        findings=tuple(findings),
        breaks=breaks.issues,
        recorded=partial(base.about_packages, listing.packages),
        listing=listing,
        views=matched_in,
        uses=uses,
        skipped=tuple(_undecided(environment, len(in_order), forks, budget)),
        steps=budget.most if budget.spent else budget.most - budget.left,
    )


def _runs(
    environment: Environment,
    contexts: Sequence[Context],
    listing: Listing,
    base: KnowledgeBase,
    options: AuditOptions,
    code: ProjectCode | None,
) -> dict[str, Environment]:
    """How a run is called → the environment with what is known of it.

    One called ``""`` is that of programs that train nothing, or of whatever is done with it where there is no run.
    """
    runs = {context.source: _trained(environment, context) for context in contexts}
    beside = code if contexts and options.presume and code is not None and code.calls else None
    if not contexts or beside is not None:
        runs[""] = environment
    if base.ask_of_host(listing.packages):
        # Asking the machine costs more than matching; few records hang on what it says.
        from gradcompat.host.machine import with_host

        runs = {run: with_host(view) for run, view in runs.items()}
    # What a config says of the device counts more than what the machine has, and --set more than both.
    runs = {run: with_facts(view, options.settings, options.kept_at) for run, view in runs.items()}
    runs = {
        run: with_class_facts(with_shared_heads(with_tied_embeddings(view)), base.class_facts)
        for run, view in runs.items()
    }
    if not options.presume:
        return runs
    canonical = base.names.canonical
    of_programs = code if beside is None else replace(beside, uses=beside.idle)
    return {
        run: presumed_upon(view, map(canonical, view.packages), run=bool(run), code=code if run else of_programs)
        for run, view in runs.items()
    }


def _with_releases(environment: Environment, base: KnowledgeBase) -> Environment:
    """The environment with the releases that each range allows of a package that records speak of."""
    if all(package.version is not None for package in environment.packages):
        return environment
    from gradcompat.audit.published_releases import allowed

    versions: dict[str, set[str | None]] = {}
    for package in environment.packages:
        versions.setdefault(package.name, set()).add(package.version)
    pins = {name: pin for name, (one, *more) in versions.items() if not more and (pin := parse_version(one or ""))}
    release = partial(allowed, python=environment.python, pins=pins)
    named = {
        package: name
        for package in environment.packages
        if package.version is None and base.knows(name := base.names.canonical(package))
    }
    releases = {package: release(package, name) for package, name in named.items()}
    if environment.kind not in _INSTALLED_IN_TURN:
        once = [(package, name) for package, name in named.items() if len(versions[package.name]) == 1]
        newest = {name: newer for package, name in once if (newer := _newest(releases[package])) is not None}
        releases = {package: release(package, name, others=newest) for package, name in named.items()}
    packages = (
        replace(package, releases=releases[package]) if package in releases else package
        for package in environment.packages
    )
    return replace(environment, packages=tuple(packages))


def _newest(releases: Sequence[str]) -> Version | None:
    return parse_version(releases[-1]) if releases else None


def _trained(environment: Environment, context: Context) -> Environment:
    """The environment with the settings of a training run."""
    from gradcompat.terms.defaults import defaults_of  # a lockfile alone needs no table of defaults

    settings = (*environment.settings, *context.settings, *defaults_of(environment, context))
    if context.imported:
        place = Location(path=context.source)
        settings = (*settings, Setting(key=LIBRARIES_KEY, value=context.imported, location=place, presumed=True))
    settings += tuple(_optional(context))
    return replace(_on_host(environment, context.settings), settings=settings)


def _optional(context: Context) -> Iterator[Setting]:
    """What a program uses only where options are given, by these options."""
    by_words: dict[str, list[OptionalUse]] = {}
    for one in context.optional:
        by_words.setdefault(joined(tuple(dict.fromkeys(_options_in(one.tests))), "or"), []).append(one)
    for words, uses in by_words.items():
        names = tuple(one.use for one in uses)
        places = tuple(one.location for one in uses)
        yield Setting(key=OPTIONAL_KEY, value=names, location=places[0], places=places, spelling=words, presumed=True)


def _options_in(tests: Iterable[OptionTest]) -> Iterator[str]:
    """The longest names of the options that are asked for."""
    for test in tests:
        yield from _options_in(test.parts)
        if test.flags:
            yield max(test.flags, key=len)


def _on_host(environment: Environment, stated: Sequence[Setting]) -> Environment:
    """The environment with what a run states of its host, unless it says so itself or the run says several things."""
    said = [setting for setting in stated if setting.key in VIRTUAL_PACKAGES]
    places: dict[str, dict[str | None, Location]] = {}
    for setting in said:
        value = None if setting.value is None else str(setting.value)
        places.setdefault(VIRTUAL_PACKAGES[setting.key], {}).setdefault(value, setting.location)
    found = {
        name: (value, location)
        for name, values in places.items()
        if name not in environment.virtual
        for (value, location), *others in [values.items()]
        if not others and value is not None
    }
    if not found:
        return environment
    return replace(
        environment,
        virtual={**environment.virtual, **{name: value for name, (value, _) in found.items()}},
        excluded=environment.excluded - found.keys(),
        origins={**environment.origins, **{name: location for name, (_, location) in found.items()}},
    )


def _findings(
    runs: Mapping[str, Environment],
    wanted: Sequence[Issue],
    groups: Sequence[Sequence[int]],
    views: Sequence[View],
    budget: Budget,
) -> list[Finding]:
    """Every issue asked about the runs that it can tell apart, the first of which is always asked about.

    Args:
        runs: by how they are called.
        wanted: the issues.
        groups: the runs that no issue can tell apart, by their index.
        views: of the first run of each group.
        budget: the questions that may be asked.
    """
    shown = tuple(runs)
    counts = questions(views[0].listing.counts, wanted)
    budget.left = max(0, budget.left - sum(counts) - len(runs))
    told_apart = _told_apart([view.environment for view in views], wanted, budget)
    findings: list[Finding] = []
    for first, view in enumerate(views):
        asked = [
            issue
            for issue, count in zip(wanted, counts, strict=True)
            if first in told_apart[issue.id] and (first == 0 or budget.take(count))
        ]
        for finding in match_in(view, asked):
            members = sorted(index for one in told_apart[finding.issue.id][first] for index in groups[one])
            contexts = tuple(shown[index] for index in members if shown[index])
            budget.left = max(min(budget.left, 0), budget.left - len(contexts) // _COMPARED)
            findings.append(replace(finding, contexts=contexts) if contexts else finding)
    return findings


def _of_idle_programs(view: View, wanted: Sequence[Issue], budget: Budget) -> list[Finding]:
    """What programs do that train nothing: what is sure of them, and hangs on what they call.

    What could apply to them is not asked, and nothing is only noted: of these programs less is read than of a run.
    """
    asked = [issue for issue in wanted if issue.level != "note" and any(map(_is_of_symbols, _terms(issue)))]
    counts = questions(view.listing.counts, asked)
    return [
        finding
        for finding in match_in(view, [issue for issue, count in zip(asked, counts, strict=True) if budget.take(count)])
        if finding.status == "affected" and any(map(_is_of_symbols, finding.terms))
    ]


def _told_apart(
    views: Sequence[Environment], wanted: Sequence[Issue], budget: Budget
) -> dict[str, dict[int, tuple[int, ...]]]:
    """Id of an issue → the first of the runs that it cannot tell apart → all of them, by index."""
    if len(views) == 1:
        return {issue.id: {0: (0,)} for issue in wanted}
    known: dict[frozenset[str | None], dict[int, tuple[int, ...]]] = {}
    settings = sum(len(view.settings) for view in views)
    found: dict[str, dict[int, tuple[int, ...]]] = {}
    for issue in wanted:
        keys = frozenset(map(key_of, _terms(issue)))
        if keys not in known:
            groups = _alike(views, issue) if budget.take(settings // _COMPARED) else [[0]]
            known[keys] = {group[0]: tuple(group) for group in groups}
        found[issue.id] = known[keys]
    return found


def _terms(issue: Issue) -> Iterator[Term]:
    return (term for combination in issue.affected for term in combination.terms)


def _is_of_symbols(term: Term) -> bool:
    return isinstance(term, SymbolTerm)


def _alike(views: Sequence[Environment], issue: Issue) -> Iterator[list[int]]:
    """The runs that an issue cannot tell apart; whether a model is known decides what a presumption asks for."""
    models = [any(setting.key == MODEL_KEY for setting in view.settings) for view in views]
    for group in alike(views, [issue]):
        for known in dict.fromkeys(models[index] for index in group):
            yield [index for index in group if models[index] is known]


def _undecided(environment: Environment, runs: int, forks: Forks, budget: Budget) -> Iterator[Skipped]:
    """The gaps of an environment whose entries could not all be compared, or whose runs could not all be matched."""
    location = Location(path=environment.source)
    if forks.budget.spent:
        reason = (
            f"which of its entries can be installed together needs more than {forks.budget.most:,} steps to decide: "
            "those that were not compared count as together"
        )
        yield Skipped(what=environment.source, reason=reason, location=location)
    if budget.spent:
        reason = (
            f"matching it with {counted(runs, 'training run')} needs more than {budget.most:,} steps: not all of them "
            "were looked at; name fewer with `--context`"
        )
        yield Skipped(what=environment.source, reason=reason, location=location)


def merge_findings(findings: Sequence[Finding]) -> list[Finding]:
    """One finding for an issue and a set of entries, whatever the number of training runs.

    What is affected in one run is affected, and says in which; it is conditional where no run is affected and some run
    does not say enough, under the condition of the run that says most; it is not affected where no run is.
    """
    groups: dict[tuple[str, frozenset[int]], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.issue.id, frozenset(map(id, finding.packages))), []).append(finding)
    statuses = {key: min((finding.status for finding in group), key=_STATUSES.index) for key, group in groups.items()}
    told: dict[tuple[str, Status], set[int]] = {}  # the entries of each issue that have a status, or one before it
    for (identifier, packages), status in statuses.items():
        for later in _STATUSES[_STATUSES.index(status) + 1 :]:
            told.setdefault((identifier, later), set()).update(packages)
    result: list[Finding] = []
    for (identifier, packages), group in groups.items():
        status = statuses[identifier, packages]
        if packages <= told.get((identifier, status), set()):
            continue
        same = [finding for finding in group if finding.status == status]
        first = min(same, key=_guesses)
        contexts = dict.fromkeys((*first.contexts, *(context for finding in same for context in finding.contexts)))
        result.append(first if tuple(contexts) == first.contexts else replace(first, contexts=tuple(contexts)))
    applicable = {finding.issue.id for finding in result if finding.status != "not_affected"}
    return [finding for finding in result if finding.status != "not_affected" or finding.issue.id not in applicable]


def _guesses(finding: Finding) -> tuple[int, int]:
    """How much of it is open, and how much is presumed."""
    return min((len(unknown) for unknown in finding.unknown), default=0), len(finding.assumed)


def with_facts(
    environment: Environment,
    stated: Sequence[tuple[str, SettingValue]],
    kept_at: Sequence[tuple[str, Location]] = (),
) -> Environment:
    """The environment with what the user knows of it; that counts more than what a file of the environment says.

    Args:
        environment: as its files describe it.
        stated: keys of the vocabulary with their values.
        kept_at: where the project's own file has those of them that it keeps; the others are of the command line.
    """
    if not stated:
        return environment
    places = dict(kept_at)
    keys = {key for key, _ in stated}
    settings = [setting for setting in environment.settings if setting.key not in keys]
    virtual = dict(environment.virtual)
    python, platform = environment.python, environment.platform
    excluded, origins = set(environment.excluded), dict(environment.origins)
    for key, value in stated:
        origin = places.get(key, Location(path="--set"))
        if key in VIRTUAL_PACKAGES:
            virtual[VIRTUAL_PACKAGES[key]] = str(value)
            excluded.discard(VIRTUAL_PACKAGES[key])
            origins[VIRTUAL_PACKAGES[key]] = origin
        elif key == "host.python":
            python = str(value)
            origins["python"] = origin
        elif key == "host.platform":
            platform = str(value)
            origins["platform"] = origin
        elif package_of(key) is None:  # versions are those of entries, see `audit/stated_versions.py`
            settings.append(Setting(key=key, value=value, location=origin))
    return replace(
        environment,
        settings=tuple(settings),
        virtual=virtual,
        python=python,
        platform=platform,
        excluded=frozenset(excluded),
        origins=origins,
    )
