"""What the classes of models do with the count that the Trainer hands over."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from gradcompat.knowledge import model_tables
from gradcompat.knowledge.model_tables import facts_of_class
from gradcompat.releases.models import ModelFacts
from tests.releases.packages import Sources, table

TOP = """
from .base import *
from .models import *
from .elsewhere import Moved
"""
BASE = """
class PreTrained:
    _supports_sdpa = True
    _supports_flash_attn_2 = False
"""
MODELS = """
from torch.nn import CrossEntropyLoss
from foreign import Foreign
from .base import PreTrained

class CountsForCausalLM(PreTrained):
    _tied_weights_keys = ["lm_head.weight"]
    def forward(self, x, labels=None, **kwargs):
        logits = self.model(x, **kwargs)
        return self.loss_function(logits, labels, 7, **kwargs)
class NamedForCausalLM(PreTrained):
    def forward(self, x, labels=None, num_items_in_batch=None):
        return self.loss_function(logits, labels, 7, num_items_in_batch=num_items_in_batch)
class ForgetsForCausalLM(PreTrained):
    def forward(self, x, labels=None, **kwargs):
        return self.loss_function(logits, labels, 7)
class OwnForCausalLM(PreTrained):
    accepts_loss_kwargs = False
    def forward(self, x, labels=None, **kwargs):
        hidden = self.model(x, labels=labels, **kwargs)
        shift_labels = labels[1:]
        return CrossEntropyLoss()(logits, shift_labels)
class TwoForCausalLM(PreTrained):
    def forward(self, x, labels=None, **kwargs):
        if x:
            return self.loss_function(logits, labels, 7, **kwargs)
        return CrossEntropyLoss()(logits, labels)
class InnerForCausalLM(PreTrained):
    def forward(self, x, labels=None, **kwargs):
        return self.language_model(x, labels=labels, **kwargs)
class Detector(PreTrained):
    def forward(self, x, labels=None, **kwargs):
        return self.loss_function(logits, labels, **kwargs)
class ChildForCausalLM(CountsForCausalLM):
    _tied_weights_keys = {"head.weight": "model.weight"}
class SuperForCausalLM(ForgetsForCausalLM):
    def forward(self, x, labels=None, **kwargs):
        return super().forward(x, labels=labels, **kwargs)
class SelfishForCausalLM(CountsForCausalLM):
    def forward(self, x, labels=None, **kwargs):
        return super().forward(x, labels=labels)
class OfForeignForCausalLM(Foreign): ...
class Backbone(PreTrained):
    def forward(self, x, **kwargs): ...
"""
SOURCES: Sources = {
    "one/__init__.py": TOP,
    "one/base.py": BASE,
    "one/models.py": MODELS,
    "one/elsewhere.py": "from .models import CountsForCausalLM as Moved",
}


@pytest.mark.parametrize(
    ("name", "takes", "loss"),
    [
        ("CountsForCausalLM", True, "counts"),
        ("NamedForCausalLM", False, "counts"),
        ("ForgetsForCausalLM", True, "ignores"),
        ("OwnForCausalLM", True, "ignores"),
        ("TwoForCausalLM", True, None),
        ("InnerForCausalLM", True, None),
        ("Detector", True, None),  # its loss is not known to divide by anything
        ("ChildForCausalLM", True, "counts"),
        ("SuperForCausalLM", True, "ignores"),
        ("SelfishForCausalLM", True, None),
    ],
)
def test_the_loss_of_a_class(tmp_path: Path, name: str, takes: bool, loss: str | None) -> None:
    found = table(tmp_path, {"1.0": SOURCES}).model(Version("1.0"), name)
    assert found is not None
    assert (found.takes_kwargs, found.loss) == (takes, loss)


def test_everything_of_a_class(tmp_path: Path) -> None:
    one = table(tmp_path, {"1.0": SOURCES})
    assert one.model(Version("1.0"), "OwnForCausalLM") == ModelFacts(
        takes_kwargs=True, loss="ignores", shifts=True, accepts_loss_kwargs=False, supports=("sdpa",), tied=()
    )
    child = one.model(Version("1.0"), "ChildForCausalLM")
    assert child is not None
    assert (child.tied, child.supports, child.shifts) == (("head.weight",), ("sdpa",), False)
    assert one.model(Version("1.0"), "Moved") is not None


@pytest.mark.parametrize("name", ["Backbone", "OfForeignForCausalLM", "PreTrained", "Nowhere"])
def test_classes_that_take_no_labels_or_are_not_seen(tmp_path: Path, name: str) -> None:
    assert table(tmp_path, {"1.0": SOURCES}).model(Version("1.0"), name) is None


STRUCTURED = """
from .utils import _LazyModule, define_import_structure
import sys
sys.modules[__name__] = _LazyModule(__name__, __file__, define_import_structure(__file__))
"""


def test_classes_behind_a_lazy_module_behind_a_lazy_module(tmp_path: Path) -> None:
    """As transformers 4.48 to 4.51 has them: a table at the top, and folders that say it themselves."""
    sources: Sources = {
        "one/__init__.py": '_import_structure = {"models.a": ["A"]}\n'
        "sys.modules[__name__] = _LazyModule(__name__, __file__, _import_structure)\n",
        "one/models/__init__.py": "",
        "one/models/a/__init__.py": STRUCTURED,
        "one/models/a/modeling_a.py": "__all__ = ['A']\nclass A:\n    def forward(self, labels): ...\n",
    }
    assert table(tmp_path, {"1.0": sources}).model(Version("1.0"), "A") is not None


def test_facts_change_from_release_to_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = "class A:\n    def forward(self, labels): return cross_entropy(labels)\n"
    after = "class A:\n    def forward(self, labels, **kwargs): return cross_entropy(labels)\n"
    releases = {
        version: {"one/__init__.py": "from .a import A", "one/a.py": source}
        for version, source in {"1.0": before, "1.1": before, "2.0": after, "2.1": after}.items()
    }
    made = table(tmp_path, releases)
    monkeypatch.setattr(model_tables, "table_of", lambda _: made)
    assert [(fact.key, fact.value, str(fact.versions)) for fact in facts_of_class("A")] == [
        ("model.forward_takes_kwargs", False, ">=1.0,<=1.1"),  # nothing is said of what may stand between
        ("model.forward_takes_kwargs", True, ">=2.0"),
        ("model.uses_num_items_in_batch", False, ">=1.0"),
    ]
    assert facts_of_class("B") == ()
    assert made.model(Version("1.5"), "A") is None


def test_a_class_that_refuses_the_count_does_not_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table(
        tmp_path, {"1.0": {**SOURCES, "one/models.py": MODELS.replace("_tied", "accepts_loss_kwargs = False #")}}
    )
    monkeypatch.setattr(model_tables, "table_of", lambda _: made)
    assert {(fact.key, fact.value) for fact in facts_of_class("CountsForCausalLM")} == {
        ("model.forward_takes_kwargs", False),
        ("model.uses_num_items_in_batch", False),
    }
