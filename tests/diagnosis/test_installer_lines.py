"""Conflicts in the words of pip and uv."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis.installer_lines import Demand, InstallerLines, Missing


def seen(text: str) -> InstallerLines:
    lines = InstallerLines()
    for number, line in enumerate(text.split("\n"), start=1):
        lines.see(number, line)
    lines.end()
    return lines


def asked(text: str) -> list[tuple[str | None, str | None, str, str, str | None]]:
    return [(one.by, one.version, one.name, one.specifier, one.found) for one in seen(text).demands]


@pytest.mark.parametrize(
    ("line", "demand"),
    [
        (
            "torchvision 0.14.1+cu116 requires torch==1.13.1, but you have torch 2.0.0 which is incompatible.",
            ("torchvision", "0.14.1+cu116", "torch", "==1.13.1", "2.0.0"),
        ),
        (
            "ERROR: torchvision 0.5.0 has requirement torch==1.4.0, but you'll have torch 1.5.0 which is incompatible.",
            ("torchvision", "0.5.0", "torch", "==1.4.0", "1.5.0"),
        ),
        (
            "torchvision 0.14.1 has requirement torch==1.13.1, but you have torch 2.0.0.",
            ("torchvision", "0.14.1", "torch", "==1.13.1", "2.0.0"),
        ),
        (
            "datasets 3.3.2 requires fsspec[http]<=2024.12.0,>=2023.1.0, but you have fsspec 2025.3.0 which is "
            "incompatible.",
            ("datasets", "3.3.2", "fsspec", "<=2024.12.0,>=2023.1.0", "2025.3.0"),
        ),
        (
            'llamafactory 0.9.2 requires transformers!=4.46.*,<=4.49.0; python_version >= "3.10", but you have '
            "transformers 4.50.0.dev0 which is incompatible.",
            ("llamafactory", "0.9.2", "transformers", "!=4.46.*,<=4.49.0", "4.50.0.dev0"),
        ),
    ],
)
def test_what_pip_leaves_broken(line: str, demand: tuple[str, ...]) -> None:
    assert asked(line) == [demand]


@pytest.mark.parametrize(
    ("written", "specifier"),
    [("<0.22 and >=0.21", "<0.22,>=0.21"), ("!=1.0, <2 and >=0.5", "!=1.0,<2,>=0.5"), ("==0.19.1", "==0.19.1")],
)
def test_pip_writes_the_last_clause_of_a_conflict_behind_and(written: str, specifier: str) -> None:
    """As pip 23.2.1 does, of transformers 4.49.0 beside tokenizers 0.19.1."""
    text = (
        "The conflict is caused by:\n    The user requested tokenizers==0.19.1\n"
        f"    transformers 4.49.0 depends on tokenizers{written}\n"
    )
    assert asked(text) == [
        (None, None, "tokenizers", "==0.19.1", None),
        ("transformers", "4.49.0", "tokenizers", specifier, None),
    ]


def test_what_pip_cannot_resolve() -> None:
    text = (
        "The conflict is caused by:\n"
        "    The user requested transformers==4.30.0\n"
        "    trl 0.9.6 depends on transformers>=4.31.0\n"
        '    peft 0.4.0 depends on torch>=1.13.0; python_version >= "3.8"\n'
        "\n"
        "    the loss 1.0 depends on nothing>=2.0\n"
    )
    assert asked(text) == [
        (None, None, "transformers", "==4.30.0", None),
        ("trl", "0.9.6", "transformers", ">=4.31.0", None),
        ("peft", "0.4.0", "torch", ">=1.13.0", None),
    ]


def test_what_uv_cannot_resolve_is_read_over_wrapped_lines() -> None:
    text = (
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because vllm==0.6.3 depends on torch{sys_platform == 'linux'}==2.4.0 and you require\n"
        "      vllm==0.6.3, we can conclude that you require torch==2.4.0.\n"
        "      And because you require torch==2.5.0, we can conclude that your requirements are unsatisfiable.\n"
        "and you require torch==9.0"
    )
    assert asked(text) == [
        ("vllm", "0.6.3", "torch", "==2.4.0", None),
        (None, None, "vllm", "==0.6.3", None),
        (None, None, "torch", "==2.5.0", None),
    ]


def test_what_an_index_does_not_offer() -> None:
    text = "ERROR: Could not find a version that satisfies the requirement torch==1.8.1 (from versions: 1.13.0, 2.0.0)"
    assert seen(text).missing == [
        Missing(name="torch", specifier="==1.8.1", versions=("1.13.0", "2.0.0"), line=1, text=text)
    ]
    (none,) = seen("ERROR: Could not find a version that satisfies the requirement torch (from versions: none)").missing
    assert (none.specifier, none.versions) == ("", ())
    (handed_on,) = seen(
        "ERROR: Could not find a version that satisfies the requirement torch>=1.3.0 (from torchlayers) "
        "(from versions: 0.1.2, 0.1.2.post1)"
    ).missing
    assert handed_on.specifier == ">=1.3.0"


@pytest.mark.parametrize(
    "line",
    [
        "the loss requires torch==1.0, but you have to wait which is incompatible.",
        "    trl 0.9.6 depends on transformers>=4.31.0",
        "we require torch==2.5.0",
        "a" * 100_000 + " which is incompatible.",
        "a 1" + "," * 50_000 + " which is incompatible.",
    ],
)
def test_other_lines_are_none_of_an_installers(line: str) -> None:
    assert asked(line) == []


def test_a_build_lasts_until_the_end_of_its_output() -> None:
    lines = InstallerLines()
    states = []
    for number, line in enumerate(
        ["  × Getting requirements to build wheel did not run successfully.", "      x", "      [end of output]"]
    ):
        lines.see(number, line)
        states.append(lines.building)
    assert states == [True, True, False]


def test_no_more_is_kept_than_is_told() -> None:
    line = "torchvision 0.14.1 requires torch==1.13.1, but you have torch 2.0.0 which is incompatible."
    assert len(seen("\n".join([line] * 1000)).demands) == 400
    assert isinstance(seen(line).demands[0], Demand)
