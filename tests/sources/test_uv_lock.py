"""uv.lock: forks, sources, lines, and what uv will write tomorrow."""

from __future__ import annotations

from typing import Any

import pytest

from gradcompat.errors import Malformed, SourceError, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.formats.toml_text import parse
from gradcompat.matching.forks import Forks
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import uv_lock
from gradcompat.sources.uv_lock import read
from tests.sources.locked import fixture

FORKED = """version = 1
revision = 3
requires-python = ">=3.11"
conflicts = [[{ package = "nanochat", extra = "cpu" }, { package = "nanochat", extra = "gpu" }]]

[[package]]
name = "torch"
version = "2.9.1"
source = { registry = "https://index.example/whl/cpu" }
resolution-markers = [
    "sys_platform == 'darwin' and extra == 'extra-8-nanochat-cpu' and extra != 'extra-8-nanochat-gpu'",
]
dependencies = [{ name = "numpy", version = "1.0" }]

[[package]]
name = "torch"
version = "2.9.1+cu128"
source = { registry = "https://index.example/whl/cu128" }
resolution-markers = [
    "sys_platform == 'linux' and extra == 'extra-8-nanochat-gpu'",
    "sys_platform == 'win32' and extra == 'extra-8-nanochat-gpu'",
]

[[package]]
name = "transformers"
version = "5.8.0.dev0"
source = { git = "https://github.com/huggingface/transformers.git?rev=0588858f#0588858f54c8" }

[[package]]
name = "trl"
version = "0.19.0"
source = { git = "https://github.com/huggingface/trl.git?tag=v0.19.0#deadbeef" }

[[package]]
name = "nanochat"
source = { virtual = "." }
"""


def document(text: str) -> Document:
    return Document("uv.lock", text)


def test_forks_sources_and_lines() -> None:
    environment = read(document(FORKED))
    assert environment.kind == "uv.lock"
    assert environment.closed
    assert (environment.python, environment.platform) == (None, None)
    assert environment.packages == (
        Package(
            name="torch",
            version="2.9.1",
            marker="sys_platform == 'darwin' and extra == 'extra-8-nanochat-cpu' and extra != 'extra-8-nanochat-gpu'",
            extras=("cpu",),
            location=Location(path="uv.lock", line=8, column=11),
        ),
        Package(
            name="torch",
            version="2.9.1+cu128",
            marker="(sys_platform == 'linux' and extra == 'extra-8-nanochat-gpu')"
            " or (sys_platform == 'win32' and extra == 'extra-8-nanochat-gpu')",
            extras=("gpu",),
            location=Location(path="uv.lock", line=17, column=11),
        ),
        Package(
            name="transformers",
            version="5.8.0.dev0",
            source="git",
            unreleased=True,
            location=Location(path="uv.lock", line=26, column=11),
        ),
        Package(name="trl", version="0.19.0", source="git", location=Location(path="uv.lock", line=31, column=11)),
        Package(name="nanochat", version=None, source="virtual", location=Location(path="uv.lock", line=35, column=8)),
    )


@pytest.mark.parametrize(
    ("head", "python", "platform"),
    [
        ('requires-python = "==3.11.*"', "3.11", None),
        ('requires-python = ">=3.11, <3.13"', None, None),
        ("supported-markers = [\"sys_platform == 'linux' and platform_machine == 'x86_64'\"]", None, "linux"),
        ("supported-markers = [\"sys_platform == 'linux'\", \"sys_platform == 'darwin'\"]", None, None),
        ("supported-markers = [\"sys_platform == 'linux' or sys_platform == 'win32'\"]", None, None),
        ("supported-markers = [\"sys_platform != 'win32'\"]", None, None),
        ("requires-python = 3\nsupported-markers = 1", None, None),
    ],
)
def test_what_the_lockfile_is_for(head: str, python: str | None, platform: str | None) -> None:
    environment = read(document(f"version = 1\n{head}\n"))
    assert (environment.python, environment.platform) == (python, platform)


