"""``gradcompat.check(...)`` and ``pytest --gradcompat``."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import gradcompat
from gradcompat.errors import UsageError

EXAMPLE = Path(__file__).parents[1] / "examples" / "llava-finetune"
LINUX = {"host.python": "3.11", "host.platform": "linux"}


def test_a_lockfile_with_its_training_config() -> None:
    report = gradcompat.check(EXAMPLE / "uv.lock", contexts=[EXAMPLE / "train.yaml"], settings=LINUX)
    (found,) = [
        one for one in report.findings if one.finding.status == "affected" and one.finding.issue.level == "error"
    ]
    assert (report.exit_status, found.finding.issue.id) == (1, "GC-0004")
    assert found.advice is not None
    assert (found.advice.package, found.advice.target) == ("transformers", "4.52.4")


def test_settings_are_python_values() -> None:
    settings: dict[str, Any] = {
        **LINUX,
        "training.gradient_accumulation_steps": 1,
        "model.architecture": ["LlavaForConditionalGeneration"],
    }
    report = gradcompat.check(EXAMPLE / "uv.lock", settings=settings, only=["gc-0004"])
    assert [one.finding.status for one in report.findings] == []
    assert report.exit_status == 0
    smoothed = gradcompat.check(EXAMPLE / "uv.lock", settings={"training.torch_compile": True}, only=["GC-0004"])
    assert [one.finding.status for one in smoothed.findings] == ["dormant"]


def test_what_cannot_be_read_is_not_clean(tmp_path: Path) -> None:
    report = gradcompat.check(tmp_path / "none.lock")
    assert (report.exit_status, report.findings, report.audits[0].kind) == (2, (), None)


@pytest.mark.parametrize("wrong", [{"settings": {"training.no": 1}}, {"only": ["GC-9999"]}])
def test_wrong_usage(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        gradcompat.check(EXAMPLE / "uv.lock", **wrong)  # type: ignore[arg-type]


def test_a_project_s_own_options_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradcompat]\nignore = ["GC-0004"]\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    assert gradcompat.check(EXAMPLE / "uv.lock", contexts=[EXAMPLE / "train.yaml"]).exit_status == 1


@pytest.mark.e2e
def test_importing_it_loads_nothing() -> None:
    program = "import sys, gradcompat; print(sorted(name for name in sys.modules if name.startswith('gradcompat.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.fixture
def affected(tmp_path: Path) -> Path:
    """An environment with this pytest, gradcompat, and a transformers that is only said to be there."""
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    (site / "here.pth").write_text("".join(f"{path}\n" for path in (*paths, Path(__file__).parents[1])), "utf-8")
    info = site / "transformers-4.49.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: transformers\nVersion: 4.49.0\n", "utf-8")
    (tmp_path / "train.yaml").write_text((EXAMPLE / "train.yaml").read_text("utf-8"), "utf-8")
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n", "utf-8")
    return folder / "bin" / "python"


@pytest.mark.e2e
@pytest.mark.skipif(sys.platform == "win32", reason="the folders of an environment are called otherwise there")
def test_the_plug_in_fails_a_run_in_an_affected_environment(affected: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        command = [str(affected), "-m", "pytest", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    assert run()[0] == 0
    status, printed = run("--gradcompat", "--gradcompat-context", "train.yaml")
    assert status == 1
    assert "1 failed, 1 passed" in printed
    assert "error GC-0004, silent: Loss and gradients of LLaVA models" in printed
    assert "Traceback" not in printed
