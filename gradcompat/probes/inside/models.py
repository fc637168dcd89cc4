"""Tiny models with random weights, made from their configs: nothing is fetched, and a step takes milliseconds."""

from .skipping import Skip

VOCABULARY = 64
IMAGE_TOKEN = 63
VIDEO_TOKEN = 62
LENGTH = 16
_TEXT = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 128,
    "use_cache": False,
}
_VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 16,
    "patch_size": 8,
}
_IMAGE_TOKENS = 4  # 16 x 16 pixels in patches of 8 x 8
_MEL_BINS = 8
_FRAMES = 32


def build(kind, seed):
    """The model of that kind, with weights that depend on the seed alone."""
    import torch

    torch.manual_seed(seed)
    maker = _MAKERS.get(kind)
    if maker is None:
        raise Skip("there is no model called `%s`" % kind)
    try:
        return maker()
    except ModuleNotFoundError:
        raise  # a package is not there at all
    except (ImportError, AttributeError) as error:
        # The message of an ImportError ends in the path of the package, which is nobody's business.
        raise Skip("this release has no %s: %s" % (kind, str(error).split(" (")[0])) from error


def samples(kind, labels, count, seed):
    """Training samples that fit the model: ``equal`` labels are the same number in each, ``unequal`` ones are not."""
    import torch

    if kind not in VISION:
        return _samples(kind, labels, count, seed, 0)
    model = build(kind, seed)
    try:
        with torch.no_grad():
            whole = _samples(kind, labels, 1, seed, _IMAGE_TOKENS)[0]
            model(**{name: tensor[None] for name, tensor in whole.items()})
    except (ValueError, RuntimeError):
        # Before 4.47 one token stands for a whole image, and the model puts the patches there.
        return _samples(kind, labels, count, seed, 1)
    return _samples(kind, labels, count, seed, _IMAGE_TOKENS)


def _samples(kind, labels, count, seed, image_tokens):
    import torch

    generator = torch.Generator().manual_seed(seed + 1)
    hidden = (0, 12, 6, 14)  # how many labels of a sample do not count
    made = []
    for index in range(count):
        ids = torch.randint(3, 60, (LENGTH,), generator=generator)
        if kind in CLASSIFIERS:
            label = index % 2 if kind != "llama_token_classification" else ids % 2
            made.append({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.as_tensor(label)})
            continue
        target = ids.clone()
        target[: hidden[index % 4] if labels == "unequal" else 6] = -100
        if kind == "whisper":
            made.append({"input_features": torch.randn(_MEL_BINS, _FRAMES, generator=generator), "labels": target})
            continue
        sample = {"input_ids": ids, "labels": target}
        if kind not in _TOYS:
            sample["attention_mask"] = torch.ones_like(ids)
        if kind in VISION:
            ids[1 : 1 + image_tokens] = IMAGE_TOKEN
            target[1 : 1 + image_tokens] = -100
            sample["pixel_values"] = torch.randn(3, 16, 16, generator=generator)
        made.append(sample)
    return made


def _toy(takes_kwargs, accepts=None):
    import torch

    class Toy(torch.nn.Module):
        """A mean loss, computed by the model itself."""

        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(VOCABULARY, 32)
            self.head = torch.nn.Linear(32, VOCABULARY)

        def outputs(self, input_ids, labels):
            logits = self.head(self.embedding(input_ids))
            loss = torch.nn.functional.cross_entropy(
                logits[:, :-1].reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), ignore_index=-100
            )
            return {"loss": loss, "logits": logits}

    class WithKwargs(Toy):
        def forward(self, input_ids, labels=None, **kwargs):
            return self.outputs(input_ids, labels)

    class Plain(Toy):
        def forward(self, input_ids, labels=None):
            return self.outputs(input_ids, labels)

    model = WithKwargs() if takes_kwargs else Plain()
    if accepts is not None:
        model.accepts_loss_kwargs = accepts
    return model


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**_TEXT))


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=128, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, use_cache=False,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def _t5():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    return T5ForConditionalGeneration(config)


def _mt5():
    from transformers import MT5Config, MT5ForConditionalGeneration

    config = MT5Config(
        vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0, pad_token_id=0, use_cache=False,
    )  # fmt: skip
    return MT5ForConditionalGeneration(config)


def _bart():
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(
        vocab_size=VOCABULARY, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=128, dropout=0.0,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2, use_cache=False,
    )  # fmt: skip
    return BartForConditionalGeneration(config)


def _whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=_MEL_BINS, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, dropout=0.0,
        max_source_positions=_FRAMES // 2, max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        decoder_start_token_id=2, suppress_tokens=None, begin_suppress_tokens=None, use_cache=False,
    )  # fmt: skip
    return WhisperForConditionalGeneration(config)


def _bert_sequence_classification():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=128, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=2,
    )  # fmt: skip
    return BertForSequenceClassification(config)


def _qwen2_sequence_classification():
    from transformers import Qwen2Config, Qwen2ForSequenceClassification

    return Qwen2ForSequenceClassification(Qwen2Config(**_TEXT, num_labels=2, pad_token_id=0))


def _sequence_classification():
    from transformers import LlamaConfig, LlamaForSequenceClassification

    return LlamaForSequenceClassification(LlamaConfig(**_TEXT, num_labels=2, pad_token_id=0))


def _token_classification():
    from transformers import LlamaConfig, LlamaForTokenClassification

    return LlamaForTokenClassification(LlamaConfig(**_TEXT, num_labels=2))


def _clip():
    from transformers import CLIPVisionConfig

    return CLIPVisionConfig(projection_dim=32, **_VISION)


def _llava():
    from transformers import LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    config = LlavaConfig(
        vision_config=_clip(), text_config=LlamaConfig(**_TEXT), image_token_index=IMAGE_TOKEN, vision_feature_layer=-1
    )
    return LlavaForConditionalGeneration(config)


def _vip_llava():
    from transformers import LlamaConfig, VipLlavaConfig, VipLlavaForConditionalGeneration

    config = VipLlavaConfig(
        vision_config=_clip(),
        text_config=LlamaConfig(**_TEXT),
        image_token_index=IMAGE_TOKEN,
        vision_feature_layers=[-1, -2],
    )
    return VipLlavaForConditionalGeneration(config)


def _peft_llama():
    from peft import LoraConfig, get_peft_model

    return get_peft_model(_llama(), LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


_TOYS = ("toy_kwargs", "toy_plain", "toy_refusing")
CLASSIFIERS = (
    "llama_sequence_classification",
    "llama_token_classification",
    "bert_sequence_classification",
    "qwen2_sequence_classification",
)
VISION = ("llava", "vip_llava")
_MAKERS = {
    "llama": _llama,
    "gpt2": _gpt2,
    "t5": _t5,
    "mt5": _mt5,
    "bart": _bart,
    "whisper": _whisper,
    "bert_sequence_classification": _bert_sequence_classification,
    "qwen2_sequence_classification": _qwen2_sequence_classification,
    "llama_sequence_classification": _sequence_classification,
    "llama_token_classification": _token_classification,
    "llava": _llava,
    "vip_llava": _vip_llava,
    "llama_lora": _peft_llama,
    "toy_kwargs": lambda: _toy(takes_kwargs=True),
    "toy_plain": lambda: _toy(takes_kwargs=False),
    "toy_refusing": lambda: _toy(takes_kwargs=True, accepts=False),
}
