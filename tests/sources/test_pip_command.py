from __future__ import annotations

from dataclasses import replace

import pytest

from gradcompat.formats.shell import Variables, commands
from gradcompat.model.environment import Location, Package, Skipped
from gradcompat.sources.pip_command import MAX_SCRIPT, AuditRequest, Script, read_script

Pin = tuple[str, str | None, str | None, int]


def included(name: str, location: Location) -> tuple[tuple[Package, ...], tuple[Skipped, ...]]:
    return (Package(name=f"from-{name}", version="1", location=location),), ()


def asked_by(text: str, variables: Variables | None = None, *, braces: bool = False) -> AuditRequest:
    asked = AuditRequest()
    script = Script(text, lambda offset: Location(path="x", line=1, column=offset + 1), included, braces)
    read_script(script, variables or {}, asked)
    return asked


def pins(text: str, variables: Variables | None = None) -> list[tuple[str, str | None]]:
    """Each name, with its version or with its range."""
    return [(package.name, package.version or package.specifier) for package in asked_by(text, variables).packages]


@pytest.mark.parametrize(
    "command",
    [
        "pip install torch==2.5.1",
        "pip3 install torch==2.5.1",
        "pip3.11 --no-cache-dir install -q 'torch==2.5.1'",
        "/opt/venv/bin/pip install --upgrade -i https://index.example/simple torch==2.5.1",
        "python -m pip install --index-url=https://index.example torch==2.5.1",
        "python3.11 -I -m pip install torch==2.5.1 --no-deps",
        "uv pip install --system --torch-backend cu124 torch==2.5.1",
        "uv --directory app add --group train torch==2.5.1",
        "FLAG=1 OTHER='a b' pip install torch==2.5.1",
        "sudo -E -u root env A=1 pip install torch==2.5.1",
        "conda run -n train --no-capture-output pip install torch==2.5.1",
        "cd /app && if [ -f x ]; then pip install torch==2.5.1; fi || true",
        "(pip show torch >/dev/null 2>&1 || pip install torch==2.5.1)",
        "bash -exc 'set -e; pip install torch==2.5.1'",
        "sh -c \"bash -c 'pip install torch==2.5.1'\"",
        "pip install -U \\\n  torch==2.5.1 # trl==0.1",
        "V=2.5.1; pip install torch==$V",
        'export V="2.5.1" && pip install "torch==${V}"',
        "pip install torch==${V:-2.5.1}",
        "for i in 1 2; do pip install torch==2.5.1; done",
        "cat <<EOF > x\npip install torch==1.0\nEOF\npip install torch==2.5.1",
    ],
)
def test_commands_that_install(command: str) -> None:
    asked = asked_by(command)
    assert [(package.name, package.version) for package in asked.packages] == [("torch", "2.5.1")]
    assert asked.skipped == []


@pytest.mark.parametrize(
    "command",
    [
        "",
        "# pip install torch==2.5.1",
        "echo pip install torch==2.5.1",
        "echo 'pip install torch==2.5.1'",
        "pip download torch==2.5.1",
        "pip wheel -w /wheels torch==2.5.1",
        "pip show torch",
        "python -m pipx install torch",
        "python setup.py pip install torch",
        "apt-get install -y python3-pip",
        "pip config set global.index-url https://index.example",
        "cat <<EOF\npip install torch==2.5.1\nEOF",
        "pip install",
        "pip install --index-url",
    ],
)
def test_commands_that_do_not(command: str) -> None:
    assert asked_by(command) == AuditRequest()


def test_packages_of_one_command_with_their_columns() -> None:
    text = (
        """pip install "accelerate>=1.0,<2" 'peft[x]==0.14.0' trl -e git+https://host/a/b.git@v1.2.0#egg=b -r r.txt"""
    )
    assert asked_by(text).packages == [
        Package(name="accelerate", version=None, specifier=">=1.0,<2", location=at(text, ">=1.0")),
        Package(name="peft", version="0.14.0", asked_extras=("x",), location=at(text, "0.14.0")),
        Package(name="trl", version=None, specifier="*", location=at(text, "trl")),
        Package(name="b", version="1.2.0", source="git", location=at(text, "1.2.0")),
        Package(name="from-r.txt", version="1", location=at(text, "r.txt")),
    ]


def at(text: str, part: str) -> Location:
    return Location(path="x", line=1, column=text.index(part) + 1)


def test_requirements_in_every_spelling() -> None:
    text = "pip install -ra.txt --requirement=b.txt --requirement c.txt -r d.txt -c e.txt"
    assert [package.name for package in asked_by(text).packages] == [
        "from-a.txt",
        "from-b.txt",
        "from-c.txt",
        "from-d.txt",
    ]
    reason = "constrains versions, and is not read"
    assert asked_by(text).skipped == [Skipped(what="e.txt", reason=reason, gap=False, location=at(text, "e.txt"))]


@pytest.mark.parametrize(
    ("sign", "text"), [(">", "pip install trl xgrammar>=0.1.33 timm"), ("<", "pip install trl xgrammar<1 timm")]
)
def test_unquoted_range_is_a_redirection(sign: str, text: str) -> None:
    asked = asked_by(text)
    assert [(package.name, package.specifier) for package in asked.packages] == [
        ("trl", "*"),
        ("xgrammar", "*"),
        ("timm", "*"),
    ]
    reason = f"the shell reads the unquoted `{sign}` after it as a redirection: any version is accepted"
    assert asked.skipped == [Skipped(what="xgrammar", reason=reason, gap=False, location=at(text, "xgrammar"))]


