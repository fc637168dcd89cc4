"""What MkDocs calls while it builds the site; all that it knows of us."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from gradcompat.knowledge.load import load
from website import commands, newest, pairs, records, schemas
from website.links import TAKEN_OVER, carried_over, filled

_ROOT = Path(__file__).parents[1]
_MADE = {
    "records": records.by_package,
    "commands": commands.manual,
    "schemas": schemas.tables,
    "pairs": pairs.listing,
    "newest": newest.table,
    "reports": newest.listing,
}
_IN_REPOSITORY = {address: path for path, address in TAKEN_OVER.items()}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, and those that lie elsewhere in the repository."""
    for address, content in _made():
        files.append(File.generated(config, address, content=content))
    return files


def _made() -> Iterator[tuple[str, str]]:
    yield from records.files()
    yield from schemas.files()
    yield from pairs.files()
    yield from newest.files()
    for path, address in TAKEN_OVER.items():
        yield address, (_ROOT / path).read_text("utf-8")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Fill in what is made, and carry links over."""
    address = page.file.src_uri
    known = frozenset(record["id"] for record in load().records)
    return carried_over(filled(markdown, _MADE), _IN_REPOSITORY.get(address, f"docs/{address}"), known)
