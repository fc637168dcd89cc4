"""Which programs the commands of scripts start, and whether these train."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.files.root import root_of_folder
from gradcompat.scanners.run_assembly import Assembly, assemble

TRAINS = "from transformers import Trainer, TrainingArguments\nTrainer('m', TrainingArguments('out')).train()\n"
SCORES = (
    "import torch\nfrom transformers import AutoModelForSequenceClassification as M\n"
    "model = M.from_pretrained('m')\nwith torch.no_grad():\n    print(model(ids).logits)\n"
)


def of_folder(folder: Path, **files: str) -> Assembly:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_py", ".py").replace("_sh", ".sh")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return assemble(in_folder(folder, ".", root_of_folder(folder, "."))[0])


@pytest.mark.parametrize(
    ("command", "joined"),
    [
        ("torchrun /gpfs/me/project-v2/src/train.py --seed 1", True),
        ("ROOT=/gpfs/me/project\npython $ROOT/src/train.py --seed 1", True),
        ("python ~/project/src/train.py --seed 1", True),
        ("python /gpfs/me/project/other/train.py --seed 1", False),
        ("python other/src/train.py --seed 1", False),
    ],
)
def test_a_path_on_another_machine_names_the_program_of_the_same_folder(
    tmp_path: Path, command: str, joined: bool
) -> None:
    found = of_folder(tmp_path, src__train_py=TRAINS, run_sh=f"{command}\n")
    assert any(run.source == "run.sh + src/train.py" for run in found.runs) is joined


def test_a_path_that_fits_two_programs_names_none(tmp_path: Path) -> None:
    files = {"a__src__train_py": TRAINS, "b__src__train_py": TRAINS}
    found = of_folder(tmp_path, run_sh="python /gpfs/me/src/train.py --seed 1\n", **files)
    assert not any("+" in run.source for run in found.runs)


def test_of_programs_of_one_name_the_one_of_the_nearest_folder_above_is_started(tmp_path: Path) -> None:
    files = {"a__train_py": TRAINS, "b__train_py": TRAINS, "b__c__train_py": TRAINS}
    found = of_folder(tmp_path, b__scripts__etth__run_sh="python -u ./train.py --seed 1\n", **files)
    assert [run.source for run in found.runs if "+" in run.source] == ["b/scripts/etth/run.sh + b/train.py"]


@pytest.mark.parametrize(
    ("program", "runs"),
    [
        (SCORES, []),
        (SCORES + "import subprocess\nsubprocess.run(['torchrun', 'train.py'])\n", ["run.sh + reward.py"]),
        (SCORES + "from somewhere import main\nmain(model)\n", ["run.sh + reward.py"]),
        (SCORES + "import importlib\nimportlib.import_module(name)\n", ["run.sh + reward.py"]),
        (TRAINS, ["run.sh + reward.py"]),
    ],
)
def test_a_program_that_takes_no_step_is_no_run_whatever_it_is_called(
    tmp_path: Path, program: str, runs: list[str]
) -> None:
    found = of_folder(tmp_path, reward_py=program, run_sh="python reward.py --seed 1\n")
    assert [run.source for run in found.runs] == runs
    assert bool(runs) or {one.source for one in found.unused} == {"run.sh", "reward.py"}


@pytest.mark.parametrize("folder", ["$(dirname $0)", '"$(dirname "$0")"', "`dirname $0`"])
def test_a_program_that_is_not_there_is_named_without_the_folder_that_nobody_knows(tmp_path: Path, folder: str) -> None:
    (tmp_path / "train.sh").write_text(f"python {folder}/src/train.py --learning_rate 1e-4\n", "utf-8")
    (context,) = in_folder(tmp_path, ".", root_of_folder(tmp_path, "."))[0]
    assert [skipped.what for skipped in context.skipped] == ["…/src/train.py"]
