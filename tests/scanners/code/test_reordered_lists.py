"""A list that the program sorts or turns round in its place is not what is written where it is bound."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

_HEAD = "from sentence_transformers import losses\n"
_CALL = "losses.MatryoshkaLoss(model, loss, dims)\n"


def calls(text: str) -> list[str]:
    settings = scan(Document("x.py", _HEAD + text)).settings
    values = [one.value for one in settings if one.key == "code.calls"]
    return [str(name) for value in values if isinstance(value, tuple) for name in value]


def test_a_list_that_stays_as_it_is() -> None:
    assert calls("dims = [64, 768]\n" + _CALL)[0].endswith("MatryoshkaLoss(_1, _2, [64, 768])")


@pytest.mark.parametrize(
    "text",
    [
        "dims = [64, 768]\ndims.sort(reverse=True)\n" + _CALL,
        "dims = [64, 768]\ndims.reverse()\n" + _CALL,
        "dims = [64, 768]\ndef train():\n    dims.reverse()\n    " + _CALL,
    ],
)
def test_a_list_that_is_put_into_another_order(text: str) -> None:
    assert calls(text)[0].endswith("MatryoshkaLoss(_1, _2, _3)")
