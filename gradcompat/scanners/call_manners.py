"""Functions and classes of which a defect hangs on what an argument says, and not on whether it is given.

Such a call uses the function by its bare name, and by one with a word behind it as well, which is that of the argument:
``lightning.seed_everything.workers``. An argument whose value cannot be read counts as one that does it: who passes
it has a reason to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from gradcompat.lazy_dataclasses import dataclass, replace
from gradcompat.scanners.code_arguments import Argument
from gradcompat.scanners.code_names import UNKNOWN

Given = Mapping[str, Argument]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """One way of calling a function that a defect asks for.

    Attributes:
        roots: the packages whose function it is.
        word: what stands behind the name of the function.
        holds: whether a call is of this kind, by its arguments.
        positional: the names of the arguments that may come without.
        method: it counts whatever it is called on, where that is not known.
        whole: it counts only where all that is given can be read, as of a call that lacks something.
    """

    roots: frozenset[str]
    word: str
    holds: Callable[[Given], bool]
    positional: tuple[str, ...] = ()
    method: bool = False
    whole: bool = False


def manners_of(name: str) -> tuple[Manner, ...]:
    """The manners that count of a function, by its full name."""
    root, dot, _ = name.partition(".")
    return tuple(
        one for one in _MANNERS.get(name.rpartition(".")[2], ()) if root in one.roots or (one.method and not dot)
    )


def _says(argument: str, holds: Callable[[object], bool]) -> Callable[[Given], bool]:
    """Is the argument given, with such a value or one that cannot be read?"""

    def judge(given: Given) -> bool:
        found = given.get(argument)
        return found is not None and (found.value is UNKNOWN or holds(found.value))

    return judge


def _above(limit: float) -> Callable[[object], bool]:
    return lambda value: isinstance(value, (int, float)) and value > limit


def _below(limit: float) -> Callable[[object], bool]:
    return lambda value: isinstance(value, (int, float)) and value < limit


def _interleaves_to_the_end(given: Given) -> bool:
    weighted = "probabilities" in given and given["probabilities"].value is not None
    return not weighted and _says("stopping_strategy", lambda value: value == "all_exhausted_without_replacement")(
        given
    )


def _drops_tokens(given: Given) -> bool:
    keeps = "drop_tokens" in given and given["drop_tokens"].value is False
    return not keeps and _says("k", _above(2))(given)


def _ties(given: Given) -> bool:
    """The decoder shares the encoder's weights unless it is told not to."""
    return not ("tie_encoder_decoder" in given and given["tie_encoder_decoder"].value is False)


def _crosses(given: Given) -> bool:
    """Causal attention between sequences of two kinds: `cu_seqlens` of self-attention are the same for both."""
    queries, keys = given.get("cu_seqlens_q"), given.get("cu_seqlens_k")
    same = queries is not None and keys is not None and ast.dump(queries.given) == ast.dump(keys.given)
    return not same and _says("causal", bool)(given)


def _has_fewer_shards(given: Given) -> bool:
    shards, jobs = given.get("num_shards"), given.get("num_proc")
    if shards is None or jobs is None or shards.value is None:
        return False
    if isinstance(shards.value, int) and isinstance(jobs.value, int):
        return shards.value < jobs.value
    return jobs.value is not None


def _normalises_groups(given: Given) -> bool:
    """Several groups in the fused path, with a norm behind them."""
    plain = any(name in given and given[name].value is False for name in ("use_mem_eff_path", "rmsnorm"))
    return not plain and _says("ngroups", _above(1))(given)


def _leaves_norms(given: Given) -> bool:
    return "rms_norm" in given and given["rms_norm"].value is False


def _runs_in_triton(given: Given) -> bool:
    return not ("backend" in given and given["backend"].value == "cuda")


def _has_bias(given: Given) -> bool:
    return not ("bias" in given and given["bias"].value is False)


def _decorates(given: Given) -> bool:
    return any(given[name].value not in (None, False) for name in _OF_INNER if name in given)


def _clips(given: Given) -> bool:
    return any(given[name].value not in (None, False) for name in _CLIPS if name in given)


def _alone(given: Given) -> bool:
    """Gradients without the variables that they belong to."""
    return "trainable_variables" not in given