def test_the_format_before_uv_0_4() -> None:
    text = (
        'version = 1\n[[distribution]]\nname = "torch"\nversion = "2.4.0"\nsource = "registry+https://index.example"\n'
    )
    assert [(one.name, one.version, one.location.line) for one in read(document(text)).packages] == [
        ("torch", "2.4.0", 4)
    ]


def test_a_header_inside_text_moves_no_line() -> None:
    text = (
        'version = 1\n[options]\nnote = """\n[[package]]\nname = "torch"\nversion = "9"\n"""\n'
        '[[package]]\nname = "numpy"\nversion = "2.0.0"\nsource = { registry = "x" }\n'
    )
    # The place of the first header is another name's, so none is claimed.
    assert read(document(text)).packages[0].location == Location(path="uv.lock")


ARCHIVES = """version = 1

[[package]]
name = "torch"
version = "2.9.1"
sdist = { url = "https://index.example/torch-2.9.1.tar.gz", hash = "sha256:8a", size = 10, upload-time = "2025-07-03" }
wheels = [
    { url = "https://index.example/torch-2.9.1-cp312-win_amd64.whl", hash = "sha256:1f", size = 0 },
    { path = "torch-2.9.1-cp313-win_amd64.whl" },
]

[[package]]
name = "numpy"
version = "2.0.0"
"""


def test_archives_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def parse_seen(text: str, path: str) -> dict[str, Any]:
        seen.append(text)
        return parse(text, path)

    monkeypatch.setattr(uv_lock, "parse", parse_seen)
    assert [one.location.line for one in read(document(ARCHIVES)).packages] == [5, 14]
    assert "index.example" not in seen[0]
    assert seen[0].count("\n") == ARCHIVES.count("\n")


@pytest.mark.parametrize("change", ["", "=", '"', "\\", "\n", "[", "]", "}", "0", "é", "\t"])
def test_damage_among_archives_is_told_as_it_is_elsewhere(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for position in range(len(ARCHIVES)):
        text = ARCHIVES[:position] + change + ARCHIVES[position + 1 :]
        with monkeypatch.context() as patched:
            patched.setattr(uv_lock, "_without_files", lambda text: text)
            whole = outcome(text)
        assert outcome(text) == whole, text


def outcome(text: str) -> object:
    try:
        return read(document(text))
    except SourceError as error:
        return str(error), error.line


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("version = 3\n", UnsupportedFormatVersion("lockfile version 3 is not supported", path="uv.lock")),
        ("version = true\n", Malformed("has no `version = 1` at its top as uv.lock does", path="uv.lock")),
        ("version = 1\npackage = 1\n", Malformed("`package` is not an array of tables", path="uv.lock")),
        (
            "version = 1\n[[package]\n",
            Malformed("not valid TOML: Expected ']]' at the end of an array declaration", path="uv.lock", line=2),
        ),
    ],
)
def test_what_it_is_not(text: str, error: SourceError) -> None:
    with pytest.raises(type(error)) as raised:
        read(document(text))
    assert (str(raised.value), raised.value.line) == (str(error), error.line)


def test_an_entry_that_is_none_is_a_gap_and_the_others_are_read() -> None:
    text = (
        'version = 1\n[[package]]\nname = "a"\nversion = 1\n[[package]]\nname = "torch"\nversion = "2.5.1"\n'
        '[[package]]\nversion = "1"\n[[package]]\nname = "b"\nversion = "' + "9" * 5000 + '"\n'
    )
    environment = read(document(text))
    assert [one.name for one in environment.packages] == ["torch"]
    assert [(one.what, one.reason, one.gap) for one in environment.skipped] == [
        ("a", "its version is invalid", True),
        ("an entry", "has no valid package name", True),
        ("b", "its version is invalid", True),
    ]


