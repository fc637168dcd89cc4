"""Layers: built whole or not at all, shared, and what is said where none can be built."""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradcompat.errors import ProbeUnavailable
from gradcompat.probes.overlay_environments import LayerFailed, Laying, NoLayer, Origin, Overlay, describe, layer
from tests.index.serving import Reply, Server, anchor, serving
from tests.probes.toys import BASE, Table, laid, release, source, wheel

TOY = Overlay(name="toy", version="1.0")
SHORT = "".join(BASE.python.split(".")[:2])


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as one:
        content = wheel("toy", "1.0", source(1.0))
        one.html("toy", anchor("toy-1.0-py3-none-any.whl", content))
        one.pages["/files/toy-1.0-py3-none-any.whl"] = Reply(body=content)
        yield one


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Both installers, as far as they are there; neither leaves anything behind."""
    name: str = request.param
    for variable in list(os.environ):
        if variable.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(variable)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
    found = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if name == "uv" and found is None:
        pytest.skip("there is no uv")
    if (
        name == "pip"
        and subprocess.run([sys.executable, "-m", "pip", "-V"], capture_output=True, check=False).returncode
    ):
        pytest.skip("there is no pip")
    monkeypatch.setattr(shutil, "which", lambda command, **_: found if name == "uv" and command == "uv" else None)
    return name


def left(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / f"cp{SHORT}-site-packages").iterdir())


@pytest.mark.e2e  # runs pip or uv
def test_a_layer_is_built_once(server: Server, installer: str, tmp_path: Path) -> None:
    origin = Origin(index_url=f"{server.base}/simple")
    place = layer(BASE, TOY, tmp_path / "cache", origin)
    assert (place / "toy" / "__init__.py").read_text("utf-8") == source(1.0)
    assert left(tmp_path / "cache") == ["toy-1.0"]
    assert place.stat().st_mode & 0o077 == 0o055 or sys.platform == "win32"
    asked = len(server.asked)
    assert layer(BASE, TOY, tmp_path / "cache", origin) == place
    assert len(server.asked) == asked


@pytest.mark.e2e  # runs pip or uv
def test_a_release_that_is_not_there_is_never_there(server: Server, installer: str, tmp_path: Path) -> None:
    with pytest.raises(NoLayer) as caught:
        layer(BASE, Overlay(name="toy", version="2.0"), tmp_path, Origin(index_url=f"{server.base}/simple"))
    assert caught.value.message == f"there is no toy==2.0 for Python {BASE.python} on linux-x86_64"
    assert left(tmp_path) == []


@pytest.mark.e2e  # runs pip or uv
def test_an_index_that_does_not_answer_may_answer_tomorrow(
    installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with serving() as gone:
        address = gone.base
    with pytest.raises(LayerFailed, match=r"^toy==1\.0 could not be installed: \S") as caught:
        layer(BASE, TOY, tmp_path, Origin(index_url=f"{address}/simple"))
    assert type(caught.value) is LayerFailed
    assert left(tmp_path) == []


@pytest.mark.e2e  # runs pip or uv
def test_without_the_network_what_is_not_there_is_not_known_to_be_missing(installer: str, tmp_path: Path) -> None:
    with pytest.raises(LayerFailed) as caught:
        layer(BASE, TOY, tmp_path, Origin(offline=True))
    assert type(caught.value) is LayerFailed


def test_no_space_for_a_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(LayerFailed) as caught:
        layer(BASE, TOY, tmp_path)
    assert caught.value.message == "no folder for toy 1.0: No space left on device"


class Ended:
    """What an installer came to, without one."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, stderr: bytes = b"", error: BaseException | None = None
    ) -> None:
        self.commands: list[list[str]] = []

        def run(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
            self.commands.append(command)
            if error is not None:
                raise error
            return subprocess.CompletedProcess(command, 1 if stderr else 0, b"", stderr)

        monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (b"error: Failed to install\n  cause: failed to write\n  cause: No space left on device (os error 28)\n",
         "toy==1.0 could not be installed: No space left on device (os error 28)"),
        (b"ERROR: Could not install packages: [Errno 28] No space left on device\n\nnotice: there is a new pip\n",
         "toy==1.0 could not be installed: Could not install packages: [Errno 28] No space left on device"),
        (b"Killed\n", "toy==1.0 could not be installed: Killed"),
        (b"\n", "toy==1.0 could not be installed: status 1"),
    ],
)  # fmt: skip
def test_what_the_installer_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stderr: bytes, said: str) -> None:
    Ended(monkeypatch, stderr)
    with pytest.raises(LayerFailed) as caught:
        layer(BASE, TOY, tmp_path)
    assert (type(caught.value), caught.value.message) == (LayerFailed, said)
    assert left(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), subprocess.TimeoutExpired("uv", 600), OSError(2, "gone")])
