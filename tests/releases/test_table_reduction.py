"""What is left out of a table is never taken for missing, and no answer about the rest changes."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from gradcompat.curation.table_reduction import Lines, Spans, library_modules, reduce_lines
from gradcompat.releases.answers import Presence
from gradcompat.releases.imported import UNSAID
from tests.releases.packages import table

ONE = Version("1.0")


def _lines() -> Lines:
    return {
        "names": {
            "torch": {".": [(0, 1, 1)], "Tensor": [(0, 1, ">torch._tensor")], "later": [(0, 1, "~torch._lazy")]},
            "torch._tensor": {".": [(0, 1, 0)], "Tensor": [(0, 1, 1)], "_Base": [(0, 1, 1)], "helper": [(0, 1, 1)]},
            "torch._lazy": {".": [(0, 1, 0)], "later": [(0, 1, 1)]},
            "torch.optim": {".": [(0, 1, 0)], "Adam": [(0, 1, 1)]},
        },
        "needs": {
            "torch.optim": {
                "torch._tensor:Tensor": [(0, 1, 0)],
                "torch._tensor:helper": [(0, 1, 0)],
                "torch:later": [(0, 1, 0)],
                "numpy:ndarray": [(0, 1, 7)],
            }
        },
        "signatures": {
            "torch._tensor": {
                "Tensor.__init__": [(0, 1, "self")],
                "_Base.size": [(0, 1, "self")],
                "helper": [(0, 1, "a")],
            },
            "torch.optim": {"Adam.__init__": [(0, 1, "self\nlr")], "Adam.step": [(0, 1, "self")]},
        },
        "classes": {"torch._tensor": {"Tensor": [(0, 1, "class\n_Base")], "_Base": [(0, 1, "class\n")]}},
        "models": {},
    }


def test_an_import_is_one_of_the_modules_that_it_executes() -> None:
    lines = _lines()
    reduce_lines("torch", lines)
    assert lines["needs"]["torch.optim"] == {
        "torch._tensor:": [(0, 1, 0)],
        "torch._lazy:": [(0, 1, 0)],
        "numpy:ndarray": [(0, 1, 7)],
    }


def test_what_an_import_executes_differs_from_release_to_release() -> None:
    lines = _lines()
    names: dict[str, dict[str, Spans]] = {
        module: {".": [(0, 3, 1)]} for module in ("torch", "torch.a", "torch.a.b", "torch.a.c", "torch.user")
    }
    names["torch.a"]["b"] = [(0, 1, 1), (1, 2, "~torch.a.c x")]  # bound, then lazy, then a submodule
    lines["names"].update(names)
    lines["needs"].clear()
    lines["needs"]["torch.user"] = {
        "torch.a:b": [(0, 3, 0)],
        "torch.user.part:": [(0, 3, 0)],
        "torch.user:part": [(0, 3, 0)],
        "numpy:": [(0, 1, 7), (1, 3, 9)],
    }
    reduce_lines("torch", lines)
    assert lines["needs"]["torch.user"] == {
        "torch.a:": [(0, 3, 0)],
        "torch.a.b:": [(2, 3, 0)],
        "torch.a.c:": [(1, 2, 0)],
        "torch.user.part:": [(0, 3, 0)],
        "numpy:": [(0, 3, UNSAID)],
    }
    reduce_lines("torch", lines)
    assert lines["needs"]["torch.user"]["torch.a.c:"] == [(1, 2, 0)]


def test_an_internal_module_keeps_what_a_public_one_leads_to() -> None:
    lines = _lines()
    reduce_lines("torch", lines)
    assert lines["names"]["torch._tensor"] == {
        ".": [(0, 1, 0)],
        "Tensor": [(0, 1, 1)],
        "_Base": [(0, 1, 1)],
        "?": [(0, 1, "private")],
    }
    assert lines["signatures"]["torch._tensor"] == {"Tensor.__init__": [(0, 1, "self")], "_Base.size": [(0, 1, "self")]}


def test_a_package_that_is_not_large_keeps_its_private_modules_and_inner_constructors() -> None:
    lines = _lines()
    reduce_lines("peft", lines)
    assert "helper" in lines["names"]["torch._tensor"]
    assert lines["signatures"]["torch.optim"] == {"Adam.__init__": [(0, 1, "self\nlr")]}


def test_a_class_without_its_constructor_is_unknown() -> None:
    lines = _lines()
    lines["classes"]["torch.optim"] = {"Adam": [(0, 1, "class\n")]}
    reduce_lines("torch", lines)
    assert lines["classes"]["torch.optim"] == {}
    lines = _lines()
    lines["classes"]["torch.optim"] = {"Adam": [(0, 1, "class\n")]}
    reduce_lines("peft", lines)
    assert lines["classes"]["torch.optim"] == {"Adam": [(0, 1, "inner class\n")]}


def test_a_method_that_was_left_out_is_not_that_of_a_base(tmp_path: Path) -> None:
    sources = {
        "a/__init__.py": "from a.base import Base\n",
        "a/base.py": "class Base:\n    def run(self, x): pass\n",
        "a/inner.py": "from a.base import Base\n\nclass Inner(Base):\n    def __init__(self, z): pass\n\n"
        "    def run(self, x, more): pass\n",
    }
    found = table(tmp_path, {"1.0": sources}, "a")
    assert found.signature(ONE, "a.Base.run") is not None
    assert found.signature(ONE, "a.inner.Inner.run") is None
    constructor = found.signature(ONE, "a.inner.Inner")
    assert constructor is not None
    assert constructor.accepts("z")


def test_library_modules() -> None:
    assert library_modules("unsloth", ["unsloth", "studio", "cli"]) == {"unsloth"}
    assert library_modules("peft", ["peft", "other"]) == {"peft", "other"}


def test_a_module_that_is_made_at_import_time_is_unknown(tmp_path: Path) -> None:
    made = (
        "import sys, types\n\ndef _alias(name, target):\n    sys.modules[name] = types.ModuleType(name)\n\n"
        "_alias(f'{__name__}.old', '.new')\n"
    )
    found = table(tmp_path, {"1.0": {"a/__init__.py": made, "a/new.py": "x = 1\n"}}, "a")
    assert found.presence(ONE, "a.old") is Presence.PRESENT
    assert found.presence(ONE, "a.old", "Thing") is Presence.UNKNOWN
    assert found.presence(ONE, "a", "Gone") is Presence.ABSENT
    assert found.presence(ONE, "a", "GoneTokenizerFast") is Presence.UNKNOWN
    assert found.presence(ONE, "a.new", "Gone") is Presence.ABSENT


def test_a_lazy_module_that_replaces_itself_makes_no_others(tmp_path: Path) -> None:
    lazy = "import sys\nfrom x import _LazyModule\nsys.modules[__name__] = _LazyModule(__name__, {})\n"
    found = table(tmp_path, {"1.0": {"a/__init__.py": lazy}}, "a")
    assert found.presence(ONE, "a.old") is Presence.ABSENT
