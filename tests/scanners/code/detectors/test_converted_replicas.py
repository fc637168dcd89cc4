"""Models that get another dtype or device behind DistributedDataParallel."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.converted_replicas import converted_replica


@pytest.mark.parametrize(
    "program",
    [
        "model = DDP(model)\nmodel.half()\ntrain(model)",
        """
            model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0])
            model = model.to(torch.bfloat16)
            fit(model)
        """,
        "model = DDP(model)\nmodel.to(device, dtype=torch.float16)\nloss.backward()",
        """
            model = DDP(model)
            for _ in range(3):
                train()
                save(model.module.cpu().state_dict())
                model.cuda()
        """,
        "def main():\n    net = DDP(net)\n    net.to('cpu')\n    net.to(device)\n    train_epoch(net)",
        "model = DDP(model).half()\nloss.backward()",
        "ddp = DDP(net)\nnet.half()\nloss.backward()",
        "model = DDP(net)\nraw = model.module\nraw.double()\nloss.backward()",
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
        "model.half()\nmodel = DDP(model)\ntrain(model)",
        "model = DDP(model)\nmodel.to(device)\nmodel.cuda()\ntrain(model)",
        "model = DDP(model)\nmodel.float()\ntrain(model)",
        "model = DDP(model)\ntorch.save(model.cpu().state_dict(), 'x')\ntrain(other)",
        """
            model = DDP(model)
            state = {k: v.cpu() for k, v in model.module.state_dict().items()}
            model.cuda()
            train(model)
        """,
        "model = DDP(model)\nx = x.half()\ntrain(model)",
        "def train():\n    model = DDP(model)\ndef export(model):\n    model.cpu()\n    model.cuda()",
        "model = torch.nn.DataParallel(model)\nmodel.half()\ntrain(model)",
        "model = DDP(model)\ntrain(model)\nmodel.half()\nevaluate(model)",
        "model = DDP(model)\ntrain(model)\nmodel.cpu()\nmodel.cuda()\nmodel.eval()\ntest(model)",
        "model = DDP(model)\nmodel.half()\nother = Net.from_pretrained('x')",
        "if several:\n    model = DDP(net)\nelse:\n    model = Net()\n    model.half()\ntrain(model)",
        """
            class Run:
                def start(self):
                    self.model = DDP(net)
                def export(self):
                    self.model.half()
        """,
    ],
)
def test_others_are_not(program: str) -> None:
    assert converted_replica(ast.parse(dedent(program)).body) is None
