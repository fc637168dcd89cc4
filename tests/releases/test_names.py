"""Which names a module of a release has, is certain not to have, and may have."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.releases.answers import Presence
from tests.releases.packages import Sources, table

PRESENT, ABSENT, UNKNOWN = Presence.PRESENT, Presence.ABSENT, Presence.UNKNOWN
V1 = Version("1.0")

LAZY = """
from typing import TYPE_CHECKING
from .utils import _LazyModule, is_torch_available
_import_structure = {"config": ["Config"], "utils": ["is_torch_available"]}
try:
    if not is_torch_available():
        raise ValueError()
except ValueError:
    _import_structure["utils.dummy"] = [name for name in dir(dummy)]
else:
    _import_structure["model"] = ["Model"]
    _import_structure["model"].append("Other")
    _import_structure["config"].extend(["A", "B"])
    _import_structure["config"] += ["C"]
if TYPE_CHECKING:
    from .config import Config
else:
    import sys
    sys.modules[__name__] = _LazyModule(
        __name__, globals()["__file__"], _import_structure, extra_objects={"__version__": "1"}
    )
"""
DEFINED = """
from pathlib import Path
from .utils import _LazyModule, define_import_structure
import_structure = define_import_structure(Path(__file__).parent / "models", prefix="models")
sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], import_structure)
"""
MODEL = """
from .utils import requires
__all__ = ["Listed"]
class Listed: ...
class Unlisted: ...
@requires(backends=("torch",))
class Required: ...
"""
HOOK = """
_GONE = {"gone": "was removed", "also": "x"}
def __getattr__(name):
    if name in _GONE:
        raise AttributeError(_GONE[name])
    if name == "moved":
        from .elsewhere import moved
        return moved
    raise AttributeError(name)