def _patched(given: Given) -> bool:
    """Unsloth hands weights that are all trained, or held in 8 bits, on to FastModel."""
    return not any(_says(name, bool)(given) for name in ("full_finetuning", "load_in_8bit"))


def _gives(arguments: frozenset[str]) -> Callable[[Given], bool]:
    """Is one of the arguments given, with whatever value?"""
    return lambda given: not arguments.isdisjoint(given)


def _is_given(argument: str) -> Callable[[Given], bool]:
    """Is the argument given, and not None?"""
    return _says(argument, lambda value: value is not None)


def _averages_classes(given: Given) -> bool:
    """Metrics of several classes take the mean over classes unless they are told otherwise."""
    return "average" not in given or _says("average", lambda value: value == "macro")(given)


def _averages_an_ignored_class(given: Given) -> bool:
    """A mean over classes of which one is ignored: a label that is none of them, such as -100 or 255, is no class."""
    ignored, classes = given.get("ignore_index"), given.get("num_classes")
    if ignored is None or type(ignored.value) is not int:
        return False
    number = classes.value if classes is not None and type(classes.value) is int else _FEWEST_OUTSIDE
    return 0 <= ignored.value < number and _averages_classes(given)


def _averages_an_ignored_class_of_several(given: Given) -> bool:
    """The same by task, whose mean is the micro average unless it is told otherwise."""
    return _says("task", lambda value: value == "multiclass")(given) and (
        "average" in given and _averages_an_ignored_class(given)
    )


def _has_momentum(given: Given) -> bool:
    """It has some unless it is told otherwise."""
    return "momentum" not in given or _says("momentum", lambda value: value != 0)(given)


def _balances(given: Given) -> bool:
    """Experts of which a loss has a coefficient; both are 0 unless they are given."""
    weighed = any(_says(name, bool)(given) for name in ("moe_aux_loss_coeff", "moe_z_loss_coeff"))
    return weighed and _has_experts(given)


def _splits_sequences(given: Given) -> bool:
    """Experts balanced by a loss under context parallelism; one per token is scaled in another way."""
    per_token = _says("calculate_per_token_loss", bool)(given)
    return _balances(given) and not per_token and _says("context_parallel_size", _above(1))(given)


def _counts_tokens(given: Given) -> bool:
    """Experts balanced by a loss, and a loss per token, where a rank has only a part of each sequence."""
    splits = _says("context_parallel_size", _above(1))(given) or _says("sequence_parallel", bool)(given)
    return splits and _balances(given) and _says("calculate_per_token_loss", bool)(given)


def _leaves_out_a_hundred(given: Given) -> bool:
    """Limits of detections without 100, which is the one that pycocotools averages at."""
    found = given.get("max_detection_thresholds")
    if found is None or found.value is None:
        return False
    return not isinstance(found.value, (list, tuple)) or (UNKNOWN not in found.value and 100 not in found.value)


def _ends_before_a_step(given: Given) -> bool:
    """An epoch of fewer batches than an optimizer step has; a fraction of the data says nothing."""
    step = given.get("accumulate_grad_batches")
    limits = [given[name].value for name in ("limit_train_batches", "overfit_batches") if name in given]
    number = None if step is None else step.value
    return type(number) is int and any(type(limit) is int and 0 < limit < number for limit in limits)


def _measures_boxes(given: Given) -> bool:
    """The metric of detection takes boxes unless it is told to take masks alone."""
    return "iou_type" not in given or _says("iou_type", lambda value: value != "segm")(given)


def _is_no_float32(given: Given) -> bool:
    dtype = given.get("d")
    return dtype is not None and not ast.unparse(dtype.given).endswith(("float32", "torch.float", "float64"))


def _shuffles_shards(given: Given) -> bool:
    """A stream draws from several files at once unless it is told not to."""
    shards = given.get("max_buffer_input_shards")
    return shards is None or shards.value != 1


def _mixes(given: Given) -> bool:
    """A divergence between two models and their mixture, which betas of 0 and 1 are not."""
    return "beta" not in given or _says("beta", lambda value: value not in (0, 1))(given)


def _has_experts(given: Given) -> bool:
    return _says("num_moe_experts", _above(1))(given)


