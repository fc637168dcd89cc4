"""Whatever stands in a line that nobody understands, no report shows it; and no address keeps its credentials."""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gradcompat import redaction
from gradcompat.dependency_formats import BY_KIND, by_name
from gradcompat.errors import GradcompatError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Skipped
from gradcompat.quotation import parser_reason, quoted, reference
from gradcompat.redaction import is_token, redact
from gradcompat.scanners.any_config import scan
from gradcompat.sources.any_format import read, read_as
from tests.examples import examples
from tests.secrets.running import CANARY, FORMATS, leaked, run, write
from tests.source_trees import module_name, source_trees

CELL = '{{"cells": [{{"cell_type": "code", "source": {}}}], "metadata": {{}}, "nbformat": 4}}'


def planted(line: str) -> dict[str, str]:
    """A file of each format with that line where nobody understands it, and below it what is understood."""
    word = json.dumps(line)
    cell = CELL.format(json.dumps([f"!pip install torch==2.1.0 {word}\n", f"import torch\n{line}\n"]))
    return {
        "requirements.txt": f"torch==2.1.0\nnumpy==1.26\n{line}\n",
        "environment.yml": f"dependencies:\n- numpy\n- {word}\n- pip:\n  - torch==2.1.0\n  - numpy==1.26\n  - {word}\n",
        "broken.yml": f"dependencies:\n- numpy\n{line}: [\n",
        "pyproject.toml": f"[project]\nname = 'a'\ndependencies = ['torch==2.1.0', {word}]\n",
        "uv.lock": f"version = 1\n[[package]]\nname = {word}\nversion = '1'\n"
        f"[[package]]\nname = 'torch'\nversion = {word}\n",
        "forked/uv.lock": f"version = 1\n[[package]]\nname = 'torch'\nversion = '1'\nresolution-markers = [{word}]\n"
        f"[[package]]\nname = 'torch'\nversion = '2'\nresolution-markers = [{word}]\n",
        "poetry.lock": f"[[package]]\nname = 'torch'\nversion = '1'\n{line}\n",
        "marked/poetry.lock": f"[[package]]\nname = 'torch'\nversion = '1'\nmarkers = {word}\n"
        "[metadata]\nlock-version = '2.1'\ncontent-hash = ''\n",
        "pylock.toml": f"lock-version = '1.0'\n[[packages]]\nname = {word}\nversion = '1'\n"
        f"[[packages]]\nname = 'torch'\nversion = {word}\nmarker = {word}\n",
        "pdm.lock": f"[metadata]\nlock_version = '4.5'\n[[package]]\nname = 'torch'\nversion = {word}\nref = {word}\n",
        "Pipfile.lock": f'{{"_meta": {{}}, "default": {{"torch": {{"version": {word}}}, {word}: 1, '
        f'"numpy": {{"version": "==2.1.0", "markers": {word}}}}}}}',
        "setup.py": f"from setuptools import setup\nsetup(install_requires=['torch==2.1.0', {word}])\n",
        "setup.cfg": f"[options]\ninstall_requires =\n  torch==2.1.0\n  {line}\n",
        "conda-lock.yml": f"metadata: {{}}\npackage:\n- name: torch\n  manager: {word}\n- name: {word}\n",
        "pixi.lock": f"version: 6\nenvironments:\n  {word}: 1\npackages:\n- conda: {word}\n",
        "Dockerfile": f'FROM python:3.11\nARG SECRET={word}\nRUN pip install torch==2.1.0 "$SECRET" {word}\n',
        "install.ipynb": cell,
        "install.sh": f'SECRET={word}\npip install torch==2.1.0 "$SECRET" {word}\n{line}\n',
        "bom.cdx.json": json.dumps({"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{"purl": line}]}),
        "licences.spdx.json": json.dumps({"spdxVersion": line, "packages": [{"name": "torch"}]}),
        "pip-inspect.json": json.dumps(
            {
                "version": "1",
                "pip_version": "25.0",
                "environment": {"python_version": line},
                "installed": [{"metadata": {"name": "torch", "version": line}}, {"metadata": {"name": line}}],
            }
        ),
        "collect_env.txt": f"PyTorch version: 2.5.1\nCUDA used to build PyTorch: {line}\n[pip3] {line}\n",
        "prepare.py": f"# /// script\n# dependencies = ['torch==2.1.0', {word}]\n# ///\n{line}\n",
        "pip-list.txt": f"Package Version\n------- -------\ntorch   2.1.0\n{line}\n",
        "conda-list.txt": f"# packages in environment at /x:\n#\nnumpy=1.26=py_0\n{line}\n",
        "spec-file.txt": f"@EXPLICIT\nhttps://conda.example/linux-64/pytorch-2.5.1-py3.11_0.conda\n{line}\n",
        "train.yaml": f"model_name_or_path: gpt2\nper_device_train_batch_size: {word}\nseed: {word}\noutput_dir: x\n",
        "ds_config.json": json.dumps({"zero_optimization": {"stage": line}, "train_batch_size": line}),
        "train.sh": f"torchrun train.py --seed {word} --gradient_accumulation_steps {word}\n{line}\n",
        "train.py": f"from transformers import TrainingArguments\nTrainingArguments(seed=1)\n{line}\n",
    }


FILES = tuple(planted("x"))


def test_a_line_is_planted_in_every_format() -> None:
    kinds = set()
    for name, text in planted("x").items():
        kinds |= {entry.kind for entry in [by_name(name)] if entry is not None}
        with suppress(GradcompatError):
            kinds.add(read(Document(name, text)).kind)
    assert BY_KIND.keys() - kinds == set()


# Signs around and inside of it that keep it from being a name, a version or a path of its own.
LINES = st.builds(
    lambda before, between, after: f"{before}{CANARY}{between}{CANARY}{after}",
    st.sampled_from(["", "password ", "machine h login me password ", "export K='", "root:x:0:0:", "K=", "!!", "** "]),
    st.sampled_from([" !", " = ' ", "((", " ?? ", ":x:0:0: /", "' \""]),
    st.sampled_from(["", " ", "' $", " !!", "=="]),
)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=LINES)
def test_no_message_of_a_reader_quotes_what_it_did_not_understand(name: str, line: str) -> None:
    text = planted(line)[name]
    for reading in (read, scan):
        try:
            found = reading(Document(name, text, Path(name)))
        except GradcompatError as error:
            said = [str(error), error.hint or ""]
        else:
            said = [word for one in found.skipped for word in (one.what, one.reason)]
        assert leaked("\n".join(said)) is None, said


@pytest.mark.parametrize("kind", BY_KIND)
@settings(max_examples=examples(20), deadline=None)
@given(line=LINES)
def test_no_reader_quotes_a_file_of_something_else(kind: str, line: str) -> None:
    text = f"{line}\n[{line}]\n{line}: '{line}'\n"
    try:
        found = read_as(BY_KIND[kind], Document("x", text, Path("x")))
    except GradcompatError as error:
        said = [str(error), error.hint or ""]
    else:
        said = [word for one in found.skipped for word in (one.what, one.reason)]
    assert leaked("\n".join(said)) is None, said


@pytest.mark.parametrize("form", FORMATS)
def test_no_format_shows_a_line_that_was_not_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in planted(f"password = ' {CANARY}").items():
        write(tmp_path / name.split(".")[0] / name, text)
    output = run("check", ".", "--format", form, capsys=capsys)
    assert leaked(output) is None, output


@pytest.mark.parametrize(
    "address",
    [
        "https://me:{}@index.example/simple",
        "HTTPS://{}@index.example/simple",
        "//{}@index.example/simple",
        "//me:{}@index.example",
        "me:{}@index.example/simple",
        "https://me:p@{}@index.example/",
        "https://me:a/{}@index.example/",
        "https://me:/{}@index.example/simple",
        "git+ssh://me:/{}@[::1/x",
        "https%3A%2F%2Fme%3A{}%40index.example",
        "git+https://{}@git.example/x/y.git@v1",
        "git+ssh://me:{}@git.example/x",
        "https://index.example/simple?token={}",
        "https://index.example/?a=1&api_key={}#x",
        "https://index.example/?access_token={}&b=2",
        "https://bucket.example/x.whl?X-Amz-Signature={}&sig={}",
        "https://conda.example/t/{}/channel",
        "https://conda.example/T/{}",
        "conda.example/t/{}/channel/linux-64",
        "https://me:{}@one.example,https://me:{}@two.example https://x.example/t/{}/y",
        "hf_{}", "ghp_{}aaaa", "github_pat_{}", "AKIA{}", "glpat-{}",
    ],
)  # fmt: skip
def test_credentials_are_redacted_wherever_they_stand(address: str) -> None:
    text = f"cannot read `{address.replace('{}', CANARY)}`, see {address.replace('{}', CANARY)}"
    assert leaked(redact(text)) is None, redact(text)
    assert redact(redact(text)) == redact(text)
    skipped = Skipped(what=text, reason=text)
    error = GradcompatError(text, path=text, hint=text)
    assert leaked(f"{skipped} {error} {error.hint} {error.args}") is None


@pytest.mark.parametrize(
    "text",
    [
        "requirements.txt:3: torch==2.5.1 ; python_version >= '3.9'",
        "https://github.com/org/repo/pull/1?diff=unified",
        "git+https://github.com/org/repo.git@v4.49.0",
        "image python:3.11@sha256:0123",
        "hf-transfer, hf_xet, examples/hf_datawrapper.py and sk-learn",
        "a@b, someone@example.org",
        "training.gradient_accumulation_steps=8",
        "{\"url\": \"https://x.example/@scope/pkg\"}",
    ],
)  # fmt: skip
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


PIECES = [
    *("https://", "me:s3cret", "@", "%40", "host", "/t/", "%2ft%2f", "/peft/", "?token=", "&key=", ";sig%3d", "#pwd="),
    *("hf_", "ghp_", "github_pat_", "github.com/", "glpat-", "pypi-age", "sk-", "xoxb-", "akia", "aiza", "eyj", "."),
    *("abcdefghij0123456789abcdef", "ABCDEFGHIJKL", " ", "/", "-"),
]


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
@example("sk-abcdefghij0123456789")
@example("github_pat_abcdefghij0123456789")
@example("https://host%2ft%2fABCDEFGHIJKL/simple")
@example("https://host/t/ABCDEFGHIJKL/simple")
@example("https://host/simple#pwd=ABCDEFGHIJKL")
def test_no_credential_is_taken_for_harmless(text: str) -> None:
    # With an `@`, a line is looked at as closely as any.
    assert redact(f"{text} @") == f"{redact(text)} @"
    assert is_token(text) == (redaction._TOKEN.search(text) is not None)


URL = f"https://me:{CANARY}@index.example/t/{CANARY}/simple?token={CANARY}"
ADDRESSES = {
    "requirements.txt": f"torch==2.1.0\n-r {URL}\n-c {URL}\nx @ {URL}\n{URL}\n"
    f"--index-url {URL}\n-e git+{URL}\n--oops {URL}\n",
    "Dockerfile": f"ARG TOKEN={CANARY}\nFROM index.example/$TOKEN/x:1\nARG TOKEN={CANARY}\nENV KEY {CANARY}\n"
    f"RUN pip install torch==2.1.0 $TOKEN/x https://$TOKEN@h.example/x $TOKEN== $KEY== {URL} -r $TOKEN.txt\n"
    f"RUN pip uninstall {URL}\nRUN conda install -c {URL} '{URL}' --file {URL}\n",
    "environment.yml": f"channels: [{URL}]\ndependencies:\n- '{URL}'\n- '{URL}::x'\n"
    f"- pip:\n  - torch==2.1.0\n  - -r {URL}\n  - x @ {URL}\n",
    "install.ipynb": CELL.format(json.dumps(f"!pip install torch==2.1.0 {URL} -r {URL}")),
    "pyproject.toml": f"[project]\nname='a'\ndependencies=['torch==2.1.0', 'x @ {URL}', '{URL}']\n",
    "spec-file.txt": f"@EXPLICIT\n{URL}\n{URL}/linux-64/pytorch-2.5.1-py3.11_0.conda\n",
    "pixi.lock": f"version: 6\nenvironments:\n  default:\n    packages:\n      linux-64:\n      - conda: {URL}\n"
    "packages: []\n",
    "train.yaml": f"model_name_or_path: {URL}\nper_device_train_batch_size: 1\nseed: {URL}\n",
}


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("command", ["check", "inspect", "plan", "fix", "diagnose", *FORMATS])
def test_no_command_and_no_format_shows_credentials_of_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name, ADDRESSES[name])
    options = {"fix": ["--dry-run", "--no-index"], "plan": ["--no-index"]}.get(command, [])
    arguments = ["check", name, "--format", command] if command in FORMATS else [command, name, *options]
    output = run(*arguments, capsys=capsys)
    assert leaked(output) is None, output
    if command == "inspect":
        output = run("inspect", name, "--format", "json", capsys=capsys)
        assert leaked(output) is None, output


