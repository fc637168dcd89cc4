from __future__ import annotations

from gradcompat.model.report import Suppression
from gradcompat.suppression.apply import Judge, suppress
from tests.renderers.reports import FOR_GOOD, KNOWN, WAIVER, advised, audit, entry, record


def always(why: Suppression) -> Judge:
    return lambda _, __: why


def test_what_does_not_count_anyway_stays_where_it_is() -> None:
    found = [
        advised(record("GC-0001")),
        advised(record("GC-0002"), status="conditional"),
        advised(record("GC-0003"), status="conditional", probed="not_reproduced"),  # refuted
        advised(record("GC-0004"), status="conditional", probed="reproduced"),
        advised(record("GC-0005", "note", informational=True)),
        advised(record("GC-0006"), status="not_affected"),
    ]
    (one,) = suppress([audit(*found)], [always(WAIVER)])
    assert [each.finding.issue.id for each in one.findings] == ["GC-0003", "GC-0006"]
    assert [each.finding.issue.id for each in one.suppressed] == ["GC-0001", "GC-0002", "GC-0004", "GC-0005"]
    assert {each.suppressed for each in one.suppressed} == {WAIVER}


def test_the_first_judge_that_speaks_counts() -> None:
    def second_line(_: object, one: object) -> Suppression | None:
        return FOR_GOOD if one is found[1] else None

    found = [advised(record(), entry(line=line)) for line in (1, 2)]
    (one,) = suppress([audit(*found)], [second_line, always(KNOWN)])
    assert [each.suppressed for each in one.suppressed] == [KNOWN, FOR_GOOD]


def test_nothing_changes_where_nobody_speaks() -> None:
    audits = [audit(advised(record())), audit(source="b.lock")]
    assert suppress(audits, []) == audits
    (first, second) = suppress(audits, [lambda _, __: None])
    assert first is audits[0]
    assert second is audits[1]
