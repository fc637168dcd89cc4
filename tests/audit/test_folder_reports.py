"""What a report says of a folder beside its environments: files that list nothing, and programs that start no run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import gradcompat
from gradcompat.model.report import Report
from tests.renderers.reports import rendered

TRAIN = "from transformers import Trainer\nfrom pkg.model import build\nTrainer(model=build()).train()\n"


def notes(report: Report) -> list[tuple[str, str, bool]]:
    return [
        (Path(one.what).name, one.reason, one.gap)
        for audit in report.audits
        for one in audit.skipped
        if "fixes" not in one.what
    ]


def notebook(folder: Path, name: str, source: str) -> None:
    (folder / name).write_text(json.dumps({"cells": [{"cell_type": "code", "source": [source]}], "nbformat": 4}))


def test_a_file_that_lists_nothing_is_no_gap_beside_one_that_does(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / "Dockerfile").write_text("FROM mcr.example/devcontainers/base:ubuntu\nRUN apt-get install git\n")
    (tmp_path / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools"]\n')
    notebook(tmp_path, "plots.ipynb", "print('installed nothing')")
    report = gradcompat.check(tmp_path)
    assert [Path(audit.source).name for audit in report.audits] == ["requirements.txt"]
    assert report.exit_status == 0
    assert {(what, reason) for what, reason, gap in notes(report) if not gap} >= {
        ("Dockerfile", "read, and lists no packages"),
        ("pyproject.toml", "read, and lists no packages"),
        ("plots.ipynb", "read, and lists no packages"),
    }


def test_a_file_that_lists_nothing_is_a_gap_by_itself(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM mcr.example/devcontainers/base:ubuntu\n")
    assert gradcompat.check(tmp_path).exit_status == 3
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    assert gradcompat.check(tmp_path, tmp_path / "Dockerfile").exit_status == 3


def test_what_cannot_be_read_of_an_empty_file_stays_a_gap(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / "Dockerfile").write_text("FROM ubuntu\nRUN pip install -r missing.txt\n")
    assert gradcompat.check(tmp_path).exit_status == 3


def test_a_module_that_a_run_imports_does_not_ask_for_what_the_run_has_followed(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers==4.57.6\n")
    (tmp_path / "train.py").write_text(TRAIN)
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "configs.py").write_text("SIZE = 1\n")
    for name in ("model.py", "export.py"):
        (package / name).write_text(
            "from transformers import AutoModel\nfrom .configs import SIZE\n"
            "def build():\n    return AutoModel.from_pretrained('m', size=SIZE)\n"
        )
    assert [one for one in notes(gradcompat.check(tmp_path)) if "not seen" in one[1]] == []


def test_a_note_names_the_places_that_a_line_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "requirements.txt").write_text("transformers==4.57.6\n")
    (tmp_path / "pkg").mkdir()
    lines = "".join(f"    AutoModel.from_pretrained('m', **options{n})\n" for n in range(6))
    (tmp_path / "pkg" / "model.py").write_text(
        f"from transformers import AutoModel\ndef build({', '.join(f'options{n}' for n in range(6))}):\n{lines}"
    )
    for name in ("train.py", "again.py"):
        (tmp_path / name).write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    report = gradcompat.check(".")
    told = [one for one in notes(report) if "put together elsewhere" in one[1]]
    assert len(told) == len(set(told)) == 6
    (line,) = [line for line in rendered(report, "text").splitlines() if "put together elsewhere" in line]
    assert line.endswith("**options0 (pkg/model.py:3) and 5 more")
    whole = rendered(replace(gradcompat.check("."), show_all=True), "text")
    assert " ".join(whole.split()).count("pkg/model.py") == 6


def test_what_stands_in_several_environments_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges, notes and what is worth knowing; a Dockerfile installs the requirements beside it."""
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "requirements.txt").write_text("transformers>=4.40,<4.47\ntorch==2.5.1\n")
    (tmp_path / "Dockerfile").write_text(
        "FROM python:3.11\nCOPY requirements.txt .\nRUN pip install -r requirements.txt peft==0.13.0\n"
    )
    (tmp_path / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "Trainer(model=None, args=TrainingArguments('out', gradient_accumulation_steps=4, bf16=True)).train()\n"
    )
    monkeypatch.chdir(tmp_path)
    told = rendered(gradcompat.check("."), "text")
    assert told.count("Worth knowing:") == 1
    assert told.count("  GC-0014: ") == 1
    (line,) = [line for line in told.splitlines() if line.startswith("  range: ")]
    assert "transformers" in line
    assert line.startswith("  range: transformers (requirements.txt:1): 4.46.3 could bring GC-")
    first, rest = told.split("\n\n", 1)
    assert first.startswith("no defect is sure in ")
    places = [rest.index(part) for part in ("Worth knowing:", "Not for you unless", "  range: ", "a best effort")]
    assert places == sorted(places)


