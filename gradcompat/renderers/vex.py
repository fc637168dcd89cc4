"""What both VEX formats say alike: the status of each finding, its packages as purls, and when it was said."""

from __future__ import annotations

import os
import time
from typing import Literal
from urllib.parse import quote

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.messages import remedy_text
from gradcompat.model.environment import Package
from gradcompat.renderers.results import Result, State, fix, plain, reason, suppression

Status = Literal["affected", "not_affected", "under_investigation"]

# What is worth knowing is no defect, so VEX has no word for it. What is dormant is left out: it rests on a presumption,
# and tools that read VEX hide what is ``not_affected``. CycloneDX has the justification ``requires_configuration``, but
# OpenVEX has none that fits, and neither can say that no file states the configuration. Once a file or ``--set`` does,
# the finding is ``affected`` or ``not_affected``. All that could apply is under investigation, also what a
# report does not show by itself.
STATUSES: dict[State, Status] = {
    "affected": "affected",
    "conditional": "under_investigation",
    "refuted": "not_affected",
    "not_affected": "not_affected",
}


def timestamp() -> str:
    """Now, or what ``SOURCE_DATE_EPOCH`` says, so that a document can be made again."""
    stated = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 12 else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def purl(package: Package) -> str:
    """``pkg:pypi/torch@2.5.1``; for a range without version."""
    kind = "conda" if package.source == "conda" else "pypi"
    version = "" if package.version is None else f"@{_encoded(package.version)}"
    return f"pkg:{kind}/{_encoded(package.name)}{version}"


def environment_purl(source: str) -> str:
    """A name for an environment: ``pkg:generic/examples/uv.lock``."""
    parts = [_encoded(part) for part in source.replace("\\", "/").split("/") if part not in ("", ".")]
    return f"pkg:generic/{'/'.join(parts) or 'environment'}"


def action(result: Result) -> str:
    """What to do about what is affected."""
    if said := fix(result).removeprefix("fix: "):
        return said
    remedies = [remedy_text(remedy) for remedy in result.advised.finding.issue.remedies]
    return plain("; or ".join(remedies)) or "no remedy is known"


def accepted(result: Result, places: RepositoryPaths) -> str:
    """Who has said that it may stay as it is, or where it is known from; empty for what counts."""
    said = result.advised.suppressed
    if said is None:
        return ""
    return f"{'accepted' if said.kind == 'waiver' else 'not new'} ({suppression(result, places)})"


def explanation(result: Result) -> str:
    """Why the status is what it is; for a refutation the measurement."""
    if result.state == "not_affected":
        return "these versions and settings are not those of the record"
    return reason(result)


def _encoded(text: str) -> str:
    return quote(text.encode("utf-8", "backslashreplace"), safe="")
