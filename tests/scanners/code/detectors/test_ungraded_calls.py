"""Kernels whose backward pass never runs."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

_HEAD = "import torch\nfrom flash_attn import flash_attn_varlen_func\n"
_CALL = "flash_attn_varlen_func(q, k, v, lengths, lengths, 8, 8)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"with torch.no_grad():\n    out = {_CALL}", True),
        (f"with torch.autocast('cuda'), torch.inference_mode():\n    out = {_CALL}", True),
        (f"@torch.no_grad()\ndef encode(q, k, v):\n    return {_CALL}", True),
        (f"out = {_CALL}", False),
        (f"with torch.enable_grad():\n    out = {_CALL}", False),
        (f"with torch.no_grad():\n    out = {_CALL}out = {_CALL}", False),
    ],
)
def test_a_kernel_without_gradients(text: str, expected: bool) -> None:
    used = [one.value for one in scan(Document("x.py", _HEAD + text)).settings if one.key == "code.symbols"]
    symbols = {name for value in used if isinstance(value, tuple) for name in value}
    assert ("flash_attn.flash_attn_varlen_func.ungraded" in symbols) is expected
