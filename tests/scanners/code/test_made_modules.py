"""Modules of a project whose classes a config has made belong to the run of that config."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.scanners.any_config import scan

MODULE = """
import lightning as L
import torch
from src.parts import schedule

class Classifier(L.LightningModule):
    def training_step(self, batch, batch_idx):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters())
        return {"optimizer": optimizer, "lr_scheduler": schedule(optimizer)}
"""
PARTS = """
import torch

def schedule(optimizer):
    return torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, verbose=True)
"""
PROGRAM = """
import hydra
import lightning as L

@hydra.main(version_base=None, config_path="configs", config_name="train.yaml")
def main(cfg):
    module = hydra.utils.instantiate(cfg.model)
    trainer = hydra.utils.instantiate(cfg.trainer)
    trainer.fit(module)

if "__main__" == __name__:
    main()
"""
TRAIN = "defaults:\n  - _self_\n  - model: mine\ntrainer:\n  _target_: lightning.pytorch.Trainer\n  max_epochs: 3\n"
CLI = "trainer:\n  max_epochs: 3\n  precision: 16\nmodel:\n  class_path: src.models.Classifier\n"


def _project(folder: Path, files: dict[str, str]) -> Path:
    everything = {
        "src/__init__.py": "",
        "src/parts.py": PARTS,
        "src/models/__init__.py": "from src.models.mine import Classifier\n",
        "src/models/mine.py": MODULE,
        "requirements.txt": "torch==2.7.0\nlightning==2.5.1\nhydra-core==1.3.2\n",
        **files,
    }
    for name, text in everything.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_the_module_behind_a_target_of_hydra(tmp_path: Path) -> None:
    folder = _project(
        tmp_path,
        {
            "train.py": PROGRAM,
            "configs/train.yaml": TRAIN,
            "configs/model/mine.yaml": "_target_: src.models.Classifier\n",
        },
    )
    document = read_document(folder / "configs/train.yaml", "configs/train.yaml", root_of_folder(folder, "."))
    assert scan(document).makes == ("src/models/mine.py",)
    [found] = gradcompat.check(folder, only=["GC-0600"]).findings
    assert found.finding.status == "affected"
    assert any(str(reason.location).endswith("src/parts.py:5") for reason in found.finding.because)


def test_the_module_behind_a_class_path_of_lightnings_command_line(tmp_path: Path) -> None:
    program = "from lightning.pytorch.cli import LightningCLI\nLightningCLI()\n"
    folder = _project(tmp_path, {"main.py": program, "fit.yaml": CLI})
    document = read_document(folder / "fit.yaml", "fit.yaml", root_of_folder(folder, "."))
    assert scan(document).makes == ("src/models/mine.py",)
    [found] = gradcompat.check(folder, only=["GC-0600"]).findings
    assert found.finding.status == "affected"


def test_a_config_of_a_program_that_trains_nothing_by_itself(tmp_path: Path) -> None:
    program = PROGRAM.replace("trainer.fit(module)", "run(trainer, module)").replace("import lightning as L\n", "")
    model = "model:\n  _target_: src.models.mine.Classifier\n"
    config = TRAIN.replace("  - model: mine\n", "") + model
    folder = _project(tmp_path, {"train.py": program, "configs/train.yaml": config})
    [found] = gradcompat.check(folder, only=["GC-0600"]).findings
    assert found.finding.status == "affected"


def test_a_module_that_looks_like_no_program_by_itself(tmp_path: Path) -> None:
    base = "import lightning as L\n\nclass Base(L.LightningModule):\n    pass\n"
    module = (
        "import torch\nfrom src.base import Base\nfrom src.parts import schedule\n\nclass Classifier(Base):\n"
        "    def configure_optimizers(self):\n        return schedule(make(self.parameters()))\n"
    )
    folder = _project(
        tmp_path,
        {
            "train.py": PROGRAM,
            "src/base.py": base,
            "src/models/mine.py": module,
            "configs/train.yaml": TRAIN,
            "configs/model/mine.yaml": "_target_: src.models.mine.Classifier\n",
        },
    )
    [found] = gradcompat.check(folder, only=["GC-0600"]).findings
    assert found.finding.status == "affected"


EXPERIMENT = """# @package _global_
defaults:
  - override /model: other
"""


@pytest.mark.parametrize(("option", "status"), [("", "dormant"), (" experiment=two", "affected")])
def test_the_module_that_a_command_line_has_the_config_make(tmp_path: Path, option: str, status: str) -> None:
    """In the place of the one that the config makes by itself, which does not use what the other one does."""
    quiet = MODULE.replace("from src.parts import schedule\n", "").replace(', "lr_scheduler": schedule(optimizer)', "")
    folder = _project(
        tmp_path,
        {
            "train.py": PROGRAM,
            "run.sh": f"python train.py{option}\n",
            "src/models/mine.py": quiet,
            "src/models/other.py": MODULE,
            "configs/train.yaml": TRAIN.replace("  - model: mine\n", "  - model: mine\n  - experiment: null\n"),
            "configs/model/mine.yaml": "_target_: src.models.mine.Classifier\n",
            "configs/model/other.yaml": "_target_: src.models.other.Classifier\n",
            "configs/experiment/two.yaml": EXPERIMENT,
        },
    )
    report = gradcompat.check(folder, only=["GC-0600"])
    assert [found.finding.status for found in report.findings] == [status]
    idle = [one.what.rpartition("/src/")[2] for audit in report.audits for one in audit.skipped if "src" in one.what]
    assert idle == (["models/other.py"] if not option else [])


def test_a_command_line_leaves_out_what_the_config_makes_by_itself(tmp_path: Path) -> None:
    quiet = MODULE.replace("from src.parts import schedule\n", "").replace(', "lr_scheduler": schedule(optimizer)', "")
    folder = _project(
        tmp_path,
        {
            "train.py": PROGRAM,
            "run.sh": "python train.py model=other\n",
            "src/models/other.py": quiet,
            "configs/train.yaml": TRAIN,
            "configs/model/mine.yaml": "_target_: src.models.mine.Classifier\n",
            "configs/model/other.yaml": "_target_: src.models.other.Classifier\n",
        },
    )
    assert [one.finding.status for one in gradcompat.check(folder, only=["GC-0600"]).findings] == ["dormant"]


@pytest.mark.parametrize("target", ["torch.nn.Linear", "src.models.Gone", "src.models", "elsewhere.Classifier"])
def test_what_is_of_no_module_of_the_project(tmp_path: Path, target: str) -> None:
    folder = _project(tmp_path, {"configs/train.yaml": f"{TRAIN}model2:\n  _target_: {target}\n"})
    document = read_document(folder / "configs/train.yaml", "configs/train.yaml", root_of_folder(folder, "."))
    assert scan(document).makes == ()
