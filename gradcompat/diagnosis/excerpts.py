"""Pieces of a log that are texts of another kind: command lines, printed arguments, printed configs.

They are cut out here, with the line of each of their lines, and read by whoever reads such files. A piece that does
not end, or is too long, is no piece.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Literal

from gradcompat.diagnosis.literals import literal
from gradcompat.startup.lazy_patterns import lazy_pattern

Kind = Literal["command", "arguments", "deepspeed", "axolotl", "torchtune", "model"]

MOST_EXCERPTS = 64
_MOST_LINES = 1_500
_LONGEST = 200_000  # characters
_LONGEST_HEAD = 1_000
_LONGEST_TOGETHER = 500_000
_MOST_STRANGE = 20

_OPTION = lazy_pattern(r"(?<!\S)--?[A-Za-z]")
_PLACES = lazy_pattern(r"[$<{}]|\.\.\.|…")
_LEAST_OPTIONS = 3
# A shell that traces what it runs (`set -x`), or a prompt; and what a line that starts a training begins with.
_TRACED = lazy_pattern(r"(\+{1,5} |(?:\([\w.-]+\) )?(?:[\w.-]+@[\w.-]+[:~ ][^\s#$%]*[$#%]|\$) )\s{0,4}(?=\S)")
_STARTS = lazy_pattern(
    r"(?:[A-Z_][A-Z0-9_]*=\S* )*(?:(?:nohup|srun|env|time|uv run|poetry run)(?: -\S+| [^\s=-][^\s=]*=\S*)* )?(?:\S*/)?"
    r"(?:accelerate launch|accelerate-launch|torchrun|deepspeed|llamafactory-cli train|axolotl train|tune run"
    r"|swift (?:sft|pt|rlhf)|trl [a-z]{2,12}|xtuner train|python[\d.]{0,5})\s+(?=\S)"
)
_SCRIPT = lazy_pattern(r"(?<!\S)(?:\S*\.py|-m [\w.]+|\S+\.ya?ml)(?=\s|$)|(?:cli|axolotl|swift|trl|xtuner|tune) \S")
_RANK = lazy_pattern(r"--(?:local[_-]rank|node[_-]rank|machine[_-]rank)[= ]\d+")
_LISTED = lazy_pattern(r".{0,300}(?:spawned with command: |Command ')(\[['\"].*['\"]\])(?:' returned non-zero.*)?")

_PRINTED = lazy_pattern(
    r"(?:.{0,200}(?:[\w\]] ?[:-] {0,4}|(?:parameters|arguments|args):? {1,4}))?"
    r"([A-Z]\w{0,40}Arguments|(?:SFT|DPO|GRPO|KTO|ORPO|CPO|Reward|RLOO|PPO|Model|Script)Config|LoraConfig|Namespace)"
    r"\((?:$|(?=\w+=))"
)
_CLASS = lazy_pattern(r"(?:Arguments|Config|Namespace)\(")
_ARGUMENT = lazy_pattern(r"\s{0,100}\w{1,80}=")

_JSON: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (lazy_pattern(r".*\[INFO\] \[config\.py:\d+:print(?:_user_config)?\]\s+json = \{"), "deepspeed"),
    (lazy_pattern(r"(?:.*[\s\]])?Model config [A-Z]\w{1,60}Config \{"), "model"),
)
_BELOW: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (lazy_pattern(r".*\[axolotl\.\S+\].*\bconfig:"), "axolotl"),
    (lazy_pattern(r".*\btorchtune\..*with resolved config:"), "torchtune"),
)
_YAML = lazy_pattern(r"\s*(?:[\w.-]+:(?: .*)?|- .*)")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of a log.

    Attributes:
        kind: what it is; ``model`` and the names of tools are configs.
        name: the class, for printed arguments.
        lines: its lines with their numbers in the log, without what stands before it in the first.
    """

    kind: Kind
    name: str
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.lines)


@dataclass(slots=True)
class _Open:
    """A piece that has begun."""

    kind: Kind
    name: str
    lines: list[tuple[int, str]]
    length: int = 0
    depth: int = 0  # of brackets
    strange: int = 0  # lines that followed each other and belong to something else


