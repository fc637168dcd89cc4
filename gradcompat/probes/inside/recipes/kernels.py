"""Are fast kernels what they replace, forward and backward, with gradients on and without?

Each is compared with the same operation written out in float64. A token that has nothing to attend to has nothing to
say either: what a kernel gives for it is not compared, but it must not spoil the gradients of the others. The control
is the written-out operation in the type of the kernel, on the same device.

The kernels of flash-attn and xformers need a GPU; on a CPU they are skipped. Those of Liger stand beside, in
``liger_kernels``.
"""

import contextlib
import math

from ..against_float64 import compared
from ..skipping import Skip

_TOKENS = 24
_WIDTH = 16
_HEADS = 4


def measure(parameters, device, seed):
    """``kernel``, ``mask``, ``heads``, ``layout``; ``plant`` breaks the kernel as its values say."""
    name = parameters.get("kernel", "sdpa")
    if name in _NORMALISED:
        return compared(*_normalisation(name, device, seed))
    return compared(*_attention(name, parameters, device, seed))


def _attention(name, parameters, device, seed):
    import torch

    mask = parameters.get("mask", "none")
    grouped = parameters.get("heads") == "grouped"
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(2, _HEADS, _TOKENS, _WIDTH, generator=generator)
    key, value = (
        torch.randn(2, _HEADS // 2 if grouped else _HEADS, _TOKENS, _WIDTH, generator=generator) for _ in range(2)
    )
    allowed = _allowed(mask)
    weights = torch.randn(query.shape, generator=generator)
    # One without anybody to attend to, as padding on the left is.
    weights = weights * allowed.any(-1, keepdim=True)
    half = name in ("flash_attn", "xformers") or (name == "sdpa_flash" and device != "cpu")
    dtype = torch.bfloat16 if half else torch.float32
    kernel = _OF_ATTENTION[name](name, mask, grouped, device, allowed.to(device))

    def laid(operation):
        if parameters.get("layout") != "transposed":
            return operation
        # Heads behind tokens in memory, as a projection leaves them.
        return lambda *all_three: operation(*(one.transpose(1, 2).contiguous().transpose(1, 2) for one in all_three))

    tensors = [(query, True), (key, True), (value, True)]
    return _planted(laid(kernel), parameters, allowed, device), _eager(allowed), tensors, weights, dtype, device


def _allowed(mask):
    """Which token may see which: samples x 1 x tokens x tokens."""
    import torch

    everything = torch.ones(2, 1, _TOKENS, _TOKENS, dtype=torch.bool)
    if mask == "none":
        return everything
    causal = everything.tril()
    if mask == "causal":
        return causal
    there = torch.ones(2, _TOKENS, dtype=torch.bool)
    if mask == "padding":
        there[1, _TOKENS - 7 :] = False
        return everything & there[:, None, None, :]
    there[1, :7] = False
    return causal & there[:, None, None, :]


def _eager(allowed):
    import torch

    def operation(query, key, value):
        if key.shape[1] != query.shape[1]:
            times = query.shape[1] // key.shape[1]
            key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        # The least number instead of an infinity: who may see nobody gets a mean, and no NaN.
        scores = scores.masked_fill(~allowed.to(query.device), torch.finfo(query.dtype).min)
        return scores.softmax(-1) @ value

    return operation


def _planted(kernel, parameters, allowed, device):
    import torch

    plant = parameters.get("plant", "nothing")
    if plant == "leak":
        # Every token sees the next one as well.
        return _eager(allowed.to(device) | allowed.to(device).roll(1, -1).triu())
    if plant == "detached":
        return lambda query, key, value: kernel(query, key.detach(), value)
    if plant == "eval":
        return lambda query, key, value: kernel(query, key, value) * (1.0 if torch.is_grad_enabled() else 0.5)
    return kernel


def _sdpa(name, mask, grouped, device, allowed):
    import torch

    attend = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if attend is None:
        raise Skip("this release of torch has no scaled_dot_product_attention")
    options = {"is_causal": True} if mask == "causal" else {} if mask == "none" else {"attn_mask": allowed}
    if grouped:
        # It is compiled code, whose parameters stand in its documentation alone.
        if "enable_gqa" not in (attend.__doc__ or ""):
            raise Skip("scaled_dot_product_attention of this release of torch knows no grouped heads")
        options["enable_gqa"] = True
    chosen = _backend(name)

    def operation(query, key, value):
        try:
            with chosen():
                return attend(query, key, value, **options)
        except RuntimeError as error:
            if "No available kernel" not in str(error) and "No viable backend" not in str(error):
                raise
            raise Skip("torch has no kernel %s for this on %s" % (name, device.split(":")[0])) from error

    return operation


def _backend(name):
    """What allows one backend alone; none for the one that torch chooses itself."""
    if name == "sdpa":
        return contextlib.nullcontext
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError:
        raise Skip("this release of torch lets no backend be chosen on every device") from None
    backend = {"sdpa_math": "MATH", "sdpa_flash": "FLASH_ATTENTION", "sdpa_efficient": "EFFICIENT_ATTENTION"}[name]
    return lambda: sdpa_kernel(getattr(SDPBackend, backend))


def _flash_attn(_, mask, __, device, *___):
    if mask not in ("none", "causal"):
        raise Skip("flash_attn_func takes no mask")
    _on_gpu(device, "flash_attn")
    from flash_attn import flash_attn_func

    def operation(query, key, value):
        turned = (one.transpose(1, 2) for one in (query, key, value))
        return flash_attn_func(*turned, causal=mask == "causal").transpose(1, 2)

    return operation


def _xformers(_, mask, grouped, device, *__):
    if mask not in ("none", "causal") or grouped:
        raise Skip("xformers is measured without a mask or with a causal one, and with as many keys as queries")
    _on_gpu(device, "xformers")
    from xformers.ops import LowerTriangularMask, memory_efficient_attention

    def operation(query, key, value):
        bias = LowerTriangularMask() if mask == "causal" else None
        turned = (one.transpose(1, 2) for one in (query, key, value))
        return memory_efficient_attention(*turned, attn_bias=bias).transpose(1, 2)

    return operation


_OF_ATTENTION = {
    "sdpa": _sdpa,
    "sdpa_math": _sdpa,
    "sdpa_flash": _sdpa,
    "sdpa_efficient": _sdpa,
    "flash_attn": _flash_attn,
    "xformers": _xformers,
}
_NORMALISED = ("layer_norm", "rms_norm")


def _normalisation(name, device, seed):
    """A normalisation behind an input that needs no gradient, as the first one behind frozen embeddings is."""
    import torch

    functional = torch.nn.functional
    if not hasattr(functional, name):
        raise Skip("this release of torch has no %s" % name)
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(4, _TOKENS, 32, generator=generator)
    scale = 1 + torch.randn(32, generator=generator) / 4
    shift = torch.randn(32, generator=generator)
    weights = torch.randn(inputs.shape, generator=generator)
    if name == "layer_norm":

        def kernel(given, factor, term):
            return functional.layer_norm(given, (32,), factor, term, 1e-5)

        def reference(given, factor, term):
            centred = given - given.mean(-1, keepdim=True)
            return centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * factor + term

        tensors = [(inputs, False), (scale, True), (shift, True)]
        return kernel, reference, tensors, weights, torch.float32, device

    def short_kernel(given, factor):
        return functional.rms_norm(given, (32,), factor, 1e-5)

    def short_reference(given, factor):
        return given / (given.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * factor

    return short_kernel, short_reference, [(inputs, False), (scale, True)], weights, torch.float32, device


def _on_gpu(device, package):
    if device == "cpu":
        raise Skip("the kernels of %s need a GPU" % package)
