"""The fixtures are written by hand, as Jupyter would save them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.sources.notebook import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "notebook"
BEST_EFFORT = Skipped(
    what="x.ipynb",
    reason="a best effort: cells may run in any order, and what was installed before is not seen",
    gap=False,
    location=Location(path="x.ipynb"),
)


def read_source(source: str | list[str]) -> Environment:
    return read_content({"cells": [{"cell_type": "code", "source": source}], "nbformat": 4})


def read_content(content: object) -> Environment:
    return read(Document("x.ipynb", json.dumps(content, indent=1)))


def pins(source: str) -> list[tuple[str, str | None]]:
    return [(package.name, package.version or package.specifier) for package in read_source(source).packages]


def test_cells() -> None:
    environment = read(read_document(FIXTURES / "install.ipynb", "x.ipynb"))
    assert [
        (package.name, package.version or package.specifier, package.location) for package in environment.packages
    ] == [
        ("torch", "2.5.1", Location(path="x.ipynb", line=18)),
        ("transformers", "*", Location(path="x.ipynb", line=18)),
        ("accelerate", "1.3.0", Location(path="x.ipynb", line=20)),
        ("peft", "*", Location(path="x.ipynb", line=21)),
        ("trl", "0.14.0", Location(path="x.ipynb", line=23)),
        ("datasets", "*", Location(path="x.ipynb", line=24)),
        ("flash-attn", "2.8.0", Location(path="x.ipynb", line=31)),
        ("deepspeed", "0.16.4", Location(path="x.ipynb", line=41)),
        ("liger-kernel", "0.5.2", Location(path="x.ipynb", line=43)),
    ]
    assert [(skipped.what, skipped.gap, str(skipped.location)) for skipped in environment.skipped] == [
        ("x.ipynb", False, "x.ipynb"),
        ("transformers", False, "x.ipynb:18"),
        ("peft", True, "x.ipynb:21"),
        ("a requirement", True, "x.ipynb:21"),
        ("a requirement", True, "x.ipynb:42"),
        ("a requirement", True, "x.ipynb:44"),
    ]
    assert environment.skipped[0] == BEST_EFFORT
    assert (environment.kind, environment.closed, environment.python) == ("notebook", False, "3.11.7")


@pytest.mark.parametrize(
    "source",
    [
        "!pip install torch==2.5.1",
        "!!pip install torch==2.5.1",
        "  ! pip3 install torch==2.5.1",
        "!{sys.executable} -m pip install torch==2.5.1",
        "%pip install torch==2.5.1",
        "%sx pip install torch==2.5.1",
        "pip install torch==2.5.1",
        "lines = !pip install torch==2.5.1",
        "!cd x && pip install torch==2.5.1",
        "!pip install \\\n torch==2.5.1",
        "%%time\n%%capture out\n!pip install torch==2.5.1",
        "%%sh\npip install torch==2.5.1",
        "%%script bash -e\npip install torch==2.5.1",
        "'''!pip install a''' # x\n!pip install torch==2.5.1",
        "x = \"it's\" # '''\n!pip install torch==2.5.1",
        "import os\nos.system('pip install torch==2.5.1')",
        'subprocess.run("pip install torch==2.5.1", shell=True)',
        "os.system('pip install -q '\n  f'torch==2.5.1')",
        "subprocess.run(['pip', 'install', r'torch==2.5.1'], check=True)",
        "subprocess.check_call(\n  [ # why\n   sys.executable, '-m', 'pip', 'install',\n   \"torch==2.5.1\",\n  ]\n)",
        "get_ipython().system('pip install torch==2.5.1')",
    ],
)
def test_ways_to_install(source: str) -> None:
    assert pins(source) == [("torch", "2.5.1")]
    assert read_source(source).skipped == (BEST_EFFORT,)
    lines_before = source[: source.index("torch==2")].count("\n")
    [package] = read_source(source.splitlines(keepends=True)).packages
    assert package.location == Location(path="x.ipynb", line=6 + lines_before)


@pytest.mark.parametrize(
    "source",
    [
        "# !pip install torch==2.5.1",
        '"""\n!pip install torch==2.5.1\n"""',
        "print('!pip install torch==2.5.1')",
        "%%writefile setup.sh\n!pip install torch==2.5.1",
        "%%html\n!pip install torch==2.5.1",
        "# os.system('pip install torch==2.5.1')",
        "'os.system(\"pip install torch==2.5.1\")'",
        "os.system(command)  # pip",
        "os.system('pip install ' + 'torch==2.5.1')",
        "run(['pip', 'install', 'torch==2.5.1'])",
        "os.system('pip install torch",
    ],
)
def test_what_installs_nothing(source: str) -> None:
    assert read_source(source).packages == ()


@pytest.mark.parametrize("name", ["../../requirements.txt", "requirements.txt"])
def test_requirements_of_the_project_above_the_notebook(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    notebook = tmp_path / "recipes" / "chat" / "x.ipynb"
    notebook.parent.mkdir(parents=True)
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": f"!pip install -r {name}"}]}))
    environment = read(read_document(notebook, "recipes/chat/x.ipynb"))
    assert [str(package.location) for package in environment.packages] == ["requirements.txt:1"]
    assert [one.gap for one in environment.skipped] == [False]


def test_nothing_above_the_project_is_read(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    notebook = tmp_path / "project" / "x.ipynb"
    (tmp_path / "project" / ".git").mkdir(parents=True)
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "!pip install -r ../requirements.txt"}]}))
    environment = read(read_document(notebook, "x.ipynb"))
    assert environment.packages == ()
    assert [one.gap for one in environment.skipped] == [False, True]


def test_requirements_of_a_clone_are_as_unknown_as_the_session(tmp_path: Path) -> None:
    source = "!git clone https://git.example/model\n!pip install -r model/requirements.txt torch==2.5.1"
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": [{"cell_type": "code", "source": source}]}))
    environment = read(read_document(tmp_path / "x.ipynb", "x.ipynb"))
    assert [package.name for package in environment.packages] == ["torch"]
    assert [(one.what, one.gap) for one in environment.skipped[1:]] == [("model/requirements.txt", False)]


def test_requirements_beside_the_notebook(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n")
    cells = [{"cell_type": "code", "source": "!pip install -r ./requirements.txt -r gone.txt"}] * 2
    (tmp_path / "x.ipynb").write_text(json.dumps({"cells": cells}))
    environment = read(read_document(tmp_path / "x.ipynb", "x.ipynb"))
    assert [str(package.location) for package in environment.packages] == ["requirements.txt:1"]
    reason = "its requirements are installed, and there is no such file beside this one"
    assert environment.skipped == (
        BEST_EFFORT,
        Skipped(what="gone.txt", reason=reason, location=Location(path="x.ipynb", line=1)),
    )


def test_format_3() -> None:
    cell = {"cell_type": "code", "input": ["!pip install torch==1.0\n"]}
    environment = read_content({"worksheets": [{"cells": [cell]}, 3], "nbformat": 3})
    assert [(package.name, package.version) for package in environment.packages] == [("torch", "1.0")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "has no cells as a notebook has"),
        ("{}", "has no cells as a notebook has"),
        ('{"cells": {}}', "has no cells as a notebook has"),
        ('{"cells": [', "not valid JSON: Expecting value"),
        ('{"cells":' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook(text: str, message: str) -> None:
    with pytest.raises(Malformed) as error:
        read(Document("x.ipynb", text))
    assert error.value.message == message


def test_cells_of_wrong_types() -> None:
    cells = [
        1,
        {"cell_type": "code", "source": 3},
        {"cell_type": "code", "source": ["!pip install torch==1.0", 3]},
        {"cell_type": "code"},
        {"cell_type": ["code"]},
        {"cell_type": "code", "source": "!pip install " + "a" * 300_000},
        {"cell_type": "code", "source": "!pip install torch==2.5.1"},
    ]
    environment = read_content({"cells": cells, "metadata": {"language_info": {"name": "python", "version": "x"}}})
    assert [(package.name, package.version) for package in environment.packages] == [("torch", "2.5.1")]
    assert [(skipped.reason, skipped.gap) for skipped in environment.skipped[1:]] == [
        ("is not an object", True),
        ("its source is not text", True),
        ("its source is not text", True),
        ("is longer than 256 KiB", True),
    ]
    assert environment.python is None
