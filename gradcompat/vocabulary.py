"""The settings that records and users may speak of: every key, its type and its meaning.

Keys are the tools' own words where they agree, below one prefix for each subject. ``--set KEY=VALUE`` takes these, and
``knowledge lint`` refuses a record that uses another.
"""

from __future__ import annotations

from typing import Literal

from gradcompat.errors import UsageError
from gradcompat.model.environment import SettingValue
from gradcompat.requirements.names import normalise
from gradcompat.startup.lazy_dataclasses import dataclass

# ``package.torch``: the version that is installed of a package of which files give only a range.
PACKAGE_PREFIX = "package."

KeyType = Literal["bool", "int", "float", "str", "list", "version"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its type, and what it says in half a sentence."""

    type: KeyType
    meaning: str


KEYS: dict[str, Key] = {
    "training.framework": Key(
        "str",
        "what drives the loop: transformers.Trainer, trl, lightning, accelerate, torchtune, mmengine, megatron, verl, "
        "openrlhf, sentence-transformers, gliner, ultralytics, mlx, stable-baselines3, keras, torch",
    ),
    "training.gradient_accumulation_steps": Key("int", "micro-batches in one optimizer step"),
    "training.per_device_train_batch_size": Key("int", "samples in one micro-batch on one device"),
    "training.auto_find_batch_size": Key("bool", "the Trainer halves the micro-batch until it fits into the memory"),
    "training.gradient_checkpointing": Key("bool", "activations are recomputed in the backward pass"),
    "training.use_reentrant": Key("bool", "checkpointing uses torch's reentrant implementation"),
    "training.enable_input_require_grads": Key("bool", "the model's input embeddings are made to require grad"),
    "training.frozen_embeddings": Key("bool", "the input embeddings are not trained while later layers are"),
    "training.checkpointing_before_peft": Key("bool", "checkpointing is enabled before get_peft_model is called"),
    "training.average_tokens_across_devices": Key("bool", "the token count of a step is summed over all processes"),
    "training.label_smoothing_factor": Key("float", "label smoothing of the loss"),
    "training.max_grad_norm": Key("float", "gradient clipping by global norm; 0 is off"),
    "training.max_steps": Key("int", "optimizer steps at which a Trainer ends, whatever the epochs are; -1 is off"),
    "training.num_train_epochs": Key("float", "passes over the data"),
    "training.resume_from_checkpoint": Key("bool", "the run goes on from a checkpoint"),
    "training.weight_average": Key("bool", "a moving average of the weights (EMA) is kept beside them"),
    "training.group_by_length": Key("bool", "the Trainer puts samples of about one length into a batch"),
    "training.ignore_data_skip": Key("bool", "a resumed run starts its data anew, and skips none"),
    "training.save_strategy": Key("str", "when checkpoints are written: steps, epoch, no"),
    "training.label_names": Key("bool", "the Trainer is told which of a batch's entries are labels"),
    "training.load_best_model_at_end": Key("bool", "the best checkpoint is loaded when the training is over"),
    "training.save_only_model": Key("bool", "checkpoints hold the model, and neither the optimizer nor random states"),
    "training.logging_nan_inf_filter": Key("bool", "losses that are NaN or infinite are left out of the log"),
    "training.seed": Key("int", "seed of the run"),
    "training.use_liger_loss": Key("bool", "TRL's trainers before 0.25 compute their loss with Liger"),
    "training.batch_idx": Key("bool", "Lightning's training_step takes the number of its batch"),
    "training.manual_optimization": Key("bool", "Lightning's automatic optimization is off"),
    "training.use_liger_kernel": Key("bool", "Liger kernels replace parts of the model"),
    "training.torch_compile": Key("bool", "the model goes through torch.compile"),
    "training.compile_backend": Key("str", "what torch.compile compiles with: inductor, eager, aot_eager, …"),
    "training.regional_compilation": Key("bool", "accelerate compiles the repeated blocks of the model one by one"),
    "training.text_lr_scheduler_kwargs": Key("bool", "lr_scheduler_kwargs is given on the command line, as a text"),
    "training.neftune_noise_alpha": Key("float", "noise on the embeddings"),
    "training.kd_ce_alpha": Key(
        "float", "Axolotl's weight of the cross entropy beside the divergence of a distillation"
    ),
    "training.packing_strategy": Key(
        "str",
        "how TRL packs: bfd (or ffd) keeps examples whole, wrapped cuts them; LLaMA-Factory: neat, knapsack; "
        "Axolotl: sequential, binned",
    ),
    "training.packing": Key("bool", "several examples share one sequence"),
    "training.padding_free": Key("bool", "batches are flattened into one sequence without padding"),
    "training.dataloader_num_workers": Key("int", "worker processes of the data loader"),
    "training.persistent_workers": Key("bool", "the data loader's workers live on from one epoch to the next"),
    "training.loss_type": Key("str", "which loss a trainer computes, in its own word"),
    "training.sft_weight": Key("float", "weight of a likelihood term that is added to a loss of preferences"),
    "training.steps_per_generation": Key("int", "micro-batches that GRPO trains on completions sampled together"),
    "training.truncation_mode": Key("str", "which end of a long sample a trainer of TRL keeps: keep_start, keep_end"),
    "training.mask_truncated_completions": Key("bool", "completions that were cut off do not count in GRPO's loss"),
    "training.assistant_only_loss": Key("bool", "only what the assistant says in a conversation counts in the loss"),
    "training.completion_only_loss": Key("bool", "only the completions of prompts count in the loss"),
    "training.custom_compute_loss": Key(
        "bool", "a Trainer's compute_loss is overridden, takes num_items_in_batch and leaves it out"
    ),
    "training.own_step": Key(
        "bool",
        "a Trainer's training_step is overridden and does not ask the Trainer's, or compute_loss divides by the steps",
    ),
    "training.lmbda": Key("float", "share of GKD's batches whose answers the student writes itself"),
    "training.temperature": Key("float", "temperature that GRPO and its likes sample completions at"),
    "training.use_vllm": Key("bool", "vLLM samples the completions of GRPO and its likes"),
    "training.vllm_mode": Key("str", "where that vLLM runs: server, colocate"),
    "training.async_rollout": Key(
        "bool", "engines of their own, beside the training processes, sample verl's completions"
    ),
    "training.separate_rollout": Key(
        "bool", "verl's engines that sample have GPUs of their own, and get the weights through a checkpoint engine"
    ),
    "training.free_cache_engine": Key("bool", "verl's engines give their memory back while the model trains"),
    "training.advantage_estimator": Key("str", "how advantages are estimated: gae, grpo, rloo, reinforce_plus_plus, …"),
    "training.fused_log_probs": Key("bool", "verl's fused kernels compute log-probabilities: use_fused_kernels"),
    "training.critic_accumulation_steps": Key("int", "micro-batches in one step of PPO's critic; 0 without one"),
    "training.dynamic_critic": Key("bool", "verl's critic gets micro-batches of about as many tokens, not samples"),
    "training.vllm_tensor_parallel": Key("int", "GPUs that share one vLLM of the training processes"),
    "training.vllm_sleep_level": Key("int", "how much vLLM gives up while the model trains: 0, 1, 2"),
    "training.vllm_enable_lora": Key("bool", "that vLLM holds the adapter apart from the weights that it is added to"),
    "training.vllm_enable_sleep_mode": Key("bool", "a colocated vLLM gives its memory back between generations"),
    "training.vllm_importance_sampling_correction": Key(
        "bool", "the loss is corrected for what differs between vLLM's log-probabilities and the trainer's"
    ),
    "training.per_device_eval_batch_size": Key("int", "samples in one batch of an evaluation on one device"),
    "training.resumed_adapter_alone": Key(
        "bool", "preference training goes on with an adapter of an earlier stage, and no reference model is named"
    ),
    "training.beta": Key("float", "TRL's beta: weight of the reference in DPO and its likes, of the mixture in GKD"),
    "training.loss_reduction": Key("str", "how a loss function reduces: mean, sum, none"),
    "training.evaluates": Key("bool", "the Trainer evaluates while it trains"),
    "training.validation_inside_epoch": Key("bool", "validation runs between the optimizer steps of an epoch"),
    "training.method": Key("str", "sft, dpo, orpo, kto, ppo, grpo, gkd, reward, pretrain, dreambooth"),
    "model.name": Key("str", "where the weights come from: a name on the hub, or a path"),
    "model.architecture": Key("list", "class of the model: LlavaForConditionalGeneration"),
    "model.family": Key("str", "model_type of the model's config: llava, qwen2, mixtral"),
    "model.attn_implementation": Key("str", "eager, sdpa, flash_attention_2, flex_attention"),
    "model.attention_chosen": Key("bool", "the run asks for its attention, and does not leave it to the model"),
    "model.use_cache": Key("bool", "the forward pass keeps keys and values"),
    "model.torch_dtype": Key("str", "dtype that the weights are loaded in; auto is that of the checkpoint"),
    "model.uses_num_items_in_batch": Key("bool", "forward divides the loss by the num_items_in_batch it is given"),
    "model.forward_takes_kwargs": Key("bool", "forward has **kwargs, and the class no accepts_loss_kwargs = False"),
    "model.of_library": Key("bool", "the class is one of transformers, and none of one's own"),
    "model.tied_embeddings": Key("bool", "input and output embeddings are one tensor"),
    "model.tied_in_text_config": Key("bool", "config.json ties the embeddings in text_config alone, not at its top"),
    "model.vocab_size": Key("int", "tokens of the vocabulary; a model that knows nothing has ln of it as its loss"),
    "model.returns_loss": Key("bool", "forward computes the loss and returns it beside other outputs"),
    "model.cross_attention_mask": Key("bool", "batches bring the mask of a vision model's cross-attention"),
    "model.multi_query": Key("bool", "all heads of attention share one head of keys and values"),
    "model.output_router_logits": Key("bool", "a mixture of experts adds its auxiliary loss"),
    "peft.method": Key("str", "none, lora, adalora, loha, lokr, prefix_tuning, prompt_tuning, ia3, …"),
    "peft.names_task": Key("bool", "the adapter's config names a task, whose class of PEFT takes labels by name"),
    "peft.all_linear": Key("bool", "target_modules of LoRA is one word, all-linear or a pattern, and no list"),
    "peft.dropout": Key("float", "dropout inside of the adapter: lora_dropout"),
    "peft.attention_only": Key(
        "bool", "every module that target_modules lists, or PEFT chooses, is one of the attention"
    ),
    "peft.layers_pattern": Key("bool", "layers_pattern names the list that the numbers of layers count in"),
    "peft.target_parameters": Key("bool", "LoRA is put on parameters instead of modules"),
    "peft.modules_to_save": Key("bool", "whole modules are trained beside the adapter"),
    "peft.overlapping_modules": Key(
        "bool", "of the modules that are trained whole one has a name that is part of another's"
    ),
    "peft.trainable_tokens": Key("bool", "single rows of the token embeddings are trained"),
    "peft.adapters": Key("int", "number of adapters on one model"),
    "peft.layers_to_transform": Key("bool", "only some layers get the adapter"),
    "peft.task_type": Key("str", "what the adapted model is for: CAUSAL_LM, SEQ_CLS, TOKEN_CLS, QUESTION_ANS, …"),
    "peft.optimizer": Key("str", "an optimizer of PEFT's own: lorafa, loraplus"),
    "peft.given_to_trainer": Key("bool", "the trainer gets the adapter's config, and puts the adapter on by itself"),
    "peft.prepare_model_for_kbit_training": Key("bool", "that function is called on the quantised model"),
    "quantization.method": Key("str", "bitsandbytes, gptq, awq, torchao, …"),
    "quantization.bits": Key("int", "bits of a weight"),
    "quantization.float_storage": Key(
        "bool", "bitsandbytes keeps its 4-bit weights in a floating-point type, and not as bytes"
    ),
    "quantization.double_quant": Key("bool", "the quantisation constants are quantised too"),
    "precision.mode": Key("str", "no, fp16, bf16, fp8"),
    "precision.chosen": Key("bool", "the run says in which precision it trains, and does not leave it to its trainer"),
    "precision.half_weights": Key("bool", "the weights themselves are fp16 or bf16, without a copy in float32"),
    "precision.earlier_run": Key("bool", "an earlier run of the same process has mixed precision"),
    "precision.fp8_recipe": Key("str", "how Transformer Engine scales fp8: delayed, tensorwise, blockwise, mxfp8"),
    "precision.tf32": Key("bool", "TF32 matrix products"),
    "optimizer.name": Key("str", "adamw_torch, adafactor, adamw_8bit, lion_8bit, sgd, …"),
    "optimizer.arguments": Key("bool", "the Trainer is given arguments of its optimizer: optim_args"),
    "optimizer.fused": Key("bool", "one kernel updates all parameters"),
    "optimizer.groups": Key(
        "str", "groups of parameters of the optimizer: one, several, own_rates if they differ in lr"
    ),
    "optimizer.library": Key("str", "where the optimizer comes from: torch, transformers, bitsandbytes, deepspeed"),
    "optimizer.scheduler": Key("str", "the learning rate's schedule: linear, cosine, …"),
    "optimizer.warmup_steps": Key("int", "steps over which the learning rate rises"),
    "optimizer.warmup_peak": Key("bool", "DeepSpeed's schedule is told up to which learning rate it warms up"),
    "optimizer.weight_decay": Key("float", "weight decay of the optimizer"),
    "distributed.strategy": Key("str", "none, ddp, dp, fsdp, deepspeed, tensor_parallel, context_parallel, pipeline"),
    "distributed.sequence_split": Key(
        "str", "how processes share the tokens of a sequence: context_parallel, ulysses (accelerate, verl), ms-swift"
    ),
    "distributed.processes": Key("int", "number of training processes"),
    "distributed.backend": Key("str", "nccl, gloo, mpi"),
    "distributed.find_unused_parameters": Key("bool", "DDP looks for parameters that a step leaves without a gradient"),
    "distributed.sync_each_batch": Key("bool", "gradients are exchanged after every micro-batch"),
    "fsdp.version": Key("int", "1 or 2"),
    "fsdp.sharding_strategy": Key("str", "FULL_SHARD, SHARD_GRAD_OP, HYBRID_SHARD, NO_SHARD"),
    "fsdp.auto_wrap": Key("bool", "submodules are wrapped by a policy"),
    "fsdp.wraps_by_size": Key("bool", "submodules are wrapped by the number of their parameters, not by their class"),
    "fsdp.layer_class": Key("bool", "the class of the layers that FSDP wraps is named"),
    "fsdp.state_dict_type": Key("str", "FULL_STATE_DICT, SHARDED_STATE_DICT, LOCAL_STATE_DICT"),
    "fsdp.cpu_ram_efficient_loading": Key(
        "bool", "only the first process reads the weights, and hands them to the others"
    ),
    "fsdp.activation_checkpointing": Key("bool", "FSDP's own switch has activations recomputed, not that of a Trainer"),
    "fsdp.use_orig_params": Key("bool", "parameters keep their shapes in FSDP 1"),
    "deepspeed.zero_stage": Key("int", "0 to 3"),
    "deepspeed.offload_optimizer": Key("str", "none, cpu, nvme"),
    "deepspeed.forces_cpu_optimizer": Key(
        "bool", "with an offloaded optimizer only DeepSpeed's own on the CPU is taken: zero_force_ds_cpu_optimizer"
    ),
    "deepspeed.offload_param": Key("str", "none, cpu, nvme"),
    "deepspeed.overlap_comm": Key("bool", "gradients are reduced during the backward pass"),
    "deepspeed.contiguous_gradients": Key("bool", "gradients are copied into one buffer"),
    "deepspeed.communication_data_type": Key("str", "fp32, fp16, bf16"),
    "deepspeed.leaf_modules": Key(
        "bool", "a module is gathered as a whole: deepspeed_moe_layer_cls_names of accelerate"
    ),
    "deepspeed.grad_accum_dtype": Key("str", "fp32, fp16, bf16"),
    "deepspeed.same_accumulation": Key("bool", "DeepSpeed's config and the program accumulate as many micro-batches"),
    "deepspeed.own_scheduler": Key("bool", "DeepSpeed's config has a scheduler, whose state DeepSpeed keeps"),
    "deepspeed.gradient_clipping": Key("float", "clipping by global norm in the engine; 0 is off"),
    "deepspeed.pipeline_stages": Key("int", "stages of a PipelineModule"),
    "deepspeed.moe": Key("bool", "the model has DeepSpeed MoE layers"),
    "deepspeed.reduce_scatter": Key("bool", "gradients are reduce-scattered instead of all-reduced"),
    "deepspeed.gather_16bit_weights": Key(
        "bool", "ZeRO-3 gathers whole weights to save a model: stage3_gather_16bit_weights_on_model_save"
    ),
    "deepspeed.immediate_grad_update": Key("bool", "bf16 gradients are accumulated as they come"),
    "data.streaming": Key("bool", "an iterable dataset is read"),
    "data.loading_script": Key("bool", "the data set is a loading script of datasets, and no files of Parquet or JSON"),
    "data.stream_filter": Key("bool", "a streamed dataset goes through filter"),
    "data.epoch_below_window": Key("bool", "an epoch has fewer micro-batches than a step accumulates"),
    "data.partial_last_step": Key("bool", "the last optimizer step of an epoch has fewer micro-batches"),
    "data.seedable_sampler": Key("bool", "accelerate draws the order of an epoch from its seed: use_seedable_sampler"),
    "data.shuffle": Key("bool", "the data are shuffled"),
    "data.own_sampler": Key("bool", "a sampler of the project's own orders the data of verl"),
    "data.own_dataset": Key("bool", "a dataset class of the project's own makes the samples of verl"),
    "data.unequal_labels": Key("bool", "micro-batches differ in the number of labels that count"),
    "data.pad_is_eos": Key("bool", "the padding token is the end-of-sequence token"),
    "data.collator": Key(
        "str", "class or function that makes batches for a trainer; own is that of the trainer itself"
    ),
    "data.padding_side": Key("str", "where shorter samples of a batch are filled up: left or right"),
    "data.ends_with_eos": Key("bool", "samples end with the end-of-sequence token before a trainer sees them"),
    "data.turn_end_named": Key("bool", "the token that ends a turn of a conversation is named: eot_tokens of axolotl"),
    "data.chat_template": Key("str", "name of the chat template of axolotl's own that conversations go through"),
    "data.eos_closes_answers_alone": Key(
        "bool", "axolotl trains chosen turns of a chat template with the end-of-sequence token behind answers alone"
    ),
    "data.sequence_length": Key("int", "tokens of a sequence"),
    "data.hard_negatives": Key("bool", "samples bring negatives of their own beside query and positive"),
    "data.videos": Key("bool", "messages bring videos beside their text"),
    "data.conversational": Key("bool", "samples are lists of messages, which a trainer puts through a chat template"),
    "data.truncated": Key("bool", "a trainer cuts off what is longer than its max_length"),
    "data.multi_turn": Key("bool", "examples or rollouts are conversations of several turns"),
    "files.dataset_of_4": Key("bool", "the data set that is read was saved with lists as datasets 4 writes them"),
    "files.tokenizer_of_5": Key("bool", "the tokenizer that is read was saved in the form of transformers 5"),
    "files.newer_release": Key("bool", "weights, tokenizer or data were written by a newer release than reads them"),
    "files.pickled_weights": Key("bool", "the weights that are loaded are pytorch_model.bin, without safetensors"),
    "code.symbols": Key("list", "functions and classes that the training code uses: transformers.Adafactor"),
    "code.calls": Key("list", "their calls, with the arguments that can be read: torch.load(_1, weights_only=True)"),
    "code.guarded": Key("list", "those of them that the code takes only where it catches that they are not there"),
    "code.imported": Key("list", "those of them that the code imports, and uses only where options ask for it"),
    "environment.use_tf": Key(
        "bool", "transformers may take TensorFlow: neither USE_TF nor USE_TORCH speaks against it"
    ),
    "environment.keras_on_tensorflow": Key("bool", "Keras may run on TensorFlow: KERAS_BACKEND names nothing else"),
    "environment.unsloth_return_logits": Key("bool", "UNSLOTH_RETURN_LOGITS is 1"),
    "environment.llamafactory_unchecked": Key("bool", "LLaMA-Factory compares no versions: DISABLE_VERSION_CHECK"),
    "environment.vllm_use_v1": Key("bool", "vLLM may take its V1 engine: VLLM_USE_V1 is not 0"),
    "environment.protobuf_in_python": Key("bool", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION is python"),
    "environment.wandb_disabled": Key("bool", "WANDB_DISABLED keeps the Trainer from wandb"),
    "environment.loads_whole_pickles": Key(
        "bool", "torch.load reads whatever a file holds: TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"
    ),
    "environment.timm_fused_attention": Key("bool", "timm may take fused attention: TIMM_FUSED_ATTN is not 0"),
    "environment.mix_order_reduction": Key("bool", "torch.compile may mix the orders of reductions, if it can"),
    "host.cuda": Key("version", "CUDA that torch was built for, else the newest that the driver runs"),
    "host.cuda_arch": Key("version", "compute capability of the GPU: 8.0, 9.0, 12.0"),
    "host.nvidia_driver": Key("version", "version of the NVIDIA driver"),
    "host.cudnn_attention": Key("bool", "scaled_dot_product_attention may take cuDNN"),
    "host.nccl": Key("version", "version of NCCL"),
    "host.cudnn": Key("version", "version of cuDNN"),
    "host.glibc": Key("version", "version of glibc"),
    "host.rocm": Key("version", "ROCm that torch was built for, else the one that is installed"),
    "host.device": Key("str", "what the training runs on: cuda, rocm, mps, xpu, cpu"),
    "host.short_wavefronts": Key("bool", "the AMD GPU has wavefronts of 32, as Radeon and Ryzen AI, and not of 64"),
    "host.python": Key("version", "version of the interpreter"),
    "host.platform": Key("str", "linux, darwin, win32"),
}

VIRTUAL_PACKAGES = {
    "host.cuda": "__cuda",
    "host.cuda_arch": "__cuda_arch",
    "host.nvidia_driver": "__nvidia_driver",
    "host.nccl": "__nccl",
    "host.cudnn": "__cudnn",
    "host.glibc": "__glibc",
    "host.rocm": "__rocm",
}

_HINT = "`gradcompat explain settings` lists them; the version of a package is `package.NAME=VERSION`"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def parse_setting(text: str) -> tuple[str, SettingValue]:
    """Read ``KEY=VALUE`` as the command line takes it.

    Raises:
        UsageError: if the key is not in the vocabulary or the value is not of its type.
    """
    key, equals, value = text.partition("=")
    key, value = key.strip(), value.strip()
    if not equals or not value:
        raise UsageError(f"`--set {text}` is not of the form KEY=VALUE")
    if (name := package_of(key)) is not None:
        return PACKAGE_PREFIX + name, parse_value(key, value)
    if key not in KEYS:
        import difflib  # only for a name that is wrong

        close = difflib.get_close_matches(key, KEYS, n=1)
        raise UsageError(
            f"`{key}` is not a known setting",
            hint=f"did you mean `{close[0]}`?" if close else _HINT,
        )
    return key, parse_value(key, value)


def package_of(key: str) -> str | None:
    """The normalised name of the package whose installed version the key is; None for another key."""
    name = key.removeprefix(PACKAGE_PREFIX)
    return normalise(name) if name and name != key else None


def setting_of(key: str, value: object) -> tuple[str, SettingValue]:
    """A setting from a value that a program or a TOML table has; a list or a tuple is one of several words.

    Raises:
        UsageError: if the key is not in the vocabulary or the value is not of its type.
    """
    if isinstance(value, list | tuple):
        text = ",".join(map(str, value))
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return parse_setting(f"{key}={text}")


def parse_value(key: str, value: str) -> SettingValue:
    """The value of a known key, from text.

    Raises:
        UsageError: if the text is not of the key's type.
    """
    wanted = "version" if package_of(key) is not None else KEYS[key].type
    try:
        match wanted:
            case "int":
                return int(value)
            case "float":
                return float(value)
            case "bool":
                if value.lower() in _TRUE:
                    return True
                if value.lower() in _FALSE:
                    return False
                raise ValueError(value)
            case "list" if key == "code.calls":
                return (value,)  # a comma belongs to the call
            case "list":
                words = tuple(part.strip() for part in value.split(",") if part.strip())
                if words == ("none",):
                    return ()
                if not words:
                    raise ValueError(value)
                return words
            case "version":
                if not value[0].isdigit():
                    raise ValueError(value)
                return value
            case "str":
                return value
    except ValueError:
        raise UsageError(f"`{value}` is not a value for `{key}`, which takes {_ARTICLE[wanted]}") from None


_ARTICLE: dict[KeyType, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "a word",
    "list": "words joined by commas, or none",
    "version": "a version",
}
