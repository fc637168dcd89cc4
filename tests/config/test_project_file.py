"""Where a project keeps its options, and what is said of a file that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.config.schema import configuration
from gradcompat.errors import UsageError
from gradcompat.model.environment import Location
from tests.conftest import Run
from tests.examples import examples
from tests.suppression.waived import FACTS, LOCK, project, waiver

STATED = {"training.gradient_accumulation_steps": "8", "model.architecture": '"LlavaForConditionalGeneration"'}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_may_stand_in_a_file_of_its_own(here: Path) -> None:
    (here / "gradcompat.toml").write_text(
        'fail-on = "warning"\nunused-waivers = "ignore"\n[settings]\ntraining.seed = 7\n', "utf-8"
    )
    assert configuration(here) == {
        "fail-on": "warning",
        "unused-waivers": "ignore",
        "settings": (("training.seed", 7),),
        "settings-at": (("training.seed", Location(path="gradcompat.toml", line=4, column=10)),),
    }


def test_the_nearest_file_that_keeps_options_counts(here: Path) -> None:
    (here / "gradcompat.toml").write_text("strict = true\n", "utf-8")
    below = here / "services" / "a"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text('[project]\ndependencies = ["gradcompat"]\n', "utf-8")
    assert configuration(below) == {"strict": True}  # the one below keeps none
    (below / "pyproject.toml").write_text('[tool.gradcompat]\nfail-on = "note"\n', "utf-8")
    assert configuration(below) == {"fail-on": "note"}
    assert configuration(here) == {"strict": True}


@pytest.mark.parametrize(
    "text",
    [
        "[tool]\ngradcompat = { strict = true }\n",
        "[ tool . gradcompat ]\nstrict = true\n",
        '["tool"."gradcompat"]\nstrict = true\n',
        "tool.gradcompat.strict = true\n",
        "\ufeff[tool.gradcompat]\nstrict = true\n",
    ],
)
def test_a_table_counts_however_it_is_written(here: Path, text: str) -> None:
    (here / "pyproject.toml").write_text(text, "utf-8")
    assert configuration(here) == {"strict": True}


def test_two_files_of_one_folder_cannot_both_count(here: Path) -> None:
    (here / "gradcompat.toml").write_text("", "utf-8")
    (here / "pyproject.toml").write_text("[project]\nname = 'gradcompat-user'\n", "utf-8")
    assert configuration(here) == {}
    (here / "pyproject.toml").write_text("[tool.gradcompat]\n", "utf-8")
    with pytest.raises(UsageError) as raised:
        configuration(here)
    assert (
        str(raised.value) == "`gradcompat.toml`: `[tool.gradcompat]` of the pyproject.toml beside it keeps options, too"
    )


def test_a_file_that_is_none_is_said(run: Run, here: Path) -> None:
    (here / "gradcompat.toml").mkdir()
    (here / "uv.lock").write_text(LOCK, "utf-8")
    outcome = run("check", "uv.lock")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("error: `gradcompat.toml`: is a folder, not a file\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[waivers]]\nid = \n", "`gradcompat.toml:2`: not valid TOML: Invalid value"),
        ('waivers = "GC-0004"\n', "`gradcompat.toml:1`: `waivers` is not a list"),
        (
            'fail-on = "error"\nwaivers = ["GC-0004"]\n',
            "`gradcompat.toml:2`: `waivers` holds something that is not a table",
        ),
        ('[[waivers]]\nid = "GC-0004"\n', "`gradcompat.toml:1`: a waiver has no `reason`"),
        ('[[waivers]]\nreason = "x"\n', "`gradcompat.toml:1`: a waiver has no `id`"),
        (waiver() + waiver(reason='""'), "`gradcompat.toml:6`: `reason` of a waiver is empty"),
        (waiver(reason='" \\t"'), "`gradcompat.toml:3`: `reason` of a waiver is empty"),
        (waiver(reason="1"), "`gradcompat.toml:3`: `reason` of a waiver is not text"),
        (waiver(id="4"), "`gradcompat.toml:2`: `id` of a waiver is not text"),
        (waiver(until='"soon"'), "`gradcompat.toml:4`: `until` of a waiver is not a date"),
        (waiver(until='"2026-02-30"'), "`gradcompat.toml:4`: `until` of a waiver is not a date"),
        (waiver(until='"20261231"'), "`gradcompat.toml:4`: `until` of a waiver is not a date"),
        (waiver(until="2026-12-31T00:00:00Z"), "`gradcompat.toml:4`: `until` of a waiver is not a date"),
        (waiver(until="20261231"), "`gradcompat.toml:4`: `until` of a waiver is not a date"),
        (waiver(packages='"torch"'), "`gradcompat.toml:4`: `packages` of a waiver is not a table"),
        (waiver(packages="{ torch = 2 }"), "`gradcompat.toml:4`: `packages.torch` of a waiver is not text"),
        (
            waiver(packages='{ torch = "2.5.1" }'),
            "`gradcompat.toml:4`: `packages.torch` of a waiver: "
            "`2.5.1` is not a set of versions: `2.5.1` has no meaning",
        ),
        (waiver(path='""'), "`gradcompat.toml:4`: `path` of a waiver is empty"),
        (waiver(path='"!uv.lock"'), "`gradcompat.toml:4`: `path` of a waiver: `!uv.lock` names no file"),
        (waiver(path='"./uv.lock"'), "`gradcompat.toml:4`: `path` of a waiver: `./uv.lock` names no file"),
        (waiver(path='"# all"'), "`gradcompat.toml:4`: `path` of a waiver: `# all` names no file"),
        (waiver(path='["a"]'), "`gradcompat.toml:4`: `path` of a waiver is not text"),
        (waiver(proof="1"), "`gradcompat.toml:4`: `proof` of a waiver is not text"),
        (waiver(untill="2026-12-31"), "`gradcompat.toml:4`: `untill` is not known in a waiver"),
        ('unused-waivers = "deny"\n', "`gradcompat.toml:1`: `unused-waivers` is `deny`"),
        ("unused-waivers = true\n", "`gradcompat.toml:1`: `unused-waivers` is not a str"),
    ],
)
def test_a_broken_file_is_an_error_with_its_line(here: Path, text: str, message: str) -> None:
    (here / "gradcompat.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError) as raised:
        configuration(here)
    assert str(raised.value) == message


def test_a_broken_waiver_is_never_no_finding(run: Run, here: Path) -> None:
    project(here, waiver(until='"later"'))
    for command in (
        ("check", "uv.lock", *FACTS),
        ("plan", "uv.lock", *FACTS, "--offline"),
        ("fix", "uv.lock", "--dry-run"),
    ):
        outcome = run(*command, "uv.lock")
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err == (
            "error: `gradcompat.toml:4`: `until` of a waiver is not a date\n\n"
            "hint: write the last day, such as 2026-12-31\n"
        )


def test_dates_are_written_in_either_way(here: Path) -> None:
    project(here, waiver(until="2026-12-31"), waiver(until='"2026-12-31"'), waiver())
    assert [one.until for one in configuration(here)["waivers"]] == ["2026-12-31", "2026-12-31", None]


WORDS = st.sampled_from(
    [
        *("[[waivers]]\n", "[tool.gradcompat]\n", "[waivers]\n", "waivers = ", "[", "]", "{", "}", "\n", "=", '"', "'"),
        *("id", "reason", "until", "packages", "path", "proof", " = ", '"GC-0004"', '"x"', "2026-12-31", "0000-00-00"),
        *("1e999", "nan", '"!"', '"\\u0000"', '"a/**"', '"["', "{ torch = '==2' }", "[1, 2]", "# c", '"""', "é", "\\"),
    ]
)


