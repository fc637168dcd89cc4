from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.audit.repository_paths import RepositoryPaths
from gradcompat.model.environment import Location, Package


def package(name: str, version: str | None, line: int | None, column: int | None) -> Package:
    return Package(name=name, version=version, location=Location(path="file", line=line, column=column))


@pytest.mark.parametrize(
    ("line", "name", "version", "column", "columns"),
    [
        ("transformers==4.49.0 --hash=sha256:4", "transformers", "4.49.0", 15, (15, 21)),
        ('version = "4.49.0"', "transformers", "4.49.0", 11, (11, 19)),
        ("  - torchvision=0.20.1=py311_cu124", "torchvision", "0.20.1", 17, (17, 23)),
        ('"naïve 🔥", "version": "2.5.1+cu124"', "torch", "2.5.1+cu124", 23, (23, 36)),
        # The file has changed, or does not write the version out: where the pin is over is not known.
        ("transformers==4.49.01", "transformers", "4.49.0", 15, (15, None)),
        ("ARG TAG=2.5.1 ${TAG}", "torch", "2.5.1", 15, (15, None)),
        ("short", "torch", "2.5.1", 90, (90, None)),
        # A reader that knows no column: only a pin that stands there once is certain.
        (r'    "!pip install -q \"flash-attn==2.5.1\" torch",', "flash-attn", "2.5.1", None, (36, 41)),
        ("pip install Flash_Attn[extra] == 2.5.1", "flash-attn", "2.5.1", None, (34, 39)),
        ("torch==2.5.1 torch==2.5.1", "torch", "2.5.1", None, (None, None)),
        ("mytorch==2.5.1", "torch", "2.5.1", None, (None, None)),
        ("torch==2.5.1.post1", "torch", "2.5.1", None, (None, None)),
        ("torch>=2.4", "torch", None, 6, (6, None)),
    ],
)
def test_a_pin_ends_where_its_line_shows_it(
    line: str, name: str, version: str | None, column: int | None, columns: tuple[int | None, int | None]
) -> None:
    Path("file").write_text(f"\r\n\n{line}\n", "utf-8")
    assert RepositoryPaths().columns(package(name, version, 3, column)) == columns


def test_a_file_that_is_gone_has_no_end() -> None:
    assert RepositoryPaths().columns(package("torch", "2.5.1", 3, 6)) == (6, None)
    assert RepositoryPaths().columns(package("torch", "2.5.1", None, None)) == (None, None)


def test_paths_are_those_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "sub").mkdir()
    (tmp_path / "repository" / "sub" / "real.lock").touch()
    (tmp_path / "repository" / "sub" / "link.lock").symlink_to("real.lock")
    monkeypatch.chdir(tmp_path / "repository" / "sub")
    places = RepositoryPaths()
    assert places.uri("./uv.lock") == "sub/uv.lock"
    assert places.uri(str(tmp_path / "repository" / "a b" / "ü:%.lock")) == "a%20b/%C3%BC%3A%25.lock"
    assert places.uri("link.lock") == "sub/real.lock"  # GitHub shows nothing on a link
    assert places.relative("../../elsewhere.lock") is None
    assert places.uri("../../elsewhere.lock") == (tmp_path / "elsewhere.lock").as_uri()
    assert (places.relative("-"), places.uri("-"), places.shown("-")) == (None, "-", "-")


def test_ci_says_where_the_repository_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work" / "sub")
    assert RepositoryPaths().uri("uv.lock") == "uv.lock"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "work"))
    assert RepositoryPaths().uri("uv.lock") == "sub/uv.lock"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "other"))
    assert RepositoryPaths().uri("uv.lock") == "uv.lock"