def _weighs_rewards(given: Given) -> bool:
    """Weights of rewards that differ from what no weights are."""

    def differ(value: object) -> bool:
        return value is not None and not (isinstance(value, (list, tuple)) and all(one == 1 for one in value))

    return _says("reward_weights", differ)(given)


def _keeps_nothing(given: Given) -> bool:
    """Without momentum the optimizer has no state."""
    return "momentum" not in given or given["momentum"].value in (0, None)


def _validates_between_steps(given: Given) -> bool:
    """A number of batches that is a multiple of those of a step."""
    every, step = given.get("val_check_interval"), given.get("accumulate_grad_batches")
    if every is None or step is None or type(every.value) is not int or type(step.value) is not int:
        return False
    return step.value > 0 and every.value % step.value == 0


def _saves_at_epoch_end(given: Given) -> bool:
    """At the end of training epochs, and not by steps."""
    by_steps = _says("every_n_train_steps", bool)(given)
    return not by_steps and "save_on_train_epoch_end" in given and given["save_on_train_epoch_end"].value is True


def _ranks_by_steps(given: Given) -> bool:
    """Checkpoints of steps that a metric of the validation ranks or names; those of the training are fresh."""
    ranked = _says("monitor", lambda value: isinstance(value, str) and not value.startswith("train"))(given)
    named = _says("filename", lambda value: isinstance(value, str) and "{val" in value)(given)
    return (ranked or named) and _says("every_n_train_steps", bool)(given)


def _has_one_device(given: Given) -> bool:
    devices = given.get("devices")
    return devices is not None and isinstance(devices.value, (list, tuple)) and len(devices.value) == 1


def _cuts_nothing(given: Given) -> bool:
    """Samples keep their length where the longest one is None."""
    return "max_length" in given and given["max_length"].value is None


_FEWEST_OUTSIDE = 100  # where the number of classes cannot be read: labels of no class are 255 or -100
_FLASH = frozenset({"flash_attn"})
_MEGATRON = frozenset({"megatron"})
_MAMBA = frozenset({"mamba_ssm"})
_DATASETS = frozenset({"datasets"})
_GROUPED = Manner(roots=_MAMBA, word="ngroups", holds=_normalises_groups)
_LIGHTNING = frozenset({"lightning", "pytorch_lightning", "lightning_fabric"})
_METRICS_WITH_A_TASK = (
    *("Accuracy", "Precision", "Recall", "F1Score", "FBetaScore", "Specificity", "StatScores", "ConfusionMatrix"),
    *("CohenKappa", "JaccardIndex", "HammingDistance", "AUROC", "AveragePrecision", "ROC", "PrecisionRecallCurve"),
    "HingeLoss",
)
_FUNCTIONS_WITH_A_TASK = (
    *("accuracy", "precision", "recall", "f1_score", "fbeta_score", "specificity", "stat_scores", "confusion_matrix"),
    *("cohen_kappa", "jaccard_index", "hamming_distance", "auroc", "average_precision", "roc"),
    *("precision_recall_curve", "hinge_loss"),
)
_NO_TASK = Manner(
    roots=frozenset({"torchmetrics"}),
    word="no_task",
    holds=lambda given: "task" not in given,
    positional=("task",),
    whole=True,
)
_FUNCTION_WITHOUT_TASK = replace(_NO_TASK, positional=("preds", "target", "task"))
# Arguments that the releases behind these took last, None or not: what is not there refuses both.
_GONE_FROM_LIGHTNINGS_TRAINER = {
    "argument_of_1_6": frozenset(
        {
            *("checkpoint_callback", "flush_logs_every_n_steps", "log_gpu_memory", "prepare_data_per_node"),
            *("process_position", "progress_bar_refresh_rate", "stochastic_weight_avg", "terminate_on_nan"),
            "weights_summary",
        }
    ),
    "argument_of_1_7": frozenset({"weights_save_path"}),
    "argument_of_1_9": frozenset(
        {
            *("amp_backend", "amp_level", "auto_lr_find", "auto_scale_batch_size", "auto_select_gpus", "gpus", "ipus"),
            *("move_metrics_to_cpu", "multiple_trainloader_mode", "num_processes", "replace_sampler_ddp"),
            *("resume_from_checkpoint", "tpu_cores", "track_grad_norm"),
        }
    ),
}
# What Keras takes for any optimizer, in its order.
_OF_INNER = ("weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "use_ema")
_CLIPS = ("clipnorm", "clipvalue", "global_clipnorm")
_CLIPPED = Manner(roots=frozenset({"keras", "tensorflow"}), word="clipnorm", holds=_clips)
_BF16 = Manner(roots=frozenset({"trl"}), word="bf16", holds=_is_given("bf16"))
_SEQUENCES = ("cu_seqlens_q", "cu_seqlens_k", "max_seqlen_q", "max_seqlen_k")

_OF_CONVOLUTION = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "bias")

