"""Are losses of MONAI and pytorch-metric-learning what their definitions say, computed here in float64?

The control of each is the same loss, or the next one to it, where nobody has complained.
"""

import importlib
import inspect

from ..comparing import cosine, flat, norm_ratio
from ..skipping import Skip

_CLASSES = 3
_SIDE = 12


def measure(parameters, device, seed):
    """``loss``: of MONAI (generalized_dice, dice_ce, lncc, ssim, sincos), of pytorch-metric-learning (pnp, miner).

    With ``plant`` the loss is halved, no number, or chosen at random.
    """
    import torch

    generator = torch.Generator().manual_seed(seed)
    return _CASES[parameters.get("loss", "generalized_dice")](device, generator, bool(parameters.get("plant")))


def _named(module, name):
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise Skip("this release has no %s (%s)" % (module, error)) from error
    if found is None:
        raise Skip("this release of %s has no %s" % (module.partition(".")[0], name))
    return found


def _compared(loss, definition, prediction, plant=False):
    """Loss and gradient of ``prediction``, against those of the definition in float64."""
    import torch

    def run(function, dtype):
        given = prediction.detach().to(dtype).requires_grad_()
        value = function(given).mean()
        (gradient,) = torch.autograd.grad(value, given)
        return float(value), flat([gradient])

    found, gradient = run(loss, torch.float32)
    expected, reference = run(definition, torch.float64)
    if plant:
        found, gradient = found / 2, gradient / 2
    return {
        "loss_difference": abs(found - expected),
        "gradient_ratio": norm_ratio(gradient, reference),
        "gradient_cosine": cosine(gradient, reference),
    }


def _segmentation(generator, device):
    """Logits, and labels of classes of very different size, one channel each."""
    import torch

    logits = torch.randn(2, _CLASSES, _SIDE, _SIDE, generator=generator).to(device)
    labels = torch.zeros(2, _SIDE, _SIDE, dtype=torch.long)
    labels[:, :5] = 1
    labels[:, -1, :3] = 2
    return logits, torch.nn.functional.one_hot(labels, _CLASSES).permute(0, 3, 1, 2).float().to(device)


def _overlap(logits, target):
    shares = logits.softmax(1)
    target = target.to(shares.dtype)
    return (shares * target).sum((2, 3)), (shares + target).sum((2, 3)), target.sum((2, 3))


def _generalized_dice(device, generator, plant):
    logits, target = _segmentation(generator, device)

    def weighted(given):
        both, all_of_it, size = _overlap(given, target)
        return 1 - 2 * (both / size**2).sum(1) / (all_of_it / size**2).sum(1)

    def plain(given):
        both, all_of_it, _ = _overlap(given, target)
        return 1 - 2 * both / all_of_it

    loss = _named("monai.losses", "GeneralizedDiceLoss")(softmax=True)
    control = _named("monai.losses", "DiceLoss")(softmax=True)
    return {
        **_compared(lambda given: loss(given, target), weighted, logits, plant),
        "control": _compared(lambda given: control(given, target), plain, logits)["gradient_ratio"],
    }


def _dice_ce(device, generator, plant):
    import torch

    logits, hard = _segmentation(generator, device)
    soft = torch.randn(logits.shape, generator=generator).to(device).softmax(1)
    loss = _named("monai.losses", "DiceCELoss")(softmax=True, lambda_dice=0.0)

    def run(target, planted):
        def definition(given):
            return -(target.to(given.dtype) * given.log_softmax(1)).sum(1)

        return _compared(lambda given: loss(given, target), definition, logits, planted)

    return {**run(soft, plant), "control": run(hard, False)["gradient_ratio"]}


def _lncc(device, generator, plant):
    """Two images, of which one is blank in its larger part: nothing can be correlated with what does not vary."""
    import torch

    moving = torch.rand(1, 1, _SIDE, _SIDE, generator=generator).to(device)
    full = torch.rand(1, 1, _SIDE, _SIDE, generator=generator).to(device)
    blank = full.clone()
    blank[..., 4:, :] = 0.0
    loss = _named("monai.losses", "LocalNormalizedCrossCorrelationLoss")(spatial_dims=2, kernel_size=3)

    def run(target, planted):
        def definition(given):
            window = torch.ones(1, 1, 3, 3, dtype=given.dtype, device=given.device)

            def total(values):
                return torch.nn.functional.conv2d(values, window, padding=1)

            other = target.to(given.dtype)
            cross = total(other * given) - total(other) * total(given) / 9
            first = total(other**2) - total(other) ** 2 / 9
            second = total(given**2) - total(given) ** 2 / 9
            return -(cross**2) / (first.clamp(min=1e-5) * second.clamp(min=1e-5))

        return _compared(lambda given: loss(given, target), definition, moving, planted)

    return {**run(blank, plant), "control": run(full, False)["gradient_ratio"]}


