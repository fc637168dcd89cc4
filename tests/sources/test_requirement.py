"""One requirement: every way in which people and tools write it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources import requirement
from gradcompat.sources.requirement import name_of, parse_requirement, version_of_tag
from tests.examples import examples

START = Location(path="a.txt", line=3, column=1)


def at(column: int) -> Location:
    return Location(path="a.txt", line=3, column=column)


@pytest.mark.parametrize(
    ("text", "version", "specifier", "column"),
    [
        ("torch==2.5.1+cu124", "2.5.1+cu124", None, 8),
        ("  torch == 2.5.1  ", "2.5.1", None, 12),
        ("torch===2.5-internal", "2.5-internal", None, 9),
        ("torch", None, "*", 1),
        ("torch==2.5.*", None, "==2.5.*", 6),
        ("torch >= 2.1, <3", None, ">=2.1,<3", 7),
        ("torch (>=2.1,<3)", None, ">=2.1,<3", 8),
        ("torch~=2.1", None, "~=2.1", 6),
        ("torch!=2.0,==2.0.1", "2.0.1", None, 14),
        ("torch>=3,==2.0.1", None, ">=3,==2.0.1", 6),
        ("torch==2.0.1,==2.0.2", None, "==2.0.1,==2.0.2", 6),
        ("torch==${TORCH_VERSION}", None, None, 1),
        ("torch>=$TORCH", None, None, 1),
        ("torch=={{ torch_version }}", None, None, 1),
    ],
)
def test_versions_and_ranges(text: str, version: str | None, specifier: str | None, column: int) -> None:
    assert parse_requirement(text, START) == Package(
        name="torch", version=version, specifier=specifier, location=at(column)
    )
    if specifier is not None:
        VersionSet.parse(specifier)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Torch[opt,Opt_2]===2.5", ("opt", "opt-2")),
        ("torch [ opt ]", ("opt",)),
        ("torch[]>=2", ()),
        ("torch[opt] @ https://files.example/torch-2.5-py3-none-any.whl", ("opt",)),
        ("torch==2.5", ()),
    ],
)
def test_extras_that_are_asked_for(text: str, asked: tuple[str, ...]) -> None:
    package = parse_requirement(text, START)
    assert isinstance(package, Package)
    assert package.name == "torch"
    assert package.asked_extras == asked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "trl>=0.9;python_version>='3.10' and sys_platform != 'darwin'",
            Package(
                name="trl",
                version=None,
                specifier=">=0.9",
                marker="python_version>='3.10' and sys_platform != 'darwin'",
                location=at(4),
            ),
        ),
        (
            'https://e.example/flash_attn-2.8.3%2Bcu12torch2.5-cp311-cp311-linux_x86_64.whl#sha256=0 ; os_name == "nt"',
            Package(
                name="flash-attn",
                version="2.8.3+cu12torch2.5",
                source="url",
                marker='os_name == "nt"',
                location=at(1),
            ),
        ),
        (
            'https://files.example/x-1.2-1-py3-none-any.whl; os_name == "nt"',
            Package(name="x", version="1.2", source="url", marker='os_name == "nt"', location=at(25)),
        ),
        ("x @ file:///home/user/build/x_17/work", Package(name="x", version=None, source="directory", location=at(1))),
        ("x @ file:///dist/X-1.0.0.tar.gz", Package(name="x", version="1.0.0", source="path", location=at(20))),
        (
            "wheels/ruamel.yaml-0.18-py3-none-any.whl",
            Package(name="ruamel-yaml", version="0.18", source="path", location=at(20)),
        ),
        ("C:\\wheels\\x-1.2-py3-none-any.whl", Package(name="x", version="1.2", source="path", location=at(13))),
        ("x1-1-py3-none-any.whl", Package(name="x1", version="1", source="path", location=at(4))),
        ("x-1.2.zip", Package(name="x", version="1.2", source="path", location=at(3))),
        (
            "git+https://git.example/huggingface/peft.git",
            Package(name="peft", version=None, source="git", unreleased=True, trunk=True, location=at(1)),
        ),
        (
            "git+https://git.example/Dao-AILab/flash-attention",
            Package(name="flash-attn", version=None, source="git", unreleased=True, trunk=True, location=at(1)),
        ),
        (
            "git+https://git.example/somebody/peft.git",  # a fork, whose trunk may be of any age
            Package(name="peft", version=None, source="git", unreleased=True, location=at(1)),
        ),
        (
            "git@git.example:team/Trainer.git@v1.2.3",
            Package(name="trainer", version="1.2.3", source="git", location=at(35)),
        ),
        (
            "git+ssh://git@git.example/team/repo.git@4f1a99#egg=D4RL[all]&subdirectory=python",
            Package(name="d4rl", version=None, source="git", unreleased=True, location=at(1)),
        ),
        (
            "transformers[torch] @ git+https://${TOKEN}@git.example/hf/transformers@v4.49.0 ; python_version > '3.9'",
            Package(
                name="transformers",
                version="4.49.0",
                source="git",
                marker="python_version > '3.9'",
                asked_extras=("torch",),
                location=at(73),
            ),
        ),
        (
            "transformers @ git+https://git.example/hf/transformers@v4.49.0-SigLIP-2",
            Package(name="transformers", version=None, source="git", unreleased=True, location=at(1)),
        ),
        (
            "https://git.example/hf/peft/archive/refs/tags/v0.14.0.zip",
            Package(name="peft", version="0.14.0", source="url", location=at(48)),
        ),
        (
            "https://git.example/hf/peft/archive/0123abc.tar.gz",
            Package(name="peft", version=None, source="url", unreleased=True, location=at(1)),
        ),
        (
            "hg+https://hg.example/x#egg=x",
            Package(name="x", version=None, source="url", unreleased=True, location=at(1)),
        ),
    ],
)
def test_links_and_markers(text: str, expected: Package) -> None:
    assert parse_requirement(text, START) == expected


@pytest.mark.parametrize(
    ("text", "reason", "gap"),
    [
        ("", "is empty", True),
        (
            "clip==1.0==",
            "is no requirement: expected comma (within version specifier), semicolon (after version specifier) or end",
            True,
        ),
        ("torch>=2.0.*", "is no requirement: .* suffix can only be used with `==` or `!=` operators", True),
        ("torch==2.0; os", None, True),
        ("https://files.example/latest", "the link names no package", True),
        (".[dev]", "a project in a folder: neither its name nor its version stand here", False),
        ("../vendored/transformers", "a project in a folder: neither its name nor its version stand here", False),
        ("a==" + "1" * 5000, "is too long for a requirement", True),
        ("a @ https://x/" + "1" * 5000, "is too long for a requirement", True),
        ("a; " + "(" * 90_000, "its marker is invalid: nested too deeply", True),
        ("a; " + "(" * 200_000, "its marker is too long", True),
        ("a \ud800", None, True),
    ],
)
def test_what_is_no_requirement(text: str, reason: str | None, gap: bool) -> None:
    result = parse_requirement(text, START)
    assert isinstance(result, Skipped)
    assert (result.gap, len(result.what) <= 100) == (gap, True)
    assert reason is None or result.reason == reason


@pytest.mark.parametrize("user", ["me:/s3cret", "me:a/s3cret", "me:p@s3cret", "s3cret"])
@pytest.mark.parametrize("behind", ["git.example/hf/peft.git@v0.14.0", "git.example/hf/peft", "[::1/%zz"])
def test_a_password_names_no_package(user: str, behind: str) -> None:
    assert "s3cret" not in repr(parse_requirement(f"git+https://{user}@{behind}", START))


def test_an_editable_is_a_link_whatever_it_looks_like() -> None:
    assert parse_requirement("transformers", START, editable=True) == Skipped(
        what="a requirement",
        reason="a project in a folder: neither its name nor its version stand here",
        gap=False,
        location=START,
    )


def test_without_a_column_none_is_made_up() -> None:
    result = parse_requirement("torch==2.5.1", Location(path="a.txt", line=3))
    assert result.location == Location(path="a.txt", line=3)


@pytest.mark.parametrize(
    ("reference", "version"),
    [
        ("v4.49.0", "4.49.0"),
        ("refs/tags/v0.9.6", "0.9.6"),
        ("4.49.0", "4.49.0"),
        ("v2.1", "2.1"),
        ("v1.0.0rc1", "1.0.0rc1"),
        ("2.1", None),
        ("main", None),
        ("v4.49-release", None),
        ("1234567", None),
        ("22.04-dev", None),
    ],
)
def test_versions_of_tags(reference: str, version: str | None) -> None:
    assert version_of_tag(reference) == version


def test_names() -> None:
    assert [name_of(text) for text in (" Ruamel.YAML==1", "x[y]", "==1", "")] == ["ruamel-yaml", "x", None, None]


@given(st.text(max_size=60) | st.from_regex(r"[a-z]{1,3}[ =<>!~@;.\[\](){}$/#:0-9+a-z-]{0,30}"))
def test_any_text_gives_a_package_or_a_reason(text: str) -> None:
    result = parse_requirement(text, START)
    if isinstance(result, Package):
        assert result.name
        assert result.version is None or result.specifier is None
        assert result.location.column is not None
        assert result.version is None or "%" in text or text[result.location.column - 1 :].startswith(result.version)
    else:
        assert result.reason


def test_a_range_of_arbitrary_equality_says_nothing() -> None:
    found = parse_requirement("torch>=1.0,===_", Location(path="a.txt", line=1, column=1))
    assert found == Package(name="torch", version=None, location=Location(path="a.txt", line=1, column=6))


PIECES = [
    *("torch", "a-b", "[x]", "[x, y]", "[", "(", ")", "==", ">=", "~=", "!=", "<", "===", "1", "2.1", ".*", "*", "rc1"),
    *(".post1", ".dev2", "+cu124", "+cu.1", ",", " ", "_a", "1.2.3.4.5.6"),
]


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join))
def test_what_is_read_without_packaging_is_a_requirement_to_it(rest: str) -> None:
    text = f"torch{rest}".strip()
    if requirement._PLAIN.fullmatch(text) is not None:
        assert Requirement(text).name


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=7).map("".join))
def test_a_pin_is_read_as_the_other_patterns_read_it(rest: str) -> None:
    text = f"torch{rest}".strip()
    if requirement._PIN.fullmatch(text) is not None:
        assert parse_requirement(text, START) == requirement._specified(text, START)


@pytest.mark.parametrize(
    "text",
    ["torch", "torch[opt]>=2.1,<3", "torch==2.5.1+cu124", "torch~=2.1", "torch==2.5.*", "torch!=2.0rc1,<3.0.dev1"],
)
def test_usual_requirements_are_read_without_packaging(text: str) -> None:
    assert requirement._PLAIN.fullmatch(text) is not None
