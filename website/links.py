"""Pages as they stand in the repository, made pages of the site: links are carried over, and records are linked."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

# Pages of the repository that are pages of the site, too, under another name.
TAKEN_OVER = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "DESIGN.md": "design.md",
    "benchmarks/README.md": "benchmarks.md",
    "knowledge/README.md": "knowledge.md",
    "knowledge/upstream/README.md": "upstream.md",
}

_MARKER = re.compile(r"^<!-- generated: (?P<name>[\w-]+) -->$", re.MULTILINE)
# Code and headings stay as they are; the rest of a line is prose.
_PIECES = re.compile(
    r"(?P<kept>^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*?$|`[^`\n]+`|^#.*?$|<[^>\n]+>)"
    r"|(?P<image>!)?\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)"
    r"|\b(?P<record>GC-\d{4})\b",
    re.MULTILINE | re.DOTALL,
)


class BrokenLink(ValueError):
    """A link to something that is in the repository and not on the site."""


def filled(markdown: str, made: Mapping[str, Callable[[], str]]) -> str:
    """The page with what is made in the place of ``<!-- generated: NAME -->``.

    Raises:
        KeyError: if nothing makes that.
    """
    return _MARKER.sub(lambda marker: made[marker["name"]](), markdown)


def carried_over(markdown: str, path: str, records: frozenset[str]) -> str:
    """A page of the repository with links that are right on the site.

    Args:
        markdown: the page.
        path: where it lies in the repository, or would lie.
        records: ids that have a page.

    Raises:
        BrokenLink: if a link leads to a file that the site does not have.
    """
    page = _address(path)

    def replaced(found: re.Match[str]) -> str:
        if found["kept"] is not None:
            return found[0]
        if (record := found["record"]) is not None:
            address = f"records/{record}.md"
            return f"[{record}]({_relative(address, page)})" if record in records and address != page else record
        target, hash_sign, anchor = found["target"].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        address = _address(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        if address.startswith(".."):
            raise BrokenLink(f"{path}: {found['target']} is not on the site")
        return f"{found['image'] or ''}[{found['text']}]({_relative(address, page)}{hash_sign}{anchor})"

    return _PIECES.sub(replaced, markdown)


def _address(path: str) -> str:
    """Where a file of the repository is on the site, below its root; outside of it for what the site does not have."""
    return TAKEN_OVER.get(path, path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}")


def _relative(address: str, page: str) -> str:
    return posixpath.relpath(address, posixpath.dirname(page) or ".")
