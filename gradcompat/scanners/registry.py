"""Every kind of training config, launch script and program that is scanned, in one table.

A file name says little here (``config.yaml``, ``train.sh``), so the content decides: ``marks`` are words that are
looked for in the text before anything is parsed, and the scanner itself refuses what turns out not to be its own.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import islice

from gradcompat.startup.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scanner:
    """One kind of file.

    Attributes:
        kind: the tool whose file it is.
        module: the module of this package whose ``scan`` reads it, with its folder: ``configs.axolotl``.
        names: lower-case patterns of file names that it may have.
        marks: at least ``least`` of these words stand in a file of this kind.
        least: how many of them.
        note: what docs/formats.md says behind the kind.
    """

    kind: str
    module: str
    names: tuple[str, ...]
    marks: tuple[str, ...]
    least: int = 1
    note: str = ""


_YAML = ("*.yaml", "*.yml")
_YAML_JSON = (*_YAML, "*.json")

# Options of FSDP that transformers has at the top of a file of its own, and other tools below another key; with or
# without a prefix.
FSDP_OPTIONS = tuple(
    f"{prefix}{name}"
    for prefix in ("", "fsdp_")
    for name in (
        *("transformer_layer_cls_to_wrap", "cpu_ram_efficient_loading", "sync_module_states", "backward_prefetch"),
        *("limit_all_gathers", "use_orig_params", "state_dict_type", "min_num_params", "reshard_after_forward"),
    )
)

# A program that uses none of these trains nothing that any record speaks of.
LIBRARIES = frozenset(
    {
        *("torch", "transformers", "trl", "peft", "accelerate", "lightning", "pytorch_lightning", "deepspeed"),
        *("datasets", "bitsandbytes", "unsloth", "torchtune", "diffusers", "tensorflow", "liger_kernel", "verl"),
        *("transformer_engine", "megatron", "lightning_fabric", "torchdata", "axolotl", "swift", "llamafactory"),
        *("sentence_transformers", "timm", "apex", "optimum", "jax", "flax", "mmengine", "fairscale", "torchvision"),
        *("torchao", "colossalai", "composer", "open_clip", "xformers", "flash_attn", "torchaudio", "hydra"),
        *("monai", "torchmetrics", "pytorch_metric_learning", "optax", "keras", "tf_keras", "fla", "mamba_ssm"),
        *("setfit", "gliner", "ultralytics", "albumentations", "speechbrain", "TTS", "basicsr"),
        *("realesrgan", "gfpgan", "torch_geometric", "mlx_lm_lora", "stable_baselines3", "pytorch_forecasting"),
        *("darts", "lerobot", "neuralforecast", "fastai", "flair", "simpletransformers", "detectron2", "colbert"),
        *("autogluon", "skorch", "pytorch_tabnet", "spacy"),
    }
)

# The first whose name and marks fit is asked; if it refuses, the next.
SCANNERS = (
    Scanner(
        "accelerate", "configs.accelerate", _YAML_JSON, ("distributed_type", "num_processes", "compute_environment"), 2
    ),
    Scanner(
        "deepspeed",
        "configs.deepspeed",
        _YAML_JSON,
        (
            "zero_optimization",
            "train_micro_batch_size_per_gpu",
            "train_batch_size",
            "zero_allow_untested_optimizer",
            "zero_force_ds_cpu_optimizer",
            "steps_per_print",
            "pipe_parallel_size",
            "pipe-parallel-size",
        ),
        note="(gpt-neox too)",
    ),
    Scanner("llamafactory", "configs.llamafactory", _YAML_JSON, ("finetuning_type", "stage", "model_name_or_path"), 2),
    Scanner(
        "axolotl",
        "configs.axolotl",
        _YAML,
        ("base_model", "datasets", "micro_batch_size", "sequence_len", "adapter"),
        2,
    ),
    Scanner("verl", "configs.verl", _YAML, ("actor_rollout_ref",), note="(PPO and GRPO, where a command names it)"),
    Scanner("torchtune", "configs.torchtune", _YAML, ("_component_", "torchtune"), 2),
    Scanner("verl", "configs.verl", _YAML, ("partial_pretrain", "multiturn:", "train_files"), 2, note="(SFT)"),
    Scanner("lightning-cli", "configs.lightning_cli", _YAML, ("trainer:",)),
    Scanner(
        "ms-swift",
        "configs.ms_swift",
        _YAML_JSON,
        (
            "train_type",
            "tuner_type",
            "sft_type",
            "rlhf_type",
            "swift_version",
            "model_type",
            "torch_dtype",
            "attn_impl",
            "model_parallel_size",
            "micro_batch_size",
            "global_batch_size",
        ),
        2,
    ),
    Scanner(
        "trl",
        "configs.trl",
        _YAML_JSON,
        ("model_name_or_path", "dataset_name", "per_device_train_batch_size", "output_dir"),
        2,
    ),
    Scanner(
        "hf-training-args", "configs.training_args", ("*training_args*.json", "*args*.json"), ("per_device_train",)
    ),
    Scanner("hf-trainer-state", "configs.trainer_state", ("*trainer_state*.json",), ("log_history", "global_step"), 2),
    Scanner("hf-adapter", "configs.adapter_config", ("*adapter_config*.json",), ("peft_type",)),
    Scanner("hf-tokenizer", "configs.tokenizer_config", ("*tokenizer_config.json",), ("tokenizer_class",)),
    Scanner("hf-dataset", "configs.dataset_info", ("*dataset_info.json",), ('"_type"',)),
    Scanner("hf-model", "configs.model_config", ("*config.json",), ("model_type", "architectures")),
    Scanner("hf-fsdp", "configs.fsdp_config", ("*.json",), FSDP_OPTIONS),
    Scanner("hydra", "configs.hydra", _YAML, ("defaults:", "_target_", "# @package"), note="as far as it is literal"),
    Scanner(
        "hf-arguments",
        "configs.argument_blocks",
        _YAML_JSON,
        (
            *("per_device_train_batch_size", "gradient_accumulation_steps", "gradient_checkpointing"),
            *("lr_scheduler_type", "lora_alpha", "save_strategy", "eval_strategy", "num_train_epochs"),
        ),
        note="(blocks of a project's own configs)",
    ),
    Scanner(
        "launch-script",
        "launches.launch_script",
        ("*.sh", "*.bash", "*.slurm", "*.sbatch", "*.sb"),
        (
            *("torchrun", "accelerate", "deepspeed", "llamafactory-cli", "axolotl", "swift ", "trl ", "tune run"),
            *("megatron ", "xtuner", "colossalai", "python", "yolo ", "mlx_lm_lora", "lerobot"),
        ),
        note="(shell, SLURM)",
    ),
    Scanner(
        "python",
        "code.python_code",
        ("*.py",),
        (
            *("TrainingArguments", "Trainer", "SFTConfig", "DPOConfig", "GRPOConfig", "LoraConfig", "get_peft_model"),
            *("Accelerator", "LightningModule", "gradient_checkpointing", "BitsAndBytesConfig", "from_pretrained"),
            *("torch.optim", "bitsandbytes", "backward(", "torch.compile", "autocast", "DataParallel", "fully_shard"),
            *("deepspeed.initialize", "torch.load", "register_buffer", "rrelu", "RReLU", "StatefulDataLoader"),
            *("GradientAccumulationPlugin", "skip_first_batches", "LigerFused", "liger_fused", "MirroredStrategy"),
            *("speechbrain", "load_dataset", "push_to_hub", "convert_zero_checkpoint"),
            *("parallel_cross_entropy", "MultiTurnSFTDataset", "utils.checkpoint", "IterableDataset"),
            "iterable_dataset",
            *(".train(", ".fit("),  # of a trainer that a module of the project makes
            *("hydra.main", "__main__", "optax.", "keras", "torchmetrics", "from transformers", "import transformers"),
            *("ultralytics", "mmengine", "sentence_transformers", "basicsr", "realesrgan", "gfpgan", "LightningCLI"),
            *("swift.megatron", "sft_main", "pt_main", "pretrain_main", "rlhf_main", "verl.trainer"),
            *("mlx_lm_lora", "stable_baselines3", "pytorch_forecasting", "darts", "lerobot", "neuralforecast"),
            *(".fit_one_cycle(", ".fit_flat_cos(", ".fine_tune(", ".train_model(", "spacy"),
        ),
        note="code",
    ),
    Scanner("notebook", "code.notebook_code", ("*.ipynb",), ('"nbformat"',)),
)


def fits(scanner: Scanner, name: str) -> bool:
    """Could a file of that name be one of the scanner's?"""
    lower = name.lower()
    return any(fnmatchcase(lower, pattern) for pattern in scanner.names)


def candidates(name: str, text: str) -> list[Scanner]:
    """The scanners that a file of that name and content could be for, best first."""
    return [scanner for scanner in SCANNERS if fits(scanner, name) and _is_marked(scanner, text)]


def _is_marked(scanner: Scanner, text: str) -> bool:
    """Has a text as many of the marks as it takes?"""
    found = (mark for mark in scanner.marks if mark in text)
    return sum(1 for _ in islice(found, scanner.least)) == scanner.least
