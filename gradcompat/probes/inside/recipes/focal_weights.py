"""Does ``alpha`` of kornia's focal loss weigh one of two classes against the other?

Losses with alpha are divided by those without, sample by sample. The control is the binary loss, whose weights nobody
doubts: alpha for a target of 1 and the rest for one of 0.
"""

from ..skipping import Skip

_SAMPLES = 20
_ALPHA = 0.25


def measure(parameters, device, seed):
    """With ``plant`` all samples are of one class."""
    import torch

    try:
        from kornia.losses import binary_focal_loss_with_logits, focal_loss
    except ImportError as error:
        raise Skip("this release of kornia has no such losses (%s)" % error) from error

    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(_SAMPLES, 2, generator=generator).to(device)
    targets = (torch.arange(_SAMPLES, device=device) % 2).long()
    asked = torch.zeros_like(targets) if parameters.get("plant") else targets

    def weights(loss, scores, labels):
        by_sample = [loss(scores, labels, alpha).reshape(_SAMPLES, -1).sum(1) for alpha in (_ALPHA, 1 - _ALPHA)]
        return (by_sample[0] / by_sample[1]).double()

    def two(scores, labels, alpha):
        return focal_loss(scores, labels, alpha=alpha, gamma=2.0, reduction="none")

    def binary(scores, labels, alpha):
        return binary_focal_loss_with_logits(scores, labels, alpha=alpha, gamma=2.0, reduction="none")

    def contrast(found):
        """The weight of one class by that of the other, in the same place; as it should be it is 9 or a ninth."""
        low, high = float(found.min()), float(found.max())
        return (high / low) / ((1 - _ALPHA) / _ALPHA) ** 2

    single = logits[:, 1:]
    return {
        "contrast": contrast(weights(two, logits, asked)),
        "control": contrast(weights(binary, single, targets[:, None].to(single.dtype))),
    }
