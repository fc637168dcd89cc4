"""Layers that a model of the project adds to an encoder of transformers."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

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
def test_a_class_that_fills_them_is_left_alone(more: str) -> None:
    assert added("nn.LSTM(8, 8)", more=more) == []
    assert added("nn.LSTM(8, 8)") == ["lstm"]


@pytest.mark.parametrize(
    "more",
    [
        "    def start(self):\n        nn.init.orthogonal_(self.layer.weight_hh_l0)\n",
        "    def init_weights(self):\n        self.layer.weight_hh_l0.uniform_(-0.1, 0.1)\n",
        "\ndef start(model):\n    nn.init.orthogonal_(model.layer.weight_hh_l0)\n",
        "\nclass Run:\n    def start(self):\n        self.model.layer.weight_hh_l0.uniform_(-0.1, 0.1)\n",
        "\ndef start(model):\n    nn.init.trunc_normal_(model.layer.weight_hh_l0)\n",
        "\nclass Run:\n    def __init__(self):\n        self.model.layer.reset_parameters()\n\n"
        "    def forward(self, x):\n        return self.model(x)\n\n"
        "    def training_step(self, x):\n        return self(x)\n",
    ],
)
def test_a_program_that_fills_them_elsewhere_is_left_alone(more: str) -> None:
    assert added("nn.LSTM(8, 8)", more=more) == []


def test_functions_of_initialisation_do_nothing_while_the_model_is_built() -> None:
    more = "    def init_weights(self):\n        nn.init.orthogonal_(self.layer.weight_hh_l0)\n"
    assert added("nn.LSTM(8, 8)", more=more) == ["lstm"]


def test_gradients_that_are_zeroed_fill_no_layer() -> None:
    assert added("nn.LSTM(8, 8)", more="\ndef clear(p):\n    p.grad.zero_()\n") == ["lstm"]


@pytest.mark.parametrize("base", ["nn.Module, BertPreTrainedModel", "BertPreTrainedModel, Filling"])
def test_another_base_may_fill_them(base: str) -> None:
    text = MODEL.format(base="BertPreTrainedModel", layer="nn.LSTM(8, 8)", source="args.model_name_or_path", more="")
    text = text.replace("class Tagger(BertPreTrainedModel)", f"class Tagger({base})")
    found = [one.value for one in scan(Document("train.py", text)).settings if one.key == "code.symbols"]
    assert "transformers.PreTrainedModel.added.lstm" not in str(found)


def test_a_head_of_the_library_that_is_derived_from_has_the_same_initialisation() -> None:
    assert added("nn.LSTM(8, 8)", base="BertForTokenClassification") == ["lstm"]


@pytest.mark.parametrize(
    "layer",
    ["nn.LSTM(8, 8) if config.recurrent else None", "None\n        if config.crf:\n            self.crf = CRF(3)"],
)
def test_a_layer_that_the_config_asks_for_may_not_be_there(layer: str) -> None:
    assert added(layer) == []


def test_a_parameter_in_the_place_of_another_is_in_the_checkpoint() -> None:
    more = "        self.bert.embeddings.position_embeddings.weight = nn.Parameter(torch.zeros(512, 8))\n"
    assert added("nn.Linear(8, 3)", more=more) == []
    assert added("nn.Linear(8, 3)", more="        self.query = nn.Parameter(torch.zeros(8))\n") == ["parameter"]


@pytest.mark.parametrize(
    "source",
    [
        *("args.model_dir", "'user/tagger'", "'user/bert-crf-weibo'", "args.stage1_path", "args.trained_model"),
        "None, config=config, state_dict=torch.load('w.pt')",
        "'bert-base-uncased', _fast_init=False",
    ],
)
def test_weights_that_come_from_elsewhere(source: str) -> None:
    assert added("nn.LSTM(8, 8)", source=source) == []


@pytest.mark.parametrize("source", ["'hfl/chinese-macbert-base'", "args.pretrained_model", "CHECKPOINT"])
def test_checkpoints_of_encoders(source: str) -> None:
    assert added("nn.LSTM(8, 8)", source=source, more="\nCHECKPOINT = 'bert-base-uncased'\n") == ["lstm"]


def test_a_state_that_is_loaded_over_the_model_at_once() -> None:
    load = "model.load_state_dict(torch.load('w.pt'))"
    source = f"'bert-base-uncased')\n{load}\nprint("
    assert added("nn.LSTM(8, 8)", source=source) == []
    source = f"'bert-base-uncased')\nfor batch in loader:\n    step(batch)\n{load}\nprint("
    assert added("nn.LSTM(8, 8)", source=source) == ["lstm"]


def test_what_the_program_saves_where_it_loads_is_its_own() -> None:
    source = "args.folder)\nmodel.save_pretrained(args.folder"
    assert added("nn.LSTM(8, 8)", source=source) == []
