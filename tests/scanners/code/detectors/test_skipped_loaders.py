"""Whether the loader of the rest of an epoch is told its epoch."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.code.detectors.skipped_loaders import TOLD_EPOCH
from gradcompat.terms.comparison import texts


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("rest = skip_first_batches(loader, 9)\nrest.set_epoch(epoch)", True),
        ("rest = accelerator.skip_first_batches(loader, num_batches=9)\nrest.set_epoch(epoch)", True),
        ("rest = skip_first_batches(loader, 9) if epoch == first else loader\nrest.set_epoch(epoch)", True),
        ("rest = loader\nif epoch == first:\n    rest = skip_first_batches(loader, 9)\nrest.set_epoch(epoch)", True),
        ("loader.set_epoch(epoch)\nrest = skip_first_batches(loader, 9)", False),
        ("rest = skip_first_batches(loader, 9)\nrest.dataset.set_epoch(epoch)", False),
        ("rest = skip_first_batches(loader, 9)", False),
    ],
)
def test_which_loaders_are_told_their_epoch(lines: str, expected: bool) -> None:
    head = "from accelerate import Accelerator, skip_first_batches\naccelerator = Accelerator()\n"
    context = python_code.scan(Document("train.py", f"{head}{lines}\naccelerator.backward(loss)\n"))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert (TOLD_EPOCH in symbols) is expected
