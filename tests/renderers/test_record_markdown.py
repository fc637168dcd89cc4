"""A record as Markdown: everything that the terminal shows, and nothing that becomes markup by accident."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gradcompat.cli.commands.explain import matrices_of
from gradcompat.knowledge.load import issue_from, load
from gradcompat.model.issue import Issue
from gradcompat.renderers.record import parts
from gradcompat.renderers.record_markdown import prose, render
from gradcompat.renderers.results import plain
from tests.conftest import Run

ISSUES = [issue_from(record) for record in load().records]
MARKDOWN = MarkdownIt("commonmark")


def page(issue: Issue) -> str:
    out = io.StringIO()
    render(issue, (), out)
    return out.getvalue()


def words(markdown: str) -> str:
    """What a reader sees of it."""
    shown = []
    for token in MARKDOWN.parse(markdown):
        children = token.children or ([token] if token.type in ("fence", "code_block", "html_block") else [])
        shown += [
            child.content if child.type != "softbreak" else " "
            for child in children
            if child.content or child.type == "softbreak"
        ]
        shown.append(" ")
    return re.sub(r"\s+", " ", "".join(shown)).strip()


def bare(text: str) -> str:
    return re.sub(r"\s+", " ", text.replace("`", ""))


@pytest.mark.parametrize("issue", ISSUES, ids=lambda issue: issue.id)
def test_a_page_says_what_the_terminal_says(issue: Issue) -> None:
    shown = bare(words(page(issue)))
    for said in (issue.summary, issue.details, *(line for part in parts(issue) for line in part.lines)):
        assert bare(plain(said)) in shown


def test_a_record_that_is_withdrawn_says_so() -> None:
    assert "**Withdrawn**: it was a misreading. Nothing counts this record." in page(
        replace(ISSUES[0], withdrawn="it was a misreading")
    )


@given(st.text(max_size=60))
def test_prose_is_no_markup(text: str) -> None:
    without = text.replace("`", "")
    tokens = MARKDOWN.parse(prose(without))
    assert {token.type for token in tokens} <= {"paragraph_open", "paragraph_close", "inline"}
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert kinds <= {"text", "text_special", "softbreak", "entity"}
    assert "".join(words(prose(without)).split()) == "".join(plain(without.strip()).split())


def test_pictures_stand_before_their_tables() -> None:
    issue = next(one for one in ISSUES if one.id == "GC-0004")
    out = io.StringIO()
    render(issue, matrices_of(issue), out, pictures={("transformers", "accumulation_equivalence"): "picture.svg"})
    text = out.getvalue()
    assert 0 < text.index("(picture.svg)") < text.index("```text") < text.index("gradcompat probe GC-0004")
    assert "## Measured" in text
    assert "## Not measured yet" in page(issue)


def test_the_command_prints_it(run: Run) -> None:
    outcome = run("explain", "gc-0004", "--format", "markdown")
    assert outcome.status == 0
    assert outcome.out.startswith("# GC-0004\n\n**Loss and gradients of LLaVA models")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("GC-0004", "--format", "html"), "error: `--format html` is not known\n\nhint: known: text, markdown\n"),
        (
            ("settings", "--format", "markdown"),
            "error: `--format markdown` is for records\n\nhint: settings are printed",
        ),
    ],
)
def test_what_it_cannot_print_is_a_usage_error(run: Run, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("explain", *arguments)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(said)
