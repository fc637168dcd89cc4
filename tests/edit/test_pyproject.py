from __future__ import annotations

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit.pins import Edited, NotEdited, PinEdit
from gradcompat.edit.pyproject import Manager, edit
from gradcompat.errors import EditError
from tests.edit.pinned import TORCH, TRANSFORMERS, added, downgrade, upgrade


def again(text: str, *pins: PinEdit, manager: Manager | None = None) -> Edited:
    """The edit, which a second one has to leave as it is."""
    first = edit(text, "pyproject.toml", pins, manager=manager)
    second = edit(first.text, "pyproject.toml", pins, manager=manager)
    assert second.text == first.text
    assert second.settled == first.settled
    return first


STANDARD = """\
[project]
name = "toy"   # the name
dependencies = [
    "Transformers[torch] >=4.45, <5 ; python_version > '3.9'",  # for LLaVA
  'torch==2.4.1',
    "numpy",
]

[project.optional-dependencies]
train = ["transformers", "torch ~= 2.4"]
old = ["torch==2.2.2"]

[dependency-groups]
dev = [{include-group = "test"}, "transformers>=4.40"]
test = ["pytest"]
"""


def test_the_standard_tables() -> None:
    assert again(STANDARD, TRANSFORMERS, TORCH) == Edited(
        text=STANDARD.replace(">=4.45, <5", ">=4.52.0, <5")
        .replace("torch==2.4.1", "torch==2.6.0")
        .replace('"transformers", "torch ~= 2.4"', '"transformers>=4.52.0", "torch ~= 2.6"')
        .replace("transformers>=4.40", "transformers>=4.52.0"),
        settled=("transformers", "torch"),
        notes=(
            "`torch` in another place: `project.optional-dependencies.old[0]`: "
            "`==2.2.2` does not allow 2.4.1 and stays",
        ),
    )


def test_line_ends_stay() -> None:
    text = STANDARD.replace("\n", "\r\n")
    assert edit(text, "p.toml", [TORCH]).text == edit(STANDARD, "p.toml", [TORCH]).text.replace("\n", "\r\n")


POETRY = """\
[tool.poetry.dependencies]
python = "^3.10"
transformers = "^4.45"  # caret
torch = {version = "~2.4", extras = ["opt"], source = "pytorch", markers = "sys_platform == 'linux'"}
peft = "0.14.0"
trl = [
  {version = "<0.10", python = "<3.9"},
  {version = ">=0.10,<0.13", python = ">=3.9"},
]

[tool.poetry.group.dev.dependencies]
accelerate = "*"
datasets = { git = "https://git.example/datasets.git" }
"""


def test_poetry() -> None:
    pins = [
        TRANSFORMERS,
        TORCH,
        upgrade("peft", "0.14.0", "0.15.2"),
        upgrade("trl", "0.12.1", "0.14.0"),
        downgrade("accelerate", "1.3.0", "1.2.1"),
        upgrade("datasets", "3.0.0", "3.1.0"),
        upgrade("tokenizers", "0.20.0", "0.21.0"),
    ]
    assert again(POETRY, *pins) == Edited(
        text=POETRY.replace("^4.45", "^4.52.0")
        .replace("~2.4", "~2.6.0")
        .replace("0.14.0", "0.15.2")
        .replace(">=0.10,<0.13", ">=0.14.0,<0.15")
        .replace('"*"', '"<=1.2.1"'),
        settled=("transformers", "torch", "peft", "trl", "accelerate"),
        notes=("`trl` in another place: `tool.poetry.dependencies.trl[0]`: `<0.10` does not allow 0.12.1 and stays",),
        not_edited=(
            NotEdited(
                "datasets",
                "`tool.poetry.group.dev.dependencies.datasets`: comes from a URL, which decides its version",
            ),
            NotEdited(
                "tokenizers",
                "the project does not ask for it itself, and Poetry has no constraints: only the lockfile moves",
            ),
        ),
    )


def test_poetry_beside_the_standard_table() -> None:
    text = '[project]\ndependencies = ["torch==2.4.1"]\n[tool.poetry.dependencies]\ntorch = {source = "pytorch"}\n'
    assert again(text, TORCH) == Edited(text=text.replace("2.4.1", "2.6.0"), settled=("torch",))
    alone = "[tool.poetry.dependencies]\ntorch = {source = 'pytorch'}\ntransformers = 4\n"
    reason = "names no version that could be changed"
    assert again(alone, TORCH, TRANSFORMERS).not_edited == (
        NotEdited("torch", f"`tool.poetry.dependencies.torch`: {reason}"),
        NotEdited("transformers", f"`tool.poetry.dependencies.transformers`: {reason}"),
    )


