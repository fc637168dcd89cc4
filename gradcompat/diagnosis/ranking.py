"""From what logs show to what it probably is: records whose symptoms were seen and curves that speak for themselves.

A score is no probability. It says how particular a symptom is (one that five records share says little for each), and
whether the versions and settings of the run are those of the record. A record that they do not allow is ruled out, and
that is said.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradcompat.diagnosis.explanations import ERRORS, EXPLANATIONS, Explanation
from gradcompat.diagnosis.installer_lines import InstallerLines
from gradcompat.matching.entries import Names
from gradcompat.matching.matcher import match
from gradcompat.messages import entry_text, joined, value_text, versions_text
from gradcompat.model.assumption import Assumption
from gradcompat.model.diagnosis import Diagnosis, Observation, RuledOut, Seen
from gradcompat.model.environment import Environment, Location, SettingValue
from gradcompat.model.finding import Finding, Status
from gradcompat.model.issue import (
    CodeRemedy,
    Combination,
    InstallRemedy,
    Issue,
    PackageAbsentTerm,
    PackageTerm,
    SettingRemedy,
    SettingTerm,
    VersionRemedy,
    VirtualTerm,
)
from gradcompat.presumptions.engines import ENGINES
from gradcompat.requirements.versions import ALL, locate
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.terms.comparison import satisfies
from gradcompat.terms.term_keys import key_of
from gradcompat.truth import Truth
from gradcompat.vocabulary import VIRTUAL_PACKAGES

_PARTICULAR = 0.85  # what a symptom is worth that only one record has
_BY_CATEGORY = 0.45  # what an observation is worth for a record that only speaks of the same kind of harm
_CONDITIONAL = 0.7
_EACH_CONDITION = 0.93  # each further one; what is only not known to be absent counts for none
_NOT_MEASURED = 0.85  # a loss that is too large, and a record that measures the gradients alone
_UNSEEN = 0.6
_PRESUMED = 0.9  # what holds unless something says otherwise
_UNUSED = 0.8  # what is presumed not to be used
_NOT_ON_THE_WAY = 0.75
_EACH_PACKAGE = 1.05
_CERTAINTY: tuple[Status, ...] = ("affected", "conditional", "dormant", "not_affected")
_MOST_QUESTIONS = 4
_MOST_CHANGES = 3

# The CUDA runtime reports the faults of any kernel in the same words.
_ANY_KERNEL = lazy_pattern(r"(?:CUDA|HIP) error: |cuda runtime error|CUBLAS_STATUS_|CUDNN_STATUS_")
_DEVICE = "host.device"
_METHOD = "training.method"
_WITHOUT_CUDA: frozenset[SettingValue | None] = frozenset({"cpu", "mps", "xpu"})
_OF_GPUS = frozenset({"__cuda", "__cuda_arch", "__nvidia_driver", "__nccl", "__rocm"})
_ACCUMULATION = "training.gradient_accumulation_steps"
_TOO_LARGE = frozenset({"loss-times-accumulation", "loss-too-high"})
_METRIC = lazy_pattern(r"['\"](?:loss|grad_norm|learning_rate)['\"]")
_PLACE = lazy_pattern(r"\\?\.py(?:\\b|\$)?$")
# Folders in site-packages that have other names than their packages.
_FOLDERS = {
    "pytorch-lightning": ("pytorch_lightning", "lightning", "lightning_fabric"),
    "flash-attn": ("flash_attn",),
    "scikit-learn": ("sklearn",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one file shows.

    Attributes:
        path: how it is shown.
        hits: text of a pattern → how often it was seen, and the first places; None where no text was searched.
        observations: what its curves show.
        modules: packages that tracebacks pass through, by the names of their folders.
        errors: the text of each error → its first line.
        echoes: the same of errors that say only that another process failed.
        open_traceback: the line of a traceback that no error ends.
        installer: what installers could not bring together.
    """

    path: str
    hits: Mapping[str, tuple[int, Mapping[int, str]]] | None = None
    observations: Sequence[Observation] = ()
    modules: frozenset[str] = frozenset()
    errors: Mapping[str, int] = field(default_factory=dict)
    echoes: Mapping[str, int] = field(default_factory=dict)
    open_traceback: int | None = None
    installer: InstallerLines = field(default_factory=InstallerLines)


