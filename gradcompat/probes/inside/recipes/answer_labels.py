"""Does BlipForQuestionAnswering compare its logits with the token behind each one, and not with the one after that?

The reference is the loss of its own text decoder, which shifts labels, given the answer as its input. The control is
that labels one place further have another loss.
"""

from ..comparing import ratio
from ..skipping import Skip

_VOCABULARY = 64
_LENGTH = 8
_SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1}
_SHARPER = 20.0  # logits of a fresh model are nearly equal, and so are the losses of all labels


def measure(parameters, device, seed):
    """With ``plant`` the labels are moved by one place."""
    import torch

    try:
        from transformers import BlipConfig, BlipForQuestionAnswering
    except ImportError as error:
        raise Skip("this release has no BLIP") from error

    torch.manual_seed(seed)
    config = BlipConfig(
        text_config={
            **_SIZES, "vocab_size": _VOCABULARY, "encoder_hidden_size": 32, "projection_dim": 16, "bos_token_id": 4,
            "pad_token_id": 0, "eos_token_id": 5, "sep_token_id": 5,
        },
        vision_config={**_SIZES, "image_size": 16, "patch_size": 8, "projection_dim": 16},
        projection_dim=16,
    )  # fmt: skip
    model = BlipForQuestionAnswering(config).to(device).eval()
    question = torch.randint(8, _VOCABULARY, (2, _LENGTH))
    labels = torch.randint(8, _VOCABULARY, (2, _LENGTH))
    asked = labels.roll(1, dims=1) if parameters.get("plant") else labels
    given = {"input_ids": question, "pixel_values": torch.randn(2, 3, 16, 16)}
    given = {name: tensor.to(device) for name, tensor in given.items()}
    with torch.no_grad():
        model.text_decoder.get_output_embeddings().weight.mul_(_SHARPER)
        found = model(**given, labels=asked.to(device)).loss
        states = _encoded(model, given)

        def decoded(wanted):
            inside = model.text_decoder(
                input_ids=labels.to(device), encoder_hidden_states=states, labels=wanted.to(device), return_dict=True
            )
            return inside.loss.mean()

        right, next_one = decoded(labels), decoded(labels.roll(-1, dims=1))
    return {"loss_ratio": ratio(found.mean(), right), "control_difference": abs(ratio(next_one, right) - 1)}


def _encoded(model, given):
    """What the decoder looks at: the question beside the picture."""
    picture = model.vision_model(pixel_values=given["pixel_values"])[0]
    return model.text_encoder(
        input_ids=given["input_ids"], encoder_hidden_states=picture, return_dict=True
    ).last_hidden_state  # fmt: skip
