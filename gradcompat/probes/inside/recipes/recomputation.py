"""Does a checkpointed block get the gradients of the block itself?

Checkpointing computes the block again in the backward pass; what depends on chance, on the order of saving or on a
state must come out the same. The control is the block without checkpointing, run twice from the same seed.
"""

import inspect

from ..comparing import cosine, distance, flat, norm_ratio
from ..skipping import Skip


def measure(parameters, device, seed):
    """``block``, ``reentrant``, ``early_stop``; ``plant``: the recomputation runs with another state of chance."""
    import torch
    import torch.utils.checkpoint

    if "use_reentrant" not in inspect.signature(torch.utils.checkpoint.checkpoint).parameters:
        raise Skip("checkpointing of this release of torch has no `use_reentrant`")
    torch.manual_seed(seed)
    block = _block(parameters.get("block", "dropout")).to(device)
    inputs = torch.randn(16, 32).to(device)
    plain = _run(block, inputs, seed, block)
    again = _run(block, inputs, seed, block)
    with _early_stop(parameters.get("early_stop", "default")):
        found = _run(
            block,
            inputs,
            seed,
            lambda given: torch.utils.checkpoint.checkpoint(
                block,
                given,
                use_reentrant=bool(parameters.get("reentrant")),
                preserve_rng_state=not parameters.get("plant"),
            ),
        )
    return {
        "output_error": distance(found[0], plain[0]),
        "gradient_ratio": norm_ratio(found[1], plain[1]),
        "gradient_cosine": cosine(found[1], plain[1]),
        "control_gradient_error": distance(again[1], plain[1]),
    }


def _run(block, inputs, seed, through):
    import torch

    torch.manual_seed(seed + 1)
    inputs = inputs.clone().requires_grad_()
    block.zero_grad(set_to_none=True)
    outputs = through(inputs)
    # What is not written in the recomputation must not find the right numbers left over from the first pass.
    spoiled = [torch.full_like(outputs, 3.0) for _ in range(8)]
    del spoiled
    outputs.pow(2).sum().backward()
    return flat([outputs]), flat([inputs.grad, *(weight.grad for weight in block.parameters())])


def _block(name):
    from torch import nn

    middle = {"dropout": nn.Dropout(0.5), "rrelu": nn.RReLU(), "batch_norm": nn.BatchNorm1d(32), "gelu": nn.GELU()}
    return nn.Sequential(nn.Linear(32, 32), middle[name])


def _early_stop(wanted):
    import contextlib

    import torch.utils.checkpoint

    if wanted == "default":
        return contextlib.nullcontext()
    if not hasattr(torch.utils.checkpoint, "set_checkpoint_early_stop"):
        raise Skip("checkpointing of this release of torch does not stop early")
    return torch.utils.checkpoint.set_checkpoint_early_stop(False)
