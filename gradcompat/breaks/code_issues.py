"""A name that the project's code needs and a release does not have, as an issue with a line of the code.

Only what is certainly not there counts: a module that makes names at import time, a function that takes ``**kwargs``, a
release that nobody has read leave it open, and say nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from packaging.version import Version

from gradcompat.breaks.pair_issues import break_issue
from gradcompat.breaks.release_ranges import ranges_of
from gradcompat.messages import counted, joined
from gradcompat.model.code_use import CodeUse, UseKind
from gradcompat.model.environment import Location
from gradcompat.model.finding import Finding, Reason, Unknown
from gradcompat.model.issue import CodeRemedy, Combination, Issue, PackageTerm, Remedy, VersionRemedy
from gradcompat.releases.answers import ModelKeys, Presence
from gradcompat.releases.table import ReleaseTable, package_of, table_of
from gradcompat.requirements.versions import VersionSet
from gradcompat.startup.lazy_dataclasses import dataclass, replace

CODE = "code"  # the first part of the id: code:transformers:HybridCache
_SHOWN = 3
_ALIKE = 0.85  # of names of which one is the other one misspelled
_LEFT_OUT = " A parser of dataclasses refuses such an option; TRL's commands may leave it out without a word."
_PASSED_OVER = " axolotl passes over a key that it does not know, without a word."
_NOWHERE = "no release has it beside the other packages as they are"
_BELOW = ".*"
_CONFIGS = (".yaml", ".yml", ".json")
_STANDS_IN = "dummy_"  # begins the name of a module for what an optional package would bring

Beside = Callable[[str], "Version | None"]


@dataclass(frozen=True, slots=True)
class BrokenUse:
    """A use that fails in a release.

    Attributes:
        use: the first of them.
        locations: every place.
        issue: what is said of it.
        conditional: each of them stands behind a condition.
        newest: the packages, with their newest releases, of which an older one that their ranges allow takes it.
    """

    use: CodeUse
    locations: tuple[Location, ...]
    issue: Issue
    conditional: bool = False
    newest: tuple[tuple[str, Version], ...] = ()


def broken_uses(
    uses: Iterable[CodeUse],
    package: str,
    table: ReleaseTable,
    version: Version,
    beside: Beside,
    ranges: Mapping[str, Sequence[Version]] | None = None,
) -> list[BrokenUse]:
    """The uses of a package that certainly fail in one of its releases.

    Args:
        uses: of the package's modules.
        package: its canonical name.
        table: of the package.
        version: that is there.
        beside: releases of other packages that are there, by name.
        ranges: those of them of which only a range is known, with the releases that it allows, oldest first.
    """
    places: dict[str, list[CodeUse]] = {}
    written: dict[str, list[CodeUse]] = {}
    gone: list[CodeUse] = []
    for use in sorted(uses, key=lambda use: use.kind != "import"):
        if use.kind != "import" and any(_says(code_use, use) for code_use in gone):
            continue
        if not is_missing(use, table, version, beside):
            continue
        missed = _known_use(use, table, version, beside)
        if missed is None:
            continue
        if missed.kind == "import":
            if table.presence(version, missed.module) is Presence.ABSENT:
                missed = replace(missed, name=None)  # of a module that is gone, all names are
            gone.append(missed)
        identifier = identifier_of(missed, package)
        places.setdefault(identifier, []).append(missed)
        written.setdefault(identifier, []).append(use)
    found: list[BrokenUse] = []
    for identifier, some in places.items():
        certain = [use for use in some if not use.conditional]
        ordered = [*certain, *(use for use in some if use.conditional)]
        locations = tuple(dict.fromkeys(use.location for use in ordered))
        issue = _issue(
            identifier, ordered[0], package, table, version, beside, _moved(written[identifier], table, version)
        )
        newest = tuple(_newest_alone(ordered[0], table, version, beside, ranges or {}))
        found.append(BrokenUse(ordered[0], locations, issue, conditional=not certain, newest=newest))
    return found


def _newest_alone(
    use: CodeUse, table: ReleaseTable, version: Version, beside: Beside, ranges: Mapping[str, Sequence[Version]]
) -> Iterator[tuple[str, Version]]:
    """The packages with whose newest release an argument is missing, and not with each that their range allows.

    ``GRPOConfig`` inherits from ``TrainingArguments``: what it takes is decided by the release of transformers.
    """
    if use.kind not in ("keyword", "option"):
        return
    for name, releases in ranges.items():
        if name == table.package or is_missing(use, table, version, _but(beside, name, None)):
            continue
        if not all(is_missing(use, table, version, _but(beside, name, one)) for one in releases):
            yield name, releases[-1]


# A table remembers signatures by this function.
@lru_cache(maxsize=1024)
def _but(beside: Beside, name: str, version: Version | None) -> Beside:
    """What is beside a package, with one release in the place of another."""
    return lambda asked: version if asked == name else beside(asked)


def _says(imported: CodeUse, use: CodeUse) -> bool:
    """Does the import of what is missing say already that its use fails?"""
    within = use.full_name == imported.full_name or use.full_name.startswith(f"{imported.full_name}.")
    return within and (use.conditional or not imported.conditional)


# A plan and each nearest change ask for the same ones.
@lru_cache(maxsize=4096)
def constraint_of(use: CodeUse, package: str, table: ReleaseTable, beside: Beside) -> Issue | None:
    """The releases in which the use certainly fails, for whoever looks for another one; None if there are none."""
    missing = _missing(use, table, beside)
    if all(version in missing for version in table.versions):
        return None
    use = _known_use(use, table, table.versions[-1], beside) or use
    identifier = identifier_of(use, package)
    return _plain(identifier, use, package, missing) if missing else None


def unread_before(package: str, oldest: Version) -> Issue:
    """The releases of which nobody knows whether they have what the code uses: no change leads there.

    Args:
        package: which the code uses.
        oldest: the first release that was read, or an older one that is there.
    """
    return break_issue(
        f"{CODE}:{package}:before-{oldest}",
        summary=f"the code uses {package}, whose releases before {oldest} were not read",
        details=f"What the code uses of {package} may not be there before {oldest}: no older release was read.",
        categories=("code",),
        affected=(Combination(terms=(PackageTerm(name=package, versions=VersionSet.parse(f"<{oldest}")),)),),
    )


def identifier_of(use: CodeUse, package: str) -> str:
    """``code:transformers:TrainingArguments:evaluation_strategy``, ``code:axolotl:relora_steps``."""
    if use.kind == "key":
        return f"{CODE}:{package}:{use.keyword}"
    inside = use.module.partition(".")[2] if use.kind == "import" else ""
    path = ".".join(part for part in (inside, use.name) if part) or use.module
    return ":".join(part for part in (CODE, package, path, use.keyword) if part)


def is_missing(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> bool:
    """Does the use certainly fail in this release?"""
    match use.kind:
        case "import" | "attribute":
            return _presence(use, table, version) is Presence.ABSENT
        case "keyword":
            taken = _takes(table, version, use.full_name, use.keyword or "", beside)
            return taken is False and not any(_has_ever(other, use.keyword or "", beside) for other in use.others)
        case "option":
            return _is_no_option(use, table, version, beside)
        case "key":
            keys = _model_keys(use, table, version)
            return keys is not None and use.keyword not in keys and not _is_taken_elsewhere(use, table, version)
        case "call":
            return False  # what it needs is among the other uses


def is_there(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> bool:
    """Does a release certainly have the name, or take the keyword?"""
    if use.kind == "keyword":
        return _takes(table, version, use.full_name, use.keyword or "", beside) is True
    return _presence(use, table, version) is Presence.PRESENT


def _presence(use: CodeUse, table: ReleaseTable, version: Version) -> Presence:
    """Whether a release has what is imported, or reached through its modules."""
    return _presence_of(use.kind, use.module, use.name, table, version)


def _presence_of(kind: UseKind, module: str, name: str | None, table: ReleaseTable, version: Version) -> Presence:
    if kind == "attribute":
        return _attribute_presence(module, name or "", table, version)
    found = table.presence(version, module)
    return found if found is not Presence.PRESENT or name is None else table.presence(version, module, name)


def _takes(table: ReleaseTable, version: Version, called: str, keyword: str, beside: Beside) -> bool | None:
    """May a callable be given a keyword? None where that is not certain."""
    signature = table.signature(version, called, beside)
    return None if signature is None else signature.accepts(keyword)


def _is_no_option(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> bool:
    """Is it certainly a field of none of the dataclasses, nor an abbreviation or the negation of one?"""
    known = _known_options((use.full_name, *use.others), table, version, beside)
    if known is None:
        return False
    option = use.keyword or ""
    positive = option.removeprefix("no_")
    following = bisect_left(known, option)
    return not (
        (following < len(known) and known[following].startswith(option))
        or ((at := bisect_left(known, positive)) < len(known) and known[at] == positive)
    )


# A config gives many options to the same dataclasses, and each is looked for in all releases.
@lru_cache(maxsize=2048)
def _known_options(
    names: tuple[str, ...], table: ReleaseTable, version: Version, beside: Beside
) -> tuple[str, ...] | None:
    """The options of some dataclasses together, sorted; None where they are not all known, or the package has none."""
    found: set[str] = set()
    seen = False
    for name in names:
        package = package_of(name.partition(".")[0])
        known = None if package is None else table_of(package)
        at = version if package == table.package else None if package is None else beside(package)
        if known is None or at is None:
            return None
        module, _, inner = name.rpartition(".")
        if known.presence(at, module, inner) is Presence.ABSENT:
            continue
        signature = known.signature(at, name, beside)
        if signature is None or signature.accepts_kwargs or not signature.certain:
            return None
        found.update(signature.renamed, (parameter.name for parameter in signature.parameters))
        seen = seen or package == table.package
    return tuple(sorted(found)) if seen else None


def _has_ever(name: str, option: str, beside: Beside) -> bool:
    """May a dataclass of another package have an option, in the release that is there or else in any?"""
    package = package_of(name.partition(".")[0])
    table = None if package is None else table_of(package)
    if package is None or table is None:
        return False
    at = beside(package)
    for version in (at,) if at is not None else reversed(table.versions):
        signature = table.signature(version, name, beside)
        if signature is not None and signature.accepts(option) is not False:
            return True
    return False


def _model_keys(use: CodeUse, table: ReleaseTable, version: Version) -> ModelKeys | None:
    """What the model takes that a config is of, under the name that it has in a release."""
    names = (name for name in (use.full_name, *use.others) if not name.endswith(_BELOW))
    found = (table.model_keys(version, name) for name in names)
    return next((keys for keys in found if keys is not None), None)


def _is_taken_elsewhere(use: CodeUse, table: ReleaseTable, version: Version) -> bool:
    """May a model of a plugin take the key?"""
    below = [table.keys_below(version, name.removesuffix(_BELOW)) for name in use.others if name.endswith(_BELOW)]
    return any(keys is None or use.keyword in keys for keys in below)


def _attribute_presence(module: str, name: str, table: ReleaseTable, version: Version) -> Presence:
    """``transformers.models.llama.Gone``: the first part that is no module decides; what is behind it is not known."""
    for part in name.split("."):
        found = table.presence(version, module, part)
        if found is not Presence.PRESENT or not _is_submodule(module, part, table, version):
            return found
        module = f"{module}.{part}"
    return Presence.PRESENT


def _is_submodule(module: str, name: str, table: ReleaseTable, version: Version) -> bool:
    """Is it the module below that a name stands for? A class may have the name of its file, and takes its place."""
    if table.presence(version, f"{module}.{name}") is not Presence.PRESENT:
        return False
    imported = table.fact(version, "names", module, name) != 1
    return imported and table.origin(version, module, name) in ((f"{module}.{name}", ""), (module, name))


def _known_use(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> CodeUse | None:
    """A use that fails, if some release that was read has what it names; an option, of the class that has it.

    What no release certainly has is of a fork, or put there by another package, as Intel's does with
    ``torch.xpu.optimize``. An option or a key that looks like another one is misspelled.
    """
    newest_first = reversed(table.versions)
    match use.kind:
        case "import" | "attribute":
            found = any(_presence(use, table, one) is Presence.PRESENT for one in newest_first)
        case "keyword":
            found = any(takes is not False for _, takes in _taking(use.full_name, use, table, beside))
        case "option":
            owner = _owner(use, table, beside)
            if owner is not None:
                return owner
            found = _meant(use, table, version, beside) is not None
        case "key":
            known = (_model_keys(use, table, one) for one in newest_first)
            found = any(keys is not None and use.keyword in keys.fields for keys in known)
            found = found or _meant(use, table, version, beside) is not None
    return use if found else None


def _owner(use: CodeUse, table: ReleaseTable, beside: Beside) -> CodeUse | None:
    """An option, of the class of the package that has it in the newest release."""
    names = [name for name in (use.full_name, *use.others) if name.partition(".")[0] == use.root]
    having = {name: next((one for one, has in _taking(name, use, table, beside) if has), None) for name in names}
    newest = max((version for version in having.values() if version is not None), default=None)
    if newest is None:
        return None
    owner = next(name for name in names if having[name] == newest)
    others = tuple(other for other in (use.full_name, *use.others) if other != owner)
    return replace(use, name=owner.partition(".")[2], others=others)


def _taking(called: str, use: CodeUse, table: ReleaseTable, beside: Beside) -> Iterator[tuple[Version, bool | None]]:
    """Whether a callable may be given the keyword of a use, newest release first; each signature once."""
    last = None
    for version in reversed(table.versions):
        found = table.signature(version, called, beside)
        if found is None:
            yield version, None
        elif last is None or not (
            found.parameters is last.parameters and found.certain is last.certain and found.renamed == last.renamed
        ):
            yield version, found.accepts(use.keyword or "")
        last = found


def _meant(use: CodeUse, table: ReleaseTable, version: Version, beside: Beside) -> str | None:
    """What a misspelled option or key may be; None where nothing is like it, or another package tells it."""
    if use.kind == "key":
        keys = _model_keys(use, table, version)
        known = frozenset() if keys is None else keys.fields
    else:
        tops = {name.partition(".")[0] for name in (use.full_name, *use.others)}
        if use.root != min(tops):
            return None
        known = frozenset(
            name for each in (use.full_name, *use.others) for name in _options(each, table, version, beside)
        )
    import difflib

    return next(iter(difflib.get_close_matches(use.keyword or "", known, 1, _ALIKE)), None)


def _options(name: str, table: ReleaseTable, version: Version, beside: Beside) -> Iterator[str]:
    """The options of a dataclass of any package."""
    package = package_of(name.partition(".")[0])
    known = None if package is None else table_of(package)
    at = version if package == table.package else None if package is None else beside(package)
    signature = None if known is None or at is None else known.signature(at, name, beside)
    yield from () if signature is None else (parameter.name for parameter in signature.parameters)


def _missing(use: CodeUse, table: ReleaseTable, beside: Beside) -> VersionSet:
    """The releases in which the use fails; what the oldest that was read does not have yet, no older one has."""
    if use.kind in ("import", "attribute"):
        return _missing_name(use.kind, use.module, use.name, table)
    absent = tuple(
        is_missing(use, table, version, beside) or _lacks_callable(use, table, version) for version in table.versions
    )
    return _releases(absent, table)


# Code takes the same names in many places, whatever releases are beside the package.
@lru_cache(maxsize=4096)
def _missing_name(kind: UseKind, module: str, name: str | None, table: ReleaseTable) -> VersionSet:
    """What the releases around some lack of which it is not certain, as of those without wheels, these lack as well."""
    presences = [_presence_of(kind, module, name, table, version) for version in table.versions]
    absent = [presence is Presence.ABSENT for presence in presences]
    certain = [number for number, presence in enumerate(presences) if presence is not Presence.UNKNOWN]
    for before, behind in pairwise(certain):
        if absent[before] and absent[behind]:
            absent[before:behind] = [True] * (behind - before)
    return _releases(tuple(absent), table)


@lru_cache(maxsize=4096)
def _releases(absent: tuple[bool, ...], table: ReleaseTable) -> VersionSet:
    """For each release whether something is absent, as ranges."""
    missing = ranges_of(list(map(str, table.versions)), absent.__getitem__)
    return missing | VersionSet.parse(f"<{table.versions[0]}") if absent[0] else missing


def _lacks_callable(use: CodeUse, table: ReleaseTable, version: Version) -> bool:
    """Is what a keyword is given to not there itself? SFTConfig came with TRL 0.9."""
    if use.kind not in ("keyword", "option") or use.name is None or "." in use.name:
        return False
    return table.presence(version, use.module, use.name) is Presence.ABSENT


def _plain(identifier: str, use: CodeUse, package: str, missing: VersionSet) -> Issue:
    left_out = {"option": _LEFT_OUT, "key": _PASSED_OVER}.get(use.kind, "")
    return break_issue(
        identifier,
        summary=f"the code uses {named(use)}, which {package} does not have in {missing}",
        details=f"The code uses {named(use)}. This was read in the released files of {package}.{left_out}",
        categories=("code",),
        affected=(Combination(terms=(PackageTerm(name=package, versions=missing),)),),
    )


def named(use: CodeUse) -> str:
    """``transformers.HybridCache``, ``evaluation_strategy`` of a class, or the key of a config."""
    if use.kind == "key":
        return f"the key `{use.keyword}`"
    called = ".".join(part for part in (use.module, use.name) if part)
    return called if use.keyword is None else f"`{use.keyword}` of {called}"


def _issue(
    identifier: str,
    use: CodeUse,
    package: str,
    table: ReleaseTable,
    version: Version,
    beside: Beside,
    moved: str | None,
) -> Issue:
    missing = _missing(use, table, beside)
    renamed = _renamed(use, table)
    unsure = VersionSet.parse("<0") if use.kind in ("option", "key") else not_surely_there(use, table, beside)
    words = tuple(_history(missing, unsure, table.versions, version, renamed))
    meant = None if words else _meant(use, table, version, beside)
    if meant is not None:
        words, renamed = (f"did you mean `{meant}`?",), (meant, version)
    history = joined(words, "and") if words else _NOWHERE if use.kind == "keyword" else "no release has it"
    without = missing if use.kind == "option" else missing | not_surely_there(use, table, beside)
    remedies: list[Remedy] = list(_remedies(package, without, version))
    if renamed is not None and renamed[0]:
        remedies.insert(0, CodeRemedy(text=f"write `{renamed[0]}` instead of `{use.keyword}`"))
    elif moved is not None:
        remedies.insert(0, CodeRemedy(text=f"write `{moved}`"))
    else:
        remedies.append(CodeRemedy(text=f"do without {named(use)}"))
    return replace(
        # A change of the version has to lead to where it is certain.
        _plain(identifier, use, package, missing if use.kind == "key" else without),
        summary=f"{_failure(use, package, version)}: {history}",
        remedies=tuple(remedies),
    )


def _moved(uses: Sequence[CodeUse], table: ReleaseTable, version: Version) -> str | None:
    """The import that gives all the names in a release; None unless one module alone defines them there.

    ``transformers.deepspeed`` handed on what ``transformers.integrations.deepspeed`` has to this day.
    """
    names = {use.name for use in uses if use.kind == "import" and use.name is not None}
    if not all(use.kind == "import" and use.name is not None for use in uses):
        return None
    homes = {
        tuple(
            module
            for module in table.defined_in(name)
            if not module.rpartition(".")[2].startswith(_STANDS_IN)
            and table.presence(version, module, name) is Presence.PRESENT
        )
        for name in names
    }
    home = homes.pop() if len(homes) == 1 else ()
    return f"from {home[0]} import {', '.join(sorted(names))}" if len(home) == 1 else None


def _failure(use: CodeUse, package: str, version: Version) -> str:
    if use.kind == "key":
        return f"{package} {version} passes over the key `{use.keyword}`"
    if use.keyword is not None:
        called = (use.name or use.module).rpartition(".")[2]
        return f"{called} has no `{use.keyword}` in {package} {version}"
    if use.kind == "attribute":
        return f"{package} {version} has no `{use.module}.{use.name}`"
    if use.name is None:
        return f"No module named '{use.module}' in {package} {version}"
    return f"cannot import name '{use.name}' from '{use.module}' in {package} {version}"


def _renamed(use: CodeUse, table: ReleaseTable) -> tuple[str, Version] | None:
    """The new name of a keyword, where a release has both, and the first release that has."""
    if use.keyword is None or use.kind == "key":
        return None
    for version in table.versions:
        new = table.renamed(version, f"{use.module}.{use.name}", use.keyword)
        if new:
            return new, version
    return None


def _history(
    missing: VersionSet,
    unsure: VersionSet,
    versions: Sequence[Version],
    version: Version,
    renamed: tuple[str, Version] | None,
) -> Iterator[str]:
    """``renamed `eval_strategy` in 4.41.0``, ``removed in 4.46.0``, ``new in 5.0.0``, ``new in 0.22.0 at the latest``.

    Args:
        missing: the releases that certainly do not have it.
        unsure: those and the others that do not certainly have it.
        versions: the releases that were read, oldest first.
        version: which does not have it.
        renamed: the new name, and the first release that has both.
    """
    if renamed is not None:
        yield f"renamed `{renamed[0]}` in {renamed[1]}"
    doubtful = missing | unsure
    having = [index for index, one in enumerate(versions) if one not in doubtful]
    having = having or [index for index, one in enumerate(versions) if one not in missing]
    before = [index for index in having if versions[index] < version]
    behind = [index for index in having if versions[index] > version]
    if before:
        gone = next(index for index, one in enumerate(versions) if index > before[-1] and one in missing)
        yield f"removed in {versions[gone]}{'' if gone == before[-1] + 1 else ' at the latest'}"
    elif behind:
        at_latest = behind[0] > 0 and versions[behind[0] - 1] not in missing
        yield f"new in {versions[behind[0]]}{' at the latest' if at_latest else ''}"


def not_surely_there(use: CodeUse, table: ReleaseTable, beside: Beside) -> VersionSet:
    """The releases of which it is not certain: no change leads to one that nobody knows to have it.

    A key has to be a field, in a release that was read: what only a validator reads may be refused.
    """
    if use.kind == "key":
        known = [_model_keys(use, table, version) for version in table.versions]
        having = [keys is not None and use.keyword in keys.fields for keys in known]
        return ~ranges_of(list(map(str, table.versions)), having.__getitem__)
    lacking = [not is_there(use, table, version, beside) for version in table.versions]
    return ranges_of(list(map(str, table.versions)), lacking.__getitem__)


def _remedies(package: str, missing: VersionSet, version: Version) -> Iterator[VersionRemedy]:
    ways: tuple[tuple[Literal["upgrade", "downgrade"], str], ...] = (("upgrade", ">"), ("downgrade", "<"))
    for kind, operator in ways:
        if versions := ~missing & VersionSet.parse(f"{operator}{version}"):
            yield VersionRemedy(kind=kind, package=package, versions=versions)


def with_lines(finding: Finding, broken: BrokenUse) -> Finding:
    """The finding at its line of the code, with all others."""
    lines = [f"{_does(broken.use)} in {location}" for location in broken.locations]
    placed = _placed(finding, lines, broken.locations[0], conditional=broken.conditional)
    if not broken.newest:
        return placed
    behind = tuple(
        Unknown(
            key=name,
            sentence=f"{name} resolves to {version}",
            plain=f"{name} {version} is installed, the newest that is allowed",
        )
        for name, version in broken.newest
    )
    unknown = tuple((*some, *behind) for some in placed.unknown) or (behind,)
    return replace(placed, status="conditional", unknown=unknown)


def with_uses(finding: Finding, uses: Sequence[CodeUse]) -> Finding:
    """The finding of a pair at the lines of the code that import what breaks."""
    certain = [use for use in uses if not use.conditional]
    ordered = [*certain, *(use for use in uses if use.conditional)]
    lines = [f"{_does(use)} in {use.location}" for use in ordered]
    return _placed(finding, lines, ordered[0].location, conditional=not certain)


def _placed(finding: Finding, lines: Sequence[str], location: Location, *, conditional: bool) -> Finding:
    shown_lines = list(dict.fromkeys(lines))
    if (more := len(shown_lines) - _SHOWN) > 0:
        shown_lines[_SHOWN:] = [counted(more, "more place")]
    reason = Reason(sentence=joined(tuple(shown_lines), "and"), location=location)
    shown = replace(finding, because=(reason, *finding.because), location=location)
    if not conditional:
        return shown
    is_config = location.path.endswith(_CONFIGS)
    sentence = f"a command reads {location.path}" if is_config else f"the code at {location} runs"
    behind = Unknown(key="code.symbols", sentence=sentence)
    unknown = tuple((*some, behind) for some in finding.unknown) or ((behind,),)
    return replace(shown, status="conditional", unknown=unknown)


def _does(use: CodeUse) -> str:
    if use.kind == "key":
        return f"the config has {named(use)}"
    if use.kind == "import":
        return f"the code imports {named(use)}"
    giver = "config" if use.location.path.endswith(_CONFIGS) else "code"
    return f"the {giver} gives {named(use)}" if use.keyword else f"the code uses {named(use)}"


def by_root(uses: Iterable[CodeUse]) -> Mapping[str, list[CodeUse]]:
    """The uses by the top-level module that they are of."""
    found: dict[str, list[CodeUse]] = {}
    for use in uses:
        found.setdefault(use.root, []).append(use)
    return found
