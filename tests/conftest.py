"""Running the program as a user does, and golden files for what users see."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from tests.program import Outcome, Run, as_process, in_process

# The same examples in every run and no deadline, so that a change is judged and neither a die nor a busy machine.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("quick", settings.get_profile("same"), max_examples=20)
settings.register_profile("random", deadline=None, max_examples=100)

__all__ = ["GOLDEN", "ROOT", "Outcome", "Run"]

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("check", "uv.lock", stdin=…, cwd=…)``: the program, inside of this process."""

    def run_it(
        *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Outcome:
        return in_process(arguments, stdin, cwd or tmp_path, env)

    return run_it


@pytest.fixture
def run_process(tmp_path: Path) -> Run:
    """The same as a process of its own, for a test that is about the process; such a test is marked ``e2e``."""

    def run_it(
        *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Outcome:
        return as_process(arguments, stdin, cwd or tmp_path, env)

    return run_it


def pytest_configure(config: pytest.Config) -> None:
    """A fifth of the examples while one works, with ``-m "not e2e"``; and a cache that is not the user's."""
    usual = "quick" if "not e2e" in config.option.markexpr else "same"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))
    if "GRADCOMPAT_CACHE" not in os.environ:
        cache = tempfile.TemporaryDirectory(prefix="gradcompat-tests-")
        os.environ["GRADCOMPAT_CACHE"] = cache.name
        config.add_cleanup(cache.cleanup)


def pytest_collection_finish() -> None:
    """Leave what was collected out of every later search for garbage: it stays until the end."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what is printed now into tests/golden")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The default run asks nobody: tests marked ``network`` or ``probe`` are skipped, and say so."""
    if "GRADCOMPAT_PROBE_PYTHON" not in os.environ:
        unmeasured = pytest.mark.skip(reason="needs torch: name its interpreter in GRADCOMPAT_PROBE_PYTHON")
        for item in items:
            if item.get_closest_marker("probe") is not None:
                item.add_marker(unmeasured)
    if "network" in config.option.markexpr:
        return
    skipped = pytest.mark.skip(reason="needs a package index: run it with `-m network`")
    for item in items:
        if item.get_closest_marker("network") is not None:
            item.add_marker(skipped)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text is what ``tests/golden/name`` holds."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        assert path.read_text("utf-8") == text, f"run `pytest --update-golden` if {name} should look like this now"

    return compare
