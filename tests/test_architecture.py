"""The layers of DESIGN.md, read from the imports; and that a check loads nothing that it does not need."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from gradcompat.cli.kept_reports import OF_THE_MOMENT
from tests.source_trees import PACKAGE, module_name, source_trees

# From top to bottom. A module may import what stands in a lower line, and its own part; the parts of one line are
# siblings, which do not import one another.
LAYERS = (
    ("__main__", "pytest_plugin"),
    ("cli", "api"),
    ("renderers", "pipeline"),
    ("suppression",),
    ("audit", "curation"),
    ("database",),
    ("config", "probes", "planner", "index", "edit", "scanners", "diagnosis", "sources", "knowledge", "breaks"),
    ("matching",),
    ("presumptions",),
    ("messages", "dependency_formats", "formats", "recipes", "host"),
    ("terms",),
    ("vocabulary", "releases"),
    ("model",),
    ("requirements", "budget"),
    ("truth", "errors", "processes", "guard", "quotation", "symptom_parts", "_version", "__init__"),
    ("files",),
    ("redaction",),
    ("startup",),
)
RANK = {part: rank for rank, parts in enumerate(LAYERS) for part in parts}

# These bring the other parts together, each where it is needed: a check of a lockfile alone pays for no scanner.
PIPELINE = {"cli", "pipeline", "audit", "suppression", "config", "database"}

# Where else an import may stand inside a function, and what it brings in there.
LATE = {
    "__init__": {"gradcompat.api", "gradcompat._version"},  # for whoever asks for them
    "formats.yaml_text": {"gradcompat.formats.yaml_composer"},  # where there is YAML, as PyYAML takes long to import
    # `pytest --gradcompat` alone
    "pytest_plugin": {"gradcompat.check", "gradcompat.renderers.text"},
    "requirements.markers": {"packaging.markers"},  # only odd comparisons in lockfiles with alternatives need it
    # httpx, only where the cache does not answer
    "index.client": {
        "gradcompat.index.transport",
        "gradcompat.index.requirements",
        "gradcompat.index.release_files",
    },
    # httpx, only where there is no --offline
    "index.catalog": {"gradcompat.index.client", "gradcompat.index.configuration", "gradcompat.files.user_folders"},
    # of a process that may never train
    "guard.startup": {"gradcompat.guard"},
    "guard.sitecustomize.sitecustomize": {"importlib", "gradcompat.guard.startup"},
    "index.public": {"pypi_simple"},  # only where its source does not show the one constant
    # a lockfile alone needs no table of defaults
    "presumptions.presumer": {"gradcompat.presumptions.auto_classes"},
    "presumptions.upon": {
        "gradcompat.presumptions.label_counts",
        "gradcompat.presumptions.left_out",
        "gradcompat.presumptions.padding_tokens",
    },
    "renderers.terminal": {"textwrap"},  # only for blanks that stand together
    # only where several entries have markers
    "matching.forks": {"gradcompat.requirements.markers"},
    "host.machine": {"pynvml"},  # optional, and only where a driver shows
    # OpenSSL, only for what somebody has fetched or written; tables, only where a model class is named; what is told
    "knowledge.load": {"hashlib", "gradcompat.knowledge.model_tables", "gradcompat.model.probe"},
    # only where a file's name does not say what it is, and where nothing in it is a list
    "sources.any_format": {"gradcompat.sources.recognise", "gradcompat.sources.report"},
    "sources.installed": {"gradcompat.sources.interpreter"},  # only where an interpreter is named
    "files.user_folders": {"pathlib"},  # a report that was kept is found without it
    "vocabulary": {"difflib"},  # only for a name that is wrong
    "breaks.code_issues": {"difflib"},  # only for an option that is no release's
    "startup.lazy_dataclasses": {"dataclasses"},  # what is not to be imported otherwise
    # packaging's parser, as rarely; its tags, where a wheel is for some machines
    "planner.requirements": {"gradcompat.planner.requirement_grammar"},
    "planner.target": {"gradcompat.planner.wheel_tags"},
    "requirements.specifiers": {"gradcompat.requirements.specifier_grammar"},
    # the syntax of Python, only where a program was read
    "terms.symbol_patterns": {"gradcompat.terms.call_patterns", "gradcompat.terms.calls"},
    # packaging's parser, only for what is not plain; ours, only for markers
    "sources.requirement": {"gradcompat.sources.requirement_grammar", "gradcompat.requirements.markers"},
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
    "packaging.specifiers",
    "pathspec",
    "ssl",
    "typer",
    # of the standard library, what takes more than a millisecond to import
    "copy",
    "dataclasses",
    "difflib",
    "inspect",
    "logging",
    "platform",
    "subprocess",
    "textwrap",
    # of ours, what presumptions ask of a run alone
    "gradcompat.presumptions.auto_classes",
    "gradcompat.presumptions.label_counts",
    "gradcompat.presumptions.left_out",
    "gradcompat.presumptions.padding_tokens",
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


def import_statements(node: ast.AST, late: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The imports below a node, each with whether it stands in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, late
        elif isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):  # no expression holds an import
            yield from import_statements(child, late or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)))


@cache
def imports() -> tuple[Import, ...]:
    """All imports of the package."""
    found: list[Import] = []
    for path, tree in source_trees().items():
        module = module_name(path)
        for node, late in import_statements(tree):
            if isinstance(node, ast.Import):
                targets = [name.name for name in node.names]
            else:
                assert node.level == 0, f"{path}:{node.lineno}: a relative import"
                whole = node.module or ""
                # `from gradcompat import x` is an import of `gradcompat.x`.
                targets = [f"{whole}.{name.name}" for name in node.names] if whole.startswith("gradcompat") else [whole]
            found += [Import(module, target, node.lineno, late) for target in targets]
    return tuple(found)


def test_every_part_has_a_layer() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert parts - RANK.keys() == set()


def test_arrows_point_down() -> None:
    wrong = [
        str(one)
        for one in imports()
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
    modules = {f"gradcompat.{one.module}".removesuffix(".__init__") for one in imports()}
    edges: dict[str, set[str]] = {}
    for one in imports():
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
    assert allowed("matching.matcher", "json")
    assert not allowed("knowledge.lint", "gradcompat.planner.advice")
    assert not allowed("matching.matcher", "gradcompat.sources.uv_lock")
    assert not allowed("model.issue", "gradcompat.matching.matcher")
    assert not allowed("messages", "gradcompat.matching.forks")


def test_late_imports_are_on_the_list() -> None:
    late = [one for one in imports() if one.late and one.part not in PIPELINE]
    assert [str(one) for one in late if not any(one.target.startswith(part) for part in LATE.get(one.module, ()))] == []


def test_the_kernel_is_pure() -> None:
    """No clock, no files, no environment variables where findings are decided."""
    effects = {"os", "pathlib", "time", "datetime", "random", "socket", "subprocess", "shutil", "io", "sys", "platform"}
    kernel = {"matching", "terms", "requirements", "truth", "model", "vocabulary", "recipes"}
    modules = [one for one in imports() if one.part in kernel or one.module == "planner.advice"]
    wrong = {(one.module, one.target) for one in modules if one.target.split(".")[0] in effects}
    assert wrong == {("terms.name_patterns", "sys")}  # it interns texts


def syntax(*parts: str) -> Iterator[tuple[str, ast.Module]]:
    """The modules of some parts, and what they say."""
    for path, tree in source_trees().items():
        module = module_name(path)
        if module.split(".")[0] in parts:
            yield module, tree


# What asks and tells somebody, and what runs once a day: the doors, and what they print with.
DOORS = {"__main__", "pytest_plugin", "cli", "api", "renderers", "guard"}
DOMAIN = tuple(sorted(RANK.keys() - DOORS))

# Who writes to a stream all the same.
WRITES = {
    "scanners.settings_reference",  # `python -m` of it writes a page of the documentation
}

# Who reads a clock all the same.
CLOCKS = {
    "files.abandoned_files",  # how long nobody has written to a temporary file
    "index.cache",  # how old an answer is
    "index.configuration",  # `--exclude-newer 7 days` counts from now, unless a time is passed in
    "files.observations",  # whether a file was changed shortly before
    "index.transport",  # how long a server may take, and when it wants to be asked again
    "probes.overlay_environments",  # the age of what a killed process has left half built
    "probes.runner",  # how long a probe may take
}
CLOCK = {
    *("date.today", "datetime.now", "datetime.today", "datetime.utcnow"),
    *("time.time", "time.time_ns", "time.monotonic", "time.perf_counter", "time.localtime", "time.gmtime"),
}


def streams_in(tree: ast.AST) -> set[str]:
    """What of a module prints: ``print`` and the standard streams."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr" as stream):
                found.add(f"sys.{stream}")
            case ast.Call(func=ast.Name(id="print")):
                found.add("print")
    return found


