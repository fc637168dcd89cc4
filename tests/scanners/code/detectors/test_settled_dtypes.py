"""Whether a program chooses the dtype of a model that it makes from a configuration."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = (
    "import torch\nfrom transformers import AutoConfig, AutoModel, LlamaConfig\n"
    "from accelerate import init_empty_weights\n"
)
READ = "config = AutoConfig.from_pretrained(name)\n"
MADE = "model = AutoModel.from_config(config)\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (READ + MADE, False),
        (f"{READ}config.num_hidden_layers = 12\n{MADE}model.to('cuda')", False),
        (f"{READ}config.torch_dtype = torch.float32\n{MADE}", True),
        (f"{READ}config.dtype = 'float32'\n{MADE}", True),
        (f"{READ}setattr(config, 'dtype', 'float32')\n{MADE}", True),
        (f"{READ}{MADE}class Head(torch.nn.Module):\n    def __init__(self):\n        self.dtype = 0", False),
        (f"config = AutoConfig.from_pretrained(name, torch_dtype='float32')\n{MADE}", True),
        (f"config = LlamaConfig(hidden_size=512)\n{MADE}", True),
        (f"config = LlamaConfig(**sizes)\n{MADE}", False),
        (f"{READ}model = AutoModel.from_config(config).float()", True),
        (f"{READ}{MADE}model = model.to(torch.bfloat16)", True),
        (f"{READ}{MADE}model.to('cuda', dtype=weight_dtype)", True),
        (f"{READ}{MADE}teacher.float()", False),
        (f"{READ}with init_empty_weights():\n    {MADE}", True),
        (f"{READ}with torch.device('meta'):\n    {MADE}", True),
        (f"{READ}with torch.device('cuda'):\n    {MADE}", False),
        ("def build(config):\n    return AutoModel.from_config(config)\nbuild(LlamaConfig())", True),
    ],
)
def test_who_chooses_the_dtype(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\n"))
    found = next(one.value for one in context.settings if one.key == "code.symbols")
    assert ("transformers.AutoModel.from_config.of_settled_dtype" in found) is expected  # type: ignore[operator]