def test_what_a_release_lacks_is_named_by_its_summary_alone(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("transformers>=4.40\n")
    (tmp_path / "train.py").write_text(
        "from transformers import Trainer, TrainingArguments\n"
        "Trainer(model=None, args=TrainingArguments('out', evaluation_strategy='no')).train()\n"
    )
    told = " ".join(rendered(gradcompat.check(tmp_path), "text").split())
    assert "code: TrainingArguments has no `evaluation_strategy` in transformers" in told
    assert "code:transformers:" not in told


@pytest.mark.parametrize("name", ["environmental_science.yaml", "secondary.yaml", "precondaments.yml"])
def test_a_word_in_a_longer_one_makes_no_environment_of_conda(tmp_path: Path, name: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / name).write_text("task: kmmlu\n")
    report = gradcompat.check(tmp_path)
    assert [Path(audit.source).name for audit in report.audits] == ["requirements.txt"]
    assert report.exit_status == 0


@pytest.mark.parametrize(
    ("name", "status"), [(".github/workflows/environment-update.yml", 0), ("my-environment.yml", 0), ("conda.yml", 3)]
)
def test_only_a_name_that_says_enough_makes_an_environment_of_what_is_none(
    tmp_path: Path, name: str, status: int
) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.8.0\n")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("on: push\njobs: {}\n")
    assert gradcompat.check(tmp_path).exit_status == status


@pytest.mark.parametrize("name", ["environment.yaml", "environment-gpu.yml", "env/conda_env.yml", "my-environment.yml"])
def test_environments_of_conda_by_their_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("dependencies:\n  - pytorch=2.5.1\n")
    assert [audit.kind for audit in gradcompat.check(tmp_path).audits] == ["conda-environment"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("name: se3\nchannels:\n  - pytorch\ndependencies:\n  - pytorch=2.5.1\n", True),
        ("name: fold\ndependencies:\n  - python=3.10\n  - pip:\n    - torch==2.5.1\n", True),
        ("name: chart\nversion: 1.0.0\ndependencies:\n  - name: redis\n    version: 17.0.0\n", False),
        ("channels:\n  - 3\n  - 64\nlr: 0.1\n", False),
    ],
)
def test_an_environment_of_conda_that_is_called_like_its_project_is_told_by_its_content(
    tmp_path: Path, text: str, read: bool
) -> None:
    (tmp_path / "se3.yml").write_text(text)
    (tmp_path / "requirements.txt").write_text("numpy==1.26.4\n")
    kinds = {audit.kind for audit in gradcompat.check(tmp_path).audits}
    assert kinds == ({"conda-environment", "requirements"} if read else {"requirements"})


RUN = (
    "from transformers import T5ForConditionalGeneration, Trainer, TrainingArguments\n"
    "model = T5ForConditionalGeneration.from_pretrained('t5-small')\n"
    "Trainer(model, TrainingArguments('out', gradient_accumulation_steps=8)).train()\n"
)


