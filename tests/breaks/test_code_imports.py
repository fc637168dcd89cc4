"""What the project's code imports of a package, where the package alone can be imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import gradcompat
from gradcompat.breaks import code_imports, code_issues, module_needs, pairs
from gradcompat.curation import pair_compilation
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location
from gradcompat.model.issue import VersionRemedy
from gradcompat.model.report import Report, ReportedFinding
from gradcompat.releases import table as tables
from tests.releases.packages import table

ID = "import:client:server:code"
MAIN = 'if __name__ == "__main__":\n    run()\n'
LAZY = """
import sys
from .lazily import _LazyModule
_import_structure = {"trainer": ["Trainer"], "plain": ["Plain"]}
sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], _import_structure)
"""
CLIENT = {
    "client/__init__.py": LAZY,
    "client/lazily.py": "",
    "client/plain.py": "class Plain: ...\n",
    "client/trainer.py": "from server import Cache\nclass Trainer: ...\n",
    "client/tuners/__init__.py": "",
    "client/tuners/lora.py": "\nfrom server.store import Store\n",
    "client/tuners/guarded.py": "try:\n    from server import Cache\nexcept ImportError:\n    Cache = None\n",
}
SERVER = {"server/__init__.py": "class Cache: ...\nclass Run: ...\n", "server/store.py": "class Store: ...\n"}
# `outer` imports the trainer of `client`; `server` loses `Cache` in 3.0, and has a store from 2.0 on.
OUTER = {"outer/__init__.py": "from client import Trainer\n"}
RELEASES = {
    "client": {"1.0": CLIENT, "1.1": {**CLIENT, "client/trainer.py": "class Trainer: ...\n"}},
    "server": {
        "1.0": {"server/__init__.py": SERVER["server/__init__.py"]},
        "1.1": {"server/__init__.py": SERVER["server/__init__.py"]},
        "2.0": SERVER,
        "3.0": {**SERVER, "server/__init__.py": "class Run: ...\n"},
    },
    "outer": {"1.0": OUTER},
}


@pytest.fixture(autouse=True)
def small_tables(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("tables")
    made = {package: table(folder, releases, package) for package, releases in RELEASES.items()}
    package_of = {package: package for package in made}.get
    for module in (tables, code_imports, code_issues, pair_compilation):
        monkeypatch.setattr(module, "table_of", made.get)
        monkeypatch.setattr(module, "package_of", package_of)
    monkeypatch.setattr(pair_compilation, "tabled_packages", lambda: frozenset(made))
    for module, text in (
        (module_needs, pair_compilation.module_needs_text(pair_compilation.compiled_module_needs())),
        (pairs, pair_compilation.pairs_text(list(pair_compilation.compiled_pairs()))),
    ):
        file = folder / f"{module.__name__}.json"
        file.write_text(text)
        monkeypatch.setattr(module, "COMPILED", file)


def checked(folder: Path, pins: str, code: str) -> Report:
    (folder / "requirements.txt").write_text("\n".join(pins.split()) + "\n")
    (folder / "train.py").write_text(f"import torch\n{code}\n{MAIN}")
    return gradcompat.check(folder)


def breaks_in(report: Report) -> list[ReportedFinding]:
    return [one for one in report.findings if one.finding.issue.id.startswith("import:")]


def test_the_file_knows_what_modules_need() -> None:
    data = json.loads(module_needs.COMPILED.read_text())
    rows = sorted(data["needs"]["client"]["server"])
    assert rows == [["server", "Cache", "1", "8"], ["server.store", "Store", "3", "3"]]


@pytest.mark.parametrize(
    ("pins", "code", "missed"),
    [
        ("client==1.0 server==1.0", "import client.tuners.lora", "server.store.Store, which came with 2.0"),
        ("client==1.0 server==1.0", "from client.tuners import lora", "server.store.Store, which came with 2.0"),
        ("client==1.0 server==3.0", "from client import Trainer", "server.Cache, which 3.0 removed"),
        ("client==1.0 server==3.0", "import client\nclient.Trainer()", "server.Cache, which 3.0 removed"),
        ("outer==1.0 client==1.0 server==3.0", "import outer", "server.Cache, which 3.0 removed"),
    ],
)
def test_an_import_that_misses_something(tmp_path: Path, pins: str, code: str, missed: str) -> None:
    report = checked(tmp_path, pins, code)
    (found,) = breaks_in(report)
    assert report.exit_status == 1
    assert found.finding.issue.id == ID
    assert found.finding.issue.summary.startswith(
        "what the code imports from client 1.0 cannot be imported with server"
    )
    assert found.finding.issue.summary.endswith(f"it needs {missed}")
    assert found.finding.location is not None
    assert found.finding.location.path.endswith("train.py")


@pytest.mark.parametrize(
    ("pins", "code"),
    [
        ("client==1.0 server==2.0", "import client.tuners.lora"),  # it is there
        ("client==1.0 server==1.0", "import client"),  # nothing of it is executed
        ("client==1.0 server==3.0", "from client import Plain"),  # what is executed needs nothing
        ("client==1.0 server==3.0", "import client.tuners.guarded"),
        ("client==1.1 server==3.0", "from client import Trainer"),  # no longer needed
        ("client==1.0 server==4.0", "from client import Trainer"),  # nobody has read that release
        ("client==1.0 server", "from client import Trainer"),  # a resolver chooses
        ("client==1.0 server==3.0", "try:\n    from client import Trainer\nexcept ImportError:\n    pass"),
        ("client==1.0 server==3.0", "if is_client_available():\n    from client import Trainer"),
    ],
)
def test_what_does_not_certainly_fail_is_not_told(tmp_path: Path, pins: str, code: str) -> None:
    assert breaks_in(checked(tmp_path, pins, code)) == []


def test_an_import_behind_a_condition_could_fail(tmp_path: Path) -> None:
    report = checked(tmp_path, "client==1.0 server==3.0", "if args.train:\n    from client import Trainer")
    (found,) = breaks_in(report)
    assert found.finding.status == "conditional"
    assert report.exit_status == 0


def test_each_place_is_named_with_what_it_imports(tmp_path: Path) -> None:
    code = "from client import Trainer\nimport outer\nif args.x:\n    from client.trainer import Trainer as Other"
    (found,) = breaks_in(checked(tmp_path, "outer==1.0 client==1.0 server==3.0", code))
    (code_reason, reason) = found.finding.because
    assert f"the code imports client.Trainer in {tmp_path}/train.py:2" in code_reason.sentence
    assert f"the code imports client.trainer.Trainer in {tmp_path}/train.py:5" in code_reason.sentence
    assert reason.sentence == (
        "importing this from client 1.0 needs server.Cache (client/trainer.py:1), and server 3.0 has it not"
    )


def test_the_ways_out_are_releases_that_go_together(tmp_path: Path) -> None:
    (found,) = breaks_in(checked(tmp_path, "client==1.0 server==3.0", "from client import Trainer"))
    ways = [one for one in found.finding.issue.remedies if isinstance(one, VersionRemedy)]
    assert [(one.kind, one.package, str(one.versions)) for one in ways] == [
        ("upgrade", "client", ">1.0"),
        ("upgrade", "server", ">3.0"),
        ("downgrade", "client", "<1.0"),
        ("downgrade", "server", "<3.0"),
    ]


def test_an_upgrade_that_breaks_what_the_code_imports(tmp_path: Path) -> None:
    checked(tmp_path, "client==1.0 server==2.0", "from client import Trainer")
    report = gradcompat.check(tmp_path, versions={"server": "3.0"})
    assert [one.finding.issue.id for one in breaks_in(report)] == [ID]


def test_a_broken_file_is_one_line(tmp_path: Path) -> None:
    module_needs.COMPILED.write_text("[]")
    module_needs._content.cache_clear()
    with pytest.raises(gradcompat.errors.KnowledgeError, match="is of another format"):
        checked(tmp_path, "client==1.0 server==3.0", "from client import Trainer")
    module_needs._content.cache_clear()


@pytest.mark.parametrize(
    ("packages", "leading"),
    [
        ({"client"}, {"client", "outer", "unread"}),
        ({"server"}, {"server", "client", "outer", "unread"}),
        ({"outer"}, {"outer", "unread"}),
    ],
)
def test_only_packages_that_lead_to_what_misses_something_are_followed(packages: set[str], leading: set[str]) -> None:
    assert module_needs.leading_to(packages, {"client", "outer", "server", "unread"}) == leading


def test_of_several_imports_the_first_that_executes_a_module_leads_to_its_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []
    client = tables.table_of("client")
    assert client is not None
    symbols_in_turn = client.symbols_in_turn

    def counted(*given: Any) -> Any:
        asked.append(given[0])
        return symbols_in_turn(*given)

    monkeypatch.setattr(client, "symbols_in_turn", counted)
    modules = ("client.trainer", "client.tuners.lora", "client.trainer")
    uses = [
        CodeUse(kind="import", module=module, name=name, location=Location(path="train.py", line=line))
        for line, (module, name) in enumerate(zip(modules, ("Trainer", "Store", None), strict=True), 1)
    ]
    found = code_imports.imports_of(uses, {"client": Version("1.0"), "server": Version("2.0")})
    assert {symbol: use.location.line for symbol, use in found["server"].items()} == {
        ("server", "Cache"): 1,
        ("server.store", "Store"): 2,
    }
    assert asked == [Version("1.0")]


def test_the_imports_are_followed_once_for_all_releases_and_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    client = tables.table_of("client")
    assert client is not None
    asked: list[object] = []
    needs_by_release = client.needs_by_release

    def counted(*given: Any) -> Any:
        asked.append(given[0])
        return needs_by_release(*given)

    monkeypatch.setattr(client, "needs_by_release", counted)
    pairs_found = list(code_imports.pairs_of_code("client", ("server", "server"), [("client.trainer", None)]))
    assert [pair.provider for pair in pairs_found] == ["server", "server"]
    assert [[str(one.consumers) for one in pair.breaks] for pair in pairs_found] == [["==1.0"], ["==1.0"]]
    assert asked == [(("client.trainer", None),)]
