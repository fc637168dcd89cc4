"""The fixture is written by hand, as projects without a list have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.sources.folder import find
from gradcompat.sources.install_script import read
from tests.conftest import Run

FIXTURE = Path(__file__).parents[1] / "fixtures" / "install_script" / "install.sh"


def test_what_it_installs() -> None:
    environment = read(read_document(FIXTURE, "install.sh"))
    assert [
        (package.name, package.version or package.specifier, package.location.line) for package in environment.packages
    ] == [
        ("python", "==3.10.*", 5),
        ("torch", "2.5.1", 9),
        ("torchvision", "0.20.1", 9),
        ("transformers", "4.47.0", 10),
        ("accelerate", "1.1.0", 11),
        ("peft", ">=0.13", 11),
        ("flash-attn", "2.7.0.post2", 12),
        ("deepspeed", "0.15.4", 14),
    ]
    assert (environment.kind, environment.closed) == ("install-script", False)
    assert (environment.skipped[0].gap, str(environment.skipped[0].location)) == (False, "install.sh")
    assert ("requirements/extra.txt", True) in [(skipped.what, skipped.gap) for skipped in environment.skipped]


def test_a_file_that_it_names_is_read(tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "install.sh"
    script.parent.mkdir()
    script.write_text("cd ..\npip install -r requirements.txt\npip install -r requirements.txt\n", "utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", "utf-8")
    root = root_of_folder(tmp_path, str(tmp_path), ())
    environment = read(read_document(script, "scripts/install.sh", root))
    assert [(package.name, package.version) for package in environment.packages] == [("torch", "2.5.1")]


@pytest.mark.parametrize("text", ["", "apt-get install -y git\n", "echo pip install torch==2.5.1\n"])
def test_what_installs_no_package_is_no_such_script(text: str) -> None:
    with pytest.raises(Malformed, match="installs nothing with pip, uv or conda"):
        read(Document("install.sh", text))


@pytest.mark.parametrize(
    ("files", "read_files"),
    [
        ({"install.sh": "pip install torch==2.5.1"}, ["install.sh"]),
        ({"scripts/set_env.sh": "pip install torch==2.5.1"}, ["scripts/set_env.sh"]),
        ({"install.sh": "pip install torch==2.5.1", "requirements.txt": "torch"}, ["requirements.txt"]),
        ({"install.sh": "pip install torch==2.5.1", "a/pyproject.toml": "[project]"}, ["a/pyproject.toml"]),
        ({"install.sh": "apt-get install git"}, []),
        ({"train.sh": "pip install torch==2.5.1"}, []),
    ],
)
def test_a_folder_has_one_where_nothing_else_lists_packages(
    tmp_path: Path, files: dict[str, str], read_files: list[str]
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n", "utf-8")
    found = find(tmp_path, ".", root_of_folder(tmp_path, ".", ()))
    assert [shown for _, shown in found.files] == read_files


def test_a_project_that_has_only_a_script(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("install.sh").write_text(FIXTURE.read_text("utf-8"), "utf-8")
    outcome = run("check", ".", "--set", "model.architecture=LlamaForCausalLM", "--set", "host.cuda_arch=12.0")
    assert "install.sh: install-script, 8 packages" in outcome.out
    assert "install.sh:9 torch 2.5.1" in outcome.out
    assert "a best effort: what was installed before is not seen" in outcome.out