@dataclass(slots=True)
class _Candidate:
    """A record with what speaks for it."""

    issue: Issue
    because: list[Seen] = field(default_factory=list)
    patterns: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)  # of observations that its symptoms describe
    related: set[str] = field(default_factory=set)  # of observations that are only of its category


def _is_metric(pattern: str) -> bool:
    """Does the pattern describe a line of metrics?

    Whether such a line means anything, the whole curve says: 0.0 is the first loss of many reinforcement learners.
    """
    return _METRIC.search(pattern) is not None


def diagnose(
    evidence: Sequence[Evidence],
    environment: Environment,
    issues: Sequence[Issue],
    names: Names,
    presumed: Environment | None = None,
    *,
    read: bool = False,
) -> tuple[tuple[Diagnosis, ...], tuple[RuledOut, ...], tuple[Seen, ...]]:
    """Explain what was seen.

    Args:
        evidence: what the files show.
        environment: what is known of the run.
        issues: the records to think of.
        names: under which names packages go.
        presumed: the environment with what may be presumed of the run; None if nothing may. It rules nothing out.
        read: a list of packages or a training run was read, so that it could have named what it does not name.

    Returns:
        The explanations, the most probable first and the harmless ones last; the records that are ruled out; and the
        errors that nothing explains.
    """
    findings: dict[str, list[Finding]] = {}
    for finding in match(environment, issues, names):
        findings.setdefault(finding.issue.id, []).append(finding)
    usual: dict[str, list[Finding]] = {}
    for finding in () if presumed is None else match(presumed, issues, names):
        usual.setdefault(finding.issue.id, []).append(finding)
    candidates: list[_Candidate] = []
    ruled_out: list[RuledOut] = []
    modules = frozenset().union(*(observation.modules for observation in evidence))
    for candidate in _candidates(evidence, issues, findings):
        if _is_of_any_kernel(candidate) and not _is_there(candidate.issue, environment, modules, names):
            continue
        excluded = _excluded(candidate.issue, findings.get(candidate.issue.id, []), environment, names)
        if excluded is None:
            excluded = _absent(candidate.issue, findings.get(candidate.issue.id, []), environment, modules)
        if excluded is None:
            excluded = _on_another_device(candidate.issue, environment)
        if excluded is None:
            excluded = _of_another_method(candidate.issue, environment)
        if excluded is None or _is_harmless(candidate.issue):
            candidates.append(candidate)
        else:
            ruled_out.append(RuledOut(issue=candidate.issue.id, title=candidate.issue.summary, sentence=excluded))
    unused: frozenset[str] = frozenset()
    if read and presumed is not None:
        unused = frozenset(
            candidate.issue.id
            for candidate in candidates
            if _is_unused(candidate, usual.get(candidate.issue.id, []), presumed, modules)
        )
    sharing = Counter(pattern for candidate in candidates for pattern in candidate.patterns)
    diagnoses = [
        _from_record(
            candidate,
            findings.get(candidate.issue.id, []),
            usual.get(candidate.issue.id, []),
            environment,
            sharing,
            modules,
            names,
        )
        for candidate in candidates
    ]
    diagnoses = [replace(diagnosis, unused=diagnosis.issue in unused) for diagnosis in diagnoses]
    likely = [candidate for candidate in candidates if candidate.issue.id not in unused]
    told = {kind for candidate in likely if _explains_curves(candidate) for kind in candidate.kinds}
    diagnoses += _from_curves(evidence, told, {pattern for candidate in likely for pattern in candidate.patterns})
    return ranked(diagnoses), tuple(ruled_out), tuple(_unexplained(evidence, candidates))