"""
ATTACHED = """
_NAMES = {"a": ["A", "B"]}
__getattr__, __dir__, __all__ = _attach(__name__, submodules=[], submod_attrs=_NAMES)
"""
JAX = """
_deprecations = {"old": ("use new", _old), "gone": ("was removed", None)}
__getattr__ = _deprecation_getattr(__name__, _deprecations)
"""


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param(
            {"one/__init__.py": "import os\nx = 1\ndef f(): ...\nclass C: ...\n"},
            {"x": PRESENT, "f": PRESENT, "C": PRESENT, "os": PRESENT, "y": ABSENT},
            id="bound",
        ),
        pytest.param(
            {"one/__init__.py": "if torch():\n    from .a import A\nelse:\n    B = 1\n", "one/a.py": ""},
            {"A": PRESENT, "B": PRESENT, "a": PRESENT, "C": ABSENT},
            id="behind a condition, and a submodule",
        ),
        pytest.param(
            {"one/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n"},
            {"A": ABSENT},
            id="for types alone",
        ),
        pytest.param(
            {"one/__init__.py": LAZY, "one/utils.py": "", "one/model.py": ""},
            {
                **dict.fromkeys(["Config", "Model", "Other", "A", "B", "C", "__version__", "utils"], PRESENT),
                **dict.fromkeys(["TYPE_CHECKING", "_LazyModule", "Gone"], ABSENT),
            },
            id="_LazyModule",
        ),
        pytest.param(
            {"one/__init__.py": DEFINED, "one/models/m/modeling_m.py": MODEL},
            {"Listed": PRESENT, "Required": PRESENT, "Unlisted": ABSENT},
            id="define_import_structure",
        ),
        pytest.param(
            {"one/__init__.py": "from .a import *\n", "one/a.py": "from .b import *\n_p = 1\n", "one/b.py": "q = 1\n"},
            {"q": PRESENT, "_p": ABSENT, "r": ABSENT},
            id="star imports",
        ),
        pytest.param(
            {"one/__init__.py": "from .a import *\n", "one/a.py": "__all__ = ['_p'] + ['r']\n_p = q = 1\n"},
            {"_p": PRESENT, "r": PRESENT, "q": ABSENT},
            id="star imports of what is listed",
        ),
        pytest.param({"one/__init__.py": "from numpy import *\n"}, {"q": UNKNOWN}, id="a star of another package"),
        pytest.param(
            {"one/__init__.py": HOOK}, {"moved": PRESENT, "gone": ABSENT, "other": ABSENT}, id="a closed __getattr__"
        ),
        pytest.param(
            {"one/__init__.py": "def __getattr__(name):\n    return getattr(other, name)\n"},
            {"q": UNKNOWN},
            id="an open __getattr__",
        ),
        pytest.param({"one/__init__.py": JAX}, {"old": PRESENT, "gone": ABSENT, "q": ABSENT}, id="deprecations of jax"),
        pytest.param(
            {"one/__init__.py": ATTACHED, "one/a.py": ""}, {"A": PRESENT, "B": PRESENT, "C": ABSENT}, id="lazy_loader"
        ),
        pytest.param(
            {"one/__init__.py": "__getattr__, __dir__, _ = attach_stub(__name__, __file__)"},
            {"q": UNKNOWN},
            id="lazy_loader with a stub",
        ),
        pytest.param({"one/__init__.py": "from x import __getattr__"}, {"q": UNKNOWN}, id="an imported __getattr__"),
        pytest.param({"one/__init__.py": "globals().update(x)\n"}, {"q": UNKNOWN}, id="names made at import time"),
        pytest.param({"one/__init__.py": "x = 1\ndel x\n"}, {"x": ABSENT}, id="a name that is deleted"),
        pytest.param(
            {"one/__init__.py": "print 'python 2'\n", "one/a.py": ""},
            {"q": UNKNOWN, None: PRESENT},
            id="a file that is not Python 3",
        ),
        pytest.param(
            {"one/__init__.py": "raise ImportError('it moved')\n"}, {None: ABSENT, "x": ABSENT}, id="a shim that raises"
        ),
        pytest.param(
            {"one/__init__.py": "", "one/fast.cpython-311-x86_64-linux-gnu.so": b""},
            {"fast": PRESENT},
            id="a compiled module",
        ),
    ],
)
def test_names_of_a_module(tmp_path: Path, sources: Sources, expected: dict[str | None, Presence]) -> None:
    one = table(tmp_path, {"1.0": sources})
    assert {name: one.presence(V1, "one", name) for name in expected} == expected


def test_what_was_not_read_is_unknown(tmp_path: Path) -> None:
    one = table(tmp_path, {"1.0": {"one/__init__.py": "", "one/fast.so": b"", "one/tests/a.py": ""}})
    assert one.presence(Version("2.0"), "one") is UNKNOWN
    assert one.presence(V1, "other") is UNKNOWN
    assert one.presence(V1, "one.tests.a") is UNKNOWN
    assert one.presence(V1, "one.fast", "f") is UNKNOWN
    assert one.presence(V1, "one.fast.inner") is UNKNOWN
    assert one.presence(V1, "one.inner") is ABSENT


def test_history(tmp_path: Path) -> None:
    one = table(
        tmp_path,
        {
            "1.0": {"one/__init__.py": ""},
            "1.1": {"one/__init__.py": "a = 1"},
            "1.2": {"one/__init__.py": "a = 2"},
            "2.0": {"one/__init__.py": ""},
            "2.1": {"one/__init__.py": "a = 1"},
        },
    )
    found = [(str(one.first), str(one.last), str(one.following)) for one in one.history("one", "a")]
    assert found == [("1.1", "1.2", "2.0"), ("2.1", "2.1", "None")]
    assert one.history("one", "b") == ()


DUMMIES = """
try:
    if not is_torch_available():
        raise OptionalDependencyNotAvailable()
except OptionalDependencyNotAvailable:
    from .utils import dummy_pt_objects
    _import_structure["utils.dummy_pt_objects"] = [
        name for name in dir(dummy_pt_objects) if not name.startswith("_")
    ]
else:
    _import_structure["model"] = ["Model"]
