"""The compiled knowledge base as dataclasses, built only for the packages that an environment has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, overload

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.range_index import RangeIndex, index_of
from gradcompat.matching.entries import Names
from gradcompat.model.class_fact import ClassFact
from gradcompat.model.environment import Environment
from gradcompat.model.issue import (
    Bound,
    Check,
    CodeRemedy,
    Combination,
    InstallRemedy,
    Issue,
    IssueProbe,
    ModelTerm,
    PackageAbsentTerm,
    PackageTerm,
    PlatformTerm,
    PythonTerm,
    Reference,
    Remedy,
    SettingRemedy,
    SettingTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VersionRemedy,
    VirtualTerm,
)
from gradcompat.model.knowledge_source import KnowledgeSource
from gradcompat.requirements.versions import VersionSet, Window, locate
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace

FORMAT = 1
TOLD_FROM = "summary"  # the first key of a compiled record that matching does not need
COMPILED = Path(__file__).parent / "compiled.json"
SHIPPED_NAME = "gradcompat"
_TOLD = f', "{TOLD_FROM}": '.encode()
_NEEDED = frozenset({"date", "digest", "families", "conda", "yanked", "horizon", "by_package", "models", "issues"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBase:
    """What is known, with the records still as the JSON has them; :meth:`about` builds those that matter.

    ``horizon`` is the newest release of each package that was looked at, and the day of it; ``own_horizons`` has, by
    the id of a record of somebody's own, the same of the file that it stands in. ``sources`` are the files that records
    come from, the one that ``date`` is of first, and ``indexes`` say what versions leave of the records of each.
    ``models`` are the facts that classes decide, as the JSON has them.
    """

    date: str
    digest: str
    names: Names
    yanked: Mapping[str, Sequence[str]]
    horizon: Mapping[str, Sequence[str]]
    by_package: Mapping[str, Sequence[int]]
    records: Sequence[Mapping[str, Any]]
    indexes: tuple[RangeIndex, ...] = ()
    models: Sequence[Sequence[Any]] = ()
    own_horizons: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    sources: tuple[KnowledgeSource, ...] = ()
    _built: dict[int, Issue] = field(default_factory=dict, repr=False, compare=False)

    @property
    def plain(self) -> bool:
        """Is it what ships with the package, and nothing else?"""
        return len(self.sources) == 1 and self.sources[0].kind == "shipped"

    def class_facts(self, name: str) -> tuple[ClassFact, ...]:
        """What the model class of that name decides; of one that is not known, that it is not of the library.

        What ``models`` says of a fact of the class counts; else what was read in the releases that have it.

        Raises:
            KnowledgeError: if the table of releases cannot be read.
        """
        from gradcompat.knowledge.model_tables import facts_of_class, origin_of_class

        said = tuple(
            ClassFact(key=key, value=value, package=package, versions=VersionSet.parse(versions))
            for key, value, package, versions, classes in self.models
            if name in classes
        )
        keys = {fact.key for fact in said}
        read = (*facts_of_class(name), *origin_of_class(name))
        return (*said, *(fact for fact in read if fact.key not in keys))

    def about(self, environments: Iterable[Environment]) -> tuple[Issue, ...]:
        """The issues that speak of a package of these environments, in the order of their ids."""
        return self.about_packages(
            {self.names.canonical(package) for environment in environments for package in environment.packages}
        )

    def about_packages(self, names: Iterable[str]) -> tuple[Issue, ...]:
        """The issues that speak of one of these (canonical) packages, in the order of their ids."""
        return self._issues(self._positions(names))

    def possible(self, environment: Environment) -> tuple[Issue, ...]:
        """The issues of :meth:`about` whose versions do not rule them out: none of the others applies or could apply.

        That is what most versions do, and a record that is ruled out need not be built.
        """
        listed: dict[str, set[Window | None]] = {}
        for package in environment.packages:
            name = self.names.canonical(package)
            if name in self.by_package:
                version = package.version
                window = None if version is None else locate(version, unreleased=package.unreleased)
                listed.setdefault(name, set()).add(window)
        sits = {name: frozenset(windows) for name, windows in listed.items()}
        left = []
        for position in self._positions(listed):
            index, within = self._index_of(position)
            if index.possible(within, sits, closed=environment.closed):
                left.append(position)
        return self._issues(left)

    def ask_of_host(self, names: Iterable[str]) -> bool:
        """Does any issue that speaks of one of these (canonical) packages ask what the machine is?"""
        return any(index.asks_of_host(within) for index, within in map(self._index_of, self._positions(names)))

    def _index_of(self, position: int) -> tuple[RangeIndex, int]:
        """The index that a record is in, and where."""
        for index in self.indexes:
            if position < len(index):
                return index, position
            position -= len(index)
        raise IndexError(position)

    def _positions(self, names: Iterable[str]) -> list[int]:
        """Where the records stand that speak of any of these packages, in their order."""
        return sorted({position for name in names for position in self.by_package.get(name, ())})

    def in_force(self) -> tuple[Issue, ...]:
        """Every issue that is not withdrawn, in the order of their ids."""
        return self._issues(index for index, record in enumerate(self.records) if record["withdrawn"] is None)

    def _issues(self, positions: Iterable[int]) -> tuple[Issue, ...]:
        """The issues at these places, each built once: many environments of one run have the same packages."""
        found = []
        for position in positions:
            if position not in self._built:
                self._built[position] = self._issue(position)
            found.append(self._built[position])
        return tuple(found)

    def _issue(self, position: int) -> Issue:
        if isinstance(self.records, RecordLines):
            return issue_from(self.records.beginning(position), partial(self.records.__getitem__, position))
        return issue_from(self.records[position])

    def get(self, identifier: str) -> Issue | None:
        """The issue of that id, withdrawn ones too."""
        for record in self.records:
            if record["id"] == identifier.upper():
                return issue_from(record)
        return None

    def knows(self, name: str) -> bool:
        """Does any record speak of this (canonical) package?"""
        return name in self.by_package


def load(path: Path = COMPILED) -> KnowledgeBase:
    """Read the compiled knowledge base; while the file is the same, once a process.

    Raises:
        KnowledgeError: if it is missing, broken or of another format.
    """
    try:
        status = path.stat()
        return _loaded(path, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError) as error:
        raise KnowledgeError(f"cannot be read: {error}", path=str(path), hint="install gradcompat again") from None


@lru_cache(maxsize=2)  # what ships, and a newer release of it
def _loaded(path: Path, changed: int, size: int) -> KnowledgeBase:  # noqa: ARG001  # they tell one file from the next
    content = path.read_bytes()
    data = _by_lines(content, str(path)) if path == COMPILED else None
    return knowledge_from(json.loads(content) if data is None else data, str(path))


class RecordLines(Sequence[Mapping[str, Any]]):
    """Records of a line of JSON each, parsed when they are asked for: few speak of what an environment has.

    Args:
        content: of the file.
        ends: where its first line ends, and the lines of the records.
        path: of the file, for messages.
    """

    def __init__(self, content: bytes, ends: Sequence[int], path: str) -> None:
        self._content, self._ends, self._path = content, ends, path
        self._parsed: dict[int, Mapping[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        if index not in self._parsed:
            self._parsed[index] = self._record(self._line(index))
        return self._parsed[index]

    def beginning(self, index: int) -> Mapping[str, Any]:
        """What matching needs of a record: most of those that are matched are not told of, and that is the rest."""
        line = self._line(index)
        end = line.find(_TOLD)
        return self[index] if end < 0 else self._record(line[:end] + b"}")

    def _line(self, index: int) -> bytes:
        first = range(len(self))[index]
        return self._content[self._ends[first] + 1 : self._ends[first + 1]].removesuffix(b",")

    def _record(self, text: bytes) -> Mapping[str, Any]:
        try:
            record: Mapping[str, Any] = json.loads(text)
        except ValueError as error:
            hint = "install gradcompat again"
            raise KnowledgeError(f"cannot be read: {error}", path=self._path, hint=hint) from None
        return record


def _by_lines(content: bytes, path: str) -> dict[str, Any] | None:
    """The compiled data with records that are not parsed yet; None where they do not stand in a line each."""
    begin, end = b', "issues": [', b"\n]}\n"
    ends = [content.find(b"\n")]
    while ends[-1] >= 0:
        ends.append(content.find(b"\n", ends[-1] + 1))
    if not content.endswith(end) or not content.endswith(begin, 0, ends[0]):
        return None
    head = json.loads(content[: ends[0] - len(begin)] + b"}")
    return {**head, "issues": RecordLines(content, ends[:-2], path)}


def knowledge_from(data: Mapping[str, Any], path: str) -> KnowledgeBase:
    """The knowledge base from compiled data.

    Raises:
        KnowledgeError: if the data are of another format.
    """
    found = data.get("format") if isinstance(data, Mapping) else None
    if found != FORMAT:
        raise KnowledgeError(f"format {found} is not supported", path=path, hint="install gradcompat again")
    if missing := _NEEDED - data.keys():
        raise KnowledgeError(f"lacks {', '.join(sorted(missing))}", path=path, hint="install gradcompat again")
    source = KnowledgeSource(
        kind="shipped", name=SHIPPED_NAME, records=len(data["issues"]), digest=data["digest"], date=data["date"]
    )
    return KnowledgeBase(
        date=data["date"],
        digest=data["digest"],
        sources=(source,),
        names=Names(families=data["families"], conda=data["conda"], built_for=data.get("built_for", {})),
        yanked=data["yanked"],
        horizon=data["horizon"],
        by_package=data["by_package"],
        records=data["issues"],
        indexes=(RangeIndex(data["index"] if "index" in data else index_of(data["issues"])),),
        models=data["models"],
    )


def digest_of(issues: Sequence[Mapping[str, Any]], models: Sequence[Sequence[Any]]) -> str:
    """What compiled records and facts of classes are told by, whatever the order of their keys."""
    import hashlib  # loads OpenSSL, which a check of what ships does not need

    return "sha256:" + hashlib.sha256(json.dumps([issues, models], sort_keys=True).encode()).hexdigest()[:16]


def load_checked(path: Path) -> KnowledgeBase:
    """Read a compiled knowledge base that did not come with this gradcompat.

    Raises:
        KnowledgeError: if it is missing, broken, or holds what this gradcompat does not understand.
    """
    try:
        base = load(path)
        if digest_of(base.records, base.models) != base.digest:
            raise KnowledgeError("is broken: its digest is not that of its records", path=str(path))
        for record in base.records:
            if record["withdrawn"] is None:
                issue_from(record)
                _told_of(record)
        _check_models(base.models)
        if not _is_indexed(base):
            raise ValueError(path)
        base = replace(base, indexes=(RangeIndex(index_of(base.records)),))  # the digest is of the records alone
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise KnowledgeError("is not what `gradcompat knowledge compile` writes", path=str(path)) from None
    return base


def _check_models(models: Sequence[Sequence[Any]]) -> None:
    """Does every fact of a class have the form that ``compile`` writes?

    Raises:
        TypeError, ValueError: if not.
    """
    for key, value, package, versions, classes in models:
        VersionSet.parse(versions)
        if type(value) is not bool or not all(isinstance(text, str) for text in (key, package, *classes)):
            raise TypeError(key)


def _is_indexed(base: KnowledgeBase) -> bool:
    """Are names texts, and does every package lead to a record? The digest is of the records alone."""
    said = (*base.names.families.items(), *base.names.conda.items(), *base.names.built_for.items())
    listed = (*base.yanked.items(), *base.horizon.items())
    return (
        all(isinstance(name, str) and isinstance(other, str) for name, other in said)
        and all(isinstance(values, list) and all(isinstance(value, str) for value in values) for _, values in listed)
        and all(len(values) == 2 for values in base.horizon.values())
        and all(type(one) is int and 0 <= one < len(base.records) for many in base.by_package.values() for one in many)
    )


def joined(base: KnowledgeBase, own: KnowledgeBase, source: KnowledgeSource) -> KnowledgeBase:
    """A knowledge base with somebody's own records behind the others.

    What the first says of packages applies to both; what the second says of them is added, and replaces nothing.

    Raises:
        KnowledgeError: if an id is taken.
    """
    import hashlib  # loads OpenSSL, which a check without records of somebody's own does not need

    taken = {record["id"] for record in base.records}
    for record in own.records:
        if record["id"] in taken:
            raise KnowledgeError(f"the id {record['id']} is already used in another records file", path=source.name)
    names = Names(
        families={**own.names.families, **base.names.families},
        conda={**own.names.conda, **base.names.conda},
        built_for={**own.names.built_for, **base.names.built_for},
    )
    by_package = dict(base.by_package)
    for name, positions in own.by_package.items():
        canonical = names.families.get(name, name)
        behind = [position + len(base.records) for position in positions]
        by_package[canonical] = sorted({*by_package.get(canonical, ()), *behind})
    yanked = dict(base.yanked)
    for name, versions in own.yanked.items():
        yanked[name] = [*dict.fromkeys((*yanked.get(name, ()), *versions))]
    return replace(
        base,
        digest="sha256:" + hashlib.sha256(f"{base.digest} {own.digest}".encode()).hexdigest()[:16],
        names=names,
        yanked=yanked,
        by_package=by_package,
        records=[*base.records, *own.records],
        indexes=(*base.indexes, *own.indexes),
        models=[*base.models, *_of_other_classes(own.models, base.models)],
        own_horizons={**base.own_horizons, **{record["id"]: own.horizon for record in own.records}},
        sources=(*base.sources, source),
        _built={},
    )


def _of_other_classes(models: Sequence[Sequence[Any]], base: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """The facts of the classes of which nothing is known yet, neither by hand nor from the releases."""
    if not models:
        return []
    from gradcompat.knowledge.model_tables import facts_of_class

    known = {name for *_, classes in base for name in classes}
    known |= {name for *_, classes in models for name in classes if name not in known and facts_of_class(name)}
    return [[*fact, others] for *fact, classes in models if (others := [name for name in classes if name not in known])]


def issue_from(record: Mapping[str, Any], whole: Callable[[], Mapping[str, Any]] | None = None) -> Issue:
    """One issue from its compiled record.

    Args:
        record: at least what stands in it before :data:`TOLD_FROM`.
        whole: reads all of it, where there is more.
    """
    return Issue.read_later(
        partial(_told_of, record, whole),
        id=record["id"],
        level=record["level"],
        silent=record["silent"],
        informational=record["informational"],
        categories=tuple(record["categories"]),
        affected=tuple([Combination(terms=tuple(map(_term, terms))) for terms in record["affected"]]),
        range_basis=record["range_basis"],
        withdrawn=record["withdrawn"],
        instead_of=tuple(record["instead_of"]),
    )


def _told_of(beginning: Mapping[str, Any], whole: Callable[[], Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """What matching an issue does not need."""
    from gradcompat.model.probe import ProbeSpec

    record = beginning if whole is None else whole()
    return {
        "summary": record["summary"],
        "details": record["details"],
        "symptoms": tuple(record["symptoms"]),
        "remedies": tuple(map(_remedy, record["remedies"])),
        "references": tuple(Reference(type=kind, url=url) for kind, url in record["references"]),
        "bounds": tuple(
            Bound(package=package, versions=VersionSet.parse(bound), basis=basis)
            for package, bound, basis in record["bounds"]
        ),
        "evidence": tuple(record["evidence"]),
        "probes": tuple(
            IssueProbe(
                spec=ProbeSpec(name=name, parameters=parameters),
                quantities=tuple(quantities),
                combinations=tuple(combinations[0]) if combinations else (),
            )
            for name, parameters, quantities, *combinations in record["probes"]
        ),
        "checked": None
        if "checked" not in record
        else Check(date=record["checked"][0], what=tuple(record["checked"][1])),
    }


_MOST_TERMS = 20_000
_terms: dict[str, Term] = {}


def _term(term: Sequence[Any]) -> Term:
    """A term as the JSON has it; the same object for all records that have the same one."""
    spelled = repr(term)  # 1 and True are equal, and no one term
    if spelled not in _terms:
        if len(_terms) >= _MOST_TERMS:
            _terms.clear()
        _terms[spelled] = _read_term(term)
    return _terms[spelled]


def _read_term(term: Sequence[Any]) -> Term:
    match term:
        case ["package", name, versions]:
            return PackageTerm(name=name, versions=VersionSet.spelled(versions))
        case ["absent", name]:
            return PackageAbsentTerm(name=name)
        case ["setting", key, values]:
            return SettingTerm(key=key, values=tuple(values))
        case ["compare", key, operator, operand]:
            return SettingTerm(key=key, comparison=(operator, operand))
        case ["model", classes]:
            return ModelTerm(classes=tuple(classes))
        case ["symbol", symbols, *words]:
            return SymbolTerm(symbols=tuple(symbols), arguments=" ".join(words))
        case ["without", symbols, *words]:
            return SymbolAbsentTerm(symbols=tuple(symbols), arguments=" ".join(words))
        case ["python", versions]:
            return PythonTerm(versions=VersionSet.parse(versions))
        case ["platform", platforms]:
            return PlatformTerm(platforms=tuple(platforms))
        case ["virtual", name, versions]:
            return VirtualTerm(name=name, versions=VersionSet.parse(versions))
    raise KnowledgeError(f"`{term!r}` is not a term of format {FORMAT}")


def _remedy(remedy: Sequence[Any]) -> Remedy:
    match remedy:
        case ["upgrade" | "downgrade" as kind, package, versions, note]:
            return VersionRemedy(kind=kind, package=package, versions=VersionSet.parse(versions), note=note)
        case ["setting", key, value, packages, note]:
            taken = {name: VersionSet.parse(versions) for name, versions in packages.items()}
            return SettingRemedy(key=key, value=value, packages=taken, note=note)
        case ["code", text]:
            return CodeRemedy(text=text)
        case ["install", text]:
            return InstallRemedy(text=text)
    raise KnowledgeError(f"`{remedy!r}` is not a remedy of format {FORMAT}")