def clocks_in(tree: ast.AST) -> set[str]:
    """What of a module reads a clock."""
    named = (
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    return CLOCK.intersection(named)


def test_the_domain_prints_nothing() -> None:
    assert {module for module, tree in syntax(*DOMAIN) if streams_in(tree)} == WRITES


def test_the_domain_reads_no_clock() -> None:
    assert {module for module, tree in syntax(*DOMAIN) if clocks_in(tree)} == CLOCKS


def test_what_a_clock_or_a_lot_has_decided_is_not_kept() -> None:
    """Of what a check may load: the day alone is part of the key of a report."""
    lots = {one.module for one in imports() if one.target in ("random", "secrets", "uuid") and one.part != "guard"}
    clocks = {module for module, tree in syntax(*DOMAIN, "renderers") if clocks_in(tree)} - {"files.observations"}
    kept = {module for module in lots | clocks if f"gradcompat.{module}" not in OF_THE_MOMENT}
    assert kept == {"renderers.cyclonedx_vex"}  # its UUID is a digest


def test_printing_and_clocks_are_seen() -> None:
    seen = ast.parse("import sys\nsys.stderr.write('a')\nprint('b')\ndate.today()\ntime.time()\n")
    assert streams_in(seen) == {"sys.stderr", "print"}
    assert clocks_in(seen) == {"date.today", "time.time"}
    unseen = ast.parse("out.write('a')\nprint_note('b')\ntoday\nfound.time()\n")
    assert streams_in(unseen) == clocks_in(unseen) == set()


def test_the_domain_imports_no_renderer_and_no_command() -> None:
    doors = [
        str(one) for one in imports() if one.part in DOMAIN and one.of_ours in {"cli", "renderers", "pytest_plugin"}
    ]
    assert doors == []


MOST_LINES = 200


def test_commands_are_thin() -> None:
    lengths = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text("utf-8").splitlines())
        for path in sorted((PACKAGE / "cli").rglob("*.py"))
    }
    assert {path: length for path, length in lengths.items() if length > MOST_LINES} == {}


