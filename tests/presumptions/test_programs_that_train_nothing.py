"""What programs that train nothing call is presumed to be run."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat

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
