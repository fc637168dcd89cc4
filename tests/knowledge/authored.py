"""Records in YAML: one that is right, for tests to break."""

from __future__ import annotations

from pathlib import Path

HEAD = """\
date: 2026-11-20
packages:
  torch: {conda: [pytorch]}
  transformers: {yanked: ["4.52.0"]}
  pytorch-lightning: {also: [lightning]}
horizon:
  accelerate: {version: "1.15.0", date: "2026-11-20"}
  peft: {version: "0.21.2", date: "2026-11-20"}
  pytorch-lightning: {version: "2.6.6", date: "2026-11-20"}
  torch: {version: "2.15.0", date: "2026-11-20"}
  transformers: {version: "5.23.0", date: "2026-11-19"}
  trl: {version: "1.16.0", date: "2026-11-20"}
issues:
"""

RECORD = """\
  - id: GC-0001
    summary: The loss is multiplied by the number of micro-batches
    details: The Trainer does not divide.
    level: error
    silent: true
    categories: [loss-scale]
    affected:
      - packages: {transformers: ">=4.49.0,<4.52.1"}
        settings: {training.gradient_accumulation_steps: ">1"}
    remedies:
      - {kind: upgrade, package: transformers, versions: ">=4.52.1"}
      - {kind: downgrade, package: transformers, versions: "==4.48.3"}
      - {kind: setting, key: training.gradient_accumulation_steps, value: 1}
      - {kind: code, text: divide it}
    references: [{type: REPORT, url: "https://example.org/1"}]
    range_basis: tags
    evidence: ["ratio 4.0 on 4.49.0, 1.0 on 4.48.3 and 4.52.1"]
    examples:
      affected:
        - {transformers: 4.49.0, training.gradient_accumulation_steps: 8}
        - {transformers: 4.52.0, training.gradient_accumulation_steps: 2}
      not_affected:
        - {transformers: 4.48.3, training.gradient_accumulation_steps: 8}
        - {transformers: 4.52.1, training.gradient_accumulation_steps: 8}
        - {transformers: 4.49.0, training.gradient_accumulation_steps: 1}
      conditional:
        - {transformers: 4.49.0}
"""

# The line of HEAD and RECORD together on which the record begins.
FIRST_LINE = 14


def record(*changes: tuple[str, str]) -> str:
    """The right record with pieces of its text replaced, each of which it has to have."""
    text = RECORD
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def written(folder: Path, *records: str, head: str = HEAD) -> Path:
    path = folder / "issues.yaml"
    path.write_text(head + "".join(records), "utf-8")
    return path
