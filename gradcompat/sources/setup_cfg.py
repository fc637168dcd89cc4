"""``setup.cfg`` of setuptools: ``install_requires``, ``tests_require`` and ``[options.extras_require]``.

Other tools keep their options in the same file (``[flake8]``, ``[isort]``, ``[tool:pytest]``), and a list of names
there asks for no package. configparser knows no lines, so each line carries its number through it, behind a sign that
no configuration has.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.quotation import quoted, reference
from gradcompat.sources.joint_ranges import jointly
from gradcompat.sources.requirement import parse_requirement
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern

_SIGN = "\x1f"
_EXTRAS = "options.extras_require"
_LONG = 500
_BLANKS = lazy_pattern(r"(?<=\S)\s+")


def read(document: Document) -> Environment:
    """Read the requirements of a project.

    Raises:
        Malformed: if it is no configuration.
    """
    lines = document.text.split("\n")
    parser = _parse(lines, document.path)
    if not parser.sections():
        raise Malformed("has no `[section]`", path=document.path)
    packages: list[Package] = []
    skipped: list[Skipped] = []
    for result in _requirements(parser, lines, document.path):
        if isinstance(result, Package):
            packages.append(result)
        else:
            skipped.append(result)
    joint, notes = jointly(packages)
    skipped += notes
    if not packages and not skipped:
        reason = "names no requirements: they stand in setup.py or pyproject.toml"
        if not parser.has_section("metadata") and not parser.has_section("options"):
            reason = "names no requirements: it has options of other tools, and no `[options]`"
        skipped.append(Skipped(what=document.path, reason=reason, gap=False, location=Location(path=document.path)))
    return Environment(source=document.path, kind="setup.cfg", packages=joint, closed=False, skipped=tuple(skipped))


def _parse(lines: list[str], path: str) -> configparser.RawConfigParser:
    numbered = (
        f"{_short(line.rstrip())}{_SIGN}{number}" if line.strip() else "" for number, line in enumerate(lines, start=1)
    )
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string("\n".join(numbered))
    except configparser.MissingSectionHeaderError as error:
        raise Malformed("begins without a `[section]`", path=path, line=error.lineno) from None
    except configparser.Error as error:
        errors = getattr(error, "errors", [])
        line = errors[0][0] if errors else None
        raise Malformed("is neither `key = value` nor the continuation of one", path=path, line=line) from None
    return parser


def _short(line: str) -> str:
    # configparser tries each of a run of blanks with each that follows, which takes the square of their number.
    return line if len(line) < _LONG else _BLANKS.sub(" ", line)


def _requirements(parser: configparser.RawConfigParser, lines: list[str], path: str) -> Iterator[Package | Skipped]:
    for key, extra in ("install_requires", None), ("tests_require", "tests"):
        yield from _listed(parser.get("options", key, fallback=""), key, extra, lines, path)
    if parser.has_section(_EXTRAS):
        for extra in parser.options(_EXTRAS):
            yield from _listed(parser.get(_EXTRAS, extra), f"extras_require.{extra}", extra, lines, path)


def _listed(value: str, key: str, extra: str | None, lines: list[str], path: str) -> Iterator[Package | Skipped]:
    """The requirements of one option: a line for each, or in the first line several behind semicolons."""
    entries = value.split("\n")
    for entry in entries:
        text, _, number = entry.rpartition(_SIGN)
        if not text.strip() or not number.isdecimal() or text.lstrip().startswith("#"):
            continue
        written = lines[int(number) - 1].rstrip()
        column = len(written) - len(text) + 1 if written.endswith(text) else None
        for part in text.split(";") if len(entries) == 1 and not _has_marker(text) else [text]:
            location = Location(path=path, line=int(number), column=column)
            column = None if column is None else column + len(part) + 1
            if not part.strip():
                continue
            if part.startswith("file:"):
                reason = f"are taken from `{reference(part[5:])}` when the project is built: check that"
                yield Skipped(what=quoted(key, "extras_require"), reason=reason, location=location)
                continue
            result = parse_requirement(part.partition(" #")[0], location)
            if isinstance(result, Package):
                result = replace(result, extras=(extra,) if extra else ())
            yield result


def _has_marker(text: str) -> bool:
    """Is the semicolon that of a marker? Then the line is one requirement."""
    behind = text.partition(";")[2].lstrip()
    return behind.startswith(("python_", "sys_", "platform_", "os_", "implementation_", "extra", "(", "'", '"'))
