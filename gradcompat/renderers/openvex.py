"""OpenVEX 0.2.0: an environment is a product, the packages of a finding are its subcomponents.

A refutation by a probe is ``not_affected`` with the measurement in the notes. What is suppressed is affected still: who
accepts a defect has it. The tool does not know who issues the document, and says so as vexctl does. Without any finding
there is no statement, which the schema does not provide for.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TextIO

from gradcompat._version import __version__
from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.report import Report
from gradcompat.renderers.json_output import json_output
from gradcompat.renderers.results import Result, measured, plain, results
from gradcompat.renderers.sources_text import sources_text
from gradcompat.renderers.vex import STATUSES, accepted, action, environment_purl, explanation, purl, timestamp

_NEAR = 50  # equal statements stand near one another: entries of one name that differ in nothing but their line


def render(report: Report, out: TextIO) -> None:
    """Write one document."""
    places = RepositoryPaths()
    statements: list[dict[str, Any]] = []
    for result in results(report, places, suppressed=True):
        if result.state in STATUSES and (statement := _statement(result, places)) not in statements[-_NEAR:]:
            statements.append(statement)
    data = {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "author": "Unknown Author",
        "role": "Document Creator",
        "timestamp": timestamp(),
        "version": 1,
        "tooling": f"gradcompat {__version__}, {sources_text(report.records, report.date, report.sources)}",
        "statements": statements,
    }
    digest = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    data = {"@context": data["@context"], "@id": f"https://openvex.dev/docs/public/vex-{digest}", **data}
    out.write(json_output(data))


def _statement(result: Result, places: RepositoryPaths) -> dict[str, Any]:
    issue = result.advised.finding.issue
    packages = list(dict.fromkeys(purl(package) for package in result.advised.finding.packages))
    product: dict[str, Any] = {"@id": environment_purl(places.shown(result.audit.source))}
    if packages:
        product["subcomponents"] = [{"@id": name, "identifiers": {"purl": name}} for name in packages]
    status = STATUSES[result.state]
    statement: dict[str, Any] = {
        "vulnerability": {"name": issue.id, "description": plain(issue.summary)},
        "products": [product],
        "status": status,
    }
    notes = explanation(result)
    if result.state != "refuted" and (showed := measured(result)):
        notes = f"{notes}; measured here: {showed}"
    if status != "affected" and (said := accepted(result, places)):
        notes = f"{notes}; {said}"
    if status == "affected":
        statement["action_statement"] = "; ".join(filter(None, (accepted(result, places), action(result))))
    elif result.state == "refuted":
        # The recipe brings the conditions along, so that what it does not see is not in the code.
        statement["justification"] = "vulnerable_code_not_present"
    elif status == "not_affected":
        statement["impact_statement"] = notes
    if notes and result.state != "not_affected":
        statement["status_notes"] = notes
    return statement