@dataclass(slots=True)
class Excerpts:
    """The pieces of one log, each text once: every process of a run prints the same."""

    found: list[Excerpt] = field(default_factory=list)
    cut: bool = False
    _known: set[int] = field(default_factory=set)
    _together: int = 0
    _begun: _Open | None = None

    @property
    def open(self) -> bool:
        """Does a piece go on in the next line?"""
        return self._begun is not None

    @property
    def kind(self) -> Kind | None:
        """The kind of the piece that goes on."""
        return None if self._begun is None else self._begun.kind

    def see(self, number: int, text: str) -> bool:
        """Take the line if it begins a piece or belongs to one; lines have to come in order, each while ``open``."""
        if len(text) > _LONGEST:
            self._begun = None
            return False
        if self._begun is not None:
            return self._goes_on(self._begun, number, text)
        return self._command(number, text) or self._begins(number, text)

    def _command(self, number: int, text: str) -> bool:
        if "ommand" in text and (listed := _LISTED.fullmatch(text)):
            words = _words(listed[1])
            if words is not None:
                self._add("command", "", [(number, shlex.join(words))])
            return words is not None
        traced = _TRACED.match(text)
        command = text[traced.end() :] if traced else text
        start = _STARTS.match(command)
        if start is None:
            return False
        begun = _Open("command", "traced" if traced else "", [])
        return self._continued(begun, number, command)

    def _continued(self, begun: _Open, number: int, text: str) -> bool:
        begun.lines.append((number, text))
        if text.endswith("\\"):
            return self._keep_open(begun, len(text))
        self._begun = None
        whole = " ".join(line.removesuffix("\\") for _, line in begun.lines)
        # A sentence may begin with the name of a launcher; it names no script, and ends with a full stop.
        known = _SCRIPT.search(whole) is not None and not whole.rstrip().endswith((".", ":", "?"))
        options = len(_OPTION.findall(whole))
        # What nothing marks as run may be advice: that has few options, or leaves places to fill in.
        if known and (options >= 1 if begun.name else options >= _LEAST_OPTIONS and not _PLACES.search(whole)):
            self._add("command", "", begun.lines)
        return True

    def _begins(self, number: int, text: str) -> bool:
        if "(" in text and _CLASS.search(text) and (printed := _PRINTED.match(text)):
            begun = _Open("arguments", printed[1], [], 0, 1)
            rest = text[printed.end() :]
            return self._argued(begun, number, rest) if rest else self._keep_open(begun, 0)
        if text.endswith("{") and len(text) <= _LONGEST_HEAD:
            for pattern, kind in _JSON:
                if pattern.fullmatch(text):
                    return self._keep_open(_Open(kind, "", [(number, "{")], 0, 1), 1)
        if text.endswith("config:") and len(text) <= _LONGEST_HEAD:
            for pattern, kind in _BELOW:
                if pattern.fullmatch(text):
                    return self._keep_open(_Open(kind, "", []), 0)
        return False

    def _goes_on(self, begun: _Open, number: int, text: str) -> bool:
        match begun.kind:
            case "command":
                return self._continued(begun, number, text)
            case "arguments":
                return self._argued(begun, number, text)
            case "torchtune":
                return self._in_yaml(begun, number, text)
            case _:
                return self._in_json(begun, number, text)

    def _argued(self, begun: _Open, number: int, text: str) -> bool:
        """A line of printed arguments: one argument, or what is left of all of them in one line."""
        if not begun.lines and begun.length == 0 and text.rstrip().endswith(")") and "=" in text:
            self._begun = None
            self._add("arguments", begun.name, [(number, text.rstrip()[:-1])])
            return True
        if text.strip() == ")":
            self._begun = None
            self._add("arguments", begun.name, begun.lines)
            return True
        if _ARGUMENT.match(text):
            begun.lines.append((number, text))
            begun.strange = 0
            return self._keep_open(begun, len(text) + 1)
        # Other processes print in between: what is no argument is none of this piece.
        begun.strange += 1
        self._keep_open(begun, 1)
        if begun.strange > _MOST_STRANGE:
            self._begun = None
        return False

    def _in_json(self, begun: _Open, number: int, text: str) -> bool:
        if begun.depth == 0 and text.strip() != "{":
            self._begun = None
            return False
        begun.lines.append((number, text))
        begun.depth += _depth(text)
        if begun.depth > 0:
            return self._keep_open(begun, len(text) + 1)
        self._begun = None
        self._add(begun.kind, "", begun.lines)
        return True

    def _in_yaml(self, begun: _Open, number: int, text: str) -> bool:
        if _YAML.fullmatch(text):
            begun.lines.append((number, text))
            return self._keep_open(begun, len(text) + 1)
        if not text.strip() and not begun.lines:
            return self._keep_open(begun, 1)
        self._begun = None
        if begun.lines:
            self._add("torchtune", "", begun.lines)
        return not text.strip()

    def _keep_open(self, begun: _Open, length: int) -> bool:
        begun.length += length
        small = begun.length <= _LONGEST and len(begun.lines) <= _MOST_LINES
        self._begun = begun if small else None
        return True

    def _add(self, kind: Kind, name: str, lines: list[tuple[int, str]]) -> None:
        excerpt = Excerpt(kind, name, tuple(lines))
        key = hash((kind, name, _RANK.sub("", excerpt.text)))
        if key in self._known:
            return
        length = len(excerpt.text)
        if len(self.found) < MOST_EXCERPTS and self._together + length <= _LONGEST_TOGETHER:
            self._together += length
            self._known.add(key)
            self.found.append(excerpt)
        else:
            self.cut = True


def _words(text: str) -> list[str] | None:
    """The list of words that a launcher prints as Python's list."""
    try:
        words = literal(text)
    except ValueError:
        return None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else None


def _depth(text: str) -> int:
    """By how much a line of JSON goes in or out; brackets in strings do not count."""
    depth, quoted, escaped = 0, False, False
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = quoted
        elif char == '"':
            quoted = not quoted
        elif not quoted:
            depth += (char in "{[") - (char in "}]")
    return depth
