"""A lazy dataclass is what the standard library makes of the same declaration."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from typing import Any

import pytest

import gradcompat.startup.lazy_dataclasses as lazy

KINDS = [dataclasses, lazy]


@lazy.dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2


@lazy.dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str
    places: tuple[int, ...] = ()


@lazy.dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Base):
    version: str | None = None
    note: str = lazy.field(default="", repr=False, compare=False)


@lazy.dataclass(slots=True)
class Reading:
    path: str
    lines: list[str] = lazy.field(default_factory=list)
    count: int = lazy.field(default=0, init=False)
    longest: int = lazy.field(init=False)

    def __post_init__(self) -> None:
        self.longest = max(map(len, self.lines), default=0)


@lazy.dataclass(frozen=True, slots=True)
class One:
    value: int


@lazy.dataclass(frozen=True, slots=True)
class Nothing:
    pass


def standard(cls: type[Any]) -> type[Any]:
    """The same declaration as the standard library makes it."""
    options = cls.__dataclass_params__
    namespace = {"__qualname__": cls.__qualname__, "__module__": cls.__module__}
    if hasattr(cls, "__post_init__"):
        namespace["__post_init__"] = cls.__post_init__
    declared = [(field.name, field.type, copy.copy(field)) for field in dataclasses.fields(cls)]
    return dataclasses.make_dataclass(
        cls.__name__, declared, namespace=namespace, frozen=options.frozen, slots=True, kw_only=options.kw_only
    )


CALLS: list[tuple[type[Any], tuple[Any, ...], dict[str, Any]]] = [
    (Point, (1,), {}),
    (Point, (1, 3), {}),
    (Point, (), {"y": 3, "x": 1}),
    (Entry, (), {"name": "torch"}),
    (Entry, (), {"name": "torch", "version": "2.7.0", "places": (1, 2), "note": "x"}),
    (Reading, ("a",), {}),
    (Reading, ("a", ["one", "three"]), {}),
    (One, (1,), {}),
    (Nothing, (), {}),
]


@pytest.mark.parametrize(("cls", "arguments", "named"), CALLS)
def test_instances_are_those_of_the_standard_library(
    cls: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    one, other = cls(*arguments, **named), standard(cls)(*arguments, **named)
    assert repr(one) == repr(other)
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert cls.__match_args__ == type(other).__match_args__
    assert one == cls(*arguments, **named)
    assert one != other
    if cls.__dataclass_params__.frozen:
        assert hash(one) == hash(other)
    else:
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)


@pytest.mark.parametrize(
    ("cls", "arguments", "named"),
    [
        (Point, (), {}),
        (Point, (1, 2, 3), {}),
        (Point, (1,), {"x": 1}),
        (Point, (1,), {"z": 1}),
        (Entry, ("torch",), {}),
        (Reading, ("a",), {"count": 1}),
    ],
)
def test_wrong_arguments_are_refused(cls: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    with pytest.raises(TypeError) as theirs:
        standard(cls)(*arguments, **named)
    with pytest.raises(TypeError) as ours:
        cls(*arguments, **named)
    with pytest.raises(TypeError) as again:  # by the method that is compiled by now
        cls(*arguments, **named)
    assert str(ours.value) == str(again.value) == str(theirs.value)


@pytest.mark.parametrize(("cls", "arguments", "named"), CALLS)
def test_later_instances_are_those_of_the_first_ones(
    cls: type[Any], arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    options = cls.__dataclass_params__
    derived = type(cls.__name__, (cls,), {"__annotations__": {}})
    fresh: Any = lazy.dataclass(slots=True, frozen=options.frozen, kw_only=options.kw_only)(derived)
    uncompiled = fresh.__init__
    made = [fresh(*arguments, **named) for _ in range(lazy._UNCOMPILED + 2)]
    assert fresh.__init__ is not uncompiled
    assert {repr(one) for one in made} == {repr(cls(*arguments, **named))}
    assert all(one == made[0] for one in made)


def test_what_is_frozen_stays_as_it_is() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x


def test_what_is_not_compared_does_not_count() -> None:
    assert Entry(name="a", note="x") == Entry(name="a")
    assert Entry(name="a") != Base(name="a")
    assert Point(1) != Nothing()  # type: ignore[comparison-overlap]


def test_nothing_is_shared_between_instances() -> None:
    first = Reading("a")
    first.lines.append("b")
    assert Reading("a").lines == []


@pytest.mark.parametrize("replace", [dataclasses.replace, lazy.replace])
def test_both_replace_both_kinds(replace: Any) -> None:
    assert replace(Point(1), y=5) == Point(1, 5)
    assert replace(Entry(name="a", note="x"), version="1").note == "x"
    assert replace(Reading("a", ["bc"]), path="b") == Reading("b", ["bc"])
    theirs = standard(Point)
    assert replace(theirs(1), y=5) == theirs(1, 5)
    with pytest.raises(TypeError):
        replace(Point(1), z=1)


def test_instances_cross_processes() -> None:
    for one in (Point(1), Entry(name="a", note="x"), One(1), Nothing(), Reading("a", ["b"])):
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301  # ours
        assert copy.copy(one) == one


def test_a_standard_dataclass_may_have_a_lazy_base() -> None:
    @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        extra: int = 1

    assert dataclasses.asdict(Derived(name="a")) == {"name": "a", "places": (), "extra": 1}
    assert repr(Derived(name="a", extra=2)).endswith("Derived(name='a', places=(), extra=2)")


def test_slots_are_asked_for() -> None:
    with pytest.raises(TypeError, match="has slots"):
        lazy.dataclass(frozen=True, slots=False)


@pytest.mark.e2e
def test_the_standard_library_is_not_imported() -> None:
    script = (
        "import sys\n"
        "from gradcompat.startup.lazy_dataclasses import dataclass, field, fields, replace\n"
        "@dataclass(frozen=True, slots=True)\n"
        "class A:\n    a: int\n    b: list = field(default_factory=list)\n"
        "print(replace(A(1), a=2), [one.name for one in fields(A)], 'dataclasses' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "A(a=2, b=[]) ['a', 'b'] False\n"


@lazy.dataclass(slots=True, eq=False)
class Node:
    line: int


def test_without_eq_an_instance_equals_itself_alone() -> None:
    one, other = Node(1), Node(1)
    assert one == one  # noqa: PLR0124  # which is what is asked
    assert one != other
    assert len({one, other}) == 2
    assert repr(one) == "Node(line=1)"
