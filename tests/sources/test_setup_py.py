"""setup.py: what is literal in it, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import Malformed, TooComplex
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import Document, read_document
from gradcompat.model.environment import Environment
from gradcompat.sources.any_format import read as read_any
from gradcompat.sources.setup_py import read
from tests.sources.locked import fixture, notes

COMPUTED = "is computed when the project is built, which gradcompat never does"


def of(text: str) -> Environment:
    return read(Document("setup.py", text))


def ranges(environment: Environment) -> list[tuple[str, str | None, tuple[str, ...]]]:
    return [(one.name, one.version or one.specifier, one.extras) for one in environment.packages]


def test_lists_and_names_that_are_bound_once() -> None:
    environment = read_any(fixture("setup_py/setup.py"))
    assert environment.kind == "setup.py"
    assert [(one.name, one.version or one.specifier, one.location.line) for one in environment.packages] == [
        ("torch", ">=2.1", 9),
        ("transformers", "4.49.0", 10),
        ("accelerate", "1.4.0", 20),
        ("ruff", "0.8.0", 12),
        ("flash-attn", ">=2.5", 12),
        ("ruff", "0.8.0", 12),
        ("flash-attn", ">=2.5", 12),
    ]
    assert notes(environment) == [("tests_require", COMPUTED, True, 21)]


def test_a_list_in_a_list() -> None:
    found = of("DEV = ['ruff', ['pytest']]\nsetup(install_requires=['peft'], extras_require={'dev': [DEV]})\n")
    assert ranges(found) == [("peft", "*", ()), ("ruff", "*", ("dev",)), ("pytest", "*", ("dev",))]


def test_extras_that_are_literal() -> None:
    text = (
        "import setuptools\nsetuptools.setup(extras_require={'a': ['torch==2.5.1'], 'b:os_name == \"nt\"': 'peft'})\n"
    )
    assert ranges(of(text)) == [("torch", "2.5.1", ("a",)), ("peft", "*", ("b",))]


@pytest.mark.parametrize(
    "lines",
    [
        'open("requirements.txt").read().splitlines()',
        'open(os.path.join(HERE, "requirements.txt")).readlines()',
        'Path("requirements.txt").read_text().split("\\n")',
        '[line.strip() for line in open("requirements.txt") if line]',
        'list(open("requirements.txt"))',
        "[str(one) for one in pkg_resources.parse_requirements(open(os.path.join(HERE, 'requirements.txt')))]",
        "list(map(str, parse_requirements(Path('requirements.txt').open())))",
        "[str(one.req) for one in parse_requirements('requirements.txt', session='x')]",
        "LINES",
    ],
)
def test_a_file_whose_lines_are_the_requirements(tmp_path: Path, lines: str) -> None:
    opened = "with open('requirements.txt') as file:\n    LINES = file.read().splitlines()\n"
    text = f"import os\n{opened}setup(install_requires={lines})\n"
    (tmp_path / "setup.py").write_text(text, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", encoding="utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    assert [(one.name, one.version, one.location.path) for one in environment.packages] == [
        ("torch", "2.5.1", "requirements.txt")
    ]


def test_a_list_that_is_filled_from_a_file_if_that_exists(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", "utf-8")
    text = (
        'path = os.path.join(HERE, "requirements.txt")\nREQUIRED = []\n'
        "if os.path.exists(path):\n    with open(path) as file:\n        REQUIRED = [line.strip() for line in file]\n"
        "setup(install_requires=REQUIRED)\n"
    )
    (tmp_path / "setup.py").write_text(text, "utf-8")
    document = read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, "."))
    assert ranges(read(document)) == [("torch", "2.5.1", ())]
    # The same name is given to another file.
    (tmp_path / "setup.py").write_text(f"with open('README.md') as file:\n    ABOUT = file.read()\n{text}", "utf-8")
    document = read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, "."))
    assert ranges(read(document)) == [("torch", "2.5.1", ())]
    conditional = text.replace("os.path.exists(path)", "os.environ.get('GPU')")
    assert notes(of(conditional)) == [("install_requires", COMPUTED, True, 6)]


def test_a_file_that_is_not_there_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("setup(install_requires=open('a.txt').readlines())\n", encoding="utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    reason = "its requirements are those of the project and were not read: there is no such file or folder"
    assert notes(environment) == [("a.txt", reason, True, 1)]


@pytest.mark.parametrize("value", ["parse('a')", "[*parse()]", "NAME", "['torch' + '>=2']", "A", "{k: v for k in x}"])
def test_what_is_computed_is_a_gap(value: str) -> None:
    environment = of(f"A = A2\nA2 = A\nNAME = ['x']\nNAME = ['y']\nsetup(install_requires={value})\n")
    assert environment.packages == ()
    assert [one.gap for one in environment.skipped] == [True]


MADE_OF_A_FILE = {
    "a function": (
        "def read():\n    path = os.path.join(HERE, 'requirements.txt')\n    with open(path) as file:\n"
        "        return [line.strip() for line in file if not line.startswith('#')]\nsetup(install_requires=read())\n"
    ),
    "a function with its file": (
        "def read(name):\n    lines = []\n    for line in open(name):\n        lines.append(line)\n    return lines\n"
        "setup(install_requires=read('requirements.txt'))\n"
    ),
    "a loop, and more": (
        "wanted = []\nwith open('requirements.txt') as file:\n    for line in file.readlines():\n"
        "        wanted.append(line)\nif os.name == 'nt':\n    wanted.append('peft')\nsetup(install_requires=wanted)\n"
    ),
    "within main": ("def main():\n    wanted = read('requirements.txt')\n    setup(install_requires=wanted)\nmain()\n"),
}


@pytest.mark.parametrize("text", MADE_OF_A_FILE.values(), ids=MADE_OF_A_FILE)
def test_a_list_that_code_makes_of_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", "utf-8")
    (tmp_path / "setup.py").write_text(text, "utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    assert ranges(environment) == [("torch", "2.5.1", ())]
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [
        ("install_requires: made of requirements.txt by code", "what that adds or leaves out is not seen", False)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "wanted = []\nif GPU:\n    wanted = read('requirements.txt')\nsetup(install_requires=wanted)\n",
        "setup(install_requires=read('requirements.txt' if GPU else 'requirements-cpu.txt'))\n",
        "setup(install_requires=read('requirements.txt') | read('requirements-gpu.txt'))\n",
        "setup(install_requires=read('requirements-gpu.txt'))\n",
        "setup(install_requires=read('words.txt'))\n",
    ],
)
def test_a_list_of_a_file_that_is_chosen_or_not_there_is_a_gap(tmp_path: Path, text: str) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n", "utf-8")
    (tmp_path / "setup.py").write_text(text, "utf-8")
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    assert (environment.packages, [(one.reason, one.gap) for one in environment.skipped]) == ((), [(COMPUTED, True)])


def test_texts_that_are_put_together() -> None:
    environment = of(
        'VERSION = "2.5.1"\nsetup(install_requires=[f"torch=={VERSION}", f"trl @ file://{HERE}/trl", '
        'f"peft @ {path(HERE)}", f"numpy=={HERE}"])\n'
    )
    assert ranges(environment)[0] == ("torch", "2.5.1", ())
    assert [one.name for one in environment.packages] == ["torch", "trl", "peft"]
    assert notes(environment) == [("install_requires", COMPUTED, True, 2)]


def test_a_list_that_a_function_makes_of_several_files(tmp_path: Path) -> None:
    for name, line in {"base": "tqdm==4.65.2", "torch": "torch==2.5.1", "dev": "pytest==8.4.2"}.items():
        (tmp_path / f"requirements-{name}.txt").write_text(f"{line}\n", "utf-8")
    (tmp_path / "setup.py").write_text(
        "def parse(name='requirements.txt'):\n    path = join(HERE, name)\n    if not os.path.exists(path):\n"
        "        return []\n    return [line.strip() for line in open(path)]\n"
        "def wanted():\n    found = []\n    found.extend(parse('requirements-base.txt'))\n"
        "    found.extend(parse('requirements-torch.txt'))\n    return found\n"
        "tested = parse('requirements-dev.txt')\nsetup(install_requires=wanted())\n",
        "utf-8",
    )
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, ".")))
    assert ranges(environment) == [("tqdm", "4.65.2", ()), ("torch", "2.5.1", ())]
    assert [(one.what, one.gap) for one in environment.skipped] == [
        ("install_requires: made of requirements-base.txt, requirements-torch.txt by code", False)
    ]


TABLE = """\
_deps = [
    "torch==2.6.0",
    "trl[vllm]==0.18.0",
    "lighteval @ git+https://git.example/lighteval.git",
    "pytest",
]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ \\[\\]]+)(?:\\[[^\\]]+\\])?(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}
def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]
extras = {}
extras["tests"] = deps_list("pytest")
extras["dev"] = extras["tests"] + deps_list("trl")
setup(install_requires=[deps["torch"], deps["trl"]], extras_require=extras)
"""


def test_a_table_of_requirements_by_their_names() -> None:
    environment = of(TABLE)
    assert [(one.name, one.version, one.extras, one.location.line) for one in environment.packages] == [
        ("torch", "2.6.0", (), 2),
        ("trl", "0.18.0", (), 3),
        ("pytest", None, ("tests",), 5),
        ("pytest", None, ("dev",), 5),
        ("trl", "0.18.0", ("dev",), 3),
    ]
    assert environment.skipped == ()
    literal = 'deps = {"torch": "torch==2.5.1"}\nsetup(install_requires=[deps["torch"]])\n'
    assert ranges(of(literal)) == [("torch", "2.5.1", ())]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_deps = [", "_deps = [VERSION, "),
        ("_deps = [", "_deps = []\n_deps = ["),
        ("(?:[!=<>~ ].*)?$)", "(?:[!=<>~ ].*)*$)"),
        ("{b: a for", "{a: b for"),
        ("deps_list(*pkgs)", "deps_list(*deps)"),
        ("return [deps[pkg]", "return [other[pkg]"),
        ("extras = {}", "extras = {}\nextras.update(more)"),
        ("extras = {}", "extras = {}\nextras['tests'] = []"),
        ("deps_list(*pkgs):", "deps_list(*pkgs):\n    deps['torch'] = 'torch'"),
        ("extras = {}", "def deps_list(*pkgs):\n    return []\nextras = {}"),
    ],
)
def test_a_table_that_is_not_certain_is_a_gap(old: str, new: str) -> None:
    assert old in TABLE
    assert any(one.gap for one in of(TABLE.replace(old, new)).skipped)


def test_requirements_of_one_list_that_are_computed_are_one_gap() -> None:
    environment = of('setup(install_requires=[a["x"], "torch==2.5.1", f(),\n g()])\n')
    assert ranges(environment) == [("torch", "2.5.1", ())]
    reason = "3 requirements are computed when the project is built, which gradcompat never does"
    assert notes(environment) == [("install_requires", reason, True, 1)]


def test_lists_that_double_are_too_complex() -> None:
    doubled = "".join(f"A{index + 1} = A{index} + A{index}\n" for index in range(60))
    with pytest.raises(TooComplex):
        of(f"A0 = ['x']\n{doubled}setup(install_requires=A60)\n")


def test_a_sum_of_too_many_lists_is_refused() -> None:
    with pytest.raises(Malformed, match="nests its lists too deeply"):
        of(f"setup(install_requires={' + '.join(['[]'] * 2_000)})\n")


def test_nothing_is_asked_for_here() -> None:
    reason = "names no requirements: they stand in pyproject.toml or setup.cfg"
    assert notes(of("from setuptools import setup\nsetup()\n")) == [("setup.py", reason, False, None)]
    assert [one.gap for one in of("setup(**options)\n").skipped] == [True]


@pytest.mark.parametrize("text", ["", "x = 1\n", "setup(\n", "print 'a'\n", "(" * 10_000, "setup\0()"])
def test_what_is_no_setup_py(text: str) -> None:
    with pytest.raises(Malformed):
        of(text)


def test_a_file_that_is_opened_around_the_list(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.1\n# none\npeft\n")
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\nwith open('version') as f:\n    version = f.read()\n"
        "with open('requirements.txt') as f:\n    required = f.read().splitlines()\n"
        "    install_requires = [item.strip() for item in required if item.strip()[0] != '#']\n"
        "setup(version=version, install_requires=install_requires)\n"
    )
    environment = read(read_document(tmp_path / "setup.py", "setup.py", root_of_folder(tmp_path, str(tmp_path))))
    assert ranges(environment) == [("torch", "2.5.1", ()), ("peft", "*", ())]


EXTRAS = """\
import copy
from setuptools import setup
REQUIRED = ["torch==2.5.1"]
extra = {"gpu": ["flash-attn==2.7.4"], "dev": ["ruff"]}
def combine(keys):
    return list(set(k for v in keys for k in extra[v]))
