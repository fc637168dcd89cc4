"""Real auditors against ``gradcompat knowledge serve``: they show our records, and nothing where there is none.

They need no index: what they look at is pinned. uv asks the index of a lockfile how each project is doing, so ours is
named as that, too, which knows nothing of it; the only host that anything speaks to is this machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gradcompat.database.osv_api import Advisories
from gradcompat.database.osv_server import Server
from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import KnowledgeBase, issue_from, load
from gradcompat.knowledge.osv import plain_ranges, within
from gradcompat.requirements.versions import VersionSet

pytestmark = pytest.mark.e2e

NOTHING = VersionSet(())
# A release of which many records speak, as a rule all of them with conditions.
OTHER = ("transformers", "4.49.0")

PROJECT = """\
[project]
name = "audited"
version = "0"
requires-python = ">=3.11"
dependencies = ["{name}", "packaging"]
"""
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "audited"
version = "0"
source = {{ virtual = "." }}
dependencies = [{{ name = "{name}" }}, {{ name = "packaging" }}]

[package.metadata]
requires-dist = [{{ name = "{name}" }}, {{ name = "packaging" }}]

[[package]]
name = "{name}"
version = "{version}"
source = {{ registry = "{url}/simple" }}

[[package]]
name = "packaging"
version = "24.0"
source = {{ registry = "{url}/simple" }}
"""


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return load()


@pytest.fixture(scope="module")
def affected(base: KnowledgeBase) -> tuple[str, str, str]:
    """A record that hangs on nothing, and a release that it is about."""
    for issue in map(issue_from, base.records):
        for name, versions in plain_ranges(issue).items():
            for release in Snapshot().releases(name):
                if issue.withdrawn is None and release.version in versions:
                    return issue.id, name, str(release.version)
    pytest.skip("no record is without conditions")


def certain(base: KnowledgeBase, name: str, version: str) -> list[str]:
    """The records that are about this release whatever else there is."""
    issues = [issue for issue in base.in_force() if within(version, plain_ranges(issue).get(name, NOTHING))]
    return [issue.id for issue in issues]


@contextmanager
def serving(base: KnowledgeBase, *, conditional: bool = False, page: int = 1_000) -> Iterator[str]:
    server = Server(("127.0.0.1", 0), Advisories(base, Snapshot(), conditional=conditional, page=page))
    ready = threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(server.serve(ready.set),), daemon=True)
    thread.start()
    ready.wait(30)
    try:
        yield server.url
    finally:
        server.stop()
        thread.join()
        server.socket.close()


def tool(name: str) -> str:
    """Beside this interpreter, or wherever it is."""
    path = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def ended(*command: str, cwd: Path) -> tuple[int, str, str]:
    # Nothing of this machine's configuration, and nothing that an auditor remembers.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "PIP_"))}
    env = {**kept, "HOME": str(cwd), "XDG_CACHE_HOME": str(cwd / "cache"), "NO_PROXY": "127.0.0.1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def uv_audit(folder: Path, url: str, name: str, version: str, *more: str) -> tuple[int, str, str]:
    uv = tool("uv")
    if "--service-url" not in ended(uv, "audit", "--help", cwd=folder)[1]:
        pytest.skip("this uv asks no service of one's own")
    (folder / "pyproject.toml").write_text(PROJECT.format(name=name), "utf-8")
    (folder / "uv.lock").write_text(LOCK.format(name=name, version=version, url=url), "utf-8")
    python = ("--python-version", "3.11", "--python-platform", "linux")
    return ended(uv, "audit", "--frozen", "--no-cache", *python, "--service-url", url, *more, cwd=folder)


def pip_audit(folder: Path, url: str, name: str, version: str) -> tuple[int, Any]:
    (folder / "requirements.txt").write_text(f"{name}=={version}\npackaging==24.0\n", "utf-8")
    status, out, err = ended(
        *(tool("pip-audit"), "-r", "requirements.txt", "--disable-pip", "--no-deps", "--progress-spinner", "off"),
        *("-s", "osv", "--osv-url", f"{url}/v1/query", "-f", "json", "--aliases", "--desc"),
        cwd=folder,
    )
    assert out, err
    return status, {one["name"]: one["vulns"] for one in json.loads(out)["dependencies"]}


def test_uv_shows_the_record(base: KnowledgeBase, affected: tuple[str, str, str], tmp_path: Path) -> None:
    identifier, name, version = affected
    issue = base.get(identifier)
    assert issue is not None
    with serving(base) as url:
        status, out, err = uv_audit(tmp_path, url, name, version)
    assert status == 1, err
    assert f"{name} {version} has {len(certain(base, name, version))} known vulnerabilit" in out
    assert f"x_{identifier}: {issue.summary}" in out
    assert "osv.dev" not in out  # the page that it links exists
    assert issue.references[0].url.split("/")[2] in out


def test_uv_ignores_a_record_by_the_id_that_we_give_it(
    base: KnowledgeBase, affected: tuple[str, str, str], tmp_path: Path
) -> None:
    _, name, version = affected
    ignored = [text for one in certain(base, name, version) for text in ("--ignore", one)]
    with serving(base) as url:
        status, _, err = uv_audit(tmp_path, url, name, version, *ignored)
    assert status == 0, err


def test_uv_shows_only_what_is_certain(base: KnowledgeBase, tmp_path: Path) -> None:
    with serving(base) as url:
        status, out, err = uv_audit(tmp_path, url, *OTHER)
    assert (status, out.count("x_GC-")) == (int(bool(certain(base, *OTHER))), len(certain(base, *OTHER))), err


def test_uv_follows_the_pages_of_conditional_records(base: KnowledgeBase, tmp_path: Path) -> None:
    with serving(base, conditional=True, page=1) as url:
        status, out, err = uv_audit(tmp_path, url, *OTHER)
    assert status == 1, err
    assert "x_GC-0004: Loss and gradients of LLaVA models grow" in out
    assert "only if transformers is >=4.49.0,<4.52.0 and training.gradient_accumulation_steps is more than 1" in out
    assert out.count("x_GC-") > 10


def test_pip_audit_shows_the_record(base: KnowledgeBase, affected: tuple[str, str, str], tmp_path: Path) -> None:
    identifier, name, version = affected
    issue = base.get(identifier)
    assert issue is not None
    with serving(base) as url:
        status, found = pip_audit(tmp_path, url, name, version)
    assert status == 1
    assert found["packaging"] == []
    assert len(found[name]) == len(certain(base, name, version))
    (shown,) = [one for one in found[name] if one["id"] == f"x_{identifier}"]
    assert (shown["id"], shown["aliases"], shown["description"]) == (f"x_{identifier}", [identifier], issue.summary)


def test_pip_audit_shows_only_what_is_certain(base: KnowledgeBase, tmp_path: Path) -> None:
    with serving(base) as url:
        _, found = pip_audit(tmp_path, url, *OTHER)
    assert [one["id"] for one in found[OTHER[0]]] == [f"x_{one}" for one in certain(base, *OTHER)]


def test_pip_audit_shows_conditional_records_with_their_condition(base: KnowledgeBase, tmp_path: Path) -> None:
    with serving(base, conditional=True) as url:
        status, found = pip_audit(tmp_path, url, *OTHER)
    assert status == 1
    (llava,) = [one for one in found["transformers"] if one["id"] == "x_GC-0004"]
    assert "(only if transformers is >=4.49.0,<4.52.0 and " in llava["description"]
