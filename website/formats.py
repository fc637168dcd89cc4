"""What is made of the tables of formats, scanners and renderers: two tables of the documentation, and a hook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import get_args

from gradcompat.config.project_file import OWN
from gradcompat.dependency_formats import FORMATS, Group
from gradcompat.renderers.registry import RENDERERS
from gradcompat.scanners.registry import SCANNERS

COMMAND = "python -m website.formats"
ROOT = Path(__file__).parents[1]
_TABLE = re.compile(r"(?<=^<!-- Generated: `python -m website\.formats` -->\n\n)(?:\|.*\n)*", re.MULTILINE)
_HOOK = re.compile(r"(?<=^    \(\?xi\)\(\^\|/\)\(\n)(?:      .*\n)*(?=    \)\$$)", re.MULTILINE)
_ENDINGS = {
    "Ranges": "A range is never taken for a version",
    "Best effort": "Only the installations that are written out there",
}


def table() -> str:
    """The rows of docs/formats.md: one for each group of formats, and one for the scanners."""
    rows = [
        ("", "Kinds"),
        (
            "Environments",
            "the running interpreter, `--python PATH`, a virtual environment's or conda environment's folder",
        ),
    ]
    for group in get_args(Group):
        kinds = _listed((entry.kind, entry.note) for entry in FORMATS if entry.group == group)
        rows.append((group, ". ".join(filter(None, (kinds, _ENDINGS.get(group))))))
    training = _listed((scanner.kind, scanner.note) for scanner in SCANNERS)
    rows.append(
        ("Training", f"{training}. [Settings](settings.md) has every setting and which key of which tool feeds it")
    )
    lines = [f"| {name} | {text} |" if name else f"| | {text} |" for name, text in rows]
    return "".join(f"{line}\n" for line in (lines[0], "|---|---|", *lines[1:]))


def reports() -> str:
    """The rows of docs/reports.md: what each format of a report is for; those for the same stand together."""
    named: dict[str, list[str]] = {}
    for form, entry in RENDERERS.items():
        named.setdefault(entry.purpose, []).append(f"`{form}`")
    rows = (f"| {', '.join(forms)} | {purpose} |\n" for purpose, forms in named.items())
    return "".join(("| Format | For |\n", "|---|---|\n", *rows))


def hook_names() -> str:
    """The lines of the hook's pattern: every file name that is read, and the file of options."""
    names = {name for known in (*FORMATS, *SCANNERS) for name in known.names} | {f"*{OWN}"}
    needed = sorted(name for name in names if not any(name != other and fnmatchcase(name, other) for other in names))
    expressions = ["[^/]*".join(map(re.escape, name.split("*"))).replace(r"\-", "-") for name in needed]
    return "".join(f"      {'| ' * bool(index)}{text}\n" for index, text in enumerate(expressions))


_MADE: Mapping[str, tuple[re.Pattern[str], Callable[[], str]]] = {
    "docs/formats.md": (_TABLE, table),
    "docs/reports.md": (_TABLE, reports),
    ".pre-commit-hooks.yaml": (_HOOK, hook_names),
}


def files() -> dict[str, str]:
    """Path → the text of each file as the tables say it.

    Raises:
        ValueError: if a file has no place for what is made.
    """
    found = {}
    for path, (place, make) in _MADE.items():
        before = (ROOT / path).read_text("utf-8")
        places = list(place.finditer(before))
        if len(places) != 1:
            raise ValueError(f"{path}: the place for what is made stands there {len(places)} times")
        found[path] = before[: places[0].start()] + make() + before[places[0].end() :]
    return found


def _listed(kinds: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{kind}` {note}".rstrip() for kind, note in kinds)


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).write_text(text, "utf-8")