def test_of_a_log_only_recognised_lines_are_shown_and_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = f"export TOKEN={CANARY}\nIndexError: list index out of range {URL}\n{{'loss': 1.0}}\n{{'loss': nan}}\n"
    write(tmp_path / "run.log", log * 40)
    for form in ("text", "json"):
        output = run("diagnose", "run.log", "--format", form, capsys=capsys)
        assert leaked(output) is None, output


@pytest.mark.parametrize(
    "text",
    [f"x {CANARY}", f"{CANARY}=1", f"root:x:{CANARY}", f"'{CANARY}'", f"hf_{CANARY}", f"{CANARY}\n", f"{CANARY} "],
)
def test_nothing_but_names_is_quoted(text: str) -> None:
    assert quoted(text, "a line") == "a line"


def test_a_reference_is_one_word_without_credentials() -> None:
    assert reference("../a/b.txt") == "../a/b.txt"
    assert reference(f"a {CANARY}") == reference("x" * 500) == "a file"
    assert leaked(reference(URL)) is None


@pytest.mark.parametrize(
    "said",
    [
        f"Cannot declare ('{CANARY}',) twice", f"Duplicate inline table key '{CANARY}'",
        f"found undefined tag handle '!{CANARY}!'", f"Missing parentheses. Did you mean: \"{CANARY}\"",
        f"Invalid specifier: '=={CANARY}'", f"encoding problem: {CANARY}", f'Cannot mutate namespace ("{CANARY}",)',
    ],
)  # fmt: skip
def test_of_a_parser_nothing_is_said_but_what_went_wrong(said: str) -> None:
    assert leaked(parser_reason(said)) is None


