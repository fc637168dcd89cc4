"""Are the positions of rotary embeddings exact where a model trains in bf16?

bf16 tells 256 positions apart, so that later ones fall together where their angles are computed in it. What bf16
changes at the end of a long sequence is compared with what other distances change there. The control is the same in
float32, and that distances matter.
"""

import contextlib

from .. import text_models

_LENGTH = 1000
_END = 24


def measure(parameters, device, seed):
    """``model``; ``how``: autocast, or weights, which are in bf16; with ``plant`` the positions are rounded to bf16."""
    import torch

    how = parameters.get("how", "autocast")
    model = text_models.build(parameters.get("model", "llama"), seed)
    with torch.no_grad():
        # Sharper attention, in which a distance makes a difference.
        for name, weight in model.named_parameters():
            if "q_proj" in name or "k_proj" in name or "qkv" in name or "query_key_value" in name:
                weight.mul_(12)
    model = model.to(device)
    ids = torch.randint(3, 60, (1, _LENGTH), generator=torch.Generator().manual_seed(seed)).to(device)
    right = torch.arange(_LENGTH).unsqueeze(0).to(device)
    nearer = right - (right >= _LENGTH // 2).long() * 7

    def outputs(positions, bf16):
        if parameters.get("plant") and bf16:
            positions = positions.to(torch.bfloat16).long().clamp(max=_LENGTH - 1)
        casting = contextlib.nullcontext()
        if bf16 and how == "autocast":
            casting = torch.autocast(device.partition(":")[0], dtype=torch.bfloat16)
        with torch.no_grad(), casting:
            return model(input_ids=ids, position_ids=positions).logits[:, -_END:].float()

    def apart(one, other):
        return float((one - other).norm() / one.norm())

    exact = outputs(right, False)
    distance = apart(exact, outputs(nearer, False))
    control = apart(exact, outputs(right, False))
    if how == "weights":
        model = model.to(torch.bfloat16)
    change = apart(exact, outputs(right, True))
    return {"bf16_share": change / distance, "control_share": control / distance, "control_distance": distance}
