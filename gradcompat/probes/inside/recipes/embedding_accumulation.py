"""Does the trainer of sentence-transformers accumulate? One SGD step over a large batch against micro-batches.

The control is the large batch, repeated.
"""

from .. import sentence_encoders, trl_trainers

_ROWS = 8


def measure(parameters, device, seed):
    """``plant``: the loss of a micro-batch counts twice."""
    from ..comparing import cosine, norm_ratio

    whole_loss, whole = _step(_ROWS, device, seed)
    again_loss, again = _step(_ROWS, device, seed)
    parts_loss, parts = _step(_ROWS // 4, device, seed, times=2 if parameters.get("plant", False) else 1)
    return {
        "loss_ratio": parts_loss / whole_loss,
        "update_ratio": norm_ratio(parts, whole),
        "update_cosine": cosine(parts, whole),
        "control_loss_ratio": again_loss / whole_loss,
        "control_update_ratio": norm_ratio(again, whole),
        "control_update_norm": float(whole.norm()),
    }


def _step(batch, device, seed, times=1):
    """The loss in the log, and what one step over eight pairs adds to the weights."""
    import datasets
    import sentence_transformers

    from ..comparing import flat

    datasets.disable_progress_bars()
    model = sentence_encoders.encoder(seed, device)
    before = flat(model.parameters())

    class Similarity(sentence_transformers.losses.CosineSimilarityLoss):
        """The mean over the pairs of a batch, as often as asked for."""

        def forward(self, *arguments, **keywords):
            return times * super().forward(*arguments, **keywords)

    arguments = trl_trainers.settings(
        sentence_transformers.SentenceTransformerTrainingArguments,
        device,
        per_device_train_batch_size=batch,
        gradient_accumulation_steps=_ROWS // batch,
        optim="sgd",
        learning_rate=0.1,
        max_grad_norm=0.0,
    )
    pairs = {
        "first": ["w%d w%d" % (number, number + 1) for number in range(_ROWS)],
        "second": ["w%d w%d" % (number + 9, number + 3) for number in range(_ROWS)],
        "score": [number / _ROWS for number in range(_ROWS)],
    }
    with trl_trainers.quiet():
        trainer = sentence_transformers.SentenceTransformerTrainer(
            model=model, args=arguments, train_dataset=datasets.Dataset.from_dict(pairs), loss=Similarity(model)
        )
        trainer.train()
    logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return logged[0], flat(model.parameters()) - before
