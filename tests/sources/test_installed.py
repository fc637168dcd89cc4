from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from gradcompat.errors import NotFound, SourceError
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources import interpreter
from gradcompat.sources.installed import active, is_environment, read_folder, read_interpreter, read_running

posix = pytest.mark.skipif(os.name != "posix", reason="the layout and the programs of posix")


def distribution(site: Path, name: str, version: str, *, origin: Mapping[str, object] | None = None) -> Path:
    """What pip leaves of a wheel, as far as it is read."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: x\n\nVersion: 9\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    return folder


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment of Python 3.11, without an interpreter."""
    path = tmp_path / ".venv"
    (path / "bin").mkdir(parents=True)
    (path / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (path / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n")
    return path


def site_of(venv: Path) -> Path:
    return venv / "lib" / "python3.11" / "site-packages"


def pins(environment: Environment) -> list[tuple[str, str | None, str]]:
    return [(package.name, package.version, package.source) for package in environment.packages]


def notes(environment: Environment) -> list[tuple[str, str, bool]]:
    return [(skipped.what, skipped.reason, skipped.gap) for skipped in environment.skipped]


# Folders


@posix
def test_virtual_environment(venv: Path) -> None:
    distribution(site_of(venv), "torch", "2.5.1+cu124")
    place = ".venv/lib/python3.11/site-packages/torch-2.5.1+cu124.dist-info/METADATA"
    assert read_folder(venv, ".venv") == Environment(
        source=".venv",
        kind="installed",
        packages=(Package(name="torch", version="2.5.1+cu124", location=Location(path=place, line=3, column=10)),),
        closed=True,
        python="3.11.7",
        platform=sys.platform,
    )


def test_origins_of_packages(venv: Path) -> None:
    site = site_of(venv)
    git = {"vcs": "git", "commit_id": "0" * 40}
    distribution(site, "a", "1.0", origin={"url": "https://host/a", "vcs_info": {**git, "requested_revision": "v1.0"}})
    distribution(site, "b", "1.0", origin={"url": "https://host/b", "vcs_info": {**git, "requested_revision": "main"}})
    distribution(site, "c", "1.0", origin={"url": "https://host/c", "vcs_info": git})
    distribution(site, "d", "1.0", origin={"url": "file:///d", "dir_info": {"editable": True}})
    distribution(site, "e", "1.0", origin={"url": "file:///e", "dir_info": {}})
    distribution(site, "f", "1.0", origin={"url": "https://host/f.whl", "archive_info": {}})
    distribution(site, "g", "1.0", origin={"url": "file:///g.whl", "archive_info": {}})
    distribution(site, "h", "1.0")
    (site / "__editable__.h-1.0.pth").write_text("import __editable___h_finder\n")
    environment = read_folder(venv, ".venv")
    assert [(package.name, package.source, package.unreleased) for package in environment.packages] == [
        ("a", "git", False),
        ("b", "git", True),
        ("c", "git", True),
        ("d", "editable", False),
        ("e", "directory", False),
        ("f", "url", False),
        ("g", "path", False),
        ("h", "editable", False),
    ]
    assert environment.skipped == ()


@pytest.mark.parametrize("text", ["", "[", "[1]", "{}", '{"url": 1}', "[" * 100_000, '{"url": 1' + "0" * 5000])
def test_broken_direct_url(venv: Path, text: str) -> None:
    folder = distribution(site_of(venv), "torch", "2.5.1")
    (folder / "direct_url.json").write_text(text)
    environment = read_folder(venv, "v")
    assert pins(environment) == [("torch", "2.5.1", "registry")]
    [skipped] = environment.skipped
    assert skipped.gap
    assert skipped.reason.startswith("where it came from cannot be read: direct_url.json ")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "has no METADATA"),
        (b"", "METADATA is empty"),
        (b"\x00\x01\x02" * 1000, "METADATA names no name"),
        ("Name: torch\nVersion: 2.5.1\n".encode("utf-16"), "METADATA names no name"),
        (b"Name: torch\n\nVersion: 2.5.1\n", "METADATA names no version"),
        (b"Name: torch\nVersion: 2.5.1\xff\n", "the version in METADATA is not UTF-8 text"),
        (b"Name: t\xf6rch\nVersion: 2.5.1\n", "the name in METADATA is not UTF-8 text"),
        (b"Name: ../torch\nVersion: 2.5.1\n", "the name in METADATA is not a package name"),
        (b"Name: torch\nVersion: None\n", "the version in METADATA is not a version"),
        (b"Summary: " + b"x" * 2_000_000 + b"\nName: torch\nVersion: 2.5.1\n", "METADATA names no name"),
    ],
)
def test_broken_metadata(venv: Path, content: bytes | None, reason: str) -> None:
    distribution(site_of(venv), "accelerate", "1.0")
    folder = site_of(venv) / "torch-2.5.1.dist-info"
    folder.mkdir()
    if content is not None:
        (folder / "METADATA").write_bytes(content)
    environment = read_folder(venv, "v")
    assert pins(environment) == [("accelerate", "1.0", "registry"), ("torch", "2.5.1", "registry")]
    assert notes(environment) == [
        ("torch-2.5.1.dist-info", f"{reason}: torch 2.5.1 is read from the folder's name", True)
    ]
    assert environment.packages[1].location == Location(path="v/lib/python3.11/site-packages/torch-2.5.1.dist-info")


