"""Flags and keys of configs that no dataclass of the listed releases has as a field."""

import json
from pathlib import Path

import pytest

import gradcompat

CONFIG = "model_name_or_path: m\ndataset_name: d\nlearning_rate: 1e-4\noutput_dir: o\nmax_steps: 5\n"
PROGRAM = """\
from dataclasses import dataclass
from transformers import HfArgumentParser, Trainer, TrainingArguments

@dataclass
class ModelArguments:
    model_name_or_path: str = "m"
    own: bool = False

{more}
if __name__ == "__main__":
    parser = HfArgumentParser((ModelArguments, {arguments}))
    model, args = parser.parse_args_into_dataclasses()
    Trainer(model, args).train()
"""


def broken(folder: Path, pins: str) -> dict[str, tuple[str, int | None, str]]:
    (folder / "requirements.txt").write_text("torch==2.6.0\n" + pins)
    report = gradcompat.check(folder)
    found = [one.finding for one in report.findings if one.finding.issue.id.startswith("code:")]
    return {
        one.issue.id: (Path(one.location.path).name, one.location.line, one.status)
        for one in found
        if one.location is not None
    }


def launch(folder: Path, command: str) -> None:
    (folder / "run.sh").write_text(f"#!/bin/bash\n{command}\n")


@pytest.mark.parametrize(
    ("pins", "key", "identifier"),
    [
        (
            "trl==1.0.0\ntransformers==5.3.0\n",
            "evaluation_strategy: steps",
            "code:transformers:TrainingArguments:evaluation_strategy",
        ),
        ("trl==1.0.0\ntransformers==5.3.0\n", "eval_strategy: steps", None),
        ("trl==1.0.0\ntransformers==5.3.0\n", "max_seq_length: 512", "code:trl:SFTConfig:max_seq_length"),
        ("trl==0.12.2\ntransformers==4.46.0\n", "max_seq_length: 512", None),
        ("trl==1.0.0\ntransformers==5.3.0\n", "of_a_fork: 1", None),
        ("trl==1.0.0\n", "evaluation_strategy: steps", None),
    ],
)
def test_keys_of_a_config_that_trl_is_given(tmp_path: Path, pins: str, key: str, identifier: str | None) -> None:
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}{key}\n")
    launch(tmp_path, "trl sft --config sft.yaml")
    expected = {} if identifier is None else {identifier: ("sft.yaml", 6, "affected")}
    assert broken(tmp_path, pins) == expected


def test_a_config_that_nothing_known_reads_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}evaluation_strategy: steps\n")
    launch(tmp_path, "python own.py --config sft.yaml")
    assert broken(tmp_path, "trl==1.0.0\ntransformers==5.3.0\n") == {}


def test_flags_of_a_command_of_trl(tmp_path: Path) -> None:
    launch(tmp_path, "trl sft --model_name_or_path m --dataset_name d --max-seq-length 512 --evaluation_strategy steps")
    found = broken(tmp_path, "trl==1.0.0\ntransformers==5.3.0\n")
    assert set(found) == {
        "code:trl:SFTConfig:max_seq_length",
        "code:transformers:TrainingArguments:evaluation_strategy",
    }
    assert {place[:2] for place in found.values()} == {("run.sh", 2)}


TRAINING = "@dataclass\nclass Mine(TrainingArguments):\n    {field}: str = 'no'\n"


@pytest.mark.parametrize(
    ("more", "arguments", "flags", "identifiers"),
    [
        ("", "TrainingArguments", "--evaluation_strategy steps", {"evaluation_strategy"}),
        ("", "TrainingArguments", "--eval_strategy steps --own --no_cuda", {"no_cuda"}),
        ("", "TrainingArguments", "--eval_strat steps", set()),
        (TRAINING.format(field="x"), "Mine", "--evaluation_strategy steps --x y", {"evaluation_strategy"}),
        (TRAINING.format(field="evaluation_strategy"), "Mine", "--evaluation_strategy steps", set()),
        ("from elsewhere import Mine\n", "Mine", "--evaluation_strategy steps", set()),
        ("# return_remaining_strings\n", "TrainingArguments", "--evaluation_strategy steps", set()),
    ],
)
def test_flags_of_a_program_with_a_parser_of_dataclasses(
    tmp_path: Path, more: str, arguments: str, flags: str, identifiers: set[str]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(more=more, arguments=arguments))
    launch(tmp_path, f"torchrun train.py --model_name_or_path m --output_dir o {flags}")
    found = broken(tmp_path, "transformers==5.3.0\n")
    prefix = "code:transformers:TrainingArguments:"
    assert set(found) == {prefix + name for name in identifiers}
    assert all(place[:2] == ("run.sh", 2) for place in found.values())


