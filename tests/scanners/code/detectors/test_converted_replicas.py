"""Models that get another dtype or device behind DistributedDataParallel."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.converted_replicas import converted_replica


@pytest.mark.parametrize(
    "program",
    [
        "model = DDP(model)\nmodel.half()",
        "model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])\nmodel = model.to(torch.bfloat16)",
        "model = DDP(model)\nmodel.to(device, dtype=torch.float16)",
        "model = DDP(model)\nfor _ in range(3):\n    torch.save(model.module.cpu().state_dict(), f)\n    model.cuda()",
        "def main():\n    net = DDP(net)\n    net.to('cpu')\n    net.to(device)",
        """
        class Run:
            def __init__(self):
                self.model = DDP(make())
            def save(self):
                self.model.cpu()
                self.model.to(self.device)
        """,
    ],
)
def test_a_wrapped_model_that_is_converted_is_found(program: str) -> None:
    assert converted_replica(ast.parse(dedent(program)).body) is not None


@pytest.mark.parametrize(
    "program",
    [
        "model.half()\nmodel = DDP(model)",
        "model = DDP(model)\nmodel.to(device)\nmodel.cuda()",
        "model = DDP(model)\nmodel.float()",
        "model = DDP(model)\ntorch.save(model.cpu().state_dict(), 'x')",
        "model = DDP(model)\nstate = {k: v.cpu() for k, v in model.module.state_dict().items()}\nmodel.cuda()",
        "model = DDP(model)\nx = x.half()",
        "def train():\n    model = DDP(model)\ndef export(model):\n    model.cpu()\n    model.cuda()",
        "model = torch.nn.DataParallel(model)\nmodel.half()",
    ],
)
def test_others_are_not(program: str) -> None:
    assert converted_replica(ast.parse(program).body) is None
