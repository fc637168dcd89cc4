"""Arguments of a trainer that stand in branches."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.model.environment import SettingValue
from gradcompat.scanners.code.python_code import scan

PROGRAM = """\
from transformers import Seq2SeqTrainingArguments, Trainer, TrainingArguments
{body}
Trainer(model, args=arguments).train()
"""
STEPS = "    arguments = TrainingArguments('o', gradient_accumulation_steps={}, max_steps=9)\n"
EPOCHS = "    arguments = Seq2SeqTrainingArguments('o', gradient_accumulation_steps={}, num_train_epochs=2)\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if steps:\n" + STEPS.format(4) + "else:\n" + EPOCHS.format(4), [(4, True)]),
        ("if steps:\n" + STEPS.format(4) + "elif epochs:\n" + EPOCHS.format(4), [(4, True)]),
        ("try:\n" + STEPS.format(4) + "except TypeError:\n" + EPOCHS.format(4), [(4, False), (None, False)]),
        ("if train:\n" + STEPS.format(4), [(None, False)]),
        ("if steps:\n" + STEPS.format(4) + "else:\n" + EPOCHS.format(8), [(None, False)]),
        ("if steps:\n" + STEPS.format(4) + "else:\n" + EPOCHS.format("n"), [(None, False)]),
        # Another place makes them whatever the branch, or leaves them to the default.
        ("arguments = TrainingArguments('o')\nif steps:\n" + STEPS.format(4), [(None, False)]),
        ("if steps:\n" + STEPS.format(4) + "else:\n    arguments = TrainingArguments('o')\n", [(None, False)]),
    ],
)
def test_what_all_branches_say_alike(body: str, expected: list[tuple[SettingValue | None, bool]]) -> None:
    context = scan(Document("train.py", PROGRAM.format(body=body)))
    found = [one for one in context.settings if one.key == "training.gradient_accumulation_steps"]
    assert [(one.value, one.presumed) for one in found] == expected


def test_an_adapter_that_only_a_branch_makes_stays_open() -> None:
    program = (
        "from peft import LoraConfig, get_peft_model\nfrom transformers import Trainer\n"
        "if lora:\n    model = get_peft_model(model, LoraConfig(r=8))\nTrainer(model).train()\n"
    )
    context = scan(Document("train.py", program))
    assert [one.value for one in context.settings if one.key == "peft.method"] == [None]
