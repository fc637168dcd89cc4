"""Are fast kernels what they replace, forward and backward, with gradients on and without?

Each is compared with the same operation written out in float64. A token that has nothing to attend to has nothing to
say either: what a kernel gives for it is not compared, but it must not spoil the gradients of the others. The control
is the written-out operation in the type of the kernel, on the same device.

The kernels of flash-attn, xformers and Liger need a GPU; on a CPU they are skipped.
"""

import contextlib
import inspect
import math

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip

_TOKENS = 24
_WIDTH = 16
_HEADS = 4


def measure(parameters, device, seed):
    """``kernel``, ``mask``, ``heads``, ``layout``; ``plant`` breaks the kernel as its values say."""
    name = parameters.get("kernel", "sdpa")
    if name in _NORMALISED:
        return _compared(*_normalisation(name, device, seed))
    if name.startswith("liger_"):
        return _compared(*_loss(name, device, seed))
    return _compared(*_attention(name, parameters, device, seed))


def _compared(kernel, reference, tensors, weights, dtype, device):
    """Run a kernel and its reference on the same tensors.

    ``weights`` are what the outputs are multiplied with before they are summed up, 0 where they do not matter.
    """
    import torch

    def run(operation, kind, where):
        leaves = [one.to(device=where, dtype=kind, copy=True).requires_grad_(needs) for one, needs in tensors]
        output = operation(*leaves)
        factor = weights.to(where)
        # Not a product: a NaN where nothing matters would still count.
        kept = torch.where(factor == 0, torch.zeros_like(output), output * factor.to(output.dtype))
        kept.sum().backward()
        gradients = [one.grad if one.grad is not None else torch.zeros_like(one) for one in leaves if one.requires_grad]
        return flat([kept]), flat(gradients), leaves, factor

    # The numbers that the kernel gets, rounded to its type, are those that the reference gets.
    tensors = [(one.to(dtype).double(), needs) for one, needs in tensors]
    exact, exact_gradients, _, _ = run(reference, torch.float64, "cpu")
    control, control_gradients, _, _ = run(reference, dtype, device)
    found, gradients, leaves, factor = run(kernel, dtype, device)
    with torch.no_grad():
        output = kernel(*leaves)
        without = flat([torch.where(factor == 0, torch.zeros_like(output), output * factor.to(output.dtype))])
    return {
        "output_error": distance(found, exact),
        "without_grad_error": distance(without, exact),
        "gradient_ratio": norm_ratio(gradients, exact_gradients),
        "gradient_cosine": cosine(gradients, exact_gradients),
        "control_output_error": distance(control, exact),
        "control_gradient_cosine": cosine(control_gradients, exact_gradients),
    }


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


def _loss(name, device, seed):
    """Liger's losses with a result for each token, each of which counts by another factor."""
    import torch

    _on_gpu(device, "liger_kernel")
    import liger_kernel.transformers as liger

    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(32, 64, generator=generator)
    head = torch.randn(128, 64, generator=generator) / 8
    targets = torch.randint(0, 128, (32,), generator=generator)
    weights = torch.rand(32, generator=generator) + 0.1
    fused = name == "liger_fused_linear_cross_entropy"
    maker = getattr(liger, "LigerFusedLinearCrossEntropyLoss" if fused else "LigerCrossEntropyLoss")
    if "reduction" not in inspect.signature(maker).parameters:
        raise Skip("%s of this release takes no `reduction`" % maker.__name__)
    loss = maker(reduction="none")

    def kernel(given, output):
        aims = targets.to(given.device)
        try:
            return loss(output, given, aims) if fused else loss(given @ output.t(), aims)
        except ValueError as error:
            if "reduction" not in str(error):
                raise
            raise Skip("%s of this release has no reduction `none`" % maker.__name__) from error

    def reference(given, output):
        logits = given @ output.t()
        return torch.nn.functional.cross_entropy(logits, targets.to(given.device), reduction="none")

    return kernel, reference, [(inputs, True), (head, True)], weights, torch.float32, device


def _on_gpu(device, package):
    if device == "cpu":
        raise Skip("the kernels of %s need a GPU" % package)
