"""A name that is bound several times stands for what it was bound to last."""

from __future__ import annotations

import textwrap

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

HEAD = """
import torch
from peft import PeftModel, get_peft_model
from transformers import AutoModel

"""


def method(text: str) -> str:
    """How the one call of ``use`` is named."""
    context = scan(Document("x.py", HEAD + textwrap.dedent(text)))
    calls = next(one.value for one in context.settings if one.key == "code.calls")
    assert isinstance(calls, tuple)
    (found,) = (str(call) for call in calls if "use(" in str(call))
    return found.partition("(")[0]


@pytest.mark.parametrize(
    "text",
    [
        """
        model = AutoModel.from_pretrained("a")
        model = PeftModel.from_pretrained(model, "b")
        model.use()
        """,
        """
        def main(model):
            model = PeftModel.from_pretrained(model, "b")
            if model:
                model.use()
        """,
        """
        model = AutoModel.from_pretrained("a")
        with torch.device("cuda"):
            model = get_peft_model(model, config)
        model.use()
        """,
        """
        if large:
            model = AutoModel.from_pretrained("a")
        else:
            model = AutoModel.from_config(config)
        model = get_peft_model(model, config)
        for batch in loader:
            model.use()
        """,
        """
        for name in names:
            model = AutoModel.from_pretrained(name)
            model = get_peft_model(model, config)
            model.use()
        """,
        """
        model, count = AutoModel.from_pretrained("a"), 1
        model, count = get_peft_model(model, config), 2
        parts = [part for part in model.use()]
        """,
        """
        model = AutoModel.from_pretrained("a")
        model = get_peft_model(model, config)
        model = model.to("cuda")
        model.use()
        """,
        """
        if adapters:
            model = get_peft_model(AutoModel.from_pretrained("a"), config)
            if large:
                model.use()
        else:
            model = AutoModel.from_pretrained("a")
        """,
    ],
)
def test_what_comes_before_a_certain_statement_is_lost(text: str) -> None:
    assert method(text) == "peft.PeftModel.use"


@pytest.mark.parametrize(
    "text",
    [
        """
        model = AutoModel.from_pretrained("a")
        if adapters:
            model = get_peft_model(model, config)
        model.use()
        """,
        """
        model = PeftModel.from_pretrained(base, "a")
        for name in names:
            model.use()
            model = AutoModel.from_pretrained(name)
        """,
        """
        model = AutoModel.from_pretrained("a")
        try:
            model = PeftModel.from_pretrained(model, "b")
        except OSError:
            pass
        model.use()
        """,
        """
        model = AutoModel.from_pretrained("a")
        model = PeftModel.from_pretrained(model, "b")
        for model in models:
            pass
        model.use()
        """,
        """
        model = AutoModel.from_pretrained("a")
        model = PeftModel.from_pretrained(model, "b")

        def later():
            model.use()
        """,
        """
        model = AutoModel.from_pretrained("a")
        model = torch.nn.parallel.DistributedDataParallel(model)
        model.module.use()
        """,
    ],
)
def test_where_several_ways_lead_it_may_be_any(text: str) -> None:
    assert method(text) == "use"


def test_what_a_value_is_made_of_is_what_the_name_was_before() -> None:
    text = """
    model = AutoModel.from_pretrained("a")
    model = PeftModel.from_pretrained(model.use(), "b")
    """
    assert method(text) == "transformers.AutoModel.use"
    text = """
    model = AutoModel.from_pretrained("a")
    model = get_peft_model(model, config)
    model = AutoModel.from_config(model.use())
    """
    assert method(text) == "peft.PeftModel.use"


def test_a_name_may_be_made_of_itself_many_times() -> None:
    again = "".join(f"model = model.to('cuda:{number}')\n" for number in range(15))
    assert method(
        f"model = AutoModel.from_pretrained('a')\nmodel = get_peft_model(model, c)\n{again}model.use()\n"
    ) == ("peft.PeftModel.use")


def test_a_method_of_the_projects_own_class_is_none_of_a_library() -> None:
    own = """
    class Zoo:
        def use(self): pass
    zoo = Zoo()
    zoo.use()
    Zoo().use()
    for other in others:
        other.{}()
    """
    assert method(own.format("use")) == "use"
    context = scan(Document("x.py", HEAD + textwrap.dedent(own.format("feed"))))
    symbols = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(symbols, tuple)
    assert "use" not in symbols
    assert "feed" in symbols
