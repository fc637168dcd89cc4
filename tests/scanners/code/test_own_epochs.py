"""How often a loop of the program's own goes through the data."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code import python_code

HEAD = "import torch\nEPOCHS = 7\nwarmup_epochs = 2\nstart_epoch = 1\n"
BODY = "\n    for x in loader:\n        loss = model(x)\n        loss.backward()\n        optimizer.step()\n"


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for epoch in range(5):", [5]),
        ("for epoch in range(1, 5):", [5]),
        ("for _ in range(EPOCHS):", [7]),
        ("for i in tqdm(range(EPOCHS)):", [7]),
        ("for _ in range(5):", []),
        ("for _ in range(warmup_epochs):", []),
        ("for _ in range(start_epoch):", []),
        ("for step in range(EPOCHS * 100):", []),
    ],
)
def test_which_loops_count_epochs(loop: str, expected: list[SettingValue]) -> None:
    optimizer = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    context = python_code.scan(Document("train.py", f"{HEAD}{optimizer}{loop}{BODY}"))
    assert [one.value for one in context.settings if one.key == "training.num_train_epochs"] == expected