EXTRAS = """version = 1
conflicts = [[{ package = "app", extra = "cpu" }, { package = "app", extra = "cuda" }]]

[[package]]
name = "app"
source = { editable = "." }
dependencies = [{ name = "torch", version = "2.7.1", marker = "sys_platform == 'darwin'" }]

[package.optional-dependencies]
cpu = [{ name = "torch", version = "2.7.1" }]
cuda = [{ name = "torch", version = "2.9.0+cu128", marker = "sys_platform == 'linux'" }]
other = [{ name = "numpy", version = "1.26.4", marker = "python_version < '3.12'" }]

[[package]]
name = "torch"
version = "2.7.1"
source = { registry = "x" }
dependencies = [{ name = "numpy", version = "1.26.4" }]

[[package]]
name = "torch"
version = "2.9.0+cu128"
source = { registry = "x" }
dependencies = [{ name = "numpy", version = "2.3.0" }]

[[package]]
name = "numpy"
version = "1.26.4"
source = { registry = "x" }

[[package]]
name = "numpy"
version = "2.3.0"
source = { registry = "x" }
"""


def test_the_edges_that_lead_to_an_alternative() -> None:
    environment = read(document(EXTRAS))
    assert environment.conflicts == (frozenset({"extra-3-app-cpu", "extra-3-app-cuda"}),)
    assert [(one.name, one.version, one.extras, one.reached) for one in environment.packages[1:]] == [
        ("torch", "2.7.1", (), ("sys_platform == 'darwin'", "extra == 'extra-3-app-cpu'")),
        ("torch", "2.9.0+cu128", ("cuda",), ("(sys_platform == 'linux') and extra == 'extra-3-app-cuda'",)),
        ("numpy", "1.26.4", (), ()),  # torch depends on it without a condition
        ("numpy", "2.3.0", ("cuda",), ("extra == 'extra-3-app-cuda'",)),  # only torch of that extra does
    ]


def entries(environment: Environment) -> dict[tuple[str, str | None], Package]:
    return {(one.name, one.version): one for one in environment.packages}


def test_what_groups_that_conflict_lead_to_is_never_installed_together() -> None:
    environment = read(fixture("uv/groups-that-conflict.lock"))  # written by uv; its index is renamed
    found = entries(environment)
    together = Forks(environment.conflicts).together
    cuda, rocm = ("2.10.0", "0.25.0", "3.6.0"), ("2.9.1", "0.24.1", "3.5.1")
    for mine, others in ((cuda, rocm), (rocm, cuda)):
        torch = found["torch", mine[0]]
        assert together(torch, found["torchvision", mine[1]])
        assert together(torch, found["triton", mine[2]])
        assert not together(torch, found["torchvision", others[1]])
        assert not together(torch, found["triton", others[2]])
        assert all(together(torch, one) for one in environment.packages if one.name == "filelock")


CHAIN = """\
version = 1
conflicts = [[{ package = "demo", extra = "cuda" }, { package = "demo", group = "rocm" }]]

[[package]]
name = "demo"
source = { virtual = "." }
dependencies = [{ name = "numpy" }]
optional-dependencies = { cuda = [{ name = "vllm" }], docs = [{ name = "sphinx" }] }
dev-dependencies = { rocm = [{ name = "torch", version = "2.9.1" }, { name = "aiter" }] }

[[package]]
name = "vllm"
version = "0.15.0"
dependencies = [{ name = "torch", version = "2.10.0" }, { name = "numpy" }]

[[package]]
name = "aiter"
version = "0.1.0"

[[package]]
name = "torch"
version = "2.9.1"

[[package]]
name = "torch"
version = "2.10.0"

[[package]]
name = "numpy"
version = "2.1.0"

[[package]]
name = "sphinx"
version = "8.0.0"
"""