def test_a_command_is_one_function() -> None:
    """No second one behind it that takes the same parameters once more."""
    doubled = [
        f"{module}.{node.name}"
        for module, tree in syntax("cli")
        if module.startswith("cli.commands.")
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name.startswith("run")
    ]
    assert doubled == []


# Flags that stand for something else in each command that has them.
SEVERAL_MEANINGS = {
    "--all": "all records, all probes, all exclusions",
    "--device": "where `check --probe` trains, where `probe` trains",
    "--format": "each command has formats of its own",
    "--newest": "what `knowledge matrix` shows, what `knowledge measure` runs",
    "--output": "several formats and files, a folder of advisories, a snapshot, a folder of rows",
    "--python": "the environment that is read, the one to measure in, the base of all releases",
    "--with": "versions that `check` judges, versions that `measure` installs",
}


def options_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The flags of the options that a module declares, each with its values and its help."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        flag = node.args[0]
        if called not in ("Option", "repeatable") or not isinstance(flag, ast.Constant):
            continue
        said = {one.arg: ast.unparse(one.value) for one in node.keywords}
        yield str(flag.value), f"{said.get('metavar')} {said.get('help')}"


def declared_twice(modules: Iterable[tuple[str, ast.AST]]) -> list[str]:
    """The flags that are declared again: in another module with no other meaning, or with the same one."""
    places: dict[str, list[tuple[str, str]]] = {}
    for module, tree in modules:
        for flag, said in options_in(tree):
            places.setdefault(flag, []).append((module, said))
    return [
        f"{flag}: {', '.join(module for module, _ in found)}"
        for flag, found in sorted(places.items())
        if len(found) > 1 and (flag not in SEVERAL_MEANINGS or len({said for _, said in found}) < len(found))
    ]


