"""What symbols are called that scanners make up: orders of calls, and what a program does by hand, have no name.

``scanners/code/object_history.py`` and what is in ``scanners/code/detectors`` put such a word behind the name of a
function. A new one that a record asks for gets its words here, or the sentence shows it as it is.
"""

from __future__ import annotations

_IN_WORDS = {
    "TrainingArguments.after_half": "a second Trainer behind one in half precision",
    "Parameter.frozen": "parameters that are not trained (requires_grad = False)",
    "after_state": "a warm-up made after load_state_dict",
    "after_restarts": "a warm-up made behind CosineAnnealingWarmRestarts",
    "get_peft_model.on_part": "an adapter on a part of the model",
    "evaluate.own": "an evaluate of one's own",
    "evaluation_loop.own": "an evaluation_loop of one's own",
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
    "Sampler.set_epoch": "a sampler with set_epoch",
    "Transformer.padded": "texts that are padded (unpad_inputs = False)",
    "no_optimizer": "dcp.load for the model alone",
    "late_optimizer": "an optimizer that is made behind prepare()",
    "late_adapter": "an adapter that is attached behind the engine",
    "from_pretrained.of_other": "the tokenizer of another model",
    "from_pretrained.of_saved": "from_pretrained of what was saved before",
    "step.at_exchange": "a schedule that steps where gradients are exchanged",
    "combine.arguments": "arguments for combined metrics",
    "prediction_step.own": "a prediction_step of one's own",
    "_load_optimizer_and_scheduler.own": "a Trainer that loads optimizer and schedule itself",
    "step.clips": "an optimizer whose step clips",
    "get_batch_logps.own": "log-probabilities of one's own",
    "with_num_items_in_batch": "a training_step that takes num_items_in_batch",
    "load.replaced": "a load function of its own",
    "sctypes.replaced": "np.sctypes of its own",
    "replaced": "a function of its own in the place of torchaudio's",
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
}


def in_words(symbol: str) -> str:
    """What a symbol that was made up is called, by its end; empty for one that is a name.

    >>> in_words("tree_map.replaced")
    'a function of its own in the place of jax.tree_map'
    """
    return _IN_WORDS.get(symbol, "")
