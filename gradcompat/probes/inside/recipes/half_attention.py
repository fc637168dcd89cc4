"""Is torch's attention in half precision what it replaces, with the kernel that the release chooses?

Sequences are as long as kernels have tiles, and a mask is a tensor, as padded batches bring it. With low scores every
logit lies far below zero, as those of some heads of trained models do; the softmax is even all the same. What is right
is computed in float64 from the same rounded numbers. The control is written out in float32 on the same device.
"""

import math

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_WIDTH = 64
_HEADS = 2
_LOW = -120.0  # e to that is nothing in float32


def measure(parameters, device, seed):
    """``dtype``: bfloat16, float16; ``tokens``; ``mask``: tensor, causal, none; ``scores``: low, usual; ``backend``.

    With ``plant`` the queries get no gradient.
    """
    import torch

    attend = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if attend is None:
        raise Skip("this release of torch has no scaled_dot_product_attention")
    dtype = getattr(torch, str(parameters.get("dtype", "bfloat16")))
    tokens = int(parameters.get("tokens", 192))
    given, weights = _inputs(dtype, tokens, parameters.get("scores", "low"), seed)
    mask = parameters.get("mask", "tensor")
    allowed = torch.ones(tokens, tokens, dtype=torch.bool)
    if mask != "none":
        allowed = allowed.tril()
    options = {"attn_mask": allowed[None, None].to(device)} if mask == "tensor" else {"is_causal": mask == "causal"}

    def kernel(query, key, value):
        return attend(query.detach() if parameters.get("plant") else query, key, value, **options)

    allow = getattr(torch.backends.cuda, "enable_cudnn_sdp", None)
    without = parameters.get("backend") == "without_cudnn"
    if without and allow is None:
        raise Skip("this release of torch has no attention of cuDNN")
    written = _written_out(allowed)
    exact, expected = _run(written, given, weights, torch.float64, "cpu")
    control, control_expected = _run(written, given, weights, torch.float32, device)
    if without:
        allow(False)
    try:
        found, gradients = _run(kernel, given, weights, dtype, device)
    finally:
        if without:
            allow(True)
    finite = float(flat(gradients).isfinite().double().mean())
    # What lowers all scores of a row by the same has no gradient but rounding.
    gradients, expected, control_expected = (
        flat([one[..., 1:] for one in several]) for several in (gradients, expected, control_expected)
    )
    return {
        "finite_share": finite,
        "output_error": distance(found, exact),
        "gradient_ratio": norm_ratio(gradients, expected),
        "gradient_cosine": cosine(gradients, expected),
        "control_output_error": distance(control, exact),
        "control_gradient_cosine": cosine(control_expected, expected),
    }


def _inputs(dtype, tokens, scores, seed):
    """Queries, keys and values, rounded to the type, and what outputs are weighted with."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    query, key, value, weights = (torch.randn(2, _HEADS, tokens, _WIDTH, generator=generator) for _ in range(4))
    query, key = query / 4, key / 4
    if scores == "low":
        query[..., 0], key[..., 0] = 1.0, _LOW * math.sqrt(_WIDTH)
    return [one.to(dtype) for one in (query, key, value)], weights


def _written_out(allowed):
    import torch

    def operation(query, key, value):
        scores = query @ key.transpose(-1, -2) / math.sqrt(_WIDTH)
        scores = scores.masked_fill(~allowed.to(query.device), torch.finfo(query.dtype).min)
        return scores.softmax(-1) @ value

    return operation


def _run(operation, given, weights, dtype, device):
    leaves = [one.to(device=device, dtype=dtype, copy=True).requires_grad_() for one in given]
    output = operation(*leaves)
    (output * weights.to(device=device, dtype=dtype)).sum().backward()
    gradients = [one.grad if one.grad is not None else one.detach() * 0 for one in leaves]
    return flat([output]), gradients
