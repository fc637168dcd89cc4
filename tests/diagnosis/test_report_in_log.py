"""Versions and settings that a log states."""

from __future__ import annotations

from gradcompat.diagnosis import report_in_log
from gradcompat.diagnosis.report_in_log import Statements
from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment
from gradcompat.sources import report


def read(text: str) -> Environment | None:
    try:
        return report.read(Document("x.log", text))
    except SourceError:
        return None


def statements(*lines: tuple[int, str]) -> Statements:
    found = Statements("x.log")
    for number, text in lines:
        found.see(number, text)
    return found


def test_places_are_those_of_the_log() -> None:
    found = statements(
        (100, "- `transformers` version: 4.46.1"),
        (101, "a line of something else"),
        (
            5_000,
            "[2026-01-02 10:00:00,000] [INFO] [Rank 0] DeepSpeed info: version=0.14.4, git-hash=x",
        ),
        (6_000, "Package   Version"),
        (6_001, "-------   -------"),
        (6_002, "peft      0.12.0"),
    ).environment(read)
    assert found is not None
    assert [(one.name, one.version, str(one.location)) for one in found.packages] == [
        ("transformers", "4.46.1", "x.log:100"),
        ("deepspeed", "0.14.4", "x.log:5000"),
        ("peft", "0.12.0", "x.log:6002"),
    ]
    assert (found.kind, found.closed, found.skipped) == ("log", False, ())


def test_a_log_without_statements_has_no_environment() -> None:
    assert statements((1, "the version of this file: unknown")).environment(read) is None


def test_settings_alone_are_an_environment() -> None:
    found = statements((4, "  Gradient Accumulation steps = 16")).environment(read)
    assert found is not None
    assert [(one.key, one.value, str(one.location)) for one in found.settings] == [
        ("training.gradient_accumulation_steps", 16, "x.log:4")
    ]


def test_a_setting_of_another_name_is_another() -> None:
    line = "[INFO] [config.py:1003:print]   seq_parallel_communication_data_type  ...... fp32"
    assert statements((1, line)).environment(read) is None
    line = "[INFO] [config.py:1003:print]   communication_data_type ...... fp32"
    found = statements((1, line)).environment(read)
    assert found is not None
    assert [(one.key, one.value) for one in found.settings] == [("deepspeed.communication_data_type", "fp32")]


def test_too_many_statements_are_cut_and_that_is_said() -> None:
    most = report_in_log.MOST_LINES
    found = statements(*((number, f"- `package{number}` version: 1.0") for number in range(1, most + 10))).environment(
        read
    )
    assert found is not None
    assert len(found.packages) == most
    assert [one.reason for one in found.skipped] == [
        "has more than 5,000 lines that state versions: the rest of them are not read"
    ]
