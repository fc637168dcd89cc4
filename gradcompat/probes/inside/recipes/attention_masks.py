"""Does a token see what it must not: its future, padding, or the neighbour that it is packed with?

Tokens that must not be seen are replaced, or were never there, and the outputs of those that must not see them are
compared. The control is what has to be seen: another first token changes the last output.
"""

import inspect

from .. import decoders, trainers
from ..skipping import Skip

_LONG = 10
_SHORT = 6


def measure(parameters, device, seed):
    """``what``: causal, left_padding, right_padding, packing; ``model``; ``attention``; ``mask`` of packing;
    ``cache``: off, default, as a model of its own accord has it, or trainer, as a Trainer leaves it.

    With ``plant`` the embeddings of a row are mixed, so that every token sees every other.
    """
    import torch

    what = parameters.get("what", "causal")
    given = (parameters.get("attention", "default"), seed, parameters.get("cache", "off"))
    model = decoders.build(parameters.get("model", "llama"), *given).to(device)
    if parameters.get("cache") == "trainer":
        from transformers import Trainer

        Trainer(model=model, args=trainers.arguments(**trainers.on(device)))
    if parameters.get("plant"):
        model.get_input_embeddings().register_forward_hook(lambda _, __, output: output + output.mean(1, keepdim=True))
    generator = torch.Generator().manual_seed(seed + 1)
    ids = torch.randint(3, 60, (2, _LONG), generator=generator)

    def logits(rows, **given):
        with torch.no_grad():
            found = model(input_ids=rows.to(device), **{name: tensor.to(device) for name, tensor in given.items()})
        return found.logits.cpu().double()

    comparison = {"causal": _causal, "packing": _packing}.get(what, _padding)
    alone, beside = comparison(model, logits, ids, parameters)
    other = ids.clone()
    other[:, 0] = _another(ids[:, 0])
    sight = (logits(other) - logits(ids))[:, -1].abs().max()
    scale = float(alone.abs().max())
    return {
        "leak": float((beside - alone).abs().max()) / scale,
        "attention": str(getattr(model.config, "_attn_implementation", None)),
        "uses_cache": bool(getattr(model.config, "use_cache", False)),
        "control_sight": float(sight) / scale,
    }


def _another(token):
    return (token + 7) % 50 + 3


def _causal(_, logits, ids, __):
    other = ids.clone()
    other[:, -1] = _another(ids[:, -1])
    return logits(ids)[:, :-1], logits(other)[:, :-1]


def _padding(model, logits, ids, parameters):
    """One row is shorter than the other and padded; alone it is not."""
    import torch

    side = slice(_LONG - _SHORT, None) if parameters["what"] == "left_padding" else slice(0, _SHORT)
    padded = ids.clone()
    padded[1] = 0
    padded[1, side] = ids[1, :_SHORT]
    mask = torch.zeros_like(ids)
    mask[0] = 1
    mask[1, side] = 1
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    given = {"position_ids": positions} if _takes(model, "position_ids") else {}
    alone = logits(ids[1:, :_SHORT], attention_mask=mask[:1, :_SHORT])
    return alone[0], logits(padded, attention_mask=mask, **given)[1, side]


def _packing(model, logits, ids, parameters):
    """Two sequences in one row, told apart by positions that begin again, or by a mask in blocks.

    A mask of ones is what a tokenizer returns: nothing is padding. It says nothing of borders.
    """
    import torch

    if not _takes(model, "position_ids"):
        raise Skip("this model takes no position_ids")
    positions = torch.cat([torch.arange(_SHORT), torch.arange(_LONG)])[None]
    packed = torch.cat([ids[0, :_SHORT], ids[1]])[None]
    given = {"position_ids": positions}
    if parameters.get("mask", "positions") == "ones":
        given["attention_mask"] = torch.ones_like(packed)
    elif parameters.get("mask", "positions") == "blocks":
        segment = torch.tensor([0] * _SHORT + [1] * _LONG)
        seen = (segment[:, None] == segment[None]) & torch.ones(len(segment), len(segment)).tril().bool()
        mask = torch.zeros(1, 1, len(segment), len(segment))
        given["attention_mask"] = mask.masked_fill(~seen, torch.finfo(mask.dtype).min)
    try:
        beside = logits(packed, **given)
    except (ValueError, RuntimeError) as error:
        # Until 4.38 a mask had two dimensions, and in some models for much longer.
        if parameters.get("mask") != "blocks":
            raise
        raise Skip("this release takes no mask in blocks for this model") from error
    alone = logits(ids[1:], position_ids=positions[:, _SHORT:])
    return alone[0], beside[0, _SHORT:]


def _takes(model, name):
    return name in inspect.signature(model.forward).parameters
