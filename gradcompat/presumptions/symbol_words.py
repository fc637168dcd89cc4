"""What symbols are called that scanners make up: ways of calling a function, and orders of calls, have no name.

``scanners/call_manners.py``, ``object_history.py``, ``stream_order.py`` and their like put such a word behind the name
of a function. A new one that a record asks for gets its words here, or the sentence shows it as it is.
"""

from __future__ import annotations

_IN_WORDS = {
    "TrainingArguments.after_half": "a second Trainer behind one in half precision",
    "after_state": "a warm-up made after load_state_dict",
    "again": "a new CosineAnnealingLR for each stage",
    "layer_decay.alone": "layer_decay of timm",
    "apply.alone": "LossScaleOptimizer.apply without variables",
    "ignored_class": "an ignored class in a macro average",
    "shorter_than_a_step": "epochs shorter than an accumulated step",
    "ungraded_first": "no_grad inside autocast",
    "Conv2d.biased": "convolutions with a bias",
    "SGD.plain": "SGD without momentum",
    "shuffle.of_mix": "a shuffle of the mixed stream",
    "SFTConfig.uncut": "max_length=None",
    "batch.token_type_ids": "token_type_ids in its batches",
    "group.capturable": "capturable groups of parameters",
    "Trainer.validates_between_steps": "a val_check_interval of whole steps",
    "ModelCheckpoint.ranked_by_steps": "ModelCheckpoint that ranks the checkpoints of steps",
    "ModelCheckpoint.at_epoch_end": "ModelCheckpoint with save_on_train_epoch_end",
    "LightningModule.no_hyperparameters": "modules without save_hyperparameters",
    "MirroredStrategy.one_device": "MirroredStrategy with one device",
    "DataLoader.generator": "a DataLoader with a generator",
    "no_optimizer": "dcp.load for the model alone",
    "late_adapter": "an adapter that is attached behind the engine",
    "from_pretrained.of_other": "the tokenizer of another model",
    "from_pretrained.of_saved": "from_pretrained of what was saved before",
    "step.at_exchange": "a schedule that steps where gradients are exchanged",
    "combine.arguments": "arguments for combined metrics",
    "prediction_step.own": "a prediction_step of one's own",
    "_load_optimizer_and_scheduler.own": "a Trainer that loads optimizer and schedule itself",
    "step.clips": "an optimizer whose step clips",
    "apply_liger_kernel_to_qwen3.without_norms": "rms_norm=False",
    "get_batch_logps.own": "log-probabilities of one's own",
    "ShortConvolution.triton": "short convolutions of flash-linear-attention",
    "with_num_items_in_batch": "a training_step that takes num_items_in_batch",
    "Config.bf16": "bf16 in the trainer's configuration",
    "replaced": "a function of its own in the place of torchaudio's",
    "tree_map.replaced": "a function of its own in the place of jax.tree_map",
    "load.with_fallback": "another reader where torchaudio's fails",
    "save.with_fallback": "another writer where torchaudio's fails",
    "add_argparse_args.with_fallback": "add_argparse_args where it is there",
    "from_argparse_args.with_fallback": "from_argparse_args where it is there",
    "parse_argparser.with_fallback": "parse_argparser where it is there",
    "schedulefree.one_by_one": "foreach=False",
}


def in_words(symbol: str) -> str:
    """What a symbol that was made up is called, by its end; empty for one that is a name.

    >>> in_words("SGD.plain")
    'SGD without momentum'
    """
    return _IN_WORDS.get(symbol, "")
