"""The layers of DESIGN.md, read from the imports; and that a check loads nothing that it does not need."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "gradcompat"
INSIDE = PACKAGE / "probes" / "inside"

# From top to bottom. A module may import what stands in a lower line, and its own part; the parts of one line are
# siblings, which do not import one another.
LAYERS = (
    ("__main__", "pytest_plugin"),
    ("cli", "api"),
    ("renderers", "pipeline"),
    ("suppression",),
    ("audit",),
    ("database",),
    (
        "config",
        "probes",
        "planner",
        "index",
        "edit",
        "scanners",
        "diagnosis",
        "sources",
        "knowledge",
        "advice",
        "host",
    ),
    ("matcher",),
    ("messages", "forks", "formats", "vocabulary", "recipes", "defaults"),
    ("model", "markers"),
    ("versions",),
    (
        *("truth", "errors", "names", "user_folders", "worker_process", "programs", "regular_files", "root"),
        *("abandoned_files", "quotation", "budget", "_version", "__init__"),
    ),
    ("redaction",),
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# These bring the other parts together, each where it is needed: a check of a lockfile alone pays for no scanner.
PIPELINE = {"cli", "audit", "suppression", "config", "database"}

# Where else an import may stand inside a function, and what it brings in there.
LATE = {
    "__init__": {"gradcompat.api", "gradcompat._version"},  # for whoever asks for them
    # `pytest --gradcompat` alone
    "pytest_plugin": {"gradcompat.check", "gradcompat.renderers.text"},
    "markers": {"packaging.markers"},  # only odd comparisons in lockfiles with alternatives need it
    # httpx, only where the cache does not answer
    "index.client": {"gradcompat.index.transport", "gradcompat.index.requirements"},
    # httpx, only where there is no --offline
    "index.catalog": {"gradcompat.index.client", "gradcompat.index.configuration", "gradcompat.user_folders"},
    "index.public": {"pypi_simple"},  # only where its source does not show the one constant
    "host": {"pynvml"},  # optional, and only where a driver shows
    # OpenSSL, only for what somebody has fetched or written
    "knowledge.load": {"hashlib"},
    "sources.reading": {"gradcompat.sources.recognise"},  # only where a file's name does not say what it is
    "sources.installed": {"gradcompat.sources.interpreter"},  # only where an interpreter is named
}

# What a plain check must not load: each costs more than the check itself.
HEAVY = (
    "pydantic",
    "httpx",
    "rich",
    "yaml",
    "tomlkit",
    "ahocorasick_rs",
    "importlib.metadata",
    "packaging.markers",
    "pathspec",
)


@dataclass(frozen=True)
class Import:
    """``module`` imports ``target``; ``late`` if inside a function."""

    module: str
    target: str
    line: int
    late: bool

    def __str__(self) -> str:
        return f"gradcompat/{self.module.replace('.', '/')}:{self.line} imports {self.target}"

    @property
    def part(self) -> str:
        return self.module.split(".")[0]

    @property
    def of_ours(self) -> str | None:
        """Which part of the package is imported, if it is one."""
        root, _, rest = self.target.partition(".")
        if root != "gradcompat":
            return None
        return rest.split(".")[0] if rest and rest.split(".")[0] in RANK else "__init__"


def imports() -> Iterator[Import]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.is_relative_to(INSIDE):
            continue  # a package of its own, in the interpreter that is looked at
        module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        tree = ast.parse(path.read_text("utf-8"))
        inside = {
            child
            for function in ast.walk(tree)
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            for child in ast.walk(function)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield Import(module, name.name, node.lineno, node in inside)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                # `from gradcompat import x` is an import of `gradcompat.x`.
                for name in node.names if (node.module or "").startswith("gradcompat") else ():
                    yield Import(module, f"{node.module}.{name.name}", node.lineno, node in inside)
                if not (node.module or "").startswith("gradcompat"):
                    yield Import(module, node.module or "", node.lineno, node in inside)


IMPORTS = tuple(imports())


def test_every_part_has_a_layer() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert parts - RANK.keys() == set()


def test_arrows_point_down() -> None:
    wrong = [
        str(one)
        for one in IMPORTS
        if one.of_ours is not None and one.of_ours != one.part and RANK[one.of_ours] <= RANK[one.part]
    ]
    # What stands below everything also hands out what stands on top, to those who ask for it.
    assert {one.rpartition(":")[0] for one in wrong} == {"gradcompat/__init__"}
    handed_out = ("gradcompat.api.check", "gradcompat._version.__version__")
    assert all(one.endswith(handed_out) for one in wrong)


def circles(edges: dict[str, set[str]]) -> list[str]:
    """A way from each module that imports itself, by way of others, back to it."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return [" → ".join(reversed(error.args[1]))]
    return []


