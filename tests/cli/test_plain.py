"""A plain command line is read as typer reads it, and without typer; everything else is left to typer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Annotated, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.cli.commands import check, diagnose
from gradcompat.cli.declarations import Argument, Option
from gradcompat.cli.manual import LazyCommands, build_command
from gradcompat.cli.option_groups import Signature
from gradcompat.cli.plain import read_plain, run_plainly

SIGNATURE = Signature(check.command)
FLAGS = sorted(
    flag
    for parameter in SIGNATURE.parameters
    for declared in parameter.annotation.__metadata__
    if isinstance(declared, Option)
    for flags in declared.flags
    for flag in flags.split("/")
)
OTHERS = ["uv.lock", "a b", "x=y=z", "", "-", "--", "-x", "-h", "--help", "--set="]
WORDS = [*FLAGS, *(f"{flag}=x" for flag in FLAGS), *OTHERS]


def by_typer(words: list[str], of: Callable[..., int] = check.command) -> dict[str, Any] | None:
    """What the command is called with; None if typer does not call it."""
    calls: list[dict[str, Any]] = []

    @wraps(of)
    def command(**arguments: Any) -> int:
        calls.append(arguments)
        return 0

    cast("Any", command).__kwdefaults__ = of.__kwdefaults__
    built = build_command("check", cast("ModuleType", SimpleNamespace(command=command)))
    try:
        built.main(words, standalone_mode=False)
    except Exception:
        return None
    return calls[0] if calls else None


def plainly(words: list[str]) -> dict[str, Any] | None:
    values = read_plain(SIGNATURE.parameters, words)
    return None if values is None else SIGNATURE.arguments(values)


@given(words=st.lists(st.sampled_from(WORDS), max_size=6))
def test_what_is_plain_is_read_as_typer_reads_it(words: list[str]) -> None:
    values = plainly(words)
    assert values is None or values == by_typer(words)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["uv.lock", "other.txt"],
        ["-", "--strict", "--all"],
        ["uv.lock", "--format", "json", "--set", "a=1", "--set=b=2", "--fail-on=never", "--hide-suppressed"],
        ["--context", "train.yaml", ".", "--output", "sarif=a.sarif", "--only", "GC-0004", "--diff", "main"],
    ],
)
def test_usual_command_lines_are_plain(words: list[str]) -> None:
    values = plainly(words)
    assert values is not None
    assert values == by_typer(words)


@pytest.mark.parametrize(
    "words", [["train.log"], ["a.log", "uv.lock", "--format", "json", "--environment", "."], [], ["--set", "a=1"]]
)
def test_an_argument_that_is_needed(words: list[str]) -> None:
    signature = Signature(diagnose.command)
    values = read_plain(signature.parameters, words)
    assert (None if values is None else signature.arguments(values)) == by_typer(words, diagnose.command)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--bogus"], ["--format"], ["--set="], ["--strict=yes"], ["--", "uv.lock"], ["--set", "--strict"]],
)
def test_mistakes_and_help_are_left_to_typer(words: list[str]) -> None:
    assert plainly(words) is None


def declared(annotation: Any, default: Any = None) -> Callable[..., int]:
    def command(*, value: Any = default) -> int:
        return int(value)

    command.__annotations__ = {"value": annotation, "return": int}
    return command


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[int, Option("--jobs")],  # a number is typer's to read
        Annotated[str, Option("--name", envvar="NAME")],
        Annotated[str, Argument()],
        str,
    ],
)
def test_declarations_that_are_not_plain_are_left_to_typer(annotation: Any) -> None:
    assert read_plain(Signature(declared(annotation)).parameters, []) is None


def test_what_is_no_command_is_left_to_typer() -> None:
    assert [run_plainly(words) for words in ([], ["bogus"], ["knowledge", "lint"], ["--help"])] == [None] * 4


def test_commands_are_built_when_they_are_asked_for() -> None:
    commands = LazyCommands({"check": "gradcompat.cli.commands.check", "bogus": "gradcompat.no_such_module"})
    assert commands["check"].name == "check"
    assert list(commands) == ["check", "bogus"]
