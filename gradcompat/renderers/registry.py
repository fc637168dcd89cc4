"""Every format of a report of ``check``, one entry each: help, docs/reports.md and fuzzing are derived from it."""

from __future__ import annotations

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Renderer:
    """One format.

    Attributes:
        module: the module of this package whose ``render(report, out)`` writes it.
        purpose: what it is for, as docs/reports.md has it.
        edits: it shows the advice as edits of a file, too, which cost time to find.
    """

    module: str
    purpose: str
    edits: bool = False


_VEX = "VEX: what `--probe` refutes is *not affected*, with the measurement as the reason"

# By the name that `--format` takes.
RENDERERS = {
    "text": Renderer("text", "people"),
    "json": Renderer("json_report", "what builds on gradcompat; [its schema](json.md) is the contract"),
    "markdown": Renderer("markdown", "a comment on a pull request"),
    "html": Renderer("html_report", "a page of its own, which can be filtered and needs no network"),
    "sarif": Renderer(
        "sarif",
        "code scanning and editors: SARIF 2.1.0 with columns, stable fingerprints, and fixes of pins in files that "
        "people write",
        edits=True,
    ),
    "github": Renderer(
        "github",
        "annotations of a workflow; in a GitHub job the `markdown` report is appended to the summary of the step",
    ),
    "gitlab": Renderer("gitlab", "a code quality report"),
    "junit": Renderer(
        "junit",
        "test reports: what makes the exit status 1 fails, what could apply or was not checked is skipped",
    ),
    "cyclonedx-vex": Renderer("cyclonedx_vex", _VEX),
    "openvex": Renderer("openvex", _VEX),
}
