"""requirements.txt in all its forms: what counts, what is skipped, and when a list is complete."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document, decode, read_document
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.sources.requirements import read

FIXTURES = Path(__file__).parents[1] / "fixtures" / "requirements"

Row = tuple[int | None, int | None, str, str | None, str | None, str, str | None]
FROZEN = [f"package{number:02}==1.{number}" for number in range(41)]
GONE = "there is no such file or folder"
EXCLUSIVE = "is asked for in versions that exclude one another"
FOLDER = "a project in a folder: neither its name nor its version stand here"


def of(text: str) -> Environment:
    return read(Document("a.txt", text))


def fixture(name: str) -> Environment:
    return read(read_document(FIXTURES / name, name))


def rows(environment: Environment) -> list[Row]:
    return [
        (
            package.location.line,
            package.location.column,
            package.name,
            package.version,
            package.specifier,
            package.source,
            package.marker,
        )
        for package in environment.packages
    ]


def skipped(environment: Environment) -> list[tuple[int | None, str, str, bool]]:
    return [(one.location.line if one.location else None, one.what, one.reason, one.gap) for one in environment.skipped]


def test_everything_that_a_person_writes() -> None:
    environment = fixture("handwritten.txt")
    assert rows(environment) == [
        (6, 8, "torch", "2.5.1+cu124", None, "registry", None),
        (7, 16, "torchvision", "0.20.1", None, "conda", None),
        (
            8,
            34,
            "transformers",
            None,
            ">=4.41.2,<=4.49.0,!=4.46.*",
            "registry",
            "python_version>='3.10' and sys_platform != 'darwin'",
        ),
        (9, 12, "accelerate", None, "~=1.2", "registry", None),
        (10, 11, "tokenizers", None, "==0.20.*", "registry", None),
        (11, 1, "peft", None, "*", "registry", None),
        (12, 6, "trl", None, ">=0.9,<0.10", "registry", None),
        (13, 16, "bitsandbytes", "0.45.0", None, "registry", None),
        (14, 1, "deepspeed", None, None, "registry", None),
        (15, 18, "datasets", "3.1.0", None, "registry", None),
        (16, 6, "numpy", None, ">=2,==1.26.4", "registry", None),
        (18, 6, "pip", "23.3.1", None, "registry", None),
        (19, 6, "pip", "24.0", None, "registry", None),
        (20, 1, "flash-attn", "2.8.3+cu12torch2.5", None, "url", None),
        (21, 38, "xformers", "0.0.28", None, "url", 'sys_platform == "win32"'),
        (22, 1, "peft", None, None, "git", None),
        (23, 4, "team-trainer", None, None, "git", None),
        (24, 63, "liger-kernel", "0.5.2", None, "git", None),
        (25, 1, "apex", None, None, "git", "platform_machine == 'x86_64'"),
        (28, 1, "mjlab", None, None, "conda", None),
        (29, 13, "torchaudio", "2.5.1", None, "conda", None),
        (32, 7, "triton", "3.1.0", None, "registry", None),
        (33, 11, "xgrammar", "0.1.8", None, "registry", None),
    ]
    assert skipped(environment) == [
        (
            17,
            "a requirement",
            "is no requirement: expected comma (within version specifier), semicolon (after version specifier) or end",
            True,
        ),
        (26, "a requirement", FOLDER, False),
        (27, "a requirement", FOLDER, False),
        (34, "an option", "is not an option of pip", True),
        (35, "a requirement", "is no requirement: expected package name at the start of dependency specifier", True),
        (36, "a line", "is a message of pip", False),
        (
            37,
            "a requirement",
            "its marker is invalid: expected marker operator, one of <=, <, !=, ==, >=, >, ~=, ===, in, not in",
            True,
        ),
        (19, "pip", f"{EXCLUSIVE} (line 18 and line 19): no installer finds one", False),
    ]
    assert (environment.kind, environment.closed, environment.python, environment.platform) == (
        "requirements",
        False,
        None,
        None,
    )


def test_files_behind_files() -> None:
    environment = fixture("included/main.txt")
    assert [
        (package.location.path, *row) for package, row in zip(environment.packages, rows(environment), strict=True)
    ] == [
        ("included/base.txt", 1, 6, "torch", None, ">=2.1,<2.6", "registry", None),
        ("included/base.txt", 2, 6, "numpy", None, "<2", "registry", None),
        ("included/limits.txt", 4, 13, "accelerate", "1.4.0", None, "registry", 'python_version >= "3.10"'),
        ("included/folder/more.txt", 2, 1, "accelerate", None, "*", "registry", None),
        ("included/limits.txt", 1, 15, "transformers", "4.49.0", None, "registry", None),
        ("included/main.txt", 11, 4, "trl", None, ">=0.9,==0.8.6", "registry", None),
        ("included/main.txt", 12, 5, "peft", None, ">=0.12,!=0.13.0", "registry", 'python_version >= "3.10"'),
        ("included/main.txt", 13, 12, "deepspeed", "0.16.3", None, "registry", None),
    ]
    assert skipped(environment) == [
        (5, "-r missing.txt", GONE, True),
        (6, "-r https://files.index.example/team.txt", "is on the network, which gradcompat does not access", True),
        (9, "-r secret.key", "no line is a requirement", True),
        (None, "constraints", "1 of the constraints are about packages that are not required here", False),
    ]


def test_standard_input_has_no_neighbours() -> None:
    environment = of("-r base.txt\ntorch==2.5.1\n")
    assert skipped(environment) == [(1, "-r base.txt", "refers to a file, which standard input cannot provide", True)]


def test_a_constraints_file_itself_is_a_list_of_requirements() -> None:
    assert rows(fixture("included/limits.txt"))[0] == (1, 15, "transformers", "4.49.0", None, "registry", None)


def test_includes_end_at_some_depth(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"-r {number + 1}.txt\np{number}==1\n")
    environment = read(read_document(tmp_path / "0.txt", "0.txt"))
    assert len(environment.packages) == 21
    assert skipped(environment) == [(1, "-r 21.txt", "not read: more than 20 levels or 100 files", True)]


def test_markers_of_requirement_and_constraint_both_hold(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("trl==0.9.6 ; os_name == 'nt'\n")
    (tmp_path / "r.txt").write_text("-c c.txt\ntrl ; python_version > '3.9'\n")
    environment = read(read_document(tmp_path / "r.txt", "r.txt"))
    assert rows(environment) == [
        (1, 6, "trl", "0.9.6", None, "registry", "(python_version > '3.9') and (os_name == 'nt')"),
        (2, 1, "trl", None, "*", "registry", "python_version > '3.9'"),
    ]


def test_what_a_constraints_file_includes_constrains_too(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("-r more.txt\n")
    (tmp_path / "more.txt").write_text("trl==0.9.6\npeft==0.14.0\n")
    (tmp_path / "r.txt").write_text("-c c.txt\ntrl\npeft @ git+https://git.example/hf/peft@main\n")
    assert rows(read(read_document(tmp_path / "r.txt", "r.txt"))) == [
        (1, 6, "trl", "0.9.6", None, "registry", None),
        (3, 1, "peft", None, None, "git", None),
    ]


def test_all_constraints_without_a_marker_hold_together(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(
        "trl<0.10\ntrl!=0.9.1\npeft<1\npeft==0.14.0\npeft==0.15.0\nvllm==1 ; os_name == 'nt'\nvllm==2\n"
    )
    (tmp_path / "r.txt").write_text("-c c.txt\ntrl>=0.9\npeft\nvllm\n")
    assert rows(read(read_document(tmp_path / "r.txt", "r.txt"))) == [
        (2, 4, "trl", None, ">=0.9,<0.10,!=0.9.1", "registry", None),
        (4, 7, "peft", "0.14.0", None, "registry", None),
        (7, 7, "vllm", "2", None, "registry", None),
    ]


def test_what_includes_a_file_is_no_freeze(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("trl==0.9.6\n")
    (tmp_path / "r.txt").write_text("\n".join([*FROZEN, "-r more.txt"]))
    assert not read(read_document(tmp_path / "r.txt", "r.txt")).closed


@pytest.mark.parametrize(
    ("name", "packages", "closed", "python", "platform"),
    [
        ("pip-freeze.txt", 7, False, None, None),
        ("uv-freeze.txt", 9, False, None, None),
        ("uv-compiled.txt", 2, True, "3.11", "linux"),
        ("uv-hashed.txt", 2, True, None, None),
        ("uv-left-out.txt", 3, False, None, None),
        ("uv-export.txt", 4, True, None, None),
        ("pip-compile.txt", 3, True, "3.11", None),
    ],
)
def test_what_tools_write(name: str, packages: int, closed: bool, python: str | None, platform: str | None) -> None:
    environment = fixture(name)
    assert (len(environment.packages), environment.closed, environment.python, environment.platform) == (
        packages,
        closed,
        python,
        platform,
    )
    assert not any(one.gap for one in environment.skipped)


def test_pip_freeze_says_what_an_editable_is_in_a_comment() -> None:
    environment = fixture("conda-freeze.txt")
    place = "conda-freeze.txt"
    assert environment == Environment(
        source=place,
        kind="requirements",
        closed=False,
        packages=(
            Package(name="alpha", version="1.0", location=Location(path=place, line=2, column=8)),
            Package(name="alfred", version="0.0.1", source="editable", location=Location(path=place, line=4, column=1)),
            Package(
                name="my-fork",
                version="4.49.0",
                source="editable",
                unreleased=True,
                location=Location(path=place, line=6, column=1),
            ),
            Package(
                name="other",
                version="1.2",
                source="editable",
                unreleased=True,
                location=Location(path=place, line=9, column=1),
            ),
        ),
        skipped=(
            Skipped(
                what="a requirement",
                reason=FOLDER,
                gap=False,
                location=Location(path=place, line=11, column=4),
            ),
        ),
    )


def test_what_a_tool_left_out_is_installed_nevertheless() -> None:
    assert rows(fixture("pip-compile.txt"))[-1] == (15, 3, "setuptools", None, "*", "registry", None)
    assert rows(fixture("uv-left-out.txt"))[-1] == (9, 3, "markupsafe", None, "*", "registry", None)


HEADER = "# This file was autogenerated by uv via the following command:\n#    uv pip compile"


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("\n".join(FROZEN), True),
        ("\n".join(FROZEN[:-1]), False),
        ("\n".join([*FROZEN, "torch"]), False),
        ("\n".join([*FROZEN, "torch==2.*"]), False),
        ("\n".join([*FROZEN, "torch==2.5.1 ; os_name == 'nt'"]), False),
        ("\n".join([*FROZEN, FROZEN[-1]]), False),
        ("\n".join(FROZEN[::-1]), False),
        ("\n".join([*FROZEN, "torch=2.5.1"]), False),
        ("a==1 --hash=sha256:0\nb==1 --hash=sha256:0", True),
        ("a==1 --hash=sha256:0\nb==1", False),
        (f"{HEADER} a.in\na==1\nb==1", True),
        (f"--index-url=https://index.example\n{HEADER} a.in\na==1", True),
        (f"{HEADER} a.in\na==1\nb>=1", False),
        (f"{HEADER} a.in\na==1\nb==", False),
        (f"{HEADER} --no-deps a.in\na==1", False),
        (f"a==1\n{HEADER} a.in", False),
        (f"{HEADER} a.in\n", False),
        ("# This file is @generated by PDM.\na==1", True),
    ],
)
def test_a_list_is_complete_only_if_the_content_proves_it(text: str, closed: bool) -> None:
    assert of(text).closed is closed


@pytest.mark.parametrize(
    ("options", "python", "platform"),
    [
        ("--python-version 3.12", "3.12", None),
        ("-p 3.12.1 --python-platform windows", "3.12.1", "win32"),
        ("--python-platform=aarch64-apple-darwin", None, "darwin"),
        ("--python-version 3.12 --universal", None, None),
    ],
)
def test_the_header_names_python_and_platform(options: str, python: str | None, platform: str | None) -> None:
    environment = of(f"{HEADER} {options} a.in\na==1")
    assert (environment.python, environment.platform) == (python, platform)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "utf-32"])
def test_encodings_of_windows(encoding: str) -> None:
    text = decode("# größe\r\ntorch==2.5.1\r\n\r\ntrl==0.9.6".encode(encoding), "a.txt")
    assert rows(of(text)) == [
        (2, 8, "torch", "2.5.1", None, "registry", None),
        (4, 6, "trl", "0.9.6", None, "registry", None),
    ]


def test_an_empty_file_and_one_of_comments_have_no_packages() -> None:
    for text in ("", "# torch==2.5.1\n\n   # trl\n"):
        assert of(text) == Environment(source="a.txt", kind="requirements", packages=(), closed=False)


@pytest.mark.parametrize(
    ("text", "line"), [("\n{}\n", 2), ('[{"name": "torch"}]', 1), ("Dear all,\nit does not work", 1)]
)
def test_what_is_no_list_of_requirements(text: str, line: int) -> None:
    with pytest.raises(Malformed) as caught:
        of(text)
    assert str(caught.value) == f"`a.txt:{line}`: no line is a requirement"


def test_a_cut_line_hides_nothing_else() -> None:
    environment = of("torch==2.5.1\ntransformers==")
    assert rows(environment) == [(1, 8, "torch", "2.5.1", None, "registry", None)]
    assert [(line, what, gap) for line, what, _, gap in skipped(environment)] == [(2, "a requirement", True)]


def test_a_comment_needs_a_blank_before_it() -> None:
    assert rows(of("git+https://git.example/x#egg=y # z\na==1 # ==2\nb==1\t# c")) == [
        (1, 1, "y", None, None, "git", None),
        (2, 4, "a", "1", None, "registry", None),
        (3, 4, "b", "1", None, "registry", None),
    ]


def test_continuations() -> None:
    environment = of(
        "torch==\\\n  2.5.1 \\\n --hash=sha256:0\n# c \\\ntrl==1\\\n# d\npeft==1 \\ \n--hash=sha256:0\nlast==1\\"
    )
    assert rows(environment) == [
        (2, 3, "torch", "2.5.1", None, "registry", None),
        (5, 6, "trl", "1", None, "registry", None),
        (9, 7, "last", "1", None, "registry", None),
    ]
    assert [(line, what, gap) for line, what, _, gap in skipped(environment)] == [(7, "a requirement", True)]


def test_a_very_long_file_is_cut_and_says_so() -> None:
    environment = of("#\n" * 15_000 + "torch==2.5.1\n")
    assert environment.packages == ()
    assert skipped(environment) == [(15_001, "a.txt", "is longer than 15,000 lines: the rest is not read", True)]


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["-r a\n", "-c", "-e ", "a==1", "\\\n", " # ", "\n", "@", "=="])).map("".join)
)
def test_any_text_gives_an_environment_or_an_error(text: str) -> None:
    try:
        environment = of(text)
    except SourceError:
        return
    assert all(package.location.line for package in environment.packages)


FREEZE = """\
certifi @ file:///home/conda/feedstock_root/build_artifacts/certifi_1725278078093/work/certifi
numpy @ file:///croot/numpy_and_numpy_base_1682520569166/work/dist/numpy-1.24.3-cp310-cp310-linux_x86_64.whl#sha256=00
idna @ file:///tmp/build/80754af9/idna_1637925883363/work
requests @ file:///C:/b/abs_00000/croot/requests_1690400255172/work
team-data @ file:///home/user/team-data
torch==2.4.1
torchaudio==2.4.1+cu121
torchvision==0.20.0
transformers==4.49.0
"""


def test_what_a_freeze_says_was_built_by_conda_comes_from_conda() -> None:
    environment = read(Document("freeze.txt", FREEZE))
    assert [(one.name, one.version, one.source) for one in environment.packages] == [
        ("certifi", None, "conda"),
        ("numpy", "1.24.3", "conda"),
        ("idna", None, "conda"),
        ("requests", None, "conda"),
        ("team-data", None, "directory"),
        ("torch", "2.4.1", "conda"),
        ("torchaudio", "2.4.1+cu121", "registry"),
        ("torchvision", "0.20.0", "conda"),
        ("transformers", "4.49.0", "registry"),
    ]


def test_torch_of_a_freeze_without_builds_of_conda_comes_from_an_index() -> None:
    environment = read(Document("freeze.txt", "torch==2.4.1\ntorchvision==0.20.0\n"))
    assert {one.source for one in environment.packages} == {"registry"}