@posix
def test_metadata_that_is_no_file(venv: Path) -> None:
    site = site_of(venv)
    for name in ("a", "b", "c", "d"):
        (site / f"{name}-1.0.dist-info").mkdir()
    (site / "a-1.0.dist-info" / "METADATA").mkdir()
    (site / "b-1.0.dist-info" / "METADATA").symlink_to("METADATA")
    os.mkfifo(site / "c-1.0.dist-info" / "METADATA")
    (site / "d-1.0.dist-info" / "METADATA").symlink_to("/dev/zero")
    (site / "nothing.dist-info").symlink_to("missing")
    environment = read_folder(venv, "v")
    assert [package.name for package in environment.packages] == ["a", "b", "c", "d"]
    reasons = {what: reason.partition(": a 1")[0] for what, reason, _ in notes(environment)}
    assert reasons == {
        "a-1.0.dist-info": "METADATA cannot be read: Is a directory",
        "b-1.0.dist-info": "METADATA cannot be read: Too many levels of symbolic links: b 1.0 is read from the "
        "folder's name",
        "c-1.0.dist-info": "METADATA is empty: c 1.0 is read from the folder's name",
        "d-1.0.dist-info": "METADATA names no name: d 1.0 is read from the folder's name",
        "nothing.dist-info": "has no METADATA",
    }
    assert all(skipped.gap for skipped in environment.skipped)


def test_long_headers_and_no_final_newline(venv: Path) -> None:
    folder = distribution(site_of(venv), "torch", "2.5.1")
    classifiers = "Classifier: x\n" * 5000
    (folder / "METADATA").write_bytes(f"{classifiers}Name: torch\r\nVersion: 2.5.1".encode())
    environment = read_folder(venv, "v")
    assert pins(environment) == [("torch", "2.5.1", "registry")]
    assert environment.packages[0].location.line == 5002
    assert environment.skipped == ()


def test_metadata_that_contradicts_its_folder(venv: Path) -> None:
    site = site_of(venv)
    distribution(site, "torch", "2.5.1").rename(site / "numpy-2.5.1.dist-info")
    distribution(site, "accelerate", "1.0").rename(site / "accelerate-1.1.dist-info")
    distribution(site, "peft", "1.0").rename(site / "peft-1.dist-info")
    environment = read_folder(venv, "v")
    assert pins(environment) == [
        ("accelerate", "1.0", "registry"),
        ("torch", "2.5.1", "registry"),
        ("peft", "1.0", "registry"),
    ]
    assert notes(environment) == [
        ("accelerate-1.1.dist-info", "its metadata says that it is version 1.0", True),
        ("numpy-2.5.1.dist-info", "its metadata calls it torch", True),
    ]


