"""Launch scripts: which commands train, what their flags and variables state, and where. The fixtures are our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.errors import Malformed
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, SettingValue, Skipped
from gradcompat.scanners import any_config
from gradcompat.scanners.launches.launch_script import scan
from tests.examples import examples, length
from tests.scanners.scanned import fixture, lines, written

GA = "training.gradient_accumulation_steps"
PROCESSES = "distributed.processes"
STRATEGY = "distributed.strategy"


def scanned(text: str) -> Context:
    return scan(Document("run.sh", text))


def places(text: str) -> list[tuple[str, SettingValue | None, str, str | None]]:
    """Each setting with its value, its line and column, and its spelling."""
    return [
        (one.key, one.value, f"{one.location.line}:{one.location.column}", one.spelling)
        for one in written(scanned(text))
    ]


def values(text: str, key: str) -> list[SettingValue | None]:
    return [one.value for one in scanned(text).settings if one.key == key]


def notes(text: str) -> list[tuple[str, str, bool, str]]:
    return [(one.what, one.reason, one.gap, str(one.location)) for one in scanned(text).skipped]


@pytest.mark.parametrize(
    ("line", "arch"),
    [
        ("--gres=gpu:h100:8", ["9.0"]),
        ("--gres gpu:a100", ["8.0"]),
        ("--gpus-per-node=v100:4", ["7.0"]),
        ("-G rtx_3090:2", ["8.6"]),
        ("--gres=gpu:8", []),
        ("--gres=gpu:bigone:8", []),
        ("--gpus=4", []),
    ],
)
def test_the_gpu_that_slurm_is_asked_for(line: str, arch: list[str]) -> None:
    text = f"#!/bin/bash\n#SBATCH {line}\npython train.py --gradient_accumulation_steps 2\n"
    assert values(text, "host.cuda_arch") == arch
    assert values(text, "host.device") == ["cuda"] * len(arch)


@pytest.mark.parametrize(("gpu", "short"), [("mi300x", False), ("mi250", False), ("radeon_rx_7900xtx", True)])
def test_the_gpu_of_amd_that_slurm_is_asked_for(gpu: str, short: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH --gres=gpu:{gpu}:8\npython train.py --gradient_accumulation_steps 2\n"
    assert values(text, "host.device") == ["rocm"]
    assert values(text, "host.short_wavefronts") == [short]


@pytest.mark.parametrize(
    ("rest", "alone"),
    [
        ("--adapter_name_or_path saves/sft", [True]),
        ("--adapter_name_or_path saves/sft --create_new_adapter", [False]),
        ("--adapter_name_or_path saves/sft --create_new_adapter False", [True]),
        ("--adapter_name_or_path saves/sft,saves/dpo", [False]),
        ("--lora_target all", []),
    ],
)
def test_the_adapter_that_llamafactory_goes_on_with(rest: str, alone: list[bool]) -> None:
    text = f"llamafactory-cli train --stage dpo --do_train --finetuning_type lora --model_name_or_path m {rest}\n"
    assert values(text, "training.resumed_adapter_alone") == alone


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python src/train.py --stage sft --do_train --finetuning_type lora", [True]),
        ("python src/train.py --template qwen --do_train --finetuning_type lora", [True]),
        ("python src/train_sft.py --do_train --finetuning_type lora", []),  # of ChatGLM-Efficient-Tuning, and others
    ],
)
def test_whose_defaults_a_program_has_that_chooses_how_it_is_tuned(command: str, told: list[bool]) -> None:
    assert values(f"{command} --learning_rate 1e-4\n", "training.gradient_checkpointing") == told


def test_the_options_of_a_schedule_are_a_text_on_the_command_line() -> None:
    text = "python train.py --output_dir out --lr_scheduler_kwargs '{\"min_lr\": 1e-6}'\n"
    assert values(text, "training.text_lr_scheduler_kwargs") == [True]


def test_a_slurm_script() -> None:
    context = scan(fixture("launch/llava.sbatch"))
    assert (context.source, context.kind, context.run, context.skipped) == ("llava.sbatch", "launch-script", True, ())
    assert context.refers_to == ("finetune.py", "llava-hf/llava-1.5-7b-hf/config.json", "configs/zero2.json")
    assert lines(context) == [
        (4, "host.device", "cuda"),
        (4, "host.cuda_arch", "8.0"),
        (4, PROCESSES, 16),
        (9, GA, 8),
        (10, "training.per_device_train_batch_size", 2),
        (18, "peft.method", "lora"),
        (18, "peft.given_to_trainer", True),
        (19, "peft.modules_to_save", True),
        (22, "training.framework", "trl"),
        (23, "model.name", "llava-hf/llava-1.5-7b-hf"),
        (23, "model.architecture", ("LlavaForConditionalGeneration",)),
        (24, STRATEGY, "deepspeed"),
        (27, "training.gradient_checkpointing", True),
        (28, "training.use_reentrant", False),
        (29, "precision.mode", "bf16"),
        (29, "precision.tf32", True),
        (29, "optimizer.name", "adamw_8bit"),
        (29, "optimizer.library", "bitsandbytes"),
    ]


@pytest.mark.parametrize(
    ("command", "call"),
    [
        ("yolo detect train model=yolov8s.pt data=coco.yaml", "ultralytics.YOLO('yolov8s.pt')"),
        ("yolo train model=weights/yolo11n-seg.pt data=coco.yaml", "ultralytics.YOLO('weights/yolo11n-seg.pt')"),
        ("yolo task=detect mode=train model=yolo11n.yaml data=coco.yaml", "ultralytics.YOLO('yolo11n.yaml')"),
        ("yolo segment train model=$MODEL data=coco.yaml", "ultralytics.YOLO(_1)"),
        ("yolo segment train data=coco.yaml", "ultralytics.YOLO()"),
    ],
)
def test_the_command_of_ultralytics_names_what_it_trains(command: str, call: str) -> None:
    context = scanned(f"{command} workers=4")
    asked = "data='coco.yaml', "
    assert {one.key: one.value for one in context.settings} == {
        "training.framework": "ultralytics",
        "code.symbols": ("ultralytics.YOLO", "ultralytics.YOLO.train"),
        "code.calls": (call, f"ultralytics.YOLO.train({asked}workers=4)"),
        "training.dataloader_num_workers": 4,
    }


def test_the_command_of_ultralytics_says_how_it_trains() -> None:
    context = scanned("yolo train model=yolo11n.pt optimizer=AdamW lr0=0.001 resume=false warmup_epochs=0 batch=$B")
    calls = next(one.value for one in context.settings if one.key == "code.calls")
    assert calls == (
        "ultralytics.YOLO('yolo11n.pt')",
        "ultralytics.YOLO.train(optimizer='AdamW', lr0=0.001, resume=False, warmup_epochs=0, batch=_1)",
    )


@pytest.mark.parametrize("command", ["yolo predict model=yolov8s.pt", "yolo detect val model=yolov8s.pt", "yolo"])
def test_the_command_of_ultralytics_may_train_nothing(command: str) -> None:
    with pytest.raises(Malformed):
        scanned(command)


def test_sd_scripts_and_diffusers_examples_have_loops_of_their_own() -> None:
    arguments = "--pretrained_model_name_or_path=sd --optimizer_type=AdamW8bit --max_data_loader_n_workers 4"
    context = scanned(f"accelerate launch train_network.py {arguments}")
    assert {one.key: one.value for one in context.settings if one.key != "model.name"} == {
        "training.framework": "accelerate",
        "optimizer.name": "adamw_8bit",
        "optimizer.library": "bitsandbytes",
        "training.dataloader_num_workers": 4,
    }


@pytest.mark.parametrize(
    ("arguments", "drivers"),
    [
        ("--per_device_train_batch_size 2 --bf16", ["transformers.Trainer", "trl"]),
        ("--per_device_train_batch_size 2 --save_strategy no --use_peft", ["trl"]),
        (
            "--per_device_train_batch_size 2 --gradient_accumulation_steps 8 --output_dir out",
            [],
        ),  # a loop of its own too
        ("--train_batch_size 2 --bf16", []),
    ],
)
def test_arguments_of_the_trainer_tell_what_presumably_drives_the_loop(arguments: str, drivers: list[str]) -> None:
    found = [one for one in scanned(f"torchrun train.py {arguments}").settings if one.key == "training.framework"]
    assert [one.value for one in found] == drivers
    assert all(one.presumed for one in found)


@pytest.mark.parametrize("name", ["llava.sbatch", "stages.sh", "written.sh"])
def test_the_places_are_those_of_the_values(name: str) -> None:
    document = fixture(f"launch/{name}")
    text = document.text.split("\n")
    for setting in scan(document).settings:
        location = setting.location
        assert location.line is not None
        assert location.column is not None
        place = text[location.line - 1][location.column - 1 :]
        if isinstance(setting.value, (int, str)) and not isinstance(setting.value, bool) and setting.spelling:
            assert place.lstrip('"').startswith(str(setting.value)), setting


def test_the_folder_scan_takes_it() -> None:
    assert any_config.scan(fixture("launch/llava.sbatch")).kind == "launch-script"


@pytest.mark.parametrize(
    ("command", "methods"),
    [
        ("trl sft --model_name_or_path Qwen/Qwen3-4B --dataset_name x", ["none"]),
        ("python trl/scripts/dpo.py --model_name_or_path Qwen/Qwen3-4B", ["none"]),
        ("trl sft --model_name_or_path Qwen/Qwen3-4B --use_peft --lora_r 8", ["lora"]),
        ("trl sft --config sft.yaml", []),  # which may ask for one
        ('trl sft --model_name_or_path Qwen/Qwen3-4B "$@"', []),
        ("trl sft --model_name_or_path Qwen/Qwen3-4B $EXTRA", []),
    ],
)
def test_a_command_of_trls_makes_an_adapter_where_it_is_asked_for_one(command: str, methods: list[str]) -> None:
    assert values(f"{command}\n", "peft.method") == methods


def test_launches_that_disagree_are_all_told_and_one_in_a_branch_says_nothing_sure() -> None:
    context = scan(fixture("launch/stages.sh"))
    assert lines(context) == [
        (2, PROCESSES, 8),
        (2, "training.framework", "trl"),
        (2, "training.method", "sft"),
        (2, "peft.method", "none"),
        (3, GA, 4),
        (3, "training.seed", 7),
        (5, "training.framework", None),
        (5, "training.method", None),
        (5, GA, None),
        (8, GA, 16),
        (8, "training.seed", 7),
    ]
    assert context.refers_to == ("fsdp.yaml", "dpo.yaml", "train_reward.py")


def test_a_config_that_the_script_writes() -> None:
    context = scan(fixture("launch/written.sh"))
    assert lines(context) == [
        (5, "deepspeed.same_accumulation", True),
        (6, STRATEGY, "deepspeed"),
        (7, "deepspeed.zero_stage", 2),
        (7, "deepspeed.gradient_clipping", 0.0),
        (7, "deepspeed.own_scheduler", False),
        (8, "deepspeed.offload_optimizer", "cpu"),
        (13, PROCESSES, 4),
        (14, STRATEGY, "deepspeed"),
        (14, GA, 4),
        (14, "training.seed", None),
    ]
    assert {one.location.path for one in context.settings} == {"written.sh"}
    assert context.refers_to == ("sft.yaml",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "torchrun --nproc_per_node=4 --nnodes 2 train.py --gradient_accumulation_steps=8",
            [(PROCESSES, 8, "1:27", None), (GA, 8, "1:79", "--gradient_accumulation_steps={}")],
        ),
        ("torchrun --nproc-per-node gpu train.py", [(PROCESSES, None, "1:27", None)]),
        ("torchrun --nproc_per_node 8 --nnodes 1:4 train.py", [(PROCESSES, None, "1:27", "--nproc_per_node {}")]),
        ("python -m torch.distributed.run --nproc_per_node 2 run.py", [(PROCESSES, 2, "1:50", "--nproc_per_node {}")]),
        (
            "deepspeed --num_gpus 8 main.py --zero_stage 3",
            [
                (STRATEGY, "deepspeed", "1:1", None),
                (PROCESSES, 8, "1:22", "--num_gpus {}"),
                ("deepspeed.zero_stage", 3, "1:45", "--zero_stage {}"),
            ],
        ),
        # transformers' Trainer uses DeepSpeed only if it is given a config
        (
            "deepspeed run_clm.py --output_dir out --gradient_accumulation_steps 2",
            [(STRATEGY, None, "1:1", None), (GA, 2, "1:69", "--gradient_accumulation_steps {}")],
        ),
        ("deepspeed --hostfile hosts --num_gpus 8 main.py --zero_stage 3", [
            (STRATEGY, "deepspeed", "1:1", None),
            (PROCESSES, None, "1:39", "--num_gpus {}"),
            ("deepspeed.zero_stage", 3, "1:62", "--zero_stage {}"),
        ]),
        (
            "accelerate launch --multi_gpu --mixed_precision bf16 train.py --lr 1",
            [(STRATEGY, "ddp", "1:19", None), ("precision.mode", "bf16", "1:49", "--mixed_precision {}")],
        ),
        (
            "accelerate launch --dynamo_use_regional_compilation train.py",
            [("training.regional_compilation", True, "1:19", None)],
        ),
        (
            "env NPROC_PER_NODE=2 swift rlhf --rlhf_type dpo --model Qwen/Qwen2-7B",
            [
                (PROCESSES, 2, "1:20", "NPROC_PER_NODE={}"),
                ("training.method", "dpo", "1:45", "--rlhf_type {}"),
                ("model.name", "Qwen/Qwen2-7B", "1:57", "--model {}"),
                ("model.architecture", ("Qwen2ForCausalLM",), "1:57", None),
            ],
        ),
        (
            "ray job submit --address=http://a:1 -- python3 -m openrlhf.cli.train_ppo_ray --temperature 0.7",
            [
                ("training.framework", "openrlhf", "1:51", None),
                ("training.method", "ppo", "1:51", None),
                ("training.per_device_train_batch_size", 4, "1:51", None),
                ("training.temperature", 0.7, "1:92", "--temperature {}"),
            ],
        ),
        (
            "deepspeed --module openrlhf.cli.train_sft --packing_samples --lora_rank 0",
            [
                (STRATEGY, "deepspeed", "1:1", None),
                ("training.framework", "openrlhf", "1:20", None),
                ("training.method", "sft", "1:20", None),
                ("data.multi_turn", False, "1:20", None),
                ("training.packing", True, "1:43", None),
                ("peft.method", "none", "1:73", None),
            ],
        ),
        (
            "python -m openrlhf.cli.train_sft --multiturn",
            [
                ("training.framework", "openrlhf", "1:11", None),
                ("training.method", "sft", "1:11", None),
                ("data.multi_turn", True, "1:11", None),
                ("training.packing", False, "1:11", None),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo critic.ppo_micro_batch_size_per_gpu=8 "
            "actor_rollout_ref.rollout.free_cache_engine=False",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("training.critic_accumulation_steps", 4, "1:11", None),
                ("data.multi_turn", False, "1:11", None),
                ("training.free_cache_engine", False, "1:115", "actor_rollout_ref.rollout.free_cache_engine={}"),
            ],
        ),
        (
            "torchrun --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.train_batch_size=128 model.path=x/y",
            [
                (GA, 4, "1:1", None),
                (PROCESSES, 8, "1:27", "--nproc_per_node={}"),
                ("training.framework", "verl", "1:32", None),
                ("training.method", "sft", "1:32", None),
                ("model.name", "x/y", "1:99", "model.path={}"),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo algorithm.adv_estimator=grpo",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "grpo", "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
                ("training.advantage_estimator", "grpo", "1:57", "algorithm.adv_estimator={}"),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.warmup_style=cosine",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
                ("optimizer.scheduler", "cosine", "1:76", "actor_rollout_ref.actor.optim.warmup_style={}"),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo actor_rollout_ref.actor.use_dynamic_bsz=True",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.dynamic_critic", True, "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo actor_rollout_ref.actor.use_dynamic_bsz=True critic.use_dynamic_bsz=False",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.dynamic_critic", False, "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo --config-name=ppo_megatron_trainer.yaml critic.use_dynamic_bsz=True",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("distributed.strategy", "megatron_lm", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo critic.strategy=megatron critic.use_dynamic_bsz=True",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo algorithm.adv_estimator=rloo actor_rollout_ref.actor.use_dynamic_bsz=True",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.dynamic_critic", False, "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("training.critic_accumulation_steps", 0, "1:11", None),
                ("data.multi_turn", False, "1:11", None),
                ("training.advantage_estimator", "rloo", "1:57", "algorithm.adv_estimator={}"),
            ],
        ),
        (
            "python -m verl.trainer.main_ppo trainer.resume_mode=resume_path data.shuffle=False",
            [
                ("training.framework", "verl", "1:11", None),
                ("training.method", "ppo", "1:11", None),
                ("training.loss_type", "token-mean", "1:11", None),
                ("optimizer.scheduler", "constant", "1:11", None),
                ("data.multi_turn", False, "1:11", None),
                ("training.resume_from_checkpoint", True, "1:53", None),
                ("data.shuffle", False, "1:78", "data.shuffle={}"),
            ],
        ),
        (
            "megatron rlhf --rlhf_type dpo --torch_dtype bfloat16",
            [
                ("training.framework", "megatron", "1:1", None),
                ("training.method", "dpo", "1:27", "--rlhf_type {}"),
                ("precision.mode", "bf16", "1:45", None),
            ],
        ),
        (
            "tune run --nproc_per_node 2 lora_finetune --config a.yaml gradient_accumulation_steps=8",
            [
                (PROCESSES, 2, "1:27", "--nproc_per_node {}"),
                ("training.framework", "torchtune", "1:29", None),
                ("training.method", "sft", "1:29", None),
                (GA, 8, "1:87", "gradient_accumulation_steps={}"),
            ],
        ),
        (
            "torchrun --nproc_per_node 2 -m verl.trainer.fsdp_sft_trainer data.multiturn.enable=true",
            [
                (GA, 32, "1:1", None),
                (PROCESSES, 2, "1:27", "--nproc_per_node {}"),
                ("training.framework", "verl", "1:32", None),
                ("training.method", "sft", "1:32", None),
                ("data.multi_turn", True, "1:84", "data.multiturn.enable={}"),
            ],
        ),
        (
            "torchrun -m verl.trainer.sft_trainer model.path=x +model.lora_rank=8",
            [
                ("training.framework", "verl", "1:13", None),
                ("training.method", "sft", "1:13", None),
                ("data.multi_turn", True, "1:13", None),
                ("model.name", "x", "1:49", "model.path={}"),
                ("peft.method", "lora", "1:68", None),
            ],
        ),
        (
            "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.actor.strategy=fsdp2",
            [
                ("training.framework", "verl", "1:12", None),
                ("training.method", "grpo", "1:12", None),
                ("training.loss_type", "token-mean", "1:12", None),
                ("optimizer.scheduler", "constant", "1:12", None),
                ("data.multi_turn", False, "1:12", None),
                ("training.advantage_estimator", "grpo", "1:58", "algorithm.adv_estimator={}"),
                (STRATEGY, "fsdp", "1:96", None),
                ("fsdp.version", 2, "1:96", None),
            ],
        ),
        (
            "python3 -m verl.experimental.fully_async_policy.fully_async_main actor_rollout_ref.rollout.mode=async",
            [
                ("training.framework", "verl", "1:12", None),
                ("training.method", "ppo", "1:12", None),
                ("training.separate_rollout", True, "1:12", None),
                ("training.loss_type", "token-mean", "1:12", None),
                ("optimizer.scheduler", "constant", "1:12", None),
                ("data.multi_turn", False, "1:12", None),
                ("training.async_rollout", True, "1:97", None),
            ],
        ),
        (
            "python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.checkpoint_engine.backend=nccl"
            " actor_rollout_ref.rollout.name=sglang actor_rollout_ref.model.lora.merge=True",
            [
                ("training.framework", "verl", "1:12", None),
                ("training.method", "ppo", "1:12", None),
                ("training.loss_type", "token-mean", "1:12", None),
                ("optimizer.scheduler", "constant", "1:12", None),
                ("data.multi_turn", False, "1:12", None),
                ("training.separate_rollout", True, "1:86", None),
                ("training.use_vllm", False, "1:122", None),
                ("training.vllm_enable_lora", False, "1:164", None),
            ],
        ),
        (
            "mlx_lm_lora.train --train --train-mode orpo --beta 0.1",
            [
                ("training.framework", "mlx", "1:1", None),
                ("code.calls", ("mlx_lm_lora.train(train=True, train_mode='orpo', beta=0.1)",), "1:1", None),
            ],
        ),
        (
            "python -m mlx_lm_lora.train --train -c a.yaml",
            [
                ("training.framework", "mlx", "1:11", None),
                ("code.calls", ("mlx_lm_lora.train(train=True, c='a.yaml', **_)",), "1:11", None),
            ],
        ),
        (
            "lerobot-train --policy.path=lerobot/smolvla_base --steps=20000",
            [
                ("training.framework", "torch", "1:1", None),
                (
                    "code.calls",
                    ("lerobot.scripts.train(policy_path='lerobot/smolvla_base', steps=20000)",),
                    "1:1",
                    None,
                ),
            ],
        ),
        (
            "python -m lerobot.scripts.lerobot_train --policy.type=act --config_path=a.json",
            [
                ("training.framework", "torch", "1:11", None),
                ("code.calls", ("lerobot.scripts.train(policy_type='act', config_path='a.json', **_)",), "1:11", None),
            ],
        ),
        ("axolotl train a.yml --gradient-accumulation-steps 4", [(GA, 4, "1:51", "--gradient-accumulation-steps {}")]),
        (
            "python src/train_bash.py --stage sft --gradient_accumulation_steps 4",
            [
                ("training.method", "sft", "1:34", "--stage {}"),
                ("training.framework", "transformers.Trainer", "1:34", None),
                (GA, 4, "1:68", "--gradient_accumulation_steps {}"),
            ],
        ),
        ("accelerate launch -m axolotl.cli.train a.yml --micro_batch_size 1",
         [("training.per_device_train_batch_size", 1, "1:65", "--micro_batch_size {}")]),
        (
            "python main.py fit --trainer.accumulate_grad_batches 4",
            [("training.framework", "lightning", "1:8", None), (GA, 4, "1:54", "--trainer.accumulate_grad_batches {}")],
        ),
        ("srun -n 16 python train.py --lr 1", [(PROCESSES, 16, "1:9", "-n {}")]),
        ("nohup mpirun -np 4 python train.py --lr 1 &", [(PROCESSES, 4, "1:18", "-np {}")]),
        ("mpirun -np 4 -x NCCL_DEBUG=INFO python train.py --lr 1", [(PROCESSES, 4, "1:12", "-np {}")]),
        ("$PYTHON train.py --gradient_accumulation_steps 4", [(GA, 4, "1:48", "--gradient_accumulation_steps {}")]),
        ("uv run train.py --seed 4", [("training.seed", 4, "1:24", "--seed {}")]),
        ("./train.py --seed 4", [("training.seed", 4, "1:19", "--seed {}")]),
        ("$LAUNCHER $SCRIPT --learning_rate 1 --seed 4", [("training.seed", 4, "1:44", "--seed {}")]),
        ("ssh node 'cd x && python train.py --seed 4'", [("training.seed", 4, "1:42", "--seed {}")]),
        ("screen -dm bash -c 'python train.py --seed 4'", [("training.seed", 4, "1:44", "--seed {}")]),
        # bare switches, and their opposites
        ("python train.py --fp16 --bf16 False", [("precision.mode", "fp16", "1:17", None)]),
        ("python train.py --no_gradient_checkpointing", [("training.gradient_checkpointing", False, "1:17", None)]),
        # what is built around the model has another class
        ("python train.py --model_name_or_path lmsys/vicuna-7b-v1.5 --vision_tower clip",
         [("model.name", "lmsys/vicuna-7b-v1.5", "1:38", "--model_name_or_path {}")]),
    ],
)  # fmt: skip
def test_commands(text: str, expected: list[tuple[str, SettingValue | None, str, str | None]]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "swift infer --model Qwen/Qwen2-7B",
        "CUDA_VISIBLE_DEVICES=0 swift export --ckpt_dir out/checkpoint-100 --merge_lora true",
        "uv run llamafactory-cli chat model.yaml",
        "axolotl merge-lora config.yml",
    ],
)
def test_what_uses_a_model_and_trains_none(text: str) -> None:
    found = scan(Document("use.sh", text))
    assert (found.run, found.settings) == (False, ())


@pytest.mark.parametrize("text", ["swift rollout --model Qwen/Qwen2-7B", "trl vllm-serve --model gpt2", "swift --help"])
def test_what_serves_a_training_is_no_use_of_a_model(text: str) -> None:
    with pytest.raises(Malformed, match="starts no training"):
        scan(Document("serve.sh", text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "echo torchrun train.py --gradient_accumulation_steps 8",
        "pip install deepspeed torchrun",
        "python eval.py --load_in_4bit --seed 1",
        "python -m vllm.entrypoints.api_server --dtype bfloat16",
        "python setup.py install",
        "python -c 'import torch' --lr 1",
        "accelerate config",
        "trl env",
        "torchrun",
        "# torchrun train.py --gradient_accumulation_steps 8",
        "cat <<EOF\ntorchrun train.py\nEOF",
        "torchrun --nproc_per_node 8 evaluate.py --batch_size 4",
        "python $1.py",
        "python sft_eval.py --seed 1",
        "python tagger.py --do_train False --do_eval --seed 1",
        "python train.py --learning_rate 1e-4 --eval-only",
        "torchrun train.py --lr 1e-4 --test_only=true",
        "accelerate launch -m lm_eval --model hf --seed 1",
        "sudo vim train.py",
        "$PAGER train.py.log --seed 3",
    ],
)
def test_what_trains_nothing(text: str) -> None:
    with pytest.raises(Malformed, match="starts no training that gradcompat knows"):
        scanned(text)


@pytest.mark.parametrize(
    "text",
    [
        "python run_ner.py --model_name_or_path bert-base-cased --label_smoothing_factor 0.1",
        "python tagger.py --do_train --do_eval --label_smoothing_factor 0.1",
    ],
)
def test_what_trains_by_an_example_of_transformers(text: str) -> None:
    assert ("training.label_smoothing_factor", 0.1) in [(one.key, one.value) for one in scanned(text).settings]


def test_a_script_that_is_too_long() -> None:
    with pytest.raises(Malformed, match="is longer than 1024 KiB, which is too long for a launch script"):
        scanned("#" * (1024 * 1024 + 1))


LAUNCH = "python train.py --gradient_accumulation_steps "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"GA=8\n{LAUNCH}$GA", [8]),
        (f"GA='8'\n{LAUNCH}\"${{GA}}\"", [8]),
        (f"export GA=8\n{LAUNCH}$GA", [8]),
        ("GA=8\nOPTIONS=\"--lr 1 --gradient_accumulation_steps $GA\"\npython train.py $OPTIONS", [8]),
        ("A=(--lr $X)\nA+=(--gradient_accumulation_steps 8)\npython train.py \"${A[@]}\"", [8]),
        (f"GA=${{GA:-8}}\n{LAUNCH}$GA", [8]),
        (f"{LAUNCH}${{GA:-8}}", [8]),
        (f"{LAUNCH}${{GA=8}}", [8]),
        (f"{LAUNCH}${{1:-8}}", [8]),
        (f"while [ $1 ]; do case $1 in --ga) GA=$2;; esac; done\nGA=${{GA:-8}}\n{LAUNCH}$GA", [8]),
        (f"GA=4\n{LAUNCH}${{GA:-8}}", [None]),
        (f"if [ $1 ]; then GA=16; fi\nGA=${{GA:-8}}\n{LAUNCH}$GA", [None]),
        (f"{LAUNCH}${{GA:-$2}}", [None]),
        (f"{LAUNCH}${{GA:-}}", [None]),
        (f"{LAUNCH}${{GA:+8}}", [None]),
        (f"{LAUNCH}1${{GA:-8}}", [None]),
        (f"GA=8\nGA=$2\n{LAUNCH}$GA", [None]),
        (f"GA=8\nif [ $1 ]; then GA=16; fi\n{LAUNCH}$GA", [None]),
        (f"GA=8\n[ $1 ] && GA=16\n{LAUNCH}$GA", [None]),
        (f"GA=8\nwhile read X; do GA=16; done\n{LAUNCH}$GA", [None]),
        (f"GA=8\nread GA\n{LAUNCH}$GA", [None]),
        (f"GA=8\n((GA *= 2))\n{LAUNCH}$GA", [None]),
        (f"GA=8\nsource settings.sh\n{LAUNCH}$GA", [None]),
        (f"GA=8\nsource venv/bin/activate\n{LAUNCH}$GA", [8]),
        (f"f() {{\n GA=16\n}}\nGA=8\nf\n{LAUNCH}$GA", [None]),
        (f"GA=8\n{LAUNCH}$GA\nGA=16\n{LAUNCH}$GA", [8, 16]),
        (f"for GA in 4 8; do\n{LAUNCH}$GA\ndone", [None]),
        (f"{LAUNCH}$((64 / 8))", [8]),
        (f"GPUS=4\n{LAUNCH}$((64 / GPUS))", [16]),
        (f"{LAUNCH}$((64 / GPUS))", [None]),
        (f"{LAUNCH}$1", [None]),
        (f"{LAUNCH}`nproc`", [None]),
        (f"{LAUNCH}1$X", [None]),
        (f"bash -c '{LAUNCH}8'", [8]),
        (f"CMD=\"{LAUNCH}8\"\neval $CMD", [8]),
        (f"CMD=\"{LAUNCH}8\"\n$CMD", [8]),
        (f"sbatch <<EOF\n#!/bin/bash\n{LAUNCH}8\nEOF", [8]),
        (f"cd x && {LAUNCH}8", [8]),
        (f"if true; then\n{LAUNCH}8\nfi", [8]),
        (f"if $A; then {LAUNCH}8; else {LAUNCH}4; fi", [None, None]),
        (f"train() {{\n{LAUNCH}8\n}}\n{LAUNCH}4", [None, 4]),
        (f"case $1 in\na) {LAUNCH}8;;\nesac\n{LAUNCH}4", [None, 4]),
        (f"{LAUNCH}4 || {LAUNCH}8", [4, None]),
        (f"{LAUNCH}4 --gradient_accumulation_steps 8", [8]),
        (f"X=$(echo \"it's\")\n{LAUNCH}8", [8]),
        (f"{LAUNCH}\\\r\n  8\r\n", [8]),
    ],
)  # fmt: skip
def test_variables_and_branches(text: str, expected: list[SettingValue | None]) -> None:
    assert values(text, GA) == expected


def test_the_default_of_a_variable_is_presumed() -> None:
    text = f"{LAUNCH}${{GA:-8}} --model_name_or_path ${{MODEL:-meta-llama/Llama-3.1-8B}} --bf16 true"
    said = {one.key: (one.value, one.presumed) for one in scanned(text).settings}
    assert said[GA] == (8, True)
    assert said["model.name"] == ("meta-llama/Llama-3.1-8B", True)
    assert said["model.architecture"] == (("LlamaForCausalLM",), True)
    assert said["precision.mode"] == ("bf16", False)


def test_the_line_to_change_is_that_of_the_variable() -> None:
    assert places(f'GA="8"\n{LAUNCH}$GA') == [(GA, 8, "1:5", "GA={}")]
    # Several words in one variable: the flag stands in it, too, or the value is only a part.
    assert places('ARGS="--gradient_accumulation_steps 8"\npython train.py $ARGS') == [
        (GA, 8, "1:37", "--gradient_accumulation_steps {}")
    ]
    assert places(f'ARGS="8 --lr 1"\n{LAUNCH}$ARGS') == [(GA, 8, "1:7", None)]


def test_a_blank_behind_the_backslash() -> None:
    text = "python train.py --lr 1 \\ \n  --gradient_accumulation_steps 8 \\\n  --seed 3\n"
    assert places(text) == [
        (GA, None, "2:33", "--gradient_accumulation_steps {}"),
        ("training.seed", None, "3:10", "--seed {}"),
    ]
    reason = "a space follows the `\\`, which ends the command: the intended continuation counts as unknown"
    assert notes(text) == [("a continued line", reason, False, "run.sh:1")]


def test_a_comment_ends_a_continued_command() -> None:
    text = "python train.py --seed 3 \\\n  # --lr 1 \\\n  --gradient_accumulation_steps 8\n"
    assert places(text) == [("training.seed", 3, "1:24", "--seed {}")]
    reason = "belongs to no command, because the line before it ends the command"
    assert notes(text) == [("--gradient_accumulation_steps", reason, False, "run.sh:3")]


def test_what_is_behind_exit_is_not_run() -> None:
    text = f"{LAUNCH}4\nexit 0\n{LAUNCH}8\n"
    assert values(text, GA) == [4]
    assert notes(text) == [("a launch", "comes after `exit` and never runs", False, "run.sh:3")]


def test_a_quote_that_is_never_closed() -> None:
    text = f'{LAUNCH}4 --run_name "x --seed 3\n{LAUNCH}8\n'
    assert places(text) == [(GA, 4, "1:47", "--gradient_accumulation_steps {}")]
    assert notes(text) == [("a quote", "is never closed: what follows is not read", True, "run.sh:1")]


def test_what_is_no_value_and_what_stands_twice() -> None:
    context = scanned("python train.py --gradient_accumulation_steps many --seed 1 --seed 2")
    assert context.settings == (
        Setting(
            key="training.seed", value=2, location=Location(path="run.sh", line=1, column=68), spelling="--seed {}"
        ),
    )
    reason = "has no value that training.gradient_accumulation_steps takes, which is of type int"
    twice = "appears more than once: the last value counts"
    assert context.skipped == (
        Skipped(what="seed", reason=twice, gap=False, location=Location(path="run.sh", line=1, column=52)),
        Skipped(what="gradient_accumulation_steps", reason=reason, location=Location(path="run.sh", line=1, column=47)),
    )


def test_a_written_config_that_cannot_be_read() -> None:
    config = '{"train_batch_size": $N, "zero_optimization": {}}'
    text = f"cat > ds.json <<EOF\n{config}\nEOF\npython train.py --deepspeed ds.json\n"
    assert places(text) == [(STRATEGY, "deepspeed", "4:29", None)]
    assert [(what, gap, place) for what, _, gap, place in notes(text)] == [("ds.json", True, "run.sh:2")]


LONG = length(20_000)


@pytest.mark.parametrize(
    "text",
    [
        "$(" * LONG,
        '"' * (LONG + 1),
        "`" * (LONG + 1),
        "${" * LONG,
        "((" * LONG,
        "A=(" * LONG,
        "if " * LONG,
        "{ " * LONG + "fi " * LONG,
        "srun " * LONG,
        "srun " + "python -u " * LONG,
        "eval " * LONG,
        "cat <<A <<B\n" * (LONG // 2),
        "A=aa\n" + "A=$A$A\n" * 100 + "echo $A",
        "A=(a b)\n" + "A=(${A[@]} ${A[@]})\n" * 50 + "echo ${A[@]}",
        "\\ \n" * LONG,
        "f() {\n" * LONG,
    ],
    ids=range(16),
)
def test_hostile_scripts(text: str) -> None:
    first = f"{LAUNCH}8\n"
    assert values(first + text, GA) == [8]


PIECES = (
    *("$(", ")", "'", '"', "\\\n", "\\ \n", "\n", "\r\n", "${A[@]}", "A=(", "A=1", "A+=", "$A", "<<E\n", "E\n", "`"),
    *("if ", "fi", "{", "}", "case ", " in ", "esac", "f() ", "((", "))", "#", "&&", "||", ";", "exit ", "export "),
    *(
        "torchrun ",
        "python ",
        "deepspeed ",
        "srun ",
        "eval ",
        "bash -c ",
        "train.py ",
        "-m ",
        "--seed ",
        "1 ",
        "--",
        "=",
    ),
    "é",
)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_script_gives_a_context_or_is_none(pieces: list[str]) -> None:
    text = "".join(pieces)
    lines_of_text = text.split("\n")
    try:
        context = scanned(text)
    except Malformed:
        return
    for setting in context.settings:
        line, column = setting.location.line or 0, setting.location.column or 0
        assert 1 <= column <= len(lines_of_text[line - 1]) + 1


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("CUDA_VISIBLE_DEVICES=0 python train.py", True),
        ("nohup python -u train.py > log &", True),
        ("srun python train.py", False),
        ("torchrun --nproc_per_node 2 train.py", False),
        ("python train.py\ntorchrun train.py", False),
        ("python -m torch.distributed.run train.py", False),
    ],
)
def test_what_python_starts_by_itself(text: str, alone: bool) -> None:
    assert (scanned(text).alone is not None) is alone


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 python train.py", 1),
        ("export CUDA_VISIBLE_DEVICES=0,1\npython train.py", 1),
        ("CUDA_VISIBLE_DEVICES=2 python train.py", None),
        ("CUDA_VISIBLE_DEVICES=$GPUS python train.py", None),
        ("python train.py", None),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py\nCUDA_VISIBLE_DEVICES=0 python train.py", None),
    ],
)
def test_several_gpus_that_every_launch_sees(text: str, line: int | None) -> None:
    devices = scanned(text).devices
    assert (None if devices is None else devices.line) == line


def test_variables_that_packages_read() -> None:
    assert values("export UNSLOTH_RETURN_LOGITS=1\npython train.py", "environment.unsloth_return_logits") == [True]
    assert values("USE_TF=$FLAG python train.py", "environment.use_tf") == [None]


@pytest.mark.parametrize(
    ("option", "stated"),
    [
        ("actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4", ("distributed.strategy", "megatron_lm")),
        ("actor_rollout_ref.rollout.temperature=0.7", ("training.temperature", 0.7)),
    ],
)
def test_what_verl_is_told_of_its_actor(option: str, stated: tuple[str, object]) -> None:
    context = scan(Document("run.sh", f"python3 -m verl.trainer.main_ppo {option}\n"))
    assert stated in [(one.key, one.value) for one in context.settings]


@pytest.mark.parametrize(
    ("options", "batches"),
    [
        ("ppo_mini_batch_size=256 ppo_micro_batch_size_per_gpu=8", 4),
        ("ppo_micro_batch_size_per_gpu=8 rollout.n=5", 20),
        ("ppo_mini_batch_size=64 ppo_micro_batch_size_per_gpu=8 trainer.nnodes=1", 1),
        ("ppo_micro_batch_size_per_gpu=$MICRO", None),
        ("ppo_micro_batch_size_per_gpu=8 use_dynamic_bsz=True", None),
        ("ppo_micro_batch_size_per_gpu=8 ulysses_sequence_parallel_size=2", None),
        ("ppo_micro_batch_size_per_gpu=8 strategy=megatron", None),
        ("ppo_micro_batch_size_per_gpu=8 trainer.use_legacy_worker_impl=disable", None),
    ],
)
def test_micro_batches_of_the_actor_of_verl(options: str, batches: int | None) -> None:
    places = {"rollout": "actor_rollout_ref.", "trainer": ""}
    named = [places.get(option.split(".")[0], "actor_rollout_ref.actor.") + option for option in options.split()]
    context = scan(Document("run.sh", f"python3 -m verl.trainer.main_ppo {' '.join(named)}\n"))
    stated = [one.value for one in context.settings if one.key == "training.gradient_accumulation_steps"]
    assert stated == ([] if batches is None else [batches])


def test_a_variable_by_which_torch_loads_everything() -> None:
    context = scan(Document("run.sh", "export TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1\naccelerate launch train.py\n"))
    assert ("environment.loads_whole_pickles", True) in [(one.key, one.value) for one in context.settings]


@pytest.mark.parametrize(
    ("command", "modules"),
    [
        ("python -m verl.trainer.main_ppo data.train_batch_size=8", [("verl.trainer.main_ppo", False)]),
        (
            "torchrun --nproc_per_node=8 -m verl.trainer.sft_trainer optim.lr=1e-5",
            [("verl.trainer.sft_trainer", False)],
        ),
        ("python -m torch.distributed.run train.py --learning_rate 1e-4", []),
        ("torchrun train.py --learning_rate 1e-4", []),
        ("python -m $MODULE --learning_rate 1e-4", []),
        ("[ -e d ] && python -m axolotl.cli.train config.yaml", [("axolotl.cli.train", True)]),
    ],
)
def test_a_module_that_is_run_by_its_name_is_imported(command: str, modules: list[tuple[str, bool]]) -> None:
    assert [(use.full_name, use.conditional) for use in scanned(command).uses] == modules


@pytest.mark.parametrize(
    ("text", "expected", "notes_of"),
    [
        ("python train.py --multirun seed=1,2", [None], 0),
        ("python train.py -m lr=1e-4 seed=1,2", [None], 0),
        ("python train.py --multirun seed=3", [3], 0),
        ("python train.py seed=1,2", [], 1),
        ("python train.py --multirun --seed 1,2", [], 1),
    ],
)
def test_several_runs_of_hydra(text: str, expected: list[int | None], notes_of: int) -> None:
    assert values(f"{text} trainer.accumulate_grad_batches=2", "training.seed") == expected
    assert len(notes(f"{text} trainer.accumulate_grad_batches=2")) == notes_of
