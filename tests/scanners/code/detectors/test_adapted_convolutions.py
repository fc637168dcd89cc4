"""Adapters on convolutions that are neither dilated nor padded otherwise."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.adapted_convolutions import on_plain_convolutions

_NET = """\
class Net(nn.Module):
    def __init__(self):
        self.conv1 = {first}
        self.context = nn.Conv2d(8, 8, 3, dilation=2)
"""
_ADAPTED = "get_peft_model(Net(), BOFTConfig(target_modules={targets}))\n"


@pytest.mark.parametrize(
    ("first", "targets", "plain"),
    [
        ("nn.Conv2d(3, 8, 3, padding=1)", '["conv1"]', True),
        ("nn.Conv2d(3, 8, 3, 1, 1)", '["net.conv1"]', True),
        ("nn.Conv2d(3, 8, 3, 1, 1, 2)", '["conv1"]', False),
        ("nn.Conv2d(3, 8, 3, padding_mode='reflect')", '["conv1"]', False),
        ("nn.Conv2d(3, 8, 3, **options)", '["conv1"]', False),
        ("make(3, 8)", '["conv1"]', False),
        ("nn.Conv2d(3, 8, 3)", '["conv1", "context"]', False),
        ("nn.Conv2d(3, 8, 3)", '["conv1", "conv9"]', False),
        ("nn.Conv2d(3, 8, 3)", "names", False),
    ],
)
def test_where_the_program_makes_what_the_adapter_is_put_on(first: str, targets: str, plain: bool) -> None:
    body = ast.parse(_NET.format(first=first) + _ADAPTED.format(targets=targets)).body
    assert [name for name, _ in on_plain_convolutions(body)] == (["peft.BOFTConfig.on_plain_convolutions"] * plain)
