"""Reading logs: symptoms, metrics, errors and environments, each with its line."""

from __future__ import annotations

import codecs
import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradcompat.diagnosis import lines, log
from gradcompat.diagnosis.lines import cleaned
from gradcompat.errors import Malformed
from gradcompat.model.environment import Location, Setting
from tests.diagnosis.reading import places, read

SYMPTOMS = (
    "element 0 of tensors does not require grad",
    r"KeyError: torch\.(float32|bfloat16)",
    "(?i)requires_grad False",
)


def test_symptoms_metrics_and_errors() -> None:
    found, metrics = read(
        "starting\n"
        "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
        "Traceback (most recent call last):\n"
        '  File "/opt/lib/python3.10/site-packages/transformers/trainer.py", line 1, in train\n'
        "[rank3]: RuntimeError: element 0 of tensors does not require grad\n"
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
        *SYMPTOMS,
    )
    assert places(found) == {SYMPTOMS[0]: [5]}
    assert metrics == [({"loss": 1.5, "grad_norm": 0.5, "learning_rate": 1e-05, "epoch": 0.1}, 2)]
    assert found.errors == {"RuntimeError: element 0 of tensors does not require grad": 5}
    assert found.modules == {"transformers"}
    assert (found.lines, found.metric_lines) == (6, 1)


def test_metrics_printed_over_a_progress_bar() -> None:
    _, metrics = read(
        b"  0%|  | 1/9\r 10%|# | 2/9\r{'loss': 2.0, 'epoch': 1}\r 20%|##| 3/9\n{'loss': 1.0, 'epoch': 2}\n"
    )
    assert metrics == [({"loss": 2.0, "epoch": 1.0}, 1), ({"loss": 1.0, "epoch": 2.0}, 2)]


def test_lines_that_differ_in_numbers_are_each_looked_at() -> None:
    text = "".join(f"KeyError: torch.float{number}\n" for number in (8, 16, 32, 64, 32))
    assert places(read(text, *SYMPTOMS)[0]) == {SYMPTOMS[1]: [3, 5]}


def test_only_the_first_places_are_kept_and_all_are_counted() -> None:
    found, _ = read("requires_grad False\n" * 50, *SYMPTOMS)
    assert places(found) == {SYMPTOMS[2]: [1, 2, 3, 4, 5]}
    assert found.hits[SYMPTOMS[2]].count == 50


@pytest.mark.parametrize("size", [*range(100, 140, 2), 1 << 20])
def test_a_wrapped_message_is_found_over_the_edge_of_a_block(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    message = "x" * 60 + " element 0 of tensors does not require grad"
    for column in range(64, 104, 2):
        text = f"first line\nsecond line\n{message[:column]}\n{message[column:]}\nlast\n"
        assert places(read(text, *SYMPTOMS)[0]) == {SYMPTOMS[0]: [3]}, column


FRAME_AND_MESSAGE = r"accelerate/optimizer\.py.{0,40}\btrain\b[\s\S]{0,400}object has no attribute 'train'"
TRACEBACKS = (
    '  File "/v/site-packages/accelerate/optimizer.py", line 128, in train\n'
    "    return self.optimizer.train()\n"
    "           ^^^^^^^^^^^^^^^^^^^^\n"
    "AttributeError: 'AdamW' object has no attribute 'train'\n",
    '[rank1]:   File "C:\\v\\site-packages\\accelerate\\optimizer.py", line 128, in train\n'
    "[rank1]:     return self.optimizer.train()\n"
    "[rank1]: AttributeError: 'AdamW' object has no attribute 'train'\n",
    "File /v/site-packages/accelerate/optimizer.py:128, in AcceleratedOptimizer.train(self)\n"
    "--> 128     return self.optimizer.train()\n\n"
    "AttributeError: 'AdamW' object has no attribute 'train'\n",
)


@pytest.mark.parametrize("size", [*range(80, 320, 20), 1 << 20])
@pytest.mark.parametrize("traceback", TRACEBACKS)
def test_a_frame_and_the_message_below_it_are_one_symptom(
    monkeypatch: pytest.MonkeyPatch, size: int, traceback: str
) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    text = f"a line\nTraceback (most recent call last):\n{traceback}behind\n"
    assert places(read(text, FRAME_AND_MESSAGE)[0]) == {FRAME_AND_MESSAGE: [2 + traceback.count("\n")]}


def test_a_frame_of_another_traceback_is_no_part_of_a_symptom() -> None:
    frame, message = TRACEBACKS[0].split("\n")[0], "AttributeError: 'A' object has no attribute 'train'"
    head = "Traceback (most recent call last):"
    assert places(read(f"{head}\n{frame}\nOSError: x\n{head}\n{message}\n", FRAME_AND_MESSAGE)[0]) == {}
    assert places(read(f"{head}\n{message}\n{frame}\n", FRAME_AND_MESSAGE)[0]) == {}


def test_metrics_at_the_edges_of_blocks_are_taken_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 50)
    text = "".join(f"{{'loss': {number}.5, 'epoch': {number}}}\n" for number in range(1, 60))
    _, metrics = read(text, *SYMPTOMS)
    assert metrics == [({"loss": number + 0.5, "epoch": float(number)}, number) for number in range(1, 60)]