def test_a_config_of_a_program_with_trls_parser(tmp_path: Path) -> None:
    program = (
        "from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser\n"
        "parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))\n"
        "script, args, model = parser.parse_args_and_config()\n"
        "SFTTrainer(model.model_name_or_path, args=args).train()\n"
    )
    (tmp_path / "train.py").write_text(program)
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}evaluation_strategy: steps\nmax_seq_length: 512\n")
    launch(tmp_path, "accelerate launch train.py --config sft.yaml")
    found = broken(tmp_path, "trl==1.0.0\ntransformers==5.3.0\n")
    assert {name: place[:2] for name, place in found.items()} == {
        "code:transformers:TrainingArguments:evaluation_strategy": ("sft.yaml", 6),
        "code:trl:SFTConfig:max_seq_length": ("sft.yaml", 7),
    }


@pytest.mark.parametrize(
    ("more", "identifiers"),
    [
        ("max_seq_length: 512\npacking: true\n", {"code:trl:SFTConfig:max_seq_length"}),
        (
            "evaluation_strategy: steps\npacking: true\n",
            {"code:transformers:TrainingArguments:evaluation_strategy"},
        ),
        ("evaluation_strategy: steps\n", set()),  # nothing in it is TRL's
        ("loss_type: dapo\nbeta: 0.1\npacking: true\n", set()),  # each is of some command
        ("of_a_fork: 1\npacking: true\n", set()),
    ],
)
def test_a_config_of_trl_alone_may_be_of_any_command(tmp_path: Path, more: str, identifiers: set[str]) -> None:
    (tmp_path / "sft.yaml").write_text(CONFIG + more)
    found = broken(tmp_path, "trl==1.0.0\ntransformers==5.3.0\n")
    assert {name: place[::2] for name, place in found.items()} == dict.fromkeys(
        identifiers, ("sft.yaml", "conditional")
    )


def test_a_config_of_trl_beside_a_program_may_be_of_that(tmp_path: Path) -> None:
    (tmp_path / "sft.yaml").write_text(CONFIG + "max_seq_length: 512\npacking: true\n")
    (tmp_path / "train.py").write_text("from trl import SFTTrainer\nSFTTrainer(model).train()\n")
    assert broken(tmp_path, "trl==1.0.0\ntransformers==5.3.0\n") == {}


def test_it_says_what_a_config_alone_hangs_on(tmp_path: Path) -> None:
    (tmp_path / "sft.yaml").write_text(CONFIG + "max_seq_length: 512\npacking: true\n")
    (tmp_path / "requirements.txt").write_text("trl==1.0.0\ntransformers==5.3.0\n")
    (found,) = (one.finding for one in gradcompat.check(tmp_path).findings if one.finding.issue.id.startswith("code:"))
    (said,) = {unknown.sentence for group in found.unknown for unknown in group if unknown.key == "code.symbols"}
    assert said.startswith("a command reads ")
    assert said.endswith("sft.yaml")