def ranked(diagnoses: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """The most probable first, what the run does not use behind, and the harmless last."""
    return tuple(sorted(diagnoses, key=lambda one: (one.harmless, one.unused, -one.score, one.issue or "")))


def _candidates(
    evidence: Sequence[Evidence], issues: Iterable[Issue], findings: Mapping[str, Sequence[Finding]]
) -> Iterable[_Candidate]:
    for issue in issues:
        candidate = _Candidate(issue)
        for pattern in issue.symptoms:
            if _is_metric(pattern):
                _described(candidate, pattern, evidence)
                continue
            for observation in evidence:
                if observation.hits is not None and pattern in observation.hits:
                    candidate.patterns.add(pattern)
                    candidate.because.append(_message(observation.path, *observation.hits[pattern]))
        # A traceback passes through a file for many reasons: a place alone is no symptom.
        if all(_PLACE.search(pattern) for pattern in candidate.patterns):
            candidate.because, candidate.patterns = candidate.because if candidate.kinds else [], set()
        if _explains_curves(candidate):
            _beside(candidate, evidence)
        elif any(finding.status != "not_affected" for finding in findings.get(issue.id, ())):
            _related(candidate, evidence)
        if candidate.because:
            yield candidate


def _message(path: str, count: int, places: Mapping[int, str]) -> Seen:
    line = min(places)
    times = "once" if count == 1 else f"{count:,} times"
    return Seen(sentence=f"this is there {times}", location=Location(path=path, line=line), text=places[line])


def _described(candidate: _Candidate, pattern: str, evidence: Iterable[Evidence]) -> None:
    """Observations whose example line has the symptom, in files that are not known to print lines of another kind."""
    for one in evidence:
        if one.hits is not None and pattern not in one.hits:
            continue
        for observation in one.observations:
            if not _of_its_kind(candidate, observation):
                continue
            if not observation.harmless and re.search(pattern, observation.example):
                candidate.patterns.add(pattern)
                if observation.kind not in candidate.kinds:
                    candidate.kinds.add(observation.kind)
                    candidate.because.append(_observed(one.path, observation))


def _explains_curves(candidate: _Candidate) -> bool:
    """Does the record say what a curve means, rather than why it came to that?"""
    return candidate.issue.informational and bool(candidate.kinds)


def _beside(candidate: _Candidate, evidence: Iterable[Evidence]) -> None:
    """Further observations that mean the same as those that the record explains."""
    meant = {id(EXPLANATIONS.get(kind)) for kind in candidate.kinds}
    for one in evidence:
        for observation in one.observations:
            if observation.kind not in candidate.kinds and id(EXPLANATIONS.get(observation.kind)) in meant:
                candidate.because.append(_observed(one.path, observation))


def _related(candidate: _Candidate, evidence: Iterable[Evidence]) -> None:
    """Observations of the harm that the record speaks of, where nothing nearer speaks for it."""
    if candidate.because or candidate.issue.informational:
        return
    for one in evidence:
        for observation in one.observations:
            if observation.harmless or not _of_its_kind(candidate, observation):
                continue
            if observation.kind in _TOO_LARGE and not _multiplies(candidate.issue):
                continue
            candidate.related.add(observation.kind)
            candidate.because.append(_observed(one.path, observation))


def _of_its_kind(candidate: _Candidate, observation: Observation) -> bool:
    """Does the record speak of the harm that the observation shows?"""
    explanation = EXPLANATIONS.get(observation.kind)
    return explanation is not None and not explanation.categories.isdisjoint(candidate.issue.categories)


def _multiplies(issue: Issue) -> bool:
    """May a loss be too large for it, by the accumulation, or for another reason than its scale?

    Its terms and the quantities that its probes measure say so: what does not hang on the accumulation, or changes the
    direction of an update alone, multiplies no loss by it.
    """
    if not {"wrong-loss", "weights", "masking"}.isdisjoint(issue.categories):
        return True
    accumulates = any(key_of(term) == _ACCUMULATION for combination in issue.affected for term in combination.terms)
    measured = _measured(issue)
    return accumulates and (not measured or not measured.isdisjoint({"loss_ratio", "update_ratio"}))


def _measured(issue: Issue) -> frozenset[str]:
    return frozenset(quantity for probe in issue.probes for quantity in probe.quantities)


def _observed(path: str, observation: Observation) -> Seen:
    line = (observation.lines[0] or None) if observation.lines else None
    return Seen(sentence=observation.sentence, location=Location(path=path, line=line))


def _is_harmless(issue: Issue) -> bool:
    return issue.informational and set(issue.categories) == {"behaviour-change"}


def _virtual_packages(combination: Combination) -> frozenset[str]:
    return frozenset(term.name for term in combination.terms if isinstance(term, VirtualTerm))


def _on_another_device(issue: Issue, environment: Environment) -> str | None:
    """Why the record cannot apply, if each of its combinations takes a GPU and the run has none of that kind."""
    devices = {setting.value for setting in environment.settings if setting.key == _DEVICE}
    if not devices or not devices <= _WITHOUT_CUDA:
        return None
    if not all(_virtual_packages(combination) & _OF_GPUS for combination in issue.affected):
        return None
    return joined(_values(_DEVICE, environment), "and")


def _of_another_method(issue: Issue, environment: Environment) -> str | None:
    """Why the record cannot apply, if each of its combinations trains in a way of which the log shows another."""
    shown = {setting.value: setting.location for setting in environment.settings if setting.key == _METHOD}
    if not shown or None in shown or not all(_trains_otherwise(one, shown) for one in issue.affected):
        return None
    methods = joined(tuple(value_text(value) for value in shown if value is not None))
    return f"{_METHOD} is {methods} ({next(iter(shown.values()))})"


def _trains_otherwise(combination: Combination, shown: Iterable[SettingValue | None]) -> bool:
    """Does the combination ask for a method that is none of those?"""
    asked = [term for term in combination.terms if isinstance(term, SettingTerm) and term.key == _METHOD]
    return any(all(value is not None and satisfies(term, value) is Truth.NO for value in shown) for term in asked)


def _is_of_any_kernel(candidate: _Candidate) -> bool:
    """Is all that speaks for the record a message of the CUDA runtime, which any kernel may have caused?"""
    return all(seen.text is not None and _ANY_KERNEL.search(seen.text) for seen in candidate.because)


def _is_there(issue: Issue, environment: Environment, modules: frozenset[str], names: Names) -> bool:
    """Are all packages of a combination listed, on the way of a traceback, or torch, which the message comes from?"""
    listed = {"torch", *map(names.canonical, environment.packages)}
    return any(
        all(
            term.name in listed or not modules.isdisjoint(_folders(term.name))
            for term in combination.terms
            if isinstance(term, PackageTerm)
        )
        for combination in issue.affected
    )


def _absent(issue: Issue, findings: Sequence[Finding], environment: Environment, modules: frozenset[str]) -> str | None:
    """Why the record cannot apply, if the environment lists everything that is there and none of its packages."""
    packages = _packages(issue)
    if findings or not environment.closed or any(not modules.isdisjoint(_folders(name)) for name in packages):
        return None
    return f"{joined(packages, 'and')} {'is' if len(packages) == 1 else 'are'} not in {environment.source}"


def _excluded(issue: Issue, findings: Sequence[Finding], environment: Environment, names: Names) -> str | None:
    """Why the record cannot apply, if its packages are listed and no choice of them is affected."""
    if not findings or any(finding.status != "not_affected" for finding in findings):
        return None
    for finding in findings:
        for package in finding.packages:
            window = None if package.version is None else locate(package.version, unreleased=package.unreleased)
            wanted = [
                term.versions
                for combination in issue.affected
                for term in combination.terms
                if isinstance(term, PackageTerm) and term.name == names.canonical(package)
            ]
            if window is not None and wanted and all(version_set.truth(window) is Truth.NO for version_set in wanted):
                ranges = joined(tuple(dict.fromkeys(versions_text(version_set) for version_set in wanted)))
                return f"{entry_text(package)} ({package.location}) is not in {ranges}"
    decisive = [joined(_values(key, environment), "and") for key in _decisive(issue, environment, names)]
    decisive = decisive or [
        f"{key} is {environment.virtual[name]}"
        for key, name in VIRTUAL_PACKAGES.items()
        if name in environment.virtual and any(name in _virtual_packages(combination) for combination in issue.affected)
    ]
    return joined(tuple(decisive), "and") if decisive else "what is known of the run does not fit it"


def _decisive(issue: Issue, environment: Environment, names: Names) -> list[str]:
    """Keys without whose settings the record could apply: one, or where each of several forbids it, these."""
    terms = {key_of(term) for combination in issue.affected for term in combination.terms}
    asked = list(dict.fromkeys(setting.key for setting in environment.settings if setting.key in terms))
    for key in asked:
        if _possible(issue, environment, [key], names):
            return [key]
    return asked if _possible(issue, environment, asked, names) else []


def _possible(issue: Issue, environment: Environment, without: Sequence[str], names: Names) -> bool:
    settings = tuple(setting for setting in environment.settings if setting.key not in without)
    findings = match(replace(environment, settings=settings), [issue], names)
    return any(finding.status != "not_affected" for finding in findings)


def _values(key: str, environment: Environment) -> tuple[str, ...]:
    """What the run says of a key, each value with its first place: "training.packing is true (x.log:3)"."""
    places: dict[SettingValue, Location] = {}
    for setting in environment.settings:
        if setting.key == key and setting.value is not None:
            places.setdefault(setting.value, setting.location)
    return tuple(f"{key} is {value_text(value)} ({place})" for value, place in places.items())


def _disagreeing(issue: Issue, findings: Sequence[Finding], environment: Environment, names: Names) -> list[str]:
    """Where the run says two things: entries of a package that is affected which are not, and settings that differ.

    A log is of one run, and yet may hold two: what was there before an upgrade, and what has replaced it.
    """
    sentences = []
    taking_part = [package for finding in findings if finding.status == "affected" for package in finding.packages]
    for name in dict.fromkeys(names.canonical(package) for package in taking_part):
        entries = [
            package
            for package in environment.packages
            if names.canonical(package) == name and package.version is not None
        ]
        for entry in entries:
            alone = replace(
                environment,
                packages=(*(other for other in environment.packages if names.canonical(other) != name), entry),
            )
            if len(entries) > 1 and all(finding.status == "not_affected" for finding in match(alone, [issue], names)):
                sentences.append(f"{entry_text(entry)} ({entry.location}) is there, too, and is not affected")
    asked = {unknown.key for finding in findings for alternative in finding.unknown for unknown in alternative}
    for key in sorted(asked):
        values = _values(key, environment)
        if len(values) > 1:
            sentences.append(f"{joined(values, 'and')}: which of them counts is not known")
    return sentences


def _from_record(
    candidate: _Candidate,
    findings: Sequence[Finding],
    usual: Sequence[Finding],
    environment: Environment,
    sharing: Counter[str],
    modules: frozenset[str],
    names: Names,
) -> Diagnosis:
    issue = candidate.issue
    doubt = 1.0
    for pattern in candidate.patterns:
        doubt *= 1 - _PARTICULAR / sharing[pattern]
    for kind in candidate.related:
        alone = kind in _TOO_LARGE and "loss_ratio" not in _measured(issue)
        doubt *= 1 - _BY_CATEGORY * (_NOT_MEASURED if alone else 1)
    score = 1 - doubt
    if _explains_curves(candidate):
        # What a curve means stands before why: the causes hang on it.
        score = max(score, _PARTICULAR)
    because = list(candidate.because)
    against: list[str] = []
    settles: list[str] = []
    assumed: tuple[Assumption, ...] = ()
    finding = min(findings, key=lambda one: ("affected", "conditional", "not_affected").index(one.status), default=None)
    packages = _packages(issue)
    if finding is None:
        score *= 1 if _explains_curves(candidate) else _UNSEEN
        against.append(f"no version of {joined(packages)} was seen")
        settles.append(f"the versions of the run, --environment LOCKFILE: {_conditions(issue)}")
    elif finding.status == "not_affected":  # a harmless one: what it explains is the same in other versions
        score *= _UNSEEN
    else:
        if finding.status == "conditional":
            likely = min(usual, key=lambda one: _CERTAINTY.index(one.status), default=finding)
            if likely.status in ("affected", "conditional"):
                finding = likely
                assumed = likely.assumed
                score *= _PRESUMED if assumed else 1
            elif not candidate.patterns:  # nothing but the kind of harm speaks for what is presumed not to be used
                score *= _UNUSED
        here = Location(path=finding.source)
        because += [Seen(sentence=reason.sentence, location=reason.location or here) for reason in finding.because]
        if finding.status == "conditional":
            simplest = min(finding.unknown, key=len)
            score *= _CONDITIONAL * _EACH_CONDITION ** max(
                0, sum(_is_open(unknown.key, issue) for unknown in simplest) - 1
            )
            against.append("only if " + " and ".join(unknown.plain or unknown.sentence for unknown in simplest))
            keys = [unknown.key for unknown in simplest if "." in unknown.key][:_MOST_QUESTIONS]
            if keys:
                # Of a run of which no setting is known, its config says more than anybody remembers.
                config = "" if environment.settings else "its config, --context FILE, or "
                settles.append(f"{config}what you know: " + " ".join(f"--set {key}=…" for key in keys))
            unlisted = [unknown.key for unknown in simplest if unknown.unlisted]
            if unlisted:
                settles.append(f"the version of {joined(tuple(unlisted), 'and')}, --environment LOCKFILE")
    disagreeing = _disagreeing(issue, findings, environment, names)
    if disagreeing and finding is not None and finding.status == "affected":
        score *= _CONDITIONAL
    against += disagreeing
    listed = {names.canonical(package) for finding in findings for package in finding.packages}
    if modules and candidate.patterns and not _is_harmless(issue):
        missing = tuple(name for name in packages if name not in listed and not modules & {*_folders(name)})
        if missing:
            score *= _NOT_ON_THE_WAY ** len(missing)
            against.append(f"no traceback passes through {joined(missing)}")
    # Of two that a message could mean, the one more of whose packages are there.
    score *= _EACH_PACKAGE ** max(0, len(listed) - 1)
    if issue.probes and not _is_harmless(issue):
        settles.append(f"its probe, in the interpreter of the run: gradcompat probe {issue.id} --python PATH")
    settles += _tries(issue)
    return Diagnosis(
        title=issue.summary,
        score=round(min(score, 0.99), 3),
        because=tuple(dict.fromkeys(because)),
        against=tuple(against),
        settles=tuple(settles),
        assumed=assumed,
        issue=issue.id,
        harmless=_is_harmless(issue),
    )


def _is_unused(candidate: _Candidate, usual: Sequence[Finding], presumed: Environment, modules: frozenset[str]) -> bool:
    """Does nothing but a curve speak for a record of what the run is presumed not to use?"""
    packages = _packages(candidate.issue)
    if _is_harmless(candidate.issue) or any(not _is_metric(pattern) for pattern in candidate.patterns):
        return False
    if any(modules & {*_folders(name)} for name in packages):
        return False
    if usual:
        return all(finding.status in ("dormant", "not_affected") for finding in usual)
    unnamed = [engine for name, engine in ENGINES.items() if name not in (presumed.engines or ())]
    return any(set(packages) & engine.packages for engine in unnamed)


def _is_open(key: str, issue: Issue) -> bool:
    """Is it a condition that somebody has to meet, rather than the absence of a package?"""
    terms = (term for combination in issue.affected for term in combination.terms)
    return not any(isinstance(term, PackageAbsentTerm) and term.name == key for term in terms)


def _packages(issue: Issue) -> tuple[str, ...]:
    names = (term.name for combination in issue.affected for term in combination.terms if isinstance(term, PackageTerm))
    return tuple(dict.fromkeys(names))


def _folders(name: str) -> tuple[str, ...]:
    return _FOLDERS.get(name, (name.replace("-", "_"),))


def _conditions(issue: Issue) -> str:
    """The versions that it takes, as the shortest of its combinations has them."""
    combinations = [
        [term for term in combination.terms if isinstance(term, PackageTerm)] for combination in issue.affected
    ]
    shortest = min(combinations, key=len)
    text = " and ".join(
        term.name if term.versions == ALL else f"{term.name} {versions_text(term.versions)}" for term in shortest
    )
    return f"it takes {text}" if len(combinations) == 1 else f"it takes {text}, or another of its combinations"


def _tries(issue: Issue) -> list[str]:
    """What would make it go away, if it is this."""
    changes: list[str] = []
    for remedy in issue.remedies:
        match remedy:
            case VersionRemedy(package=package, versions=versions):
                changes.append(f"{package} {versions_text(versions)}")
            case SettingRemedy(key=key, value=value):
                changes.append(f"{key} {value_text(value)}")
            case CodeRemedy() | InstallRemedy():
                pass
    return [f"whether it goes away with {joined(tuple(changes[:_MOST_CHANGES]))}"] if changes else []


def _from_curves(evidence: Iterable[Evidence], told: set[str], patterns: set[str]) -> list[Diagnosis]:
    """One diagnosis for each explanation, with all observations that it explains.

    Args:
        evidence: what was seen.
        told: kinds of observations that an informational record explains better.
        patterns: symptoms of records that were seen: they explain the errors that they match better.
    """
    seen: dict[int, tuple[Explanation, list[Seen]]] = {}
    for one in evidence:
        kinds = {observation.kind for observation in one.observations}
        lines = _lines(one, patterns)
        for observation in one.observations:
            if observation.kind in ERRORS and lines.issuperset(observation.lines):
                continue
            explanation = EXPLANATIONS.get(observation.kind) or Explanation(
                title=observation.sentence[:1].upper() + observation.sentence[1:],
                weight=0.3,
                harmless=observation.harmless,
            )
            same = {kind for kind in kinds if EXPLANATIONS.get(kind) is explanation}
            if not same & told:
                seen.setdefault(id(explanation), (explanation, []))[1].append(_observed(one.path, observation))
    return [
        Diagnosis(
            title=explanation.title,
            # Two signs of the same are more than one.
            score=round(1 - (1 - explanation.weight) ** (1 + 0.2 * (len(because) - 1)), 3),
            because=tuple(because),
            settles=explanation.settles,
            harmless=explanation.harmless,
        )
        for explanation, because in seen.values()
    ]


def _unexplained(evidence: Iterable[Evidence], candidates: Sequence[_Candidate]) -> Iterable[Seen]:
    patterns = {pattern for candidate in candidates for pattern in candidate.patterns}
    for one in evidence:
        lines = _lines(one, patterns)
        lines.update(line for observation in one.observations for line in observation.lines)
        for text, line in one.errors.items():
            if line not in lines and not any(re.search(pattern, text) for pattern in patterns):
                yield Seen(sentence="an error", location=Location(path=one.path, line=line), text=text)
        if not one.errors:
            for text, line in one.echoes.items():
                sentence = "another process failed, and this log does not show why"
                yield Seen(sentence=sentence, location=Location(path=one.path, line=line), text=text)
        if one.open_traceback is not None:
            yield Seen(
                sentence="a traceback with no line that names an error",
                location=Location(path=one.path, line=one.open_traceback),
                text="Traceback (most recent call last):",
            )


def _lines(evidence: Evidence, patterns: set[str]) -> set[int]:
    """Where these symptoms were seen."""
    hits = evidence.hits or {}
    return {line for pattern in patterns if pattern in hits for line in hits[pattern][1]}
