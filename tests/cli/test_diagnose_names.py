"""What ``gradcompat diagnose`` says of names that a release does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run

NO_NAME = (
    "ImportError: cannot import name 'HybridCache' from 'transformers' (/x/site-packages/transformers/__init__.py)\n"
)
NO_KEYWORD = "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'\n"


def told(run: Run, text: str, listed: str = "") -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
    if listed:
        Path("requirements.txt").write_text(listed, "utf-8")
    options = ("--environment", "requirements.txt") if listed else ()
    outcome = run("diagnose", "-", "--format", "json", *options, stdin=text)
    data = json.loads(outcome.out)
    return outcome.status, data["diagnoses"], data["unexplained"]


@pytest.mark.parametrize(
    ("error", "listed", "title"),
    [
        (NO_NAME, "transformers==5.0.0\npeft==0.13.0\n", "cannot import name 'HybridCache' from 'transformers' in "),
        (NO_KEYWORD, "transformers==5.0.0\n", "TrainingArguments has no `evaluation_strategy` in transformers 5.0.0"),
        (
            "ModuleNotFoundError: No module named 'transformers.models.glm_moe_dsa'\n",
            "transformers==5.0.0\n",
            "No module named 'transformers.models.glm_moe_dsa' in transformers 5.0.0: new in 5.2.0",
        ),
        (
            "AttributeError: module 'transformers.utils' has no attribute 'is_safetensors_available'\n",
            "transformers==5.0.0\n",
            "transformers 5.0.0 has no `transformers.utils.is_safetensors_available`: removed in 5.0.0",
        ),
    ],
)
def test_a_listed_release_without_the_name_explains_the_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, listed: str, title: str
) -> None:
    monkeypatch.chdir(tmp_path)
    status, (first,), unexplained = told(run, error, listed)
    assert (status, unexplained) == (1, [])
    assert first["title"].startswith(title)
    assert first["because"][0]["line"] == 1
    assert first["because"][1]["sentence"] == "transformers 5.0.0 is listed"
    # No release that nobody has read would make it go away.
    assert "5.23.0" not in " ".join(first["settles"])


def test_the_listed_package_that_asks_for_the_name_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = "ImportError: cannot import name 'UdopConfig' from 'transformers' (x.py)\n"
    _, (first,), _ = told(run, error, "transformers==4.38.0\nsentence-transformers==5.5.0\n")
    assert first["title"].startswith(
        "sentence-transformers 5.5.0 cannot be imported with transformers 4.38.0: it needs transformers.UdopConfig"
    )


def test_without_a_version_the_releases_that_lack_it_are_told(run: Run) -> None:
    status, (first,), unexplained = told(run, NO_KEYWORD)
    assert (status, unexplained) == (1, [])
    assert first["title"].startswith("transformers >=4.51.0,<=5.24.0 has no `evaluation_strategy`")
    assert first["against"] == ["no version of transformers was seen"]
    assert "write `eval_strategy` instead of `evaluation_strategy`" in first["settles"][1]


def test_the_class_of_an_error_is_the_one_that_takes_the_argument_in_some_release(run: Run) -> None:
    called = "GradientAccumulationPlugin.__init__()"
    error = f"TypeError: {called} got an unexpected keyword argument 'sync_with_dataloader'\n"
    _, (first,), _ = told(run, error)
    assert first["title"].startswith("accelerate >=0.18.0,<0.21.0 has no `sync_with_dataloader`")
    # Before 0.18.0 there is no such class.
    assert "upgrade accelerate to >=0.21.0" in first["settles"][1]
    assert "downgrade" not in first["settles"][1]


@pytest.mark.parametrize(
    ("error", "passed", "title"),
    [
        (
            "AdamW8bit.__init__() got an unexpected keyword argument 'percentile_clipping'",
            "accelerate",
            "bitsandbytes >=0.50.0,<=0.50.2 has no `percentile_clipping` of bitsandbytes.optim.AdamW8bit",
        ),
        (
            "SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'",
            "transformers",
            "trl <0.4.2 or >=0.13.0,<=1.16.0 has no `max_seq_length` of trl.SFTTrainer",
        ),
        (
            "Trainer.__init__() got an unexpected keyword argument 'tokenizer'",
            "trl",  # ms-swift has a Trainer with that argument, too
            "transformers >=5.0.0,<=5.24.0 has no `tokenizer` of transformers.Trainer",
        ),
    ],
)
def test_a_class_need_not_be_of_a_package_that_the_traceback_passes_through(
    run: Run, error: str, passed: str, title: str
) -> None:
    frame = f'  File "/venv/lib/python3.12/site-packages/{passed}/utils/deprecation.py", line 165, in wrapped_func\n'
    _, (first,), unexplained = told(run, f"Traceback (most recent call last):\n{frame}    f()\nTypeError: {error}\n")
    assert first["title"].startswith(title)
    assert unexplained == []


@pytest.mark.parametrize("called", ["AxolotlGRPOConfig", "_UnslothGRPOConfig"])
def test_a_class_that_another_tool_derives_takes_what_its_base_takes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str
) -> None:
    monkeypatch.chdir(tmp_path)
    error = f"TypeError: {called}.__init__() got an unexpected keyword argument 'max_prompt_length'\n"
    _, (first,), unexplained = told(run, error, "trl==0.28.0\ntransformers==4.57.6\n")
    assert first["title"].startswith("GRPOConfig has no `max_prompt_length` in trl 0.28.0: removed in 0.28.0")
    assert unexplained == []


@pytest.mark.parametrize(
    ("above", "explained"),
    [
        ("    args = TrainingArguments(output_dir='out', evaluation_strategy='steps')\n", True),
        ("    return super().__init__(**kwargs)\n", False),
        ("    trainer = Trainer(model, TrainingArguments(**options))\n", False),
    ],
)
def test_the_line_of_code_says_whose_init_it_is(run: Run, above: str, explained: bool) -> None:
    frame = f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n{above}'
    error = "TypeError: __init__() got an unexpected keyword argument 'evaluation_strategy'\n"
    _, diagnoses, unexplained = told(run, frame + error)
    assert [one["title"].startswith("transformers >=4.51.0,<=5.24.0 has no") for one in diagnoses] == [True] * explained
    assert bool(unexplained) is not explained


def test_a_module_without_the_name_is_no_way_out(run: Run) -> None:
    error = "ImportError: cannot import name 'BaseTrainer' from 'trl.trainer.alignprop_trainer' (x.py)\n"
    _, (first,), _ = told(run, error)
    # The module was there until 0.23, and took the name from 0.9.6 to 0.13.
    assert first["title"].startswith("trl <0.9.6 or >=0.14.0,<=1.16.0 has no trl.trainer.alignprop_trainer.BaseTrainer")
    assert "downgrade trl to >=0.9.6,<0.14.0" in first["settles"][1]


def test_a_name_that_no_table_keeps_is_laid_to_a_pair_that_cannot_be_imported(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = "ImportError: cannot import name 'return_and_correct_aliasing' from 'torch.utils._python_dispatch' (x.py)\n"
    _, (first,), unexplained = told(run, error, "torch==2.1.1\ntorchao==0.3.1\n")
    assert first["title"].startswith("torchao 0.3.1 cannot be imported with torch 2.1.1")
    assert first["settles"] == ["whether it goes away: upgrade torch to >=2.2.0"]
    assert unexplained == []
    _, diagnoses, _ = told(run, error, "torch==2.2.0\ntorchao==0.3.1\n")
    assert diagnoses == []
    frame = '  File "/venv/lib/python3.10/site-packages/peft/utils/other.py", line 9, in <module>\n    f()\n'
    _, diagnoses, _ = told(run, f"Traceback (most recent call last):\n{frame}{error}", "torch==2.1.1\ntorchao==0.3.1\n")
    assert diagnoses == []


def test_an_import_that_fails_late_has_its_cause_in_the_next_line(run: Run) -> None:
    late = "RuntimeError: Failed to import transformers.trainer because of the following error"
    cause = "No module named 'transformers.models.glm_moe_dsa'"
    _, (first,), _ = told(run, f"{late} (look up to see its traceback):\n{cause}\n")
    assert first["title"].startswith("transformers <5.2.0 has no transformers.models.glm_moe_dsa")
    assert first["because"][0]["text"] == f"RuntimeError: Failed to import transformers.trainer: {cause}"
    _, _, (alone,) = told(run, f"{late} (look up to see its traceback):")
    assert alone["text"] == f"{late} (look up to see its traceback):"


def test_a_listed_release_that_has_the_name_is_not_the_one_that_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, (first,), unexplained = told(run, NO_NAME, "transformers==4.45.2\n")
    assert first["title"] == "The run imports another transformers than the listed one, or a file of its name"
    assert first["because"][1]["sentence"] == "transformers 4.45.2 is listed, and has transformers.HybridCache"
    assert unexplained == []


@pytest.mark.parametrize(
    ("error", "listed", "title"),
    [
        (
            "PPOTrainer.__init__() missing 2 required positional arguments: 'reward_model' and 'train_dataset'",
            "trl==0.13.0\ntransformers==4.47.1\n",
            "PPOTrainer asks for `reward_model` and `train_dataset` in trl 0.13.0, and does not in >=0.2.0,<0.12.0",
        ),
        (
            # What it inherits from is not listed, and no release of that has the argument.
            "LoraConfig.__init__() got an unexpected keyword argument 'corda_config'",
            "peft==0.14.0\n",
            "LoraConfig does not take `corda_config` in peft 0.14.0, and does in >=0.15.0",
        ),
        (
            # It is in no module that people import it from.
            "InformationRetrievalEvaluator.__init__() got an unexpected keyword argument 'query_prompt'",
            "sentence-transformers==3.0.1\ntransformers==4.44.2\ntorch==2.4.0\n",
            "InformationRetrievalEvaluator does not take `query_prompt` in sentence-transformers 3.0.1, and does in",
        ),
        (
            "get_peft_model() takes from 2 to 4 positional arguments but 5 were given",
            "peft==0.10.0\ntransformers==4.40.0\n",
            "get_peft_model takes fewer than 5 arguments by position in peft 0.10.0, and takes as many in >=0.12.0",
        ),
        (
            "get_polynomial_decay_schedule_with_warmup() takes from 3 to 6 positional arguments but 7 were given",
            "transformers==4.40.0\n",
            None,
        ),
        # A module of TRL has a function of that name, as every program has.
        ("main() takes 0 positional arguments but 1 was given", "trl==0.11.0\ntransformers==4.45.0\n", None),
        # Every release asks for it.
        (
            "DataCollatorForSeq2Seq.__init__() missing 1 required positional argument: 'tokenizer'",
            "transformers==4.50.0\n",
            None,
        ),
        # One of two classes of that name takes it, and nobody knows which was called.
        ("GradScaler.__init__() got an unexpected keyword argument 'device'", "torch==2.2.0\n", None),
        # The listed release takes it, so it is somebody else's.
        (
            "EarlyStopping.__init__() missing 1 required positional argument: 'patience'",
            "pytorch-lightning==2.0.0\n",
            None,
        ),
    ],
)
def test_a_call_that_another_release_takes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, listed: str, title: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    _, diagnoses, unexplained = told(run, f"TypeError: {error}\n", listed)
    assert [one["title"].startswith(title) for one in diagnoses] == ([] if title is None else [True]), diagnoses
    assert len(unexplained) == (title is None)


@pytest.mark.parametrize(
    ("listed", "title"),
    [
        ("", "DynamicCache has `get_usable_length` in transformers >=4.36.0,<4.54.0"),
        ("transformers==4.55.0\n", "DynamicCache has `get_usable_length` in transformers >=4.36.0,<4.54.0"),
        ("transformers==4.40.0\n", "The run imports another transformers than the listed one"),
    ],
)
def test_a_method_that_another_release_has(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, title: str
) -> None:
    monkeypatch.chdir(tmp_path)
    error = "AttributeError: 'DynamicCache' object has no attribute 'get_usable_length'\n"
    _, (first,), unexplained = told(run, error, listed)
    assert first["title"].startswith(title)
    assert unexplained == []


@pytest.mark.parametrize(
    "error",
    [
        "AttributeError: 'DynamicCache' object has no attribute 'nobody_has_it'\n",
        "AttributeError: 'NoneType' object has no attribute 'to'\n",
        "ImportError: cannot import name 'nobody_has_it' from 'transformers' (x.py)\n",
        "ImportError: cannot import name 'x' from partially initialized module 'transformers' (most likely …)\n",
        "ImportError: cannot import name 'main' from 'my_project.train' (train.py)\n",
        "ModuleNotFoundError: No module named 'flash_attn'\n",
        "ModuleNotFoundError: No module named 'transformers.models'; 'transformers' is not a package\n",
        "TypeError: MyTrainer.__init__() got an unexpected keyword argument 'evaluation_strategy'\n",
        "TypeError: __init__() got an unexpected keyword argument 'evaluation_strategy'\n",
        "AttributeError: module 'transformers.utils' has no attribute 'nobody_has_it'\n",
    ],
)
def test_what_no_release_has_is_not_explained(run: Run, error: str) -> None:
    status, diagnoses, unexplained = told(run, error)
    assert (status, diagnoses) == (3, [])
    assert [one["text"] for one in unexplained] == [error.rstrip("\n")]


def test_what_every_release_has_an_older_one_lacks(run: Run) -> None:
    error = "ImportError: cannot import name 'LRScheduler' from 'torch.optim.lr_scheduler' (/x/lr_scheduler.py)\n"
    status, (first,), unexplained = told(run, error)
    assert (status, unexplained) == (1, [])
    assert first["title"].startswith("torch 2.0.0 to ")
    assert first["title"].endswith(
        "have torch.optim.lr_scheduler.LRScheduler: the run's torch is older, or another file of its name"
    )


def test_a_module_that_loads_lazily_says_it_without_quotes(run: Run) -> None:
    error = "AttributeError: module trl has no attribute GRPOConfig. Did you mean: 'ORPOConfig'?\n"
    _, (first,), unexplained = told(run, error)
    assert unexplained == []
    assert first["title"].startswith("trl <0.14.0 has no trl.GRPOConfig")


@pytest.mark.parametrize(
    ("listed", "title"),
    [
        ("", "GRPOConfig has `num_iterations` in trl >=0.16.0,"),
        ("trl==0.15.2\ntransformers==4.49.0\n", "GRPOConfig has `num_iterations` in trl >=0.16.0,"),
        (
            "trl==0.17.0\ntransformers==4.51.3\n",
            "The run imports another trl than the listed one, or another class of that name",
        ),
    ],
)
def test_the_arguments_of_options_are_their_fields(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str, title: str
) -> None:
    monkeypatch.chdir(tmp_path)
    _, (first,), _ = told(run, "AttributeError: 'GRPOConfig' object has no attribute 'num_iterations'\n", listed)
    assert first["title"].startswith(title)


def test_fields_of_other_classes_are_not_told_by_their_arguments(run: Run) -> None:
    _, diagnoses, (left,) = told(run, "AttributeError: 'Accelerator' object has no attribute 'cpu'\n")
    assert diagnoses == []
    assert left["text"].endswith("'cpu'")


def test_options_of_trl_that_plain_arguments_do_not_have(run: Run) -> None:
    _, (first,), _ = told(run, "AttributeError: 'TrainingArguments' object has no attribute 'packing'\n")
    title = "A trainer of TRL was given transformers' TrainingArguments: GKDConfig or SFTConfig has `packing`"
    assert first["title"] == title
    _, diagnoses, unexplained = told(run, "AttributeError: 'TrainingArguments' object has no attribute 'my_own'\n")
    assert (diagnoses, len(unexplained)) == ([], 1)