def file_of(target: str, modules: set[str]) -> str:
    """The module that an import reads: a function of a module is in that module."""
    return target if target in modules else target.rpartition(".")[0]


def test_no_circle_of_files() -> None:
    """Late imports and those for types count, too."""
    modules = {f"gradcompat.{one.module}".removesuffix(".__init__") for one in IMPORTS}
    edges: dict[str, set[str]] = {}
    for one in IMPORTS:
        source = f"gradcompat.{one.module}".removesuffix(".__init__")
        target = file_of(one.target, modules)
        if target in modules - {"gradcompat"}:
            edges.setdefault(source, set()).add(target)
    assert len(edges) > 200
    assert circles(edges) == []


def test_a_circle_inside_a_package_is_seen() -> None:
    assert circles({"audit.a": {"audit.b"}, "audit.b": {"audit.c"}, "audit.c": set()}) == []
    assert circles({"audit.a": {"audit.b"}, "audit.b": {"audit.a"}}) == ["audit.a → audit.b → audit.a"]


def test_the_rule_sees_an_import_that_is_wrong() -> None:
    def allowed(module: str, target: str) -> bool:
        one = Import(module, target, 1, late=False)
        return one.of_ours is None or one.of_ours == one.part or RANK[one.of_ours] > RANK[one.part]

    assert allowed("cli.check", "gradcompat.renderers.text")
    assert allowed("knowledge.lint", "gradcompat.knowledge.load")
    assert allowed("matcher", "json")
    assert not allowed("knowledge.lint", "gradcompat.advice")
    assert not allowed("matcher", "gradcompat.sources.uv_lock")
    assert not allowed("model.issue", "gradcompat.matcher")
    assert not allowed("messages", "gradcompat.forks")


def test_late_imports_are_on_the_list() -> None:
    late = [one for one in IMPORTS if one.late and one.part not in PIPELINE]
    assert [str(one) for one in late if not any(one.target.startswith(part) for part in LATE.get(one.module, ()))] == []


def test_the_kernel_is_pure() -> None:
    """No clock, no files, no environment variables where findings are decided."""
    effects = {"os", "pathlib", "time", "datetime", "random", "socket", "subprocess", "shutil", "io", "sys", "platform"}
    kernel = {"matcher", "advice", "phrases", "forks", "versions", "truth", "names", "model", "vocabulary", "recipes"}
    wrong = [str(one) for one in IMPORTS if one.part in kernel and one.target.split(".")[0] in effects]
    assert wrong == []


# What a module reads with `pathlib` is its own or the user's alone, and no file of a project.
READING = {"is_file", "is_dir", "exists", "read_bytes", "read_text"}
OWN_FILES = {
    "index.public", "knowledge.load", "knowledge.matrix", "knowledge.measured", "probes.overlay_environments",
    "probes.matrix", "probes.runner", "renderers.html_report",
}  # fmt: skip


def test_files_of_a_project_are_asked_after_where_no_name_is_an_error() -> None:
    """`pathlib` raises for names that are too long and folders that may not be entered, and waits for pipes."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).with_suffix("").as_posix().replace("/", ".")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if not path.is_relative_to(INSIDE) else ():
            match node:
                case ast.Call(func=ast.Attribute(attr="exists", value=ast.Attribute(attr="path"))):
                    pass  # os.path's
                case ast.Call(func=ast.Attribute(attr=name)) if name in READING:
                    found.add((module, name))
    assert {module for module, _ in found} - OWN_FILES == set()
    assert {asked for _, asked in found} <= {"read_bytes", "read_text"}


LOCK = """\
version = 1
requires-python = ">=3.10"

[[package]]
name = "torch"
version = "2.5.1"
source = { registry = "https://example.org/simple" }

[[package]]
name = "transformers"
version = "4.50.0"
source = { registry = "https://example.org/simple" }
"""

CHECK = """\
import sys

from gradcompat.cli.main import main

sys.argv = ["gradcompat", "check", "uv.lock", "--format", {form!r}]
status = "returned"
try:
    main()
except SystemExit as exit:
    status = exit.code
sys.stdout.flush()
print(status, *sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.e2e
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_check_loads_nothing_heavy(tmp_path: Path, form: str) -> None:
    (tmp_path / "uv.lock").write_text(LOCK, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(form=form, heavy=HEAVY)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr.split() in (["0"], ["1"]), done.stderr  # the exit status, and no module behind it
    assert "transformers" in done.stdout or "uv.lock" in done.stdout


@pytest.mark.e2e
def test_the_modules_that_are_looked_for_would_be_seen(tmp_path: Path) -> None:
    script = CHECK.format(form="text", heavy=HEAVY).replace("import sys\n", "import sys, yaml, importlib.metadata\n", 1)
    (tmp_path / "uv.lock").write_text(LOCK, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.split()[1:] == ["importlib.metadata", "yaml"]
