"""A knowledge base with one record of each kind that an OSV service tells apart."""

from __future__ import annotations

from pathlib import Path

from gradcompat.database.osv_api import Advisories
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from
from gradcompat.knowledge.records import read
from tests.knowledge.authored import record, written
from tests.planner.toy import table

_CONDITION = '        settings: {training.gradient_accumulation_steps: ">1"}\n'
_RANGE = '{transformers: ">=4.49.0,<4.52.1"}'

RELEASES = table({"transformers": {one: [] for one in ("4.48.3", "4.49.0", "4.51.3", "4.52.0", "4.52.1", "4.53.0")}})


def knowledge(folder: Path) -> KnowledgeBase:
    """GC-0001 hangs on a setting; 2 and 3 do not, 4 does not any more, 5 is about a package with two names."""
    return knowledge_from(
        compile_records(
            read(
                written(
                    folder,
                    record(),
                    record(("GC-0001", "GC-0002"), (_CONDITION, "")),
                    record(("GC-0001", "GC-0003"), (_CONDITION, ""), (_RANGE, '{transformers: ">=4.51.0,<4.53.0"}')),
                    record(
                        ("GC-0001", "GC-0004"), (_CONDITION, ""), ("level: error", "level: error\n    withdrawn: wrong")
                    ),
                    record(("GC-0001", "GC-0005"), (_CONDITION, ""), (_RANGE, '{pytorch-lightning: "<2.0.0"}')),
                )
            )
        ),
        "the records of the test",
    )


def advisories(folder: Path, *, conditional: bool = False, page: int = 1_000, batch_page: int = 3_000) -> Advisories:
    return Advisories(knowledge(folder), RELEASES, conditional=conditional, page=page, batch_page=batch_page)
