"""What programs that train nothing call is presumed to be run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

import gradcompat
from gradcompat.model.finding import Finding

PUSH = "from datasets import load_dataset\nd = load_dataset('json')\nd.push_to_hub('me/d', num_shards=2, num_proc=8)\n"


def statuses(folder: Path, program: str, only: str) -> list[str]:
    (folder / "requirements.txt").write_text(
        "datasets==4.4.1\nsentence-transformers==2.2.2\nhuggingface-hub==0.36.0\n", "utf-8"
    )
    (folder / "prepare.py").write_text(program, "utf-8")
    return [one.finding.status for one in gradcompat.check(folder, only=[only]).findings]


@pytest.mark.parametrize(("program", "expected"), [(PUSH, "affected"), (PUSH.replace("=2", "=8"), "dormant")])
def test_a_call_with_the_arguments_that_a_record_asks_for(tmp_path: Path, program: str, expected: str) -> None:
    assert statuses(tmp_path, program, "GC-0255") == [expected]


def test_a_test_of_the_project_is_no_program(tmp_path: Path) -> None:
    program = f"import pytest\n{PUSH.splitlines()[0]}\n\ndef test_it():\n    "
    program += "load_dataset('a').push_to_hub('b', num_shards=2, num_proc=8)\n"
    (tmp_path / "test_prepare.py").write_text(program, "utf-8")
    assert statuses(tmp_path, "from datasets import Dataset\nprint(Dataset)\n", "GC-0255") == ["dormant"]


def test_what_they_put_in_the_place_of_others(tmp_path: Path) -> None:
    program = "import huggingface_hub\n{}from sentence_transformers import SentenceTransformer\n"
    program += "print(SentenceTransformer('a').encode('b'))\n"
    placed = "huggingface_hub.cached_download = huggingface_hub.hf_hub_download\n"
    assert statuses(tmp_path, program.format(""), "GC-0105") == ["affected"]
    assert statuses(tmp_path, program.format(placed), "GC-0105") == ["dormant"]


def test_what_a_scanner_has_found_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("datasets==3.6.0\ntorch==2.7.0\n", "utf-8")
    (tmp_path / "look.py").write_text(
        "import datasets\nimport torch.utils.data\n"
        "a = datasets.load_dataset('a', streaming=True)\nb = datasets.load_dataset('b', streaming=True)\n"
        "mixed = datasets.interleave_datasets([a, b], probabilities=[0.5, 0.5], seed=1)\n"
        "for batch in torch.utils.data.DataLoader(mixed, num_workers=8):\n    print(batch)\n",
        "utf-8",
    )
    (found,) = gradcompat.check(tmp_path, only=["GC-0386"]).findings
    taken = " and ".join(assumption.sentence for assumption in found.finding.assumed)
    assert "the program with a data loader over streams that are drawn from by probabilities is run" in taken


TRAIN = """
from transformers import AutoModel, Trainer, TrainingArguments
Trainer(model=AutoModel.from_pretrained("a/b"), args=TrainingArguments("out"), train_dataset=data).train()
"""
MERGE = """
from peft import PeftModel
from transformers import AutoModel

def main():
    model = PeftModel.from_pretrained(AutoModel.from_pretrained("a/b"), "out/a", adapter_name="a")
    model.load_adapter("out/b", adapter_name="b")
    model.add_weighted_adapter(["a", "b"], [0.7, 0.3], adapter_name="merged")
"""
MAIN = '\nif __name__ == "__main__":\n    main()\n'


def beside_a_training(
    folder: Path, program: str, only: str, assume: Literal["usual", "none"] = "usual"
) -> list[Finding]:
    listed = "torch==2.9.1\ntransformers==4.57.6\npeft==0.20.0\naccelerate==1.12.0\n"
    (folder / "requirements.txt").write_text(listed, "utf-8")
    (folder / "train.py").write_text(TRAIN, "utf-8")
    (folder / "merge.py").write_text(program, "utf-8")
    found = gradcompat.check(folder, only=[only], assume=assume).findings
    return [one.finding for one in found if one.finding.status != "dormant"]


def test_beside_a_training_the_line_of_the_call_is_told(tmp_path: Path) -> None:
    (found,) = beside_a_training(tmp_path, MERGE + MAIN, "GC-1086")
    assert found.status == "affected"
    assert not found.contexts
    places = [one.location for one in found.assumed if "add_weighted_adapter" in one.sentence]
    assert [(Path(place.path).name, place.line) for place in places if place is not None] == [("merge.py", 8)]


@pytest.mark.parametrize(
    ("program", "record"),
    [
        (MERGE, "GC-1086"),  # which others import, and nobody here
        ("import torch\nprint(torch.load('a.pt'))\n", "GC-0060"),  # a note
    ],
)
def test_beside_a_training_nothing_else_is(tmp_path: Path, program: str, record: str) -> None:
    assert [one for one in beside_a_training(tmp_path, program, record) if not one.contexts] == []


def test_what_is_presumed_is_not_told_where_nothing_may_be(tmp_path: Path) -> None:
    assert beside_a_training(tmp_path, MERGE + MAIN, "GC-1086", "none") == []
