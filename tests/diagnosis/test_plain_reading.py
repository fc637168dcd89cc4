"""The quick reader against one that goes over a log line by line: both must see the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.diagnosis import lines, log
from gradcompat.diagnosis.devices_in_log import DEVICE_ANCHORS
from gradcompat.diagnosis.error_lines import error_in
from gradcompat.diagnosis.lines import Block, cleaned, shown
from gradcompat.diagnosis.metrics import HINTS, parse_line
from gradcompat.diagnosis.report_in_log import SETTING_ANCHORS, STATEMENT_ANCHORS, Statements
from gradcompat.diagnosis.symptoms import Pattern, find, find_wrapped, patterns_of
from tests.building import issue, versions
from tests.diagnosis.reading import read, segments, with_symptoms
from tests.examples import examples

MESSAGE = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
LONG = (
    "We have changed what this function does by default, which may be what you want, or not; read the notes of the "
    "release, and say with the argument which of the two you mean"
)
SYMPTOMS = (
    LONG,
    "element 0 of tensors does not require grad",
    r"KeyError: torch\.(float32|bfloat16)",
    "(?i)requires_grad False",
    r"'loss': '?0(\.0+)?'?[,}]",
    "site-packages/peft/tuners",
)
PATTERNS, _ = patterns_of([with_symptoms(issue((versions("torch"),)), *SYMPTOMS)])
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")


def plainly(data: bytes) -> dict[str, object]:
    """What a log holds, line by line, every pattern on every line."""
    plain = ESCAPE.sub(b"", data).replace(b"\0", b"").replace(b"\r\n", b"\n")
    found = list(segments(Block(1, plain.count(b"\n"), plain)))
    texts = [cleaned(segment) for _, segment in found]
    hits: dict[str, dict[int, str]] = {}
    statements = Statements("x.log")
    errors: dict[str, int] = {}
    modules: set[str] = set()
    for index, ((number, segment), text) in enumerate(zip(found, texts, strict=True)):
        for pattern in PATTERNS:
            for line, place in _seen(pattern, found, texts, index):
                hits.setdefault(pattern.text, {}).setdefault(line, place)
        if statements.in_table or _holds(segment, (*STATEMENT_ANCHORS, *SETTING_ANCHORS, *DEVICE_ANCHORS)):
            statements.see(number, text)
        if (error := error_in(text)) is not None:
            errors.setdefault(shown(error), number)
        modules.update(re.findall(r"(?:site|dist)-packages[/\\](\w+)", text))
    metrics = [(values, number) for (number, _), text in zip(found, texts, strict=True) if (values := parse_line(text))]
    return {
        "hits": hits,
        "metrics": repr(metrics),
        "errors": errors,
        "modules": modules,
        "statements": statements.lines,
        "settings": statements.settings,
    }


def _seen(pattern: Pattern, found: list[tuple[int, bytes]], texts: list[str], index: int) -> Iterable[tuple[int, str]]:
    """Where the pattern matches in a line, or else in it and its neighbours if one line was wrapped."""
    segment, text = found[index][1], texts[index]
    at = find(pattern, text)
    if at is not None:
        return [(found[index][0], shown(text, at))]
    if any(hint.encode() in segment.lower() for hint in HINTS) or not _holds(
        segment.lower() if pattern.caseless else segment, pattern.pieces
    ):
        return []
    first = max(0, index - 2)
    near = slice(first, index + 3)
    lengths = [len(one.decode("utf-8", "replace").rstrip()) for _, one in found[near]]
    wrapped = find_wrapped(pattern, texts[near], lengths, index - first)
    if wrapped is None:
        return []
    return [(found[first + wrapped[0]][0], shown(texts[first + wrapped[0]], wrapped[1]))]


def _holds(segment: bytes, words: Iterable[bytes]) -> bool:
    return any(word in segment for word in words)


NUMBERS = st.one_of(
    st.integers(0, 120_000).map(str),
    st.floats(0, 200).map(lambda value: f"{value:.4f}"),
    st.floats(1e-9, 1e-2).map(repr),
    st.sampled_from(["0.0", "0", "nan", "inf", "0.000", "-1.5", "nan.0", "1.0"]),
)


FRACTIONS = st.one_of(
    st.floats(0, 200).map(lambda value: f"{value:.4f}"),
    st.floats(1e-5, 1e-2).map(lambda value: f"{value:.3e}"),
    st.sampled_from(["1.5", "-1.5", "123.25"]),
)


def filled(template: str, numbers: st.SearchStrategy[str] = NUMBERS) -> st.SearchStrategy[str]:
    """The template with numbers for its ``#``."""
    parts = template.split("#")
    return st.lists(numbers, min_size=len(parts) - 1, max_size=len(parts) - 1).map(
        lambda numbers: "".join(part + number for part, number in zip(parts, [*numbers, ""], strict=True))
    )


