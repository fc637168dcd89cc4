"""A Hydra config as the program gets it: the files that it is composed of, merged, and what a command line changes.

Where something cannot be seen (a group whose choice nobody knows, a file of another package), what was said before it
may be overridden: those values are open. What comes later stands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from gradcompat.errors import Malformed, OutsideRoot, SourceError
from gradcompat.formats import yaml_nodes, yaml_text
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Override
from gradcompat.model.environment import Location, Skipped
from gradcompat.quotation import quoted
from gradcompat.scanners.configs.hydra_defaults import Choices, Composition, File, Load, Open, header_of
from gradcompat.scanners.configs.hydra_merge import Merged, nothing
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_LARGEST = 256 * 1024  # characters of a file; more is data
_MOST_OPTIONS = 100  # files of a group that are looked at
_NAME = lazy_pattern(r"([+~]{0,2})([\w/.@:-]+)")
_KEYS = lazy_pattern(r"\w[\w-]*(?:\.[\w-]+)*")
# A value of several runs (`1,2`, `choice(1,2)`), or one that Hydra computes.
_SWEEP = lazy_pattern(r"[^'\"\[{]*(?:,|\w\()")
_WORDS = frozenset({"yes", "no", "on", "off"})  # which are no booleans for Hydra
_UNKNOWN = "${}"


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of configs: its files, which of its folders are groups, and whose files may go to other packages."""

    load: Load
    is_group: Callable[[str], bool]
    has_headers: Callable[[str], bool]


