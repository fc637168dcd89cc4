"""pixi.lock; the fixtures are written by hand."""

from __future__ import annotations

import pytest

from gradcompat.errors import Malformed, UnsupportedFormatVersion
from gradcompat.formats.document import Document
from gradcompat.model.environment import Environment, Location, Package
from gradcompat.sources import any_format
from gradcompat.sources.pixi_lock import read
from tests.sources.listed import facts, rows
from tests.sources.locked import fixture, notes

HEAD = "version: 6\nenvironments: {}\npackages:\n"


def text(content: str) -> Document:
    return Document("pixi.lock", content)


def forks(environment: Environment) -> list[tuple[str, ...]]:
    return [one.forks for one in environment.packages]


def test_version_6() -> None:
    environment = read(fixture("pixi/v6.lock"))
    assert rows(environment) == [
        ("tiny", None, "editable", 24, 9),
        ("peft", "0.14.0", "git", 30, 12),
        ("python", "3.12.8", "conda", 31, 60),
        ("pytorch", "2.5.1", "conda", 36, 61),
        ("torch", "2.10.0+cu130", "registry", 40, 12),
    ]
    assert forks(environment) == [
        ("cuda/linux-64",),
        ("cuda/linux-64",),
        ("cuda/linux-64", "default/linux-64"),
        ("default/linux-64",),
        ("cuda/linux-64",),
    ]
    assert not any(one.unreleased for one in environment.packages)
    gone = "https://conda.example/conda-forge/linux-64/gone-1-0.conda"
    reason = "is the first of 1 packages that environments select and `packages` does not list"
    assert notes(environment) == [(gone, reason, True, None)]
    assert facts(environment) == ("pixi.lock", False, "3.12.8", None)


def test_version_5() -> None:
    environment = read(fixture("pixi/v5.lock"))
    assert rows(environment) == [
        ("pytorch", "2.1.2", "conda", 15, 12),
        ("transformers", "4.49.0", "registry", 21, 12),
    ]
    assert forks(environment) == [("default/linux-64",), ("default/linux-64",)]
    assert facts(environment) == ("pixi.lock", True, None, "linux")


def test_version_7() -> None:
    environment = read(fixture("pixi/v7.lock"))
    assert rows(environment) == [
        ("pytorch", "2.9.1", "conda", 24, 61),
        ("my-ops", None, "conda", 25, 17),
        ("torch", "2.9.1", "registry", 26, 47),
    ]
    # Two platforms of one subdir keep their own names.
    assert forks(environment) == [("default/linux-64",), ("default/linux-64",), ("default/p2", "default/p3")]
    assert [one.unreleased for one in environment.packages] == [False, True, False]
    assert environment.skipped == ()
    assert facts(environment) == ("pixi.lock", True, None, None)


@pytest.mark.parametrize("name", ["v5", "v6", "v7"])
def test_it_is_known_by_its_content(name: str) -> None:
    assert any_format.read(Document("-", fixture(f"pixi/{name}.lock").text)).kind == "pixi.lock"


def test_whole_value() -> None:
    entry = "- conda: https://conda.example/main/linux-64/pytorch-2.5.1-0.conda\n"
    assert read(text(HEAD + entry)) == Environment(
        source="pixi.lock",
        kind="pixi.lock",
        packages=(
            Package(
                name="pytorch",
                version="2.5.1",
                source="conda",
                build="0",
                location=Location(path="pixi.lock", line=4, column=54),
            ),
        ),
        closed=True,
    )


