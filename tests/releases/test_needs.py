"""What an import executes, and what of other packages has to be there for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.releases.answers import Need, SpreadNeed
from tests.releases.packages import Sources, table

V1 = Version("1.0")
STRUCTURE = """
import sys
from .lazily import _LazyModule
_import_structure = {"trainer": ["Trainer"]}
sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
"""


def needed(folder: Path, sources: Sources, module: str = "one", name: str | None = None) -> set[tuple[str, str | None]]:
    found = table(folder, {"1.0": sources}).needs(V1, module, name)
    return {(need.module, need.name) for need in found}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch.nn", {("torch.nn", None)}),
        ("from torch import nn, optim", {("torch", "nn"), ("torch", "optim")}),
        ("import os, json\nfrom collections import abc", set()),
        ("try:\n    import torch\nexcept ImportError:\n    torch = None", set()),
        ("try:\n    import torch\nexcept Exception:\n    pass", set()),
        ("try:\n    import torch\nfinally:\n    pass", {("torch", None)}),
        ("try:\n    import torch\nexcept ImportError:\n    raise RuntimeError('install torch')", {("torch", None)}),
        ("try:\n    import torch\nexcept AttributeError:\n    pass", {("torch", None)}),
        ("if is_torch_available():\n    import torch", set()),
        ("if version > '2':\n    import a\nelse:\n    import b", set()),
        ("if __name__ == '__main__':\n    import torch", set()),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\nelse:\n    import a", {("a", None)}),
        ("with suppress(ImportError):\n    import torch", set()),
        ("if is_nightly and later:\n    import torch\nelse:\n    import a", {("a", None)}),
        ("if is_nightly or later:\n    import torch\nelse:\n    import a", set()),
        ("def f():\n    import torch", set()),
        ("class C:\n    import torch", {("torch", None)}),
        ("for x in y:\n    import torch", set()),
    ],
)
def test_what_an_import_statement_needs(tmp_path: Path, source: str, expected: set[tuple[str, str | None]]) -> None:
    assert needed(tmp_path, {"one/__init__.py": source}) == expected


def test_needs_are_followed_through_the_modules_of_the_package(tmp_path: Path) -> None:
    sources = {
        "one/__init__.py": "from .a import x\n",
        "one/a.py": "from one.sub.b import x\n",
        "one/sub/__init__.py": "import numpy\n",
        "one/sub/b.py": "\nfrom torch import x\n",
        "one/other.py": "import jax\n",
    }
    one = table(tmp_path, {"1.0": sources})
    assert one.needs(V1, "one") == (
        Need("numpy", "numpy", None, "one/sub/__init__.py", 0),
        Need("torch", "torch", "x", "one/sub/b.py", 2),
    )
    assert {need.top for need in one.needs(V1, "one.other")} == {"numpy", "torch", "jax"}
    assert {need.top for need in one.needs(V1, "one", "other")} == {"numpy", "torch", "jax"}
    # What is above a module is executed before that is looked for.
    assert one.needs(V1, "one.missing") == one.needs(V1, "one")
    assert one.needs(V1, "two") == ()
    assert one.needs(Version("3"), "one") == ()


def test_of_imports_in_turn_each_tells_what_no_earlier_one_has_executed(tmp_path: Path) -> None:
    sources = {
        "one/__init__.py": "import numpy\n",
        "one/a.py": "import torch\nimport one.b\n",
        "one/b.py": "import jax\n",
        "one/c.py": "import one.b\nimport tqdm\n",
    }
    groups = ((("one.a", None),), (("one.b", None),), (("one.c", None), ("one.a", None)))
    found = table(tmp_path, {"1.0": sources}).symbols_in_turn(V1, groups)
    assert [(imports, [module for module, _ in symbols]) for imports, symbols in found] == [
        (groups[0], ["numpy", "torch", "jax"]),
        (groups[1], []),
        (groups[2], ["tqdm"]),
    ]
    assert list(table(tmp_path, {"1.0": sources}).symbols_in_turn(Version("3"), groups)) == []


def test_all_releases_at_once_need_what_each_of_them_does(tmp_path: Path) -> None:
    first = {"one/__init__.py": "from .a import x\n", "one/a.py": "\nfrom torch import x\nimport numpy\n"}
    lazily = {"one/__init__.py": STRUCTURE, "one/lazily.py": "", "one/trainer.py": "from torch import x\n"}
    sources = {"1.0": first, "1.1": {**first, "one/b.py": "from torch import y\n"}, "2.0": lazily}
    one = table(tmp_path, sources)
    imports = (("one.b", None), ("one", "Trainer"))
    found = one.needs_by_release(imports, {("torch", "x"), ("torch", "y")})
    assert found == (
        SpreadNeed("torch", "x", 0b011, "one/a.py", 2),
        SpreadNeed("torch", "y", 0b010, "one/b.py", 1),
        SpreadNeed("torch", "x", 0b100, "one/trainer.py", 1),
    )
    for number, version in enumerate(one.versions):
        alone = {(need.module, need.name) for need in one.needs_of(version, imports)} - {("numpy", None)}
        assert alone == {(need.module, need.name) for need in found if need.releases >> number & 1}


def test_a_lazy_name_executes_the_module_behind_it(tmp_path: Path) -> None:
    sources = {"one/__init__.py": STRUCTURE, "one/lazily.py": "", "one/trainer.py": "import torch\n"}
    assert needed(tmp_path, sources) == set()
    assert needed(tmp_path, sources, "one", "Trainer") == {("torch", None)}
    sources["one/user.py"] = "from . import Trainer\n"
    assert needed(tmp_path, sources, "one.user") == {("torch", None)}


@pytest.mark.parametrize("statement", ["from . import part", "from one import part", "import one.part"])
def test_a_package_that_imports_its_own_submodule_executes_it(tmp_path: Path, statement: str) -> None:
    sources = {"one/__init__.py": f"{statement}\n", "one/part.py": "import torch\n"}
    assert needed(tmp_path, sources) == {("torch", None)}


def test_a_circle_of_imports_ends(tmp_path: Path) -> None:
    sources = {
        "one/__init__.py": "from .a import x\n",
        "one/a.py": "from .b import x\n",
        "one/b.py": "from .a import x\n",
    }
    assert needed(tmp_path, sources) == set()