def test_a_folder_of_requirements_lists_what_the_project_above_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Dockerfile in its folder, too; the same defect is told in full once."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "pyproject.toml": '[project]\nname = "p"\ndependencies = ["transformers==4.46.0"]\n',
        "docker/Dockerfile": "FROM python:3.11\nRUN pip install transformers==4.46.1\n",
        "demo/requirements.txt": "transformers==4.46.1\n",
        "train.py": RUN,
    }.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    report = gradcompat.check(".", only=["GC-0007"])
    assert {audit.source: audit.contexts for audit in report.audits} == {
        "pyproject.toml": ("train.py",),
        "docker/Dockerfile": ("train.py",),
        "demo/requirements.txt": (),
    }
    # The demo is a project of its own, and trains nothing that anybody has seen.
    assert [one.finding.status for one in report.findings] == ["affected", "dormant", "affected"]
    text = rendered(report, "text")
    assert text.count("because   ") == 1
    again = "error GC-0007, silent: as in pyproject.toml; at docker/Dockerfile:2 transformers 4.46.1\n"
    assert f"{again}  fix       upgrade transformers 4.46.1 to 4.48.3\n\n" in text
    Path("docker/Dockerfile").write_text("FROM python:3.11\nRUN pip install transformers==4.46.0\n")
    text = rendered(gradcompat.check(".", only=["GC-0007"]), "text")
    assert "as in pyproject.toml; at docker/Dockerfile:2 transformers 4.46.0\n\n" in text  # with the same change


def test_names_that_one_release_lacks_are_told_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    Path("requirements.txt").write_text("transformers>=4.40\n")
    Path("train.py").write_text(
        "from transformers import Trainer\nfrom transformers import AutoModelForVision2Seq\n"
        "from transformers.modeling_utils import apply_chunking_to_forward, prune_linear_layer\nTrainer(1).train()\n"
    )
    text = rendered(gradcompat.check("."), "text")
    assert text.count("  code: ") == 1
    assert "lacks 2 other names: " in " ".join(text.split())


def test_code_of_another_trainer_names_none_of_transformers(tmp_path: Path) -> None:
    """`PreTrainedModel` is no Trainer, and accelerate's helpers are no loop."""
    (tmp_path / "requirements.txt").write_text("transformers==4.44.0\naccelerate==0.34.0\n")
    (tmp_path / "model.py").write_text(
        "from accelerate import init_empty_weights\nfrom composer import Trainer\nfrom transformers import "
        "PreTrainedModel, AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\n"
    )
    (finding,) = gradcompat.check(tmp_path, only=["GC-0005"]).findings
    assert finding.finding.status == "dormant"
    assert finding.finding.dormant == ("the training of a model", "the Trainer of transformers")


def test_environments_that_are_not_read_for_one_reason_are_told_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(name).mkdir()
        Path(name, "uv.lock").write_text("version = 9\n")
    text = rendered(gradcompat.check("."), "text")
    assert text.startswith("lockfile version 9 is not supported: a/uv.lock, b/uv.lock, c/uv.lock\n  gradcompat reads ")


SCRIPT = '# /// script\n# dependencies = ["transformers==4.46.0"]\n# ///\n'
NOTEBOOK = '{{"cells": [{{"cell_type": "code", "source": "!pip install transformers==4.46.1\\n{}"}}], {}}}\n'
VERSION = '"metadata": {}, "nbformat": 4, "nbformat_minor": 5'


def test_a_program_that_is_an_environment_has_its_own_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script with metadata runs with these alone; what a notebook installs comes on top of what is there."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "requirements.txt": "transformers==4.46.2\n",
        "train.py": RUN,
        "alone.py": SCRIPT + RUN.replace("t5-small", "t5-base") + "import helper\n",
        "helper.py": "import torch\n",
        "tool.py": SCRIPT + "import transformers\n",
        "train.ipynb": NOTEBOOK.format(RUN.replace("\n", "\\n").replace("t5-small", "t5-large"), VERSION),
        "start.ipynb": NOTEBOOK.format("print(1)", VERSION),
    }.items():
        (tmp_path / name).write_text(text)
    runs = {audit.source: audit.contexts for audit in gradcompat.check(".").audits}
    assert runs == {
        "requirements.txt": ("train.ipynb", "train.py"),
        "alone.py": ("alone.py",),
        "tool.py": (),
        "train.ipynb": ("train.ipynb",),
        "start.ipynb": ("train.py",),
    }


