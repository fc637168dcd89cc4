"""What symbols are called that scanners make up: orders of calls, and what a program does by hand, have no name.

``scanners/code/object_history.py`` and what is in ``scanners/code/detectors`` put such a word behind the name of a
function. A new one that a record asks for gets its words here, or the sentence shows it as it is: by its last two
parts, or by the last one alone, where braces stand for the part before it.
"""

from __future__ import annotations

_IN_WORDS = {
    "after_half": "a second Trainer behind one in half precision",
    "Parameter.frozen": "parameters that are not trained (requires_grad = False)",
    "after_state": "a warm-up made after load_state_dict",
    "after_restarts": "a warm-up made behind CosineAnnealingWarmRestarts",
    "get_peft_model.on_part": "an adapter on a part of the model",
    "CrossEncoderTrainer.float_weights": "a trainer for a reranker in float32",
    "load_checkpoint.after_training": "a checkpoint that is loaded when the training is over",
    "Dense.after_training": "a Dense that the model gets when it is trained",
    "on_plain_convolutions": "adapters on plain convolutions alone",
    "again": "a new CosineAnnealingLR for each stage",
    "ungraded_first": "no_grad inside autocast",
    "shuffle.of_mix": "a shuffle of the mixed stream",
    "batch.token_type_ids": "token_type_ids in its batches",
    "group.capturable": "capturable groups of parameters",
    "LightningModule.no_hyperparameters": "modules without save_hyperparameters",
    "batch.labels": "labels in its data",
    "columns.text": "a column of text in its data",
    "columns.completion": "conversations in columns prompt and completion",
    "Optimizer.tensor_lr": "a tensor as the learning rate",
    "Sampler.set_epoch": "a sampler with set_epoch",
    "Transformer.padded": "texts that are padded (unpad_inputs = False)",
    "no_optimizer": "dcp.load for the model alone",
    "late_optimizer": "an optimizer that is made behind prepare()",
    "late_adapter": "an adapter that is attached behind the engine",
    "from_pretrained.of_other": "the tokenizer of another model",
    "from_pretrained.of_saved": "from_pretrained of what was saved before",
    "step.at_exchange": "a schedule that steps where gradients are exchanged",
    "combine.arguments": "arguments for combined metrics",
    "own": "a Trainer with its own {}",
    "lengthened": "a Trainer whose own {} takes the new argument",
    "without_num_items_in_batch": "a {} that takes no num_items_in_batch",
    "step.clips": "an optimizer whose step clips",
    "get_batch_logps.own": "log-probabilities of one's own",
    "with_num_items_in_batch": "a training_step that takes num_items_in_batch",
    "load.replaced": "a load function of its own",
    "torchaudio.replaced": "a function of its own in the place of torchaudio's",
    "replaced": "something of its own in the place of {}",
    "Compose.copied": "augmentations that data loader workers copy",
    "LightningModule.object_hyperparameters": "hyperparameters that are objects",
    "FLAX_WEIGHTS_NAME.replaced": "FLAX_WEIGHTS_NAME put into transformers.utils",
    "cached_download.replaced": "cached_download put into huggingface_hub",
    "functional_tensor.replaced": "functional_tensor put into sys.modules",
    "apply_chat_template.counted": "the number of tokens that apply_chat_template returns",
    "tree_map.replaced": "a function of its own in the place of jax.tree_map",
    "load.with_fallback": "another reader where torchaudio's fails",
    "save.with_fallback": "another writer where torchaudio's fails",
    "add_argparse_args.with_fallback": "add_argparse_args where it is there",
    "from_argparse_args.with_fallback": "from_argparse_args where it is there",
    "parse_argparser.with_fallback": "parse_argparser where it is there",
    "calls_own_hook": "a hook that the program calls itself",
    "map.of_shuffled": "map of a shuffled stream",
    "map.of_formatted": "map behind with_format",
    "filter.of_shuffled": "filter of a shuffled stream",
    "concatenate_datasets.of_shuffled": "a mixture of shuffled streams",
    "interleave_datasets.of_shuffled": "a mixture of shuffled streams",
    "interleave_datasets.of_tables": "a mixture of tables",
    "interleave_datasets.of_one_shard": "a mixture of streams of one shard each",
    "of_rows": "{} of a stream that is read row by row",
    "DataLoader.of_drawn_streams": "a data loader over streams that are drawn from by probabilities",
    "log.at_epoch_end": "a value that is logged at the end of an epoch",
    "log_dict.at_epoch_end": "values that are logged at the end of an epoch",
    "training_step.from_outside": "a training_step that a loop calls",
    "of_split": "{} behind split_dataset_by_node",
    "of_split_stream": "{} behind split_dataset_by_node of a stream",
    "split_dataset_by_node.of_mix": "split_dataset_by_node of a mixture",
    "override_config.in_front": "override_config in front of register_parameters",
    "ShortConvolution.joined": "outputs of short convolutions that are transposed or joined",
    "loader.shared_twice": "a data loader that is split before prepare() splits it",
    "computed_on_the_way": "{} computed between its updates",
    "computed_twice": "{} computed twice",
    "LightningModule.no_grad": "a pass without gradients inside a training step",
    "LightningModule.no_validation": "modules without a validation",
    "LightningModule.torchs_scheduler": "a schedule of torch's in configure_optimizers",
    "PipelineModule.float_loss": "a loss in float32 at the end of its pipeline",
    "initialize.zero_grad": "zero_grad of the engine",
    "ungraded": "{} where gradients are off",
    "messages.image": "messages with pictures",
    "messages.video": "messages with videos",
    "messages.videos_alone": "messages with videos and without pictures",
    "batch.position_ids": "position_ids in its batches",
    "batch.completion_mask": "completion_mask in its batches",
    "group.lr": "learning rates that it sets by hand",
    "group.lr_scale": "lr_scale of its groups of parameters",
    "from_pretrained.wrapped": "an adapter that is loaded into a model which has one",
    "get_peft_model.float": "an adapted model that is made float32",
    "from_pretrained.float": "a loaded model that is made float32",
    "of_saved": "{} of what was saved before",
    "get_peft_model_state_dict.as_state_dict": "a state_dict of the adapter alone",
    "scheduler.of_all_processes": "a schedule whose steps are multiplied by the processes",
    "scheduler.of_whole_loader": "a schedule counted in a loader that is prepared later",
    "Parameter.thawed": "parameters that it trains again (requires_grad = True)",
    "loaded_adapter": "a {} that goes on with a loaded adapter",
    "frozen_adapter": "a {} whose adapter is loaded without is_trainable",
    "without_cluster_loss": "{} without its cluster loss",
    "without_losses": "{} without its losses",
    "get_last_lr.with_fallback": "get_last_lr where it is there",
}


def in_words(symbol: str) -> str:
    """What a symbol that was made up, or a pattern of it, is called; empty for one that is a name.

    >>> in_words("jax.tree_map.replaced")
    'a function of its own in the place of jax.tree_map'
    >>> in_words("transformers.Trainer.compute_loss.own")
    'a Trainer with its own compute_loss'
    """
    *_, owner, last = ("", "", *(part.replace("*", "") for part in symbol.split(".") if part.strip("*")))
    return (_IN_WORDS.get(f"{owner}.{last}") or _IN_WORDS.get(last, "")).format(owner)
