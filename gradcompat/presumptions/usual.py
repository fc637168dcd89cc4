"""The table of what is usual: what holds of a training run unless something says otherwise.

Where nothing states a fact, the values that runs usually have decide a term if they all say the same; if they differ,
the fact is a question. The documentation has this table (`website/presumptions.py` writes it).
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.environment import SettingValue
from gradcompat.startup.lazy_dataclasses import dataclass, field

Values = tuple[tuple[SettingValue, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usual:
    """What training runs usually have for one fact.

    Attributes:
        values: the usual values, each with its rough share of runs, which orders findings and decides nothing.
        engine: what has to be named for the fact to have any meaning: an entry of
            :data:`~gradcompat.presumptions.engines.ENGINES`. A term about it is
            presumed not to hold where the engine is not named, unless `without` says otherwise.
        without: what holds of a run where that engine is not named.
        named: further values, by the engine that brings them if it is named.
        requiring: engines of `named` that require others of them; where one is listed, those others bring no value.
        taking: the presumption as a clause, behind "taking it that"; ``{}`` stands for the usual values.
        feature: what is not used where a term is presumed not to hold, behind "unless you use".
        features: the same for single values of the term.
        condition: a term about it as a person would say it, behind "if"; ``{}`` stands for the values of the term.
        conditions: the same for single values of the term.
        question: how a person is asked for it.
        asks: the fact that a person is asked for instead, which decides this one.
        mostly: what most of the usual values satisfy is presumed to hold, unless that other fact is stated; what the
            others satisfy stays open.
        rare_is_named: what is not usual is presumed not to be there even where a program computes the value.
        reason: why it is presumed.
    """

    values: Values = ()
    engine: str | None = None
    without: SettingValue | None = None
    named: Mapping[str, Values] = field(default_factory=dict)
    requiring: frozenset[str] = frozenset()
    taking: str = ""
    feature: str = ""
    features: Mapping[str, str] = field(default_factory=dict)
    condition: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    asks: str | None = None
    mostly: bool = False
    rare_is_named: bool = False
    reason: str


_NOT_NAMED = "an engine that neither the environment nor a config nor the code names is not used"
_OFF = "off unless a run turns it on, in every release of the tools that have it"
_RARE = "few runs have it, and those that do say so"
_MODEL = "what the class does with it is not stated; the class is"

# The classes that most runs train, with their rough share.
ORDINARY_MODELS: Values = (
    (("LlamaForCausalLM",), 0.25),
    (("Qwen2ForCausalLM",), 0.2),
    (("Qwen3ForCausalLM",), 0.15),
    (("MistralForCausalLM",), 0.1),
    (("Gemma2ForCausalLM",), 0.05),
    (("Gemma3ForConditionalGeneration",), 0.05),
    (("Qwen2_5_VLForConditionalGeneration",), 0.05),
    (("BertForSequenceClassification",), 0.05),
)

# The release that brought what is usual today, by its package; who installs an older one trains something else, on
# another GPU, or with an older Python.
BROUGHT_BY: Mapping[str, Mapping[SettingValue, str]] = {
    "transformers": {
        ("LlamaForCausalLM",): "4.28.0",
        ("Qwen2ForCausalLM",): "4.37.0",
        ("Qwen3ForCausalLM",): "4.51.0",
        ("MistralForCausalLM",): "4.34.0",
        ("Gemma2ForCausalLM",): "4.42.0",
        ("Gemma3ForConditionalGeneration",): "4.50.0",
        ("Qwen2_5_VLForConditionalGeneration",): "4.49.0",
        "meta-llama/Llama-3.1-8B": "4.43.0",
        "Qwen/Qwen3-8B": "4.51.0",
    },
    # https://pytorch.org/blog/pytorch-2-7/: the first builds that are compiled for Blackwell. The Pythons by the first
    # wheels for them, without which pip finds no release: there are no archives of the source.
    "torch": {"10.0": "2.7.0", "12.0": "2.7.0", "3.11": "1.13.0", "3.12": "2.2.0", "3.13": "2.5.0"},
}

USUAL: dict[str, Usual] = {
    "distributed.strategy": Usual(
        values=(("none", 0.4), ("ddp", 0.6)),
        named={
            "deepspeed": (("deepspeed", 0.5),),
            "fsdp": (("fsdp", 0.5),),
            "megatron": (("tensor_parallel", 0.5),),
        },
        taking="the run uses no DeepSpeed, FSDP or other sharding",
        features={
            "deepspeed": "DeepSpeed",
            "fsdp": "FSDP",
            "tensor_parallel": "tensor parallelism",
            "pipeline": "pipeline parallelism",
            "dp": "nn.DataParallel",
        },
        condition="the run is distributed with {}",
        conditions={"none": "the run is not distributed"},
        question="How is the training distributed?",
        reason=_NOT_NAMED,
    ),
    "distributed.processes": Usual(
        values=((1, 0.4), (8, 0.6)),
        condition="you train on several GPUs",
        feature="several processes",
        question="On how many GPUs do you train?",
        reason="as many runs have one process as have several",
    ),
    "distributed.backend": Usual(
        values=(("nccl", 1.0),),
        taking="processes talk over NCCL",
        features={"gloo": "gloo", "mpi": "MPI"},
        reason=_RARE,
    ),
    "distributed.find_unused_parameters": Usual(
        values=((False, 1.0),),
        taking="DDP takes it that each parameter gets a gradient",
        feature="ddp_find_unused_parameters",
        reason=_OFF,
    ),
    "distributed.sync_each_batch": Usual(
        values=((False, 1.0),),
        taking="gradients are exchanged once a step",
        feature="sync_each_batch",
        reason=_OFF,
    ),
    "deepspeed.zero_stage": Usual(
        engine="deepspeed",
        values=((2, 0.5), (3, 0.5)),
        feature="DeepSpeed ZeRO",
        features={"0": "DeepSpeed without ZeRO", "1": "ZeRO-1", "2": "ZeRO-2", "3": "ZeRO-3"},
        condition="you use ZeRO stage {}",
        question="Which ZeRO stage does DeepSpeed use?",
        reason="stages 2 and 3 are what the examples of the tools have",
    ),
    "deepspeed.overlap_comm": Usual(
        engine="deepspeed",
        values=((True, 0.5), (False, 0.5)),
        feature="DeepSpeed",
        condition="overlap_comm is {} in the DeepSpeed config",
        question="Does the DeepSpeed config say overlap_comm?",
        reason="examples differ",
    ),
    "deepspeed.gather_16bit_weights": Usual(
        engine="deepspeed",
        values=((True, 1.0),),
        taking="ZeRO-3 gathers the weights that a model is saved from",
        feature="ZeRO-3 without stage3_gather_16bit_weights_on_model_save",
        reason="as the examples of the tools have it",
    ),
    "deepspeed.contiguous_gradients": Usual(
        engine="deepspeed",
        values=((True, 1.0),),
        taking="DeepSpeed copies gradients into one buffer",
        feature="DeepSpeed",
        reason="DeepSpeed's default",
    ),
    "deepspeed.reduce_scatter": Usual(
        engine="deepspeed",
        values=((True, 1.0),),
        taking="DeepSpeed reduce-scatters gradients",
        feature="DeepSpeed without reduce_scatter",
        reason="DeepSpeed's default",
    ),
    "deepspeed.offload_optimizer": Usual(
        engine="deepspeed",
        values=(("none", 0.6), ("cpu", 0.4)),
        feature="DeepSpeed offload",
        condition="DeepSpeed offloads the optimizer to the {}",
        conditions={"none": "DeepSpeed does not offload the optimizer"},
        question="Does DeepSpeed offload the optimizer?",
        reason="examples differ",
    ),
    "deepspeed.same_accumulation": Usual(
        engine="deepspeed",
        values=((True, 1.0),),
        taking="DeepSpeed and the program accumulate as many micro-batches",
        feature="two numbers of micro-batches",
        reason="who gives DeepSpeed a number of its own has it in the config",
    ),
    "deepspeed.gradient_clipping": Usual(
        engine="deepspeed",
        values=((1.0, 0.7), (0, 0.3)),
        feature="DeepSpeed's clipping",
        condition="DeepSpeed clips gradients",
        reason="examples differ",
    ),
    "deepspeed.moe": Usual(
        engine="deepspeed",
        values=((False, 1.0),),
        taking="the model has no mixture-of-experts layer of DeepSpeed",
        feature="DeepSpeed MoE",
        reason=_RARE,
    ),
    "deepspeed.pipeline_stages": Usual(
        engine="deepspeed",
        values=((0, 1.0),),
        taking="there is no pipeline",
        feature="DeepSpeed pipelines",
        reason=_RARE,
    ),
    "deepspeed.communication_data_type": Usual(
        engine="deepspeed", feature="communication_data_type of DeepSpeed", reason=_RARE
    ),
    "deepspeed.grad_accum_dtype": Usual(
        engine="deepspeed",
        values=(("model", 1.0),),  # that of the model with ZeRO; it stands for no dtype, for without ZeRO it is another
        taking="DeepSpeed sums gradients in the dtype of the model",
        feature="grad_accum_dtype of DeepSpeed",
        reason="DeepSpeed's default under ZeRO",
    ),
    "deepspeed.immediate_grad_update": Usual(
        engine="deepspeed", feature="immediate_grad_update of DeepSpeed", reason=_RARE
    ),
    "deepspeed.offload_param": Usual(engine="deepspeed", feature="DeepSpeed offload", reason=_RARE),
    "fsdp.version": Usual(
        engine="fsdp",
        values=((1, 0.5), (2, 0.5)),
        feature="FSDP",
        condition="you use FSDP {}",
        question="Which FSDP is it?",
        reason="both are in use",
    ),
    "fsdp.state_dict_type": Usual(
        engine="fsdp",
        values=(("FULL_STATE_DICT", 0.5), ("SHARDED_STATE_DICT", 0.5)),
        feature="FSDP",
        condition="FSDP saves a {}",
        reason="both are in use",
    ),
    "fsdp.sharding_strategy": Usual(
        engine="fsdp", values=(("FULL_SHARD", 1.0),), taking="FSDP shards all", feature="FSDP", reason="the default"
    ),
    "fsdp.auto_wrap": Usual(
        engine="fsdp", values=((True, 1.0),), taking="FSDP wraps by a policy", feature="FSDP", reason="the default"
    ),
    "fsdp.wraps_by_size": Usual(
        engine="fsdp",
        values=((False, 1.0),),
        taking="FSDP wraps layers by their class",
        feature="wrapping by size",
        reason="the default",
    ),
    "fsdp.layer_class": Usual(
        engine="fsdp",
        values=((False, 1.0),),
        taking="the class of the layers is not named",
        condition="fsdp_transformer_layer_cls_to_wrap is {}",
        feature="a named layer class",
        reason="models bring the names of their layers with them",
    ),
    "fsdp.cpu_ram_efficient_loading": Usual(
        engine="fsdp",
        values=((True, 0.5), (False, 0.5)),
        condition="cpu_ram_efficient_loading of FSDP is {}",
        feature="FSDP",
        reason="on in accelerate's own configs, off in the Trainer's arguments",
    ),
    "fsdp.activation_checkpointing": Usual(
        engine="fsdp",
        values=((False, 1.0),),
        taking="activation_checkpointing of FSDP is off",
        feature="activation checkpointing of FSDP",
        reason="the default",
    ),
    "fsdp.use_orig_params": Usual(
        engine="fsdp", values=((True, 1.0),), taking="FSDP keeps parameters", feature="FSDP", reason="the default"
    ),
    "host.device": Usual(
        values=(("cuda", 1.0),),
        named={"rocm": (("rocm", 1.0),)},
        taking="the training runs on an NVIDIA GPU",
        condition="you train on {}",
        features={"mps": "Apple GPUs", "rocm": "AMD GPUs", "xpu": "Intel GPUs", "cpu": "training on the CPU"},
        reason="a device that nothing names is not used",
    ),
    "host.platform": Usual(
        values=(("linux", 1.0),),
        taking="the training runs on Linux",
        features={"win32": "Windows", "darwin": "macOS"},
        reason="a system that nothing names is not used",
    ),
    "host.python": Usual(
        values=(("3.10", 0.3), ("3.11", 0.3), ("3.12", 0.3), ("3.13", 0.1)),
        condition="Python is {}",
        feature="Python {}",
        question="Which Python is it?",
        reason="the versions that most environments have",
    ),
    "host.cuda": Usual(
        values=(("12.1", 0.2), ("12.4", 0.25), ("12.6", 0.2), ("12.8", 0.25), ("13.0", 0.1)),
        condition="torch is built for CUDA {}",
        feature="CUDA {}",
        question="For which CUDA is torch built?",
        reason="the builds of torch that are installed most",
    ),
    "host.cuda_arch": Usual(
        values=(("8.0", 0.3), ("8.6", 0.1), ("8.9", 0.15), ("9.0", 0.3), ("10.0", 0.05), ("12.0", 0.1)),
        condition="you train on {}",
        feature="{}",
        question="Which compute capability has your GPU (A100 8.0, RTX 40 8.9, H100 9.0, B200 10.0, RTX 50 12.0)?",
        reason="the GPUs that most runs have; what is older than Ampere says so",
    ),
    "host.nvidia_driver": Usual(
        values=(("535", 0.2), ("550", 0.3), ("570", 0.3), ("580", 0.2)),
        condition="the NVIDIA driver is {}",
        feature="NVIDIA drivers {}",
        question="Which NVIDIA driver is installed?",
        reason="the branches that are in use",
    ),
    "host.rocm": Usual(
        engine="rocm", feature="AMD GPUs", values=(("6.2", 1.0),), condition="ROCm is {}", reason=_NOT_NAMED
    ),
    "host.short_wavefronts": Usual(
        values=((True, 0.4), (False, 0.6)),
        condition="your AMD GPU is a Radeon or Ryzen AI",
        conditions={"false": "your AMD GPU is an Instinct"},
        feature="AMD GPUs other than Instinct",
        question="Do you train on a Radeon or Ryzen AI, and not on an Instinct?",
        reason="ROCm trains on both",
    ),
    "host.cudnn_attention": Usual(
        values=((True, 1.0),),
        taking="attention may take cuDNN",
        feature="attention without cuDNN",
        condition="attention may take cuDNN",
        reason="torch's default",
    ),
    "host.nccl": Usual(
        values=(("2.20", 0.5), ("2.27", 0.5)), condition="NCCL is {}", feature="NCCL {}", reason="in use"
    ),
    "host.cudnn": Usual(
        values=(("9.10", 1.0),),
        taking="cuDNN is the one that torch asks for",
        condition="cuDNN is {}",
        feature="another cuDNN",
        reason="the wheels of torch pin it, and records ask for it where that is 9.10",
    ),
    "host.glibc": Usual(
        values=(("2.31", 0.5), ("2.35", 0.5)), condition="glibc is {}", feature="glibc {}", reason="in use"
    ),
    "training.framework": Usual(
        named={
            "transformers": (("transformers.Trainer", 0.6),),
            "trl": (("trl", 0.4),),
            "lightning": (("lightning", 0.7),),
            "torchtune": (("torchtune", 0.7),),
            "accelerate": (("accelerate", 0.2),),
            "verl": (("verl", 0.7),),
            "openrlhf": (("openrlhf", 0.7),),
            "stable-baselines3": (("stable-baselines3", 0.7),),
            "keras": (("keras", 0.3),),  # TensorFlow requires it, which is installed for much else
        },
        requiring=frozenset({"verl", "openrlhf"}),  # transformers, accelerate; and verl's extras TRL
        mostly=True,  # accelerate is listed wherever the Trainer is, which requires it
        taking="{} drives the training",
        features={
            "lightning": "Lightning",
            "torchtune": "torchtune",
            "trl": "TRL",
            "accelerate": "loops of your own with accelerate",
            "torch": "loops of your own",
            "mmengine": "mmengine",
            "gliner": "GLiNER's Trainer",
            "transformers.Trainer": "the Trainer of transformers",
            "sentence-transformers": "the Trainer of sentence-transformers",
            "megatron": "Megatron",
            "verl": "training with verl",
            "openrlhf": "training with OpenRLHF",
            "ultralytics": "training with Ultralytics",
            "mlx": "training with MLX",
            "stable-baselines3": "training with Stable-Baselines3",
            "keras": "training with Keras",
        },
        condition="{} drives your training",
        question="What drives your training loop?",
        reason=_NOT_NAMED,
    ),
    "training.method": Usual(
        engine="trl",
        values=(("sft", 0.6), ("dpo", 0.15), ("grpo", 0.15)),
        features={
            **{name: name.upper() for name in ("sft", "dpo", "orpo", "kto", "ppo", "grpo", "gkd", "cpo", "bco")},
            "reward": "reward models",
        },
        feature="TRL",
        condition="you train with {}",
        question="How do you train?",
        reason="what most runs of these trainers do",
    ),
    "training.gradient_accumulation_steps": Usual(
        values=((1, 0.4), (8, 0.6)),
        condition="you accumulate gradients (gradient_accumulation_steps {})",
        feature="gradient accumulation",
        question="How many micro-batches go into one optimizer step?",
        reason="as many runs accumulate as do not",
    ),
    "training.per_device_train_batch_size": Usual(
        values=((1, 0.4), (8, 0.6)), condition="a batch has {} samples", feature="batches", reason="both are in use"
    ),
    "training.gradient_checkpointing": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="gradient checkpointing is {}",
        feature="gradient checkpointing",
        question="Do you use gradient checkpointing?",
        reason="as many runs checkpoint as do not",
    ),
    "training.use_reentrant": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="use_reentrant is {}",
        feature="reentrant checkpointing",
        question="Is checkpointing reentrant (use_reentrant)?",
        reason="the default has changed in transformers 5.0.0",
    ),
    "training.enable_input_require_grads": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="enable_input_require_grads is {}",
        feature="enable_input_require_grads",
        features={"false": "checkpointing without enable_input_require_grads"},
        reason="libraries differ",
    ),
    "training.frozen_embeddings": Usual(
        values=((False, 1.0),),
        taking="the input embeddings are trained",
        feature="frozen input embeddings",
        condition="the input embeddings are frozen",
        conditions={"false": "the input embeddings are trained"},
        reason=_RARE,
    ),
    "training.checkpointing_before_peft": Usual(
        engine="peft",
        values=((True, 0.3), (False, 0.7)),
        feature="PEFT",
        condition="checkpointing is enabled before get_peft_model",
        conditions={"false": "checkpointing is enabled after get_peft_model"},
        reason="both are in use",
    ),
    "training.auto_find_batch_size": Usual(
        values=((False, 1.0),),
        taking="auto_find_batch_size is off",
        feature="auto_find_batch_size",
        reason="the default",
    ),
    "training.average_tokens_across_devices": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="average_tokens_across_devices is {}",
        feature="average_tokens_across_devices",
        reason="the default has changed in transformers 4.54.0",
    ),
    "training.label_smoothing_factor": Usual(
        values=((0, 1.0),), taking="labels are not smoothed", feature="label smoothing", reason=_OFF
    ),
    "training.max_grad_norm": Usual(
        values=((1.0, 1.0),), taking="gradients are clipped", feature="clipping", reason="the default of most trainers"
    ),
    "training.max_steps": Usual(
        values=((-1, 1.0),),
        taking="the run goes by epochs",
        feature="max_steps",
        reason="the default",
    ),
    "training.num_train_epochs": Usual(
        values=((1, 0.4), (3, 0.6)),
        condition="there is more than one epoch",
        feature="epochs",
        question="How many epochs do you train?",
        reason="both are in use",
    ),
    "training.resume_from_checkpoint": Usual(
        values=((False, 1.0),),
        taking="the run starts anew",
        feature="resuming from a checkpoint",
        condition="you resume from a checkpoint",
        reason="a run that resumes says so",
    ),
    "training.weight_average": Usual(
        values=((False, 1.0),),
        taking="no average of the weights is kept",
        feature="an average of the weights",
        condition="an average of the weights (EMA) is kept",
        reason="a program that keeps one says so",
    ),
    "training.group_by_length": Usual(
        values=((False, 1.0),), taking="batches are not made by length", feature="group_by_length", reason=_OFF
    ),
    "training.ignore_data_skip": Usual(
        values=((False, 1.0),), taking="a resumed run skips what it has seen", feature="ignore_data_skip", reason=_OFF
    ),
    "training.save_strategy": Usual(
        values=(("steps", 1.0),),
        taking="checkpoints are written within an epoch, too",
        feature="checkpoints within an epoch",
        condition="checkpoints are written by save_strategy {}",
        reason="the default of transformers",
    ),
    "peft.attention_only": Usual(
        values=((False, 1.0),),
        engine="peft",
        taking="the adapter is on more than the attention",
        feature="adapters on the attention alone",
        condition="target_modules names modules of the attention alone",
        conditions={"false": "target_modules names other modules than those of the attention"},
        reason="most adapters are put on all linear layers",
    ),
    "peft.layers_pattern": Usual(
        values=((False, 1.0),),
        engine="peft",
        taking="layers_pattern is not given",
        feature="layers_pattern",
        reason=_RARE,
    ),
    "optimizer.arguments": Usual(
        values=((False, 1.0),),
        taking="the optimizer gets no arguments of its own",
        feature="optim_args",
        reason=_OFF,
    ),
    "training.label_names": Usual(
        values=((False, 1.0),),
        taking="the Trainer finds the labels by itself",
        feature="label_names",
        reason=_OFF,
    ),
    "training.load_best_model_at_end": Usual(
        values=((False, 1.0),),
        taking="the last weights are kept, not those of the best checkpoint",
        feature="load_best_model_at_end",
        reason="the default",
    ),
    "training.save_only_model": Usual(
        values=((False, 1.0),),
        taking="checkpoints hold the optimizer as well",
        feature="checkpoints of the model alone",
        reason=_OFF,
    ),
    "training.logging_nan_inf_filter": Usual(
        values=((True, 1.0),), taking="the log filters NaN", feature="logging_nan_inf_filter off", reason="the default"
    ),
    "training.batch_idx": Usual(
        values=((True, 1.0),),
        taking="training_step takes batch_idx",
        feature="a training_step without batch_idx",
        condition="training_step takes no batch_idx",
        question="Does training_step take batch_idx?",
        reason="most take both arguments that the documentation shows, and code that was read shows it",
    ),
    "training.manual_optimization": Usual(
        values=((False, 1.0),),
        taking="the framework steps the optimizer by itself",
        feature="manual optimization",
        reason="the default",
    ),
    "training.use_liger_kernel": Usual(
        engine="liger",
        without=False,
        values=((True, 0.5), (False, 0.5)),
        taking="no layers are replaced by Liger's",
        feature="Liger kernels",
        condition="use_liger_kernel is {}",
        question="Do you use Liger kernels?",
        reason=_NOT_NAMED,
    ),
    "training.use_liger_loss": Usual(
        engine="liger",
        without=False,
        values=((False, 1.0),),
        taking="TRL does not compute its loss with Liger",
        feature="use_liger_loss",
        condition="use_liger_loss is {}",
        question="Do you use Liger's loss (use_liger_loss)?",
        reason=_OFF,
    ),
    "training.torch_compile": Usual(
        values=((False, 1.0),), taking="the model is not compiled", feature="torch.compile", reason=_OFF
    ),
    "training.compile_backend": Usual(
        values=(("inductor", 1.0),),
        taking="torch.compile takes {}",
        feature="other backends of torch.compile",
        condition="torch.compile takes {}",
        reason="the default",
    ),
    "training.regional_compilation": Usual(
        values=((False, 1.0),), taking="the model is not compiled", feature="regional compilation", reason=_OFF
    ),
    "training.neftune_noise_alpha": Usual(values=((0, 1.0),), taking="NEFTune is off", feature="NEFTune", reason=_OFF),
    "training.packing": Usual(values=((False, 1.0),), taking="samples are not packed", feature="packing", reason=_OFF),
    "training.padding_free": Usual(
        values=((False, 1.0),), taking="batches are padded", feature="padding-free batches", reason=_OFF
    ),
    "training.dataloader_num_workers": Usual(
        values=((0, 0.4), (4, 0.6)),
        condition="the data loader has several workers",
        feature="data loader workers",
        question="How many worker processes does the data loader have?",
        reason="both are in use",
    ),
    "training.persistent_workers": Usual(
        values=((False, 1.0),),
        taking="the data loader's workers are started anew in each epoch",
        feature="persistent workers",
        reason="the default",
    ),
    "training.loss_type": Usual(
        features={}, feature="other loss types", taking="the loss is the trainer's default", reason=_RARE
    ),
    "training.truncation_mode": Usual(
        values=(("keep_end", 0.5), ("keep_start", 0.5)),
        condition="TRL cuts long samples by {}",
        feature="truncation_mode",
        question="Which end of a long sample does the trainer keep: keep_start or keep_end?",
        reason="the default of DPO was keep_end and is keep_start",
    ),
    "training.steps_per_generation": Usual(feature="steps_per_generation of GRPO", reason=_RARE),
    "training.mask_truncated_completions": Usual(
        values=((False, 1.0),),
        taking="completions that were cut off count in GRPO's loss",
        feature="mask_truncated_completions",
        reason="the default",
    ),
    "training.assistant_only_loss": Usual(
        values=((False, 1.0),),
        taking="all tokens of a conversation count in the loss",
        feature="assistant_only_loss",
        reason="the default",
    ),
    "training.completion_only_loss": Usual(
        values=((False, 1.0),),
        taking="prompts count in the loss as well",
        feature="completion_only_loss",
        reason="samples are texts or conversations more often than prompts with completions",
    ),
    "environment.use_tf": Usual(
        values=((True, 1.0),),
        taking="USE_TF and USE_TORCH are left as they are",
        feature="USE_TF or USE_TORCH",
        condition="transformers may take TensorFlow",
        rare_is_named=True,
        reason=_RARE,
    ),
    "environment.keras_on_tensorflow": Usual(
        values=((True, 1.0),),
        taking="KERAS_BACKEND is left as it is",
        feature="another backend of Keras",
        condition="Keras runs on TensorFlow",
        rare_is_named=True,
        reason="the default of Keras",
    ),
    "environment.unsloth_return_logits": Usual(
        values=((False, 1.0),),
        taking="UNSLOTH_RETURN_LOGITS is not set",
        feature="UNSLOTH_RETURN_LOGITS",
        condition="UNSLOTH_RETURN_LOGITS is {}",
        reason=_RARE,
    ),
    "environment.llamafactory_unchecked": Usual(
        values=((False, 1.0),),
        taking="DISABLE_VERSION_CHECK is not set",
        feature="DISABLE_VERSION_CHECK of LLaMA-Factory",
        condition="DISABLE_VERSION_CHECK is {}",
        reason=_RARE,
    ),
    "environment.vllm_use_v1": Usual(
        values=((True, 1.0),),
        taking="VLLM_USE_V1 is left as it is",
        feature="the V1 engine of vLLM",
        condition="VLLM_USE_V1 is {}",
        rare_is_named=True,
        reason=_RARE,
    ),
    "environment.protobuf_in_python": Usual(
        values=((False, 1.0),),
        taking="protobuf runs its compiled code",
        feature="protobuf in Python",
        reason="the default",
    ),
    "deepspeed.own_scheduler": Usual(
        engine="deepspeed",
        values=((False, 0.6), (True, 0.4)),
        without=False,
        condition="DeepSpeed's config has a scheduler",
        conditions={"false": "DeepSpeed's config has no scheduler"},
        feature="a scheduler of DeepSpeed's config",
        question="Does DeepSpeed's config have a scheduler?",
        reason="examples have one, and the Trainer makes its own elsewhere",
    ),
    "training.text_lr_scheduler_kwargs": Usual(
        values=((False, 1.0),),
        taking="lr_scheduler_kwargs is not on the command line",
        feature="lr_scheduler_kwargs on the command line",
        reason="most schedules need none",
    ),
    "distributed.sequence_split": Usual(feature="context or sequence parallelism", reason=_RARE),
    "deepspeed.forces_cpu_optimizer": Usual(
        values=((True, 1.0),),
        taking="zero_force_ds_cpu_optimizer is left on",
        feature="zero_force_ds_cpu_optimizer off",
        reason="the default",
    ),
    "deepspeed.leaf_modules": Usual(
        values=((False, 1.0),),
        taking="no module is gathered as a whole",
        feature="leaf modules of DeepSpeed",
        reason="the default",
    ),
    "environment.wandb_disabled": Usual(
        values=((False, 1.0),),
        taking="WANDB_DISABLED is not set",
        feature="WANDB_DISABLED",
        condition="WANDB_DISABLED is {}",
        reason=_RARE,
    ),
    "environment.loads_whole_pickles": Usual(
        values=((False, 1.0),),
        taking="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is not set",
        feature="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD",
        condition="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is {}",
        reason=_RARE,
    ),
    "environment.timm_fused_attention": Usual(
        values=((True, 1.0),),
        taking="TIMM_FUSED_ATTN is left as it is",
        feature="TIMM_FUSED_ATTN",
        condition="timm may take fused attention",
        reason=_RARE,
    ),
    "environment.mix_order_reduction": Usual(
        values=((True, 1.0),),
        taking="TORCHINDUCTOR_MIX_ORDER_REDUCTION is left as it is",
        feature="TORCHINDUCTOR_MIX_ORDER_REDUCTION",
        condition="reductions are compiled with mixed orders",
        reason=_RARE,
    ),
    "training.custom_compute_loss": Usual(
        values=((False, 1.0),),
        taking="compute_loss is the Trainer's own",
        feature="a compute_loss of one's own",
        condition="your compute_loss neither hands num_items_in_batch on nor divides by it",
        question="Does your Trainer's compute_loss leave num_items_in_batch out?",
        reason=_RARE,
    ),
    "training.lmbda": Usual(
        values=((0.5, 1.0),),
        taking="the student writes half of GKD's answers itself",
        feature="GKD without answers of the student",
        reason="the default",
    ),
    "training.evaluates": Usual(
        values=((True, 0.7), (False, 0.3)),
        condition="the Trainer evaluates while it trains",
        conditions={"false": "the Trainer evaluates nothing"},
        feature="evaluations",
        question="Does the Trainer evaluate while it trains?",
        reason="many runs do",
    ),
    "training.temperature": Usual(
        values=((0.9, 0.5), (1.0, 0.5)),
        condition="completions are sampled at temperature {}",
        feature="another temperature",
        question="At which temperature are completions sampled?",
        reason="the default of GRPO was 0.9 and is 1.0",
    ),
    "training.use_vllm": Usual(
        values=((False, 1.0),),
        taking="the model samples its completions itself",
        feature="vLLM for the completions",
        reason="the default",
    ),
    "training.async_rollout": Usual(
        values=((False, 1.0),),
        taking="the training processes sample the completions",
        feature="rollout.mode=async",
        reason="the default of verl up to 0.6.1",
    ),
    "training.separate_rollout": Usual(
        values=((False, 1.0),),
        taking="the GPUs that train sample the completions",
        feature="GPUs of their own for verl's rollouts",
        reason="the default of verl",
    ),
    "training.free_cache_engine": Usual(
        values=((True, 1.0),),
        taking="verl's engines give their memory back while the model trains",
        feature="free_cache_engine=False of verl",
        reason="the default of verl in 0.5.0, 0.6.1, 0.7.0 and 0.8.0",
    ),
    "training.advantage_estimator": Usual(
        values=(("grpo", 1.0),),
        taking="advantages are those of GRPO, or of PPO with a critic",
        feature="another estimator of advantages",
        reason="most runs have one of the two",
    ),
    "training.fused_log_probs": Usual(
        values=((False, 1.0),),
        taking="verl computes log-probabilities from logits",
        feature="use_fused_kernels of verl",
        reason="the default of verl",
    ),
    "training.critic_accumulation_steps": Usual(
        values=((1, 0.3), (4, 0.7)),
        condition="a step of the critic has {} micro-batches",
        feature="a critic",
        question="How many micro-batches has an optimizer step of the critic?",
        reason="it hangs on the GPUs and on the batch",
    ),
    "training.dynamic_critic": Usual(
        values=((False, 1.0),),
        taking="verl's critic gets micro-batches of as many samples, or there is no critic",
        feature="micro-batches of verl's critic by their tokens",
        reason="the default of verl",
    ),
    "training.vllm_tensor_parallel": Usual(
        values=((1, 1.0),),
        taking="no vLLM of the training processes is shared by several GPUs",
        feature="a vLLM that several GPUs share",
        reason="the default of TRL and ms-swift",
    ),
    "training.sft_weight": Usual(feature="a likelihood term beside a loss of preferences", reason=_RARE),
    "training.kd_ce_alpha": Usual(feature="distillation with a cross entropy beside the divergence", reason=_RARE),
    "training.packing_strategy": Usual(
        values=(("bfd", 1.0),),
        taking="packing keeps examples whole",
        feature="another way of packing",
        reason="the default",
    ),
    "training.vllm_sleep_level": Usual(
        values=((0, 1.0),),
        taking="vLLM keeps its weights while the model trains",
        feature="vLLM that gives up its weights",
        reason="the default of ms-swift is 0",
    ),
    "training.vllm_enable_lora": Usual(
        values=((False, 1.0),),
        taking="the adapter is merged into the weights that vLLM gets",
        feature="vllm_enable_lora",
        reason="the default of ms-swift",
    ),
    "training.vllm_mode": Usual(
        values=(("server", 0.5), ("colocate", 0.5)),
        condition="vLLM runs as {}",
        feature="vLLM for the completions",
        question="Does vLLM run in a server of its own, or colocated with the training?",
        reason="the default was the server and is colocation",
    ),
    "training.vllm_enable_sleep_mode": Usual(
        values=((False, 1.0),),
        taking="vLLM keeps its memory between generations",
        feature="vLLM's sleep mode",
        reason="the default",
    ),
    "training.vllm_importance_sampling_correction": Usual(
        values=((True, 1.0),),
        taking="the loss is corrected for vLLM's log-probabilities",
        feature="no correction for vLLM",
        reason="the default",
    ),
    "training.per_device_eval_batch_size": Usual(
        values=((8, 0.5), (1, 0.5)),
        condition="an evaluation has {} samples in a batch",
        feature="an evaluation",
        question="How many samples has a batch of your evaluations?",
        reason="many runs do not evaluate",
    ),
    "training.resumed_adapter_alone": Usual(
        values=((False, 1.0),),
        taking="preference training starts a new adapter or names a reference model",
        feature="preference training that goes on with an adapter",
        reason=_RARE,
    ),
    "training.beta": Usual(
        features={}, feature="another beta", taking="the trainer's beta is its default", reason=_RARE
    ),
    "training.loss_reduction": Usual(
        values=(("mean", 1.0),), taking="losses are means", feature="reduction: none", reason="torch's default"
    ),
    "training.validation_inside_epoch": Usual(
        values=((False, 1.0),),
        taking="validation runs between epochs",
        feature="validation inside an epoch",
        reason="the default",
    ),
    "model.architecture": Usual(
        values=ORDINARY_MODELS,
        condition="you train {}",
        feature="{}",
        question="Which class is the model?",
        rare_is_named=True,
        reason="a class that is none of the most common ones is said somewhere",
    ),
    "model.name": Usual(
        values=(("meta-llama/Llama-3.1-8B", 0.5), ("Qwen/Qwen3-8B", 0.5)),
        condition="you train {}",
        feature="models of one name",
        question="Which model is trained?",
        rare_is_named=True,
        reason="a model that is none of the most common ones is said somewhere",
    ),
    "model.vocab_size": Usual(
        values=((151936, 0.4), (128256, 0.3), (32000, 0.3)),
        condition="the vocabulary has {} tokens",
        feature="such vocabularies",
        question="How many tokens does the model's vocabulary have?",
        reason="what most models have",
    ),
    "model.attn_implementation": Usual(
        values=(("sdpa", 0.7), ("flash_attention_2", 0.3)),
        condition="attention is {}",
        features={"eager": "eager attention", "flex_attention": "flex attention"},
        feature="{} attention",
        taking="attention is sdpa or flash_attention_2",
        question="Which attention does the model use?",
        reason="sdpa is the default of transformers; flash_attention_2 is what runs turn on",
    ),
    "model.attention_chosen": Usual(
        values=((False, 1.0),),
        taking="the choice of the attention is left to the model",
        feature="attention of your choice",
        condition="the run asks for its attention",
        reason="most runs say nothing",
    ),
    "model.use_cache": Usual(
        values=((True, 0.5), (False, 0.5)), condition="use_cache is {}", feature="use_cache", reason="models differ"
    ),
    "model.torch_dtype": Usual(
        values=(("bfloat16", 0.4), ("float32", 0.3), ("auto", 0.3)),
        condition="weights are loaded in {}",
        feature="weights in {}",
        reason="both are in use",
    ),
    "model.uses_num_items_in_batch": Usual(
        values=((True, 0.8), (False, 0.2)),
        mostly=True,
        taking="the model divides its loss by num_items_in_batch, as causal language models do",
        condition="your model divides its loss by num_items_in_batch",
        conditions={"false": "your model does not divide its loss by num_items_in_batch, as T5, BART and Whisper"},
        feature="such models",
        asks="model.architecture",
        reason="most runs train a causal language model; a class that is named and not known leaves it open",
    ),
    "model.forward_takes_kwargs": Usual(
        values=((True, 0.8), (False, 0.2)),
        condition="the forward of your model takes **kwargs",
        conditions={"false": "the forward of your model takes no **kwargs"},
        feature="such models",
        asks="model.architecture",
        reason=_MODEL,
    ),
    "model.of_library": Usual(
        values=((True, 0.8), (False, 0.2)),
        condition="the class of your model is one of transformers",
        conditions={"false": "the class of your model is your own"},
        feature="such models",
        asks="model.architecture",
        reason=_MODEL,
    ),
    "model.tied_embeddings": Usual(
        values=((True, 0.3), (False, 0.7)),
        condition="input and output embeddings are tied",
        conditions={"false": "input and output embeddings are not tied"},
        feature="tied embeddings",
        reason="models differ",
    ),
    "model.tied_in_text_config": Usual(
        values=((True, 0.2), (False, 0.8)),
        condition="config.json says tie_word_embeddings in its text_config alone",
        conditions={"false": "config.json does not say tie_word_embeddings in its text_config alone"},
        feature="tied embeddings",
        reason="releases of transformers write it differently",
    ),
    "model.output_router_logits": Usual(
        values=((False, 1.0),),
        taking="the model adds no router loss",
        feature="the auxiliary loss of MoE models",
        reason=_RARE,
    ),
    "model.returns_loss": Usual(
        values=((True, 1.0),),
        taking="the model returns its loss beside other outputs",
        feature="losses that are computed outside of the model",
        reason="models of transformers do, where they are given labels",
    ),
    "model.cross_attention_mask": Usual(
        values=((True, 1.0),),
        taking="batches bring the mask of cross-attention, as processors make it",
        feature="cross-attention without a mask",
        reason="the processors of such models return it",
    ),
    "model.multi_query": Usual(
        values=((False, 1.0),),
        taking="attention has more than one head of keys and values",
        feature="multi-query attention",
        rare_is_named=True,
        reason=_RARE,
    ),
    "peft.method": Usual(
        engine="peft",
        values=(("lora", 1.0),),
        taking="the adapter is LoRA",
        feature="PEFT",
        features={"prompt_tuning": "prompt tuning", "adalora": "AdaLoRA", "ia3": "IA3", "lokr": "LoKr"},
        rare_is_named=True,
        reason="what nearly all runs with PEFT use",
    ),
    "peft.names_task": Usual(
        engine="peft",
        values=((True, 1.0),),
        taking="the adapter's config names its task",
        feature="an adapter without task_type",
        reason="as examples have it",
    ),
    "peft.dropout": Usual(
        engine="peft",
        values=((0.0, 0.5), (0.05, 0.5)),
        condition="lora_dropout is {}",
        feature="lora_dropout",
        reason="the default, and what many examples have",
    ),
    "peft.all_linear": Usual(
        engine="peft",
        values=((True, 0.3), (False, 0.7)),
        condition="target_modules is all-linear",
        conditions={"false": "target_modules is not all-linear"},
        feature="target_modules all-linear",
        reason="both the word and lists of names are in use",
    ),
    "peft.target_parameters": Usual(
        engine="peft",
        values=((False, 1.0),),
        taking="LoRA is put on modules",
        feature="target_parameters",
        reason="the default",
    ),
    "peft.modules_to_save": Usual(
        engine="peft",
        values=((False, 1.0),),
        taking="no module is trained beside the adapter",
        condition="modules_to_save names modules that are trained beside the adapter",
        feature="modules_to_save",
        reason=_RARE,
    ),
    "peft.overlapping_modules": Usual(
        engine="peft",
        values=((False, 1.0),),
        taking="no name in modules_to_save is part of another",
        feature="names in modules_to_save of which one is part of another",
        reason=_RARE,
    ),
    "peft.trainable_tokens": Usual(
        engine="peft",
        values=((False, 1.0),),
        taking="no single token is trained",
        feature="trainable tokens",
        reason=_RARE,
    ),
    "peft.adapters": Usual(
        engine="peft", values=((1, 1.0),), taking="there is one adapter", feature="several adapters", reason=_RARE
    ),
    "peft.layers_to_transform": Usual(
        engine="peft",
        values=((False, 1.0),),
        taking="all layers get the adapter",
        feature="layers_to_transform",
        reason=_RARE,
    ),
    "peft.task_type": Usual(
        engine="peft",
        values=(("CAUSAL_LM", 0.7), ("SEQ_CLS", 0.2), ("SEQ_2_SEQ_LM", 0.1)),
        feature="adapters of PEFT",
        features={"SEQ_CLS": "adapters of classifiers"},
        condition="the task_type of the adapter is {}",
        question="What is the task_type of the adapter?",
        reason="what most adapters are for",
    ),
    "peft.optimizer": Usual(engine="peft", feature="PEFT's own optimizers", reason=_RARE),
    "peft.given_to_trainer": Usual(
        engine="peft",
        values=((True, 0.5), (False, 0.5)),
        condition="the trainer gets the adapter's config",
        conditions={"false": "the adapter is on the model before the trainer gets it"},
        feature="peft_config",
        reason="programs differ",
    ),
    "peft.prepare_model_for_kbit_training": Usual(
        engine="quantisation",
        values=((True, 0.5), (False, 0.5)),
        feature="quantised weights",
        condition="prepare_model_for_kbit_training is called",
        conditions={"false": "prepare_model_for_kbit_training is not called"},
        reason="examples differ",
    ),
    "quantization.method": Usual(
        engine="quantisation",
        without="none",
        values=(("none", 0.5), ("bitsandbytes", 0.5)),
        taking="weights are not quantised",
        feature="quantised weights",
        condition="weights are quantised with {}",
        conditions={"none": "weights are not quantised"},
        reason="a method that is not installed is not used",
    ),
    "quantization.bits": Usual(
        engine="quantisation",
        values=((16, 0.5), (4, 0.5)),
        feature="quantised weights",
        condition="weights have {} bits",
        reason="what most quantised runs have",
    ),
    "quantization.float_storage": Usual(
        engine="quantisation",
        values=((False, 1.0),),
        taking="4-bit weights are stored as bytes",
        feature="4-bit weights in a floating-point type (bnb_4bit_quant_storage)",
        reason="the default of bitsandbytes",
    ),
    "quantization.double_quant": Usual(engine="quantisation", feature="double quantisation", reason=_RARE),
    "precision.mode": Usual(
        values=(("bf16", 0.7), ("fp16", 0.15), ("no", 0.15)),
        condition="you train in {}",
        conditions={"no": "you train in full precision"},
        features={"fp8": "fp8"},
        feature="training in {}",
        question="In which precision do you train?",
        reason="what nearly all runs have",
    ),
    "precision.half_weights": Usual(
        values=((False, 1.0),),
        taking="weights are kept in float32",
        feature="weights in half precision",
        reason="mixed precision is what most runs use",
    ),
    "precision.earlier_run": Usual(
        values=((False, 1.0),),
        taking="no earlier run of the process has mixed precision",
        feature="runs of several precisions in one process",
        reason="most processes train once",
    ),
    "precision.fp8_recipe": Usual(
        values=(("delayed", 1.0),),
        taking="fp8 has delayed scaling",
        feature="another recipe of fp8",
        reason="what Transformer Engine does unless it is told otherwise",
    ),
    "precision.chosen": Usual(
        values=((False, 1.0),),
        taking="the precision is left to the trainer",
        feature="a precision of your choice",
        condition="the run says in which precision it trains",
        reason="a run that says so was not seen",
    ),
    "precision.tf32": Usual(
        values=((False, 0.5), (True, 0.5)), condition="TF32 is {}", feature="TF32", reason="both are in use"
    ),
    "optimizer.warmup_steps": Usual(
        values=((100, 1.0),),
        taking="the learning rate warms up",
        feature="a run without warm-up",
        condition="the learning rate rises over {} steps",
        reason="who wants none has to say so to Axolotl, which warms up by itself",
    ),
    "optimizer.warmup_peak": Usual(
        values=((False, 1.0),),
        taking="DeepSpeed's schedule takes its peak from the optimizer",
        feature="warmup_max_lr of DeepSpeed",
        reason="who gives it has it in DeepSpeed's config",
    ),
    "optimizer.groups": Usual(
        values=(("one", 1.0),),
        taking="the optimizer has one group of parameters",
        features={"several": "several groups of parameters", "own_rates": "learning rates by group of parameters"},
        feature="several groups of parameters",
        condition="the optimizer has groups of parameters: {}",
        conditions={
            "one": "the optimizer has one group of parameters",
            "own_rates": "groups of parameters have learning rates of their own",
        },
        question="Do groups of parameters have learning rates of their own?",
        reason=_RARE,
    ),
    "optimizer.name": Usual(
        values=(("adamw_torch", 1.0),),
        named={"bitsandbytes": (("paged_adamw_8bit", 0.2),)},
        taking="the optimizer is AdamW",
        feature="other optimizers than AdamW",
        features={
            "adamw_torch_fused": "fused AdamW",
            "muon": "Muon",
            "lion_32bit": "Lion",
            "adamw_torch_8bit": "torchao's optimizers",
        },
        condition="the optimizer is {}",
        reason="the default of most trainers; others are named",
    ),
    "optimizer.fused": Usual(
        values=((False, 1.0),), taking="the optimizer is not fused", feature="fused optimizers", reason=_RARE
    ),
    "optimizer.library": Usual(
        values=(("torch", 1.0),),
        taking="the optimizer is torch's",
        features={"transformers": "optimizers of transformers", "deepspeed": "DeepSpeed's optimizers"},
        named={"deepspeed": (("deepspeed", 0.5),)},
        condition="the optimizer is from {}",
        reason="the default of most trainers; others are named",
    ),
    "optimizer.scheduler": Usual(
        values=(("linear", 0.5), ("cosine", 0.5)),
        condition="the schedule is {}",
        feature="other schedules",
        reason="in use",
        rare_is_named=True,
    ),
    "optimizer.weight_decay": Usual(
        values=((0, 0.5), (0.01, 0.5)),
        condition="there is weight decay",
        feature="weight decay",
        reason="both are in use",
    ),
    "data.streaming": Usual(
        values=((False, 1.0),), taking="data are not streamed", feature="streamed datasets", reason=_RARE
    ),
    "data.loading_script": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="the data set is a loading script",
        conditions={"false": "the data set is files, and no loading script"},
        feature="loading scripts",
        question="Is the data set a loading script, a .py file of its name on the hub?",
        reason="many of the hub were, and most have been converted since",
    ),
    "data.stream_filter": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="the stream goes through filter",
        conditions={"false": "the stream goes through no filter"},
        feature="filtered streams",
        reason="data differ",
    ),
    "data.epoch_below_window": Usual(
        values=((False, 1.0),),
        taking="an epoch has more batches than a step accumulates",
        feature="epochs shorter than a step",
        reason="data of so few batches are rare",
    ),
    "data.partial_last_step": Usual(
        values=((True, 0.7), (False, 0.3)),
        condition="the batches of an epoch do not fill its last step",
        conditions={"false": "the batches of an epoch fill its last step"},
        feature="epochs whose last step is not full",
        question="Does the last optimizer step of an epoch have fewer micro-batches than the others?",
        reason="the number of batches is seldom a multiple of the accumulation steps, unless a run sees to it",
    ),
    "data.shuffle": Usual(
        values=((True, 1.0),), taking="the data are shuffled", feature="data in their order", reason="the default"
    ),
    "data.own_sampler": Usual(
        values=((False, 1.0),),
        taking="verl orders the data itself",
        feature="a sampler of your own",
        reason="the default of verl",
    ),
    "data.own_dataset": Usual(
        values=((False, 1.0),),
        taking="verl makes the samples itself",
        feature="a dataset class of your own",
        reason="the default of verl",
    ),
    "data.seedable_sampler": Usual(
        values=((False, 1.0),),
        taking="accelerate puts no seedable sampler in",
        condition="accelerate puts its seedable sampler in",
        conditions={"false": "accelerate puts no seedable sampler in"},
        feature="the seedable sampler of accelerate",
        reason="off in the Accelerator of 0.26.0, 1.0.1, 1.7.0 and 1.15.0",
    ),
    "data.unequal_labels": Usual(
        values=((True, 1.0),),
        taking="micro-batches differ in the number of labels that count",
        feature="micro-batches that differ in labels",
        condition="your loss is a mean over labels that differ in number between micro-batches",
        question="Do micro-batches differ in the number of labels that your loss takes the mean of?",
        reason="texts differ in length; classes, preferences and rewards are one label a sample, and data packed to "
        "one length have as many in each batch",
    ),
    "data.pad_is_eos": Usual(
        values=((True, 0.3), (False, 0.7)),
        condition="the padding token is the end-of-sequence token",
        conditions={"false": "the padding token is not the end-of-sequence token"},
        feature="padding with the end-of-sequence token",
        question="Is the padding token the end-of-sequence token?",
        reason="tokenizers differ",
    ),
    "data.collator": Usual(
        values=(("own", 1.0),),
        taking="the trainer takes its own collator",
        feature="that collator",
        condition="batches are made by {}",
        reason="a program that gives one names it",
    ),
    "data.padding_side": Usual(
        values=(("right", 0.7), ("left", 0.3)),
        condition="batches are padded on the {}",
        feature="padding on the {}",
        question="On which side are batches padded?",
        reason="tokenizers differ",
    ),
    "data.ends_with_eos": Usual(
        values=((True, 0.6), (False, 0.4)),
        condition="samples end with the end-of-sequence token",
        conditions={"false": "samples end without the end-of-sequence token"},
        feature="samples that end so",
        question="Do your samples end with the end-of-sequence token, from a chat template or by hand?",
        reason="data differ",
    ),
    "data.turn_end_named": Usual(
        values=((True, 1.0),),
        taking="the end of each turn is trained",
        feature="axolotl's chat_template without eot_tokens",
        reason="few tools look for that token by themselves",
    ),
    "data.chat_template": Usual(
        values=(("tokenizer_default", 1.0),),
        taking="conversations go through the tokenizer's own chat template",
        feature="a chat template of axolotl's own",
        reason="the default of axolotl",
    ),
    "data.eos_closes_answers_alone": Usual(
        values=((False, 1.0),),
        taking="each turn that axolotl trains ends with the end-of-sequence token",
        feature="axolotl's chosen turns of a Mistral template",
        reason="most chat templates end each turn in the same way",
    ),
    "data.sequence_length": Usual(
        values=((2048, 0.5), (8192, 0.5)),
        condition="sequences have {} tokens",
        feature="long sequences",
        reason="what most runs have",
    ),
    "data.hard_negatives": Usual(
        values=((True, 0.5), (False, 0.5)),
        feature="hard negatives",
        condition="samples have columns of hard negatives",
        conditions={"false": "samples are pairs"},
        question="Have the samples columns of hard negatives?",
        reason="triplets are as usual as pairs",
    ),
    "data.videos": Usual(
        values=((True, 0.3), (False, 0.7)),
        feature="videos in the samples",
        condition="samples bring videos",
        conditions={"false": "samples bring no videos"},
        question="Do the samples bring videos?",
        reason="pictures are more usual than videos",
    ),
    "data.conversational": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="samples are conversations, as in a column messages",
        conditions={"false": "samples are plain text"},
        feature="conversations",
        question="Are your samples lists of messages that the trainer puts through the chat template?",
        reason="data differ",
    ),
    "data.truncated": Usual(
        values=((False, 1.0),),
        taking="no sample is cut off",
        feature="truncation",
        reason="few samples are longer",
    ),
    "files.dataset_of_4": Usual(
        values=((False, 1.0),),
        taking="no data set that is read was saved by datasets 4",
        feature="data that datasets 4 saved",
        reason="most runs write what they read",
    ),
    "files.tokenizer_of_5": Usual(
        values=((False, 1.0),),
        taking="the tokenizer was not saved by transformers 5",
        feature="tokenizers that transformers 5 saved",
        reason="the published tokenizers of older models are in the form of transformers 4",
    ),
    "files.newer_release": Usual(
        values=((False, 1.0),),
        taking="no file that is read was written by a newer release",
        feature="files that a newer release wrote",
        reason="most runs write what they read",
    ),
    "files.pickled_weights": Usual(
        values=((False, 1.0),),
        taking="the weights are safetensors",
        feature="weights in pytorch_model.bin",
        reason="most checkpoints are safetensors",
    ),
    "data.multi_turn": Usual(
        values=((True, 0.5), (False, 0.5)),
        condition="conversations have several turns",
        conditions={"false": "conversations have one turn"},
        feature="such data",
        reason="data differ",
    ),
}


def usual_values(key: str, named: frozenset[str]) -> Values | None:
    """The usual values of a fact, with those of the engines that are named; None if nothing is presumed of it."""
    usual = USUAL.get(key)
    if usual is None:
        return None
    if usual.engine is not None and usual.engine not in named:
        return () if usual.without is None else ((usual.without, 1.0),)
    bringing = named & usual.requiring or named
    return (*usual.values, *(value for engine in sorted(bringing) for value in usual.named.get(engine, ())))