@pytest.mark.parametrize("other", ["upload.py", "demo.ipynb"])
def test_what_lists_packages_for_itself_takes_no_programs_from_the_project_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {"upload.py": SCRIPT + "import torch\n", "demo.ipynb": NOTEBOOK.format("print(1)", VERSION)}
    for name, text in {"requirements.txt": "transformers==4.46.2\n", "src/train.py": RUN}.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    Path("src", other).write_text(texts[other])
    report = gradcompat.check(".")
    runs = {audit.source: audit.contexts for audit in report.audits}
    assert runs["requirements.txt"] == ("src/train.py",)
    assert runs[f"src/{other}"] == (() if other == "upload.py" else ("src/train.py",))
    assert not any(one.gap for audit in report.audits for one in audit.skipped)


def test_a_notebook_installs_for_what_its_commands_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder of notebooks that each install what they need, none runs the program of another."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "old.ipynb": NOTEBOOK.format("!python scripts/run_sft.py", VERSION),
        "new.ipynb": NOTEBOOK.format("!python scripts/finetune.py", VERSION),
        "plots.ipynb": NOTEBOOK.format("print(1)", VERSION),
        "scripts/run_sft.py": RUN,
        "scripts/finetune.py": RUN.replace("t5-small", "t5-base"),
        "scripts/job.sh": "python scripts/run_sft.py --fp16\n",
        "train.py": RUN.replace("t5-small", "t5-large"),
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    runs = {audit.source: audit.contexts for audit in gradcompat.check(".").audits}
    assert runs == {
        "old.ipynb": ("old.ipynb (line 1) + scripts/run_sft.py",),
        "new.ipynb": ("new.ipynb (line 1) + scripts/finetune.py",),
        "plots.ipynb": ("train.py",),
    }


def test_code_is_not_held_against_what_another_project_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program belongs to what is listed above it, or beside it without code; a script to what it starts."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "text/requirements.txt": "transformers==4.46.0\n",
        "text/train.py": RUN,
        "text/evaluation/requirements.txt": "transformers==4.46.1\n",
        "vision/requirements/requirements-cuda.txt": "transformers==4.46.2\n",
        "vision/fit.py": RUN.replace("t5-small", "t5-base"),
        "speech/fit.py": RUN.replace("t5-small", "t5-large"),
        "scripts/text.sh": "python ../text/train.py --fp16\n",
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    report = gradcompat.check(".")
    assert {audit.source: audit.contexts for audit in report.audits if audit.kind is not None} == {
        "text/requirements.txt": ("scripts/text.sh + text/train.py",),
        "text/evaluation/requirements.txt": (),
        "vision/requirements/requirements-cuda.txt": ("vision/fit.py",),
    }
    assert ("fit.py", "trains, and no folder at or above its own lists packages", True) in notes(report)
    assert report.exit_status == 1


def test_what_one_environment_trains_with_is_not_said_to_be_unused(tmp_path: Path) -> None:
    """The environment of an evaluation beside it trains nothing, which is no news of the project."""
    for name in ("train", "evaluation"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "requirements.txt").write_text("torch==2.4.1\ntransformers==4.46.3\n")
    (tmp_path / "evaluation" / "score.py").write_text(
        "from transformers import pipeline\nprint(pipeline('fill-mask'))\n"
    )
    unused = "the Trainer of transformers ("
    assert unused in rendered(gradcompat.check(tmp_path), "text")
    (tmp_path / "train" / "train.py").write_text(TRAIN.replace("from pkg.model import build\n", "build = print\n"))
    assert unused not in rendered(gradcompat.check(tmp_path), "text")


def test_a_module_that_a_launch_runs_has_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("verl==0.7.1\n")
    (tmp_path / "run.sh").write_text("python -m verl.trainer.fsdp_sft_trainer data.train_batch_size=8\n")

    def missing() -> list[str]:
        (audit,) = gradcompat.check(tmp_path).audits
        return [one for one in (found.finding.issue.id for found in audit.findings) if one.startswith("code:")]

    assert missing() == ["code:verl:trainer.fsdp_sft_trainer"]
    # Python takes the package that lies in the project.
    (tmp_path / "verl" / "trainer").mkdir(parents=True)
    (tmp_path / "verl" / "trainer" / "fsdp_sft_trainer.py").write_text("from transformers import Trainer\n")
    assert missing() == []
