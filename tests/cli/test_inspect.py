"""``gradcompat inspect``."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import ROOT, Run

LOCK = """version = 1
requires-python = ">=3.11"

[[package]]
name = "Torch"
version = "2.5.1+cu124"
source = { registry = "https://index.example/simple" }
resolution-markers = ["sys_platform == 'linux'"]

[[package]]
name = "project"
source = { editable = "." }
"""


def test_json_is_the_contract(run: Run, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    outcome = run("inspect", "uv.lock", "--format", "json")
    assert outcome.status == 0
    assert json.loads(outcome.out) == {
        "source": "uv.lock",
        "kind": "uv.lock",
        "closed": True,
        "python": None,
        "platform": None,
        "virtual": {"__cuda": "12.4"},
        "excluded": ["darwin"],
        "origins": {"__cuda": {"path": "uv.lock", "line": 6}, "darwin": {"path": "uv.lock", "line": 6}},
        "packages": [
            {
                "name": "torch",
                "version": "2.5.1+cu124",
                "specifier": None,
                "source": "registry",
                "marker": "sys_platform == 'linux'",
                "forks": [],
                "path": "uv.lock",
                "line": 6,
                "column": 11,
            },
            {
                "name": "project",
                "version": None,
                "specifier": None,
                "source": "editable",
                "marker": None,
                "forks": [],
                "path": "uv.lock",
                "line": 11,
                "column": 8,
            },
        ],
        "settings": [],
        "skipped": [],
    }


def test_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    assert run("inspect", "uv.lock").out == (
        "uv.lock: uv.lock, 2 packages, __cuda 12.4\n"
        "  torch    2.5.1+cu124  line 6  ; sys_platform == 'linux'\n"
        "  project  ?  line 11  [editable]\n"
        "  __cuda = 12.4  line 6\n"
        "  not darwin  line 6\n"
    )


def test_several_environments_stand_under_one_key(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "uv.lock").write_text(LOCK)
    shown = json.loads(run("inspect", ".", "--format", "json").out)
    assert [one["source"] for one in shown["environments"]] == ["a/uv.lock", "b/uv.lock"]


def test_what_cannot_be_read_is_an_error_line_and_the_rest_is_shown(run: Run) -> None:
    outcome = run("inspect", "missing", str(ROOT / "examples" / "llava-finetune" / "uv.lock"))
    assert outcome.status == 3
    assert outcome.err == "error: `missing`: there is no such file or folder\n"
    assert "transformers" in outcome.out
    assert run("inspect", "missing").status == 2


def test_what_is_stated_and_named_is_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(LOCK)
    (tmp_path / "z.json").write_text('{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}')
    outcome = run("inspect", "uv.lock", "--context", "z.json", "--set", "training.seed=3", "--set", "host.cuda=12.4")
    assert outcome.status == 0
    assert outcome.out.splitlines()[0] == "uv.lock: uv.lock, 2 packages, 1 setting, __cuda 12.4"
    assert "  training.seed = 3\n" in outcome.out
    assert "  deepspeed.zero_stage = 2  line 1\n" in outcome.out
    assert run("inspect", "uv.lock", "--set", "training.seeds=3").status == 2


def test_what_a_program_does_with_some_releases_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\n")
    (tmp_path / "train.py").write_text(
        "import torch\nfrom packaging.version import Version\n"
        'if Version(torch.__version__) < Version("2.7"):\n    torch.load("x")\nloss.backward()\noptimizer.step()\n'
    )
    symbols = [line for line in run("inspect", ".").out.splitlines() if line.startswith("  code.symbols")]
    assert symbols[1] == "  code.symbols = torch.load  line 4, only with torch < 2.7"
    shown = json.loads(run("inspect", ".", "--format", "json").out)
    settings = [one for read in shown["environments"] for one in read["settings"] if one["key"] == "code.symbols"]
    assert [setting["where"] for setting in settings] == [[], ["torch < 2.7"]]