# The words of a message that come from a file are quoted through one module. Every other expression that may stand
# there is a constant, or holds what is ours: numbers, and names that a reader has normalised.
TEXTS = {"text", "line", "value", "raw", "content", "body"}
READERS = {"sources", "scanners", "formats", "diagnosis"}


def test_no_reader_puts_text_of_a_file_into_a_message_by_itself() -> None:
    found = []
    for path, tree in source_trees().items():
        for node in ast.walk(tree) if module_name(path).split(".")[0] in READERS else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Skipped":
                said = [keyword.value for keyword in node.keywords if keyword.arg in ("what", "reason")]
                found += [f"{path.name}:{value.lineno}" for value in said if _is_text_of_a_file(value)]
    assert found == []


def _is_text_of_a_file(node: ast.expr) -> bool:
    """Does the expression hand on a variable that is named like the text of a file, or a piece of one?"""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in TEXTS
        case ast.Subscript(value=inner):
            return _is_text_of_a_file(inner)
        case ast.JoinedStr(values=values):
            return any(_is_text_of_a_file(one.value) for one in values if isinstance(one, ast.FormattedValue))
        case ast.Call(func=ast.Attribute(value=inner, attr="strip" | "partition")):
            return _is_text_of_a_file(inner)
    return False


def test_no_version_of_a_format_is_quoted_that_is_none() -> None:
    written = "hg+http://__token__:zuq8m3tf6rloginsk1c9"
    text = json.dumps({"version": written, "installed": [], "environment": {}, "pip_version": "24.0"})
    with pytest.raises(GradcompatError) as error:
        read(Document("pip-inspect.json", text))
    assert "zuq8m3" not in error.value.message