_MANNERS: dict[str, tuple[Manner, ...]] = {
    **dict.fromkeys(_METRICS_WITH_A_TASK, (_NO_TASK,)),  # some of them have more, below
    "seed_everything": (
        Manner(roots=_LIGHTNING, word="workers", holds=_says("workers", bool), positional=("seed", "workers")),
    ),
    "clip_gradients": (
        Manner(
            roots=_LIGHTNING,
            word="gradient_clip_val",
            holds=_says("gradient_clip_val", lambda value: value not in (None, 0)),
            positional=("optimizer", "gradient_clip_val", "gradient_clip_algorithm"),
            method=True,
        ),
    ),
    "Trainer": (
        Manner(
            roots=_LIGHTNING,
            word="reload_dataloaders_every_n_epochs",
            holds=_says("reload_dataloaders_every_n_epochs", _above(1)),
        ),
        Manner(roots=_LIGHTNING, word="shorter_than_a_step", holds=_ends_before_a_step),
        Manner(roots=_LIGHTNING, word="validates_between_steps", holds=_validates_between_steps),
        *(
            Manner(roots=_LIGHTNING, word=word, holds=_gives(arguments))
            for word, arguments in _GONE_FROM_LIGHTNINGS_TRAINER.items()
        ),
    ),
    "MeanAveragePrecision": (
        Manner(
            roots=frozenset({"torchmetrics"}),
            word="boxes",
            holds=_measures_boxes,
            positional=("box_format", "iou_type"),
        ),
        Manner(
            roots=frozenset({"torchmetrics"}),
            word="max_detection_thresholds",
            holds=_leaves_out_a_hundred,
            positional=("box_format", "iou_type", "iou_thresholds", "rec_thresholds", "max_detection_thresholds"),
        ),
    ),
    **dict.fromkeys(
        ("ShortConvolution", "causal_conv1d"),
        (Manner(roots=frozenset({"fla"}), word="triton", holds=_runs_in_triton),),
    ),
    "Conv2d": (
        Manner(
            roots=frozenset({"torch"}),
            word="biased",
            holds=_has_bias,
            positional=_OF_CONVOLUTION,
        ),
    ),
    "sigmoid_focal_loss": (
        Manner(
            roots=frozenset({"optax"}),
            word="gamma",
            holds=_says("gamma", _below(1)),
            positional=("logits", "labels", "alpha", "gamma"),
        ),
    ),
    "Float8LinearConfig": (
        Manner(
            roots=frozenset({"torchao"}),
            word="enable_fsdp_float8_all_gather",
            holds=_says("enable_fsdp_float8_all_gather", bool),
        ),
    ),
    **dict.fromkeys(
        ("AdamWScheduleFree", "SGDScheduleFree", "AdamWScheduleFreeClosure", "SGDScheduleFreeClosure"),
        (
            Manner(
                roots=frozenset({"schedulefree"}),
                word="one_by_one",
                holds=lambda given: "foreach" in given and given["foreach"].value is False,
            ),
        ),
    ),
    "Mamba2": (_GROUPED,),
    "Mamba2Simple": (_GROUPED,),
    "mamba_split_conv1d_scan_combined": (_GROUPED,),
    "interleave_datasets": (
        Manner(
            roots=_DATASETS,
            word="stopping_strategy",
            holds=_interleaves_to_the_end,
            positional=("datasets", "probabilities", "seed", "info", "split", "stopping_strategy"),
        ),
    ),
    "push_to_hub": (Manner(roots=_DATASETS, word="num_shards", holds=_has_fewer_shards, method=True),),
    "DenoisingAutoEncoderLoss": (
        Manner(
            roots=frozenset({"sentence_transformers"}),
            word="tie_encoder_decoder",
            holds=_ties,
            positional=("model", "decoder_name_or_path", "tie_encoder_decoder"),
        ),
    ),
    "from_config": (
        Manner(
            roots=frozenset({"transformers"}),
            word="no_dtype",
            holds=lambda given: given.keys().isdisjoint({"dtype", "torch_dtype"}),
        ),
    ),
    "DataCollatorWithFlattening": (
        Manner(
            roots=frozenset({"transformers"}),
            word="from_zero",
            holds=lambda given: "position_ids_start" not in given or given["position_ids_start"].value == 0,
        ),
    ),
    "DDPStrategy": (Manner(roots=_LIGHTNING, word="static_graph", holds=_says("static_graph", bool)),),
    "MoE": (
        Manner(
            roots=frozenset({"deepspeed"}),
            word="k",
            holds=_drops_tokens,
            positional=("hidden_size", "expert", "num_experts", "ep_size", "k"),
        ),
    ),
    **dict.fromkeys(
        (
            *("MulticlassAccuracy", "MulticlassPrecision", "MulticlassRecall", "MulticlassF1Score"),
            *("MulticlassFBetaScore", "multiclass_accuracy", "multiclass_precision", "multiclass_recall"),
            *("multiclass_f1_score", "multiclass_fbeta_score"),
        ),
        (
            Manner(roots=frozenset({"torchmetrics"}), word="macro", holds=_averages_classes),
            Manner(roots=frozenset({"torchmetrics"}), word="ignored_class", holds=_averages_an_ignored_class),
        ),
    ),
    **dict.fromkeys(
        ("MulticlassAUROC", "multiclass_auroc"),
        (Manner(roots=frozenset({"torchmetrics"}), word="ignored_class", holds=_averages_an_ignored_class),),
    ),
    **dict.fromkeys(
        ("Accuracy", "Precision", "Recall", "F1Score", "FBetaScore"),
        (
            Manner(
                roots=frozenset({"torchmetrics"}), word="ignored_class", holds=_averages_an_ignored_class_of_several
            ),
            _NO_TASK,
        ),
    ),
    **dict.fromkeys(_FUNCTIONS_WITH_A_TASK, (_FUNCTION_WITHOUT_TASK,)),
    "unfreeze": (Manner(roots=frozenset({"flax"}), word="method", holds=lambda given: not given, method=True),),
    **dict.fromkeys(
        ("DistributedDataParallel", "DistributedDataParallelKwargs"),
        (Manner(roots=frozenset({"torch", "accelerate"}), word="static_graph", holds=_says("static_graph", bool)),),
    ),
    **dict.fromkeys(
        (
            *("StepLR", "MultiStepLR", "LambdaLR", "MultiplicativeLR", "ConstantLR", "LinearLR", "ExponentialLR"),
            *("PolynomialLR", "CosineAnnealingLR", "CyclicLR", "OneCycleLR", "CosineAnnealingWarmRestarts"),
            "ReduceLROnPlateau",
        ),
        (Manner(roots=frozenset({"torch"}), word="verbose", holds=_gives(frozenset({"verbose"}))),),
    ),
    "SequentialLR": (
        Manner(
            roots=frozenset({"torch"}),
            word="last_epoch",
            holds=_says("last_epoch", lambda value: value not in (-1, None)),
            positional=("optimizer", "schedulers", "milestones", "last_epoch"),
        ),
    ),
    **dict.fromkeys(
        ("create_optimizer_v2", "param_groups_layer_decay"),
        (
            Manner(
                roots=frozenset({"timm"}),
                word="layer_decay",
                holds=_says("layer_decay", lambda value: value not in (None, 1, 1.0, 0)),
            ),
        ),
    ),
    "from_pretrained": (
        Manner(roots=frozenset({"unsloth"}), word="fast_inference", holds=_says("fast_inference", bool)),
        Manner(roots=frozenset({"unsloth"}), word="patched", holds=_patched),
        Manner(roots=frozenset({"transformers"}), word="device_map", holds=_is_given("device_map")),
    ),
    **dict.fromkeys(
        ("MulticlassExactMatch", "multiclass_exact_match"),
        (Manner(roots=frozenset({"torchmetrics"}), word="ignore_index", holds=_is_given("ignore_index")),),
    ),
    **dict.fromkeys(
        ("Adam", "AdamW"),
        (Manner(roots=frozenset({"torch"}), word="capturable", holds=_says("capturable", bool)),),
    ),
    "ScheduleFreeSGD": (
        Manner(
            roots=frozenset({"pytorch_optimizer"}),
            word="weight_decay",
            holds=_says("weight_decay", lambda value: value not in (0, None)),
        ),
    ),
    "SignSGD": (Manner(roots=frozenset({"pytorch_optimizer"}), word="momentum", holds=_has_momentum),),
    **dict.fromkeys(
        ("GRPOConfig", "RLOOConfig"),
        (
            Manner(roots=frozenset({"trl"}), word="reward_weights", holds=_weighs_rewards),
            _BF16,
        ),
    ),
    "DataLoader": (Manner(roots=frozenset({"torch"}), word="generator", holds=_is_given("generator")),),
    "MirroredStrategy": (
        Manner(
            roots=frozenset({"tensorflow", "tf"}), word="one_device", holds=_has_one_device, positional=("devices",)
        ),
    ),
    **dict.fromkeys(
        ("KTOConfig", "DPOConfig", "RewardConfig", "ORPOConfig", "CPOConfig"),
        (_BF16,),
    ),
    "SFTConfig": (
        Manner(roots=frozenset({"trl"}), word="uncut", holds=_cuts_nothing),
        _BF16,
    ),
    "DPOTrainer": (Manner(roots=frozenset({"trl"}), word="peft_config", holds=_is_given("peft_config")),),
    "ModelCheckpoint": (
        Manner(roots=_LIGHTNING, word="every_n_train_steps", holds=_says("every_n_train_steps", bool)),
        Manner(roots=_LIGHTNING, word="ranked_by_steps", holds=_ranks_by_steps),
        Manner(roots=_LIGHTNING, word="at_epoch_end", holds=_saves_at_epoch_end),
    ),
    **dict.fromkeys(
        ("ViT", "PatchEmbeddingBlock"),
        (
            Manner(
                roots=frozenset({"monai"}),
                word="sincos",
                holds=_says("pos_embed_type", lambda value: value == "sincos"),
            ),
        ),
    ),
    "set_default_dtype": (Manner(roots=frozenset({"torch"}), word="half", holds=_is_no_float32, positional=("d",)),),
    "shuffle": (Manner(roots=_DATASETS, word="several_shards", holds=_shuffles_shards, method=True),),
    **dict.fromkeys(
        (
            *(f"apply_liger_kernel_to_{name}" for name in ("qwen3", "qwen3_moe", "qwen3_vl", "qwen3_vl_moe")),
            *("apply_liger_kernel_to_hunyuan_v1_dense", "apply_liger_kernel_to_hunyuan_v1_moe"),
        ),
        (Manner(roots=frozenset({"liger_kernel"}), word="without_norms", holds=_leaves_norms),),
    ),
    "LigerFusedLinearJSDLoss": (Manner(roots=frozenset({"liger_kernel"}), word="mixed", holds=_mixes),),
    "apply": (
        Manner(
            roots=frozenset({"keras", "tensorflow"}),
            word="alone",
            holds=_alone,
            positional=("grads", "trainable_variables"),
        ),
    ),
    **dict.fromkeys(("RMSprop", "Lion", "Adagrad", "Adadelta"), (_CLIPPED,)),
    "SGD": (_CLIPPED, Manner(roots=frozenset({"torch"}), word="plain", holds=_keeps_nothing)),
    "LossScaleOptimizer": (Manner(roots=frozenset({"keras", "tensorflow"}), word="clipnorm", holds=_decorates),),
    "flash_attn_varlen_func": (
        Manner(roots=_FLASH, word="causal", holds=_crosses, positional=("q", "k", "v", *_SEQUENCES)),
    ),
    "flash_attn_varlen_kvpacked_func": (
        Manner(roots=_FLASH, word="causal", holds=_crosses, positional=("q", "kv", *_SEQUENCES)),
    ),
    "TransformerConfig": (
        Manner(roots=_MEGATRON, word="context_parallel_size", holds=_splits_sequences),
        Manner(roots=_MEGATRON, word="calculate_per_token_loss", holds=_counts_tokens),
    ),
}