METRICS = [
    "{'loss': #, 'grad_norm': #, 'learning_rate': #, 'epoch': #}",
    "{'loss': '#', 'grad_norm': '#', 'epoch': '#'}",
    "[2026-01-02 03:04:05,678] [INFO] [logging.py:96:log_dist] [Rank 0] step=#, skipped=#, lr=[#, #], mom=[0.9]",
    "Epoch #:  12%|█▏  | 3/17 [00:01<00:09, #it/s, loss=#, v_num=#]",
    "Epoch 1:  12%|█▏  | 11/170 [00:01<00:09, 9.87it/s, loss=#]",
    "iter #: loss #, time #ms",
    "[rank#]: step #: train loss: #, lr: #",
    "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: #, reducing to #",
    "LOSS of #",
]
FIXED = [
    MESSAGE,
    *(f"{'x' * 40} {MESSAGE[:column]}\n{MESSAGE[column:]}" for column in (25, 40, 60)),
    f"{LONG[:75]}\n{LONG[75:136]}\n{LONG[136:]}",
    f"{LONG[:30]}\n{LONG[30:]}",
    f"{'z' * 55}{LONG[:10]}\n{LONG[10:72]}\n{LONG[72:]}",
    f"{{'grad_norm': 1.0, 'note': '{'x' * 40}', 'loss': \n0.0}}",
    "y" * 70,
    "",
    "KeyError: torch.bfloat16",
    "KeyError: torch.",
    "Requires_Grad FALSE",
    '  File "D:\\v\\site-packages\\peft\\tuners\\lora.py", line 3',
    '  File "/v/lib/python3.11/site-packages/peft/tuners/lora.py", line 3',
    "torch.cuda.OutOfMemoryError: CUDA out of memory.",
    "an Error of no kind",
    "[rank3]: ValueError: of a rank",
    "  3: ValueError: of a task",
    "│ ❱ ValueError: in a frame │",
    "\u00a012: KeyError: behind a space that does not break",
    "    raise ValueError: in source code",
    "{'error': ValueError: in data",
    "PyTorch version: 2.6.0",
    "Package      Version\n------------ -------\npeft         0.12.0\ntrl          0.9.6",
    "  Gradient Accumulation steps = 8",
    "\x1b[31mKeyError: \x1b[0mtorch.float32",
    "\0\0after a crash",
]
LINES = st.one_of(st.sampled_from(FIXED), st.sampled_from(METRICS).flatmap(filled))
ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
LOGS = st.lists(st.tuples(LINES, ENDS), max_size=60).map(lambda parts: "".join(line + end for line, end in parts))
# Many lines of one form one after the other, with others among them.
ALIKE = st.sampled_from(METRICS).flatmap(
    lambda template: st.lists(
        st.tuples(st.one_of(*[filled(template, FRACTIONS)] * 6, LINES), ENDS), min_size=20, max_size=60
    ).map(lambda parts: "".join(line + end for line, end in parts))
)


@pytest.mark.parametrize("size", [260, 700, 1 << 20])
@settings(max_examples=examples(150))
@given(data=LOGS)
def test_nothing_is_seen_but_what_a_plain_reader_sees(data: str, size: int) -> None:
    raw = b"a log, of which most is text, as it is of all of them\n" + data.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", max(size, max(map(len, raw.split(b"\n"))) + 2))
        found, metrics = read(raw, *SYMPTOMS)
    expected = plainly(raw)
    hits = {text: hit.places for text, hit in found.hits.items()}
    plain_hits = expected["hits"]
    assert isinstance(plain_hits, dict)
    for text, places in hits.items():
        if len(places) == 5:  # which of more are kept is no matter
            assert places.items() <= plain_hits.pop(text).items()
    assert {
        "hits": {text: places for text, places in hits.items() if len(places) < 5},
        "metrics": repr(metrics),
        "errors": found.errors,
        "modules": found.modules,
        "statements": found.statements.lines,
        "settings": found.statements.settings,
    } == expected


@pytest.mark.parametrize(("size", "piece"), [(700, 300), (1 << 20, 500)])
@settings(max_examples=examples(100))
@given(data=st.one_of(LOGS, ALIKE))
def test_lines_that_are_read_by_their_form_show_what_they_show_one_by_one(data: str, size: int, piece: int) -> None:
    raw = b"a log, of which most is text, as it is of all of them\n" + data.encode()
    found = []
    for least in (2, 1_000_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lines, "BLOCK", max(size, max(map(len, raw.split(b"\n"))) + 2))
            patch.setattr(log, "_PIECE", piece)
            patch.setattr(log, "_FORMS", least)
            seen, metrics = read(raw, *SYMPTOMS)
        found.append(
            {
                "hits": {text: (hit.count, hit.places) for text, hit in seen.hits.items()},
                "metrics": [(number, repr(sorted(values.items()))) for values, number in metrics],
                "errors": (seen.errors, seen.echoes, seen.open_traceback, seen.modules),
                "statements": (seen.statements.lines, seen.statements.settings),
                "lines": (seen.lines, seen.metric_lines),
            }
        )
    assert found[0] == found[1]
