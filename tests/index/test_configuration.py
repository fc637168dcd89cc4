"""What pip and uv would use. The orders were compared with the index URLs of pip 23.2 and `uv … --show-settings`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from gradcompat.errors import UsageError
from gradcompat.index.configuration import Arguments, Configuration, RequirementsLine, configuration
from gradcompat.index.credentials import Credential
from gradcompat.index.location import IndexLocation
from gradcompat.index.public import public_index
from gradcompat.index.timestamps import moment

NOW = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
DEFAULT = f"index `{PYPI_SIMPLE_ENDPOINT}`, which is the default"


@dataclass(frozen=True)
class Machine:
    """A project, a home, a virtual environment and an /etc of its own."""

    base: Path

    def write(self, path: str, text: str) -> Path:
        file = self.base / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        return file

    def look(
        self,
        arguments: Arguments | None = None,
        environ: Mapping[str, str] | None = None,
        *,
        start: str = "project",
        platform: str = "linux",
        project: bool = True,
    ) -> Configuration:
        (self.base / start).mkdir(parents=True, exist_ok=True)
        home = {"HOME": str(self.base / "home"), "USERPROFILE": str(self.base / "home")}
        return configuration(
            self.base / start,
            {**home, **(environ or {})},
            arguments=replace(arguments or Arguments(), project_indexes=project),
            prefix=self.base / "venv",
            now=NOW,
            platform=platform,
            root=self.base,
        )

    def where(self, arguments: Arguments | None = None, environ: Mapping[str, str] | None = None) -> list[str]:
        """Its sentences, with the folder of the machine taken out."""
        found = self.look(arguments, environ)
        assert found.notes == ()
        return [one.replace(self.base.as_uri(), "file://").replace(f"{self.base}/", "") for one in found.where]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_searched_above_the_root(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text("", "utf-8")
    (tmp_path / "uv.toml").write_text("[[index]]\nurl = 'https://above.example/'\n", "utf-8")
    assert Machine(tmp_path / "machine").where() == [DEFAULT]


def message(error: UsageError, machine: Machine) -> str:
    return str(error).replace(f"{machine.base}/", "")


def test_without_settings_the_public_index_counts(machine: Machine) -> None:
    found = machine.look()
    assert found.indexes == (IndexLocation(url=PYPI_SIMPLE_ENDPOINT),)
    assert (found.strategy, found.tied, found.exclude_newer) == ("all", {}, None)
    assert (found.where, found.notes) == ((DEFAULT,), ())


# pip: its files and variables.

PIP = {
    "/etc/xdg": "etc/xdg/pip/pip.conf",
    "/etc": "etc/pip.conf",
    "legacy": "home/.pip/pip.conf",
    "user": "home/.config/pip/pip.conf",
    "venv": "venv/pip.conf",
    "PIP_CONFIG_FILE": "named.conf",
}


@pytest.mark.parametrize("present", [list(PIP)[:count] for count in range(1, 6)], ids=lambda present: present[-1])
def test_the_files_of_pip_from_weak_to_strong(machine: Machine, present: list[str]) -> None:
    for number, name in enumerate(present):
        machine.write(PIP[name], f"[global]\nindex-url = https://index.example/{number}\n")
    strongest = len(present) - 1
    assert machine.where() == [f"index `https://index.example/{strongest}` from `{PIP[present[-1]]}:2`"]


def test_a_file_that_is_named_stands_before_all_others_and_in_the_place_of_the_users(machine: Machine) -> None:
    machine.write(PIP["user"], "[global]\nextra-index-url = https://user.example/\nno-index = yes\n")
    machine.write(PIP["venv"], "[global]\nindex-url = https://venv.example/\nextra-index-url = https://more.example/\n")
    named = machine.write(PIP["PIP_CONFIG_FILE"], "[global]\nindex-url = https://named.example/\n")
    assert machine.where(environ={"PIP_CONFIG_FILE": str(named)}) == [
        "index `https://named.example/` from `named.conf:2`",
        "index `https://more.example/` from `venv/pip.conf:3`",
    ]


def test_pip_without_files(machine: Machine) -> None:
    machine.write(PIP["user"], "[global]\nindex-url = https://user.example/\n")
    assert machine.where(environ={"PIP_CONFIG_FILE": os.devnull}) == [DEFAULT]


def test_the_section_of_the_command_stands_before_the_global_one_of_any_file(machine: Machine) -> None:
    machine.write(PIP["/etc"], "[install]\nindex_url = https://install.example/\n")
    machine.write(
        PIP["venv"],
        "[global]\nindex-url = https://global.example/\n"
        "[download]\nindex-url = https://download.example/\nextra-index-url = https://download.example/\n",
    )
    assert machine.where() == ["index `https://install.example/` from `etc/pip.conf:2`"]


def test_values_of_several_lines_and_variables_that_replace_them(machine: Machine) -> None:
    machine.write(
        PIP["user"],
        "# mirrors\n[global]\nINDEX-URL: https://main.example/simple/\nextra-index-url =\n"
        "    https://one.example/\n    https://two.example/  https://main.example/simple\nfind-links = wheels\n",
    )
    assert machine.where() == [
        "index `https://main.example/simple/` from `home/.config/pip/pip.conf:3`",
        "index `https://one.example/` from `home/.config/pip/pip.conf:4`",
        "index `https://two.example/` from `home/.config/pip/pip.conf:4`",
        "files of `file:///project/wheels` from `home/.config/pip/pip.conf:7`",
    ]
    variables = {"PIP_EXTRA_INDEX_URL": "https://three.example/ https://four.example/", "PIP_FIND_LINKS": " "}
    assert machine.where(environ=variables) == [
        "index `https://main.example/simple/` from `home/.config/pip/pip.conf:3`",
        "index `https://three.example/` from `PIP_EXTRA_INDEX_URL`",
        "index `https://four.example/` from `PIP_EXTRA_INDEX_URL`",
        "files of `file:///project/wheels` from `home/.config/pip/pip.conf:7`",
    ]


def test_no_index(machine: Machine) -> None:
    machine.write(PIP["user"], "[global]\nno-index = on\nindex-url = https://main.example/\nfind-links = /wheels\n")
    found = machine.look()
    assert found.indexes == (IndexLocation(url="file:///wheels", find_links=True),)
    assert machine.where() == [
        "no index: `home/.config/pip/pip.conf:2`",
        "files of `file:///wheels` from `home/.config/pip/pip.conf:4`",
    ]
    assert (
        machine.where(environ={"PIP_NO_INDEX": "0"})[0]
        == "index `https://main.example/` from `home/.config/pip/pip.conf:3`"
    )


def test_pip_has_a_limit_in_time_too(machine: Machine) -> None:
    assert (
        machine.look(environ={"PIP_UPLOADED_PRIOR_TO": "2026-01-02T03:04:05Z"}).exclude_newer == "2026-01-02T03:04:05Z"
    )


@pytest.mark.parametrize(
    ("platform", "file", "environ"),
    [
        ("win32", "home/AppData/Roaming/pip/pip.ini", {}),
        ("win32", "home/pip/pip.ini", {}),
        ("win32", "ProgramData/pip/pip.ini", {}),
        ("win32", "venv/pip.ini", {}),
        ("darwin", "home/Library/Application Support/pip/pip.conf", {}),
        ("darwin", "home/.config/pip/pip.conf", {}),
        ("darwin", "Library/Application Support/pip/pip.conf", {}),
        ("linux", "elsewhere/pip/pip.conf", {"XDG_CONFIG_HOME": "elsewhere"}),
        ("linux", "elsewhere/pip/pip.conf", {"XDG_CONFIG_DIRS": "elsewhere"}),
    ],
)
def test_files_of_other_systems(machine: Machine, platform: str, file: str, environ: Mapping[str, str]) -> None:
    machine.write(file, "[global]\nindex-url = https://main.example/\n")
    found = machine.look(None, {key: str(machine.base / value) for key, value in environ.items()}, platform=platform)
    assert [index.url for index in found.indexes] == ["https://main.example/"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("index-url = https://me:secret@x.example\n", "1`: is not a configuration of pip: a setting comes before the"),
        ("[global]\nme:secret@\n  [\nx\n", "4`: is not a configuration of pip: this line is neither a section nor"),
        ("[global]\nindex-url = x\nindex-url = y\n", "3`: is not a configuration of pip: `index-url` appears twice in"),
        ("[global]\n[global]\n", "2`: is not a configuration of pip: the section `[global]` stands twice"),
        ("[global]\nindex-url = ftp://me:secret@x.example/\n", "2`: `ftp://x.example/` is not an address of an index:"),
        ("[global]\nindex-url = https:///simple\n", "2`: `https:///simple` names no host"),
        ("[global]\nindex-url = https://me:secret@[x/\n", "2`: `https://[x/` is not a URL"),
        ("[global]\nindex-url = https://x.example:y/\n", "2`: `https://x.example:y/` is not a URL"),
        ("[global]\nindex-url = https://x.example/ y\n", "2`: `https://x.example/ y` is not a URL: it holds a blank"),
        ("[global]\nno-index = maybe\n", "2`: `maybe` is neither true nor false"),
        ("[global]\nuploaded-prior-to = then\n", "2`: `then` is not a point in time"),
        ("[global]\nindex-url = x\0\n", "`: is binary, not text"),
    ],
)
def test_a_broken_configuration_of_pip(machine: Machine, text: str, expected: str) -> None:
    machine.write(PIP["user"], text)
    with pytest.raises(UsageError) as caught:
        machine.look()
    said = message(caught.value, machine)
    assert said.startswith("`home/.config/pip/pip.conf" + ("" if expected[0] == "`" else ":") + expected)
    assert "secret" not in said


def test_a_configuration_that_cannot_be_read_is_said(machine: Machine) -> None:
    (machine.base / PIP["user"]).mkdir(parents=True)
    found = machine.look(environ={"PIP_CONFIG_FILE": str(machine.base / "gone.conf")})
    assert found.where == (DEFAULT,)
    assert [note.replace(f"{machine.base}/", "") for note in found.notes] == [
        "`home/.config/pip/pip.conf`: is a folder, not a file",
        "`PIP_CONFIG_FILE` names `gone.conf`, which does not exist",
    ]


# uv: its files and variables.


def test_the_files_of_uv_are_joined(machine: Machine) -> None:
    machine.write(
        "project/uv.toml",
        'index-url = "https://pi.example/"\nextra-index-url = ["https://pe.example/"]\nfind-links = ["wheels"]\n'
        'exclude-newer = "3 days"\n[[index]]\nname = "u"\nurl = "https://a.example/"\n'
        '[[index]]\nname = "local"\nurl = "./local"\nexplicit = true\n',
    )
    machine.write(
        "home/.config/uv/uv.toml",
        'index-url = "https://ui.example/"\nextra-index-url = [\n  "https://ue.example/",\n]\n'
        'exclude-newer = "9 days"\n'
        '[[index]]\nname = "u"\nurl = "https://hidden.example/"\n[[index]]\nurl = "https://u.example/"\n',
    )
    machine.write(
        "etc/uv/uv.toml", 'extra-index-url = ["https://etc.example/"]\nindex-strategy = "unsafe-best-match"\n'
    )
    machine.write("project/pyproject.toml", '[tool.uv]\nextra-index-url = ["https://hidden.example/"]\n')
    variables = {"UV_EXTRA_INDEX_URL": "https://x.example/", "UV_FIND_LINKS": "fl,/x y"}
    assert machine.where(environ=variables) == [
        "index `https://pi.example/` from `project/uv.toml:1`",
        "index `https://x.example/` from `UV_EXTRA_INDEX_URL`",
        "index `https://a.example/` from `project/uv.toml:7`",
        "index `https://u.example/` from `home/.config/uv/uv.toml:10`",
        "index `https://pe.example/` from `project/uv.toml:2`",
        "index `https://ue.example/` from `home/.config/uv/uv.toml:3`",
        "index `https://etc.example/` from `etc/uv/uv.toml:1`",
        "files of `file:///project/fl` from `UV_FIND_LINKS`",
        "files of `file:///x%20y` from `UV_FIND_LINKS`",
        "files of `file:///project/wheels` from `project/uv.toml:3`",
        "nothing from 2026-11-17T12:00:00Z on: `project/uv.toml:4`",
    ]
    assert machine.look(environ=variables).strategy == "all"
    assert machine.look(environ={"UV_INDEX_STRATEGY": "first-index"}).strategy == "first"


def test_the_variables_of_uv_stand_before_its_files(machine: Machine) -> None:
    machine.write(
        "project/pyproject.toml",
        '[[tool.uv.index]]\nurl = "https://default.example/"\ndefault = true\n'
        '[[tool.uv.index]]\nurl = "https://more.example/"\n',
    )
    assert machine.where() == [
        "index `https://more.example/` from `project/pyproject.toml:5`",
        "index `https://default.example/` from `project/pyproject.toml:2`",
    ]
    variables = {
        "UV_INDEX_URL": "https://old.example/",
        "UV_INDEX": "named=https://one.example/ https://two.example/?a=b",
        "UV_EXTRA_INDEX_URL": "https://three.example/",
        "UV_EXCLUDE_NEWER": "2026-01-02T03:04:05+01:00",
    }
    assert machine.where(environ=variables) == [
        "index `https://one.example/` from `UV_INDEX`",
        "index `https://two.example/?a=b` from `UV_INDEX`",
        "index `https://three.example/` from `UV_EXTRA_INDEX_URL`",
        "index `https://more.example/` from `project/pyproject.toml:5`",
        "index `https://old.example/` from `UV_INDEX_URL`",
        "nothing from 2026-01-02T02:04:05Z on: `UV_EXCLUDE_NEWER`",
    ]
    found = machine.look(environ={**variables, "UV_DEFAULT_INDEX": "https://new.example/"})
    assert found.indexes[0] == IndexLocation(url="https://one.example/")
    assert found.indexes[-1] == IndexLocation(url="https://new.example/")
    assert found.strategy == "first"


SOURCES = """\
[project]
name = "mine"
[tool.uv.sources]
Torch = [{ index = "cu124", marker = "sys_platform == 'linux'" }, { index = "cpu" }]
vision_tools = { index = "cu124" }
mine = { workspace = true }
other = { git = "https://git.example/other" }
[[tool.uv.index]]
name = "cu124"
url = "https://me:secret@torch.example/cu124"
explicit = true
[[tool.uv.index]]
name = "cpu"
url = "https://torch.example/cpu"
[[tool.uv.index]]
name = "unused"
url = "https://unused.example/"
explicit = true
"""


@pytest.mark.parametrize("beside", [None, 'index-url = "https://main.example/"\n'])
def test_packages_that_are_tied_to_an_index(machine: Machine, beside: str | None) -> None:
    machine.write("project/pyproject.toml", SOURCES)
    if beside is not None:
        machine.write("project/uv.toml", beside)
    found = machine.look()
    cu124, cpu = (IndexLocation(url=f"https://torch.example/{part}") for part in ("cu124", "cpu"))
    if beside is None:
        assert found.indexes == (cpu, IndexLocation(url=PYPI_SIMPLE_ENDPOINT))
    else:
        assert found.indexes == (IndexLocation(url="https://main.example/"),)
    assert found.tied == {"torch": (cu124, cpu), "vision-tools": (cu124,)}
    assert found.credentials.of("https://torch.example/cu124/torch/") == Credential("me", "secret")
    assert "secret" not in repr(found)
    assert machine.look(Arguments(no_index=True)).tied == {}


def test_settings_are_searched_for_from_the_root_of_the_workspace(machine: Machine) -> None:
    machine.write(
        "work/pyproject.toml",
        '[tool.uv]\nindex-url = "https://root.example/"\n[tool.uv.workspace]\nmembers = ["packages/*"]\n'
        'exclude = ["packages/apart"]\n[tool.uv.sources]\ntorch = { index = "i" }\ntrl = { index = "i" }\n'
        '[[tool.uv.index]]\nname = "i"\nurl = "https://i.example/"\nexplicit = true\n',
    )
    own = '[tool.uv]\nindex-url = "https://{0}.example/"\n[tool.uv.sources]\ntorch = {{ index = "{0}" }}\n'
    index = '[[tool.uv.index]]\nname = "{0}"\nurl = "https://{0}.example/i"\nexplicit = true\n'
    for name in ("one", "apart"):
        machine.write(f"work/packages/{name}/pyproject.toml", (own + index).format(name))
    member = machine.look(start="work/packages/one")
    assert [one.url for one in member.indexes] == ["https://root.example/"]
    assert member.tied == {
        "torch": (IndexLocation(url="https://one.example/i"),),
        "trl": (IndexLocation(url="https://i.example/"),),
    }
    apart = machine.look(start="work/packages/apart")
    assert [one.url for one in apart.indexes] == ["https://apart.example/"]
    assert apart.tied == {"torch": (IndexLocation(url="https://apart.example/i"),)}
    below = machine.look(start="work/docs")
    assert below.indexes[0].url == "https://root.example/"


def test_one_file_of_uv_instead_of_all_others_or_none(machine: Machine) -> None:
    machine.write("project/uv.toml", 'index-url = "https://project.example/"\n')
    machine.write("home/.config/uv/uv.toml", 'index-url = "https://user.example/"\n')
    named = machine.write("named.toml", 'extra-index-url = ["https://named.example/"]\n')
    assert machine.where(environ={"UV_CONFIG_FILE": str(named)}) == [
        "index `https://named.example/` from `named.toml:1`",
        DEFAULT,
    ]
    assert machine.where(environ={"UV_NO_CONFIG": "1"}) == [DEFAULT]
    with pytest.raises(UsageError) as caught:
        machine.look(environ={"UV_CONFIG_FILE": "gone.toml"})
    assert str(caught.value) == "`UV_CONFIG_FILE`: names `gone.toml`, which cannot be read"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("index-url = \n", "project/uv.toml:1`: not valid TOML: Invalid value"),
        ("\nindex-url = 1\n", "project/uv.toml:2`: `index-url` is not a text"),
        ('index-url = "ftp://me:secret@x.example"\n', "project/uv.toml:1`: `ftp://x.example` is not an address of an"),
        ("extra-index-url = 'https://x.example'\n", "project/uv.toml:1`: `extra-index-url` is not a list"),
        ("extra-index-url = [\n'https://x.example',\n2]\n", "project/uv.toml:3`: `extra-index-url` is not a text"),
        ("index = 1\n", "project/uv.toml:1`: `index` is not a list of tables"),
        ("index = [1]\n", "project/uv.toml:1`: `index` is not a list of tables"),
        ("[[index]]\nname = 'x'\n", "project/uv.toml:1`: `url` is not a text"),
        (
            "[[index]]\nname = 'a b'\nurl = 'x'\n",
            "project/uv.toml:1`: `a b` is not a valid index name: letters, digits,",
        ),
        ("[[index]]\nurl = 'x'\ndefault = 'no'\n", "project/uv.toml:1`: `default` is neither true nor false"),
        ("no-index = 'x'\n", "project/uv.toml:1`: `no-index` is neither true nor false"),
        ("index-strategy = 'best'\n", "project/uv.toml:1`: `best` is not an index strategy"),
        ("exclude-newer = 'then'\n", "project/uv.toml:1`: `then` is not a point in time"),
        ("exclude-newer = 2026-01-01\n", "project/uv.toml:1`: `exclude-newer` is not a text"),
    ],
)
def test_a_broken_uv_toml(machine: Machine, text: str, expected: str) -> None:
    machine.write("project/uv.toml", text)
    with pytest.raises(UsageError) as caught:
        machine.look()
    assert message(caught.value, machine).startswith("`" + expected)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool]\nuv = 1\n", "`project/pyproject.toml`: `tool.uv` is not a table"),
        ("[tool.uv]\nsources = 1\n", "`project/pyproject.toml:2`: `sources` is not a table"),
        (
            "[tool.uv.sources]\ntorch = { index = 'x' }\n",
            "`project/pyproject.toml:2`: `torch` names the index `x`, which is not declared",
        ),
    ],
)
def test_a_broken_pyproject(machine: Machine, text: str, expected: str) -> None:
    machine.write("project/pyproject.toml", text)
    with pytest.raises(UsageError) as caught:
        machine.look()
    assert message(caught.value, machine) == expected


@pytest.mark.parametrize("text", ["tool = 1\n", "[tool.poetry]\n", "[project]\nname = 'x'\n", ""])
def test_a_pyproject_that_is_none_of_uvs(machine: Machine, text: str) -> None:
    machine.write("project/pyproject.toml", text)
    assert machine.where() == [DEFAULT]


def test_a_limit_of_single_packages_is_said_to_be_passed_over(machine: Machine) -> None:
    machine.write("project/uv.toml", "[exclude-newer-package]\ntorch = '2026-01-01'\n")
    note = f"`{machine.base}/project/uv.toml:1`: `exclude-newer-package` is not taken into account"
    assert machine.look().notes == (note,)


# Whose settings count.

BOTH = {"PIP_INDEX_URL": "https://pip.example/", "UV_INDEX_URL": "https://uv.example/"}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("project/uv.lock", ["index `https://uv.example/` from `UV_INDEX_URL`"]),
        ("uv.lock", ["index `https://uv.example/` from `UV_INDEX_URL`"]),
        ("project/uv.toml", ["index `https://uv.example/` from `UV_INDEX_URL`"]),
        ("project/requirements.txt", ["index `https://pip.example/` from `PIP_INDEX_URL`"]),
    ],
)
def test_the_tool_of_the_project_decides(machine: Machine, file: str, expected: list[str]) -> None:
    machine.write(file, "")
    assert machine.where(environ=BOTH) == expected
    assert machine.look(environ=BOTH).strategy == ("first" if "uv" in expected[0] else "all")


def test_where_the_tool_of_the_project_names_no_index_the_other_one_does(machine: Machine) -> None:
    assert machine.where(environ={"UV_INDEX_URL": BOTH["UV_INDEX_URL"], "UV_EXCLUDE_NEWER": "1 day"}) == [
        "index `https://uv.example/` from `UV_INDEX_URL`",
        "nothing from 2026-11-19T12:00:00Z on: `UV_EXCLUDE_NEWER`",
    ]
    machine.write("project/uv.toml", "exclude-newer = 'P2D'\n")
    assert machine.where(environ={"PIP_INDEX_URL": BOTH["PIP_INDEX_URL"], "PIP_UPLOADED_PRIOR_TO": "P5D"}) == [
        "index `https://pip.example/` from `PIP_INDEX_URL`",
        "nothing from 2026-11-18T12:00:00Z on: `project/uv.toml:1`",
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("find-links = /wheels", [DEFAULT, "files of `file:///wheels` from `venv/pip.conf:2`"]),
        ("no-index = 1", ["no index: `venv/pip.conf:2`"]),
        ("timeout = 1", ["index `https://uv.example/` from `UV_INDEX_URL`"]),
    ],
)
def test_files_to_find_and_no_index_are_said_about_indexes_too(
    machine: Machine, settings: str, expected: list[str]
) -> None:
    machine.write("venv/pip.conf", f"[global]\n{settings}\n")
    assert machine.where(environ={"UV_INDEX_URL": BOTH["UV_INDEX_URL"]}) == expected


def test_settings_of_the_other_tool_do_not_break_anything(machine: Machine) -> None:
    machine.write("project/uv.toml", 'index-url = "https://main.example/"\n')
    machine.write(PIP["user"], "broken\n")
    assert machine.where() == ["index `https://main.example/` from `project/uv.toml:1`"]


# Arguments, and options in requirements files.


def test_arguments_stand_before_everything(machine: Machine) -> None:
    arguments = Arguments(
        index_url="https://me:secret@asked.example/",
        extra_index_urls=("https://more.example/",),
        find_links=("wheels",),
        exclude_newer="2026-05-06T07:08:09.5Z",
    )
    variables = {**BOTH, "PIP_EXTRA_INDEX_URL": "https://extra.example/", "PIP_UPLOADED_PRIOR_TO": "P1D"}
    assert machine.where(arguments, variables) == [
        "index `https://asked.example/` from `--index-url`",
        "index `https://extra.example/` from `PIP_EXTRA_INDEX_URL`",
        "index `https://more.example/` from `--extra-index-url`",
        "files of `file:///project/wheels` from `--find-links`",
        "nothing from 2026-05-06T07:08:09.500000Z on: `--exclude-newer`",
    ]
    found = machine.look(arguments, variables)
    assert found.credentials.of("https://asked.example/torch/") == Credential("me", "secret")
    assert "secret" not in repr(found)
    assert "secret" not in repr(arguments)
    assert machine.where(Arguments(no_index=True), BOTH) == ["no index: `--no-index`"]


def test_for_uv_the_main_index_is_asked_last(machine: Machine) -> None:
    machine.write("project/uv.toml", 'extra-index-url = ["https://extra.example/"]\n')
    arguments = Arguments(index_url="https://asked.example/", extra_index_urls=("https://more.example/",))
    assert machine.where(arguments) == [
        "index `https://more.example/` from `--extra-index-url`",
        "index `https://extra.example/` from `project/uv.toml:1`",
        "index `https://asked.example/` from `--index-url`",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            Arguments(index_url="ftp://me:secret@x.example/"),
            "`--index-url`: `ftp://x.example/` is not an address of an",
        ),
        (Arguments(extra_index_urls=["https://"]), "`--extra-index-url`: `https://` names no host"),
        (Arguments(find_links=["\0"]), "`--find-links`: `\0` is neither a URL nor a path"),
        (Arguments(exclude_newer="soon"), "`--exclude-newer`: `soon` is not a point in time"),
    ],
)
def test_arguments_that_make_no_sense(machine: Machine, arguments: Arguments, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        machine.look(arguments)
    assert str(caught.value).startswith(expected)
    assert "secret" not in str(caught.value)


def lines(*texts: str) -> Arguments:
    return Arguments(
        lines=[RequirementsLine(text=text, path="req/r.txt", line=number) for number, text in enumerate(texts, start=1)]
    )


def test_options_of_requirements_files(machine: Machine) -> None:
    machine.write("project/req/wheels/x.whl", "")
    asked = lines(
        "--index-url https://${USER_NAME}:${TOKEN}@main.example/${UNSET}  # ours",
        "--extra-index-url=https://forgotten.example/ -f wheels",
        "--find-links elsewhere --pre --trusted-host a.example",
        "-ihttps://main.example/last",
        "--extra-index-url https://a.example/",
        "--hash=sha256:00 --no-binary :all:",
    )
    variables = {"PIP_EXTRA_INDEX_URL": "https://extra.example/", "USER_NAME": "me", "TOKEN": "secret"}
    assert machine.where(asked, variables) == [
        "index `https://main.example/last` from `req/r.txt:4`",
        "index `https://a.example/` from `req/r.txt:5`",
        "files of `file:///project/req/wheels` from `req/r.txt:2`",
        "files of `file:///project/elsewhere` from `req/r.txt:3`",
    ]
    first = machine.look(lines("-i https://${USER_NAME}:${TOKEN}@main.example/${UNSET}"), variables)
    assert first.indexes == (IndexLocation(url="https://main.example/${UNSET}"),)
    assert first.credentials.of("https://main.example/") == Credential("me", "secret")
    assert machine.where(lines("--no-index"), variables) == ["no index: `req/r.txt:1`"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--index-url", "`req/r.txt:1`: `--index-url` has no value"),
        ("--extra-index-url=", "`req/r.txt:1`: `--extra-index-url` has no value"),
        ("-f 'x", "`req/r.txt:1`: has a quotation mark without its other half"),
        ("-i gopher://x.example", "`req/r.txt:1`: `gopher://x.example` is not an address of an index: only http, "),
    ],
)
def test_options_of_requirements_files_that_make_no_sense(machine: Machine, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        machine.look(lines(text))
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, False),
        ({"PIP_KEYRING_PROVIDER": "subprocess"}, True),
        ({"PIP_KEYRING_PROVIDER": "import"}, False),
        ({"UV_KEYRING_PROVIDER": "subprocess"}, True),
        ({"UV_KEYRING_PROVIDER": "disabled"}, False),
    ],
)
def test_keyring_is_asked_if_the_configuration_says_so(
    machine: Machine, environ: Mapping[str, str], expected: bool
) -> None:
    found = machine.look(Arguments(index_url="https://me@main.example/"), {**environ, "PATH": str(machine.base)})
    assert found.credentials.of("https://main.example/") is None
    said = ["the command `keyring` is requested by the configuration, but was not found"]
    assert found.credentials.notes == (said if expected else [])


# Points in time.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-10-24T08:15:07Z", "2024-10-24T08:15:07Z"),
        ("2024-10-24 08:15:07.123456789+02:00", "2024-10-24T06:15:07.123456Z"),
        ("7 days", "2026-11-13T12:00:00Z"),
        ("1 week, 2days 3 h", "2026-11-11T09:00:00Z"),
        ("P1W2DT3H4M5S", "2026-11-11T08:55:55Z"),
        ("24 hours ago", "2026-11-19T12:00:00Z"),
        ("", None),
        ("P", None),
        ("ago", None),
        ("2024-02-30", None),
        ("0000-01-01", None),
        ("9999-12-31", None),
        ("999999999 weeks", None),
        ("2024-10-24T25:00:00Z", None),
        ("1 month", None),
        ("٢٠٢٤-10-24", None),
    ],
)
def test_moments(text: str, expected: str | None) -> None:
    assert moment(text, NOW, whole_day=True) == expected


def test_a_date_is_of_this_machine_and_for_uv_includes_its_day(machine: Machine) -> None:
    def midnight(day: int) -> str:
        return datetime(2024, 10, day).astimezone(timezone.utc).isoformat().replace("+00:00", "Z")

    assert moment("2024-10-24", NOW, whole_day=False) == midnight(24)
    assert moment("2024-10-24", NOW, whole_day=True) == midnight(25)
    assert machine.look(environ={"UV_EXCLUDE_NEWER": "2024-10-24"}).exclude_newer == midnight(25)
    assert machine.look(Arguments(exclude_newer="2024-10-24")).exclude_newer == midnight(25)
    assert machine.look(environ={"PIP_UPLOADED_PRIOR_TO": "2024-10-24"}).exclude_newer == midnight(24)


@given(st.text(max_size=40))
def test_any_text_is_a_moment_or_none(text: str) -> None:
    found = moment(text, NOW, whole_day=True)
    assert found is None or found.endswith("Z")


@given(text=st.text(max_size=200), name=st.sampled_from(["pip.conf", "uv.toml", "pyproject.toml"]))
def test_any_file_is_settings_or_a_clear_error(text: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    machine = Machine(tmp_path_factory.mktemp("any"))
    machine.write("venv/pip.conf" if name == "pip.conf" else f"project/{name}", text)
    try:
        said = machine.look().where
    except UsageError as error:
        said = (error.message,) if error.path is not None else ()
    assert said
    assert not any("\n" in one for one in said)


PROJECT_INDEXES = """\
[[tool.uv.index]]
name = "private"
url = "https://me:secret@evil.example/simple"
[[tool.uv.index]]
name = "cuda"
url = "https://wheels.example/cu124"
explicit = true
[tool.uv]
find-links = ["https://evil.example/links", "wheels", "../elsewhere"]
[tool.uv.sources]
torch = { index = "cuda" }
numpy = { index = "private" }
"""


def test_what_only_the_project_names_is_not_asked(machine: Machine) -> None:
    machine.write("project/pyproject.toml", PROJECT_INDEXES)
    (machine.base / "project" / "wheels").mkdir()
    found = machine.look(project=False)
    assert [one.url for one in found.indexes] == [public_index(), (machine.base / "project" / "wheels").as_uri()]
    assert sorted(found.held) == ["numpy", "torch"]
    assert found.held["torch"].startswith("it comes from `https://wheels.example/cu124`, which only the project names")
    (note,) = found.notes
    assert "https://evil.example/simple" in note
    assert "https://evil.example/links" in note
    assert "and for 2 of its packages no index is queried" in note
    assert "secret" not in note
    assert found.tied == {}
    assert machine.look().held == {}


@pytest.mark.parametrize(
    "environ", [{"UV_INDEX": "https://wheels.example/cu124/"}, {"PIP_EXTRA_INDEX_URL": "https://wheels.example/cu124"}]
)
def test_what_the_user_names_too_is_asked(machine: Machine, environ: dict[str, str]) -> None:
    machine.write("project/pyproject.toml", PROJECT_INDEXES)
    found = machine.look(environ=environ, project=False)
    assert sorted(found.held) == ["numpy"]
    assert [one.url.rstrip("/") for one in found.tied["torch"]] == ["https://wheels.example/cu124"]
    asked = machine.look(Arguments(extra_index_urls=["https://evil.example/simple"]), project=False)
    assert sorted(asked.held) == ["torch"]


def test_settings_of_the_user_are_not_those_of_the_project(machine: Machine) -> None:
    machine.write("home/.config/uv/uv.toml", 'index-url = "https://mirror.example/simple"\n')
    machine.write("project/uv.toml", 'index-url = "https://evil.example/simple"\n')
    found = machine.look(project=False)
    assert [one.url for one in found.indexes] == ["https://mirror.example/simple"]
    assert "https://evil.example/simple" in found.notes[0]
