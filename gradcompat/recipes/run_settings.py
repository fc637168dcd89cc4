"""The run that a recipe stands for, in the vocabulary of settings: what ``check`` is told of such a run.

So every cell of the measured matrix can be held against the matcher: the packages of its row, with these settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gradcompat.model.environment import SettingValue
from gradcompat.model.probe import ParameterValue, ProbeSpec
from gradcompat.recipes.table import recipe_of
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.terms.symbol_patterns import SYMBOLS_KEY, settings_of_use
from gradcompat.truth import Truth

Settings = Mapping[str, SettingValue]
_Parameters = Mapping[str, ParameterValue]

# The model of a recipe → the class that it is made of.
CLASSES = {
    "llama": "LlamaForCausalLM",
    "llama_lora": "LlamaForCausalLM",
    "gpt2": "GPT2LMHeadModel",
    "t5": "T5ForConditionalGeneration",
    "mt5": "MT5ForConditionalGeneration",
    "bart": "BartForConditionalGeneration",
    "whisper": "WhisperForConditionalGeneration",
    "llama_sequence_classification": "LlamaForSequenceClassification",
    "llama_token_classification": "LlamaForTokenClassification",
    "bert_sequence_classification": "BertForSequenceClassification",
    "qwen2_sequence_classification": "Qwen2ForSequenceClassification",
    "llava": "LlavaForConditionalGeneration",
    "vip_llava": "VipLlavaForConditionalGeneration",
    "doge": "DogeForCausalLM",
    "bert": "BertLMHeadModel",
    "roformer": "RoFormerForCausalLM",
    "big_bird": "BigBirdForCausalLM",
    "rembert": "RemBertForCausalLM",
    "megatron_bert": "MegatronBertForCausalLM",
    "gemma2": "Gemma2ForCausalLM",
    "gemma3n": "Gemma3nForCausalLM",
    "gemma4": "Gemma4ForCausalLM",
    "vaultgemma": "VaultGemmaForCausalLM",
    "mllama": "MllamaForConditionalGeneration",
    "glm4v_vision": "Glm4vForConditionalGeneration",
    "jetmoe": "JetMoeForCausalLM",
    "moshi": "MoshiForCausalLM",
    "git": "GitForCausalLM",
    "moonshine": "MoonshineForConditionalGeneration",
    "moonshine_streaming": "MoonshineStreamingForConditionalGeneration",
    "vision_encoder_decoder": "VisionEncoderDecoderModel",
    "qwen2_vl_vision": "Qwen2VLForConditionalGeneration",
    "gemma": "GemmaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "phi3": "Phi3ForCausalLM",
    "cohere": "CohereForCausalLM",
    "glm": "GlmForCausalLM",
    "granite": "GraniteForCausalLM",
    "olmo": "OlmoForCausalLM",
    "starcoder2": "Starcoder2ForCausalLM",
    "stablelm": "StableLmForCausalLM",
    "gpt_neox": "GPTNeoXForCausalLM",
    "mixtral": "MixtralForCausalLM",
    "qwen2_moe": "Qwen2MoeForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "olmoe": "OlmoeForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "minimax": "MiniMaxForCausalLM",
}

# Modules of the recipes' own: what their forward does with the count that the Trainer hands over.
_TOYS: dict[str, Settings] = {
    "toy_plain": {"model.uses_num_items_in_batch": False, "model.forward_takes_kwargs": False},
    "toy_kwargs": {"model.uses_num_items_in_batch": False, "model.forward_takes_kwargs": True},
    # It takes **kwargs and says that the Trainer must not count on it, which is the same.
    "toy_refusing": {"model.uses_num_items_in_batch": False, "model.forward_takes_kwargs": False},
}
_ONE_PROCESS: Settings = {"distributed.strategy": "none", "distributed.processes": 1, "host.device": "cpu"}
_TRAINER: Settings = {"training.framework": "transformers.Trainer"}
_DEFAULT = "default"
_NO_PACKAGES: Mapping[str, str] = {}
_EAGER_GEMMA2 = VersionSet.parse(">=4.45.0,<4.48.0")
_REENTRANT = VersionSet.parse("<5.0.0")
_PRECISION = {"float32": "no", "bfloat16": "bf16", "float16": "fp16"}
_WIDTH = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}

_OLDER_TIES = {
    "llava": "LlavaForConditionalGeneration",
    "llava_next": "LlavaNextForConditionalGeneration",
    "llava_onevision": "LlavaOnevisionForConditionalGeneration",
    "vip_llava": "VipLlavaForConditionalGeneration",
    "mistral3": "Mistral3ForConditionalGeneration",
    "internvl": "InternVLForConditionalGeneration",
    "smolvlm": "SmolVLMForConditionalGeneration",
    "idefics3": "Idefics3ForConditionalGeneration",
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
}
_ALPHA_CONFIGS = {
    "lora": "peft.LoraConfig(r=2, lora_alpha=8)",
    "loha": "peft.LoHaConfig(r=2, alpha=8)",
    "lokr": "peft.LoKrConfig(r=2, alpha=8)",
}
_SCALED_ADAPTERS = {
    "merged_bias": ("peft.LoraConfig(r=8, lora_alpha=16, lora_bias=True)", "peft.PeftModel.merge_and_unload"),
    "set_scale": ("peft.LoraConfig(use_rslora=True)", "peft.tuners.lora.LoraLayer.set_scale('default', 0.5)"),
}
_EMBEDDING_LOSSES = {
    "mega_batch": "sentence_transformers.losses.MegaBatchMarginLoss(model, mini_batch_size=2)",
    "list_mle": "sentence_transformers.cross_encoder.losses.PListMLELoss",
    "adaptive_layer": "sentence_transformers.losses.AdaptiveLayerLoss(model, loss, kl_div_weight=1000.0)",
}


class Unmapped(Exception):
    """The vocabulary has no words for what a recipe does; the message says for what."""


def run_settings(spec: ProbeSpec, packages: Mapping[str, str] = _NO_PACKAGES) -> Settings:
    """The settings of the run that a probe stands for.

    Args:
        spec: a recipe with its parameters.
        packages: versions by canonical name, for what a recipe leaves to the release; without them it is what the
            newest release makes of it.

    Raises:
        Unmapped: if the vocabulary cannot say it.
        ProbeUnavailable: if there is no such recipe.
    """
    recipe = recipe_of(spec)
    function = _RUNS.get(spec.name)
    if function is None:
        raise Unmapped("nobody has said which run the recipe stands for")
    defaults = {name: values[0] for name, values in recipe.parameters.items()}
    if spec.parameters.get("plant", defaults.get("plant")) != defaults.get("plant"):
        raise Unmapped("a defect is planted")
    settings = dict(function({**defaults, **spec.parameters}))
    for key, choose in _LEFT_TO_THE_RELEASE.items():
        if settings.get(key) == _DEFAULT:
            settings[key] = choose(settings, packages.get("transformers"))
    used = settings.get(SYMBOLS_KEY)
    return {**settings, **settings_of_use(map(str, used))} if isinstance(used, tuple) else settings


def _default_attention(settings: Settings, transformers: str | None) -> SettingValue:
    """What a model is given that asks for no attention; Gemma 2 kept to eager attention for three minor releases."""
    gemma2 = settings.get("model.architecture") == ("Gemma2ForCausalLM",)
    return "eager" if gemma2 and _is_in(transformers, _EAGER_GEMMA2) else "sdpa"


def _default_checkpointing(_: Settings, transformers: str | None) -> SettingValue:
    return _is_in(transformers, _REENTRANT)


def _is_in(version: str | None, versions: VersionSet) -> bool:
    window = None if version is None else locate(version)
    return window is not None and versions.truth(window) is Truth.YES


def _accumulation(parameters: _Parameters) -> Settings:
    # A compute_loss of one's own that averages is a forward that takes the count and does not look at it.
    own = parameters["compute_loss"] == "own"
    return {
        **(_TOYS["toy_kwargs"] if own else _model(parameters)),
        **_ONE_PROCESS,
        **_TRAINER,
        "training.gradient_accumulation_steps": 4,
        "training.label_smoothing_factor": 0.1 if parameters["label_smoothing"] else 0.0,
        "training.max_grad_norm": 0.0,
        "training.custom_compute_loss": own,
        "data.unequal_labels": parameters["labels"] == "unequal",
        "data.partial_last_step": bool(parameters["tail"]),
        "data.epoch_below_window": bool(parameters["tail"]),  # of two batches
        "optimizer.name": "sgd",
        "precision.mode": "no",
        **({"peft.method": "lora"} if parameters["model"] == "llama_lora" else {}),
    }


def _deepspeed_accumulation(parameters: _Parameters) -> Settings:
    return {
        **_model(parameters),
        **_TRAINER,
        "distributed.strategy": "deepspeed",
        "deepspeed.zero_stage": 0,
        "training.gradient_accumulation_steps": 4,
        "data.unequal_labels": parameters["labels"] == "unequal",
        "precision.mode": "no",
    }


def _accelerate_accumulation(parameters: _Parameters) -> Settings:
    return {
        "training.framework": "accelerate",
        "training.gradient_accumulation_steps": 4,
        "data.partial_last_step": bool(parameters["tail"]),
        "distributed.sync_each_batch": bool(parameters["sync_each_batch"]),
        "code.symbols": ("accelerate.Accelerator.accumulate",),
    }


def _gradient_flow(parameters: _Parameters) -> Settings:
    setup = str(parameters["setup"])
    lora = setup.startswith("lora")
    return {
        **_ONE_PROCESS,
        "model.architecture": ("LlamaForCausalLM",),
        "training.framework": "transformers.Trainer" if parameters["through"] == "trainer" else "torch",
        "training.gradient_checkpointing": True,
        "training.frozen_embeddings": setup != "full",
        **_reentrant(parameters),
        # Where checkpointing is on before, get_peft_model sees to the embeddings.
        "training.enable_input_require_grads": bool(parameters["hook"]) or setup == "lora_after_checkpointing",
        **({"peft.method": "lora", "peft.prepare_model_for_kbit_training": False} if lora else {}),
        **({"training.checkpointing_before_peft": setup == "lora_after_checkpointing"} if lora else {}),
    }


def _low_precision_flow(parameters: _Parameters) -> Settings:
    quantised = parameters["weights"] == "nf4"
    return {
        **_ONE_PROCESS,
        "model.architecture": ("LlamaForCausalLM",),
        "training.framework": "torch",
        "training.gradient_checkpointing": True,
        "training.frozen_embeddings": True,
        "training.checkpointing_before_peft": False,
        **_reentrant(parameters),
        "training.enable_input_require_grads": bool(parameters["hook"]),
        "peft.method": "lora",
        "peft.prepare_model_for_kbit_training": bool(parameters["prepared"]),
        "quantization.method": "bitsandbytes" if quantised else "none",
        **({"quantization.bits": 4} if quantised else {}),
    }


def _reentrant(parameters: _Parameters) -> Settings:
    return {"training.use_reentrant": _kind(parameters)}


def _kind(parameters: _Parameters) -> SettingValue:
    """Of checkpointing: is it reentrant?"""
    return _DEFAULT if parameters["reentrant"] == _DEFAULT else parameters["reentrant"] == "true"


def _checkpointed(parameters: _Parameters) -> Settings:
    what = parameters["what"]
    return {
        **_ONE_PROCESS,
        "training.framework": "torch",
        "model.architecture": (CLASSES[str(parameters["model"])],),
        "model.use_cache": what != "cache",
        "training.gradient_checkpointing": what == "checkpointing",
        **({"training.use_reentrant": _kind(parameters)} if what == "checkpointing" else {}),
        # The small model has layers that share keys and values, as those of these names.
        **({"model.name": "google/gemma-4-E2B"} if parameters["model"] == "gemma4" else {}),
    }


def _attention(parameters: _Parameters) -> Settings:
    packed = parameters["what"] == "packing"
    flattened = packed and parameters["mask"] == "positions"
    attention = parameters["attention"]
    return {
        "code.symbols": ("transformers.DataCollatorWithFlattening()",) if flattened else (),
        "model.architecture": (CLASSES[str(parameters["model"])],),
        "training.framework": "transformers.Trainer" if parameters["cache"] == "trainer" else "torch",
        "training.padding_free": flattened,
        "training.packing": packed and parameters["mask"] == "ones",
        **({"training.per_device_train_batch_size": 2} if flattened else {}),  # the samples of a batch are its row
        "model.use_cache": parameters["cache"] != "off",
        "training.gradient_checkpointing": False,
        "model.attn_implementation": str(attention),
    }


def _router_loss(parameters: _Parameters) -> Settings:
    settings: Settings = {
        "model.architecture": (CLASSES[str(parameters["model"])],),
        "model.output_router_logits": True,
    }
    if parameters["through"] == "sft":
        return {**settings, "training.framework": "trl", "training.method": "sft"}
    return settings


def _expert_adapters(parameters: _Parameters) -> Settings:
    return {
        "model.architecture": (CLASSES[str(parameters["model"])],),
        "peft.method": "lora",
        "peft.target_parameters": False,
        "peft.all_linear": parameters["names"] == "all-linear",
    }


def _preferences(parameters: _Parameters) -> Settings:
    return {
        "training.framework": "trl",
        "training.method": str(parameters["method"]),
        "training.gradient_accumulation_steps": 2 if parameters["method"] == "kto" else 4,
        "model.architecture": ("LlamaForCausalLM",),
        **_ONE_PROCESS,
    }


def _lightning(parameters: _Parameters) -> Settings:
    what = parameters["what"]
    settings: dict[str, SettingValue] = {
        "training.framework": "lightning",
        "training.manual_optimization": False,
        "training.gradient_accumulation_steps": 1,
    }
    match what:
        case "validation":
            settings |= {"training.gradient_accumulation_steps": 2, "training.validation_inside_epoch": True}
        case "batch_index":
            settings |= {
                "training.gradient_accumulation_steps": 2,
                "training.validation_inside_epoch": False,
                "training.batch_idx": False,
            }
        case "fsdp_weights":
            settings |= {
                "distributed.strategy": "fsdp",
                "precision.mode": "bf16",
                "precision.half_weights": False,
                "code.symbols": ("lightning.LightningModule.configure_model",),
            }
        case "worker_seeds":
            settings |= {
                "training.dataloader_num_workers": 2,
                "code.symbols": ("lightning.seed_everything(0, workers=True)",),
            }
        case "order" | "stream":
            settings |= {
                "training.resume_from_checkpoint": True,
                "data.streaming": what == "stream",
                "data.shuffle": what == "order",
                "code.symbols": ("lightning.LightningModule.on_load_checkpoint", "torch.Generator.set_state")
                if what == "order"
                else ("lightning.LightningModule.on_load_checkpoint",),
            }
        case "async_checkpoint":
            settings |= {"code.symbols": ("lightning.pytorch.plugins.io.AsyncCheckpointIO",)}
    return settings


def _lightning_callbacks(parameters: _Parameters) -> Settings:
    of_what: Mapping[str, Settings] = {
        "finder": {"code.symbols": ("lightning.pytorch.callbacks.LearningRateFinder",)},
        "checkpoint_metric": {
            "training.validation_inside_epoch": True,
            "code.symbols": ("lightning.pytorch.callbacks.ModelCheckpoint(monitor='val_loss', every_n_train_steps=1)",),
        },
        "inside_epoch": {"training.resume_from_checkpoint": True, "training.validation_inside_epoch": True},
        "fused_clipping": {
            "optimizer.fused": True,
            "training.max_grad_norm": 1.0,
            "precision.mode": "bf16",
            "precision.half_weights": False,
        },
    }
    return {
        "training.framework": "lightning",
        "training.manual_optimization": False,
        **of_what[str(parameters["what"])],
    }


_LOSSES = {
    "generalized_dice": "monai.losses.GeneralizedDiceLoss()",
    "dice_ce": "monai.losses.DiceCELoss(softmax=True, lambda_dice=0.0)",
    "lncc": "monai.losses.LocalNormalizedCrossCorrelationLoss()",
    "ssim": "monai.losses.SSIMLoss",
    "sincos": "monai.networks.blocks.PatchEmbeddingBlock(pos_embed_type='sincos')",
    "pnp": "pytorch_metric_learning.losses.PNPLoss",
    "miner": "pytorch_metric_learning.miners.BatchEasyHardMiner(pos_strategy='easy', distance=measure)",
}
_BESIDE_LOSSES = {"miner": "pytorch_metric_learning.distances.CosineSimilarity"}


def _loss_definitions(parameters: _Parameters) -> Settings:
    batch: Settings = {"training.per_device_train_batch_size": 3} if parameters["loss"] == "ssim" else {}
    loss = str(parameters["loss"])
    beside = (_BESIDE_LOSSES[loss],) if loss in _BESIDE_LOSSES else ()
    return {**batch, "code.symbols": (_LOSSES[loss], *beside)}


_METRICS = {
    "macro": "torchmetrics.classification.MulticlassRecall(num_classes=3)",
    "exact_match": "torchmetrics.classification.MulticlassExactMatch(ignore_index=0)",
    "pearson": "torchmetrics.PearsonCorrCoef",
}


def _metric_values(parameters: _Parameters) -> Settings:
    one_by_one: Settings = {"training.framework": "torch", "training.per_device_eval_batch_size": 1}
    run: Settings = one_by_one if parameters["metric"] == "pearson" else {}
    return {**run, "code.symbols": (_METRICS[str(parameters["metric"])],)}


_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "top_k": ("torchmetrics.classification.MulticlassPrecision(num_classes=6, top_k=2)",),
    "ergas": ("torchmetrics.ErrorRelativeGlobalDimensionlessSynthesis(ratio=4)",),
    "multilabel": ("torchmetrics.classification.MultilabelExactMatch(num_labels=3, ignore_index=-1)",),
    "bootstrap": ("torchmetrics.BootStrapper.reset",),
    "transformer": ("torchmetrics.wrappers.LambdaInputTransformer.reset",),
    "mean_iou": ("torchmetrics.segmentation.MeanIoU(num_classes=5)",),
    "iou_updates": ("torchmetrics.segmentation.MeanIoU(num_classes=2)",),
    "dice": ("torchmetrics.segmentation.DiceScore(num_classes=5, average='macro')",),
    "psnr": ("torchmetrics.image.PeakSignalNoiseRatio(data_range=255.0)", "torch.uint8"),
    "retrieval": ("torchmetrics.functional.retrieval_reciprocal_rank",),
    "bert_score": ("torchmetrics.functional.text.bert.bert_score(texts, references)",),
}
_STATES: Mapping[str, tuple[str, ...]] = {
    "precision": ("torchmetrics.Precision(num_classes=4, ignore_index=0)",),
    "f1": ("torchmetrics.F1Score(num_classes=4, ignore_index=0)",),
    "distance": ("torchmetrics.image.fid.FrechetInceptionDistance",),
    "bleu": ("torchmetrics.MetricCollection.bleu_orders",),
    "words": ("torchmetrics.MetricCollection.word_errors",),
}
_GRAPHS: Mapping[str, tuple[str, ...]] = {
    "spectral": ("torch_geometric.nn.DMoNPooling",),
    "cluster": ("torch_geometric.nn.DMoNPooling",),
    "sizes": (
        "torch_geometric.nn.DMoNPooling",
        "torch_geometric.utils.to_dense_batch",
        "torch_geometric.loader.DataLoader(data, batch_size=20)",
    ),
    "hops": ("torch_geometric.utils.k_hop_subgraph(0, 3, edges, directed=True)",),
}


_ADDED_UP: Mapping[str, Settings] = {
    "subtracted": {
        "code.symbols": ("peft.PeftModel.add_weighted_adapter(['a'], [-1.0], 'sum', combination_type='linear')",)
    },
    "unmerged": {
        "peft.method": "lora",
        "model.architecture": ("GPT2LMHeadModel",),
        "code.symbols": ("peft.LoraConfig(use_dora=True)", "peft.PeftModel.unmerge_adapter"),
    },
    "mixed": {
        "code.symbols": ("peft.XLoraConfig(top_k_lora=2, enable_softmax=False, enable_softmax_topk=True)",),
    },
    "oft": {"code.symbols": ("torch.nn.Conv2d(4, 8, 3)", "peft.OFTConfig(target_modules=['conv'])")},
    "boft": {
        "code.symbols": (
            "torch.nn.Conv2d(4, 8, 3, padding_mode='reflect')",
            "peft.BOFTConfig(target_modules=['conv'])",
        )
    },
    "hra": {
        "code.symbols": ("torch.nn.Conv2d(4, 8, 3, padding_mode='reflect')", "peft.HRAConfig(target_modules=['conv'])")
    },
}


def _dataset_streams(parameters: _Parameters) -> Settings:
    if parameters["what"] == "later":
        return {
            "data.streaming": True,
            "training.resume_from_checkpoint": True,
            "training.num_train_epochs": 2,
            "code.symbols": ("datasets.IterableDataset.load_state_dict", "datasets.IterableDataset.set_epoch"),
        }
    return {
        "data.streaming": True,
        "training.dataloader_num_workers": 2,
        "code.symbols": ("datasets.interleave_datasets(sources, probabilities=(0.5, 0.5))",),
    }


def _stateful_loader(parameters: _Parameters) -> Settings:
    end = parameters["what"] == "end"
    loader = "torchdata.stateful_dataloader.StatefulDataLoader"
    return {
        "training.dataloader_num_workers": 0,
        "data.shuffle": True,
        **({"training.resume_from_checkpoint": True} if end else {}),
        "code.symbols": (f"{loader}(dataset, shuffle=True)",),
    }


def _closure(parameters: _Parameters) -> Settings:
    name = "Adafactor" if parameters["optimizer"] == "adafactor" else "AdamW"
    return {
        "training.framework": "lightning",
        "training.manual_optimization": False,
        "optimizer.library": "transformers",
        "code.symbols": (f"transformers.{name}",),
    }


def _streams(parameters: _Parameters) -> Settings:
    what = parameters["what"]
    settings: dict[str, SettingValue] = {"data.streaming": True, "data.shuffle": what in ("shuffle", "workers")}
    if what == "workers":
        return {
            **settings,
            "training.dataloader_num_workers": 2,
            "training.resume_from_checkpoint": False,
            "code.symbols": ("shuffle(seed=1)",),
        }
    return {
        **settings,
        "training.resume_from_checkpoint": True,
        "data.stream_filter": what == "filter",
        "code.symbols": (
            "datasets.IterableDataset.load_state_dict",
            *((f"datasets.IterableDataset.{what}",) if what in ("map", "filter") else ()),
        ),
    }


def _stream_parts(parameters: _Parameters) -> Settings:
    streamed: Settings = {"data.streaming": True, "data.shuffle": False}
    settings: Mapping[str, Settings] = {
        "ranks": {"distributed.processes": 3, "code.symbols": ("datasets.distributed.split_dataset_by_node",)},
        "skip": {"code.symbols": ("datasets.IterableDataset.skip",)},
        "again": {
            "training.resume_from_checkpoint": True,
            "code.symbols": ("datasets.IterableDataset.load_state_dict",),
        },
        "epochs": {
            "data.shuffle": True,
            "training.num_train_epochs": 2,
            "code.symbols": (
                "datasets.IterableDataset.set_epoch",
                "torch.utils.data.DataLoader(stream, num_workers=2, persistent_workers=True)",
            ),
        },
        "interleave": {
            "data.streaming": False,
            "code.symbols": (
                "datasets.interleave_datasets(parts, stopping_strategy='all_exhausted_without_replacement')",
            ),
        },
    }
    return {**streamed, **settings[str(parameters["what"])]}


def _deepspeed_step(parameters: _Parameters) -> Settings:
    if parameters["divided_by"] == "loop":
        raise Unmapped("the loop stands for the Trainer of transformers, which is not in the row")
    # The fused variant stands for the FusedAdam that DeepSpeed takes by itself.
    fused: Settings = {"optimizer.library": "deepspeed", "optimizer.name": "FusedAdam"}
    return {
        # A model that returns its loss beside its outputs, as the heads of transformers do.
        "code.symbols": ("model_engine.backward", "transformers.AutoModelForCausalLM.from_pretrained"),
        "model.returns_loss": parameters["loss"] == "inside",
        "distributed.strategy": "deepspeed",
        "distributed.processes": 1,
        "training.framework": "torch",
        **(fused if parameters["optimizer"] == "fused" else {"optimizer.library": "torch"}),
        **_zero(parameters),
    }


def _data_parallel(parameters: _Parameters) -> Settings:
    settings: Settings = {"distributed.processes": int(parameters["processes"]), "training.framework": "torch"}
    if parameters["engine"] == "pipeline":
        return {
            **settings,
            "deepspeed.pipeline_stages": 2,
            "training.gradient_accumulation_steps": int(parameters["accumulation"]),
        }
    return {
        **settings,
        "distributed.strategy": "deepspeed",
        "optimizer.library": "torch",
        "deepspeed.immediate_grad_update": False,
        **_zero(parameters),
    }


def _zero(parameters: _Parameters) -> Settings:
    """The keys of a DeepSpeed config that a recipe sets."""
    settings: dict[str, SettingValue] = {
        "deepspeed.zero_stage": int(parameters["stage"]),
        "precision.mode": _PRECISION[str(parameters["dtype"])],
        "training.gradient_accumulation_steps": int(parameters["accumulation"]),
        "deepspeed.offload_optimizer": "cpu" if parameters["offload"] else "none",
        "deepspeed.gradient_clipping": 0.0,
    }
    for key in ("communication_data_type", "grad_accum_dtype"):
        if parameters[key] != "default":
            settings[f"deepspeed.{key}"] = _WIDTH[str(parameters[key])]
    return settings


def _infinite_gradient(parameters: _Parameters) -> Settings:
    return {
        "distributed.strategy": "deepspeed",
        "deepspeed.zero_stage": int(parameters["stage"]),
        "precision.mode": _PRECISION[str(parameters["dtype"])],
        "deepspeed.gradient_clipping": 1.0,
        "deepspeed.offload_optimizer": "none",
        "deepspeed.grad_accum_dtype": "model",
    }


def _model_kernels(parameters: _Parameters) -> Settings:
    attention = parameters["attention"]
    return {
        "model.architecture": (CLASSES[str(parameters["model"])],),
        "model.attn_implementation": str(attention),
        "model.attention_chosen": attention != "default",
        **({"model.cross_attention_mask": False} if parameters["model"] == "mllama" else {}),
        "code.symbols": (f"transformers.AutoModelForCausalLM.from_config(config, attn_implementation='{attention}')",),
    }


def _resume(_: _Parameters) -> Settings:
    resumed: Settings = {
        "training.resume_from_checkpoint": True,
        "training.save_only_model": False,
        "training.group_by_length": False,
        "code.symbols": ("transformers.Trainer",),
    }
    return {**_TRAINER, **_ONE_PROCESS, **resumed, "training.num_train_epochs": 2}


def _loss_masking(parameters: _Parameters) -> Settings:
    if parameters["what"] != "end":
        raise Unmapped("no record is about what the recipe looks at")
    return {"training.framework": "trl", "training.method": "sft", "data.pad_is_eos": True, "data.collator": "own"}


def _prepared_loader(parameters: _Parameters) -> Settings:
    if parameters["what"] == "skip":
        return {
            "training.framework": "accelerate",
            "distributed.processes": 1,
            "training.resume_from_checkpoint": True,
            "training.num_train_epochs": 2,
            "data.seedable_sampler": True,
            "code.symbols": ("accelerate.skip_first_batches", "accelerate.data_loader.DataLoaderShard.set_epoch"),
        }
    return {
        "training.framework": "accelerate",
        "distributed.processes": 2,
        "training.resume_from_checkpoint": False,
        "code.symbols": ("torch.utils.data.DataLoader(data, shuffle=True)",),
    }


def _adapters(parameters: _Parameters) -> Settings:
    match parameters["what"]:
        case "layers":  # of a model with its experts in a list
            return {
                "peft.method": "lora",
                "peft.layers_to_transform": True,
                "peft.layers_pattern": False,
                "peft.attention_only": False,
                "model.architecture": ("MixtralForCausalLM",),
            }
        case "tokens":  # of a model that scales its embeddings
            return {
                "peft.method": "lora",
                "peft.trainable_tokens": True,
                "model.architecture": ("Gemma3ForCausalLM",),
            }
        case "second":
            return {
                "peft.method": "lora",
                "code.symbols": ("peft.PeftModel.load_adapter(path, adapter_name='second')", "torch.optim.SGD"),
            }
        case "frozen":
            return {
                "training.framework": "trl",
                "training.method": "sft",
                "peft.method": "lora",
                "quantization.method": "bitsandbytes",
                "quantization.bits": 4,
                "code.symbols": ("peft.get_peft_model",),
            }
    raise Unmapped("no record is about what the recipe looks at")


def _round_trip(parameters: _Parameters) -> Settings:
    used = {
        "buffers": "transformers.PreTrainedModel.register_buffer",
        "initialiser": "transformers.PreTrainedModel._init_weights",
        **dict.fromkeys(("dtype", "weights", "tied"), "transformers.AutoModelForCausalLM.from_pretrained"),
        "from_config": "transformers.AutoModelForCausalLM.from_config(config)",
    }
    what = str(parameters["what"])
    if what == "tokenizer":
        loaded = "transformers.AutoTokenizer.from_pretrained"
        return {"code.symbols": (loaded, f"{loaded}(folder)")}
    if what == "dtype":  # is not given
        symbols = (used[what], f"{used[what]}(folder)")
        return {"code.symbols": symbols, "model.torch_dtype": "auto", "peft.method": "none"}
    config = ("transformers.LlamaConfig(torch_dtype='bfloat16')",) if what == "from_config" else ()
    return {"code.symbols": (used[what], *config), "model.torch_dtype": "float32", "peft.method": "none"}


def _deepspeed_clipping(parameters: _Parameters) -> Settings:
    if parameters["limit"] != "none":
        raise Unmapped("no record is about what the recipe looks at")
    return {
        "distributed.strategy": "deepspeed",
        "deepspeed.gradient_clipping": 0.0,
        "code.symbols": ("deepspeed.initialize",),
    }


def _schedules(parameters: _Parameters) -> Settings:
    return {
        "distributed.strategy": "deepspeed",
        "optimizer.groups": "own_rates",
        "code.symbols": (f"deepspeed.runtime.lr_schedules.{parameters['schedule']}(optimizer)",),
    }


def _optax(parameters: _Parameters) -> Settings:
    name = (
        "scale_by_distance_over_gradients"
        if parameters["what"] == "distance"
        else "sigmoid_focal_loss(logits, labels, gamma=0.5)"
    )
    return {"code.symbols": (f"optax.{name}",)}


def _distillation_loss(_: _Parameters) -> Settings:
    loss = "liger_kernel.chunked_loss.LigerFusedLinearJSDLoss"
    return {"code.symbols": (f"{loss}(beta=0.5)",)}


def _keras(parameters: _Parameters) -> Settings:
    if parameters["what"] == "mask":
        return {"code.symbols": ("keras.layers.BatchNormalization.widened_mask",)}
    wrapped = "keras.optimizers.LossScaleOptimizer"
    return {
        "training.manual_optimization": parameters["what"] == "apply",
        "code.symbols": (
            f"{wrapped}.apply(grads)" if parameters["what"] == "apply" else f"{wrapped}(inner, clipnorm=1.0)",
        ),
    }


def _keras_accumulation(parameters: _Parameters) -> Settings:
    if parameters["average"]:
        raise Unmapped("no setting says that the optimizer keeps a moving average of the weights")
    names = {"adam": "Adam", "adamw": "AdamW", "adamax": "Adamax", "nadam": "Nadam", "sgd": "SGD"}
    return {
        "training.framework": "keras",
        "training.gradient_accumulation_steps": 2,
        "optimizer.weight_decay": 0.0,
        "code.symbols": (f"keras.optimizers.{names[str(parameters['optimizer'])]}",),
    }


def _liger(parameters: _Parameters) -> Settings:
    if parameters["autocast"]:
        return {
            # The loss stands for a model that the Trainer has patched.
            "code.symbols": ("transformers.Trainer",),
            "training.framework": "transformers.Trainer",
            "distributed.strategy": "none",
            "model.architecture": ("LlamaForCausalLM",),
            "training.use_liger_kernel": True,
            "precision.mode": "bf16",
            "model.torch_dtype": "float32",
            "peft.method": "none",
        }
    fused = parameters["kernel"] == "fused_linear_cross_entropy"
    name = "LigerFusedLinearCrossEntropyLoss" if fused else "LigerCrossEntropyLoss"
    reduction = str(parameters["reduction"])
    return {
        "training.loss_reduction": reduction,
        "code.symbols": (f"liger_kernel.transformers.{name}(reduction={reduction!r})",),
    }


def _optimizer_step(parameters: _Parameters) -> Settings:
    if parameters["optimizer"] != "stable_adamw":
        raise Unmapped("no record is about what the recipe looks at")
    one_by_one = "foreach=False" if parameters["implementation"] == "for_loop" else ""
    return {"code.symbols": (f"pytorch_optimizer.StableAdamW({one_by_one})",)}


_OPTIMIZERS = {
    "a2grad": "A2Grad",
    "adabelief": "AdaBelief",
    "adamg": "AdamG",
    "adams": "AdamS",
    "adasmooth": "AdaSmooth",
    "diffgrad": "DiffGrad",
    "flash_adamw": "FlashAdamW",
    "grams": "Grams",
    "lars": "LARS",
    "msvag": "MSVAG",
    "novograd": "NovoGrad",
    "qhadam": "QHAdam",
    "schedule_free_adamw": "ScheduleFreeAdamW",
    "schedule_free_radam": "ScheduleFreeRAdam",
    "schedule_free_sgd": "ScheduleFreeSGD",
    "shampoo": "Shampoo",
    "sign_sgd": "SignSGD",
    "spam": "SPAM",
}


def _optimizer_definitions(parameters: _Parameters) -> Settings:
    if parameters["optimizer"] == "schedule_free_adamw" and not parameters["weight_decay"]:
        raise Unmapped("up to 3.4.1 it steps as schedulefree 1.2 does, later as 1.3 and the recipe")
    name = f"pytorch_optimizer.{_OPTIMIZERS[str(parameters['optimizer'])]}"
    decay = 0.5 if parameters["weight_decay"] else 0.0
    return {"code.symbols": (f"{name}(weight_decay={decay})",), "optimizer.weight_decay": decay}


def _clipping(parameters: _Parameters) -> Settings:
    names = {"rloo": "trl.RLOOTrainer", "ppo": "trl.PPOTrainer"}
    name = names.get(str(parameters["through"]))
    if name is None:
        raise Unmapped("no record is about what the recipe looks at")
    return {"training.framework": "trl", "training.max_grad_norm": 1.0, "code.symbols": (name,)}


def _part_imports(parameters: _Parameters) -> Settings:
    module = str(parameters["module"])
    if module.startswith("fla."):
        return {"code.symbols": (module,)}
    return {"training.use_liger_kernel": True} if module.startswith("liger") else {}


def _half_attention(parameters: _Parameters) -> Settings:
    return {
        "model.attn_implementation": "sdpa",
        "precision.mode": _PRECISION[str(parameters["dtype"])],
        "host.cudnn_attention": parameters["backend"] == "default",
    }


def _delta_rules(parameters: _Parameters) -> Settings:
    return {"code.symbols": (f"fla.ops.{parameters['rule']}.chunk_{parameters['rule']}",)}


def _linear_attention_losses(parameters: _Parameters) -> Settings:
    if parameters["loss"] == "grpo":
        return {"code.symbols": ("fla.modules.grpo.grpo_loss_with_old_logps",)}
    return {"code.symbols": ("fla.modules.l2warp.l2_warp",), "training.gradient_accumulation_steps": 4}


_FLOAT8 = "torchao.float8.Float8LinearConfig"


def _low_bit(parameters: _Parameters) -> Settings:
    if parameters["what"] == "frozen":
        return {
            "distributed.strategy": "fsdp",
            "code.symbols": (f"{_FLOAT8}(enable_fsdp_float8_all_gather=True)", "torch.nn.Parameter.frozen"),
        }
    if parameters["what"] == "rates":
        return {"optimizer.groups": "own_rates", "code.symbols": ("torchao.optim.AdamW8bit",)}
    bits = "8bit" if parameters["optimizer"] == "adamw8bit" else "4bit"
    return {"optimizer.name": f"adamw_torch_{bits}", "code.symbols": ("torch.set_default_dtype('bfloat16')",)}


def _compiled(parameters: _Parameters) -> Settings:
    if parameters["through"] != "accelerate":
        raise Unmapped("no record is about what the recipe looks at")
    return {
        "training.framework": "accelerate",
        "precision.mode": "bf16",
        "training.torch_compile": True,
        "training.regional_compilation": True,
    }


def _mixed_precision(_: _Parameters) -> Settings:
    """A run without it, behind one that has it."""
    return {
        **_TRAINER,
        "precision.mode": "no",
        "precision.earlier_run": True,
        "code.symbols": ("transformers.TrainingArguments",),
    }


def _nothing(_: _Parameters) -> Settings:
    """The versions alone decide."""
    return {}


def _trainer(_: _Parameters) -> Settings:
    """A Trainer that is left to its defaults."""
    return _TRAINER


def _model(parameters: _Parameters) -> Settings:
    name = str(parameters["model"])
    return _TOYS.get(name) or {"model.architecture": (CLASSES[name],)}


_RUNS: Mapping[str, Callable[[_Parameters], Settings]] = {
    "accumulation_equivalence": _accumulation,
    "deepspeed_accumulation": _deepspeed_accumulation,
    "accumulation_beyond_trainer": _accelerate_accumulation,
    "gradient_flow": _gradient_flow,
    "low_precision_flow": _low_precision_flow,
    "checkpointed_model": _checkpointed,
    "attention_masks": _attention,
    "router_loss": _router_loss,
    "expert_adapters": _expert_adapters,
    "preference_accumulation": _preferences,
    "lightning_trainer": _lightning,
    "lightning_callbacks": _lightning_callbacks,
    "loss_definitions": _loss_definitions,
    "metric_values": _metric_values,
    "metric_options": lambda parameters: {"code.symbols": _OPTIONS[str(parameters["metric"])]},
    "metric_states": lambda parameters: {"code.symbols": _STATES[str(parameters["metric"])]},
    "hard_negatives": lambda _: {"code.symbols": ("pytorch_metric_learning.miners.BatchHardMiner",)},
    "focal_weights": lambda _: {"code.symbols": ("kornia.losses.focal_loss(logits, targets, alpha=0.25)",)},
    "guided_margin": lambda _: {
        "code.symbols": (
            "sentence_transformers.losses.GISTEmbedLoss(model, guide, margin_strategy='relative', margin=0.05)",
        )
    },
    "answer_labels": lambda _: {
        "training.framework": "torch",
        "model.architecture": ("BlipForQuestionAnswering",),
        "code.symbols": ("transformers.BlipForQuestionAnswering.__call__",),
    },
    "worker_draws": lambda _: {
        "training.framework": "accelerate",
        "distributed.processes": 2,
        "data.shuffle": True,
        "code.symbols": (
            "torch.utils.data.DataLoader(data, shuffle=True, num_workers=2)",
            "torchvision.transforms.RandomCrop",
        ),
    },
    "keras_averages": lambda _: {
        "environment.keras_on_tensorflow": False,
        "code.symbols": ("keras.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.01)",),
    },
    "engine_resume": lambda parameters: {
        **_ONE_PROCESS,
        "precision.mode": "bf16",
        "deepspeed.zero_stage": int(str(parameters["stage"])),
        "code.symbols": ("deepspeed.initialize.load_checkpoint('out')",),
    },
    "warmed_decay": lambda _: {
        "code.symbols": ("pytorch_optimizer.Ranger21(p, num_iterations=1000, weight_decay=0.1)",)
    },
    "label_ends": lambda _: {
        "training.framework": "torch",
        "model.architecture": ("Pix2StructForConditionalGeneration",),
        "code.symbols": ("transformers.Pix2StructProcessor.__call__(text=texts)",),
    },
    "distilled_padding": lambda _: {"code.symbols": ("trl.experimental.minillm.MiniLLMTrainer",)},
    "running_metrics": lambda parameters: {
        "code.symbols": (
            f"torchmetrics.{str(parameters['metric']).capitalize()}(num_classes=3, average='none')",
            f"torchmetrics.{str(parameters['metric']).capitalize()}.compute",
        )
    },
    "graph_layers": lambda parameters: {"code.symbols": _GRAPHS[str(parameters["what"])]},
    "integer_images": lambda _: {
        "code.symbols": (
            "monai.transforms.NormalizeIntensityd(keys='image', channel_wise=True)",
            "monai.transforms.LoadImaged(keys='image', dtype='int16')",
        )
    },
    "no_duplicates": lambda _: {
        "training.framework": "sentence-transformers",
        "training.num_train_epochs": 2,
        "code.symbols": ("sentence_transformers.training_args.BatchSamplers.NO_DUPLICATES",),
    },
    "adapter_arithmetic": lambda parameters: _ADDED_UP[str(parameters["what"])],
    "dataset_streams": _dataset_streams,
    "stateful_loader": _stateful_loader,
    "optimizer_closure": _closure,
    "streams": _streams,
    "stream_parts": _stream_parts,
    "deepspeed_step": _deepspeed_step,
    "data_parallel_equivalence": _data_parallel,
    "infinite_gradient": _infinite_gradient,
    "model_kernels": _model_kernels,
    "resume": _resume,
    "loss_masking": _loss_masking,
    "prepared_loader": _prepared_loader,
    "label_shift": lambda parameters: {"model.architecture": (CLASSES[str(parameters["model"])],)},
    "switch_router": lambda _: {"model.architecture": ("SwitchTransformersForConditionalGeneration",)},
    "trainer_starts": _trainer,
    "imports": _nothing,
    "loading_without": lambda _: {"code.symbols": ("transformers.LlamaForCausalLM.from_pretrained",)},
    "part_imports": _part_imports,
    "adapters": _adapters,
    "no_op_training": lambda _: {
        "peft.method": "lora",
        "code.symbols": ("peft.PeftModel.load_adapter(path, adapter_name='second')", "torch.optim.AdamW"),
    },
    "round_trip": _round_trip,
    "deepspeed_clipping": _deepspeed_clipping,
    "deepspeed_schedules": _schedules,
    "optax_updates": _optax,
    "keras_training": _keras,
    "keras_accumulation": _keras_accumulation,
    "liger_kernels": _liger,
    "distillation_loss": _distillation_loss,
    "optimizer_step": _optimizer_step,
    "optimizer_definitions": _optimizer_definitions,
    "adapter_alpha": lambda parameters: {
        "peft.method": str(parameters["method"]),
        "code.symbols": (_ALPHA_CONFIGS[str(parameters["method"])],),
    },
    "loraplus_rates": lambda _: {
        "peft.method": "lora",
        "code.symbols": (
            "peft.LoraConfig(target_modules=['embed_tokens', 'linear'])",
            "peft.optimizers.create_loraplus_optimizer(model, loraplus_lr_embedding=1e-6)",
        ),
    },
    "adapter_scaling": lambda parameters: {
        "peft.method": "lora",
        "code.symbols": _SCALED_ADAPTERS[str(parameters["what"])],
    },
    "older_adapters": lambda parameters: {
        **_model(parameters),
        "peft.method": "lora",
        "code.symbols": ("peft.PeftModel.from_pretrained",),
    },
    "loaded_adapters": lambda parameters: {
        "peft.method": "lora",
        "peft.modules_to_save": parameters["trained"] == "head",
        "code.symbols": ("transformers.AutoModelForCausalLM.from_pretrained.of_saved",),
    },
    "older_ties": lambda parameters: {
        "model.architecture": (_OLDER_TIES[str(parameters["model"])],),
        "model.tied_embeddings": True,
        "model.tied_in_text_config": True,
        "code.symbols": (f"transformers.{_OLDER_TIES[str(parameters['model'])]}.from_pretrained",),
    },
    "checkpointing_cache": lambda parameters: {
        **_ONE_PROCESS,
        "training.framework": "torch",
        "model.architecture": (f"{str(parameters['model']).capitalize()}ForCausalLM",),
        "model.use_cache": True,
        "training.gradient_checkpointing": True,
        "training.use_reentrant": bool(parameters["reentrant"]),
    },
    "evaluation_between_steps": lambda _: {
        "training.framework": "accelerate",
        "training.gradient_accumulation_steps": 4,
        "training.validation_inside_epoch": True,
        "code.symbols": ("accelerate.Accelerator.accumulate",),
    },
    "accelerator_state": lambda _: {
        "training.framework": "accelerate",
        "training.resume_from_checkpoint": True,
        "code.symbols": ("accelerate.Accelerator.load_state",),
    },
    "parsed_arguments": lambda _: {
        "training.text_lr_scheduler_kwargs": True,
        "code.symbols": ("transformers.HfArgumentParser",),
    },
    "merged_heads": lambda parameters: {
        "peft.method": "lora",
        "peft.modules_to_save": True,
        "model.tied_embeddings": bool(parameters["tied"]),
        "code.symbols": ("peft.PeftModel.merge_and_unload", "save_pretrained"),
    },
    "preference_router": lambda parameters: {
        "training.framework": "trl",
        "training.method": str(parameters["method"]),
        "model.architecture": ("MixtralForCausalLM",),
        "model.output_router_logits": True,
    },
    "grpo_temperature": lambda _: {
        "training.framework": "trl",
        "training.method": "grpo",
        "training.temperature": 3.0,
    },
    "grpo_reward_scale": lambda _: {
        "training.framework": "trl",
        "training.method": "grpo",
    },
    "sample_ends": lambda _: {
        "training.framework": "trl",
        "training.method": "sft",
        "data.ends_with_eos": False,
    },
    "gkd_divergence": lambda parameters: {
        "training.framework": "trl",
        "training.method": "gkd",
        "training.beta": float(str(parameters["beta"])),
    },
    "embedding_accumulation": lambda _: {
        "training.framework": "sentence-transformers",
        "training.gradient_accumulation_steps": 4,
    },
    "half_attention": _half_attention,
    "delta_rules": _delta_rules,
    "linear_attention_losses": _linear_attention_losses,
    "replayed_dropout": lambda _: {
        "host.device": "cpu",
        "code.symbols": ("sentence_transformers.cross_encoder.losses.CachedMultipleNegativesRankingLoss",),
    },
    "embedding_losses": lambda parameters: {
        "training.per_device_train_batch_size": 6,
        "code.symbols": (_EMBEDDING_LOSSES[str(parameters["loss"])],),
    },
    "rotary_precision": lambda parameters: {
        **_model(parameters),
        "precision.mode": "bf16" if parameters["how"] == "autocast" else "no",
        "data.sequence_length": 1000,
    },
    "padding_in_bf16": lambda parameters: {
        **_model(parameters),
        "precision.mode": "bf16" if parameters["how"] == "autocast" else "no",
        "model.attn_implementation": str(parameters["attention"]),
        "model.torch_dtype": "float32",
        "data.padding_side": "left",
        "quantization.method": "none",
        "distributed.strategy": "none",
        "training.packing": False,
        "training.per_device_train_batch_size": 2,
    },
    "router_padding": lambda parameters: {
        **_model(parameters),
        "model.output_router_logits": True,
        "training.per_device_train_batch_size": 2,
    },
    "stream_epochs": lambda _: {
        **_ONE_PROCESS,
        **_TRAINER,
        "data.streaming": True,
        "data.shuffle": True,
        "training.num_train_epochs": 3.0,
        "code.symbols": ("datasets.IterableDataset.shuffle(seed=1)",),
    },
    "evaluation_loss": lambda _: {
        **_ONE_PROCESS,
        **_TRAINER,
        "model.architecture": ("LlamaForCausalLM",),
        "training.evaluates": True,
        "training.per_device_eval_batch_size": 4,
        "data.unequal_labels": True,
    },
    "prepared_schedule": lambda parameters: {
        "training.framework": "accelerate",
        "distributed.strategy": "ddp",
        "distributed.processes": int(str(parameters["processes"])),
        "code.symbols": ("accelerate.Accelerator.prepare", "torch.optim.lr_scheduler.LambdaLR"),
    },
    "clipping": _clipping,
    "low_bit_training": _low_bit,
    "compiled": _compiled,
    # The recipe puts in the NaN that a run in half precision comes to.
    "nan_in_the_log": lambda parameters: {
        **_TRAINER,
        "precision.mode": "fp16",
        "training.logging_nan_inf_filter": parameters["filter"] == "default",
    },
    "mixed_precision": _mixed_precision,
}

# What a recipe leaves to the release, which is the value `default` here → what that is.
_LEFT_TO_THE_RELEASE: Mapping[str, Callable[[Settings, str | None], SettingValue]] = {
    "model.attn_implementation": _default_attention,
    "training.use_reentrant": _default_checkpointing,
}
