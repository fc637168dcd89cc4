"""The file that fsdp_config names, and the program that names it."""

from __future__ import annotations

import pytest

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import fsdp_config
from gradcompat.scanners.run_assembly import join
from gradcompat.scanners.unscanned import could_train
from tests.scanners.scanned import fixture, lines


def test_a_file() -> None:
    context = fsdp_config.scan(fixture("hf/fsdp_config.json"))
    assert (context.kind, context.run) == ("hf-fsdp", False)
    assert lines(context) == [
        (2, "fsdp.layer_class", True),
        (3, "fsdp.cpu_ram_efficient_loading", True),
        (4, "fsdp.state_dict_type", "SHARDED_STATE_DICT"),
    ]


def test_it_belongs_to_the_program_that_names_it() -> None:
    text = "from transformers import TrainingArguments, Trainer\n"
    text += "a = TrainingArguments('o', fsdp='full_shard', fsdp_config='fsdp_config.json')\nTrainer(m, a).train()\n"
    program = python_code.scan(Document("train.py", text))
    (run,) = join([program, fsdp_config.scan(fixture("hf/fsdp_config.json"))])
    assert ("fsdp.cpu_ram_efficient_loading", True) in [(one.key, one.value) for one in run.settings]


@pytest.mark.parametrize("text", ['{"zero_optimization": {"stage": 2}}', "{}"])
def test_something_else(text: str) -> None:
    with pytest.raises(Unrecognised):
        fsdp_config.scan(Document("a.json", text))


@pytest.mark.parametrize("option", ["use_orig_params", "fsdp_use_orig_params", "fsdp_transformer_layer_cls_to_wrap"])
def test_one_that_is_cut_off_is_no_other_file(option: str) -> None:
    assert could_train("fsdp.json", f'{{"{option}": 1, '.encode())
