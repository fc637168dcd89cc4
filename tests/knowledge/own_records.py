"""Somebody's own records: one that is right, for tests to break."""

from __future__ import annotations

HEAD = """\
date: "2026-11-22"
horizon:
  acme-trainer: {version: "3.2.0", date: "2026-11-22"}
issues:
"""

RECORD = """\
  - id: ACME-0001
    summary: The learning rate of the second epoch is that of the first one again
    details: The scheduler is made anew for every epoch.
    level: error
    silent: true
    categories: [optimizer]
    affected:
      - packages: {acme-trainer: ">=3.0.0,<3.1.4"}
    remedies:
      - {kind: upgrade, package: acme-trainer, versions: ">=3.1.4"}
    references:
      - {type: REPORT, url: "https://tracker.acme.example/TRAIN-812"}
    range_basis: tags
    evidence: ["scheduler.py was read in 2.9.9, 3.0.0, 3.1.3 and 3.1.4."]
    examples:
      affected:
        - {acme-trainer: 3.0.0}
        - {acme-trainer: 3.1.3}
      not_affected:
        - {acme-trainer: 2.9.9}
        - {acme-trainer: 3.1.4}
"""

# The line on which the record begins.
FIRST_LINE = 5


def own(*changes: tuple[str, str], head: str = HEAD) -> str:
    """The file with pieces of its text replaced, each of which it has to have."""
    text = head + RECORD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