def test_pdm() -> None:
    text = """\
[tool.pdm.dev-dependencies]
train = ["torch>=2.4", "-e file:///${PROJECT_ROOT}/sub#egg=sub"]
[tool.pdm.resolution.overrides]
transformers = "4.49.0"
peft = ">=0.14,<0.15"
trl = "https://index.example/trl-0.9-py3-none-any.whl"
"""
    pins = [TORCH, TRANSFORMERS, upgrade("peft", "0.14.0", "0.15.2"), upgrade("trl", "0.9", "0.10")]
    pins.append(upgrade("tokenizers", "0.20.0", "0.21.0"))
    assert again(text, *pins) == Edited(
        text=text.replace("torch>=2.4", "torch>=2.6.0")
        .replace("4.49.0", "4.52.0")
        .replace(">=0.14,<0.15", ">=0.15.2,<0.16"),
        settled=("torch", "transformers", "peft"),
        not_edited=(
            NotEdited("trl", "`tool.pdm.resolution.overrides.trl`: comes from a URL, which decides its version"),
            NotEdited(
                "tokenizers",
                "the project does not ask for it itself, and PDM has no constraints: only the lockfile moves",
            ),
        ),
    )


def test_other_tools() -> None:
    text = """\
[tool.uv]
dev-dependencies = ["torch==2.4.1"]
override-dependencies = ["transformers==4.49.0"]
[tool.hatch.envs.train]
dependencies = ["torch>=2.4"]
extra-dependencies = ["transformers"]
[tool.flit.metadata]
requires = ["torch"]
requires-extra.train = ["transformers>=4"]
[tool.conda-lock.dependencies]
torch = "=2.4"
"""
    assert again(text, TRANSFORMERS, TORCH) == Edited(
        text=text.replace("torch==2.4.1", "torch==2.6.0")
        .replace("transformers==4.49.0", "transformers==4.52.0")
        .replace("torch>=2.4", "torch>=2.6.0")
        .replace('["transformers"]', '["transformers>=4.52.0"]')
        .replace('["torch"]', '["torch>=2.6.0"]')
        .replace('["transformers>=4"]', '["transformers>=4.52.0"]')
        .replace('"=2.4"', '"=2.6"'),
        settled=("transformers", "torch"),
    )


def test_a_link_of_uv_decides() -> None:
    text = """\
[project]
dependencies = ["torch>=2.4", "transformers>=4.45"]
[tool.uv.sources]
torch = [{index = "pytorch"}, {path = "../torch", marker = "sys_platform == 'darwin'"}]
transformers = {index = "mirror"}
"""
    assert again(text, TORCH, TRANSFORMERS) == Edited(
        text=text.replace("4.45", "4.52.0"),
        settled=("transformers",),
        not_edited=(
            NotEdited(
                "torch",
                "`project.dependencies[0]`: `tool.uv.sources` takes it from a URL, which decides its version",
            ),
        ),
    )


NOTE = "not asked for by the project itself, so held by `constraint-dependencies` of `[tool.uv]`"
TOKENIZERS = upgrade("tokenizers", "0.20.0", "0.21.0")


