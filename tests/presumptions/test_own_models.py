"""A program that takes no library of models neither quantises nor adapts, whatever is installed beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat

LOOP = (
    "import torch\nmodel = torch.nn.Linear(10, 2)\noptimizer = torch.optim.AdamW(model.parameters())\n"
    "for x, y in loader:\n    torch.nn.functional.cross_entropy(model(x), y).backward()\n    optimizer.step()\n"
)


@pytest.mark.parametrize(
    ("program", "expected"),
    [(LOOP, "dormant"), (f"import bitsandbytes\n{LOOP}", "affected")],
)
def test_weights_of_a_loop_of_torch_are_not_quantised(tmp_path: Path, program: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\ntriton==3.2.0\nbitsandbytes==0.45.0\n", "utf-8")
    (tmp_path / "train.py").write_text(program, "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0095"]).findings] == [expected]


SFT = """\
import sys
from transformers import {loads}
from trl import SFTConfig, SFTTrainer
model = {loads}.from_pretrained(sys.argv[1])
SFTTrainer(model, SFTConfig("out", max_length=1024)).train()
"""


@pytest.mark.parametrize(
    ("program", "status"),
    [
        (SFT.format(loads="AutoModelForCausalLM"), "dormant"),
        (SFT.format(loads="AutoModelForImageTextToText"), "conditional"),
        (SFT.format(loads="AutoModelForCausalLM") + "from transformers import AutoProcessor\n", "dormant"),
        (
            SFT.format(loads="AutoModelForCausalLM")
            + "from unsloth import FastVisionModel\nFastVisionModel.from_pretrained(sys.argv[1])\n",
            "conditional",
        ),
    ],
)
def test_a_loader_of_language_models_loads_none_that_sees(tmp_path: Path, program: str, status: str) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.22.0\ntransformers==4.56.1\n", "utf-8")
    (tmp_path / "train.py").write_text(program, "utf-8")
    (reported,) = gradcompat.check(tmp_path, only=["GC-0579"]).findings
    assert reported.finding.status == status


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("", "dormant"),
        (
            "import cv2\nimport timm\nimport matplotlib.pyplot as plt\ncv2.imread(p)\nplt.plot(x)\ntimm.data()\n",
            "dormant",
        ),
        ("from diffusers import AutoModel\nAutoModel.from_pretrained(p)\n", "dormant"),
        ("from transformers import AutoTokenizer\nAutoTokenizer.from_pretrained(p)\n", "dormant"),
        ("from transformers import CLIPTextModelWithProjection as C\nC.from_pretrained(p)\n", "dormant"),
        ("from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained(p)\n", "conditional"),
        ("import somebody\nsomebody.model()\n", "conditional"),
        (
            "from torch_geometric.nn import SAGEConv\nfrom ogb.nodeproppred import Evaluator\nSAGEConv(1, 2)\n",
            "dormant",
        ),
        ("from torch_geometric.nn.nlp import LLM\nLLM(p)\n", "conditional"),
        ("from torch_geometric.nn import GRetriever\nGRetriever(p)\n", "conditional"),
    ],
)
def test_who_takes_no_model_of_transformers_trains_none_of_its_classes(
    tmp_path: Path, taken: str, expected: str
) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.57.1\n", "utf-8")
    (tmp_path / "train.py").write_text(f"{taken}{LOOP}", "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0188"]).findings] == [expected]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("", "dormant"),
        ("import torchvision\ntorchvision.models.resnet50()\n", "dormant"),
        ("from accelerate import Accelerator\nAccelerator()\n", "conditional"),
        ("import lightning\nlightning.Fabric()\n", "conditional"),
        ("import somebody\nsomebody.launch()\n", "conditional"),
    ],
)
def test_a_loop_of_torch_is_launched_without_deepspeed(tmp_path: Path, taken: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\ndeepspeed==0.14.0\n", "utf-8")
    wraps = "if len(sys.argv) > 1:\n    model = torch.nn.parallel.DistributedDataParallel(model)\n"
    program = LOOP.replace("optimizer =", f"{wraps}optimizer =", 1)
    (tmp_path / "train.py").write_text(f"import sys\n{taken}{program}", "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0048"]).findings] == [expected]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("", "dormant"),
        ("from transformers import AutoModel\nAutoModel.from_pretrained(p)\n", "conditional"),
    ],
)
def test_a_model_of_ones_own_has_no_attention_of_a_library(tmp_path: Path, taken: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.1.0\nflash-attn==2.0.3\ntransformers==4.34.1\n", "utf-8")
    (tmp_path / "train.py").write_text(f"{taken}{LOOP}", "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0158"]).findings] == [expected]


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ("", "dormant"),
        ("model.encoder.gradient_checkpointing_enable()\n", "affected"),
        ("from torch.utils.checkpoint import checkpoint\ncheckpoint(model, x)\n", "conditional"),
        ("import torch.utils.checkpoint\n", "dormant"),
        ("import torch.utils.checkpoint\nmodel = Swin(use_checkpoint=True)\n", "conditional"),
        ("import transformers\ntransformers.Trainer(model).train()\n", "dormant"),
    ],
)
def test_a_loop_of_ones_own_checkpoints_what_it_says(tmp_path: Path, loads: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\ntransformers==4.57.1\n", "utf-8")
    (tmp_path / "train.py").write_text(LOOP.replace("optimizer =", f"{loads}optimizer =", 1), "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0003"]).findings] == [expected]


ACCELERATED = (
    "import sys\nimport {beside}\nimport torch\nfrom accelerate import Accelerator\n"
    "accelerator = Accelerator({given})\nmodel, optimizer, loader = accelerator.prepare(*made())\n"
    "for batch in loader:\n    accelerator.backward(model(batch))\n    optimizer.step()\n"
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("", "dormant"), ("gradient_accumulation_steps=int(sys.argv[1])", "conditional")],
)
def test_an_accelerator_accumulates_where_it_is_told_to(tmp_path: Path, given: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\naccelerate==1.12.0\n", "utf-8")
    (tmp_path / "train.py").write_text(ACCELERATED.format(beside="hydra", given=given), "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0209"]).findings] == [expected]


SCALED = """\
import torch
model = torch.nn.Linear(10, 2)
if fresh:
    optimizer = torch.optim.AdamW(model.parameters(){given})
