"""Whether a Trainer gets a model that the program writes itself."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = """\
import torch
from transformers import BertPreTrainedModel, GPT2LMHeadModel, LlamaForCausalLM, Trainer

class Net(torch.nn.Module):
    pass

class Deeper(Net):
    pass

class Tagger(BertPreTrainedModel):
    pass

class Seeing(LlamaForCausalLM):
    pass

class Small(GPT2LMHeadModel):
    pass

class Part(torch.nn.Module):
    pass

"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("Trainer(model=Net()).train()", True),
        ("model = Deeper().to('cuda')\nTrainer(model).train()", True),
        ("Trainer(model=Tagger.from_pretrained('bert')).train()", True),
        ("Trainer(model=Seeing.from_pretrained('llama')).train()", False),
        ("Trainer(model=Small.from_pretrained('gpt2')).train()", False),
        ("part = Part()\nTrainer(model=LlamaForCausalLM.from_pretrained('llama')).train()", False),
        ("Trainer(model=make()).train()", False),
    ],
)
def test_whose_head_is_trained(lines: str, expected: bool) -> None:
    context = python_code.scan(Document("train.py", f"{HEAD}{lines}\n"))
    assert any(one.key == "data.unequal_labels" and one.value is None for one in context.settings) is expected
