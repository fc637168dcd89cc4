"""``gradcompat explain``: one record in full, one setting, or the vocabulary of settings."""

from __future__ import annotations

import difflib
import sys
from typing import TextIO

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.model.issue import (
    Issue,
    ModelTerm,
    PlatformTerm,
    PythonTerm,
    SettingRemedy,
    SettingTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.phrases import condition
from gradcompat.renderers.terminal import width, wrapped
from gradcompat.renderers.text import remedy_text
from gradcompat.vocabulary import KEYS, VIRTUAL_PACKAGES


def run(identifier: str) -> int:
    """Print the record, or what there is to say of the setting.

    Raises:
        UsageError: if there is no such record or setting.
        KnowledgeError: if the knowledge base cannot be loaded.
    """
    if identifier == "settings":
        _settings(sys.stdout)
        return 0
    if identifier in KEYS:
        _setting(identifier, sys.stdout)
        return 0
    if identifier.partition(".")[0] in {key.partition(".")[0] for key in KEYS}:
        close = difflib.get_close_matches(identifier, KEYS, n=1)
        raise UsageError(
            f"`{identifier}` is no setting that is known here",
            hint=f"did you mean `{close[0]}`?" if close else "`gradcompat explain settings` lists them",
        )
    issue = load().get(identifier)
    if issue is None:
        raise UsageError(f"there is no record `{identifier}`", hint="ids look like GC-0002; `check` prints them")
    _issue(issue, sys.stdout)
    return 0


def _settings(out: TextIO) -> None:
    columns = width()
    for name, key in KEYS.items():
        out.write(wrapped(f"{key.meaning} ({key.type})", columns, f"{name:<42} ", " " * 43) + "\n")


def _setting(name: str, out: TextIO) -> None:
    """The key, the tools' keys that feed it, and the records that speak of it."""
    from gradcompat.scanners.page import note, origins

    columns = width()
    key = KEYS[name]
    out.write(wrapped(f"{key.meaning} ({key.type})", columns, f"{name}: ", "  ") + "\n")
    _section("Read from", origins(name), columns, out)
    if (said := note(name)) is not None:
        out.write("\n" + wrapped(said, columns, "", "") + "\n")
    issues = load().in_force()
    needed = [issue for issue in issues if any(_is_about(term, name) for one in issue.affected for term in one.terms)]
    changed = [
        issue
        for issue in issues
        if any(isinstance(remedy, SettingRemedy) and remedy.key == name for remedy in issue.remedies)
    ]
    _section("Records that depend on it", [f"{issue.id} {issue.summary}" for issue in needed], columns, out)
    _section(
        "Records that a change of it cures", [", ".join(issue.id for issue in changed)] if changed else [], columns, out
    )


def _is_about(term: Term, name: str) -> bool:
    match term:
        case SettingTerm(key=key):
            return key == name
        case ModelTerm():
            return name == "model.architecture"
        case SymbolTerm():
            return name == "code.symbols"
        case PythonTerm():
            return name == "host.python"
        case PlatformTerm():
            return name == "host.platform"
        case VirtualTerm(name=virtual):
            return VIRTUAL_PACKAGES.get(name) == virtual
    return False


def _issue(issue: Issue, out: TextIO) -> None:
    columns = width()
    out.write(wrapped(issue.summary, columns, f"{issue.id} ", "  ") + "\n")
    kind = "informational" if issue.informational else issue.level
    out.write(f"{kind}, {'silent' if issue.silent else 'loud'}, {', '.join(issue.categories)}\n")
    if issue.withdrawn is not None:
        out.write(wrapped(f"withdrawn: {issue.withdrawn}", columns, "", "  ") + "\n")
    out.write("\n" + wrapped(issue.details, columns, "", "") + "\n")
    out.write("\nAffected when\n")
    for index, combination in enumerate(issue.affected):
        text = " and ".join(condition(term, full=True) for term in combination.terms)
        out.write(wrapped(text, columns, "  or " if index else "  ", "    ") + "\n")
    _section("Shows as", list(issue.symptoms), columns, out)
    _section("What to do, in order", [remedy_text(remedy) for remedy in issue.remedies], columns, out)
    bases = [issue.range_basis, *(f"{one.package} {one.versions}: {one.basis}" for one in issue.bounds)]
    _section(f"Evidence (ranges: {'; '.join(bases)})", list(issue.evidence), columns, out)
    _measured(issue, columns, out)
    references = [f"{reference.type.lower()}: {reference.url}" for reference in issue.references]
    _section("References", references, columns, out)


def _measured(issue: Issue, columns: int, out: TextIO) -> None:
    """The releases that its probes were run in, as a picture."""
    if not issue.probes:
        return
    from gradcompat.knowledge.matrix import load_rows, matrices
    from gradcompat.renderers import matrix_text

    wanted = {str(probe.spec): probe for probe in issue.probes}
    rows = [row for row in load_rows() if str(row.measurement.spec) in wanted]
    for matrix in matrices(rows):
        out.write("\nMeasured in ")
        matrix_text.render(matrix, out)
    command = f"gradcompat probe {issue.id}"
    out.write("\n" + wrapped(f"Measure it in your own environment: {command}", columns, "", "  ") + "\n")


def _section(title: str, lines: list[str], columns: int, out: TextIO) -> None:
    if lines:
        out.write(f"\n{title}\n")
        for line in lines:
            out.write(wrapped(line, columns, "  ", "    ") + "\n")
