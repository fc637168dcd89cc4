"""Whether a program makes the weights of a model float16 or bfloat16 after it has loaded it."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "import torch\nfrom transformers import AutoModelForCausalLM\n"
MODEL = "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("model = AutoModelForCausalLM.from_pretrained('gpt2').half().cuda()", "float16"),
        (f"{MODEL}model.half()", "float16"),
        (f"{MODEL}model = model.to(torch.float16)", "float16"),
        (f"{MODEL}model.to('cuda', dtype=torch.half)", "float16"),
        (f"{MODEL}model.to(torch.bfloat16)", "bfloat16"),
        (f"{MODEL}model.bfloat16()", "bfloat16"),
        (f"{MODEL}model.to('cuda')", None),
        (f"{MODEL}batch = batch.half()", None),
        (f"{MODEL}batch = batch.to(torch.bfloat16)", None),
        (MODEL, None),
    ],
)
def test_who_makes_weights_half(lines: str, expected: str | None) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\nloss.backward()\n"))
    stated = {one.key: one.value for one in context.settings}
    assert stated.get("model.torch_dtype") == expected
    assert (stated.get("precision.half_weights") is True) is (expected is not None)


OWN = """import torch
from accelerate import Accelerator
from torch import nn

class Tagger(nn.Module):
    pass

accelerator = Accelerator(mixed_precision="bf16")
"""
PREPARED = "model, optimizer = accelerator.prepare(model, optimizer)"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (f"model = nn.Sequential(nn.Linear(2, 2)).to(torch.bfloat16)\n{PREPARED}", "bfloat16"),
        (f"model = nn.Linear(2, 2).to('cpu', torch.bfloat16)\n{PREPARED}", "bfloat16"),
        (f"import torchvision\nmodel = torchvision.models.resnet18(num_classes=2).half()\n{PREPARED}", "float16"),
        (f"from timm import create_model\nmodel = create_model('vit_tiny')\nmodel.bfloat16()\n{PREPARED}", "bfloat16"),
        (f"import torchvision\nteacher = torchvision.models.resnet50().half()\nmodel = Tagger()\n{PREPARED}", None),
        (f"model = Tagger()\nmodel.half()\n{PREPARED}", "float16"),
        (f"model = Tagger()\nmodel = model.to(torch.bfloat16)\n{PREPARED}", "bfloat16"),
        (f"model = Tagger()\n{PREPARED}\nmodel.to(torch.bfloat16)", None),
        (f"teacher = Tagger().to(torch.bfloat16)\nmodel = Tagger()\n{PREPARED}", None),
        ("model = Tagger().to(torch.bfloat16)", None),
        (f"model = Tagger().to('cuda')\n{PREPARED}", None),
        (f"model = build().to(torch.bfloat16)\n{PREPARED}", None),
        ("x = torch.zeros(2).to(torch.bfloat16)\nx = accelerator.prepare(x)", None),
    ],
)
def test_a_module_of_torch_is_half_if_an_accelerator_gets_it(lines: str, expected: str | None) -> None:
    context = python_code.scan(Document("train.py", f"{OWN}{lines}\nloss.backward()\n"))
    stated = {one.key: one.value for one in context.settings}
    assert stated.get("model.torch_dtype") == expected