@dataclass(slots=True)
class Composite:
    """What came of it.

    Attributes:
        merged: the values.
        read: the files that were read.
        groups: the groups of which something is chosen, as paths below the folder of configs.
        opened: after which part the values below which package are no longer certain.
        skipped: what could not be seen.
        spellings: how values of the command line are written, by the identity of their nodes.
    """

    merged: Merged
    read: tuple[File, ...] = ()
    groups: frozenset[str] = frozenset()
    opened: list[tuple[int, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    spellings: dict[int, str] = field(default_factory=dict)

    def is_open(self, part: int, keys: tuple[str, ...]) -> bool:
        """Whether something that nobody sees may override a value that came with this part."""
        name = ".".join(keys)
        return any(
            part < number and (not package or f"{name}.".startswith(f"{package}.")) for number, package in self.opened
        )


def alone(content: yaml_nodes.Mapping, path: str) -> Composite:
    """A file by itself."""
    composed = Composite(nothing())
    composed.merged.add(content, "", path, 0)
    return composed


def compose(name: str, folder: Folder, overrides: Sequence[Override]) -> Composite:
    """The config of that name.

    Raises:
        Malformed: if it is composed of itself, or of more than anybody writes.
    """
    choices, values = _sorted(folder, overrides)
    composition = Composition(name, folder.load, choices)
    composed = Composite(nothing(), composition.files, frozenset(composition.groups))
    groups = {part.group for part in composition.parts if isinstance(part, Open) and part.group}
    headed = {group for group in groups if folder.has_headers(group)}
    for number, part in enumerate(composition.parts, 1):
        if isinstance(part, Open):
            everywhere = part.group in headed
            composed.opened.append((number, "" if everywhere else part.package))
            location = Location(path=part.shown, line=part.line)
            composed.skipped.append(Skipped(what=part.what, reason=part.reason, location=location))
        else:
            composed.merged.add(part.file.content, part.package, part.file.shown, number)
    for number, override in enumerate(values, len(composition.parts) + 1):
        _override(composed, override, number)
    return composed


def beside(document: Document, content: yaml_nodes.Mapping) -> Folder:
    """The folder that a config lies in; its own content is known already.

    Raises:
        Malformed: if the config has no folder.
    """
    if document.file is None:
        raise Malformed("has no folder with the files that it is composed of", path=document.path)
    root = document.file.parent
    here = PurePosixPath(document.path).parent

    def load(path: str) -> File | None:
        name = path if path.endswith((".yaml", ".yml")) else f"{path}.yaml"
        shown = (here / name).as_posix()
        if name == PurePosixPath(document.path).name:
            return File(document.path, content, header_of(document.text))
        if (objection := document.leads_outside(root / name)) is not None:
            raise OutsideRoot(objection, path=shown)
        if not os.path.isfile(root / name):
            return None
        text = read_document(root / name, shown).text
        return File(shown, _content(text, shown), header_of(text))

    def is_group(path: str) -> bool:
        return _inside(path) and document.leads_outside(root / path) is None and os.path.isdir(root / path)

    def has_headers(path: str) -> bool:
        if not is_group(path):
            return False
        files = sorted((root / path).glob("*.yaml"))
        return len(files) > _MOST_OPTIONS or any(_header(file, document) is not None for file in files)

    return Folder(load, is_group, has_headers)


def _inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and ".." not in parts and not path.startswith("/")


def _header(file: Path, document: Document) -> str | None:
    if document.leads_outside(file) is not None:
        return "unknown"
    try:
        return header_of(read_document(file).text)
    except SourceError:
        return "unknown"


def _content(text: str, shown: str) -> yaml_nodes.Mapping:
    """The mapping of a file, which may be empty.

    Raises:
        Malformed: if there is something else.
    """
    if len(text) > _LARGEST:
        raise Malformed(f"is larger than {_LARGEST // 1024} KiB, which is too large for a config", path=shown)
    documents = yaml_text.parse(text, shown)
    if not documents or (isinstance(documents[0], yaml_nodes.Scalar) and documents[0].value is None):
        return yaml_nodes.Mapping({}, 1, 1)
    if len(documents) != 1 or not isinstance(documents[0], yaml_nodes.Mapping):
        raise Malformed("has no `key: value` lines at its top", path=shown)
    return documents[0]


def _sorted(folder: Folder, overrides: Sequence[Override]) -> tuple[Choices, list[Override]]:
    """What is chosen of groups, and the values that are set."""
    options: dict[str, str | None] = {}
    added: list[tuple[str, str | None]] = []
    deleted: set[str] = set()
    values: list[Override] = []
    for override in overrides:
        match = _NAME.fullmatch(override.name)
        if match is None or not folder.is_group(match[2].partition("@")[0]) or (override.value or "").startswith("{"):
            values.append(override)
            continue
        value = None if override.value is None else override.value.strip("'\"")
        option = None if value is None or _SWEEP.match(value) or value.startswith("[") else value
        if match[1] == "~":
            deleted.add(match[2])
        elif match[1]:
            added.append((match[2], option))
        else:
            options[match[2]] = option
    return Choices(options, added, frozenset(deleted)), values


def _override(composed: Composite, override: Override, number: int) -> None:
    """Set or remove one value."""
    match = _NAME.fullmatch(override.name)
    if match is None or not _KEYS.fullmatch(match[2]):
        reason = "names no value that gradcompat understands"
        what = quoted(override.name.lstrip("+~"), "an override")
        composed.skipped.append(Skipped(what=what, reason=reason, location=override.location))
        return
    keys = match[2].split(".")
    if keys[0] == "hydra":
        return
    if match[1] == "~":
        composed.merged.remove(keys)
        return
    node = _node(override)
    composed.merged.put(keys, node, override.location.path, number)
    composed.spellings[id(node)] = f"{override.name}={{}}"


def _node(override: Override) -> yaml_nodes.Node:
    """The value of a command line."""
    line, column = override.location.line or 1, override.location.column or 1
    value = override.value
    if value is None or _SWEEP.match(value) or value.startswith("{"):
        return yaml_nodes.Scalar(_UNKNOWN, True, line, column)
    if value.startswith("["):
        items = [part.strip(" '\"") for part in value.strip("[]").split(",") if part.strip()]
        if "[" in value[1:] or "{" in value:
            return yaml_nodes.Scalar(_UNKNOWN, True, line, column)
        return yaml_nodes.Sequence([yaml_nodes.Scalar(item, True, line, column) for item in items], line, column)
    quoted = value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1
    text = value[1:-1] if quoted else value
    return yaml_nodes.Scalar(text, not quoted and text.lower() not in _WORDS, line, column)