def test_a_choice_is_followed_along_the_edges() -> None:
    environment = read(Document("uv.lock", CHAIN))
    assert {key: one.reached for key, one in entries(environment).items() if one.reached} == {
        ("vllm", "0.15.0"): ("extra == 'extra-4-demo-cuda'",),
        ("aiter", "0.1.0"): ("extra == 'group-4-demo-rocm'",),
        ("torch", "2.9.1"): ("extra == 'group-4-demo-rocm'",),
        ("torch", "2.10.0"): ("extra == 'extra-4-demo-cuda'",),
    }
    found = entries(environment)
    together = Forks(environment.conflicts).together
    assert not together(found["vllm", "0.15.0"], found["torch", "2.9.1"])
    assert not together(found["vllm", "0.15.0"], found["aiter", "0.1.0"])
    assert together(found["vllm", "0.15.0"], found["numpy", "2.1.0"])


SOURCES = """\
version = 1
conflicts = [[{ package = "demo", group = "attention" }, { package = "demo", group = "rocm" }]]

[[package]]
name = "demo"
source = { virtual = "." }

[package.dev-dependencies]
attention = [{ name = "flash-attn", version = "2.8.3", source = { registry = "https://index.example/simple" } }]
rocm = [{ name = "flash-attn", version = "2.8.3", source = { registry = "https://rocm.example/" } }]

[[package]]
name = "flash-attn"
version = "2.8.3"
source = { registry = "https://index.example/simple" }
dependencies = [{ name = "torch", version = "2.10.0", source = { registry = "https://index.example/simple" } }]

[[package]]
name = "flash-attn"
version = "2.8.3"
source = { registry = "https://rocm.example/" }
dependencies = [{ name = "torch", version = "2.9.1", source = { registry = "https://rocm.example/" } }]

[[package]]
name = "torch"
version = "2.9.1"
source = { registry = "https://rocm.example/" }

[[package]]
name = "torch"
version = "2.10.0"
source = { registry = "https://index.example/simple" }
"""


def test_one_version_of_two_indexes_is_two_entries() -> None:
    packages = read(Document("uv.lock", SOURCES)).packages
    assert [(one.name, one.version, one.reached) for one in packages[1:]] == [
        ("flash-attn", "2.8.3", ("extra == 'group-4-demo-attention'",)),
        ("flash-attn", "2.8.3", ("extra == 'group-4-demo-rocm'",)),
        ("torch", "2.9.1", ("extra == 'group-4-demo-rocm'",)),
        ("torch", "2.10.0", ("extra == 'group-4-demo-attention'",)),
    ]


def test_an_edge_that_names_no_source_leads_to_both_entries() -> None:
    text = SOURCES.replace(', source = { registry = "https://rocm.example/" } }]', " }]")
    packages = read(Document("uv.lock", text)).packages
    assert [one.reached for one in packages[1:3]] == [(), ()]


def test_what_anybody_asks_for_by_its_extra_is_there_without_a_choice() -> None:
    numpy, itself = '[{ name = "numpy" }]\noptional', '[{ name = "demo", extra = ["cuda"] }]\noptional'
    text = CHAIN.replace(numpy, itself)
    found = entries(read(Document("uv.lock", text)))
    assert found["vllm", "0.15.0"].reached == ()
    assert found["torch", "2.10.0"].reached == ()


def test_projects_that_conflict() -> None:
    text = """\
version = 1
conflicts = [[{ package = "a" }, { package = "b" }]]

[manifest]
members = ["a", "b", "c"]

[[package]]
name = "a"
source = { editable = "a" }
dependencies = [{ name = "torch", version = "2.9.1" }]

[[package]]
name = "b"
source = { editable = "b" }
dependencies = [{ name = "torch", version = "2.10.0" }, { name = "c" }]

[[package]]
name = "c"
source = { editable = "c" }
dependencies = [{ name = "numpy" }]

[[package]]
name = "torch"
version = "2.9.1"

[[package]]
name = "torch"
version = "2.10.0"

[[package]]
name = "numpy"
version = "2.1.0"
"""
    found = entries(read(Document("uv.lock", text)))
    assert {key: one.reached for key, one in found.items() if key[0] in ("torch", "numpy")} == {
        ("torch", "2.9.1"): ("extra == 'project-1-a'",),
        ("torch", "2.10.0"): ("extra == 'project-1-b'",),
        ("numpy", "2.1.0"): (),
    }
