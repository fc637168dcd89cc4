"""Terms and entries in words."""

from __future__ import annotations

import pytest

from gradcompat.messages import condition, entry_text, joined, value_text, versions_text
from gradcompat.model.environment import Package, SettingValue
from gradcompat.model.issue import (
    ModelTerm,
    PackageAbsentTerm,
    PlatformTerm,
    PythonTerm,
    SymbolAbsentTerm,
    SymbolTerm,
    Term,
    VirtualTerm,
)
from gradcompat.requirements.versions import ALL, VersionSet
from tests.building import compares, equals, package, versions


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (versions("torch"), "torch is installed"),
        (versions("torch", ">=2.0,<2.1 || ==2.3"), "torch is >=2.0,<2.1 or ==2.3"),
        (PackageAbsentTerm(name="peft"), "peft is not installed"),
        (equals("training.packing", True), "training.packing is true"),
        (equals("precision.mode", "fp16", "bf16", "fp8"), "precision.mode is fp16, bf16 or fp8"),
        (compares("training.seed", ">", 1), "training.seed is more than 1"),
        (compares("training.seed", ">=", 1), "training.seed is at least 1"),
        (compares("training.seed", "<", 1.5), "training.seed is less than 1.5"),
        (compares("training.seed", "<=", 1), "training.seed is at most 1"),
        (compares("precision.mode", "!=", "no"), "precision.mode is not no"),
        (ModelTerm(classes=("A", "B*")), "the model is A or B*"),
        (SymbolTerm(symbols=("torch.compile",)), "the code uses torch.compile"),
        (SymbolAbsentTerm(symbols=("torch.compile",)), "the code does not use torch.compile"),
        (PythonTerm(versions=VersionSet.parse(">=3.12")), "Python is >=3.12"),
        (PlatformTerm(platforms=("linux", "darwin")), "the platform is linux or darwin"),
        (VirtualTerm(name="__cuda", versions=VersionSet.parse("<12.4")), "CUDA is <12.4"),
        (VirtualTerm(name="__glibc", versions=ALL), "glibc is there"),
        (VirtualTerm(name="__other", versions=ALL), "__other is there"),
    ],
)
def test_condition(term: Term, expected: str) -> None:
    assert condition(term) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (package("torch", "2.5.1+cu124"), "torch 2.5.1+cu124"),
        (package("torch", specifier=">=2,<3"), "torch>=2,<3"),
        (package("torch", specifier="*"), "torch"),
        (package("torch"), "torch"),
    ],
)
def test_entry(entry: Package, expected: str) -> None:
    assert entry_text(entry) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, "true"), (False, "false"), (1, "1"), (0.5, "0.5"), ("bf16", "bf16"), (("a", "b"), "a, b"), ((), "none")],
)
def test_value(value: SettingValue, expected: str) -> None:
    assert value_text(value) == expected


def test_joined() -> None:
    assert joined(("a",)) == "a"
    assert joined(("a", "b")) == "a or b"
    assert joined(("a", "b", "c"), "and") == "a, b and c"


def test_versions() -> None:
    assert versions_text(VersionSet.parse("<1 || ==2 || >3")) == "<1 or ==2 or >3"
    assert versions_text(ALL) == "*"
