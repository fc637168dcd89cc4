"""Notebooks are put together here, as Jupyter would save them: a line of the file for each line of a cell."""

from __future__ import annotations

import json
import sys

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.code.notebook_code import FEEDS, scan
from gradcompat.scanners.code.python_code import FEEDS as PYTHON_FEEDS
from gradcompat.scanners.registry import candidates
from gradcompat.terms.comparison import texts

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def text_of(*cells: str | list[str], kind: str = "code") -> str:
    content = [{"cell_type": kind, "source": cell} for cell in cells]
    return json.dumps({"cells": content, "nbformat": 4}, indent=1)


def of_cells(*cells: str) -> tuple[Context, list[str]]:
    """The context of cells whose sources are lists of lines, and the lines of the file."""
    text = text_of(*(cell.splitlines(keepends=True) for cell in cells))
    return scan(Document("x.ipynb", text)), text.split("\n")


def written(setting: Setting, lines: list[str]) -> tuple[str, object, str]:
    """The key, the value and the line of the program in which it stands."""
    assert setting.location.line is not None
    assert setting.location.column is None
    line = lines[setting.location.line - 1].strip().rstrip(",")
    return setting.key, setting.value, json.loads(line).strip()


def test_cells_are_one_program_and_magics_are_left_out() -> None:
    context, lines = of_cells(
        "!pip install peft \\\n  transformers\n%load_ext x\nfrom transformers import TrainingArguments\nGA = 4",
        "%%bash\nTrainingArguments(seed=1)",
        "%%time\nif True:\n    !ls\nfiles = !ls\n?TrainingArguments\nTrainingArguments?\npip install x\n"
        "arguments = TrainingArguments(\n    gradient_accumulation_steps=GA,\n    fp16=True,\n)\n",
        "value = '''\n!no magic\n'''\narguments.seed = 3",
    )
    assert [written(one, lines) for one in context.settings[:4]] == [
        ("training.gradient_accumulation_steps", 4, "GA = 4"),
        ("training.framework", "transformers.Trainer", "arguments = TrainingArguments("),
        ("precision.mode", "fp16", "fp16=True,"),
        ("training.seed", 3, "arguments.seed = 3"),
    ]
    assert [one.key for one in context.settings[4:]] == ["code.symbols", "code.calls"]
    assert (context.kind, context.run, context.skipped) == ("notebook", False, ())


def test_a_cell_that_is_no_python_is_skipped_at_its_line() -> None:
    context, lines = of_cells("import torch\n", "x = 1\nprint 'old'\n", "torch.manual_seed(3)\n", "x = (", "x = '\0'")
    assert [written(one, lines) for one in context.settings[:1]] == [("training.seed", 3, "torch.manual_seed(3)")]
    reasons = [
        f"not valid Python {VERSION}: Missing parentheses in call to 'print'. Did you mean print(...)?",
        f"not valid Python {VERSION}: '(' was never closed",
        "not valid Python: holds a null byte",
    ]
    assert [(one.what, one.reason, one.gap) for one in context.skipped] == [("a cell", why, True) for why in reasons]
    places = [one.location.line for one in context.skipped if one.location is not None and one.location.line]
    assert [json.loads(lines[line - 1].strip().rstrip(",")) for line in places] == [
        "print 'old'\n",
        "x = (",
        "x = '\0'",
    ]


def test_a_source_that_is_one_string_has_one_line() -> None:
    text = text_of("import torch\n\ntorch.manual_seed(3)")
    context = scan(Document("x.ipynb", text))
    line = next(number for number, one in enumerate(text.split("\n"), start=1) if "manual_seed" in one)
    assert (context.settings[0].key, context.settings[0].value, context.settings[0].location.line) == (
        "training.seed",
        3,
        line,
    )


def test_worksheets_of_old_notebooks() -> None:
    cells = [{"cell_type": "code", "input": ["import torch\n", "torch.manual_seed(3)"]}]
    context = scan(Document("x.ipynb", json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}, 3]})))
    assert [(one.key, one.value) for one in context.settings[:1]] == [("training.seed", 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`x.ipynb:1`: not valid JSON: Expecting value"),
        ("[]", "`x.ipynb`: has no cells as a notebook has"),
        ('{"cells": []}', "`x.ipynb`: has no cells as a notebook has"),
        ('{"nbformat": 4, "cells": {}}', "`x.ipynb`: has no cells as a notebook has"),
        (text_of("print(1)"), "`x.ipynb`: imports no library for training"),
        (text_of("import torch", kind="markdown"), "`x.ipynb`: imports no library for training"),
        (text_of([]), "`x.ipynb`: imports no library for training"),
        ('{"nbformat": 4, "cells": [1, {"cell_type": "code", "source": [1]}, null]}', "imports no library"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": "import torch', "`x.ipynb:1`: not valid JSON"),
    ],
)
def test_malformed(text: str, message: str) -> None:
    with pytest.raises(Malformed) as raised:
        scan(Document("x.ipynb", text))
    assert message in str(raised.value)


def test_a_hostile_cell_does_not_hide_the_others() -> None:
    context, _ = of_cells("import torch\ntorch.manual_seed(3)", "x" + ".a" * 100_000, "(" * 100_000)
    assert [(one.what, one.reason) for one in context.skipped] == [("a cell", "nested too deeply")] * 2
    assert context.settings[0].value == 3


def test_recognised_and_documented() -> None:
    assert [one.kind for one in candidates("a.ipynb", text_of("x"))] == ["notebook"]
    assert FEEDS is PYTHON_FEEDS


def test_what_stands_beside_the_code_is_no_part_of_the_program() -> None:
    code = (
        "from peft import PeftModel\nfrom trl import SFTTrainer\nbase = load()\n"
        "SFTTrainer(model=PeftModel.from_pretrained(base, 'adapter')).train()\n"
    )
    cells = [
        {"cell_type": "markdown", "source": "Adapters have requires_grad unless they are frozen."},
        {"cell_type": "code", "source": code, "outputs": [{"output_type": "stream", "text": "requires_grad=True"}]},
    ]
    context = scan(Document("x.ipynb", json.dumps({"cells": cells, "nbformat": 4})))
    symbols = {name for one in context.settings if one.key == "code.symbols" for name in texts(one.value)}
    assert "trl.SFTTrainer.frozen_adapter" in symbols
