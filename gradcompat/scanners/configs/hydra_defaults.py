"""The defaults list of a Hydra config, resolved into the files that make it up, in the order in which they are merged.

This follows Hydra 1.3, which the tests ask: lists are read from their end, so that a later `override` comes before an
earlier one; the outer file overrides what the inner one chooses; a choice that names another choice waits until that is
known. What surprises: a package in a `group@package` is below the package of the file with the list, one in a
`# @package` header is not.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gradcompat.errors import Malformed, SourceError, TooComplex
from gradcompat.formats import yaml_nodes
from gradcompat.quotation import reference
from gradcompat.redaction import redact
from gradcompat.startup.lazy_dataclasses import dataclass, field, replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_DEEPEST = 20  # files that a file is below
MOST_FILES = 300  # of one config
MOST_CHOICES = 2000  # in all of their lists
_LONGEST = 200  # characters of a name
_GLOBAL = "_global_"
_CHOICE = lazy_pattern(r"\$\{([\w/@-]+)\}")
_HEADER = lazy_pattern(r"\s*#\s*@package\s+(\S+)\s*")


@dataclass(frozen=True, slots=True)
class File:
    """A file of the composition.

    Attributes:
        shown: how it is called.
        content: its mapping.
        header: the package that its first lines name, if they name one.
    """

    shown: str
    content: yaml_nodes.Mapping
    header: str | None


@dataclass(frozen=True, slots=True)
class Part:
    """A file that is merged, below a package (``model.optimizer``, or nothing for the top)."""

    file: File
    package: str


@dataclass(frozen=True, slots=True)
class Open:
    """Something is merged here, and nobody can see what: what was said before, below that package, may not hold."""

    what: str
    reason: str
    package: str
    group: str
    shown: str
    line: int | None


# The file at a path below the folder of configs, without its ending; None if there is none.
Load = Callable[[str], File | None]


@dataclass(frozen=True, slots=True)
class Choices:
    """What a command line chooses.

    Attributes:
        options: the options of groups, by ``group`` or ``group@package``; None where nobody knows which.
        added: those that are added to the list.
        deleted: groups that are left out.
    """

    options: Mapping[str, str | None] = field(default_factory=dict)
    added: Sequence[tuple[str, str | None]] = ()
    deleted: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Default:
    """One line of a defaults list; ``group`` is None for a mere name."""

    group: str | None
    value: str | tuple[str, ...] | None
    package: str | None
    line: int | None
    optional: bool = False
    override: bool = False
    unknown: bool = False
    parent_dir: str = ""
    parent_package: str = ""
    header: str | None = None

    @property
    def is_self(self) -> bool:
        return self.group is None and self.value == "_self_"

    @property
    def named(self) -> str:
        """The group, or the path of a mere name, as it is written, without a slash before it."""
        return (self.group if self.group is not None else str(self.value)).removeprefix("/")

    @property
    def relative_group(self) -> str:
        return self.named if self.group is not None else self.named.rpartition("/")[0]

    @property
    def group_path(self) -> str:
        absolute = (self.group if self.group is not None else str(self.value)).startswith("/")
        parts = [] if absolute else [self.parent_dir]
        return "/".join(part for part in (*parts, self.relative_group) if part)

    @property
    def path(self) -> str:
        """The path of the file below the folder of configs."""
        name = str(self.value) if self.group is not None else self.named.rpartition("/")[2]
        return f"{self.group_path}/{name}" if self.group_path else name

    def belongs(self, folder: str, package: str) -> None:
        """To the file with the list."""
        self.parent_dir, self.parent_package = folder, package
        if self.package is not None and "_group_" in self.package:
            self.package = f"{_GLOBAL}.{self.package.replace('_group_', self.group_path.replace('/', '.'))}"

    def final_package(self, *, header: bool = True) -> str:
        package = self.header if self.package is None and header else self.package
        if package is None:
            package = self.relative_group.replace("/", ".")
        if "_name_" in package and isinstance(self.value, str):
            package = package.replace("_name_", self.value.rpartition("/")[2])
        whole = ".".join(part for part in (self.parent_package, package) if part)
        last = whole.rfind(_GLOBAL)
        return whole if last < 0 else whole[last + len(_GLOBAL) + 1 :]

    @property
    def key(self) -> str:
        """By what a command line or an `override` calls the choice."""
        package = self.final_package(header=False)
        if package == self.group_path.replace("/", "."):
            return self.group_path
        return f"{self.group_path}@{package or _GLOBAL}"


def header_of(text: str) -> str | None:
    """The package in the first lines of a file."""
    for line in text[:512].splitlines():
        if match := _HEADER.fullmatch(line):
            return match[1]
        if line.strip() and not re.match(r"\s*#\s*@", line):
            break
    return None


class Composition:
    """The files of one primary config.

    Attributes:
        parts: what is merged, in this order.
        groups: the paths of the groups of which something is chosen.
    """

    def __init__(self, name: str, load: Load, choices: Choices) -> None:
        """Resolve the list of the config of that name.

        Raises:
            Malformed: if it contains itself, or is larger than any config.
        """
        self._load = load
        self._loaded: dict[str, File | SourceError | None] = {}
        self._choices = 0
        self._overridden: dict[str, _Default | None] = {}
        self._options = dict(choices.options)
        self._deleted = choices.deleted
        self._added = choices.added
        self._known: dict[str, str | None] = {}
        self.groups: set[str] = set()
        primary = _Default(None, name, None, None)
        self.parts: tuple[Part | Open, ...] = tuple(self._expanded(primary, "", ()))

    @property
    def files(self) -> tuple[File, ...]:
        """The files that were read."""
        return tuple(file for file in self._loaded.values() if isinstance(file, File))

    def _expanded(self, default: _Default, shown: str, above: tuple[str, ...]) -> list[Part | Open]:
        """The parts that one line of a list stands for."""
        path = posixpath.normpath(default.path)
        self._choices += 1
        if self._choices > MOST_CHOICES:
            raise TooComplex(f"is composed of more than {MOST_CHOICES} choices", path=shown, line=default.line)
        if default.group is not None:
            self.groups.add(default.group_path)
            if default.key in self._deleted:
                return []
            if not default.unknown and not isinstance(default.value, tuple):
                self._known.setdefault(default.key, default.value)
        if default.unknown:
            return [self._open(default, shown, "nobody knows which is chosen")]
        if default.value is None:
            return []
        if default.value == "???":
            return [self._open(default, shown, "has to be chosen on the command line")]
        file = self._file(path, shown, default.line)
        if isinstance(file, SourceError):
            if not above:
                raise file
            return [self._open(default, shown, file.message)]
        if file is None:
            return [] if default.optional else [self._open(default, shown, "there is no such file")]
        if path in above:
            raise Malformed(f"`{reference(path)}` is composed of itself", path=file.shown, line=1)
        if len(above) >= _DEEPEST:
            raise TooComplex(f"composed more than {_DEEPEST} levels deep", path=file.shown, line=1)
        header = file.header
        if header is not None and header != "_group_":
            default.header = header if header == _GLOBAL or header.startswith(f"{_GLOBAL}.") else f"{_GLOBAL}.{header}"
        here = Part(file, default.final_package())
        children = self._list(file, default, first=not above)
        if not children:
            return [here]
        self._register(children)
        found: list[list[Part | Open]] = []
        waiting: list[tuple[int, _Default]] = []
        for child in reversed(children):
            if child.is_self:
                found.append([here])
            elif not child.override:
                self._choose(child)
                for alternative in reversed(self._alternatives(child)):
                    if isinstance(alternative.value, str) and "${" in alternative.value:
                        waiting.append((len(found), alternative))
                        found.append([])
                    else:
                        found.append(self._expanded(alternative, file.shown, (*above, path)))
        for index, child in waiting:
            found[index] = self._expanded(self._interpolated(child), file.shown, (*above, path))
        if all(child.override for child in children):
            found.append([here])
        return [part for parts in reversed(found) for part in parts]

    def _list(self, file: File, parent: _Default, *, first: bool) -> list[_Default]:
        """The lines of a file's list, with `_self_` where it is meant."""
        node = file.content.entries.get("defaults")
        children = list(_read(node, file.shown)) if isinstance(node, yaml_nodes.Sequence) else []
        added = self._added if first else ()
        # Without `_self_` the file itself comes last.
        overriding = bool(children) and all(child.override for child in children)
        if (children or added) and not overriding and not any(child.is_self for child in children):
            children.append(_Default(None, "_self_", None, None))
        for key, option in added:
            group, _, package = key.partition("@")
            children.append(_Default(group, option, package or None, None, unknown=option is None))
        for child in children:
            if not child.is_self:
                child.belongs(parent.group_path, parent.final_package())
        return [child for child in children if not _of_hydra(child)]

    def _register(self, children: list[_Default]) -> None:
        """The overrides of a list; what was said before, further out or on the command line, stands."""
        for child in children:
            if child.override and child.key not in self._options:
                self._overridden.setdefault(child.key, child)

    def _choose(self, child: _Default) -> None:
        """The option that somebody else has chosen for this group."""
        if child.group is None:
            return
        key = child.key
        if key in self._options:
            child.value = self._options[key]
            child.unknown = child.value is None
        elif (other := self._overridden.get(key)) is not None:
            child.value = other.value

    def _alternatives(self, child: _Default) -> list[_Default]:
        """A line for each option of a list of options."""
        if not isinstance(child.value, tuple):
            return [child]
        self.groups.add(child.group_path)
        return [replace(child, group=None, value=f"{child.group}/{option}") for option in child.value]

    def _interpolated(self, child: _Default) -> _Default:
        value = str(child.value)
        for name in _CHOICE.findall(value):
            known = self._known.get(name)
            if isinstance(known, str):
                value = value.replace(f"${{{name}}}", known)
        return replace(child, value=value, unknown="${" in value)

    def _file(self, path: str, shown: str, line: int | None) -> File | SourceError | None:
        if path.startswith(("..", "/")) or len(path) > _LONGEST:
            return None
        if path not in self._loaded:
            if len(self._loaded) >= MOST_FILES:
                raise TooComplex(f"is composed of more than {MOST_FILES} files", path=shown, line=line)
            try:
                self._loaded[path] = self._load(path)
            except SourceError as error:
                self._loaded[path] = error
        return self._loaded[path]

    def _open(self, default: _Default, shown: str, reason: str) -> Open:
        value = str(default.value)
        value = value if value == "???" else reference(value, "a choice")
        what = value if default.group is None else f"{reference(default.group, 'a group')}: {value}"
        return Open(what, reason, default.final_package(), default.group_path, shown, default.line)


