"""Attributes that the code reaches through a package: of its modules they are known, of its classes not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.breaks.code_issues import broken_uses
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location
from tests.releases.packages import table


@pytest.mark.parametrize(
    ("name", "version", "told"),
    [
        ("kinds.COSINE", "1.0", True),
        ("kinds.COSINE", "2.0", False),
        ("Kind.COSINE", "1.0", False),  # `Kind` is the class there, which takes the place of the module
        ("again.COSINE", "1.0", True),
    ],
)
def test_an_attribute_of_a_module(tmp_path: Path, name: str, version: str, told: bool) -> None:
    constant = "COSINE = 1\n"
    two = table(
        tmp_path,
        {
            "1.0": {
                "one/__init__.py": "from .Kind import Kind\nfrom . import again\n",
                "one/Kind.py": "class Kind: ...\n",
                "one/kinds.py": "",
                "one/again.py": "",
            },
            "2.0": {
                "one/__init__.py": "",
                "one/Kind.py": constant,
                "one/kinds.py": constant,
                "one/again.py": constant,
            },
        },
    )
    use = CodeUse(kind="attribute", module="one", name=name, location=Location(path="train.py", line=3))
    assert bool(broken_uses([use], "one", two, Version(version), lambda package: None)) is told


@pytest.mark.parametrize(
    ("older", "told"),
    [
        ({"one/__init__.py": "def __getattr__(name): return load(name)\n"}, False),
        ({"one/__init__.py": "from . import xpu\n", "one/xpu.py": "from other import *\n"}, False),
        ({"one/__init__.py": "from . import xpu\n", "one/xpu.py": "def optimize(model): ...\n"}, True),
    ],
)
def test_an_attribute_that_no_release_certainly_had_is_put_there_by_another_package(
    tmp_path: Path, older: Mapping[str, str], told: bool
) -> None:
    newer = {"one/__init__.py": "from . import xpu\n", "one/xpu.py": ""}
    two = table(tmp_path, {"1.0": older, "2.0": newer})
    use = CodeUse(kind="attribute", module="one", name="xpu.optimize", location=Location(path="train.py", line=3))
    assert bool(broken_uses([use], "one", two, Version("2.0"), lambda package: None)) is told


def test_an_import_that_no_release_certainly_had_is_of_a_fork(tmp_path: Path) -> None:
    older = {"one/__init__.py": "def __getattr__(name): return load(name)\n"}
    two = table(tmp_path, {"1.0": older, "2.0": {"one/__init__.py": ""}})
    use = CodeUse(kind="import", module="one", name="Own", location=Location(path="train.py", line=3))
    assert broken_uses([use], "one", two, Version("2.0"), lambda package: None) == []
