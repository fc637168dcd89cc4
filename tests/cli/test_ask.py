"""``gradcompat ask``: the questions, the answers that are kept, and the report behind them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tomli

from tests.conftest import Run
from tests.program import Outcome

PINS = "transformers==4.47.0\ntorch==2.5.1\naccelerate==1.2.0\n"
LLAMA = ("--set", "model.architecture=LlamaForCausalLM")


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> Path:
    (tmp_path / "requirements.txt").write_text(PINS, "utf-8")
    return tmp_path


@pytest.fixture
def typed(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """``ask`` at a terminal, where these lines are typed."""
    monkeypatch.setattr("gradcompat.cli.commands.ask._at_a_terminal", lambda: True)
    return lambda lines, *arguments: run(
        "ask", "requirements.txt", *arguments, stdin="".join(f"{one}\n" for one in lines)
    )


def test_without_a_terminal_the_questions_are_printed(run: Run, here: Path) -> None:
    done = run("ask", "requirements.txt")
    assert done.status == 0
    assert done.out.startswith("1. ")
    assert "--set training.gradient_accumulation_steps=8 | 1" in done.out
    assert done.out.count("--set ") <= 5
    assert list(here.iterdir()) == [here / "requirements.txt"]


def test_answers_decide_and_are_kept(run: Run, here: Path, typed: Callable[..., Outcome]) -> None:
    known = (*LLAMA, "--set", "training.framework=transformers.Trainer", "--set", "host.cuda_arch=9.0")
    (here / "pyproject.toml").write_text('# ours\n[tool.gradcompat]\nfail-on = "error"  # strict\n', "utf-8")
    done = typed(["8"], *known)
    assert done.out.startswith("1. How many micro-batches go into one optimizer step?")
    assert done.status == 1
    assert "error GC-0015, silent: " in done.out
    # The block is eight lines long; the place of the answer is in the whole of it.
    assert "(pyproject.toml:" in " ".join(run("check", "requirements.txt", "--all", *known).out.split())
    text = (here / "pyproject.toml").read_text("utf-8")
    assert text.startswith('# ours\n[tool.gradcompat]\nfail-on = "error"  # strict\n')
    assert tomli.loads(text)["tool"]["gradcompat"]["settings"] == {"training.gradient_accumulation_steps": 8}
    # What is kept counts from then on, and is not asked again.
    assert run("check", "requirements.txt", *known).status == 1
    assert "How many micro-batches" not in run("ask", "requirements.txt", *known).out


@pytest.mark.parametrize(("answer", "kept"), [("a", 8), ("B", 1), ("8", 8), ("1", 1), ("2", 2)])
def test_a_choice_is_taken_by_its_letter_and_a_number_is_a_value(
    here: Path, typed: Callable[..., Outcome], answer: str, kept: int
) -> None:
    out = typed([answer], *LLAMA, "--set", "distributed.processes=1").out
    assert "   a  8\n   b  1\n   ?  don't know\n" in out
    settings = tomli.loads((here / "gradcompat.toml").read_text("utf-8"))["settings"]
    assert settings == {"training.gradient_accumulation_steps": kept}


@pytest.mark.parametrize("answer", ["", "?", "don't know"])
def test_what_is_not_known_is_not_kept(here: Path, typed: Callable[..., Outcome], answer: str) -> None:
    assert typed([answer] * 5).status == 0
    assert typed([]).status == 0  # the end of the input is no answer either
    assert list(here.iterdir()) == [here / "requirements.txt"]


def test_dry_run_writes_nothing(run: Run, here: Path, typed: Callable[..., Outcome]) -> None:
    assert "+[settings]" in typed(["1"], "--dry-run").out
    assert list(here.iterdir()) == [here / "requirements.txt"]


def test_no_symbols_can_be_said(run: Run) -> None:
    assert run("check", "requirements.txt", "--set", "code.symbols=none").status == 0


def test_a_wrong_answer_is_asked_for_again(here: Path, typed: Callable[..., Outcome]) -> None:
    (here / "requirements.txt").write_text("pytorch-lightning==2.0.9\n", "utf-8")
    lightning = ("--set", "training.framework=lightning", "--set", "training.validation_inside_epoch=true")
    done = typed(["many", "4"], *lightning)
    assert "`many` is not a value for `training.gradient_accumulation_steps`" in done.out
    assert "warning GC-0049, silent: " in done.out


def test_the_version_of_a_range_is_asked_for_and_kept(run: Run, here: Path, typed: Callable[..., Outcome]) -> None:
    (here / "requirements.txt").write_text("transformers>=4.45,<4.48.1\n", "utf-8")
    known = ("--set", "training.gradient_accumulation_steps=8", "--set", "model.architecture=LlamaForCausalLM")
    done = typed(["4.47.0"], *known)
    assert done.out.startswith("1. Which version of transformers is installed? (package.transformers decides ")
    choices = [line.split()[-1] for line in done.out.splitlines()[1:] if line.startswith("   ")]
    assert choices[:4] == ["4.48.0", "4.47.1", "4.46.3", "4.45.2"]
    assert (done.status, "error GC-0015" in done.out) == (1, True)
    assert tomli.loads((here / "gradcompat.toml").read_text("utf-8"))["settings"] == {"package.transformers": "4.47.0"}
    # What is kept counts from then on, and is not asked again.
    assert "Which version" not in typed([], *known).out


def test_what_is_installed_decides_ranges_and_no_pins(run: Run, here: Path) -> None:
    known = ("--set", "training.gradient_accumulation_steps=8", "--set", "package.Transformers=4.47.0")

    def ids(requirement: str) -> bool:
        (here / "requirements.txt").write_text(requirement + "\n", "utf-8")
        return "error GC-0015" in run("check", "requirements.txt", *known).out

    assert ids("transformers>=4.45")
    assert ids("transformers")
    assert not ids("transformers==4.49.0")
    assert not ids("transformers>=4.49")  # not what that range would install


def test_what_is_installed_is_a_version(run: Run) -> None:
    done = run("check", "requirements.txt", "--set", "package.torch=latest")
    assert done.status == 2
    assert "`latest` is not a value for `package.torch`, which takes a version" in done.err
