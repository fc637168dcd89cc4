"""Does a cached loss of rerankers predict with the same dropout when it predicts a second time, for the gradients?

The first pass has no gradients, the second has them, and what the last layer says in both must be the same, or the
gradients are those of another model. The control is the same without dropout. On the CPU every release is right.
"""

import os
import tempfile

from .. import toy_tokenizer
from ..comparing import distance, flat
from ..skipping import Skip

_ROWS = 4


def measure(parameters, device, seed):
    """With ``plant`` the second pass draws a number of its own before it starts."""
    try:
        from sentence_transformers.cross_encoder.losses import CachedMultipleNegativesRankingLoss as Loss
    except ImportError as error:
        raise Skip("this release has no cached loss of rerankers") from error
    plant = bool(parameters.get("plant"))
    return {
        "replay_error": _difference(Loss, 0.5, plant, device, seed),
        "control_replay_error": _difference(Loss, 0.0, plant, device, seed),
    }


def _difference(kind, dropout, plant, device, seed):
    """How far what the two passes say is apart."""
    import torch

    model, head = _reranker(dropout, device, seed)
    passes = {False: [], True: []}

    def keep(_, __, output):
        passes[torch.is_grad_enabled()].append(output.detach())

    def draw(*_):
        if plant and torch.is_grad_enabled():
            torch.rand(1, device=device)

    head.register_forward_hook(keep)
    first = next(module for module in model.modules() if isinstance(module, torch.nn.Embedding))
    first.register_forward_pre_hook(draw)
    queries, answers = ([" ".join(("w%d" % (row + column),) * 3) for row in range(_ROWS)] for column in (0, 9))
    torch.manual_seed(seed + 1)
    kind(model, num_negatives=1, mini_batch_size=3)([queries, answers], torch.ones(_ROWS, device=device)).backward()
    if not passes[True]:
        raise Skip("this release does not predict twice")
    return distance(flat(passes[True]), flat(passes[False]))


def _reranker(dropout, device, seed):
    """A tiny cross-encoder, and its last layer; nothing is fetched."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(seed)
    folder = tempfile.mkdtemp(dir=".")
    config = BertConfig(
        vocab_size=toy_tokenizer.SIZE,
        max_position_embeddings=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=1,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    toy_tokenizer.tokenizer("<pad>").save_pretrained(folder)
    made = CrossEncoder(os.path.abspath(folder), device=device)
    made.train()
    for module in made.modules():
        if isinstance(getattr(module, "classifier", None), torch.nn.Linear):
            return made, module.classifier
    raise Skip("this release wraps no model of transformers")
