"""``gradcompat knowledge export``: the records in the words of other tools."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.commands.constraints import without_releases
from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import OwnRecords
from gradcompat.errors import UsageError
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.knowledge.load import KnowledgeBase, issue_from
from gradcompat.knowledge.osv import advisory
from gradcompat.messages import counted
from gradcompat.model.issue import Issue
from gradcompat.planner.exclusions import Exclusion, exclusions
from gradcompat.planner.families import BUILT_AGAINST_TORCH, RELEASED_WITH_TORCH, SAME_VERSION
from gradcompat.renderers import dependabot, renovate
from gradcompat.renderers.constraints import Line

_STANDARD = "-"
_WITHOUT = "releases that are wrong whatever the training does"

# transformers asks for a narrow range of the first three; the rest is released against its newest version, and records
# speak of defects of one beside the other. Moved one by one, either the resolver refuses or such a pair is installed.
_WITH_TRANSFORMERS = ("huggingface-hub", "safetensors", "tokenizers", "accelerate", "peft", "trl")


def command(
    *,
    form: Annotated[
        str, typer.Option("--format", metavar="osv|renovate|dependabot", help="For which tool.", show_default=False)
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", metavar="DIR|FILE|-", help="A folder for the records of OSV, a file for the others; `-` prints."
        ),
    ] = "-",
    knowledge: OwnRecords,
) -> int:
    """Write the records for other tools: OSV advisories, a Renovate preset, or a list for Dependabot to ignore.

    Those tools know versions, but not the training. So a release is exported only if it is affected under every
    condition; conditions on settings, models or other packages are in the advisory, in words and as data.

    Examples:
      gradcompat knowledge export --format osv --output advisories
      gradcompat knowledge export --format renovate > renovate-preset.json
      gradcompat knowledge export --format dependabot
    """
    writers: dict[str, Callable[[KnowledgeBase], str]] = {"renovate": _renovate, "dependabot": _dependabot}
    base = known_records(knowledge)
    if form == "osv":
        return _osv(base, output)
    if form not in writers:
        raise UsageError(f"`--format {form}` is not known", hint="known: osv, renovate, dependabot")
    text = writers[form](base)
    if output == _STANDARD:
        sys.stdout.write(text)
    else:
        _save(Path(output), text)
    unnamed = [exclusion for exclusion in _excluded(base) if exclusion.specifier is None] if form == "renovate" else []
    for exclusion in unnamed:
        sys.stderr.write(f"left out: {without_releases(exclusion)}\n")
    return 3 if unnamed else 0


def _osv(base: KnowledgeBase, output: str) -> int:
    """A file for each record, or all of them as one list."""
    catalogue = shipped_snapshot()
    advisories = [advisory(issue_from(record), base, catalogue) for record in base.records]
    if output == _STANDARD:
        sys.stdout.write(json.dumps(advisories, indent=1) + "\n")
        return 0
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"is not a folder and cannot be created: {error.strerror}", path=output) from None
    for one in advisories:
        _save(folder / f"{one['id']}.json", json.dumps(one, indent=1) + "\n")
    plain = sum(bool(one["affected"]) for one in advisories)
    sys.stdout.write(
        f"{counted(len(advisories), 'record')} written to {output}, {plain} of which claim a range without conditions\n"
    )
    return 0


def _renovate(base: KnowledgeBase) -> str:
    groups = {
        "torch": ["torch", *sorted(RELEASED_WITH_TORCH | BUILT_AGAINST_TORCH)],
        "transformers": ["transformers", *_WITH_TRANSFORMERS],
        **{min(family): sorted(family) for family in SAME_VERSION},
    }
    lines = [
        Line(package=exclusion.package, specifier=exclusion.specifier, reasons=tuple(map(_reason, exclusion.issues)))
        for exclusion in _excluded(base)
        if exclusion.specifier is not None
    ]
    head = [
        f"gradcompat: training packages that move together, and no {_WITHOUT}, by the knowledge of {base.date}",
        "Most defects depend on settings, models or pairs of packages, which no preset can say: gradcompat check does.",
    ]
    out = io.StringIO()
    renovate.write(head, groups, lines, out)
    return out.getvalue()


def _dependabot(base: KnowledgeBase) -> str:
    entries = [
        dependabot.Ignored(
            package=exclusion.package,
            ranges=tuple(str(exclusion.excluded).split(" || ")),
            reasons=tuple(map(_reason, exclusion.issues)),
        )
        for exclusion in _excluded(base)
    ]
    head = [
        f"gradcompat: {_WITHOUT}, by the knowledge of {base.date}",
        "use: in .github/dependabot.yml, below an entry of `updates` for pip or uv",
    ]
    out = io.StringIO()
    dependabot.write(head, entries, out)
    return out.getvalue()


def _excluded(base: KnowledgeBase) -> tuple[Exclusion, ...]:
    return exclusions((issue for issue in base.in_force() if not issue.informational), base.names, shipped_snapshot())


def _reason(issue: Issue) -> str:
    return f"{issue.id}: {issue.summary}; {issue.references[0].url}"


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"cannot be written: {error.strerror or error}", path=str(path)) from None