@pytest.mark.parametrize(
    ("call", "flags", "identifiers"),
    [
        ("parse_dict({{'output_dir': 'o', 'evaluation_strategy': 'no'}})", "", {"train.py"}),
        ("parse_dict(given)", "", {"train.py"}),
        ("parse_dict(args={{'eval_strategy': 'no', 'own': 1}})", "", set()),
        ("parse_dict({{'evaluation_strategy': 'no'}}, allow_extra_keys=True)", "", set()),
        ("parse_yaml_file('conf/a.yaml')", "", {"a.yaml"}),
        ("parse_json_file(json_file='b.json')", "", {"b.json"}),
        ("parse_yaml_file('elsewhere.yaml')", "", set()),
        ("parse_yaml_file(yaml_file=os.path.abspath(sys.argv[1]))", "conf/a.yaml", {"a.yaml"}),
        ("parse_json_file(sys.argv[1])", "b.json", {"b.json"}),
        ("parse_json_file(sys.argv[1])", "b.json conf/a.yaml", set()),
        ("parse_json_file(sys.argv[1])", "", set()),
        ("parse_args_into_dataclasses()", "b.json", set()),
    ],
)
def test_what_a_program_gives_to_its_parser_itself(
    tmp_path: Path, call: str, flags: str, identifiers: set[str]
) -> None:
    program = PROGRAM.format(more="", arguments="TrainingArguments").replace(
        "parse_args_into_dataclasses()", call.format()
    )
    given = "import os, sys\ngiven = {'output_dir': 'o', 'evaluation_strategy': 'no'}\n"
    (tmp_path / "train.py").write_text(given + program)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text(CONFIG + "evaluation_strategy: steps\n")
    keys = {"model_name_or_path": "m", "output_dir": "o", "max_steps": 1, "evaluation_strategy": "no"}
    (tmp_path / "b.json").write_text(json.dumps(keys))
    launch(tmp_path, f"python train.py {flags}".rstrip())
    found = broken(tmp_path, "transformers==5.3.0\n")
    assert set(found) == ({"code:transformers:TrainingArguments:evaluation_strategy"} if identifiers else set())
    assert {place[0] for place in found.values()} == identifiers


@pytest.mark.parametrize(
    ("pins", "key", "identifier"),
    [
        ("llamafactory==0.9.3\ntransformers==4.52.4\n", "dpo_beta: 0.1", "hparams.FinetuningArguments:dpo_beta"),
        ("llamafactory==0.9.3\ntransformers==4.52.4\n", "pref_beta: 0.1", None),
        ("llamafactory==0.7.1\ntransformers==4.40.0\n", "dpo_beta: 0.1", None),
        ("llamafactory==0.9.3\n", "dpo_beta: 0.1", None),
        ("llamafactory==0.9.4\ntransformers==5.0.0\n", "overwrite_output_dir: true", None),
        (
            "llamafactory==0.9.3\ntransformers==4.52.4\n",
            "lora_dropuot: 0.1",
            "hparams.FinetuningArguments:lora_dropuot",
        ),
    ],
)
def test_keys_of_llama_factory_itself(tmp_path: Path, pins: str, key: str, identifier: str | None) -> None:
    config = "model_name_or_path: m\nstage: dpo\nfinetuning_type: lora\ndo_train: true\nlearning_rate: 1e-4\n"
    (tmp_path / "dpo.yaml").write_text(f"{config}{key}\n")
    expected = {} if identifier is None else {f"code:llamafactory:{identifier}": ("dpo.yaml", 6, "affected")}
    assert broken(tmp_path, pins) == expected


def test_a_field_of_a_dataclass_that_is_new_is_new(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("llamafactory==0.9.3\ntransformers==4.52.4\n")
    config = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ndo_train: true\nfp8_backend: auto\n"
    (tmp_path / "sft.yaml").write_text(config)
    issues = [one.finding.issue for one in gradcompat.check(tmp_path).findings]
    assert [one.summary for one in issues if one.id.startswith("code:")] == [
        "Fp8Arguments has no `fp8_backend` in llamafactory 0.9.3: new in 0.9.4"
    ]


def test_an_argument_is_new_that_no_release_of_its_class_had(tmp_path: Path) -> None:
    """SFTConfig came with TRL 0.9.2: the releases before lack the argument, and did not remove it."""
    (tmp_path / "requirements.txt").write_text("trl==0.18.1\ntransformers==4.52.4\n")
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}packing: false\nassistant_only_loss: true\n")
    (tmp_path / "run.sh").write_text("accelerate launch -m trl sft --config sft.yaml\n")
    issues = [one.finding.issue for one in gradcompat.check(tmp_path).findings]
    assert [one.summary for one in issues if one.id.startswith("code:")] == [
        "SFTConfig has no `assistant_only_loss` in trl 0.18.1: new in 0.19.0"
    ]