@given(text=st.one_of(st.lists(WORDS, max_size=25).map("".join), st.text(max_size=60)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(300))
def test_any_text_is_read_or_refused(here: Path, text: str) -> None:
    (here / "gradcompat.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    said = None
    try:
        configuration(here)
    except UsageError as error:
        said = error
    assert said is None or (said.path == "gradcompat.toml" and "\n" not in said.message)


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("gradcompat.toml", '[settings]\n"training.seed" = 7\n', 2),
        ("gradcompat.toml", "settings = { training = { seed = 7 } }\n", 1),
        ("pyproject.toml", "# ours\n[tool.gradcompat.settings.training]\nseed = 7\n", 3),
    ],
)
def test_a_setting_that_a_project_keeps_is_shown_where_it_stands(
    run: Run, here: Path, file: str, text: str, line: int
) -> None:
    (here / file).write_text(text, "utf-8")
    assert [place.line for _, place in configuration(here)["settings-at"]] == [line]


def test_reports_name_the_file_that_keeps_a_setting(run: Run, here: Path) -> None:
    (here / "uv.lock").write_text(LOCK, "utf-8")
    kept = "".join(f"{key} = {value}\n" for key, value in STATED.items())
    (here / "gradcompat.toml").write_text(f"[settings]\n{kept}", "utf-8")
    (here / "sub").mkdir()
    (here / "sub" / "uv.lock").write_text(LOCK, "utf-8")
    shown = " ".join(run("check", "uv.lock").out.split())
    assert "training.gradient_accumulation_steps is 8 (gradcompat.toml:2)" in shown
    assert "(--set)" not in shown
    below = " ".join(run("check", "uv.lock", cwd=here / "sub").out.split())
    assert "training.gradient_accumulation_steps is 8 (../gradcompat.toml:2)" in below
    both = run("check", "uv.lock", "--all", "--set", "training.gradient_accumulation_steps=4").out
    assert "training.gradient_accumulation_steps is 4 (--set)" in " ".join(both.split())
    assert "(gradcompat.toml:3)" in " ".join(both.split())
