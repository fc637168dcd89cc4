"""How callables of a release are called: through re-exports, inheritance and dataclasses."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.releases.answers import Signature
from gradcompat.releases.signatures import signature
from tests.releases.packages import table

V1 = Version("1.0")
SOURCE = """
from dataclasses import dataclass, field
from typing import ClassVar
from elsewhere import Base

def f(a, /, b, c=None, *args, d, e=1, **kw): ...
def g(*, x="y"): ...
def long(a="0123456789012345678901234567890123456789012345678901234567890123456789"): ...
@unknown
def changed(a): ...
@deprecate_kwarg("old", new_name="new", version="2")
def renaming(new=None): ...

class Plain:
    def __init__(self, a, b=2): ...
    def method(self, x): ...
    @staticmethod
    def still(x): ...
    @classmethod
    def of(cls, x): ...
    @property
    def value(self): ...
class Child(Plain):
    def other(self): ...
class Empty: ...
class Foreign(Base): ...

@dataclass
class Arguments:
    output_dir: str = None
    many: list = field(default_factory=list)
    shared: ClassVar[int] = 1
    hidden: int = field(default=1, init=False)
@dataclass
class More(Arguments):
    output_dir: str = "out"
    beta: float = field(default=0.1, metadata={"help": "of the loss"})
class Below(More): ...
@strict(accept_kwargs=True)
@dataclass
class Replaced:
    a: int = 1
@dataclass(kw_only=True)
class Keywords:
    a: int
"""
RELEASE = {"one/__init__.py": "from .a import *\nfrom .a import Plain as Renamed\n", "one/a.py": SOURCE}


def text(found: Signature | None) -> str | None:
    """A signature as Python writes it."""
    if found is None:
        return None
    parts = []
    for one in found.parameters:
        star = one.kind if one.kind.startswith("*") else ""
        parts.append(f"{star}{one.name}" + (f"={one.default}" if one.default is not None else ""))
    return ", ".join(parts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("f", "a, b, c=None, *args, d, e=1, **kw"),
        ("g", "x='y'"),
        ("long", "a=…"),
        ("Plain", "a, b=2"),
        ("Renamed", "a, b=2"),
        ("Child", "a, b=2"),
        ("Child.method", "x"),
        ("Plain.still", "x"),
        ("Plain.of", "x"),
        ("Plain.value", None),
        ("Empty", ""),
        ("Foreign", None),
        ("Arguments", "output_dir=None, many=[]"),
        ("More", "output_dir='out', many=[], beta=0.1"),
        ("Replaced", None),
        ("Keywords", "a"),
        ("missing", None),
        ("a.f", "a, b, c=None, *args, d, e=1, **kw"),
    ],
)
def test_parameters(tmp_path: Path, name: str, expected: str | None) -> None:
    assert text(table(tmp_path, {"1.0": RELEASE}).signature(V1, f"one.{name}")) == expected


def test_a_module_of_another_package_is_no_class(tmp_path: Path) -> None:
    one = table(tmp_path, {"1.0": {"one/__init__.py": "import two\n"}})
    two = table(tmp_path, {"1.0": {"two/__init__.py": "class Plain: ...\n"}}, "two")
    assert signature(one, V1, "one.two.Plain", lambda _: (two, V1)) is None


def test_which_keywords_are_accepted(tmp_path: Path) -> None:
    one = table(tmp_path, {"1.0": RELEASE})

    def accepts(name: str, keyword: str) -> bool | None:
        found = one.signature(V1, f"one.{name}")
        return found.accepts(keyword) if found is not None else None

    assert accepts("More", "many") is True
    assert accepts("More", "shared") is False
    assert accepts("More", "hidden") is False
    assert accepts("f", "a") is None  # it may be among `**kw`
    assert accepts("f", "d") is True
    assert accepts("g", "y") is False
    assert accepts("changed", "b") is None  # the decorator may take it
    assert accepts("renaming", "old") is True
    assert one.renamed(V1, "one.renaming", "old") == "new"
    assert one.renamed(V1, "one.renaming", "new") is None


def test_a_class_that_inherits_from_a_dataclass_may_be_made_one(tmp_path: Path) -> None:
    source = """
from dataclasses import dataclass
@dataclass
class Config:
    name: str = ""
    def __init_subclass__(cls): dataclass(cls)
class Llama(Config):
    hidden_size: int = 1
@dataclass
class Own(Config):
    size: int = 1
"""
    one = table(tmp_path, {"1.0": {"one/__init__.py": source}})
    made, own = (one.signature(V1, f"one.{name}") for name in ("Llama", "Own"))
    assert made is not None
    assert own is not None
    assert (made.accepts("name"), made.accepts("hidden_size")) == (True, None)
    assert (own.accepts("size"), own.accepts("other")) == (True, False)


WARNING = """
import warnings
from dataclasses import dataclass

@dataclass
class Arguments:
    evaluation_strategy: str = None
    eval_strategy: str = "no"
    tokens: int = None
    other: int = None
    def __post_init__(self):
        if self.evaluation_strategy is not None:
            warnings.warn("`evaluation_strategy` is deprecated. Use `eval_strategy` instead", FutureWarning)
            self.eval_strategy = self.evaluation_strategy
        if self.tokens is not None:
            warnings.warn("`tokens` is slow with `other`")
        if self.other is None:
            self.other = 1
        if not self.other:
            warnings.warn("`other` is off, which is deprecated; `tokens` stands in instead")
@dataclass
class More(Arguments):
    beta: int = 1

def load(torch_dtype=None, dtype=None, use_auth_token=None, **kwargs):
    if torch_dtype is not None:
        logger.warning_once("`torch_dtype` is deprecated! Use `dtype` instead!")
        dtype = torch_dtype
    if "old" in kwargs:
        warnings.warn("`old` was renamed")
        dtype = kwargs.pop("old")
    if use_auth_token is not None:
        warnings.warn("`use_auth_token` is deprecated and goes")

def download(resume_download=None, force_download=False):
    if resume_download is not None:
        warnings.warn(
            "`resume_download` is deprecated and will be removed in version 1.0.0. Downloads always resume when "
            "possible. If you want to force a new download, use `force_download=True`.", FutureWarning
        )
"""


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("one.Arguments", {"evaluation_strategy": "eval_strategy"}),
        ("one.More", {"evaluation_strategy": "eval_strategy"}),
        ("one.load", {"torch_dtype": "dtype", "old": "dtype"}),
        ("one.download", {}),  # the other keyword does something else
    ],
)
def test_renames_that_a_warning_tells(tmp_path: Path, name: str, renamed: dict[str, str]) -> None:
    found = table(tmp_path, {"1.0": {"one/__init__.py": WARNING}}).signature(V1, name)
    assert found is not None
    assert found.renamed == renamed
