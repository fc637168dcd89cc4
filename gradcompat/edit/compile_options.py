"""The command in the header of compiled requirements, as far as it may be run again.

Anyone can write a header. What is passed on is on a list: options that change what is written and how, each with a
value of a known form. Options that name an interpreter, an address, a configuration or another output are not on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_NAMES = re.compile(rf"{_NAME.pattern}(?:,{_NAME.pattern})*")
_PYTHON = re.compile(r"\d+(?:\.\d+){0,2}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?")
_STYLE = re.compile(r"line|split")
_NUMBER = re.compile(r"\d{1,4}")

_COMMON_FLAGS = frozenset(
    [
        "--all-extras",
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        "--no-strip-extras",
        "--quiet",
        "--strip-extras",
        "-q",
    ]
)
_FLAGS: Mapping[str, frozenset[str]] = {
    "pip-compile": _COMMON_FLAGS
    | frozenset(
        [
            "--allow-unsafe",
            "--annotate",
            "--header",
            "--no-allow-unsafe",
            "--no-config",
            "--no-emit-find-links",
            "--no-emit-index-url",
            "--no-emit-options",
            "--no-emit-trusted-host",
            "--no-reuse-hashes",
            "--pre",
            "--reuse-hashes",
            "-p",
        ]
    ),
    "uv pip compile": _COMMON_FLAGS
    | frozenset(
        [
            "--emit-build-options",
            "--emit-index-annotation",
            "--no-build",
            "--no-deps",
            "--no-sources",
            "--no-strip-markers",
            "--universal",
        ]
    ),
}
_VALUES: Mapping[str, Mapping[str, re.Pattern[str]]] = {
    "pip-compile": {
        "--annotation-style": _STYLE,
        "--extra": _NAMES,
        "--max-rounds": _NUMBER,
        "--newline": re.compile(r"LF|CRLF|native|preserve", re.IGNORECASE),
        "--resolver": re.compile(r"backtracking|legacy"),
        "--unsafe-package": _NAME,
    },
    "uv pip compile": {
        "--annotation-style": _STYLE,
        "--exclude-newer": _MOMENT,
        "--extra": _NAMES,
        "--fork-strategy": re.compile(r"fewest|requires-python"),
        "--group": _NAME,
        "--no-emit-package": _NAME,
        "--prerelease": re.compile(r"disallow|allow|if-necessary|explicit|if-necessary-or-explicit"),
        "--python": _PYTHON,
        "--python-platform": re.compile(r"[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*"),
        "--python-version": _PYTHON,
        "--resolution": re.compile(r"highest|lowest|lowest-direct"),
        "-p": _PYTHON,
    },
}
_CONSTRAINTS = frozenset({"--constraint", "--constraints", "-c"})
_OVERRIDES = frozenset({"--override", "--overrides"})
_OUTPUT = frozenset({"--output-file", "-o"})
_UPGRADES_ALL = frozenset({"-U", "--upgrade"})
_UPGRADES_ONE = frozenset({"-P", "--upgrade-package"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileCommand:
    """A command of which every word is known.

    Attributes:
        tool: ``pip-compile`` or ``uv pip compile``.
        words: what stands behind the tool, without upgrades.
        files: sources, constraints and overrides: relative paths with ``/``, none of which leads up.
        sources: those among ``files`` that are compiled.
        output: the file that the command writes, as it names it; None if it names none.
    """

    tool: str
    words: tuple[str, ...]
    files: tuple[str, ...]
    sources: tuple[str, ...]
    output: str | None


def compile_command(tool: str, words: Sequence[str]) -> CompileCommand:
    """Check the words behind ``pip-compile`` or ``uv pip compile``.

    Raises:
        ValueError: if a word is not known; the message says which, and begins with a verb.
    """
    flags, values = _FLAGS[tool], _VALUES[tool]
    kept: list[str] = []
    constraints: list[str] = []
    sources: list[str] = []
    outputs: list[str] = []
    rest = iter(words)
    for word in rest:
        option, joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word in _UPGRADES_ALL:
            continue
        if option in _UPGRADES_ONE:
            if not joined:
                _value(option, rest)
            continue
        if not word.startswith("-"):
            sources.append(_source(word))
            kept.append(word)
            continue
        if word in flags:
            kept.append(word)
            continue
        takes_file = option in _OUTPUT or option in _CONSTRAINTS or (option in _OVERRIDES and tool != "pip-compile")
        if not takes_file and option not in values:
            raise ValueError(f"asks for `{word}`, which is not passed on")
        if not joined:
            value = _value(option, rest)
        if option in _OUTPUT:
            outputs.append(value)
        elif takes_file:
            constraints.append(_source(value))
        elif not values[option].fullmatch(value):
            raise ValueError(f"asks for `{option}` with `{value}`, which is not passed on")
        kept += [word] if joined else [word, value]
    if not sources:
        raise ValueError("names no source")
    if len(outputs) > 1:
        raise ValueError("names two outputs")
    return CompileCommand(
        tool=tool,
        words=tuple(kept),
        files=tuple(dict.fromkeys((*sources, *constraints))),
        sources=tuple(sources),
        output=outputs[0] if outputs else None,
    )


def _value(option: str, rest: Iterator[str]) -> str:
    value = next(rest, None)
    if value is None:
        raise ValueError(f"has `{option}` without a value")
    return value


def _source(name: str) -> str:
    path = PurePosixPath(name)
    if path.name in ("setup.py", "setup.cfg"):
        raise ValueError(f"compiles `{name}`, which has to be built")
    if path.suffix not in (".in", ".txt") and path.name != "pyproject.toml":
        raise ValueError(f"compiles `{name}`, which is none of *.in, *.txt and pyproject.toml")
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name:
        raise ValueError(f"compiles `{name}`, which is outside the folder")
    return name
