"""A page for each record, with a picture of what was measured, and the list of all of them."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from gradcompat.knowledge.load import KnowledgeBase, issue_from, load
from gradcompat.knowledge.matrix import load_rows, matrices
from gradcompat.model.issue import LEVELS, Issue, PackageTerm
from gradcompat.model.matrix import Matrix
from gradcompat.model.probe import Row
from gradcompat.renderers import matrix_svg, record_markdown
from gradcompat.renderers.record_markdown import prose

_FOLDER = "records"
BY_CATEGORY = f"{_FOLDER}/by-category.md"


def issues(base: KnowledgeBase) -> list[Issue]:
    """All records, withdrawn ones too: their pages say why."""
    return [issue_from(record) for record in base.records]


def files() -> Iterator[tuple[str, str]]:
    """Addresses below the root of the site, and what stands there."""
    known = issues(load())
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in load_rows():
        rows[str(row.measurement.spec)].append(row)
    for issue in known:
        found = matrices([row for spec in {str(probe.spec) for probe in issue.probes} for row in rows[spec]])
        pictures = {(one.package, one.recipe): f"{issue.id}-{one.package}-{one.recipe}.svg" for one in found}
        page = io.StringIO()
        record_markdown.render(issue, found, page, pictures=pictures)
        yield f"{_FOLDER}/{issue.id}.md", page.getvalue()
        for matrix in found:
            yield f"{_FOLDER}/{pictures[matrix.package, matrix.recipe]}", _picture(matrix)
    yield BY_CATEGORY, f"# Records by category\n{_grouped(known, lambda issue: issue.categories, '')}"


def _picture(matrix: Matrix) -> str:
    out = io.StringIO()
    matrix_svg.render(matrix, out)
    return out.getvalue()


def by_package() -> str:
    """The records of each package, as a list of links."""
    return _grouped(issues(load()), _packages, f"{_FOLDER}/")


def _packages(issue: Issue) -> Iterable[str]:
    return dict.fromkeys(
        term.name for combination in issue.affected for term in combination.terms if isinstance(term, PackageTerm)
    )


def _grouped(known: Iterable[Issue], groups: Callable[[Issue], Iterable[str]], folder: str) -> str:
    found: dict[str, list[Issue]] = defaultdict(list)
    for issue in known:
        for name in groups(issue):
            found[name].append(issue)
    lines: list[str] = []
    for name in sorted(found):
        lines += ["", f"## {name}", ""]
        ordered = sorted(found[name], key=lambda issue: (-LEVELS.index(issue.level), issue.id))
        lines += [f"* {_entry(issue, folder)}" for issue in ordered]
    return "\n".join(lines) + "\n"


def _entry(issue: Issue, folder: str) -> str:
    state = "withdrawn" if issue.withdrawn is not None else "informational" if issue.informational else issue.level
    probe = ", with a probe" if issue.probes else ""
    return f"[{issue.id}]({folder}{issue.id}.md) {prose(issue.summary)} ({state}{probe})"
