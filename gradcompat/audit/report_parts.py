"""What a report says, in its order: what is affected, what could apply, what would decide more, what is dormant.

Every format tells these parts; only their looks differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

from gradcompat.messages import entry_text
from gradcompat.model.environment import SettingValue, Skipped
from gradcompat.model.finding import Finding, Unknown
from gradcompat.model.issue import ModelTerm, SettingTerm, SymbolTerm
from gradcompat.model.report import ReportedFinding
from gradcompat.presumptions.usual import USUAL
from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY, is_call
from gradcompat.vocabulary import KEYS, PACKAGE_PREFIX, VIRTUAL_PACKAGES

SHOWN = 5  # findings that could apply and are shown by themselves
MOST_QUESTIONS = 5  # that a person is asked
_WEIGHT = {"error": 3.0, "warning": 1.0, "note": 0.2}
_ASKED = {
    **{virtual: key for key, virtual in VIRTUAL_PACKAGES.items()},
    "python": "host.python",
    "platform": "host.platform",
}
_CHOICES = 12
_RARE = 0.1  # a likelihood below which nobody is asked about a finding for its own sake
_SILENT = 1.5  # how much worse a defect is that raises nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A fact that would decide findings.

    Attributes:
        key: of the vocabulary, or the name of a package whose version is not known.
        ids: the records that it decides, or helps to decide.
    """

    key: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Question):
    """A question that a person can answer.

    Attributes:
        question: in words.
        choices: what the answer usually is, and what records ask for.
    """

    question: str
    choices: tuple[SettingValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one environment, or of several together.

    Attributes:
        affected: what is wrong, worst first.
        informational: what applies and is no defect.
        possible: the findings that one fact decides, likeliest and worst first; :data:`SHOWN` at most, of several
            environments one of each record, and of the names that one release lacks the first.
        further: id of one of these → how many more environments or entries it could apply to.
        alike: id of a missing name → the other names that the same release lacks.
        questions: what would decide the other open findings, the most first. Each finding counts once, and what decides
            notes and rarities alone is not asked.
        minor: the ids of those that are left: notes and rarities.
        dormant: what is presumed not to be used → the ids of the records that hang on it, the most first.
        refuted: what could apply and was measured not to.
        not_affected: what does not apply.
    """

    affected: tuple[ReportedFinding, ...]
    informational: tuple[ReportedFinding, ...]
    possible: tuple[ReportedFinding, ...]
    further: Mapping[str, int]
    alike: Mapping[str, tuple[str, ...]]
    questions: tuple[Question, ...]
    minor: tuple[str, ...]
    dormant: tuple[tuple[str, tuple[str, ...]], ...]
    refuted: tuple[ReportedFinding, ...]
    not_affected: tuple[ReportedFinding, ...]


def parts_of(findings: Iterable[ReportedFinding], *, everything: bool = False) -> Parts:
    """The parts of a report.

    Args:
        findings: what counts in it.
        everything: all that could apply is shown by itself, and nothing is left to a question.
    """
    findings = tuple(findings)
    affected = tuple(finding for finding in findings if finding.finding.status == "affected")
    probed = tuple(finding for finding in findings if finding.finding.status == "conditional" and finding.probed)
    unprobed = [finding for finding in findings if finding.finding.status == "conditional" and not finding.probed]
    possible = sorted((finding for finding in unprobed if everything or _is_shown(finding.finding)), key=_rank)
    first = {finding.finding.issue.id: finding for finding in reversed(possible)}
    further = Counter(finding.finding.issue.id for finding in possible)
    possible = [finding for finding in possible if first[finding.finding.issue.id] is finding]
    groups: dict[Hashable, list[ReportedFinding]] = {}
    for finding in possible:
        groups.setdefault(finding.finding.issue.id if everything else _lacking(finding.finding), []).append(finding)
    told = list(groups.values()) if everything else list(groups.values())[:SHOWN]
    possible = [group[0] for group in told]
    shown = {finding.finding.issue.id for group in told for finding in group}
    rest = [finding.finding for finding in unprobed if finding.finding.issue.id not in shown]
    questions = _worth_asking([finding for finding in rest if _is_worth_asking(finding)])
    asked = {identifier for question in questions for identifier in question.ids}
    return Parts(
        affected=tuple(finding for finding in affected if not finding.finding.issue.informational),
        informational=tuple(finding for finding in affected if finding.finding.issue.informational),
        possible=(*(finding for finding in probed if not finding.refuted), *possible),
        further={finding.finding.issue.id: further[finding.finding.issue.id] - 1 for finding in possible},
        alike={
            group[0].finding.issue.id: tuple(_name(one.finding) for one in group[1:]) for group in told if group[1:]
        },
        questions=questions,
        minor=tuple(dict.fromkeys(one.issue.id for one in rest if one.issue.id not in asked)),
        dormant=_dormant([finding.finding for finding in findings]),
        refuted=tuple(finding for finding in probed if finding.refuted),
        not_affected=tuple(finding for finding in findings if finding.finding.status == "not_affected"),
    )


def open_ids(findings: Iterable[ReportedFinding]) -> tuple[str, ...]:
    """The ids of what could apply, in the order in which a report names them: by themselves, or with a question."""
    findings = tuple(findings)
    parts = parts_of(findings)
    asked = (identifier for question in parts.questions for identifier in question.ids)
    told = (*(one.finding.issue.id for one in parts.possible), *asked)
    # What nothing decides that a person could say stands last.
    rest = (one.finding.issue.id for one in findings if one.finding.status == "conditional" and not one.refuted)
    return tuple(dict.fromkeys((*told, *rest)))


def ids_in_order(findings: Iterable[ReportedFinding]) -> tuple[str, ...]:
    """The ids of what is affected and of what could apply, in the order in which a report names them."""
    findings = tuple(findings)
    parts = parts_of(findings)
    sure = (one.finding.issue.id for one in (*parts.affected, *parts.informational))
    return tuple(dict.fromkeys((*sure, *open_ids(findings))))


def likeliest(finding: Finding) -> tuple[Unknown, ...]:
    """The alternative that hangs on the fewest facts, and of those the likeliest; empty if nothing is open."""
    if not finding.unknown:
        return ()
    return min(finding.unknown, key=lambda one: (len(_asked(one)), -_likelihood(one), len(one)))


def condition_text(finding: Finding) -> str:
    """What it hangs on, as a person would say it."""
    return " and ".join(dict.fromkeys(unknown.plain or unknown.sentence for unknown in likeliest(finding)))


def likelihood(finding: Finding) -> float | None:
    """The share of usual values that satisfy the likeliest alternative, from 0 to 1; None if nothing is open."""
    return round(_likelihood(likeliest(finding)), 4) if finding.unknown else None


def questions_of(findings: Iterable[Finding]) -> tuple[Question, ...]:
    """The facts that decide open findings; a finding that hangs on several counts for the one that decides most.

    Of two that decide as many, the one whose worst finding is likelier and worse comes first; what decides notes alone
    comes last.
    """
    findings = list(findings)
    ranks: dict[str, float] = {}
    for finding in findings:
        identifier = finding.issue.id
        ranks[identifier] = min(ranks.get(identifier, 0.0), _weight(finding))
    hanging = [(finding.issue.id, _asked(likeliest(finding))) for finding in findings]
    decided: dict[str, list[str]] = {}
    while hanging:
        counts = Counter(key for _, keys in hanging for key in keys)
        if not counts:
            break
        key = min(counts, key=lambda one: (-counts[one], one))
        decided[key] = list(dict.fromkeys(identifier for identifier, keys in hanging if key in keys))
        hanging = [(identifier, keys) for identifier, keys in hanging if key not in keys]
    serious = {finding.issue.id for finding in findings if finding.issue.level != "note"}
    ordered = sorted(
        decided.items(),
        key=lambda item: (serious.isdisjoint(item[1]), -len(item[1]), min(ranks[one] for one in item[1]), item[0]),
    )
    return tuple(Question(key=key, ids=tuple(ids)) for key, ids in ordered)


def asked_of(findings: Iterable[ReportedFinding]) -> tuple[Asked, ...]:
    """The questions about everything that is open, for a person: the one that decides most first."""
    hanging = [
        finding.finding for finding in findings if finding.finding.status == "conditional" and not finding.refuted
    ]
    releases = _releases(hanging)
    found = []
    for question in questions_of(hanging):
        if question.key in releases:
            key, text = PACKAGE_PREFIX + question.key, f"Which version of {question.key} is installed?"
            choices: tuple[SettingValue, ...] = releases[question.key]
        elif question.key in KEYS and not (question.key in USUAL and USUAL[question.key].asks):
            key, text, choices = question.key, _question_text(question.key), _choices(question.key, hanging)
        else:
            continue
        found.append(Asked(key=key, ids=question.ids, question=text, choices=choices))
    return tuple(found)


def _releases(findings: Iterable[Finding]) -> dict[str, tuple[str, ...]]:
    """Of each package of which only a range is known the newest release of each series that it allows, newest first."""
    found: dict[str, tuple[str, ...]] = {}
    for package in (package for finding in findings for package in finding.packages):
        if package.version is None and package.releases and package.name not in found:
            series = {tuple(release.split(".")[:2]): release for release in package.releases}
            found[package.name] = tuple(reversed(series.values()))[:_CHOICES]
    return found


def _question_text(key: str) -> str:
    if key == SYMBOLS_KEY:
        return "Which of these functions and classes does your code use?"
    usual = USUAL.get(key)
    return usual.question if usual is not None and usual.question else f"What is {key}: {KEYS[key].meaning}?"


def _choices(key: str, findings: Iterable[Finding]) -> tuple[SettingValue, ...]:
    """The usual values, the most usual first, then those that the records ask for by name."""
    if KEYS[key].type == "bool":
        return (True, False)
    usual = sorted(USUAL[key].values, key=lambda one: -one[1]) if key in USUAL else []
    wanted: list[SettingValue] = [value for value, _ in usual] if key != SYMBOLS_KEY else [()]
    for term in (term for finding in findings for term in finding.terms):
        if isinstance(term, SettingTerm) and term.key == key and term.comparison is None:
            wanted += term.values
        elif isinstance(term, ModelTerm) and key == "model.architecture":
            wanted += [(name,) for name in term.classes if "*" not in name]
        elif isinstance(term, SymbolTerm) and key == SYMBOLS_KEY:
            wanted += [(name,) for name in term.symbols if "*" not in name and not is_call(name)]
    return tuple(dict.fromkeys(wanted))[:_CHOICES]


def ranges(findings: Iterable[ReportedFinding], skipped: Iterable[Skipped]) -> list[tuple[Skipped, tuple[str, ...]]]:
    """Each package of which an environment gives only a range, with the ids of what its newest release would bring."""
    brought: dict[str, list[str]] = {}
    for finding in (reported.finding for reported in findings):
        if finding.status == "conditional":
            for key in dict.fromkeys(unknown.key for unknown in likeliest(finding)):
                brought.setdefault(key, []).append(finding.issue.id)
    return [(one, tuple(brought.get(one.what, ()))) for one in skipped if one.range]


def first_place(finding: Finding) -> str:
    """Where a finding is told to stand: a line of the code, or the first entry that takes part behind its line."""
    if finding.location is not None or not finding.packages:
        return str(finding.location or "")
    return f"{finding.packages[0].location} {entry_text(finding.packages[0])}"


def places_text(finding: Finding, most: int = 2) -> str:
    """The first entries that take part, each behind its line."""
    texts = list(dict.fromkeys(f"{package.location} {entry_text(package)}" for package in finding.packages))
    texts = texts if finding.location is None else [str(finding.location), *texts]
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return "; ".join([*texts[:most], *more])


def _is_shown(finding: Finding) -> bool:
    return _is_serious(finding) and len(_asked(likeliest(finding))) == 1


def _is_serious(finding: Finding) -> bool:
    """Would somebody who knows the project ask about it, rather than about what is worse or likelier?"""
    return finding.issue.level != "note" and round(_likelihood(likeliest(finding)), 4) >= _RARE


def _worth_asking(findings: Sequence[Finding]) -> tuple[Question, ...]:
    serious = {finding.issue.id for finding in findings if _is_serious(finding)}
    return tuple(question for question in questions_of(findings) if not serious.isdisjoint(question.ids))


def _is_worth_asking(finding: Finding) -> bool:
    """Would an answer change what is to be done? A note without a remedy says that nothing is wrong."""
    return finding.issue.level != "note" or bool(finding.issue.remedies)


def _lacking(finding: Finding) -> Hashable:
    """What the names that one release lacks have in common; a record, and a pair of packages, stands alone."""
    kind, *names = finding.issue.id.split(":")
    if kind != "code":
        return finding.issue.id
    return names[0], *(package.version or package.releases[-1:] for package in finding.packages)


def _name(finding: Finding) -> str:
    """The name that a release lacks."""
    return finding.issue.id.split(":", 2)[2].replace(":", ".")


def _rank(reported: ReportedFinding) -> tuple[float, str]:
    return _weight(reported.finding), reported.finding.issue.id


def _weight(finding: Finding) -> float:
    """The likelier and worse, the less."""
    worst = _WEIGHT[finding.issue.level] * (_SILENT if finding.issue.silent else 1.0)
    return -worst * _likelihood(likeliest(finding))


def _asked(unknown: Sequence[Unknown]) -> frozenset[str]:
    """The facts that a person would have to say, by their keys of the vocabulary or names of packages."""
    return frozenset(one.asks or _ASKED.get(one.key, one.key) for one in unknown)


def _likelihood(unknown: Sequence[Unknown]) -> float:
    product = 1.0
    for one in unknown:
        product *= one.likelihood
    return product


def _dormant(findings: Sequence[Finding]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    # What an environment does without that trains nothing may be what the project trains with in another one.
    trains = any(finding.contexts for finding in findings)
    features: dict[str, list[str]] = {}
    for finding in findings:
        if finding.status != "dormant" or (trains and not finding.contexts):
            continue
        if all(finding.dormant):  # an older release that a range allows is told with the range
            features.setdefault(finding.dormant[0], []).append(finding.issue.id)
    ordered = sorted(features.items(), key=lambda item: (-len(set(item[1])), item[0].lower()))
    return tuple((feature, tuple(dict.fromkeys(ids))) for feature, ids in ordered)