import sys
sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
"""


def test_everything_of_a_module_is_lazy_where_its_dir_is(tmp_path: Path) -> None:
    """As transformers does where a framework is not installed; its placeholders import two names more."""
    sources: Sources = {
        "one/__init__.py": DUMMIES,
        "one/model.py": "class Model: ...",
        "one/utils/__init__.py": "",
        "one/utils/dummy_pt_objects.py": "from ..utils import DummyObject, _hidden\nclass Model(DummyObject): ...\n",
    }
    found = table(tmp_path, {"1.0": sources})
    names = ("Model", "DummyObject", "_hidden", "Other")
    assert [found.presence(V1, "one", name) for name in names] == [PRESENT, PRESENT, ABSENT, ABSENT]
    assert found.origin(V1, "one", "Model") == ("one.model", "Model")


def test_a_module_and_a_package_of_the_same_content(tmp_path: Path) -> None:
    releases: dict[str, Sources] = {
        "1.0": {"one/__init__.py": "", "one/a.py": "from .b import c", "one/b.py": "c = 1"},
        "2.0": {"one/__init__.py": "", "one/a/__init__.py": "from .b import c", "one/a/b.py": "c = 1"},
    }
    found = table(tmp_path, releases)
    assert found.origin(V1, "one.a", "c") == ("one.a", "c")  # of a plain module it is not kept where names come from
    assert found.origin(Version("2.0"), "one.a", "c") == ("one.a.b", "c")
    assert found.presence(V1, "one.b") is PRESENT
    assert found.presence(Version("2.0"), "one.b") is ABSENT


def test_sources_that_models_are_made_of_are_no_place_to_import_from(tmp_path: Path) -> None:
    sources: Sources = {
        "one/__init__.py": DEFINED,
        "one/models/__init__.py": "",
        "one/models/a/modeling_a.py": "__all__ = ['A']\nclass A: ...",
        "one/models/a/modular_a.py": "__all__ = ['A']\nclass A: ...",
        "one/models/b/modular_b.py": "__all__ = ['B']\nclass B: ...",
    }
    found = table(tmp_path, {"1.0": sources})
    assert found.origin(V1, "one", "A") == ("one.models.a.modeling_a", "A")
    assert found.origin(V1, "one", "B") == ("one.models.b.modular_b", "B")


@pytest.mark.parametrize(
    ("statement", "presence"),
    [
        ("sys.modules['one.old'] = new", UNKNOWN),
        ("_sys.modules['one.old'] = new", UNKNOWN),
        ("sys.modules[__name__] = new", UNKNOWN),
        ("sys.modules['one.other'] = new", ABSENT),
    ],
)
def test_a_module_that_another_one_takes_the_place_of(tmp_path: Path, statement: str, presence: Presence) -> None:
    old = f"import sys\nimport sys as _sys\nimport math as new\n{statement}\n"
    one = table(tmp_path, {"1.0": {"one/__init__.py": "", "one/old.py": old}})
    assert one.presence(V1, "one.old", "pi") is presence


def test_everything_of_a_package_brings_its_modules_too(tmp_path: Path) -> None:
    sources = {
        "one/__init__.py": "import one.utils.deep\nfrom .utils import *\n",
        "one/utils/__init__.py": "x = 1\n",
        "one/utils/deep.py": "",
        "one/utils/_hidden.py": "",
        "one/listed/__init__.py": "__all__ = ['x']\nx = 1\n",
        "one/listed/part.py": "",
        "one/user.py": "from .listed import *\n",
    }
    one = table(tmp_path, {"1.0": sources})
    assert one.presence(V1, "one", "deep") is PRESENT
    assert one.origin(V1, "one", "deep") == ("one.utils.deep", "")
    assert one.presence(V1, "one", "_hidden") is ABSENT
    assert one.presence(V1, "one.user", "part") is ABSENT


def test_what_registers_functions_may_list_them(tmp_path: Path) -> None:
    net = (
        "from ._registry import register_model, register_model_deprecations\n__all__ = ['Net']\n"
        "class Net: ...\n\n@register_model\ndef net_small(): ...\n\ndef helper(): ...\n\n"
        "register_model_deprecations(__name__, {'old_net': 'net_small'})\n"
    )
    one = table(
        tmp_path, {"1.0": {"one/__init__.py": "from .net import *\n", "one/net.py": net, "one/_registry.py": ""}}
    )
    assert all(one.presence(V1, "one", name) is PRESENT for name in ("Net", "net_small", "old_net"))
    assert one.presence(V1, "one.net", "old_net") is PRESENT
    assert one.presence(V1, "one", "helper") is ABSENT
