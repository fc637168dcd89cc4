"""What is wrong in the newest release of each package, and the reports of what no tracker names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradcompat.knowledge.load import load
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.newest import NewestRelease, newest_releases
from gradcompat.renderers.newest_text import numbers
from gradcompat.renderers.record_markdown import prose

_REPORTS = Path(__file__).parents[1] / "knowledge" / "upstream"
_FOLDER = "upstream"


def files() -> Iterator[tuple[str, str]]:
    """Addresses below the root of the site, and what stands there: a page for each report."""
    for path in _reports():
        yield f"{_FOLDER}/{path.name}", path.read_text("utf-8")


def listing() -> str:
    """A link for each report, by its title."""
    titles = {path.name: path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for path in _reports()}
    return "\n".join(["", *(f"* [{prose(title)}]({_FOLDER}/{name})" for name, title in titles.items())]) + "\n"


def _reports() -> list[Path]:
    return sorted(path for path in _REPORTS.glob("*.md") if path.name != "README.md")


def table() -> str:
    """A section for each release in which something is wrong, and a line for the others."""
    base = load()
    found = newest_releases(load_rows(), base.in_force(), base.names.families)
    lines = [""]
    for release in sorted(found, key=lambda one: (-len(one.wrong), one.package)):
        if release.wrong:
            lines += _section(release)
    right = [f"{release.package} {release.version} ({release.right})" for release in found if not release.wrong]
    lines += ["## Nothing wrong in what was measured", "", f"With how many probes: {', '.join(right)}."]
    return "\n".join(lines) + "\n"


def _section(release: NewestRelease) -> list[str]:
    when = release.dates[0] if release.dates[0] == release.dates[1] else " to ".join(release.dates)
    torch = f", with torch {', '.join(release.torch)}" if release.torch else ""
    rows = [
        f"| `{cell.recipe}` | {_cell(cell.variant)} | {_cell(cell.verdict)} | {', '.join(cell.records)} |"
        for cell in release.wrong
    ]
    return [
        f"## What is wrong in {release.package} {release.version}",
        "",
        f"{numbers(release).capitalize()}, measured {when}{torch}.",
        "",
        "| Recipe | Variant | Measured | Records |",
        "|---|---|---|---|",
        *rows,
        "",
    ]


def _cell(text: str) -> str:
    return prose(text).replace("|", "or")