@pytest.mark.parametrize(
    "text", ["pip install trl >log", "pip install trl 2>&1", "pip install trl &>log", "pip install trl>&2 2>x"]
)
def test_other_redirections_take_nothing_away(text: str) -> None:
    assert pins(text) == [("trl", "*")]


@pytest.mark.parametrize(
    ("text", "word", "name"),
    [
        ("pip install torch==${TORCH}", "torch==${TORCH}", "$TORCH"),
        ('pip install "torch>=$TORCH"', "torch>=$TORCH", "$TORCH"),
        ("pip install torch==${TORCH%.*}", "torch==${TORCH%.*}", None),
        ("pip install torch==$(cat version)", "torch==$(cat version)", None),
        ("pip install torch==`cat version`", "torch==`cat version`", None),
        ("if x; then TORCH=2.5; fi; pip install torch==$TORCH", "torch==$TORCH", "$TORCH"),
        ("for TORCH in 2.5 2.6; do pip install torch==$TORCH; done", "torch==$TORCH", "$TORCH"),
        ("TORCH=$(date); pip install torch==$TORCH", "torch==$TORCH", "$TORCH"),
    ],
)
def test_version_that_is_not_known_here(text: str, word: str, name: str | None) -> None:
    asked = asked_by(text)
    place = replace(at(text, word))
    assert asked.packages == [Package(name="torch", version=None, specifier="*", location=place)]
    told = "a command or an expression" if name is None else f"`{name}`"
    assert asked.skipped == [Skipped(what="torch", reason=f"depends on {told}, whose value is unknown", location=place)]


def test_requirement_that_is_not_known_here() -> None:
    assert [skipped.gap for skipped in asked_by("pip install $PACKAGES git+$URL $PIP_ARGS").skipped] == [
        True,
        True,
        False,
    ]
    assert asked_by("pip install torch=={v}", braces=True).packages[0].version is None
    assert asked_by("pip install torch=={v}").skipped[0].gap


def test_a_variable_may_hold_several_words_and_is_not_split_in_quotes() -> None:
    variables: Variables = {"A": "torch==2.5.1  trl", "B": "torch==2.5.1"}
    assert pins("pip install $A", variables) == [("torch", "2.5.1"), ("trl", "*")]
    assert pins("pip install \"$B\" '$B'", variables) == [("torch", "2.5.1")]


def test_conda() -> None:
    text = "mamba install -y -n x -c pytorch pytorch::pytorch=2.5 numpy==1.26.4 'scipy>=1.10' python=$PY zlib"
    asked = asked_by(text)
    assert [(package.name, package.version, package.specifier, package.source) for package in asked.packages] == [
        ("pytorch", None, "==2.5.*", "conda"),
        ("numpy", "1.26.4", None, "conda"),
        ("scipy", None, ">=1.10", "conda"),
        ("python", None, "*", "conda"),
        ("zlib", None, "*", "conda"),
    ]
    assert [skipped.what for skipped in asked.skipped] == ["a requirement"]


@pytest.mark.parametrize(
    ("command", "reason", "gap"),
    [
        ("conda env create -f environment.yml", "is a file by itself", False),
        ("micromamba env update -n base --file=env/gpu.yaml", "is a file by itself", False),
        ("conda env create -f $FILE", "is a file of conda, which is not read from here", True),
        ("conda install --file specs.txt", "is a file of conda, which is not read from here", True),
    ],
)
def test_a_file_of_conda(command: str, reason: str, gap: bool) -> None:
    assert [(one.reason, one.gap) for one in asked_by(command).skipped] == [(reason, gap)]


def test_what_is_taken_away_or_comes_from_a_lockfile() -> None:
    asked = asked_by("pip install trl peft && pip uninstall -y torch trl && uv sync --frozen")
    assert [package.name for package in asked.packages] == ["peft"]
    assert asked.uninstalled == {"torch", "trl"}
    assert [(skipped.what, skipped.reason, skipped.gap) for skipped in asked.skipped] == [
        ("uv sync", "installs what a lockfile says, which is a file by itself", False),
    ]


def test_limits() -> None:
    [skipped] = asked_by("pip install " + "a" * MAX_SCRIPT).skipped
    assert (skipped.reason, skipped.gap) == ("is longer than 256 KiB", True)
    nested = "pip install torch"
    for _ in range(8):
        nested = "bash -c '" + nested.replace("'", "'\\''") + "'"
    [skipped] = asked_by(nested).skipped
    assert (skipped.reason, skipped.gap) == ("shells in shells, too deep to be read", True)
    bomb = "A=xxxxxxxx;" + "A=$A$A;" * 64 + "pip install " + "$A " * 10
    assert asked_by(bomb).packages == []


@pytest.mark.parametrize(
    "text", ["'", '"', "`", "$(", "${", "$", "\\", "a>", "<<E", "((", "}", "a\\\n", '"$(', "${a:-", "\0"]
)
def test_what_is_not_closed_ends_with_the_text(text: str) -> None:
    assert all(command.words or command.redirects for command in commands(f"pip install a {text}", {}))
