"""Texts of another kind inside a log: where they begin and end, and what only looks like one."""

from __future__ import annotations

import pytest

from gradcompat.diagnosis import excerpts
from gradcompat.diagnosis.excerpts import Excerpt, Excerpts


def found(*lines: str) -> list[Excerpt]:
    pieces = Excerpts()
    for number, line in enumerate(lines, start=1):
        pieces.see(number, line)
    return pieces.found


def command(text: str, line: int = 1) -> list[Excerpt]:
    return [Excerpt("command", "", ((line, text),))]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("+ torchrun train.py --lr 1e-5", "torchrun train.py --lr 1e-5"),
        ("++ NCCL_DEBUG=INFO accelerate launch train.py --bf16", "NCCL_DEBUG=INFO accelerate launch train.py --bf16"),
        ("$ python train.py --lr $LR", "python train.py --lr $LR"),
        ("(env) me@host:~/x$ deepspeed train.py --lr 1", "deepspeed train.py --lr 1"),
        ("root@host:/# llamafactory-cli train x.yaml --lr 1", "llamafactory-cli train x.yaml --lr 1"),
        ("/opt/conda/bin/python3.8 run.py --a 1 --b 2 --c 3", "/opt/conda/bin/python3.8 run.py --a 1 --b 2 --c 3"),
        (
            "[INFO] [launch.py:256:main] process 1 spawned with command: ['python3', '-u', 'main.py', '--lr=1']",
            "python3 -u main.py --lr=1",
        ),
        (
            "subprocess.CalledProcessError: Command '['python', 'train.py', '--name', 'a b']' returned non-zero exit "
            "status 1.",
            "python train.py --name 'a b'",
        ),
    ],
)
def test_commands(line: str, text: str) -> None:
    assert found(line) == command(text)


def test_a_command_over_several_lines() -> None:
    assert found("+ torchrun train.py \\", "  --lr 1 \\", "  --bf16", "--no") == [
        Excerpt("command", "", ((1, "torchrun train.py \\"), (2, "  --lr 1 \\"), (3, "  --bf16")))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "torchrun uses --nproc_per_node and --nnodes and --rdzv to set this up",
        "accelerate launch --multi_gpu --num_processes 2 examples/nlp_example.py",  # advice
        "accelerate launch train.py --model $MODEL --lr 1 --bf16",  # advice with places to fill in
        "# torchrun train.py --a 1 --b 2 --c 3",
        "python is a language",
        "deepspeed train.py",
        "usage: torchrun train.py --a 1 --b 2 --c 3",
        "+ echo torchrun train.py --lr 1",
        "spawned with command: ['python', train.py]",
    ],
)
def test_no_commands(line: str) -> None:
    assert found(line) == []


def test_processes_that_differ_in_their_rank_are_one_command() -> None:
    lines = [f"spawned with command: ['python', 'main.py', '--local_rank={rank}', '--lr', '1']" for rank in range(8)]
    assert found(*lines) == command("python main.py --local_rank=0 --lr 1")


def test_printed_arguments() -> None:
    assert found(
        "01/02/2026 - INFO - __main__ - Training/evaluation parameters TrainingArguments(",
        "_n_gpu=1,",
        "[W102 of another process]",
        "bf16=True,",
        ")",
        "seed=3,",
    ) == [Excerpt("arguments", "TrainingArguments", ((2, "_n_gpu=1,"), (4, "bf16=True,")))]
    assert found("INFO:__main__:Namespace(lr=1e-05, bits=4)") == [
        Excerpt("arguments", "Namespace", ((1, "lr=1e-05, bits=4"),))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "    args = SFTConfig(bf16=True)",
        "training_args = TrainingArguments(",
        "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'x'",
        "from argparse import Namespace",
        "return Namespace(lr=1)",
    ],
)
def test_code_is_no_print(line: str) -> None:
    assert found(line, "bf16=True,", ")") == []


def test_what_does_not_end_is_dropped_and_hides_nothing() -> None:
    pieces = Excerpts()
    assert pieces.see(1, "parameters TrainingArguments(")
    seen = [pieces.see(number, "a line of something else") for number in range(2, 40)]
    assert (seen, pieces.open, pieces.found) == ([False] * 38, False, [])


def test_configs() -> None:
    assert found(
        "[2025-01-02 15:46:46,512] [INFO] [config.py:999:print_user_config]   json = {",
        '    "zero_optimization": {',
        '        "text": "}"',
        "    }",
        "}",
        "}",
    ) == [
        Excerpt(
            "deepspeed",
            "",
            ((1, "{"), (2, '    "zero_optimization": {'), (3, '        "text": "}"'), (4, "    }"), (5, "}")),
        )
    ]
    assert found("[INFO|configuration_utils.py:731] Model config LlamaConfig {", '  "use_cache": true', "}") == [
        Excerpt("model", "", ((1, "{"), (2, '  "use_cache": true'), (3, "}")))
    ]
    assert found("[2026-01-02 10:00:00] [INFO] [axolotl.cli.config.load_cfg:248] [RANK:0] config:", "{", "}") == [
        Excerpt("axolotl", "", ((2, "{"), (3, "}")))
    ]
    assert found(
        "INFO:torchtune.utils._logging:Running LoRAFinetuneRecipe with resolved config:",
        "",
        "batch_size: 2",
        "checkpointer:",
        "  checkpoint_files:",
        "  - a.safetensors",
        "",
        "next: line",
    ) == [
        Excerpt(
            "torchtune",
            "",
            ((3, "batch_size: 2"), (4, "checkpointer:"), (5, "  checkpoint_files:"), (6, "  - a.safetensors")),
        )
    ]
    assert found("[axolotl.x] config:", "no brace") == []


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "MOST_EXCERPTS", 2)
    pieces = Excerpts()
    for number in range(4):
        pieces.see(number, f"+ torchrun train.py --lr {number}")
    assert (len(pieces.found), pieces.cut) == (2, True)
    pieces = Excerpts()
    pieces.see(1, "+ torchrun train.py --x " + "y" * 300_000)
    assert (pieces.found, pieces.open) == ([], False)
    pieces.see(1, "parameters TrainingArguments(")
    for number in range(2, 5_000):
        pieces.see(number, f"a{number}=1,")
    assert (pieces.found, pieces.open) == ([], False)
