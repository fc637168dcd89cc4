"""An operation against the same one written out in float64: outputs with gradients on and off, and all gradients."""

from .comparing import cosine, distance, flat, norm_ratio


def compared(kernel, reference, tensors, weights, dtype, device):
    """Run a kernel and its reference on the same tensors, each of which stands with whether it needs a gradient.

    ``weights`` are what the outputs are multiplied with before they are summed up, 0 where they do not matter. The
    control is the reference in the type of the kernel, on the same device.
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
