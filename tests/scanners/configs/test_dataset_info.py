"""Of which form the data set in a folder is, and who reads it."""

from __future__ import annotations

import pytest

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import dataset_info
from gradcompat.scanners.run_assembly import join
from tests.scanners.scanned import fixture, lines

KEY = "files.dataset_of_4"
OLD = '{"features": {"ids": {"feature": {"dtype": "int32", "_type": "Value"}, "length": -1, "_type": "Sequence"}}}'


def test_a_file() -> None:
    context = dataset_info.scan(fixture("hf/dataset_info.json"))
    assert (context.kind, context.run) == ("hf-dataset", False)
    assert lines(context) == [(4, KEY, True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (OLD, False),
        (OLD.replace("Sequence", "List"), True),
        ('{"features": {"turns": {"a": {"feature": {"_type": "Value"}, "_type": "List"}, "_type": "x"}}}', True),
    ],
)
def test_forms(text: str, expected: bool) -> None:
    (setting,) = dataset_info.scan(Document("dataset_info.json", text)).settings
    assert setting.value is expected


@pytest.mark.parametrize("text", ['{"my_data": {"file_name": "a.json"}}', '{"features": {"a": 1}}'])
def test_something_else(text: str) -> None:
    with pytest.raises(Unrecognised):
        dataset_info.scan(Document("dataset_info.json", text))


@pytest.mark.parametrize(
    ("path", "told"), [("data/tokens", [True]), ("data/tokens/", [True]), ("data/others", []), ("data", [])]
)
def test_it_belongs_to_the_program_that_loads_it(path: str, told: list[bool]) -> None:
    text = "from datasets import load_from_disk\nfrom transformers import Trainer\n"
    text += f"Trainer(m, train_dataset=load_from_disk('{path}')).train()\n"
    info = Document("data/tokens/dataset_info.json", OLD.replace("Sequence", "List"))
    (run,) = join([python_code.scan(Document("train.py", text)), dataset_info.scan(info)])
    assert [one.value for one in run.settings if one.key == KEY] == told