def test_no_option_is_declared_twice() -> None:
    modules = list(syntax("cli"))
    assert sum(len(list(options_in(tree))) for _, tree in modules) > 50
    assert declared_twice(modules) == []


def test_an_option_that_is_declared_twice_is_seen() -> None:
    one = ast.parse("a = typer.Option('--seed', help='The seed.')\nb = typer.Option('--all', help='All.')")
    other = ast.parse("c = repeatable('--seed', help='A seed.')\nd = typer.Option('--all', help='Every one.')")
    assert declared_twice([("one", one), ("other", other)]) == ["--seed: one, other"]
    assert declared_twice([("one", one), ("again", one)]) == ["--all: one, again", "--seed: one, again"]


# What a module reads with `pathlib` is its own or the user's alone, and no file of a project.
READING = {"is_file", "is_dir", "exists", "read_bytes", "read_text"}
OWN_FILES = {
    "breaks.module_needs", "breaks.pairs", "index.public", "knowledge.load", "knowledge.matrix", "knowledge.measured",
    "probes.overlay_environments", "probes.matrix", "probes.runner", "renderers.html_report",
}  # fmt: skip


def test_files_of_a_project_are_asked_after_where_no_name_is_an_error() -> None:
    """`pathlib` raises for names that are too long and folders that may not be entered, and waits for pipes."""
    found = set()
    for path, tree in source_trees().items():
        module = module_name(path)
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="exists", value=ast.Attribute(attr="path"))):
                    pass  # os.path's
                case ast.Call(func=ast.Attribute(value=ast.Name(id="entry"))):
                    pass  # of a folder that was listed
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

REQUIREMENTS = """\
# exact, a range, extras, a build and a marker
torch==2.5.1+cu124
transformers[torch]>=4.46,<4.50
accelerate~=1.0 ; python_version >= "3.10" and implementation_name == "cpython"
flash-attn==2.7.0.post2
"""

CHECK = """\
import sys

from gradcompat.cli.main import main

sys.argv = ["gradcompat", "check", {file!r}, "--format", {form!r}]
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
@pytest.mark.parametrize(("file", "text"), [("uv.lock", LOCK), ("requirements.txt", REQUIREMENTS)])
def test_a_check_loads_nothing_heavy(tmp_path: Path, form: str, file: str, text: str) -> None:
    (tmp_path / file).write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(form=form, file=file, heavy=HEAVY)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr.split() in (["0"], ["1"]), done.stderr  # the exit status, and no module behind it
    assert "transformers" in done.stdout or file in done.stdout


@pytest.mark.e2e
def test_a_check_of_an_environment_loads_no_scanner_either(tmp_path: Path) -> None:
    installed = tmp_path / "env" / "lib" / "python3.11" / "site-packages" / "torch-2.5.1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.5.1\n", "utf-8")
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n", "utf-8")
    heavy = (*HEAVY, "gradcompat.audit.runs", "gradcompat.scanners")
    done = subprocess.run(
        [sys.executable, "-c", CHECK.format(form="text", file="env", heavy=heavy)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr.split() == ["0"], done.stderr
    assert done.stdout.startswith("env: 1 package")


@pytest.mark.e2e
def test_the_modules_that_are_looked_for_would_be_seen(tmp_path: Path) -> None:
    script = CHECK.format(form="text", file="uv.lock", heavy=HEAVY).replace(
        "import sys\n", "import sys, yaml, importlib.metadata\n", 1
    )
    (tmp_path / "uv.lock").write_text(LOCK, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert {"importlib.metadata", "yaml"} <= set(done.stderr.split())
