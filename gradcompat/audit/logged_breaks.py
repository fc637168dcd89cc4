"""Errors of a log that say which name of a package is missing, held against what its releases have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gradcompat.audit.breaks import breaks_of, released_versions
from gradcompat.audit.logged_calls import of_call, of_refused
from gradcompat.audit.logged_run import HAS, LACKS, MAY_LACK, LoggedRun
from gradcompat.breaks.code_issues import Beside, broken_uses, constraint_of, is_there, named, not_surely_there
from gradcompat.breaks.error_names import missing_member, missing_name, refused_keywords
from gradcompat.breaks.module_needs import providers_of
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.matching.entries import Names
from gradcompat.messages import joined, remedy_text, versions_text
from gradcompat.model.code_use import CodeUse
from gradcompat.model.diagnosis import Diagnosis, Seen
from gradcompat.model.environment import Environment
from gradcompat.model.issue import Issue, PackageTerm, VersionRemedy
from gradcompat.releases.table import ReleaseTable, package_of, table_of, tabled_packages, tops_of
from gradcompat.startup.lazy_dataclasses import replace

_MOST_WAYS = 3
_PLAIN_ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments")
_OPTIONS = ("Config", "Arguments")  # what classes are called whose arguments are their fields


def explained(
    unexplained: Iterable[Seen], environment: Environment, modules: Collection[str], names: Names
) -> tuple[list[Diagnosis], list[Seen]]:
    """What released files say of errors that no record explains, and the errors of which they say nothing.

    Args:
        unexplained: the errors.
        environment: what is known of the run.
        modules: packages that its tracebacks pass through, by the names of their folders.
        names: under which names packages go.
    """
    known = replace(environment, packages=tuple(one for one in environment.packages if one.version is not None))
    run = LoggedRun(known, released_versions(known, names), modules, names)
    found: dict[str, Diagnosis] = {}
    left: list[Seen] = []
    for seen in unexplained:
        diagnosis = next(_diagnoses(replace(seen, sentence="this is there once"), run), None)
        if diagnosis is None:
            left.append(seen)
        else:
            found.setdefault(diagnosis.title, diagnosis)
    return list(found.values()), left


def _diagnoses(seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    missing = missing_name(seen.text or "", seen.location)
    if missing is not None:
        yield from _of_uses([missing], seen, run)
        yield from _of_pairs(missing, seen, run)
    else:
        text, place = seen.text or "", seen.location
        near = list(run.tops())
        yield from _of_uses(refused_keywords(text, place, iter(near)), seen, run, named_by_class=True)
        if not run.versions:
            yield from _of_others(text, near, seen, run)
        yield from of_refused(seen, run)
        yield from of_call(seen, run)
    yield from _of_members(seen, run)


def _of_others(text: str, near: Collection[str], seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """Of any other package, since a call with a wrong argument fails in the frame of its caller.

    Of several that have such a class it is the one that the others need, who hand it on; else nobody knows.
    """
    found: dict[str, Diagnosis] = {}
    for package in sorted(tabled_packages()):
        uses = refused_keywords(text, seen.location, (top for top in tops_of(package) if top not in near))
        if (diagnosis := next(_of_uses(uses, seen, run, named_by_class=True), None)) is not None:
            found[package] = diagnosis
    own = [package for package in found if found.keys().isdisjoint({*providers_of(package)} - {package})]
    if len(own) == 1:
        yield found[own[0]]


def _of_uses(
    uses: Iterable[CodeUse], seen: Seen, run: LoggedRun, *, named_by_class: bool = False
) -> Iterator[Diagnosis]:
    for use in uses:
        package = package_of(use.root)
        table = None if package is None else table_of(package)
        if package is None or table is None:
            continue
        if named_by_class and not any(is_there(use, table, version, run.beside) for version in table.versions):
            continue  # another class of that name
        listed = run.versions.get(package, ())
        broken = [one for version in listed for one in broken_uses([use], package, table, version, run.beside)]
        if broken:
            yield _lacking(_pair_that_needs(use, package, run) or broken[0].issue, use, seen, package, table, run)
        elif not listed and (issue := constraint_of(use, package, table, run.beside)) is not None:
            yield _unseen(use, issue, seen, package, table, run)
        elif not listed and all(is_there(use, table, version, run.beside) for version in table.versions):
            yield _in_all(named(use), seen, package, table)
        elif listed and all(is_there(use, table, version, run.beside) for version in listed):
            other = "another class of that name" if named_by_class else "a file of its name"
            yield _having(named(use), use.root, seen, package, run, other)


def _of_pairs(use: CodeUse, seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """Of a name that the tables leave open, what is listed and cannot be imported for want of another one beside it.

    Which of its imports fails first the order of the modules says, and the tables keep few of torch's own modules.
    """
    package = package_of(use.root)
    if package is None or not run.versions.get(package):
        return
    for issue in breaks_of(run.environment, (), run.names).issues:
        terms = [term.name for one in issue.affected for term in one.terms if isinstance(term, PackageTerm)]
        importing = {top for name in terms if name != package for top in tops_of(name)}
        ways = [one for one in issue.remedies if isinstance(one, VersionRemedy) and one.package == package]
        if package in terms and issue.id.endswith(f":{package}") and (not run.modules or importing & set(run.modules)):
            yield Diagnosis(
                title=f"{issue.summary} (read in the released files)",
                score=MAY_LACK,
                because=(seen, *run.entries(package, "")),
                settles=tuple(f"whether it goes away: {remedy_text(one)}" for one in ways[:1]),
            )


def _of_members(seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """Methods that a class has in some releases; of other attributes the tables know nothing."""
    missing = missing_member(seen.text or "")
    if missing is not None and missing[0] in _PLAIN_ARGUMENTS:
        yield from _of_plain_arguments(missing[1], seen, run)
    tops = (
        ()
        if missing is None
        else tuple(run.tops()) or (top for one in sorted(tabled_packages()) for top in tops_of(one))
    )
    for top in tops:
        package = package_of(top)
        table = None if package is None else table_of(package)
        if package is None or table is None or missing is None:
            continue
        called = f"{top}.{missing[0]}"
        method = f"{called}.{missing[1]}"
        having = [table.signature(version, method, run.beside) is not None for version in table.versions]
        is_field = not any(having)
        if is_field:
            having = _with_field(called, missing[1], table, run)
        if not any(having):
            continue
        listed = run.versions.get(package, ())
        versions = ranges_of(list(map(str, table.versions)), having.__getitem__)
        if listed and all(version in versions for version in listed):
            yield _having(f"`{method}`", top, seen, package, run, "another class of that name")
        elif not is_field and any(table.signature(version, called, run.beside) is None for version in listed):
            continue
        else:
            yield Diagnosis(
                title=f"{missing[0]} has `{missing[1]}` in {package} {versions} (read in the released files)",
                score=LACKS if listed else MAY_LACK,
                because=(seen, *run.entries(package, "")),
                against=() if listed else (f"no version of {package} was seen",),
                settles=(f"whether it goes away with {package} {versions}",),
            )


def _of_plain_arguments(name: str, seen: Seen, run: LoggedRun) -> Iterator[Diagnosis]:
    """An option that the classes of TRL alone have, asked of the class of transformers that they derive from."""
    options, plain = table_of("trl"), table_of("transformers")
    if options is None or plain is None:
        return
    if any(any(_with_field(f"transformers.{own}", name, plain, run)) for own in _PLAIN_ARGUMENTS):
        return
    having = {own: _with_field(f"trl.{own}", name, options, run) for own in _configs_of_trainers(options)}
    owners = tuple(own for own, found in having.items() if any(found))
    if owners:
        yield Diagnosis(
            title=f"A trainer of TRL was given transformers' TrainingArguments: {joined(owners)} has `{name}`",
            score=MAY_LACK,
            because=(seen, *run.entries("trl", "")),
            settles=(
                f"whether it goes away with {joined(owners)} of trl as args, which takes what TrainingArguments takes",
                "the release of trl that the script was written for: older trainers took TrainingArguments",
            ),
        )


def _configs_of_trainers(table: ReleaseTable) -> list[str]:
    """The classes of TRL that a trainer of the same name takes as its arguments, in any release that was read."""
    names = frozenset().union(*(table.names(version, "trl") for version in table.versions))
    stems = (name.removesuffix("Config") for name in names if name.endswith("Config"))
    return sorted(f"{stem}Config" for stem in stems if f"{stem}Trainer" in names)


def _with_field(called: str, name: str, table: ReleaseTable, run: LoggedRun) -> list[bool]:
    """The releases in which a class of options takes an argument of that name, as which an object then has it."""
    if not called.endswith(_OPTIONS):
        return []
    having = []
    for version in table.versions:
        signatures = [table.signature(version, called, beside) for beside in run.besides(table.package)]
        having.append(all(one is not None and any(own.name == name for own in one.parameters) for one in signatures))
    return having


def _pair_that_needs(use: CodeUse, package: str, run: LoggedRun) -> Issue | None:
    """The listed package that asks for the name when it is imported."""
    for issue in breaks_of(run.environment, (), run.names).issues:
        packages = {term.name for one in issue.affected for term in one.terms if isinstance(term, PackageTerm)}
        if package in packages and use.full_name in issue.details:
            return issue
    return None


def _lacking(issue: Issue, use: CodeUse, seen: Seen, package: str, table: ReleaseTable, run: LoggedRun) -> Diagnosis:
    return Diagnosis(
        title=f"{issue.summary} (read in the released files)",
        score=LACKS,
        because=(seen, *run.entries(package, "")),
        settles=tuple(_ways(issue, use, package, table, run.beside)),
    )


def _ways(issue: Issue, use: CodeUse, package: str, table: ReleaseTable, beside: Beside) -> Iterator[str]:
    """What would make it go away; of the package no releases but those that were read and have the name."""
    having = ~not_surely_there(use, table, beside)
    ways = []
    for remedy in issue.remedies:
        if not isinstance(remedy, VersionRemedy) or remedy.package != package:
            ways.append(remedy_text(remedy))
        elif any(version in remedy.versions & having for version in table.versions):
            ways.append(remedy_text(replace(remedy, versions=remedy.versions & having)))
    if ways:
        yield f"whether it goes away: {joined(tuple(ways[:_MOST_WAYS]))}"


def _unseen(use: CodeUse, issue: Issue, seen: Seen, package: str, table: ReleaseTable, run: LoggedRun) -> Diagnosis:
    term = next(one for combination in issue.affected for one in combination.terms if isinstance(one, PackageTerm))
    newest = next(version for version in reversed(table.versions) if version in term.versions)
    broken = broken_uses([use], package, table, newest, run.beside)
    return Diagnosis(
        title=f"{term.name} {versions_text(term.versions)} has no {named(use)} (read in the released files)",
        score=MAY_LACK,
        because=(seen,),
        against=(f"no version of {term.name} was seen",),
        settles=(
            f"the version of {term.name} in the run, --environment LOCKFILE: {table.versions[0]} to "
            f"{table.versions[-1]} were read",
            *(way for one in broken for way in _ways(one.issue, use, package, table, run.beside)),
        ),
    )


def _in_all(what: str, seen: Seen, package: str, table: ReleaseTable) -> Diagnosis:
    first, last = table.versions[0], table.versions[-1]
    return Diagnosis(
        title=f"{package} {first} to {last} have {what}: the run's {package} is older, or another file of its name",
        score=MAY_LACK,
        because=(seen,),
        against=(f"no version of {package} was seen",),
        settles=(
            f"its version and place: python -c 'import {table.imports[0]} as m; print(m.__version__, m.__file__)'",
        ),
    )


def _having(what: str, top: str, seen: Seen, package: str, run: LoggedRun, other: str) -> Diagnosis:
    return Diagnosis(
        title=f"The run imports another {package} than the listed one, or {other}",
        score=HAS,
        because=(seen, *run.entries(package, f", and has {what}")),
        settles=(f"in the interpreter of the run: import {top}, and print its __version__ and its __file__",),
    )
