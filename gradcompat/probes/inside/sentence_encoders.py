"""A tiny encoder for sentence-transformers; nothing is fetched."""

import os
import tempfile

from . import toy_tokenizer


def encoder(seed, device):
    """A tiny encoder without dropout, which a loss may switch on by itself."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    folder = tempfile.mkdtemp(dir=".")
    config = BertConfig(
        vocab_size=toy_tokenizer.SIZE,
        max_position_embeddings=64,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(folder)
    toy_tokenizer.tokenizer("<pad>").save_pretrained(folder)
    transformer = models.Transformer(os.path.abspath(folder), max_seq_length=32)
    return SentenceTransformer(modules=[transformer, models.Pooling(16)], device=device)
