"""A probe's result as the proof of a waiver. The file was written by a real probe of a transformers 4.49.0 in which the
defect was mended by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.errors import UsageError
from gradcompat.knowledge.load import load
from gradcompat.suppression.waiver_evidence import read_proof
from tests.conftest import Run
from tests.examples import examples
from tests.suppression.waived import FACTS, ID, project, waiver

REAL = Path(__file__).parents[1] / "fixtures" / "probes" / "not_reproduced.json"


def measured() -> dict[str, Any]:
    data = json.loads(REAL.read_text("utf-8"))
    assert isinstance(data, dict)
    return data


def lock(**other: str | None) -> str:
    """A lockfile with the versions of the measurement, but for some."""
    stated = {name.replace("_", "-"): version for name, version in measured()["results"][0]["packages"].items()}
    known = load()
    versions = {name: other.get(name, version) for name, version in stated.items() if known.knows(name)}
    entries = [
        f'[[package]]\nname = "{name}"\nversion = "{version.partition("+")[0]}"\n'
        'source = { registry = "https://index.example/simple" }\n'
        for name, version in versions.items()
        if version is not None
    ]
    return 'version = 1\nrequires-python = ">=3.10"\n\n' + "\n".join(entries)


def checked(run: Run, here: Path, **other: str | None) -> tuple[int, str]:
    project(here, waiver(proof='"proof.json"'), lock=lock(**other))
    outcome = run("check", "uv.lock", *FACTS, "--only", ID, "--show-suppressed")
    return outcome.status, " ".join(outcome.out.split())


@pytest.fixture
def proof(tmp_path: Path) -> Callable[[dict[str, Any]], None]:
    def write(data: dict[str, Any]) -> None:
        (tmp_path / "proof.json").write_text(json.dumps(data), "utf-8")

    write(measured())
    return write


def test_it_holds_for_the_versions_that_were_measured(run: Run, tmp_path: Path, proof: object) -> None:
    status, text = checked(run, tmp_path)
    assert status == 0
    assert "by waiver, gradcompat.toml:1: one step only (proof: proof.json)" in text


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"transformers": "4.49.1"}, "measured with transformers 4.49.0, and uv.lock has 4.49.1"),
        ({"torch": "2.12.0"}, "measured with torch 2.13.0+cpu, and uv.lock has 2.12.0"),
        ({"tokenizers": None}, "measured with tokenizers 0.21.1, and uv.lock has no tokenizers"),
    ],
)
def test_other_versions_are_no_proof(
    run: Run, tmp_path: Path, proof: object, other: dict[str, str | None], said: str
) -> None:
    status, text = checked(run, tmp_path, **other)
    assert status == 1
    assert f"warning: gradcompat.toml:1: unproved waiver of {ID}: proof.json was {said} " in text


def test_another_build_of_the_version_is_none(
    run: Run, tmp_path: Path, proof: Callable[[dict[str, Any]], None]
) -> None:
    project(tmp_path, waiver(proof='"proof.json"'), lock=lock().replace('"2.13.0"', '"2.13.0+cu130"'))
    assert run("check", "uv.lock", *FACTS, "--only", ID).status == 1
    project(tmp_path, waiver(proof='"proof.json"'), lock=lock().replace('"2.13.0"', '"2.13.0+cpu"'))
    assert run("check", "uv.lock", *FACTS, "--only", ID).status == 0


def changed(**values: Any) -> dict[str, Any]:
    data = measured()
    data["results"][0] |= values
    return data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (changed(issues=["GC-0002"]), f"has no result of accumulation_equivalence(model=llava) for {ID}"),
        (changed(parameters={"model": "llama"}), f"has no result of accumulation_equivalence(model=llava) for {ID}"),
        ({"results": []}, f"has no result of accumulation_equivalence(model=llava) for {ID}"),
        (changed(outcome="reproduced"), "says reproduced"),
        (changed(outcome="skipped", state="skipped", reason="no GPU"), "says skipped: no GPU"),
        # What it says of itself does not count: the numbers are judged again.
        (
            changed(measurements={**measured()["results"][0]["measurements"], "loss_ratio": 4.0}),
            "says reproduced: the logged loss is 4 times that of the large batch",
        ),
        (changed(measurements={}), "says inconclusive: the control is not right"),
        (changed(packages={"torch": "2.13.0+cpu"}), "does not say which transformers it was measured with"),
    ],
)
def test_what_does_not_say_so_is_no_proof(
    run: Run, tmp_path: Path, proof: Callable[[dict[str, Any]], None], data: dict[str, Any], said: str
) -> None:
    proof(data)
    status, text = checked(run, tmp_path)
    assert status == 1
    assert f"unproved waiver of {ID}: proof.json {said}" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`proof.json:1`: cannot be the proof of a waiver: not valid JSON: Expecting value"),
        ("[]", "`proof.json`: is not a result of `gradcompat probe`"),
        ('{"results": {}}', "`proof.json`: is not a result of `gradcompat probe`"),
        ('{"results": [1]}', "`proof.json`: is not a result of `gradcompat probe`: `1` is where an object should be"),
        ('{"results": [{}]}', "`proof.json`: is not a result of `gradcompat probe`: it has no 'issues'"),
        (
            json.dumps(changed(outcome=1)),
            "`proof.json`: is not a result of `gradcompat probe`: `1` is where text should be",
        ),
        (json.dumps(changed(state="x")), "`proof.json`: is not a result of `gradcompat probe`: `x` is not a state"),
        (
            json.dumps(changed(packages={"torch": None})),
            "`proof.json`: is not a result of `gradcompat probe`: `None` is where text should be",
        ),
    ],
)
def test_a_file_that_is_none_is_an_error(run: Run, tmp_path: Path, text: str, message: str) -> None:
    project(tmp_path, waiver(proof='"proof.json"'))
    (tmp_path / "proof.json").write_text(text, "utf-8")
    outcome = run("check", "uv.lock", *FACTS)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0] == f"error: {message}"


def test_a_file_that_is_not_there_is_an_error(run: Run, tmp_path: Path) -> None:
    project(tmp_path, waiver(proof='"proof.json"'))
    outcome = run("check", "uv.lock", *FACTS)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(
        "error: `proof.json`: cannot be the proof of a waiver: there is no such file or folder\n"
    )


def test_waive_takes_a_proof_and_refuses_what_is_none(
    run: Run, tmp_path: Path, proof: Callable[[dict[str, Any]], None]
) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "gradcompat.toml").write_text("", "utf-8")
    assert run("waive", ID, "--reason", "mended", "--proof", "../proof.json", cwd=below).status == 0
    assert 'proof = "proof.json"\n' in (tmp_path / "gradcompat.toml").read_text("utf-8")
    refused = run("waive", "GC-0005", "--reason", "mended", "--proof", "proof.json")
    assert refused.status == 2
    assert refused.err.startswith("error: `--proof proof.json` is not a proof: proof.json has no result of ")
    proof(changed(outcome="reproduced"))
    refused = run("waive", ID, "--reason", "mended", "--proof", "proof.json")
    assert refused.err.startswith("error: `--proof proof.json` is not a proof: proof.json says reproduced: ")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(key=st.sampled_from(sorted(measured()["results"][0])), value=VALUES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(200))
def test_any_value_is_read_or_refused(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(changed(**{key: value})), "utf-8")
    try:
        found = read_proof(path, "proof.json")
    except UsageError as error:
        said = str(error)
    else:
        said = f"`{found.shown}`"
    assert said.startswith("`proof.json`")