def test_two_versions_in_one_folder_are_both_read(venv: Path) -> None:
    distribution(site_of(venv), "torch", "2.5.1")
    distribution(site_of(venv), "torch", "2.6.0")
    (site_of(venv) / "torch-2.4.0.dist-info").mkdir()
    environment = read_folder(venv, "v")
    assert pins(environment) == [("torch", "2.5.1", "registry"), ("torch", "2.6.0", "registry")]
    assert notes(environment) == [
        ("torch-2.4.0.dist-info", "has no METADATA: torch 2.4.0 is read from the folder's name", True),
        ("torch", "is installed twice in one folder: 2.5.1 and 2.6.0", True),
    ]


def test_eggs_and_links_to_checkouts(venv: Path, tmp_path: Path) -> None:
    site = site_of(venv)
    (site / "six-1.16.0.egg-info").write_text("Metadata-Version: 1.1\nName: six\nVersion: 1.16.0\n")
    (site / "apex-0.1-py3.11.egg" / "EGG-INFO").mkdir(parents=True)
    (site / "apex-0.1-py3.11.egg" / "EGG-INFO" / "PKG-INFO").write_text("Name: apex\nVersion: 0.1\n")
    (site / "deep_ep-1.2.1-py3.11.egg").write_bytes(b"PK\x03\x04")
    checkout = tmp_path / "checkout"
    (checkout / "My_Model.egg-info").mkdir(parents=True)
    (checkout / "My_Model.egg-info" / "PKG-INFO").write_text("Name: my-model\nVersion: 0.3\n")
    (site / "my-model.egg-link").write_text(f"{checkout}\n.")
    (site / "gone.egg-link").write_text(f"{tmp_path}/gone\n.")
    (site / "~orch-2.4.0.dist-info").mkdir()
    environment = read_folder(venv, "v")
    assert pins(environment) == [
        ("apex", "0.1", "registry"),
        ("deep-ep", "1.2.1", "registry"),
        ("gone", None, "editable"),
        ("my-model", "0.3", "editable"),
        ("six", "1.16.0", "registry"),
    ]
    assert notes(environment) == [
        ("gone", "the checkout that it links to cannot be read: No such file or directory", True),
        ("~orch-2.4.0.dist-info", "is left over from an interrupted installation", False),
    ]


def test_pth_files_add_folders_that_are_hidden_by_earlier_ones(venv: Path, tmp_path: Path) -> None:
    distribution(site_of(venv), "torch", "2.5.1")
    shared = tmp_path / "shared"
    distribution(shared, "torch", "2.0.0")
    distribution(shared, "accelerate", "1.0")
    canary = tmp_path / "canary"
    (site_of(venv) / "shared.pth").write_text(f"# {tmp_path}\nimport os; open({str(canary)!r}, 'w')\n{shared}\n/gone\n")
    environment = read_folder(venv, "v")
    assert pins(environment) == [("torch", "2.5.1", "registry"), ("accelerate", "1.0", "registry")]
    assert environment.skipped == ()
    assert not canary.exists()


def test_pth_files_that_name_one_another_come_to_an_end(venv: Path, tmp_path: Path) -> None:
    folders = [tmp_path / f"f{number}" for number in range(400)]
    for folder, following in zip(folders, [*folders[1:], folders[0]], strict=True):
        folder.mkdir()
        (folder / "next.pth").write_text(f"{following}\n{folder}\n")
    (site_of(venv) / "next.pth").write_text(f"{folders[0]}\n")
    [skipped] = read_folder(venv, "v").skipped
    assert skipped.reason == "more than 256 folders are on the search path"


