"""Masks that are widened before a normalisation of Keras gets them."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.detectors.widened_masks import SYMBOL
from gradcompat.scanners.code.python_code import scan

PROGRAM = """\
import keras
from keras import layers, ops

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.norm = layers.BatchNormalization()
        self.scale = layers.BatchNormalization()
        self.layer_norm = layers.LayerNormalization()

    def call(self, x, mask):
        wide = ops.expand_dims(mask, -1)
        full = ops.broadcast_to(mask, ops.shape(x)[:-1])
        return {}
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("self.norm(x, mask=ops.expand_dims(mask, -1))", True),
        ("self.norm(x, mask=wide)", True),
        ("self.scale(x, mask=mask[..., None])", True),
        ("self.bn_of_elsewhere(x, mask=ops.reshape(mask, (2, 3, 1)))", True),
        ("self.norm(x, mask=full)", False),
        ("self.norm(x, mask=mask)", False),
        ("self.norm(wide)", False),
        ("self.layer_norm(x, mask=wide)", False),
        ("self.attention(x, mask=wide)", False),
    ],
)
def test_a_mask(call: str, expected: bool) -> None:
    used = [one.value for one in scan(Document("x.py", PROGRAM.format(call))).settings if one.key == "code.symbols"]
    assert any(SYMBOL in value for value in used if isinstance(value, tuple)) is expected
