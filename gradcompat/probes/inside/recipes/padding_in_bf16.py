"""Does padding before a sample leave its outputs numbers where a model trains in bf16?

A padded row sees nothing at all. Where its mask is the least float32, which bf16 calls infinite, its softmax is not a
number, and neither is anything behind it. The control is the same in float32.
"""

import contextlib

from .. import text_models

_PADDING = 5


def measure(parameters, device, seed):
    """``model``; ``attention``: eager, sdpa; ``how``: autocast, or weights, which are in bf16.

    With ``plant`` the padding itself is not a number.
    """
    import torch

    how = parameters.get("how", "autocast")
    model = text_models.build(parameters.get("model", "llama"), seed, parameters.get("attention", "eager")).to(device)
    ids = torch.randint(3, 60, (2, 12), generator=torch.Generator().manual_seed(seed)).to(device)
    mask = torch.ones_like(ids)
    mask[0, :_PADDING] = 0
    positions = (mask.cumsum(1) - 1).clamp(min=0)

    def finite(bf16):
        casting = contextlib.nullcontext()
        if bf16 and how == "autocast":
            casting = torch.autocast(device.partition(":")[0], dtype=torch.bfloat16)
        with torch.no_grad(), casting:
            found = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits
        return float(torch.isfinite(found[:, _PADDING:]).double().mean())

    control = finite(False)
    if how == "weights":
        model = model.to(torch.bfloat16)
    if parameters.get("plant"):
        with torch.no_grad():
            model.get_input_embeddings().weight[ids[0, -1]] = float("nan")
    return {"finite_share": finite(True), "control_finite_share": control}
