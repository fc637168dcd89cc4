"""Which keys a model of pydantic takes in a release."""

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.releases.answers import ModelKeys
from tests.releases.packages import table

V1 = Version("1.0")
SOURCE = """
import pydantic
from elsewhere import Base
from pydantic import BaseModel, Field, field_validator, model_validator
from typing import ClassVar

class ChecksMixin:
    @model_validator(mode="before")
    @classmethod
    def check(cls, data):
        if data.get("old"): raise ValueError("no longer")
        return data
class MoreChecks:
    @model_validator(mode="after")
    def check(self): return self
class AllMixin(ChecksMixin, MoreChecks):
    "All of them."
class Part(BaseModel):
    a: int = 1
class Whole(Part, AllMixin, BaseModel):
    model_config = {"populate_by_name": True}
    b: int | None = Field(default=None, alias="bb")
    shared: ClassVar[int] = 1
class Qualified(pydantic.BaseModel):
    a: int
class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int
class OpenToo(BaseModel):
    a: int
    class Config:
        extra = Extra.allow
class Below(Open):
    b: int
class Foreign(Base, BaseModel):
    a: int
class Plain:
    a: int
class OfPlain(Plain, BaseModel):
    b: int
"""


@pytest.mark.parametrize(
    ("name", "fields", "read"),
    [
        ("Part", {"a"}, set()),
        ("Whole", {"a", "b", "bb"}, {"old"}),
        ("Qualified", {"a"}, set()),
        ("Open", None, None),
        ("OpenToo", None, None),
        ("Below", None, None),
        ("Foreign", None, None),
        ("Plain", None, None),
        ("OfPlain", None, None),
        ("Nothing", None, None),
    ],
)
def test_keys_of_a_model(tmp_path: Path, name: str, fields: set[str] | None, read: set[str] | None) -> None:
    known = table(tmp_path, {"1.0": {"one/__init__.py": "from .a import *\n", "one/a.py": SOURCE}})
    expected = None if fields is None else ModelKeys(frozenset(fields), frozenset(read or ()))
    assert known.model_keys(V1, f"one.{name}") == expected
    assert known.model_keys(Version("2.0"), f"one.{name}") is None


def test_keys_of_all_models_below_a_module(tmp_path: Path) -> None:
    model = "from pydantic import BaseModel\nclass A(BaseModel):\n    {}: int\n"
    sources = {"one/__init__.py": "", "one/p/__init__.py": "", "one/p/a.py": model.format("x")}
    known = table(
        tmp_path, {"1.0": sources, "2.0": {**sources, "one/p/b.py": model.replace("A(", "A(X, ").format("y")}}
    )
    assert known.keys_below(V1, "one.p") == frozenset("x")
    assert known.keys_below(Version("2.0"), "one.p") is None