def _of_hydra(child: _Default) -> bool:
    """Whether it is of Hydra's own groups (launchers, logging), which say nothing of a training."""
    return child.group_path == "hydra" or child.group_path.startswith("hydra/")


def _read(listed: yaml_nodes.Sequence, shown: str) -> Iterator[_Default]:
    for item in listed.items:
        if isinstance(item, yaml_nodes.Scalar) and item.value is not None:
            # What is hidden is found in the whole address alone.
            path, _, package = redact(item.text).partition("@")
            yield _Default(None, path, _package(package), item.line, unknown="${" in path and not _CHOICE.search(path))
        elif isinstance(item, yaml_nodes.Mapping) and len(item.entries) == 1:
            ((key, node),) = item.entries.items()
            key = redact(key)
            words = key.partition("@")[0].split()
            default = _Default(words[-1] if words else "", None, _package(key.partition("@")[2]), item.line)
            default.optional, default.override = "optional" in words[:-1], "override" in words[:-1]
            if isinstance(node, yaml_nodes.Sequence):
                default.value = tuple(item.text for item in node.items if isinstance(item, yaml_nodes.Scalar))
            elif isinstance(node, yaml_nodes.Scalar):
                default.value = None if node.value is None else node.text
            else:
                raise Malformed("a choice that is no name", path=shown, line=item.line)
            if not default.named:
                raise Malformed("a choice without a group", path=shown, line=item.line)
            yield default
        else:
            raise Malformed("`defaults` has a line that is neither a name nor a choice", path=shown, line=item.line)


def _package(text: str) -> str | None:
    """The package behind an `@`; what is behind a colon renames it, which Hydra no longer does."""
    text = text.partition(":")[0]
    return "" if text == "_here_" else text or None
