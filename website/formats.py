"""What is made of the tables of formats, scanners, renderers and presumptions: tables of the documentation, a hook."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import get_args

from gradcompat.config.project_file import OWN
from gradcompat.dependency_formats import FORMATS, Group
from gradcompat.messages import value_text
from gradcompat.model.environment import SettingValue
from gradcompat.presumptions.engines import ENGINES
from gradcompat.presumptions.left_out import LEFT_OUT, LeftOut
from gradcompat.presumptions.serving import SERVERS, TRAINING_COMPANIONS, TRAINING_LIBRARIES
from gradcompat.presumptions.usual import USUAL
from gradcompat.releases.argument_defaults import Argument, Stated
from gradcompat.releases.table import table_of
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


def presumptions() -> str:
    """The rows of docs/presumptions.md: each fact, what is usual for it, what that rests on."""
    lines = ["| Fact | Usual | What is presumed | Why |", "|---|---|---|---|"]
    for key, usual in USUAL.items():
        values = ", ".join(f"`{value_text(value)}`" for value, _ in usual.values)
        brought = "; ".join(
            f"with {ENGINES[engine].feature} also {', '.join(f'`{value_text(value)}`' for value, _ in more)}"
            for engine, more in usual.named.items()
        )
        needed = "" if usual.engine is None else f"only where {ENGINES[usual.engine].feature} is named"
        if usual.without is not None:
            needed += f", else `{value_text(usual.without)}`"
        shown = "; ".join(filter(None, (values, brought, needed)))
        held = usual.taking.replace("{}", "…") or ("a question" if len(usual.values) > 1 or usual.named else "nothing")
        lines.append(f"| `{key}` | {shown} | {held} | {usual.reason} |")
    return "".join(f"{line}\n" for line in lines)


def left_out() -> str:
    """The rows of docs/presumptions.md about what a run leaves out."""
    lines = ["| Setting | Default | Trainer | Where | Read in |", "|---|---|---|---|---|"]
    for one in LEFT_OUT:
        trainers = ", ".join(f"`{name}`" for name in one.frameworks)
        lines += [
            f"| `{one.key}` | `{value_text(value)}` | {trainers} | {', '.join([releases, *_beside(one)])} | {read} |"
            for value, releases, read in _defaults(one.default)
        ]
    return "".join(f"{line}\n" for line in lines)


def _defaults(default: Argument | Stated) -> Iterator[tuple[SettingValue, str, str]]:
    """Each value, the releases that have it, and where that was read."""
    if isinstance(default, Stated):
        yield default.value, f"{default.package} `{default.versions}`", default.read
        return
    inherited = None if default.inherits is None else table_of(default.inherits)
    history = default.history(None if inherited is None else inherited.versions[-1])
    for value, group in groupby(history, key=itemgetter(1)):
        first, *_, last = [version for version, _ in group] * 2
        if value is not None:
            read = f"the releases: `{default.callables[0]}({default.name})`"
            yield value, f"{default.package} {first} to {last}", read


def _beside(default: LeftOut) -> list[str]:
    """What a default takes beside its package."""
    parts = [f"without {name} `{versions}`" for name, versions in default.unless]
    parts += [f"with `{key}={value_text(value)}`" for key, value in default.beside]
    parts += [f"with any `{key}`" for key in default.among]
    parts += [f"with `{default.called}()`"] if default.called else []
    return parts + [f"not with `{key}={value_text(value)}`" for key, value in default.against]


def serving() -> str:
    """The rows of docs/presumptions.md about environments that serve models."""
    lines = ["| | Packages |", "|---|---|"]
    for label, names in (
        ("It serves", SERVERS),
        ("It trains as well", TRAINING_COMPANIONS),
        ("It trains as well, unless left to an extra", TRAINING_LIBRARIES),
    ):
        lines.append(f"| {label} | {', '.join(f'`{name}`' for name in sorted(names))} |")
    return "".join(f"{line}\n" for line in lines)


# Path → a pattern for the places in it, and what stands there, in their order.
_MADE: Mapping[str, tuple[re.Pattern[str], Sequence[Callable[[], str]]]] = {
    "docs/formats.md": (_TABLE, [table]),
    "docs/reports.md": (_TABLE, [reports]),
    "docs/presumptions.md": (_TABLE, [presumptions, serving, left_out]),
    ".pre-commit-hooks.yaml": (_HOOK, [hook_names]),
}


def files() -> dict[str, str]:
    """Path → the text of each file as the tables say it.

    Raises:
        ValueError: if a file has no place for what is made.
    """
    found = {}
    for path, (place, makers) in _MADE.items():
        before = (ROOT / path).read_text("utf-8")
        if len(place.findall(before)) != len(makers):
            raise ValueError(f"{path}: needs {len(makers)} places for what is made")
        made = iter(makers)
        found[path] = place.sub(lambda _, made=made: next(made)(), before)  # type: ignore[misc]  # its only argument
    return found


def _listed(kinds: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{kind}` {note}".rstrip() for kind, note in kinds)


if __name__ == "__main__":
    for path, text in files().items():
        (ROOT / path).write_text(text, "utf-8")
