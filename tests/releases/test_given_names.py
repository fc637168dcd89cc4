"""Names that a module puts into another one are there, and a computed one may be."""

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.curation.given_names import given_names
from gradcompat.releases.answers import Presence
from tests.releases.packages import table

V1 = Version("1.0")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from one import utils as _utils\n_utils.Old = 1\ndel _utils\n", ("one.utils Old",)),
        ("from . import utils\nutils.Old = 1\n", ("one.part.utils Old",)),
        ("from .. import utils\nutils.Old = 1\n", ("one.utils Old",)),
        ("import one.utils\none.utils.Old = 1\n", ("one.utils Old",)),
        ("import one as o\ndef f():\n    setattr(o.utils, 'Old', 1)\n", ("one.utils Old",)),
        ("import one as o\nfor name in 'ab':\n    setattr(o.utils, name, 1)\n", ("one.utils *",)),
        ("import one as o\nsetattr(getattr(o.utils, part), 'Old', 1)\n", ("one.utils.* Old",)),
        ("class A: ...\nA.old = 1\n", ()),
        ("def f(self):\n    setattr(self.a, 'b', 1)\n", ()),
        ("def f(x):\n    setattr(x.a, 'b', 1)\n", ()),
        ("import one\ndef f():\n    one.utils.Old = 1\n", ()),
    ],
)
def test_what_a_module_puts_into_others(source: str, found: tuple[str, ...]) -> None:
    assert given_names(source.encode(), "one.part", package=True) == found


def test_such_names_are_not_missing(tmp_path: Path) -> None:
    start = "from . import utils as _utils, tools\n_utils.Old = 1\nsetattr(tools, name, 1)\n"
    sources = {"one/__init__.py": start, "one/utils.py": "New = 1\n", "one/tools.py": "", "one/other.py": ""}
    plain = {**sources, "one/__init__.py": ""}
    known = table(tmp_path, {"1.0": sources, "2.0": plain})
    asked = [("utils", "Old"), ("utils", "New"), ("utils", "Gone"), ("tools", "Old"), ("other", "Old")]
    assert [known.presence(V1, f"one.{module}", name) for module, name in asked] == [
        Presence.PRESENT,
        Presence.PRESENT,
        Presence.ABSENT,
        Presence.UNKNOWN,
        Presence.ABSENT,
    ]
    assert known.presence(Version("2.0"), "one.utils", "Old") is Presence.ABSENT
