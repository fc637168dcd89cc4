"""Reads the authored YAML into checked records, with the line that each begins on and every problem there is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from gradcompat.errors import KnowledgeError, Malformed
from gradcompat.files.regular_files import read_regular
from gradcompat.formats.yaml_nodes import Mapping, Node, Scalar, Sequence
from gradcompat.formats.yaml_text import parse
from gradcompat.knowledge.schema import ClassFact, Horizon, Knowledge, PackageFacts, Record
from gradcompat.quotation import parser_reason, quoted
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES

MAX_NODES = 1_000_000  # a short file could ask for billions

_QUOTED = lazy_pattern(r"`([^`]*)`")
# What may be quoted, since it is ours: keys, fields, operators and the words that a field takes.
_WORDS = frozenset({*KEYS, *VIRTUAL_PACKAGES.values(), *Record.model_fields, ">=", "<=", "==", "reported", "measured"})

Plain = None | bool | int | float | str | list[Any] | dict[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong with the knowledge: where, and what."""

    path: str
    line: int | None
    record: str | None
    message: str

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"`{place}`: {self.message}" if self.record is None else f"`{place}`: {self.record}: {self.message}"


@dataclass(frozen=True, slots=True)
class Authored:
    """A file of records that passed the schema, and the problems of those that did not."""

    path: str
    date: str
    packages: dict[str, PackageFacts]
    horizon: dict[str, Horizon]
    records: tuple[Record, ...]
    lines: dict[str, int]
    problems: tuple[Problem, ...]
    models: tuple[ClassFact, ...] = ()

    def problem(self, record: str, message: str) -> Problem:
        return Problem(self.path, self.lines.get(record), record, message)


def records_file() -> Path:
    """The file of the records that ship: in the package, or in the checkout of an editable install."""
    packaged = Path(__file__).with_name("issues.yaml")
    return packaged if os.path.isfile(packaged) else Path(__file__).parents[2] / "knowledge" / "issues.yaml"


def read(path: Path) -> Authored:
    """Read a file of records.

    Raises:
        KnowledgeError: if the file as a whole cannot be read. What is wrong with a record is a value of the result.
    """
    shown = path.as_posix()
    try:
        text = read_regular(path).decode("utf-8")
    except OSError as error:
        raise KnowledgeError(f"cannot be read: {error.strerror}", path=shown) from None
    except UnicodeDecodeError:
        raise KnowledgeError("is not UTF-8 text", path=shown) from None
    return read_text(text, shown)


def read_text(text: str, shown: str) -> Authored:
    """Read the text of a file of records, which messages call as shown.

    Raises:
        KnowledgeError: as :func:`read`.
    """
    try:
        documents = parse(text, shown)
    except Malformed as error:
        raise KnowledgeError(error.message, path=shown, line=error.line) from None
    if len(documents) != 1 or not isinstance(documents[0], Mapping):
        raise KnowledgeError("is not one mapping with `date`, `packages` and `issues`", path=shown)
    top = documents[0]
    if _expanded(top) > MAX_NODES:
        raise KnowledgeError("expands to too much through its aliases", path=shown)
    problems = [Problem(shown, key.line, None, f"{_key(key.text)} appears twice") for key in _duplicates(top)]
    issues = top.entries.get("issues")
    nodes = issues.items if isinstance(issues, Sequence) else []
    if not isinstance(issues, Sequence):
        problems.append(Problem(shown, top.line if issues is None else issues.line, None, "issues: is not a list"))
    head = {key: plain(node) for key, node in top.entries.items() if key != "issues"}
    try:
        whole = Knowledge.model_validate({**head, "issues": []})
    except ValidationError as error:
        problems += [Problem(shown, top.line, None, message) for message in messages(error, values=False)]
        whole = Knowledge(date="1970-01-01", issues=[])
    records: list[Record] = []
    lines: dict[str, int] = {}
    for node in nodes:
        content = plain(node)
        found = content.get("id") if isinstance(content, dict) else None
        name = None if found is None else quoted(str(found), "a record")
        try:
            record = Record.model_validate(content)
        except ValidationError as error:
            problems += [Problem(shown, node.line, name, message) for message in messages(error, values=False)]
            continue
        if record.id in lines:
            problems.append(Problem(shown, node.line, record.id, f"the id is taken on line {lines[record.id]}"))
            continue
        lines[record.id] = node.line
        records.append(record)
    return Authored(
        path=shown,
        date=whole.date,
        packages=whole.packages,
        horizon=whole.horizon,
        records=tuple(records),
        lines=lines,
        problems=tuple(problems),
        models=tuple(whole.models),
    )


def plain(node: Node) -> Plain:
    """The node as lists, dictionaries and values. Aliases are expanded: :func:`read_text` counts before."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Mapping):
        return {key: plain(value) for key, value in node.entries.items()}
    return [plain(item) for item in node.items]


def _expanded(top: Node) -> int:
    """How many nodes there are when every alias is the whole of what it names; each node is counted once for that."""
    counts: dict[int, int] = {}

    def count(node: Node) -> int:
        if isinstance(node, Scalar):
            return 1
        if id(node) not in counts:
            inside = node.entries.values() if isinstance(node, Mapping) else node.items
            counts[id(node)] = 1 + sum(map(count, inside))
        return counts[id(node)]

    return count(top)


def _duplicates(node: Node) -> list[Scalar]:
    if isinstance(node, Scalar):
        return []
    if isinstance(node, Mapping):
        return node.duplicates + [key for value in node.entries.values() for key in _duplicates(value)]
    return [key for item in node.items for key in _duplicates(item)]


def _key(text: str) -> str:
    name = quoted(text, "")
    return f"the key `{name}`" if name else "a key"


def messages(error: ValidationError, *, values: bool = True) -> list[str]:
    """A sentence for each thing that the schema has against something, behind its place.

    Args:
        error: what it has.
        values: quote the values that it stops at; not those of a file, which may be somebody else's.
    """
    return [
        f"{'.'.join(quoted(str(part), 'a key') for part in problem['loc']) or 'record'}: "
        f"{_said(problem['msg'].removeprefix('Value error, '), problem['type'], values=values)}"
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _said(message: str, kind: str, *, values: bool) -> str:
    """A sentence of the schema, with the values in it or without them."""
    if values:
        return message
    if kind == "union_tag_invalid":
        return "Input has a tag that is none of the expected ones"
    if kind != "value_error":
        return message  # pydantic says what it expects
    if "is not normalised" in message:
        return _QUOTED.sub(lambda match: f"`{quoted(match[1], '…')}`", message)  # keys, which are names
    return _QUOTED.sub(_without_value, parser_reason(message) if "`" not in message else message)


def _without_value(match: re.Match[str]) -> str:
    key, _, value = match[1].partition(": ")
    if match[1] in _WORDS or key == "virtual":
        return match[0]
    return f"`{key}: …`" if value and key in _WORDS else "`…`"
