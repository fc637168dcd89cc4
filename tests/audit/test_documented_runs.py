"""Runs that only a README shows: presumed, joined with the files that they name, and not told where a script runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.audit.runs import in_folder
from gradcompat.files.root import root_of_folder
from gradcompat.model.context import Context
from gradcompat.scanners.run_assembly import assemble

TRAIN = """\
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(training_args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B")
Trainer(model=model, args=training_args).train()
"""
README = """\
# Train

    torchrun indented.py --gradient_accumulation_steps 2

```bash
pip install -r requirements.txt
$ accelerate launch --num_processes 8 train.py --output_dir o \\
    --gradient_accumulation_steps 4
deepspeed train.py --output_dir p --deepspeed zero2.json
```
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\ntransformers==4.44.2\ndeepspeed==0.15.0\n")
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "zero2.json").write_text('{"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}')
    return tmp_path


def runs(folder: Path) -> list[Context]:
    contexts, _ = in_folder(folder, ".", root_of_folder(folder, "."))
    return list(assemble(contexts).runs)


def test_each_command_is_a_run_with_the_files_that_it_names(project: Path) -> None:
    assert [Path(one.source.split(" + ")[0]).name for one in runs(project)] == [
        "README.md (line 7)",
        "README.md (line 9)",
    ]
    first, second = runs(project)
    assert "train.py" in first.source
    assert "zero2.json" not in first.source
    assert "zero2.json" in second.source
    values = {one.key: (one.value, one.presumed, one.location.line) for one in first.settings}
    assert values["training.gradient_accumulation_steps"] == (4, True, 8)
    assert values["training.framework"][1] is False  # the program says it itself
    assert {one.key: one.presumed for one in second.settings}["deepspeed.zero_stage"] is True


def test_what_a_finding_takes_from_a_readme_is_said_and_can_be_refused(project: Path) -> None:
    (finding,) = [one for one in gradcompat.check(project).findings if one.finding.issue.id == "GC-0005"]
    assert finding.finding.status == "affected"
    assert any(one.location is not None and "README.md" in one.location.path for one in finding.finding.assumed)
    bare = gradcompat.check(project, assume="none")
    assert {one.finding.status for one in bare.findings if one.finding.issue.id == "GC-0005"} == {"conditional"}


def test_a_script_that_starts_the_program_is_how_it_is_run(project: Path) -> None:
    (project / "train.sh").write_text("accelerate launch train.py --gradient_accumulation_steps 1\n")
    assert [Path(one.source.split(" + ")[0]).name for one in runs(project)] == ["train.sh"]


def test_a_command_whose_program_is_not_there_is_no_run(project: Path) -> None:
    (project / "train.py").rename(project / "finetune.py")
    assert [Path(one.source).name for one in runs(project)] == ["finetune.py"]


def test_a_command_whose_program_is_one_of_several_is_no_run(project: Path) -> None:
    for name in ("first", "second"):
        (project / name).mkdir()
        (project / name / "train.py").write_text(TRAIN)
    (project / "train.py").unlink()
    assert [Path(one.source).name for one in runs(project)] == ["train.py", "train.py"]
    (project / "first" / "README.md").write_text(README)  # beside one of them it is clear
    assert sorted(Path(one.source.split(" + ")[0]).name for one in runs(project)) == [
        "README.md (line 7)",
        "README.md (line 9)",
        "train.py",
    ]


def test_an_option_that_a_release_lacks_breaks_who_follows_the_readme(project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==5.3.0\n")
    (project / "README.md").write_text("```\npython train.py --evaluation_strategy no\n```\n")
    found = [one for one in gradcompat.check(project).findings if "evaluation_strategy" in one.finding.issue.summary]
    assert [one.finding.status for one in found] == ["conditional"]


@pytest.mark.parametrize("text", ["```sh\npython 'train.py\n", "```sh\n" * 200, "```\n\0\n```", "\xff" * 10])
def test_a_readme_that_makes_no_sense_is_passed_over(project: Path, text: str) -> None:
    (project / "README.md").write_bytes(text.encode("latin-1"))
    assert [Path(one.source).name for one in runs(project)] == ["train.py"]


def test_a_word_for_the_reader_to_fill_in_is_not_told(project: Path) -> None:
    (project / "README.md").write_text("```bash\ntorchrun --nproc_per_node=N train.py\n```\n")
    [run] = runs(project)
    assert not any(one.key == "distributed.processes" for one in run.settings)
    assert run.skipped == ()
