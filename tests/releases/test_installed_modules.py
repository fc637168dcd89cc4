"""Old paths that a package keeps alive without a file: they are never said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.curation.module_installs import installs
from gradcompat.releases.answers import Presence
from tests.releases.packages import table

PRESENT, ABSENT, UNKNOWN = Presence.PRESENT, Presence.ABSENT, Presence.UNKNOWN
V1, V2 = Version("1.0"), Version("2.0")

FINDER = """
import importlib.abc, sys
MOVED = {"one.losses": "one.inner.losses", "one.losses.Triplet": "one.inner.losses.triplet"}
class Finder(importlib.abc.MetaPathFinder): ...
def setup():
    sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("source", "paths", "finder"),
    [
        ('import sys\nsys.modules["one.old"] = self\n', ("one.old",), False),
        ('import sys as _sys\nfor name in ["old", "a b"]:\n    _sys.modules[f"one.{name}"] = new\n', ("old",), False),
        ('import sys\nsys.modules["one.old"] = sys.modules["one.new"]\n', ("one.new", "one.old"), False),
        ('import sys\nsys.modules.update({"one.old": new})\n', ("one.old",), False),
        ('import sys\nsys.modules[f"{__name__}.models.{a}.{b}_fast"] = new\n', (".models.*.*_fast",), False),
        ('import sys\nsys.modules[f"one.{a}_{b}"] = new\n', ("one.*_*",), False),
        ("import sys\nsys.meta_path.append(Finder())\n", (), True),
        ('import os\n__path__.append(os.path.join(os.path.dirname(__file__), "api"))\n', (), True),
        ("__path__ = extend_path(__path__, __name__)\n", (), True),
        ("try:\n    __path__ += more\nexcept NameError: ...\n", (), True),
        ("old = __path__[0]\nself.__path__ = []\n", (), False),
        ('import sys\nsys.modules[__name__] = _Lazy(__name__, "old")\n', (), False),
        ('import sys\nif sys.modules["old"] == None: ...\n', (), False),
        ('import sys\nmeta_path = cache_path + ".json"\n', (), False),
        ('import sys\nmodules["old"] = 1\n', (), False),
    ],
)
def test_what_a_module_may_install(source: str, paths: tuple[str, ...], finder: bool) -> None:
    found = installs(source.encode())
    assert set(found.paths) >= set(paths)
    assert (bool(found.paths), found.finder) == (bool(paths), finder)


def test_a_path_that_a_finder_serves(tmp_path: Path) -> None:
    two = table(
        tmp_path,
        {
            "1.0": {"one/__init__.py": "", "one/losses/__init__.py": "class A: ...\n", "one/gone.py": ""},
            "2.0": {"one/__init__.py": "", "one/inner/losses/__init__.py": "class A: ...\n", "one/moved.py": FINDER},
        },
    )
    assert two.presence(V1, "one.losses", "B") is ABSENT
    assert two.presence(V2, "one.losses") is PRESENT
    assert two.presence(V2, "one.losses", "A") is UNKNOWN
    assert two.presence(V2, "one", "losses") is PRESENT
    assert two.presence(V2, "one.losses.Triplet") is PRESENT, "in no release a file, and its path stands in the source"
    assert two.presence(V2, "one.gone") is UNKNOWN, "a finder may answer for any module"
    assert two.presence(V2, "one", "never") is ABSENT, "it makes no names"
    assert two.presence(V1, "one.never") is ABSENT


def test_a_module_in_a_folder_that_a_package_adds_to_its_path(tmp_path: Path) -> None:
    start = "from one.api import layers\n"
    two = table(
        tmp_path,
        {
            "1.0": {
                "one/__init__.py": start + "__path__.append(API)\n",
                "one/api/__init__.py": "",
                "one/api/layers/__init__.py": "class Dense: ...\n",
            },
            "2.0": {"one/__init__.py": "", "one/layers/__init__.py": "class Dense: ...\n"},
        },
    )
    assert two.presence(V1, "one.layers", "Dense") is UNKNOWN
    assert two.presence(V1, "one.layers") is UNKNOWN
    assert two.presence(V1, "one", "layers") is PRESENT
    assert two.presence(V2, "one.api") is ABSENT


def test_a_path_that_is_put_there(tmp_path: Path) -> None:
    graveyard = (
        'import sys\nsys.modules["one.old"] = self\nsys.modules[f"{__name__}.{relative}"] = other\nx = "again"\n'
    )
    two = table(
        tmp_path,
        {
            "1.0": {"one/__init__.py": "", "one/old.py": "", "one/again.py": "", "one/gone.py": ""},
            "2.0": {"one/__init__.py": graveyard},
        },
    )
    assert two.presence(V2, "one.old") is PRESENT
    assert two.presence(V2, "one.old", "A") is UNKNOWN
    assert two.presence(V2, "one.again") is PRESENT, "below the package of the module"
    assert two.presence(V2, "one.gone") is ABSENT
    assert two.presence(V2, "one.x") is ABSENT


def test_a_path_that_is_composed(tmp_path: Path) -> None:
    aliases = 'import sys\nfor name in names:\n    sys.modules[f"{__name__}.models.{name}_fast"] = new\n'
    two = table(
        tmp_path,
        {
            "1.0": {"one/__init__.py": "", "one/models/a_fast.py": "", "one/models/a_slow.py": ""},
            "2.0": {"one/__init__.py": aliases, "one/models/a.py": ""},
        },
    )
    assert two.presence(V2, "one.models.a_fast", "Fast") is UNKNOWN
    assert two.presence(V2, "one.models.a_slow", "Slow") is ABSENT
