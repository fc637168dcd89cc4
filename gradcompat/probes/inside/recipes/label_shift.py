"""Does a model compare its logits with the labels of the next token, or with those of the token after it?

A decoder on its own gets its labels as its input, and the loss moves them by one. A decoder behind an encoder gets them
moved already, and the loss compares them as they are. The reference is the cross entropy of the model's own logits
with the labels in their right place. The control is that labels one place further give another loss.
"""

from ..skipping import Skip

_VOCABULARY = 64
_LENGTH = 12
_SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
_VISION = {**_SIZES, "num_hidden_layers": 1, "image_size": 16, "patch_size": 8}
_SHARPER = 20.0  # logits of a fresh model are nearly equal, and so are the losses of all labels


def measure(parameters, device, seed):
    """``model``: the class that computes the loss; with ``plant`` its labels are moved by one place."""
    import torch

    kind = parameters.get("model", "llama")
    torch.manual_seed(seed)
    try:
        model, given, behind_an_encoder = _MAKERS[kind](torch)
    except (ImportError, AttributeError) as error:
        # The message of an ImportError ends in the path of the package, which is nobody's business.
        raise Skip("this release has no %s: %s" % (kind, str(error).split(" (")[0])) from error
    model = model.to(device).eval()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(_SHARPER)
        labels = torch.randint(8, _VOCABULARY, (2, _LENGTH))
        asked = labels.roll(1, dims=1) if parameters.get("plant") else labels
        output = model(**{name: tensor.to(device) for name, tensor in given(labels).items()}, labels=asked.to(device))
    logits = output.logits[:, -_LENGTH:].double().cpu()
    place = 0 if behind_an_encoder else 1

    def entropy(moved):
        kept = logits[:, : _LENGTH - moved].reshape(-1, logits.shape[-1])
        return float(torch.nn.functional.cross_entropy(kept, labels[:, moved:].reshape(-1)))

    right, next_one = entropy(place), entropy(place + 1)
    return {"loss_ratio": float(output.loss) / right, "control_difference": abs(next_one / right - 1)}


def _tokens(torch):  # noqa: ARG001  # makers of inputs all take what they may need
    return lambda labels: {"input_ids": labels}


def _llama(torch):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=_VOCABULARY, num_hidden_layers=1, **_SIZES)
    return LlamaForCausalLM(config), _tokens(torch), False


def _jetmoe(torch):
    from transformers import JetMoeConfig, JetMoeForCausalLM

    config = JetMoeConfig(
        vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=1, num_key_value_heads=2, kv_channels=8,
        intermediate_size=64, num_local_experts=4, num_experts_per_tok=2, tie_word_embeddings=False, use_cache=False,
    )  # fmt: skip
    return JetMoeForCausalLM(config), _tokens(torch), False


def _moshi(torch):
    from transformers import MoshiConfig, MoshiForCausalLM

    config = MoshiConfig(
        vocab_size=_VOCABULARY, audio_vocab_size=_VOCABULARY, hidden_size=32, num_hidden_layers=1,
        num_attention_heads=4, ffn_dim=64, num_codebooks=2, use_cache=False,
    )  # fmt: skip
    return MoshiForCausalLM(config), _tokens(torch), False


def _git(torch):
    from transformers import GitConfig, GitForCausalLM

    config = GitConfig(
        vision_config={**_VISION, "num_channels": 3}, vocab_size=_VOCABULARY, num_hidden_layers=1, **_SIZES
    )
    return (
        GitForCausalLM(config),
        lambda labels: {"input_ids": labels, "pixel_values": torch.randn(len(labels), 3, 16, 16)},
        False,
    )


def _moonshine(torch):
    from transformers import MoonshineConfig, MoonshineForConditionalGeneration

    config = MoonshineConfig(
        vocab_size=_VOCABULARY, hidden_size=32, intermediate_size=64, encoder_num_hidden_layers=1,
        decoder_num_hidden_layers=1, encoder_num_attention_heads=4, decoder_num_attention_heads=4, use_cache=False,
        decoder_start_token_id=1, pad_token_id=2,
    )  # fmt: skip
    return (
        MoonshineForConditionalGeneration(config),
        lambda labels: {"input_values": torch.randn(len(labels), 4000)},
        True,
    )


def _moonshine_streaming(torch):
    from transformers import MoonshineStreamingConfig, MoonshineStreamingForConditionalGeneration

    encoder = {**_SIZES, "num_hidden_layers": 1, "num_key_value_heads": 4, "sliding_windows": ((16, 4),)}
    config = MoonshineStreamingConfig(
        encoder_config=encoder, vocab_size=_VOCABULARY, num_hidden_layers=1, num_key_value_heads=4, use_cache=False,
        decoder_start_token_id=1, pad_token_id=2, **_SIZES,
    )  # fmt: skip
    model = MoonshineStreamingForConditionalGeneration(config)
    return model, lambda labels: {"input_values": torch.randn(len(labels), 4000)}, True


def _vision_encoder_decoder(torch):
    from transformers import BertConfig, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    decoder = BertConfig(
        vocab_size=_VOCABULARY, num_hidden_layers=1, is_decoder=True, add_cross_attention=True,
        tie_word_embeddings=False, **_SIZES,
    )  # fmt: skip
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**_VISION), decoder)
    config.decoder_start_token_id, config.pad_token_id = 1, 2
    model = VisionEncoderDecoderModel(config=config)
    return model, lambda labels: {"pixel_values": torch.randn(len(labels), 3, 16, 16)}, True


_MAKERS = {
    "llama": _llama,
    "jetmoe": _jetmoe,
    "moshi": _moshi,
    "git": _git,
    "moonshine": _moonshine,
    "moonshine_streaming": _moonshine_streaming,
    "vision_encoder_decoder": _vision_encoder_decoder,
}
