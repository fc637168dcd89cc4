"""Layers that a model of the project adds to an encoder of transformers."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.python_code import scan

MODEL = """\
import torch
from torch import nn
from torchcrf import CRF
from transformers import BertModel, {base}


class Tagger({base}):
    def __init__(self, config):
        super().__init__(config)
        self.bert = BertModel(config)
        self.layer = {layer}
        self.post_init()
{more}

model = Tagger.from_pretrained({source})
model.train()
"""


def added(
    layer: str, *, base: str = "BertPreTrainedModel", source: str = "args.model_name_or_path", more: str = ""
) -> list[str]:
    text = MODEL.format(base=base, layer=layer, source=source, more=more)
    found = [one.value for one in scan(Document("train.py", text)).settings if one.key == "code.symbols"]
    start = "transformers.PreTrainedModel.added."
    names = [name for value in found if isinstance(value, tuple) for name in value]
    return [name.removeprefix(start) for name in names if name.startswith(start)]


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        ("nn.LSTM(8, 8)", "lstm"),
        ("torch.nn.GRU(8, 8)", "recurrent"),
        ("CRF(3, batch_first=True)", "recurrent"),
        ("nn.ModuleList([nn.Conv1d(8, 8, k) for k in (2, 3)])", "convolution"),
        ("nn.TransformerEncoderLayer(8, 2)", "attention"),
        ("nn.Parameter(torch.zeros(3))", "parameter"),
    ],
)
def test_a_layer_is_of_the_kind_that_initialisation_knows(layer: str, kind: str) -> None:
    assert added(layer) == [kind]


@pytest.mark.parametrize("layer", ["nn.Linear(8, 3)", "nn.Dropout(0.1)", "nn.LayerNorm(8)"])
def test_layers_that_the_library_fills_are_none(layer: str) -> None:
    assert added(layer) == []


@pytest.mark.parametrize(
    "source", ["'out/best'", "args.output_dir", "checkpoint", "'./bert-tagger'", "os.path.join(args.save_dir, 'm')"]
)
def test_a_checkpoint_of_the_projects_own_has_all_weights(source: str) -> None:
    assert added("nn.LSTM(8, 8)", source=source) == []


def test_a_model_that_derives_from_the_library_alone_fills_its_own() -> None:
    assert added("nn.LSTM(8, 8)", base="PreTrainedModel") == []


@pytest.mark.parametrize(
    "more",
    [
        "    def _init_weights(self, module):\n        fill(module)\n",
        "    def start(self):\n        self.layer.weight_hh_l0.data.normal_()\n",
        "    def start(self):\n        self.layer.reset_parameters()\n",
    ],
)
def test_a_program_that_fills_them_is_left_alone(more: str) -> None:
    assert added("nn.LSTM(8, 8)", more=more) == []
    assert added("nn.LSTM(8, 8)") == ["lstm"]
