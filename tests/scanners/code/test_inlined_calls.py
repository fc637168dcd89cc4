"""Small functions of a project, which are read in the place of their calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.model.context import Context
from gradcompat.scanners.code import inlined_calls
from gradcompat.scanners.code.python_code import scan

STEPS = "training.gradient_accumulation_steps"
ARGUMENTS = "from transformers import TrainingArguments\n"
MAKES = f"{ARGUMENTS}def make(steps):\n    return TrainingArguments('out', gradient_accumulation_steps=steps)\n"


def scanned(folder: Path, files: Mapping[str, str]) -> Context:
    for path, text in files.items():
        (folder / path).write_text(text)
    return scan(read_document(folder / "train.py", "train.py", root_of_folder(folder, ".")))


def told(context: Context) -> list[tuple[str, int | None, object]]:
    return [(one.location.path, one.location.line, one.value) for one in context.settings if one.key == STEPS]


def program(text: str) -> str:
    return f"from build import make\nfrom transformers import Trainer\n{text}\nTrainer(model, args).train()\n"


def test_each_call_of_a_function_has_its_own_values(tmp_path: Path) -> None:
    text = program("other = make(2)\nargs = make(steps=8)")
    context = scanned(tmp_path, {"train.py": text, "build.py": MAKES})
    assert told(context) == [("train.py", 3, 2), ("train.py", 4, 8)]


def test_what_a_function_returns_is_made_where_it_is_called(tmp_path: Path) -> None:
    text = program("from transformers import AutoModel\nmodel = AutoModel.from_pretrained('x')\nargs = make(8)")
    context = scanned(tmp_path, {"train.py": text, "build.py": MAKES})
    assert any("from_pretrained.in_front" in str(one.value) for one in context.settings if one.key == "code.symbols")


@pytest.mark.parametrize(
    ("module", "call", "value"),
    [
        # A default, names that the program does not have, and another module behind the first.
        (MAKES.replace("(steps)", "(steps=4)"), "make()", 4),
        (MAKES.replace("steps=steps", "steps=STEPS") + "STEPS = 16\n", "make(8)", 16),
        (f"from transformers import TrainingArguments as A\n{MAKES.replace('TrainingArguments(', 'A(')}", "make(8)", 8),
        (f"{ARGUMENTS}def make(steps):\n    'Makes them.'\n{MAKES.splitlines()[-1]}\n", "make(8)", 8),
        # Arguments that fit in no place are left as they are.
        (MAKES.replace("(steps)", "(*steps)"), "make(8)", None),
        (MAKES, "make(*given)", None),
        (MAKES, "make()", None),
        (MAKES, "make(8, 2)", 8),
        (MAKES.replace("=steps", "=[one for one in steps]"), "make(8)", None),
    ],
)
def test_what_a_function_returns_is_read_with_what_it_is_given(
    tmp_path: Path, module: str, call: str, value: object
) -> None:
    context = scanned(tmp_path, {"train.py": program(f"args = {call}"), "build.py": module})
    assert [one[2] for one in told(context)] == [value]


def test_a_name_that_means_something_else_in_the_program_is_not_mixed_up(tmp_path: Path) -> None:
    text = program("from mine import TrainingArguments\nargs = make(8)")
    context = scanned(
        tmp_path, {"train.py": text, "build.py": MAKES, "mine.py": "class TrainingArguments:\n    a = 1\n"}
    )
    assert told(context) == [("build.py", 3, 8)]


def test_a_function_of_the_program_itself_is_read_where_it_is_called(tmp_path: Path) -> None:
    text = (
        f"{MAKES}from transformers import Trainer\nTrainer(model, make(2)).train()\nTrainer(model, make(8)).train()\n"
    )
    assert told(scanned(tmp_path, {"train.py": text})) == [("train.py", 5, 2), ("train.py", 6, 8)]


def test_many_calls_come_to_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inlined_calls, "_MOST_CALLS", 1)
    text = program("args = make(2)\nother = make(8)")
    assert [one[2] for one in told(scanned(tmp_path, {"train.py": text, "build.py": MAKES}))][:1] == [2]
