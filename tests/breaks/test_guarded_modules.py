"""Modules that the project imports only behind a question for a version are not run with the others."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import gradcompat

CHOICE = """\
from importlib.metadata import version
found = version("transformers")
if found == "4.49.0":
    from .old import Engine
elif found == "5.3.0":
    from .new import Engine
else:
    raise ValueError(found)
"""
OLD = "from transformers import HybridCache\nclass Engine: ...\ndef load():\n    return Engine.from_pretrained('m')\n"
OTHER = "import torch\ndef f():\n    import engines.old\nif __name__ == '__main__':\n    torch.load('m')\n"
MAIN = "import torch\nfrom engines import Engine\nif __name__ == '__main__':\n    Engine()\n"


def found(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    for name, text in {"requirements.txt": "transformers==5.3.0\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    report = gradcompat.check(folder)
    return {
        str(Path(one.finding.location.path).relative_to(folder)): one.finding.status
        for one in report.findings
        if one.finding.issue.id.startswith("code:") and one.finding.location is not None
    }


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, {}),
        ({"engines/old/__init__.py": "from .args import Engine\n", "engines/old/args.py": OLD}, {}),
        ({"engines/old/args.py": OLD}, {"engines/old/args.py": "conditional"}),
        ({"train.py": MAIN.replace("from engines", "from engines.old")}, {"engines/old/__init__.py": "affected"}),
        ({"other.py": OTHER}, {"engines/old/__init__.py": "conditional"}),
        (
            {"engines/old/__init__.py": f"{OLD}if __name__ == '__main__':\n    Engine()\n"},
            {"engines/old/__init__.py": "affected"},
        ),
    ],
)
def test_modules_behind_a_question_for_a_version(
    tmp_path: Path, more: Mapping[str, str], expected: Mapping[str, str]
) -> None:
    files = {
        "train.py": MAIN,
        "engines/__init__.py": CHOICE,
        "engines/old/__init__.py": OLD,
        "engines/new.py": "class Engine: ...\n",
    }
    assert found(tmp_path, {**files, **more}) == expected


def test_an_import_of_the_project_in_a_function_may_never_run(tmp_path: Path) -> None:
    files = {
        "train.py": "import torch\nfrom forward import sdpa\nif __name__ == '__main__':\n    sdpa()\n",
        "forward.py": "def sdpa(): ...\ndef paged():\n    from engine import Engine\n    Engine()\n",
        "engine.py": OLD,
    }
    assert found(tmp_path, files) == {"engine.py": "conditional"}
