"""Prints of objects that hold arguments."""

from __future__ import annotations

from gradcompat.diagnosis.excerpts import Excerpt
from gradcompat.diagnosis.printed_arguments import arguments


def test_one_line() -> None:
    text = (
        "lr=1e-05, name='a, b', flags=['x', 'y'], strategy=<IntervalStrategy.NO: 'no'>, size=(1, 2), none=None, "
        "device=device(type='cuda'), token=<HF_TOKEN>, on=True"
    )
    assert arguments(Excerpt("arguments", "Namespace", ((7, text),))) == (
        ("lr", 1e-05, 7),
        ("name", "a, b", 7),
        ("flags", ["x", "y"], 7),
        ("strategy", "no", 7),
        ("size", [1, 2], 7),
        ("none", None, 7),
        ("device", "device(type='cuda')", 7),
        ("token", None, 7),
        ("on", True, 7),
    )


def test_a_line_each() -> None:
    lines = [(number, f"a{number}={number},") for number in range(17)]
    told = [
        *lines,
        (20, "fsdp=[<FSDPOption.FULL_SHARD: 'full_shard'>, <FSDPOption.AUTO_WRAP: 'auto_wrap'>],"),
        (21, "optim=OptimizerNames.ADAMW_TORCH,"),
        (22, "output_dir=/out/it's,"),
        (23, "kwargs={'use_reentrant': False, 'deep': {'a': 1}},"),
    ]
    assert arguments(Excerpt("arguments", "TrainingArguments", tuple(told)))[17:] == (
        ("fsdp", ["full_shard", "auto_wrap"], 20),
        ("optim", "OptimizerNames.ADAMW_TORCH", 21),
        ("output_dir", "/out/it's", 22),
        ("kwargs", {"use_reentrant": False, "deep": {"a": 1}}, 23),
    )


def test_few_arguments_are_a_line_of_code() -> None:
    assert arguments(Excerpt("arguments", "Namespace", ((1, "lr=1, bits=4"),))) == ()
    assert arguments(Excerpt("arguments", "TrainingArguments", ((1, "a=1,"), (2, "b=2,"), (3, "c=3,")))) == ()


def test_nothing_is_run_and_nothing_raised() -> None:
    text = f"a=1, b=2, c=3, d={'[' * 4_000}, e=5"
    assert [name for name, _, _ in arguments(Excerpt("arguments", "Namespace", ((1, text),)))] == ["a", "b", "c", "d"]
    text = "a=__import__('os').getcwd(), b='\\d', c=" + "9" * 4_990
    listed = arguments(Excerpt("arguments", "Namespace", ((1, text),)))
    assert listed == (("a", "__import__('os').getcwd()", 1), ("b", "\\d", 1), ("c", "9" * 4_990, 1))
