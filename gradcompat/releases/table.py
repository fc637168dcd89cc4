"""What the releases of a package export, need and accept, asked release by release.

The tables ship with gradcompat, a file a package; ``gradcompat knowledge read`` writes them from the wheels. Nothing is
loaded before it is asked for, and of a table only the blocks that hold the answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

from packaging.version import Version

from gradcompat.releases.answers import ModelKeys, Need, Presence, Signature, SpreadNeed, Stretch
from gradcompat.releases.imported import ImportGroup, import_groups, span, symbol_of
from gradcompat.releases.lines import Line, runs_in, unpacked
from gradcompat.releases.models import ModelFacts, parsed
from gradcompat.releases.runs import Growing, Run, Value, stretches, value_at, values_of
from gradcompat.releases.signatures import model_keys, signature
from gradcompat.releases.table_file import TableFile
from gradcompat.requirements.names import normalise

FOLDER = Path(__file__).parents[1] / "knowledge" / "releases"
SUFFIX = ".table"
INDEX = "index.json"

# Keys of a line of names that are no names.
EXISTS, OPEN, OLD_PATHS = ".", "?", "*"
# How many names are followed from module to module; more than any package has, unless they go in a circle.
_MOST_STEPS = 30

Beside = Callable[[str], "Version | None"]
"""The release of another package, by its name, that is to be taken for what a class inherits from it."""

Import = tuple[str, str | None]
"""A module, and the name that is imported from it, if any."""


class ReleaseTable:
    """The table of one package.

    Attributes:
        package: its normalised name.
        versions: the releases that were read, sorted.
        unread: releases that could not be read → why.
        imports: the modules at its top (``huggingface_hub``).
        numbers: the place of each release among them.
    """

    def __init__(self, path: Path) -> None:
        """Open a table.

        Raises:
            KnowledgeError: if it cannot be read.
        """
        self._file = TableFile(path)
        header = self._file.header
        self.package: str = header["package"]
        self.versions: tuple[Version, ...] = tuple(map(Version, header["versions"]))
        self.unread: Mapping[Version, str] = {Version(one): why for one, why in header["unread"].items()}
        self.imports: tuple[str, ...] = tuple(header["imports"])
        self._built = frozenset(header["built"])
        self._skipped = frozenset(header["skipped"])
        self.numbers = {version: number for number, version in enumerate(self.versions)}
        self._known: dict[tuple[str, str, str], Sequence[Run]] = {}
        self._imported_by: dict[str, tuple[ImportGroup, ...]] = {}
        self._signatures: dict[tuple[Version, str, Beside | None], Signature | None] = {}

    def presence(self, version: Version, module: str, name: str | None = None) -> Presence:
        """Whether a name can be imported from a module, a submodule among them.

        What stands behind a condition counts as present.

        Args:
            version: of the package.
            module: absolute.
            name: in it; None asks for the module itself.
        """
        number = self.numbers.get(version)
        if number is None or module.partition(".")[0] not in self.imports:
            return Presence.UNKNOWN
        exists = self._value("names", module, EXISTS, number)
        if exists is None:
            return Presence.UNKNOWN if self._old_paths(module, number) == SERVED else self._missing(number, module)
        if exists == RAISES:
            return Presence.ABSENT
        if name is None or self._value("names", module, name, number) is not None:
            return Presence.PRESENT
        inner = f"{module}.{name}"
        if name in ALWAYS or self._exists(inner, number):
            return Presence.PRESENT
        stood_in_for = name.endswith(_SUCCEEDED) and self._old_paths(module, number) is not None
        if stood_in_for or self._value("names", module, OPEN, number) is not None:
            return Presence.UNKNOWN
        return self._missing(number, inner)

    def why_open(self, version: Version, module: str) -> str | None:
        """Why a module may have names that its source does not show; None where it cannot."""
        number = self.numbers.get(version)
        found = None if number is None else self._value("names", module, OPEN, number)
        return None if found is None else str(found)

    def history(self, module: str, name: str | None = None) -> tuple[Stretch, ...]:
        """The releases that have a name, or a module, certainly."""
        present = [
            number for number, version in enumerate(self.versions) if self.presence(version, module, name) is _PRESENT
        ]
        return self._stretches(present)

    def names(self, version: Version, module: str) -> frozenset[str]:
        """The names that a module certainly has, without its submodules."""
        number = self.numbers.get(version)
        line = self._line("names", module)
        if number is None:
            return frozenset()
        return frozenset(key for key, runs in line.items() if key not in _MARKS and value_at(runs, number) is not None)

    def modules(self, version: Version) -> tuple[str, ...]:
        """The modules of a release, sorted. Loads every block of names."""
        number = self.numbers.get(version)
        if number is None:
            return ()
        found = (
            module
            for module, line in self._file.lines("names")
            if value_at(unpacked(line).get(EXISTS, ()), number) is not None
        )
        return tuple(sorted(found))

    def defined_in(self, name: str) -> tuple[str, ...]:
        """The modules that define a class or a function of this name in some release. Loads every block of them."""
        texts = (text for section in ("classes", "signatures") for text in self._file.texts(section))
        return tuple(dict.fromkeys(module for module, text in texts if runs_in(text, name) is not None))

    def origin(self, version: Version, module: str, name: str) -> tuple[str, str]:
        """Where a name is defined: the module and the name there, followed through re-exports of this package.

        An empty name stands for the module itself. What is not known to come from elsewhere is defined where it is
        asked for; the module may be one of another package.
        """
        number = self.numbers.get(version)
        for _ in range(_MOST_STEPS if number is not None else 0):
            found = self._value("names", module, name, number or 0)
            target = target_of(found, name) if isinstance(found, str) else None
            if target is None or target == (module, name):
                if found is None and self._exists(f"{module}.{name}", number or 0):
                    return f"{module}.{name}", ""
                break
            module, name = target
            if not name or module.partition(".")[0] not in self.imports:
                break
        return module, name

    def needs(self, version: Version, module: str, name: str | None = None) -> tuple[Need, ...]:
        """What of other packages has to be there for an import, followed through the modules that it executes.

        Args:
            version: of the package.
            module: that is imported, or imported from.
            name: what is imported from it; a lazy one executes the module behind it.

        Returns:
            Without what stands behind a condition or in a ``try``, in the order of the files.
        """
        return self.needs_of(version, ((module, name),))

    def needs_of(self, version: Version, imports: Iterable[Import]) -> tuple[Need, ...]:
        """What of other packages has to be there for several imports, as :meth:`needs` for each."""
        number = self.numbers.get(version)
        found = () if number is None else self._needs_in(1 << number, imports)
        return tuple(
            Need(need.module.partition(".")[0], need.module, need.name, need.file, need.line) for need in found
        )

    def symbols_in_turn(
        self, version: Version, groups: Iterable[tuple[Import, ...]]
    ) -> Iterator[tuple[tuple[Import, ...], tuple[Import, ...]]]:
        """What imports need of other packages that are executed one after another, without where it says so.

        Args:
            version: of the package.
            groups: of imports that are executed together.

        Yields:
            Each group with the needs of the modules that no group before it has executed.
        """
        number = self.numbers.get(version)
        if number is None:
            return
        executed: dict[str, int] = {}
        asked: dict[Import, int] = {}
        for imports in groups:
            before = frozenset(executed)
            self._execute(1 << number, imports, executed, asked)
            needed = (
                symbol_of(key)
                for module in sorted(executed.keys() - before)
                for group in self._imported(module)
                if group.needing >> number & 1
                for key in group.keys
            )
            yield imports, tuple(dict.fromkeys(needed))

    def needs_by_release(self, imports: Iterable[Import], among: Container[Import]) -> tuple[SpreadNeed, ...]:
        """Which of some names of other packages have to be there for some imports, in all releases at once.

        Returns:
            In the order in which :meth:`needs_of` has them in each release.
        """
        return tuple(self._needs_in(span(0, len(self.versions)), imports, among))

    def _needs_in(
        self, bits: int, imports: Iterable[Import], among: Container[Import] | None = None
    ) -> Iterator[SpreadNeed]:
        executed: dict[str, int] = {}
        self._execute(bits, imports, executed, {})
        for module in sorted(executed):
            for group in self._imported(module):
                here = group.needing & executed[module]
                symbols = [symbol_of(key) for key in group.keys] if here else []
                wanted = symbols if among is None else [symbol for symbol in symbols if symbol in among]
                if wanted:
                    newest = here.bit_length() - 1
                    file = file_of(module, str(self._value("names", module, EXISTS, newest) or ""))
                    line = max(int(value_at(group.runs, newest) or 0), 0)
                    yield from (SpreadNeed(*symbol, here, file, line) for symbol in wanted)

    def direct_needs(self) -> dict[tuple[str, str | None], frozenset[int]]:
        """What any module imports of other packages, and the numbers of the releases. Loads every block of needs."""
        found: dict[tuple[str, str | None], set[int]] = {}
        for _, line in self._file.lines("needs"):
            for key, runs in unpacked(line).items():
                module, _, name = key.partition(":")
                numbers = {number for number, where in values_of(runs, len(self.versions)).items() if where}
                if numbers:
                    found.setdefault((module, name or None), set()).update(numbers)
        return {symbol: frozenset(numbers) for symbol, numbers in found.items()}

    def signature(self, version: Version, qualified_name: str, beside: Beside | None = None) -> Signature | None:
        """How a function, a method or a constructor is called.

        Args:
            version: of the package.
            qualified_name: ``transformers.TrainingArguments``, ``transformers.Trainer.train``.
            beside: releases of other packages, for what a class inherits from them.

        Returns:
            None where it is not known: there is no such callable, or what it inherits from was not read.
        """
        key = (version, qualified_name, beside)
        if key not in self._signatures:
            self._signatures[key] = signature(self, version, qualified_name, partial(_beside, beside))
        return self._signatures[key]

    def model_keys(self, version: Version, qualified_name: str) -> ModelKeys | None:
        """The keys that a model of pydantic takes in a release.

        Args:
            version: of the package.
            qualified_name: of the class: ``axolotl.utils.schemas.config.AxolotlInputConfig``.

        Returns:
            None where they are not known: there is no such model, or it inherits from what was not read.
        """
        return model_keys(self, version, qualified_name)

    def keys_below(self, version: Version, module: str) -> frozenset[str] | None:
        """The keys that some model of the modules below one takes; None where one of them is not known."""
        found: set[str] = set()
        for below in self._file.modules("classes"):
            for name, text in self.facts(version, "classes", below).items() if below.startswith(f"{module}.") else ():
                if str(text).partition("\n")[0].removeprefix(INNER) != MODEL:
                    continue
                keys = self.model_keys(version, f"{below}.{name}")
                if keys is None:
                    return None
                found |= keys.fields | keys.read
        return frozenset(found)

    def renamed(self, version: Version, qualified_name: str, keyword: str) -> str | None:
        """The new name of a keyword that a release still accepts and warns of; empty where it does not say it."""
        found = self.signature(version, qualified_name)
        return None if found is None else found.renamed.get(keyword)

    def model(self, version: Version, name: str) -> ModelFacts | None:
        """What a model class does with a loss; None for what the package does not export, or takes no labels."""
        if version not in self.numbers:
            return None
        history = self.model_history(name)
        return next((facts for stretch, facts in history if stretch.first <= version <= stretch.last), None)

    def model_history(self, name: str) -> tuple[tuple[Stretch, ModelFacts], ...]:
        """The same for each stretch of releases in which it is the same, from low to high."""
        runs = next(filter(None, (self._runs("models", top, name) for top in self.imports)), ())
        return tuple(
            (self._stretch(start, end), parsed(str(text))) for start, end, text in stretches(runs, len(self.versions))
        )

    def fact(self, version: Version, section: str, module: str, key: str) -> Value | None:
        """One value of the table as it is stored."""
        number = self.numbers.get(version)
        return None if number is None else self._value(section, module, key, number)

    def facts(self, version: Version, section: str, module: str) -> Mapping[str, Value]:
        """What a section stores of a module."""
        number = self.numbers.get(version)
        line = self._line(section, module)
        if number is None:
            return {}
        return {key: value for key, runs in line.items() if (value := value_at(runs, number)) is not None}

    def changes(self, section: str, before: Version, after: Version) -> Iterator[tuple[str, str, Value, Value]]:
        """What a section says otherwise of a later release: module, key and both values. Loads every block of it.

        What only one of the two releases has is left out.
        """
        first, second = self.numbers.get(before), self.numbers.get(after)
        if first is None or second is None:
            return
        for module, line in self._file.lines(section):
            for key, runs in unpacked(line).items():
                old, new = value_at(runs, first), value_at(runs, second)
                if old is not None and new is not None and old != new:
                    yield module, key, old, new

    def _execute(self, bits: int, imports: Iterable[Import], seen: dict[str, int], asked: dict[Import, int]) -> None:
        """Follow imports in some releases, a bit for each.

        Args:
            bits: the releases.
            imports: that are executed in all of them.
            seen: the modules that are executed, and in which releases; extended.
            asked: every import on the way; extended.
        """
        waiting = [(target, wanted, bits) for target, wanted in imports]
        while waiting:
            target, wanted, here = waiting.pop()
            known = asked.get((target, wanted), 0)
            here &= ~known
            if not here or target.partition(".")[0] not in self.imports:
                continue
            asked[target, wanted] = known | here
            fresh = here & ~seen.get(target, 0)
            if fresh:
                seen[target] = seen.get(target, 0) | fresh
                if "." in target:
                    waiting.append((target.rpartition(".")[0], None, fresh))
                waiting += [
                    (edge, name, group.executing & fresh)
                    for group in self._imported(target)
                    if group.executing & fresh
                    for edge, name in map(symbol_of, group.keys)
                ]
            if wanted is not None and wanted != "*":
                waiting += self._behind(target, wanted, here)

    def _behind(self, module: str, name: str, bits: int) -> Iterator[tuple[str, str | None, int]]:
        """What else asking a module for a name imports: a submodule, or what is behind a lazy name."""
        left = bits
        for start, end, bound in stretches(self._runs("names", module, name), len(self.versions)):
            here = bits & span(start, end)
            behind = target_of(bound, name) if here and isinstance(bound, str) else None
            # A name that a module imports from itself is its submodule.
            if behind != (module, name):
                left &= ~here
                if behind is not None and isinstance(bound, str) and bound.startswith(LAZY):
                    yield behind[0], behind[1] or None, here
        if left:
            yield f"{module}.{name}", None, left

    def _imported(self, module: str) -> tuple[ImportGroup, ...]:
        """What a module imports."""
        if module not in self._imported_by:
            content = self._file.line("needs", module)
            self._imported_by[module] = () if content is None else tuple(import_groups(content, len(self.versions)))
        return self._imported_by[module]

    def _exists(self, module: str, number: int) -> bool:
        return self._value("names", module, EXISTS, number) is not None

    def _old_paths(self, module: str, number: int) -> Value | None:
        """How a release keeps paths alive that no file has; None if it does not."""
        return self._value("names", module.partition(".")[0], OLD_PATHS, number)

    def _missing(self, number: int, module: str) -> Presence:
        """Of a module without line: certainly absent, or not seen?"""
        parts = module.split(".")
        if number in self._built or self._skipped.intersection(parts[1:]):
            return Presence.UNKNOWN
        # What is below a module that is not Python is not seen.
        for length in range(1, len(parts)):
            above = ".".join(parts[:length])
            if self._exists(above, number) and self._value("names", above, OPEN, number) == COMPILED:
                return Presence.UNKNOWN
        return Presence.ABSENT

    def _value(self, section: str, module: str, key: str, number: int) -> Value | None:
        return value_at(self._runs(section, module, key), number)

    def _runs(self, section: str, module: str, key: str) -> Sequence[Run]:
        """The runs of one key; none where a section does not have it."""
        place = (section, module, key)
        if place not in self._known:
            self._known[place] = runs_in(self._file.text(section, module), key) or ()
        return self._known[place]

    def _line(self, section: str, module: str) -> Line:
        """Everything that a section says of a module."""
        found = self._file.line(section, module)
        return {} if found is None else unpacked(found)

    def _stretches(self, numbers: list[int]) -> tuple[Stretch, ...]:
        growing = Growing()
        for number in numbers:
            growing.add(number, 1)
        runs = growing.runs(len(self.versions)) if numbers else []
        return tuple(self._stretch(start, end) for start, end, _ in stretches(runs, len(self.versions)))

    def _stretch(self, start: int, end: int) -> Stretch:
        following = self.versions[end] if end < len(self.versions) else None
        return Stretch(self.versions[start], self.versions[end - 1], following)


# What a line says of where a name comes from: `>module` the same name there, `>module name` another one, `>module ` the
# module itself; the same with `~` where it is imported when it is asked for. Otherwise 1.
EAGER, LAZY = ">", "~"
# Values of EXISTS besides 0 (``a/b.py``) and 1 (``a/b/__init__.py``).
PLAIN, PACKAGE, NAMESPACE, BINARY, RAISES, INSTALLED = 0, 1, 2, 3, 4, 5
# In front of the kind of a class of which only the constructor is there.
INNER = "inner "
# The kind of a class that is a model of pydantic, or mixed into one.
MODEL = "model"
# Values of OLD_PATHS, of a module at the top: any path below it may be served by a finder, or some are put into
# `sys.modules`.
SERVED, PUT = 1, 2
# Value of OPEN where the module is not Python.
COMPILED = "compiled"
# Its value where the module has no file, and another one may put it into `sys.modules`.
INSTALLED_BY = "a module that another one installs"
ALWAYS = frozenset({"__name__", "__doc__", "__file__", "__spec__", "__dict__", "__loader__", "__package__"})
_MARKS = frozenset({EXISTS, OPEN, OLD_PATHS})
_PRESENT = Presence.PRESENT
# Endings of the names for which transformers 5, which keeps old paths, gives the class of another name
# (`_LazyModule.__getattr__`).
_SUCCEEDED = ("Tokenizer", "TokenizerFast", "ImageProcessorFast")


def file_of(module: str, kind: str) -> str:
    """The file of a module, as a wheel names it."""
    return module.replace(".", "/") + ("/__init__.py" if kind == str(PACKAGE) else ".py")


def tabled_packages() -> frozenset[str]:
    """The packages of which a table ships, by their normalised names."""
    return frozenset(_index())


def package_of(top: str) -> str | None:
    """The package of which a table ships that has a module at its top (``huggingface_hub``)."""
    return _tops().get(top)


def tops_of(package: str) -> tuple[str, ...]:
    """The modules at the top of a package of which a table ships; none of another one."""
    return tuple(_index().get(normalise(package), ()))


def table_of(package: str) -> ReleaseTable | None:
    """The table of a package; None where none ships. It is kept, as far as it was loaded.

    Raises:
        KnowledgeError: if the table cannot be read.
    """
    name = normalise(package)
    return _table(name) if name in _index() else None


def _beside(beside: Beside | None, top: str) -> tuple[ReleaseTable, Version] | None:
    """The table and the release of the package that has a module at its top."""
    package = package_of(top)
    version = None if package is None or beside is None else beside(package)
    table = None if package is None or version is None else table_of(package)
    return None if table is None or version is None else (table, version)


@lru_cache(maxsize=64)
def _table(name: str) -> ReleaseTable:
    return ReleaseTable(FOLDER / (name + SUFFIX))


@lru_cache(maxsize=1)
def _index() -> Mapping[str, list[str]]:
    """Package → its modules at the top."""
    try:
        with open(FOLDER / INDEX, "rb") as file:
            found: dict[str, list[str]] = json.load(file)
    except OSError:
        return {}
    return found


@lru_cache(maxsize=1)
def _tops() -> Mapping[str, str]:
    return {top: package for package, tops in _index().items() for top in tops}


def target_of(value: str, name: str) -> tuple[str, str] | None:
    """Where a name comes from, by what a line says of it: a module and the name there; None if it is its own."""
    if value[:1] not in (EAGER, LAZY):
        return None
    module, space, other = value[1:].partition(" ")
    return (module, other) if space else (module, name)
