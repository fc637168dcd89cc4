"""A tokenizer of forty words, a special token for each end, and the models that fit it; nothing is fetched."""

WORDS = 40
END = 2
PADDING = 3
FIRST = 4
SIZE = WORDS + FIRST


def tokenizer(padding="</s>"):
    """A tokenizer that splits at spaces: ``w0`` … ``w39``; ``padding``: ``</s>``, or ``<pad>`` for one of its own."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {"<unk>": 0, "<s>": 1, "</s>": END, "<pad>": PADDING}
    known.update(("w%d" % number, FIRST + number) for number in range(WORDS))
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": padding}
    made = Tokenizer(models.WordLevel(known, unk_token=special["unk_token"]))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


def model(seed, kind="Llama", **settings):
    """A causal language model of one layer; ``kind``: how its classes' names begin."""
    import torch
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, kind + "Config")(
        vocab_size=SIZE,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        **settings,
    )
    return getattr(transformers, kind + "ForCausalLM")(config)
