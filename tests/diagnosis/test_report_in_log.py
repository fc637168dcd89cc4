"""Versions and settings that a log states."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradcompat.diagnosis import report_in_log
from gradcompat.diagnosis.report_in_log import Statements, joined
from gradcompat.errors import SourceError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Setting
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


def packages(*lines: str) -> list[tuple[str, str | None, str]]:
    found = statements(*enumerate(lines, start=1)).environment(read)
    return [] if found is None else [(one.name, one.version, str(one.location)) for one in found.packages]


def test_an_upgrade_leaves_what_is_there() -> None:
    assert packages(
        "Requirement already satisfied: transformers in /opt/lib (4.48.3)",
        "  Attempting uninstall: transformers",
        "    Found existing installation: transformers 4.48.3",
        "    Uninstalling transformers-4.48.3:",
        "      Successfully uninstalled transformers-4.48.3",
        "Successfully installed transformers-4.49.0",
        "Installed 2 packages in 12ms",
        " - transformers==4.49.0",
        " + transformers==4.50.0",
        " + something-small==1.0",
    ) == [("transformers", "4.50.0", "x.log:9"), ("something-small", "1.0", "x.log:10")]


def test_what_every_process_says_is_kept_once() -> None:
    found = statements(*((number, "[setup] Transformers version 4.48.3") for number in range(1, 9)))
    assert found.lines == [(1, "transformers==4.48.3")]


def test_two_statements_that_differ_are_both_kept() -> None:
    assert packages("[setup] Transformers version 4.48.3", "[setup] Transformers version 4.49.0") == [
        ("transformers", "4.48.3", "x.log:1"),
        ("transformers", "4.49.0", "x.log:2"),
    ]


def test_the_config_that_transformers_prints_has_its_own_version() -> None:
    config = ("{", '  "architectures": [', '    "LlamaForCausalLM"', "  ],", '  "transformers_version": "4.49.0",', "}")
    assert packages("Model config LlamaConfig " + config[0], *config[1:]) == [("transformers", "4.49.0", "x.log:5")]
    # In a file it is the one that has saved the model.
    assert packages("loading configuration file config.json", *config) == []
    assert packages("[INFO] [config.py:1:print]   json = {", *config[1:]) == []


def test_the_host_says_what_it_has() -> None:
    found = statements(
        (3, "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |"),
        (9, "NCCL version 2.21.5+cuda12.4"),
    ).environment(read)
    assert found is not None
    assert (found.packages, found.virtual) == ((), {"__nccl": "2.21.5", "__nvidia_driver": "535.104.05"})


def test_a_long_line_of_pip_is_read() -> None:
    names = " ".join(f"package-number-{number}-1.{number}.0" for number in range(200))
    assert len(packages(f"Successfully installed {names}")) == 200


def test_where_the_next_line_counts() -> None:
    found = Statements("x.log")
    opened = []
    for number, line in enumerate(
        ("torch==2.5.1", "trl==0.9.6", "end", "+ torchrun a.py \\", "--lr 1", "Installed 1 package in 1ms", "end")
    ):
        found.see(number, line)
        opened.append(found.in_table)
    assert opened == [True, True, False, True, False, True, False]


def test_settings_of_several_places() -> None:
    def setting(value: int | None, line: int) -> Setting:
        return Setting(key="training.seed", value=value, location=Location(path="x.log", line=line))

    assert joined([setting(None, 1), setting(2, 5), setting(2, 3), setting(4, 4)]) == (setting(4, 4), setting(2, 5))
    assert joined([setting(None, 1)]) == (setting(None, 1),)


PIECES = (
    *(
        "Successfully installed ",
        "torch-2.5.1 ",
        "torch==2.5.1",
        "torch  2.5.1",
        " version ",
        "Namespace(",
        "a=1,",
        ")",
    ),
    *(
        "+ torchrun a.py ",
        "--lr 1",
        "\\",
        "Model config XConfig {",
        "{",
        "}",
        "with resolved config:",
        "torchtune.",
        "\x00",
    ),
    *("- Transformers 4.49.0", "Framework versions", "Command '['", "parameters TrainingArguments(", "Package Version"),
)


@given(st.lists(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=6).map("".join), max_size=12))
def test_any_lines_are_an_environment_or_none(lines: list[str]) -> None:
    found = statements(*enumerate(lines, start=1))
    environment = found.environment(read)
    assert environment is None or environment.kind == "log"


def test_no_line_takes_long() -> None:
    """Texts on which an expression that goes back and forth would not end."""
    for line in (
        "+ srun " + "-a=b " * 20_000,
        "a=" + " " * 100_000 + "b",
        "torch  2.5.1 " + "(a) " * 400,
        "x" * 1_900 + " version " + " " * 90,
        "Requirement already satisfied: torch in " + "(1" * 20_000,
        "Command '[" + "'a', " * 20_000,
        "Namespace(" + "a=[" * 30_000,
        "parameters TrainingArguments(" + "{" * 50_000,
    ):
        assert statements((1, line)).environment(read) is None
