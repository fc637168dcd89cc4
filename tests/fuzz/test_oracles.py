"""Each oracle fires when its bug is planted, and none where nothing is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from fuzz import oracles
from fuzz.campaign import reproduced
from fuzz.canaries import CANARIES, secrets_of
from fuzz.examination import Limits
from fuzz.inputs import Entry, Input
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Skipped
from gradcompat.sources import requirements

HARMLESS = "torch==2.5.1\n"
SECRET = f"HF_TOKEN={CANARIES['line']}\n"
Read = Callable[[Document], Environment]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fuzzer forks its processes")


def text(content: str = HARMLESS) -> Input:
    return Input(target="read", kind="requirements", entries=(Entry(path="requirements.txt", data=content.encode()),))


def folder(*more: Entry) -> Input:
    entries = (Entry(path="requirements.txt", data=HARMLESS.encode(), named=True), *more)
    return Input(target="inspect", kind="folder of a test", entries=entries)


def found(one: Input, limits: Limits | None = None) -> list[str]:
    return [finding.signature for finding in reproduced(one, limits)]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Document], object]], None]:
    """Let the reader of requirements do something first, and return that, if it is an environment."""
    original = requirements.read

    def planted(bug: Callable[[Document], object]) -> None:
        def read(document: Document) -> Environment:
            result = bug(document)
            return result if isinstance(result, Environment) else original(document)

        monkeypatch.setattr(requirements, "read", read)

    return planted


Plant = Callable[[Callable[[Document], object]], None]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert found(text()) == []
    assert found(folder()) == []


def test_an_undeclared_exception(plant: Plant) -> None:
    plant(lambda document: {"": document}["missing"])
    assert [one for one in found(text()) if not one.startswith("exception: KeyError in ")] == []
    assert len(found(text())) == 1


def test_a_broken_promise(plant: Plant) -> None:
    plant(lambda document: environment(Skipped(what="two\nlines", reason="x")))
    assert found(text()) == ["promise: read requirements: a sentence has two lines"]


def environment(*skipped: Skipped) -> Environment:
    return Environment(source="x", kind="requirements", packages=(), closed=False, skipped=skipped)


def test_a_leak(plant: Plant) -> None:
    plant(lambda document: environment(Skipped(what=document.text.strip(), reason="x")))
    assert found(text(SECRET)) == ["leak: line in read requirements"]


def test_a_leak_of_a_part(plant: Plant) -> None:
    plant(lambda document: environment(Skipped(what=document.text.strip()[:-10].upper(), reason="x")))
    assert found(text(SECRET)) == ["leak: line in read requirements"]


@pytest.mark.parametrize(
    ("content", "kind", "secret"),
    [
        (f"-i https://me:{CANARIES['credentials']}@index.example\n", "credentials", True),
        (f"-i https://me:/{CANARIES['credentials']}@index.example\n", "credentials", True),
        (f"{CANARIES['credentials']}==1\n", "credentials", False),
        (SECRET, "line", True),
        (f"{SECRET}numpy\n{CANARIES['line']}\n", "line", False),
        (f"python train.py --token {CANARIES['argument']}\n", "argument", True),
        (f"import {CANARIES['argument']}\n", "argument", False),
    ],
)
def test_a_word_is_a_secret_where_a_reader_would_know_it(content: str, kind: str, *, secret: bool) -> None:
    assert (kind in secrets_of([content.encode()], "requirements")) == secret


def test_a_patch_shows_the_lines_around_a_change() -> None:
    assert oracles.told({"text": SECRET}, "fix folder") == []
    assert [one.oracle for one in oracles.told({"errors": SECRET}, "fix folder")] == ["leak"]
    assert [one.oracle for one in oracles.told({"text": CANARIES["outside"]}, "fix folder")] == ["leak"]


def test_a_leak_from_outside_of_the_folder(plant: Plant) -> None:
    plant(lambda _: environment(Skipped(what=Path("../secret").read_text("utf-8"), reason="x")))
    one = folder(Entry(path="../secret", data=CANARIES["outside"].encode()))
    assert found(one) == ["leak: outside in inspect folder of a test"]


def test_a_loop(plant: Plant) -> None:
    def loop(_: Document) -> None:
        while True:
            pass

    plant(loop)
    assert found(text(), Limits(seconds=0.2)) == ["hang: read requirements: computes in sources/any_format.py:read_as"]


def test_a_pipe_that_nobody_writes_to(plant: Plant) -> None:
    reading, _writing = os.pipe()
    plant(lambda _: os.read(reading, 1))
    assert found(text(), Limits(waiting=0.4)) == ["hang: read requirements: waits in sources/any_format.py:read_as"]


def test_too_much_time(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "SECONDS", 0.02)
    plant(lambda _: sum(range(5_000_000)))
    assert [one.partition(" in ")[0] for one in found(text())] == ["time: read requirements"]


def test_a_larger_input_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert oracles.spent(3.0, 100, 2_000_000, "x", "y") == []
    assert [one.oracle for one in oracles.spent(5.0, 700, 2_000_000, "x", "y")] == ["time", "memory"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets the peak of another input")
def test_too_much_memory(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracles, "MEGABYTES", 30.0)
    plant(lambda _: len(b"x" * 80_000_000))
    assert found(text()) == ["memory: read requirements"]


def test_a_module_of_the_project_that_is_imported(plant: Plant) -> None:
    def imports(_: Document) -> None:
        sys.path.insert(0, os.getcwd())
        import_module("planted_by_a_test")

    plant(imports)
    one = folder(Entry(path="planted_by_a_test.py", data=b""))
    assert found(one) == ["imported: planted_by_a_test"]


def test_a_program_of_the_project_that_runs(plant: Plant) -> None:
    plant(lambda _: os.system("./tool"))  # noqa: S605  # the bug that is planted
    program = b'#!/bin/sh\necho "$0" >> "$FUZZ_MARKER"\n'
    assert found(folder(Entry(path="tool", data=program))) == ["imported: tool"]


def test_a_result_that_varies(plant: Plant) -> None:
    plant(lambda _: environment(Skipped(what=os.urandom(8).hex(), reason="x")))
    assert found(text()) == ["varies: read requirements"]


@pytest.mark.parametrize(
    ("name", "said", "signature"),
    [
        ("text", "a\x1b[31mb", r"control: '\x1b' in text of check"),
        ("markdown", "a\u202eb", r"control: '\u202e' in markdown of check"),
        ("errors", "a\u2028b", r"control: '\u2028' in errors of check"),
        ("json", '{"a": ', "malformed: json"),
        ("sarif", '{"a": NaN}', "malformed: sarif"),
        ("junit", "<a>", "malformed: junit"),
        ("github", "::error file=x::a\nrm -rf\n", "malformed: github"),
    ],
)
def test_a_report_that_is_none(name: str, said: str, signature: str) -> None:
    assert [one.signature for one in oracles.told({name: said}, "check x")] == [signature]


def test_an_exit_status_that_is_not_ours() -> None:
    assert oracles.ended(3, {}, "check x") == []
    assert [one.oracle for one in oracles.ended(70, {"errors": "error: bug"}, "check x")] == ["internal error"]
    assert [one.oracle for one in oracles.ended(-11, {}, "check x")] == ["status"]
    assert [one.oracle for one in oracles.silent(3, {"text": " "}, "check x")] == ["silence"]


def test_a_file_that_is_lost() -> None:
    entries = [Entry(path="train.yaml", named=True, unreadable=True), Entry(path="notes.md")]
    assert [one.signature for one in oracles.unnamed(entries, ["requirements.txt"], "x")] == [
        "lost: train.yaml unreadable file of x"
    ]
    assert oracles.unnamed(entries, ["not checked: train.yaml"], "x") == []
    assert [one.oracle for one in oracles.clean_beside_a_gap(entries, 0, "x")] == ["clean"]
    assert oracles.clean_beside_a_gap(entries, 3, "x") == []


@pytest.mark.parametrize(("before", "after", "wrong"), [(0, 3, False), (3, 0, True), (1, 3, True), (1, 1, False)])
def test_an_unreadable_file_lowers_no_status(before: int, after: int, *, wrong: bool) -> None:
    assert bool(oracles.lowered(before, after, Entry(path="x"))) == wrong