WORDS = (
    "element 0 of tensors does not require grad",
    "KeyError: torch.",
    "bfloat16",
    "requires_grad",
    " False",
    " 12 ",
    "\r",
)
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=3).map("".join), max_size=30)


@given(TEXTS, st.sampled_from([8, 50, 1 << 20]))
def test_nothing_is_missed_that_a_plain_search_finds(texts: list[str], size: int) -> None:
    assume(all(len(text) < 60 for text in texts))  # longer ones may be halves of a wrapped message
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", max(size, max(map(len, texts), default=0) + 2))
        found, _ = read("\n".join(texts), *SYMPTOMS)
    expected: dict[str, list[int]] = {}
    for symptom in SYMPTOMS:
        seen = [
            number
            for number, text in enumerate(texts, 1)
            if any(re.search(symptom, cleaned(part.encode())) for part in text.split("\r"))
        ]
        if seen:
            expected[symptom] = seen[:5]
    assert places(found) == expected


def test_a_symptom_on_every_line_is_not_looked_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_ENOUGH", 7)
    found, _ = read("requires_grad False\n" * 50 + "KeyError: torch.float32\n", *SYMPTOMS)
    assert places(found) == {SYMPTOMS[2]: [1, 2, 3, 4, 5], SYMPTOMS[1]: [51]}
    assert found.hits[SYMPTOMS[2]].count == 7


def test_twenty_errors_are_enough() -> None:
    found, _ = read("".join(f"ValueError: number {number}\n" for number in range(50)))
    assert found.errors == {f"ValueError: number {number}": number + 1 for number in range(20)}


def test_the_environment_in_a_log() -> None:
    found, _ = read(
        "launching\n"
        "- `transformers` version: 4.46.1\n"
        "- PyTorch version (GPU?): 2.6.0+cu124 (True)\n"
        "noise\n"
        "Package         Version\n"
        "--------------- -------\n"
        "peft            0.12.0\n"
        "trl             0.9.6\n"
        "\n"
        "accelerate      9.9.9\n"
        "  Gradient Accumulation steps = 8\n"
        "  seq_parallel_communication_data_type  torch.float32\n"
        "  zero_optimization_stage ...... 2\n"
    )
    assert [number for number, _ in found.statements.lines] == [2, 3, 5, 6, 7, 8]
    assert list(found.statements.settings.values()) == [
        Setting(key="training.gradient_accumulation_steps", value=8, location=Location(path="x.log", line=11)),
        Setting(key="deepspeed.zero_stage", value=2, location=Location(path="x.log", line=13)),
    ]


def test_a_table_goes_on_over_the_edge_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 60)
    rows = "".join(f"package-{chr(97 + number)}   1.{number}\n" for number in range(26))
    found, _ = read(f"start\nPackage   Version\n-------   -------\n{rows}\nend of it   2\n")
    assert [number for number, _ in found.statements.lines] == list(range(2, 30))


def test_hostile_text_ends() -> None:
    found, metrics = read(
        b"'loss': " * 200_000 + b"\n" + b"{" * 300_000 + b"\n\xff\xfe requires_grad False\n", *SYMPTOMS
    )
    assert metrics == []
    assert places(found) == {SYMPTOMS[2]: [3]}


@pytest.mark.parametrize(
    "line",
    [
        b"Package   Version\n-   " + b"-" * 900_000 + b"x",
        "│".encode() + b" " * 900_000 + b"requires_grad: x version: ",
        b"\x1b[" * 400_000 + b" version: 1.0",
        b"\r" * 900_000 + b"loss",
        b"Error: " * 100_000,
        b"[rank" * 200_000 + b"]: KeyError: torch.x",
        b"site-packages/" * 60_000,
    ],
    ids=range(7),
)
def test_long_hostile_lines_take_no_long_time(line: bytes) -> None:
    before = time.process_time()
    read(line + b"\n" + line, *SYMPTOMS)
    assert time.process_time() - before < 10


@given(st.binary(max_size=300), st.sampled_from([8, 64, 1 << 20]))
def test_any_bytes_are_a_log_or_malformed(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", size)
        try:
            found, _ = read(data, *SYMPTOMS)
        except Malformed:
            return
    texts = [data]
    if 0 in data or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # it may be UTF-16
        texts += [data.decode(name, "ignore").encode() for name in ("utf-16-le", "utf-16-be")]
    assert found.lines in {text.count(b"\n") + (text != b"" and not text.endswith(b"\n")) for text in texts}