def test_nothing_half_built_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    Ended(monkeypatch, error=error)
    with pytest.raises((KeyboardInterrupt, LayerFailed)):
        layer(BASE, TOY, tmp_path)
    assert left(tmp_path) == []


def test_what_a_killed_process_left_is_swept_and_what_another_builds_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ended(monkeypatch)
    for name, age in ((".other-abc", 60), (".toy-def", 7200)):
        folder = tmp_path / f"cp{SHORT}-site-packages" / name
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - age, time.time() - age))
    layer(BASE, TOY, tmp_path)
    assert left(tmp_path) == [".other-abc", "toy-1.0"]


def test_only_what_has_no_wheel_for_anybody_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = Ended(monkeypatch)
    layer(BASE, TOY, tmp_path)
    layer(BASE, Overlay(name="old", version="1.0", built=True), tmp_path)
    wheels, built = ended.commands
    assert wheels[-2:] == ["--only-binary", ":all:"]
    assert built[-2:] == ["old==1.0", "--no-build-isolation"]


def test_what_only_the_built_release_says_that_it_requires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = laid(tmp_path, {"1.0": 1.0, "2.0": 1.0, "3.0": 1.0})
    info = cache / f"cp{SHORT}-site-packages" / "toy-1.0" / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: toy\nVersion: 1.0\nRequires-Dist: hjson\nRequires-Dist: numpy\n >=1.0\n")
    built, unclear, wheeled, said = (
        release("1.0", wheels=(), sdist=True),
        release("2.0", wheels=(), sdist=True),
        release("3.0"),
        release("4.0", wheels=(), sdist=True),
    )
    table = Table(
        [built, unclear, wheeled, said], {"toy 1.0": None, "toy 2.0": None, "toy 3.0": None, "toy 4.0": ["torch"]}
    )
    catalogue = Laying(catalogue=table, base=BASE, cache=cache)
    assert [catalogue.requires(one) for one in (built, unclear, wheeled, said)] == [
        ("hjson", "numpy >=1.0"),
        None,
        None,
        ("torch",),
    ]
    ended = Ended(monkeypatch, stderr=b"error: no space", error=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    lost = release("5.0", wheels=(), sdist=True)
    assert Laying(catalogue=Table([lost], {"toy 5.0": None}), base=BASE, cache=cache).requires(lost) is None
    assert len(ended.commands) == 1


def test_two_that_build_the_same_layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / f"cp{SHORT}-site-packages" / "toy-1.0"

    def other_was_quicker(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        place.mkdir()
        (place / "theirs").touch()
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr(subprocess, "run", other_was_quicker)
    assert layer(BASE, TOY, tmp_path) == place
    assert [path.name for path in place.iterdir()] == ["theirs"]
    assert left(tmp_path) == ["toy-1.0"]


def test_an_interpreter_says_what_it_is() -> None:
    base = describe(Path(sys.executable))
    assert (base.python, base.platform, base.implementation) == (BASE.python, sys.platform, "cp")
    assert "pytest" in base.packages


def test_what_is_no_interpreter(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\necho hello\n", "utf-8")
    silent.chmod(0o755)
    for path, reason in ((tmp_path, "Permission denied"), (silent, "does not answer"), (tmp_path / "none", "No such")):
        with pytest.raises(ProbeUnavailable, match=reason) as caught:
            describe(path)
        assert caught.value.path == str(path)


def test_another_python_has_other_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Ended(monkeypatch)
    other = dataclasses.replace(BASE, python="3.8.20")
    assert layer(other, TOY, tmp_path).parent.name == "cp38-site-packages"