@pytest.mark.parametrize(
    ("entry", "row", "unreleased"),
    [
        (
            "pypi: https://files.index.example/whl/torch-2.10.0%2Bcu130-cp312-cp312-linux_x86_64.whl",
            ("torch", "2.10.0+cu130", "registry", 4, 47),
            False,
        ),
        ("pypi: direct+https://a.example/Flash_Attn-2.8.3.tar.gz", ("flash-attn", "2.8.3", "url", 4, 45), False),
        ("pypi: ./wheels/peft-0.14.0-py3-none-any.whl", ("peft", "0.14.0", "path", 4, 23), False),
        ("pypi: git+https://git.example/them/peft.git#0123456\n  name: peft", ("peft", None, "git", 4, 9), True),
        ("conda: .\n  name: my-ops\n  version: 0.1.0", ("my-ops", "0.1.0", "conda", 6, 12), False),
    ],
)
def test_where_a_package_comes_from(entry: str, row: tuple[object, ...], unreleased: bool) -> None:
    environment = read(text(f"{HEAD}- {entry}\n"))
    assert rows(environment) == [row]
    assert environment.packages[0].unreleased is unreleased


def test_entries_that_cannot_be_read() -> None:
    entries = """\
- text
- {name: a}
- {conda: nothing}
- {pypi: x, name: a, name: b}
- {pypi: x, name: peft, version: 0.14.0}
- {pypi: x, name: peft, version: 0.14.0}
"""
    environment = read(text(HEAD + entries))
    assert rows(environment) == [
        ("peft", "0.14.0", "path", 8, 34),
        ("peft", "0.14.0", "path", 9, 34),
    ]
    assert notes(environment) == [
        ("`packages[0]`", "is neither a conda nor a PyPI package", True, 4),
        ("`packages[1]`", "is neither a conda nor a PyPI package", True, 5),
        ("`packages[2]`", "has no name", True, 6),
        ("`packages[3]`, b,", "has `name` twice", True, 7),
    ]
    assert not environment.closed


def test_selections_that_cannot_be_read() -> None:
    content = "version: 6\nenvironments:\n  a: 1\n  b:\n    packages:\n      linux-64: [c]\npackages: []\n"
    unreadable = "a line that is neither a conda nor a PyPI package"
    assert notes(read(text(content))) == [
        ("environment a", "selects no packages", True, 3),
        (unreadable, "is the first of 1 packages that environments select and `packages` does not list", True, None),
    ]


@pytest.mark.parametrize("version", [1, 3, 8])
def test_other_versions(version: int) -> None:
    with pytest.raises(UnsupportedFormatVersion) as caught:
        read(text(f"version: {version}\nmetadata: {{}}\npackage: []\n"))
    assert str(caught.value) == f"`pixi.lock:1`: lockfile version {version} is not supported"
    assert caught.value.hint == "gradcompat reads versions 4 to 7; `pixi lock` writes a current one"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "`pixi.lock`: holds 0 YAML documents instead of one"),
        ("a: b\n", "`pixi.lock`: has no `version: 6` at its top as pixi.lock has"),
        ("version: true\n", "`pixi.lock`: has no `version: 6` at its top as pixi.lock has"),
        ("version: [6]\n", "`pixi.lock`: has no `version: 6` at its top as pixi.lock has"),
        ("version: 6\n", "`pixi.lock`: has no `environments:` and `packages:` as pixi.lock has"),
        ("version: 6\nenvironments: {}\npackages: {}\n", "`pixi.lock:3`: `packages` is not a list"),
        ("version: 6\nenvironments: []\npackages: []\n", "`pixi.lock:2`: `environments` is not a mapping"),
        (HEAD + "- conda: 'https://", "`pixi.lock:4`: not valid YAML: found unexpected end of stream"),
    ],
)
def test_what_is_no_lockfile(content: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text(content))
    assert str(caught.value) == message


def test_selections_that_aliases_make_endless() -> None:
    references = ", ".join(["{conda: a}"] * 2000)
    environments = "\n".join(f"  e{number}: {{packages: {{linux-64: *r}}}}" for number in range(2000))
    content = f"version: 6\nx: &r [{references}]\nenvironments:\n{environments}\npackages: []\n"
    with pytest.raises(Malformed, match="selects more than 1,000,000 packages"):
        read(text(content))
