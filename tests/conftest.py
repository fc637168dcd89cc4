"""Running the program as a user does, and golden files for what users see."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run, so that a change is judged and not a die; `HYPOTHESIS_PROFILE=random` explores.
settings.register_profile("same", derandomize=True)
settings.register_profile("random")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Outcome:
    """What a process left behind."""

    status: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run("check", "uv.lock", stdin=…, cwd=…)``: the program in a process of its own."""

    def run_it(
        *arguments: str, stdin: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> Outcome:
        kept = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
        done = subprocess.run(
            [sys.executable, "-m", "gradcompat", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=cwd or tmp_path,
            env={**kept, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8", **(env or {})},
            timeout=120,
            check=False,
        )
        # Text streams write the platform's line ends.
        out, err = (stream.decode("utf-8").replace(os.linesep, "\n") for stream in (done.stdout, done.stderr))
        assert "Traceback" not in err, err
        return Outcome(done.returncode, out, err)

    return run_it


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