extra["more"] = %s
setup(install_requires=REQUIRED, extras_require=extra)
"""


@pytest.mark.parametrize(
    ("value", "gaps"),
    [
        ("{one for key, listed in extra.items() for one in listed if 'gpu' not in key}", []),
        ("combine([key for key in extra])", []),
        ("copy.deepcopy(extra['gpu'])", []),
        ("sorted(set(REQUIRED))", []),
        ("[one.replace('==', '>=') for one in REQUIRED]", ["extras_require.more"]),
        ("['peft' + one for one in extra]", ["extras_require.more"]),
        ("others()", ["extras_require.more"]),
    ],
)
def test_an_extra_that_repeats_others_hides_nothing(value: str, gaps: list[str]) -> None:
    environment = of(EXTRAS % value)
    assert [one.what for one in environment.skipped if one.gap] == gaps
    assert [one.name for one in environment.packages] == ["torch", "flash-attn", "ruff"]


def test_keywords_of_a_mapping_as_poetry_writes_them() -> None:
    text = (
        "needed = ['torch==2.2.2']\nsetup_kwargs = {'name': 'a', 'install_requires': needed}\nsetup(**setup_kwargs)\n"
    )
    assert ranges(of(text)) == [("torch", "2.2.2", ())]
    assert notes(of(text)) == []
    assert ranges(of("setup(**{'install_requires': ['torch==2.2.2']}, name='a')\n")) == [("torch", "2.2.2", ())]


@pytest.mark.parametrize(
    "text",
    [
        "options = {'install_requires': ['torch']}\nbuild(options)\nsetup(**options)\n",
        "options = {'install_requires': ['torch']}\noptions['install_requires'] = []\nsetup(**options)\n",
        "options = {KEY: ['torch']}\nsetup(**options)\n",
        "options = {**others, 'install_requires': ['torch']}\nsetup(**options)\n",
        "setup(**options)\n",
    ],
)
def test_a_mapping_that_may_be_changed(text: str) -> None:
    assert ranges(of(text)) == []
    ((what, reason, gap, _),) = notes(of(text))
    assert (what, gap) == ("setup()", True)
    assert reason.startswith("passes keywords that are computed")


def test_keywords_that_are_computed_hold_neither_of_two_that_are_given() -> None:
    assert not [one for one in of("setup(install_requires=['peft'], extras_require={}, **rest)").skipped if one.gap]
    assert [one.what for one in of("setup(install_requires=['peft'], **rest)").skipped if one.gap] == ["setup()"]
