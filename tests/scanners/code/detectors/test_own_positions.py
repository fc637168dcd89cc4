"""Whether data of the program's own keep their place themselves in a StatefulDataLoader."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

SYMBOL = "StatefulDataLoader.of_own_position"
HEAD = """
from datasets import load_dataset
from torch.utils.data import IterableDataset
from torchdata.stateful_dataloader import StatefulDataLoader

stream = load_dataset("a/b", split="train", streaming=True)

class Plain(IterableDataset):
    def __init__(self, stream):
        self.stream = stream

class Handing(Plain):
    def load_state_dict(self, state):
        self.stream.load_state_dict(state)

class Derived(Handing):
    pass

class Ranked(StatefulDataLoader):
    def __init__(self, rank, data):
        super().__init__(data)
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("loader = StatefulDataLoader(Plain(stream))", True),
        ("loader = StatefulDataLoader(Plain(Handing(stream)))", True),
        ("data = Plain(stream)\nloader = StatefulDataLoader(batch_size=8, dataset=data)", True),
        ("loader = Ranked(0, Plain(stream))", True),
        ("loader = Ranked(0, Handing(stream))", False),
        ("loader = StatefulDataLoader(Handing(Plain(stream)))", False),
        ("loader = StatefulDataLoader(Derived(stream))", False),
        ("loader = StatefulDataLoader(stream)", False),
        ("loader = StatefulDataLoader(stream.map(Plain(stream)))", False),
        ("loader = DataLoader(Plain(stream))", False),
    ],
)
def test_which_data_keep_their_place(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nfor batch in loader:\n    f(batch).backward()\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert (SYMBOL in symbols) is expected
    assert ("DataLoader.of_own_position" in symbols) is lines.startswith("loader = DataLoader(Plain")
