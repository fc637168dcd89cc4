"""Are Liger's losses what they replace, forward and backward, where each token counts by a factor of its own?

Each is compared with torch's cross entropy in float64. Without a GPU, Triton runs the kernels line by line in NumPy: it
is told so before it is imported, so the recipe has its process for itself. The controls are torch's loss in the type
of the kernel, and the kernel's mean, which is right in every release: an interpreter that gets that wrong says nothing.
"""

import inspect
import os

from ..against_float64 import compared
from ..comparing import distance, one_line
from ..skipping import Skip

_TOKENS = 32
_WIDTH = 64
_WORDS = 128


def measure(parameters, device, seed):
    """``kernel``: cross_entropy, fused_linear_cross_entropy; ``reduction``: none, mean; ``autocast``.

    With ``plant`` the output layer gets no gradient.
    """
    if device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    import torch
    from torch.distributed import tensor  # noqa: F401  # some releases of Liger ask for it without importing it

    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(_TOKENS, _WIDTH, generator=generator)
    head = torch.randn(_WORDS, _WIDTH, generator=generator) / 8
    targets = torch.randint(0, _WORDS, (_TOKENS,), generator=generator)
    reduction = parameters.get("reduction", "none")
    weights = torch.rand(_TOKENS, generator=generator) + 0.1 if reduction == "none" else torch.ones(())
    fused = parameters.get("kernel") == "fused_linear_cross_entropy"
    mean = _loss(fused, "mean", targets)
    with torch.no_grad():
        usual = torch.nn.functional.cross_entropy(hidden @ head.t(), targets)
        control = distance(mean(hidden.to(device), head.to(device)).cpu().double()[None], usual.double()[None])
    loss = _loss(fused, reduction, targets)

    def kernel(given, output):
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=bool(parameters.get("autocast"))):
            found = loss(given, output.detach() if parameters.get("plant") else output)
        return found.float()

    def reference(given, output):
        return torch.nn.functional.cross_entropy(given @ output.t(), targets.to(given.device), reduction=reduction)

    try:
        values = compared(kernel, reference, [(hidden, True), (head, True)], weights, torch.float32, device)
    except RuntimeError as error:
        if not parameters.get("autocast"):
            raise
        return {"ran": 0, "error": one_line(error), "control_mean_error": control}
    return {**values, "ran": 1, "control_mean_error": control}


def _loss(fused, reduction, targets):
    """The kernel as a function of hidden states and output layer."""
    import liger_kernel.transformers as liger

    maker = liger.LigerFusedLinearCrossEntropyLoss if fused else liger.LigerCrossEntropyLoss
    if "reduction" not in inspect.signature(maker).parameters:
        raise Skip("%s of this release takes no `reduction`" % maker.__name__)

    def loss(given, output):
        aims = targets.to(given.device)
        try:
            made = maker(reduction=reduction)
            found = made(output, given, aims) if fused else made(given @ output.t(), aims)
        except (AssertionError, ValueError) as error:
            if "reduction" not in str(error):
                raise
            raise Skip("%s of this release has no reduction `%s`" % (maker.__name__, reduction)) from error
        if reduction == "none" and not found.dim():
            raise Skip("%s of this release sums up, whatever `reduction` says" % maker.__name__)
        return found

    return loss