def _ssim(device, generator, plant):
    """A batch against the mean of its samples, each given alone."""
    import torch

    target = torch.rand(3, 1, _SIDE, _SIDE, generator=generator).to(device)
    prediction = torch.rand(3, 1, _SIDE, _SIDE, generator=generator).to(device)
    loss = _named("monai.losses", "SSIMLoss")(spatial_dims=2)
    ranged = "data_range" in inspect.signature(loss.forward).parameters

    def one(given, other):
        other = other.to(given.dtype)
        more = (torch.ones(1, dtype=given.dtype, device=given.device),) if ranged else ()
        return loss(given, other, *more).mean()

    def each(given):
        values = [one(given[index : index + 1].float(), target[index : index + 1]) for index in range(3)]
        return torch.stack(values)

    alone = _compared(lambda given: one(given, target[:1]), lambda given: one(given.float(), target[:1]), target[1:2])
    try:
        if plant:
            raise RuntimeError("planted")
        found = _compared(lambda given: one(given, target), each, prediction)
    except RuntimeError:
        return {"runs": 0, "control": alone["gradient_ratio"]}
    return {"runs": 1, **found, "control": alone["gradient_ratio"]}


def _sincos(device, _generator, plant):
    """Is a positional embedding of sines and cosines left as it is, and a learnable one trained?"""
    block = _named("monai.networks.blocks.patchembedding", "PatchEmbeddingBlock")
    if "pos_embed_type" not in inspect.signature(block.__init__).parameters:
        raise Skip("this release of monai has no choice of positional embeddings")

    def trained(kind):
        made = block(
            in_channels=1, img_size=(16, 16), patch_size=(8, 8), hidden_size=32, num_heads=2, spatial_dims=2,
            pos_embed_type=kind,
        ).to(device)  # fmt: skip
        return int(made.position_embeddings.requires_grad)

    return {"fixed": 1 - trained("learnable" if plant else "sincos"), "control": trained("learnable")}


def _embeddings(generator, device):
    import torch

    return torch.nn.functional.normalize(torch.randn(12, 8, generator=generator), dim=1).to(device)


def _pnp(device, generator, plant):
    import torch

    loss = _named("pytorch_metric_learning.losses", "PNPLoss")()
    embeddings = _embeddings(generator, device)

    def finite(labels):
        given = embeddings.clone().requires_grad_()
        value = loss(given, torch.tensor(labels, device=device))
        (gradient,) = torch.autograd.grad(value * float("nan") if plant and 4 in labels else value, given)
        return int(bool(torch.isfinite(value)) and bool(torch.isfinite(gradient).all()))

    return {
        "finite": finite([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4]),
        "control": finite([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]),
    }


def _miner(device, generator, plant):
    """The positive that is nearest, of all anchors that have one: by cosine similarity, and by distance."""
    import torch

    miner = _named("pytorch_metric_learning.miners", "BatchEasyHardMiner")
    distances = importlib.import_module("pytorch_metric_learning.distances")
    embeddings = _embeddings(generator, device)
    labels = torch.arange(12, device=device) // 3
    similar = embeddings @ embeddings.t()
    same = (labels[:, None] == labels[None]) & ~torch.eye(12, dtype=torch.bool, device=device)
    nearest = similar.masked_fill(~same, -2.0).argmax(1)

    def share(measure):
        mine = miner(pos_strategy="easy", neg_strategy="all", distance=measure)
        anchors, positives = mine(embeddings, labels)[:2]
        if plant and measure.is_inverted:
            positives = anchors
        return float((positives == nearest[anchors]).double().mean())

    return {"nearest_share": share(distances.CosineSimilarity()), "control": share(distances.LpDistance())}


_CASES = {
    "generalized_dice": _generalized_dice,
    "dice_ce": _dice_ce,
    "lncc": _lncc,
    "ssim": _ssim,
    "sincos": _sincos,
    "pnp": _pnp,
    "miner": _miner,
}