def test_what_the_project_of_uv_does_not_ask_for_becomes_a_constraint() -> None:
    text = '[project]\nname = "toy"\ndependencies = ["transformers"]\n\n[tool.ruff]\nline-length = 100  # wide\n'
    pins = [TOKENIZERS, downgrade("numpy", "2.1.0", "1.26.4"), added("filelock", "3.16")]
    assert again(text, *pins, manager="uv") == Edited(
        text=text
        + """
[tool.uv]
constraint-dependencies = [
    "tokenizers>=0.21.0",
    "numpy<=1.26.4",
    "filelock>=3.16",
]
""",
        settled=("tokenizers", "numpy", "filelock"),
        notes=(f"`tokenizers>=0.21.0`, `numpy<=1.26.4`, `filelock>=3.16`: {NOTE}",),
    )
    nobody = edit(text, "p.toml", pins[:1])
    assert (nobody.text, nobody.not_edited) == (
        text,
        (NotEdited("tokenizers", "the project does not ask for it itself"),),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[tool.uv]\nconstraint-dependencies = [\n  "numpy<2",  # why\n]\n\n[tool.ruff]\n',
            '[tool.uv]\nconstraint-dependencies = [\n  "numpy<2",  # why\n  "tokenizers>=0.21.0",\n]\n\n[tool.ruff]\n',
        ),
        (
            '[tool.uv]\nconstraint-dependencies = ["numpy<2"]\n',
            '[tool.uv]\nconstraint-dependencies = ["numpy<2", "tokenizers>=0.21.0"]\n',
        ),
        (
            "[tool.uv]\nmanaged = true\n",
            '[tool.uv]\nmanaged = true\nconstraint-dependencies = [\n    "tokenizers>=0.21.0",\n]\n',
        ),
        (
            "[tool.uv.sources]\nx = {index = 'y'}\n",
            '[tool.uv]\nconstraint-dependencies = [\n    "tokenizers>=0.21.0",\n]\n\n'
            "[tool.uv.sources]\nx = {index = 'y'}\n",
        ),
        (
            "[tool.uv]\r\nmanaged = true\r\n",
            '[tool.uv]\r\nmanaged = true\r\nconstraint-dependencies = [\r\n    "tokenizers>=0.21.0",\r\n]\r\n',
        ),
    ],
)
def test_a_constraint_joins_what_is_there(before: str, after: str) -> None:
    assert again(before, TOKENIZERS) == Edited(
        text=after, settled=("tokenizers",), notes=(f"`tokenizers>=0.21.0`: {NOTE}",)
    )


def test_a_constraint_that_is_there_moves() -> None:
    text = '[tool.uv]\nconstraint-dependencies = ["tokenizers<0.21"]\n'
    assert again(text, TOKENIZERS) == Edited(text=text.replace("<0.21", ">=0.21.0,<0.22"), settled=("tokenizers",))


def test_what_is_written_with_escapes_is_left_alone() -> None:
    text = '[project]\ndependencies = ["torch>\\u003d2.4", """transformers>=4.45"""]\n'
    assert again(text, TORCH, TRANSFORMERS) == Edited(
        text=text.replace("4.45", "4.52.0"),
        settled=("transformers",),
        not_edited=(NotEdited("torch", "`project.dependencies[0]`: is written with escapes or over several lines"),),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project]\n[project]\n", "`p.toml:2`: not valid TOML: Cannot declare a key twice"),
        ("a = " + "[" * 5000, "`p.toml`: nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_edited_is_refused(text: str, message: str) -> None:
    with pytest.raises(EditError) as error:
        edit(text, "p.toml", [TOKENIZERS])
    assert str(error.value) == message


def test_odd_shapes_are_left_alone() -> None:
    text = """\
project = {dependencies = "torch", optional-dependencies = ["torch"]}
dependency-groups = {a = [1, {include-group = "b"}, ["torch"]], b = "torch"}
tool = {poetry = {dependencies = ["torch"], group = 1}, uv = 1, hatch = {envs = {a = 1}}}
"""
    reason = "the project does not ask for it itself, and `[tool.uv]` cannot take a constraint as it is written"
    assert again(text, TORCH) == Edited(text=text, not_edited=(NotEdited("torch", reason),))
    no_list = "[tool.uv]\nconstraint-dependencies = 1\n"
    assert again(no_list, TORCH) == Edited(text=no_list, not_edited=(NotEdited("torch", reason),))


values = st.recursive(
    st.one_of(
        st.sampled_from(["torch", "torch>=2.0", "^2.4", "torch==2.4.1", "*", "2.4.1", "é\n", "torch @ file:///x"]),
        st.booleans(),
        st.integers(-3, 3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["torch", "version", "git", "dependencies", "a.b"]), inner, max_size=3),
    ),
    max_leaves=8,
)
keys = st.sampled_from(
    ["project", "dependency-groups", "tool", "poetry", "pdm", "uv", "dependencies", "group", "sources", "overrides"]
)
documents = st.recursive(values, lambda inner: st.dictionaries(keys, inner, max_size=3), max_leaves=12)


@given(st.dictionaries(keys, documents, max_size=3))
def test_any_document_is_edited_once_or_refused(content: dict[str, object]) -> None:
    text = tomlkit.dumps(content)
    assert edit(text, "p.toml", []).text == text
    try:
        first = edit(text, "p.toml", [TORCH, TOKENIZERS])
    except EditError:
        return
    assert edit(first.text, "p.toml", [TORCH, TOKENIZERS]).text == first.text