scaler = torch.cuda.amp.GradScaler()
for x, y in loader:
    with torch.autocast("cuda", torch.float16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
"""


@pytest.mark.parametrize(("given", "expected"), [("", "dormant"), (", fused=True", "conditional")])
def test_a_loop_of_ones_own_fuses_its_optimizer_by_an_argument(tmp_path: Path, given: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.0.1\n", "utf-8")
    (tmp_path / "train.py").write_text(SCALED.format(given=given), "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0127"]).findings] == [expected]


@pytest.mark.parametrize(
    ("beside", "expected"),
    [("numpy==1.26.4", "dormant"), ("transformers==4.57.1", "conditional"), ("diffusers==0.35.0", "conditional")],
)
def test_where_nothing_brings_models_of_transformers_none_is_trained(
    tmp_path: Path, beside: str, expected: str
) -> None:
    (tmp_path / "requirements.txt").write_text(f"torch==2.9.0\n{beside}\n", "utf-8")
    assert [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0137"]).findings] == [expected]


AUGMENTED = """\
import albumentations as A
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, files):
        self.files, self.transform = files, A.Compose([A.HorizontalFlip(p=0.5)])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.transform(image=opened(self.files[index]))["image"]


def main(args):
    loader = DataLoader(Images(args.files), batch_size=8{workers})
    model = torch.nn.Linear(10, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        model(x).sum().backward()
        optimizer.step()


main(settings())
"""


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (", num_workers=args.workers", "affected"),
        (", num_workers=0", "not_affected"),
        ("", "not_affected"),
        (", **args.loader", "conditional"),
    ],
)
def test_who_computes_a_number_of_workers_has_some(tmp_path: Path, workers: str, expected: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\nalbumentations==2.0.8\n", "utf-8")
    (tmp_path / "train.py").write_text(AUGMENTED.format(workers=workers), "utf-8")
    found = [one.finding.status for one in gradcompat.check(tmp_path, only=["GC-0650"]).findings]
    assert found == ([] if expected == "not_affected" else [expected])