@posix
def test_lib64_that_is_lib_counts_once_and_other_pythons_not_at_all(venv: Path) -> None:
    distribution(site_of(venv), "torch", "2.5.1")
    (venv / "lib64").symlink_to("lib")
    distribution(venv / "lib" / "python3.9" / "site-packages", "torch", "1.13.1")
    environment = read_folder(venv, "v")
    assert pins(environment) == [("torch", "2.5.1", "registry")]
    assert set(notes(environment)) == {
        ("v/lib/python3.9/site-packages", "belongs to Python 3.9; the environment is of Python 3.11", False),
        ("v/lib64/python3.9/site-packages", "belongs to Python 3.9; the environment is of Python 3.11", False),
    }


def test_pythons_that_share_a_prefix_are_forks(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    distribution(tmp_path / "lib" / "python3.10" / "site-packages", "torch", "2.4.0")
    distribution(tmp_path / "lib" / "python3.12" / "site-packages", "torch", "2.5.1")
    environment = read_folder(tmp_path, "/usr/local")
    assert [(package.version, package.forks) for package in environment.packages] == [
        ("2.4.0", ("python3.10",)),
        ("2.5.1", ("python3.12",)),
    ]
    assert environment.python is None


def test_environment_whose_python_was_replaced(venv: Path) -> None:
    distribution(site_of(venv), "torch", "2.5.1")
    (venv / "pyvenv.cfg").write_text("version_info = 3.12.1.final.0\n")
    assert notes(read_folder(venv, "v")) == [
        ("v/pyvenv.cfg", "says that this is Python 3.12, and the packages are those of Python 3.11", True)
    ]


def test_windows_layout(tmp_path: Path) -> None:
    (tmp_path / "Scripts").mkdir()
    (tmp_path / "pyvenv.cfg").write_bytes(b"home = C:\\Python312\r\nversion = 3.12.4\r\n")
    distribution(tmp_path / "Lib" / "site-packages", "torch", "2.5.1")
    environment = read_folder(tmp_path, "env")
    assert pins(environment) == [("torch", "2.5.1", "registry")]
    assert (environment.python, environment.platform) == ("3.12.4", "win32")


def test_packages_of_the_base_python(venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    base = tmp_path / "base"
    (base / "bin").mkdir(parents=True)
    distribution(site_of(venv), "torch", "2.5.1")
    distribution(base / "lib" / "python3.11" / "site-packages", "torch", "2.0.0")
    distribution(base / "lib" / "python3.11" / "site-packages", "numpy", "2.0.0")
    distribution(tmp_path / "home" / ".local" / "lib" / "python3.11" / "site-packages", "numpy", "1.26.4")
    config = "home = {}\ninclude-system-site-packages = true\nversion = 3.11.7\n"
    (venv / "pyvenv.cfg").write_text(config.format(base / "bin"))
    assert pins(read_folder(venv, "v")) == [("torch", "2.5.1", "registry"), ("numpy", "1.26.4", "registry")]
    (venv / "pyvenv.cfg").write_text(config.format(tmp_path / "gone" / "bin"))
    reason = "includes the packages of the base Python, which were not found"
    assert notes(read_folder(venv, "v")) == [("include-system-site-packages of v", reason, True)]


def test_bare_site_packages(tmp_path: Path) -> None:
    distribution(tmp_path / "python3.12" / "site-packages", "torch", "2.5.1")
    distribution(tmp_path / "target", "torch", "2.5.1")
    assert read_folder(tmp_path / "python3.12" / "site-packages", "x").python == "3.12"
    assert pins(read_folder(tmp_path / "target", "target")) == [("torch", "2.5.1", "registry")]
    assert is_environment(tmp_path / "target")


def test_empty_environment_is_no_clean_one(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    assert notes(read_folder(tmp_path, "v")) == [("v", "has no site-packages folder", True)]


def test_other_folders_are_no_environments(tmp_path: Path) -> None:
    (tmp_path / "my_model.egg-info").mkdir()
    assert not is_environment(tmp_path)
    assert not is_environment(tmp_path / "missing")
    with pytest.raises(SourceError) as other:
        read_folder(tmp_path, "project")
    assert str(other.value) == ("`project`: is not an environment: it has no pyvenv.cfg, no conda-meta and no packages")
    with pytest.raises(NotFound, match="there is no such folder"):
        read_folder(tmp_path / "missing", "missing")


@posix
def test_names_that_cannot_be_printed(venv: Path) -> None:
    (site_of(venv) / os.fsdecode(b"a\xff\x1b[31m-1.0.dist-info")).mkdir()
    [skipped] = read_folder(venv, "v").skipped
    assert skipped.what == "a\\xff\\x1b[31m-1.0.dist-info"


# conda


def conda_record(prefix: Path, name: str, version: str, files: list[str] | None, **more: str) -> None:
    (prefix / "conda-meta").mkdir(parents=True, exist_ok=True)
    record = {"name": name, "version": version, "build": "0", **more} | ({} if files is None else {"files": files})
    (prefix / "conda-meta" / f"{name}-{version}-0.json").write_text(json.dumps(record, indent=2))


def test_conda_prefix_reports_each_package_once(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    inside = "lib/python3.11/site-packages/{}.dist-info/METADATA"
    conda_record(tmp_path, "python", "3.11.9", ["bin/python"], subdir="linux-64")
    conda_record(tmp_path, "pytorch", "2.5.1", [inside.format("torch-2.5.1")])
    conda_record(tmp_path, "pytorch-cuda", "12.4", [])
    conda_record(tmp_path, "numpy", "1.26.4", [inside.format("numpy-1.26.4")])
    conda_record(tmp_path, "scipy", "1.13.0", None)
    distribution(site, "torch", "2.5.1")
    distribution(site, "numpy", "2.1.0")  # pip replaced conda's
    distribution(site, "scipy", "1.13.0")
    distribution(site, "transformers", "4.49.0")
    environment = read_folder(tmp_path, "env")
    assert pins(environment) == [
        ("numpy", "2.1.0", "registry"),
        ("scipy", "1.13.0", "conda"),
        ("torch", "2.5.1", "conda"),
        ("transformers", "4.49.0", "registry"),
        ("python", "3.11.9", "conda"),
        ("pytorch-cuda", "12.4", "conda"),
    ]
    assert environment.packages[-1].location == Location(path="env/conda-meta/pytorch-cuda-12.4-0.json")
    assert notes(environment) == [("numpy", "conda installed 1.26.4, and it was replaced or removed since", False)]
    assert (environment.python, environment.platform) == ("3.11.9", "linux")


def test_conda_records_without_files_go_by_their_names(tmp_path: Path) -> None:
    conda_record(tmp_path, "pytorch", "2.5.1", None)
    distribution(tmp_path / "lib" / "python3.11" / "site-packages", "torch", "2.5.1")
    assert pins(read_folder(tmp_path, "env")) == [("torch", "2.5.1", "conda")]


def test_broken_conda_records(tmp_path: Path) -> None:
    conda_record(tmp_path, "pytorch", "2.5.1", [])
    (tmp_path / "conda-meta" / "renamed.json").write_text('{"name": "numpy", "version": "2.0"}')
    (tmp_path / "conda-meta" / "broken-1.0-0.json").write_text("{")
    (tmp_path / "conda-meta" / "empty-1.0-0.json").touch()
    (tmp_path / "conda-meta" / "folder-1.0-0.json").mkdir()
    (tmp_path / "conda-meta" / "deep-1.0-0.json").write_text("[" * 100_000)
    environment = read_folder(tmp_path, "env")
    assert pins(environment) == [("pytorch", "2.5.1", "conda"), ("numpy", "2.0", "conda")]
    assert notes(environment) == [
        ("broken-1.0-0.json", "is not a record of conda", True),
        ("deep-1.0-0.json", "is not a record of conda", True),
        ("empty-1.0-0.json", "is not a record of conda", True),
        ("folder-1.0-0.json", "cannot be read: Is a directory", True),
    ]


# Interpreters


@posix
def test_nothing_of_an_environment_is_run(venv: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    code = f"open({str(canary)!r}, 'w').close()\n"
    site = site_of(venv)
    folder = distribution(site, "torch", "2.5.1")
    (folder / "entry_points.txt").write_text("[console_scripts]\npython = torch:main\n")
    for name in ("sitecustomize.py", "usercustomize.py", "setup.py", "torch.py", "json.py"):
        (site / name).write_text(code)
        (venv / name).write_text(code)
    (site / "evil.pth").write_text(f"import os; {code}")
    for name in ("python", "python3", "pip"):
        fake = venv / "bin" / name
        fake.write_text(f"#!/bin/sh\ntouch {canary}\n")
        fake.chmod(0o755)
    assert pins(read_folder(venv, "v")) == [("torch", "2.5.1", "registry")]
    assert pins(read_interpreter(str(venv), "v")) == [("torch", "2.5.1", "registry")]
    assert pins(active({"VIRTUAL_ENV": str(venv)}, tmp_path)) == [("torch", "2.5.1", "registry")]
    with pytest.raises(SourceError, match="is not a Python interpreter but a script"):
        read_interpreter(str(venv / "bin" / "python"), "v")
    assert not canary.exists()


@pytest.fixture(scope="module")
def real_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    return path


@posix
def test_interpreter_of_a_virtual_environment(real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [site] = real_venv.glob("lib/python*/site-packages")
    if not list(site.glob("*.dist-info")):
        distribution(site, "torch", "2.5.1")
    canary = tmp_path / "canary"
    for name in ("sitecustomize.py", "usercustomize.py", "evil.pth"):
        (site / name).write_text(f"import os; open({str(canary)!r}, 'w').close()\n")
    (tmp_path / "json.py").write_text(f"open({str(canary)!r}, 'w').close()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    monkeypatch.chdir(tmp_path)
    executable = str(real_venv / "bin" / "python")
    environment = read_interpreter(executable, executable)
    assert environment.packages == (
        Package(
            name="torch",
            version="2.5.1",
            location=Location(path=f"{site}/torch-2.5.1.dist-info/METADATA", line=3, column=10),
        ),
    )
    assert environment.python == ".".join(map(str, sys.version_info[:3])) + ("" if _final() else _suffix())
    assert (environment.platform, environment.kind, environment.closed) == (sys.platform, "installed", True)
    assert environment.virtual == read_running().virtual
    assert not canary.exists()


def _final() -> bool:
    return sys.version_info.releaselevel == "final"


def _suffix() -> str:
    return f"{ {'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}[sys.version_info.releaselevel] }{sys.version_info.serial}"


def not_python(tmp_path: Path, name: str, program: str) -> str:
    """A native program that pretends to be Python."""
    found = next(Path(folder, program) for folder in ("/bin", "/usr/bin") if Path(folder, program).exists())
    path = tmp_path / name
    path.write_bytes(found.resolve().read_bytes())
    path.chmod(0o755)
    return str(path)


@posix
@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("false", "is not a usable Python: it ended with status 1 and did not report its version"),
        ("echo", "is not a usable Python: it ended with status 0 and did not report its version"),
    ],
)
def test_programs_that_are_no_python(tmp_path: Path, program: str, message: str) -> None:
    executable = not_python(tmp_path, "python3", program)
    with pytest.raises(SourceError) as error:
        read_interpreter(executable, executable)
    assert (error.value.message, error.value.hint) == (message, "Python 3.8 and later can be read")


@posix
def test_program_that_never_answers(real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text("while True:\n    print('x' * 10_000)\n")
    monkeypatch.setattr(interpreter, "_SCRIPT", endless)
    monkeypatch.setattr(interpreter, "TIME_LIMIT", 0.2)
    with pytest.raises(SourceError, match="did not report its version within 0 seconds"):
        read_interpreter(str(real_venv / "bin" / "python"), "python")


@posix
def test_programs_that_are_not_started(tmp_path: Path) -> None:
    script = tmp_path / "python3"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    plain = tmp_path / "python-notes.txt"
    plain.write_text("not a program")
    other = not_python(tmp_path, "interpreter", "echo")
    forbidden = not_python(tmp_path, "python3.11", "echo")
    Path(forbidden).chmod(0o644)
    cases = {
        str(script): "is not a Python interpreter but a script or a text, and is not started",
        str(plain): "is not a Python interpreter but a script or a text, and is not started",
        other: "is not named like a Python interpreter, and is not started",
        forbidden: "may not be executed",
        str(tmp_path / "missing"): "there is no such file or folder",
        "python-that-nobody-has": "there is no such program on the PATH",
        "python\0": "cannot be read: the path holds a NUL",
    }
    for executable, message in cases.items():
        with pytest.raises(SourceError) as error:
            read_interpreter(f"./{executable}" if "\0" in executable else executable, "x")
        assert error.value.message == message


@posix
def test_shim_of_pyenv_is_looked_through(real_venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "pyenv"
    canary = tmp_path / "canary"
    (root / "shims").mkdir(parents=True)
    (root / "versions").mkdir()
    (root / "versions" / "3.99.1").symlink_to(real_venv)
    shim = root / "shims" / "python"
    shim.write_text(f'#!/usr/bin/env bash\ntouch {canary}\nexport PYENV_ROOT="{root}"\n')
    shim.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYENV_VERSION", raising=False)
    with pytest.raises(SourceError, match="is a shim of pyenv, and the Python behind it could not be determined"):
        read_interpreter(str(shim), "python")
    (root / "version").write_text("system\n3.99.1\n")
    expected = read_interpreter(str(real_venv / "bin" / "python"), "x").python
    assert read_interpreter(str(shim), "python").python == expected
    (tmp_path / ".python-version").write_text("3.0.0\n")
    with pytest.raises(SourceError, match="is a shim of pyenv"):
        read_interpreter(str(shim), "python")
    monkeypatch.setenv("PYENV_VERSION", "3.99.1")
    assert read_interpreter(str(shim), "python").python == expected
    assert not canary.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 3}', "[" * 100_000])
def test_rubbish_in_place_of_a_report(tmp_path: Path, text: str) -> None:
    report = tmp_path / "report.json"
    report.write_text(text)
    with pytest.raises(SourceError, match="did not report its version"):
        interpreter._report(report, "python", 0)


def test_running_interpreter() -> None:
    environment = read_running()
    versions = {package.name: package.version for package in environment.packages}
    assert versions["pytest"] == pytest.__version__
    assert len(versions) == len(environment.packages)
    assert environment.source == f"the interpreter that runs gradcompat ({sys.executable})"
    assert environment.platform == sys.platform
    assert environment.closed


@posix
def test_working_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "pytest" in {package.name for package in read_running().packages}
    with pytest.raises(NotFound):
        read_interpreter("./python", "python")


# The environment that is meant


def test_active_environment(venv: Path, tmp_path: Path) -> None:
    conda = tmp_path / "conda"
    conda_record(conda, "pytorch", "2.4.0", [])
    distribution(site_of(venv), "torch", "2.5.1")
    other = tmp_path / "other"
    distribution(other / "lib" / "python3.11" / "site-packages", "torch", "2.6.0")
    (other / "pyvenv.cfg").write_text("version = 3.11.7\n")
    both = {"VIRTUAL_ENV": str(other), "CONDA_PREFIX": str(conda)}
    assert active(both, tmp_path).source == f"VIRTUAL_ENV {other}"
    assert pins(active(both, tmp_path)) == [("torch", "2.6.0", "registry")]
    assert active({"CONDA_PREFIX": str(conda)}, tmp_path).source == f"CONDA_PREFIX {conda}"
    found = active({"VIRTUAL_ENV": ""}, tmp_path)
    assert found.source == "./.venv"
    assert found.packages[0].location.path.startswith(".venv/lib/")
    stale = active({"VIRTUAL_ENV": "/gone"}, tmp_path)
    assert stale.source == "./.venv"
    assert stale.skipped == (
        Skipped(what="/gone", reason="VIRTUAL_ENV names it, but it is not an environment", gap=False),
    )
    assert active({}, other).source == read_running().source
