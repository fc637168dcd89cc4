"""Whether losses of single tokens are only averaged or added up."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.terms.comparison import texts

CALL = "parallel_cross_entropy(model(x), y)"


def symbols(lines: str) -> set[str]:
    head = "import torch\nfrom transformer_engine.pytorch import parallel_cross_entropy\n"
    context = python_code.scan(Document("train.py", f"{head}{lines}\nloss.backward()\n"))
    return {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"loss = {CALL}.mean()", True),
        (f"loss = torch.sum({CALL})", True),
        (f"losses = {CALL}\nloss = losses.mean()", True),
        (f"loss = {CALL}\nloss = loss.sum() / 8", True),
        (f"losses = {CALL}\nloss = (losses * mask).sum()", False),
        (f"losses = {CALL}\nprint(losses.mean())\nloss = (losses * mask).sum()", False),
        (f"loss = {CALL}", False),
        (f"def f():\n    return {CALL}\nloss = f()", False),
    ],
)
def test_what_is_averaged(lines: str, expected: bool) -> None:
    assert any(one.endswith("parallel_cross_entropy.averaged") for one in symbols(lines)) is expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"loss = {CALL} * y.numel() / (y != -100).sum()", True),
        (f"loss = {CALL}\nloss = loss * y.numel() / (y != -100).sum()", True),
        (f"n = (y >= 0).sum()\nloss = {CALL}\nloss = loss * y.numel() / n", True),
        (f"loss = {CALL} / loss_mask.float().mean()", True),
        ("keep = y != -100\nloss = parallel_cross_entropy(x[keep][None], y[keep].unsqueeze(0))", True),
        ("t = y[y != -100]\nloss = parallel_cross_entropy(x[y != -100], target=t)", True),
        (f"loss = {CALL}", False),
        (f"loss = {CALL} / 8", False),
        (f"loss = ({CALL} + aux.sum()) / steps", False),
        (f"loss = {CALL} + aux.mean() * 0.01", False),
        (f"loss = {CALL}\nright = (x.argmax(-1) == y).sum() / y.numel()", False),
        ("loss = parallel_cross_entropy(x[:, :-1], y[:, 1:])", False),
        ("t = y[:, 1:]\nloss = parallel_cross_entropy(x[:, :-1], t)", False),
    ],
)
def test_what_is_related_to_the_labels_that_count(lines: str, expected: bool) -> None:
    assert any(one.endswith("parallel_cross_entropy.counted") for one in symbols(lines)) is expected
