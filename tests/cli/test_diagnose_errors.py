"""What ``gradcompat diagnose`` says of the errors in a log."""

from __future__ import annotations

import json
from typing import Any

from tests.conftest import Run

TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    main()\n'
FRAME = '  File "/opt/lib/python3.11/site-packages/{}", line 10, in train\n'


def told(run: Run, text: str, *options: str) -> tuple[int, dict[str, Any]]:
    outcome = run("diagnose", "-", "--format", "json", *options, stdin=text)
    return outcome.status, json.loads(outcome.out)


def texts(data: dict[str, Any]) -> list[tuple[str, str | None, int]]:
    return [(one["sentence"], one["text"], one["line"]) for one in data["unexplained"]]


def issues(data: dict[str, Any]) -> list[str | None]:
    return [one["issue"] for one in data["diagnoses"]]


def test_an_unexplained_crash_is_incomplete(run: Run) -> None:
    status, data = told(run, TRACEBACK + "ValueError: my own\n")
    assert (status, data["exit_status"]) == (3, 3)
    assert texts(data) == [("an error", "ValueError: my own", 4)]


def test_each_error_is_listed_behind_its_prefix(run: Run) -> None:
    status, data = told(
        run,
        "E   ImportError: cannot import name 'id_tensor_storage' from 'transformers.pytorch_utils'\n"
        "[default0]:[rank0]: ValueError: one\n"
        "2025-01-02 03:04:05,678 - ERROR - KeyError: 'two'\n",
    )
    assert status == 3
    assert [text for _, text, _ in texts(data)] == [
        "ImportError: cannot import name 'id_tensor_storage' from 'transformers.pytorch_utils'",
        "ValueError: one",
        "KeyError: 'two'",
    ]


def test_a_traceback_that_is_cut_is_said(run: Run) -> None:
    status, data = told(run, TRACEBACK)
    assert status == 3
    assert texts(data) == [("a traceback with no line that names an error", "Traceback (most recent call last):", 1)]


def test_an_echo_is_said_where_nothing_else_is(run: Run) -> None:
    echo = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"
    status, data = told(run, TRACEBACK + echo + "\n")
    assert status == 3
    assert texts(data) == [("another process failed, and this log does not show why", echo, 4)]
    _, data = told(run, TRACEBACK + "ValueError: why\n" + TRACEBACK + echo + "\n")
    assert [text for _, text, _ in texts(data)] == ["ValueError: why"]


def test_more_errors_than_are_kept_are_said(run: Run) -> None:
    _, data = told(run, "".join(f"ValueError: number {number}\n" for number in range(50)))
    assert len(data["unexplained"]) == 20
    assert [one["reason"] for one in data["skipped"]] == ["has more than 20 different errors: the rest are not listed"]


def test_an_error_that_says_nan_is_recognised(run: Run) -> None:
    status, data = told(
        run,
        "(worker1, rank=1) [rank13]: RuntimeError: Rank 13, node w1, device 5, iteration 1: Unexpected result nan "
        "(message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication')\n",
    )
    assert (status, texts(data)) == (1, [])
    assert data["diagnoses"][0]["title"].startswith("The run has gone to NaN")
    assert [(one["sentence"], one["line"]) for one in data["diagnoses"][0]["because"]] == [
        ("an error says that a loss or a gradient is not finite", 1)
    ]