@pytest.mark.parametrize(
    ("key", "summary"),
    [
        (
            "lerning_rate: 1e-4",
            "TrainingArguments has no `lerning_rate` in transformers 5.3.0: did you mean `learning_rate`?",
        ),
        ("learning: 1", None),
    ],
)
def test_a_misspelled_key_is_told_once_with_what_it_may_be(tmp_path: Path, key: str, summary: str | None) -> None:
    (tmp_path / "sft.yaml").write_text(f"{CONFIG}{key}\n")
    (tmp_path / "requirements.txt").write_text("trl==1.0.0\ntransformers==5.3.0\n")
    launch(tmp_path, "trl sft --config sft.yaml")
    issues = [one.finding.issue for one in gradcompat.check(tmp_path).findings]
    found = [one.summary for one in issues if one.id.startswith("code:")]
    assert found == ([] if summary is None else [summary])


@pytest.mark.parametrize(
    ("pins", "argument", "status"),
    [
        # GRPOConfig inherits from TrainingArguments, whose range has releases with the argument and without it.
        ("trl>=0.24.0\ntransformers>=4.56.2\n", "warmup_ratio=0.1", "conditional"),
        ("trl==1.16.0\ntransformers>=4.56.2\n", "warmup_ratio=0.1", "conditional"),
        ("trl>=0.24.0\ntransformers>=5.20.0\n", "warmup_ratio=0.1", "affected"),
        ("trl>=0.24.0\ntransformers==5.24.0\n", "warmup_ratio=0.1", "affected"),
        ("trl>=0.24.0\ntransformers>=4.56.2\n", "reference_model_free=True", "affected"),
        ("trl>=0.24.0\ntransformers>=4.56.2,<5\n", "warmup_ratio=0.1", None),
    ],
)
def test_an_argument_that_a_class_inherits_hangs_on_the_range_of_the_other_package(
    tmp_path: Path, pins: str, argument: str, status: str | None
) -> None:
    (tmp_path / "train.py").write_text(
        "from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer\n"
        f"DPOTrainer('m', args=DPOConfig('o', {argument})).train()\n"
        f"GRPOTrainer('m', args=GRPOConfig('o', {argument})).train()\n"
        if "reference" not in argument
        else f"from trl import DPOConfig, DPOTrainer\nDPOTrainer('m', args=DPOConfig('o', {argument})).train()\n"
    )
    (tmp_path / "requirements.txt").write_text(pins)
    found = [one.finding for one in gradcompat.check(tmp_path).findings if one.finding.issue.id.startswith("code:")]
    assert {one.status for one in found} == ({status} if status else set())
    if status == "conditional":
        newest = "transformers 5.24.0 is installed, the newest that is allowed"
        assert {unknown.plain for one in found for some in one.unknown for unknown in some} == {newest}


@pytest.mark.parametrize(
    ("at", "told"),
    [
        ("", ["the trunk of peft behaves as 0.21.2, its newest release"]),
        ("@main", ["the trunk of peft behaves as 0.21.2, its newest release"]),
        ("@0a1b2c3d", []),  # the state of some day
        ("@v0.9.0", []),
    ],
)
def test_code_beside_what_a_repository_holds_today(tmp_path: Path, at: str, told: list[str]) -> None:
    (tmp_path / "requirements.txt").write_text(f"torch\ngit+https://github.com/huggingface/peft.git{at}\n")
    (tmp_path / "train.py").write_text(
        "from peft import get_peft_model, prepare_model_for_int8_training\n"
        "from transformers import Trainer\n"
        "Trainer(get_peft_model(prepare_model_for_int8_training(model))).train()\n"
    )
    found = [one.finding for one in gradcompat.check(tmp_path).findings if one.finding.issue.id.startswith("code:")]
    assert {one.issue.id for one in found} == ({"code:peft:prepare_model_for_int8_training"} if told else set())
    assert [unknown.plain for one in found for some in one.unknown for unknown in some] == told
