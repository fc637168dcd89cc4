"""Are the kernels of flash-linear-attention for delta rules what they compute step by step, forward and backward?

The rule is written out in float64. Which variant of a kernel runs is decided by Triton's tuning on the GPU at hand, so
that two runs may differ. The control is the rule written out in float32 on the same device.
"""

import importlib

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_TOKENS = 128
_HEADS = 2
_WIDTH = 64
_PLACES = {
    "delta_rule": ("fla.ops.delta_rule", "chunk_delta_rule"),
    "gated_delta_rule": ("fla.ops.gated_delta_rule", "chunk_gated_delta_rule"),
}


def measure(parameters, device, seed):
    """``rule``: delta_rule, gated_delta_rule; with ``plant`` the keys get no gradient."""
    import torch

    gated = parameters.get("rule") == "gated_delta_rule"
    place, name = _PLACES["gated_delta_rule" if gated else "delta_rule"]
    try:
        chunked = getattr(importlib.import_module(place), name)
    except (ImportError, AttributeError) as error:
        raise Skip("there is no %s of flash-linear-attention" % name) from error
    generator = torch.Generator().manual_seed(seed)
    query, key, value, weights = (torch.randn(1, _TOKENS, _HEADS, _WIDTH, generator=generator) for _ in range(4))
    key = key / key.norm(dim=-1, keepdim=True)
    strength = torch.rand(1, _TOKENS, _HEADS, generator=generator)
    given = [one.bfloat16() for one in (query, key, value, strength)]
    if gated:
        given.append(torch.rand(1, _TOKENS, _HEADS, generator=generator).mul(0.9).add(0.05).log().div(8))

    def kernel(query, key, value, strength, *decay):
        key = key.detach() if parameters.get("plant") else key
        if decay:
            return chunked(query, key, value, g=decay[0], beta=strength)[0]
        return chunked(query, key, value, strength)[0]

    kept = [one.dtype for one in given]
    exact, expected = _run(_step_by_step, given, weights, [torch.float64] * len(given), "cpu")
    control, beside = _run(_step_by_step, given, weights, [torch.float32] * len(given), device)
    found, gradients = _run(kernel, given, weights, kept, device)
    names = ("query", "key", "value", "strength", "decay")
    values = {"output_error": distance(found, exact)}
    for name, one, right in zip(names, gradients, expected):
        values["%s_ratio" % name] = norm_ratio(one, right)
        values["%s_cosine" % name] = cosine(one, right)
    values["control_output_error"] = distance(control, exact)
    values["control_cosine"] = min(cosine(one, right) for one, right in zip(beside, expected))
    return values


def _step_by_step(query, key, value, strength, decay=None):
    """What a token stores replaces, by its strength, what its key has recalled until then."""
    import torch

    state = torch.zeros(1, _HEADS, _WIDTH, _WIDTH, dtype=query.dtype, device=query.device)
    outputs = []
    for step in range(_TOKENS):
        if decay is not None:
            state = state * decay[:, step].exp()[..., None, None]
        asked = key[:, step]
        recalled = (state * asked[..., None]).sum(-2)
        change = (value[:, step] - recalled) * strength[:, step][..., None]
        state = state + asked[..., None] * change[..., None, :]
        outputs.append((state * query[:, step][..., None]).sum(-2) / _WIDTH**0.5)
    return torch.stack(outputs, 1)


def _run(operation, given, weights, dtypes, device):
    import torch

    leaves = [one.to(device=device, dtype=dtype, copy=True).requires_grad_() for one, dtype in zip(given, dtypes)]
    output = operation(*leaves)
    (output * weights.to(device=device, dtype=output.dtype)).sum().backward()
    gradients = [one.grad if one.grad is not None else torch.zeros_like(one) for one in leaves]
    return flat([output]), [flat([one]) for one in gradients]
