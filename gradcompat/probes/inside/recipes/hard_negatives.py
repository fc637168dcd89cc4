"""Have the negatives that BatchHardMiner of pytorch-metric-learning mines another label than their anchor?

Classes point in directions of their own, so that samples of one class are similar and all others are not. The control
is the same miner by the distance, under which these classes lie apart.
"""

from ..skipping import Skip

_CLASSES = 4
_SAMPLES = 16


def measure(parameters, device, seed):
    """With ``plant`` each anchor is its own negative."""
    import torch

    try:
        from pytorch_metric_learning.distances import CosineSimilarity, LpDistance
        from pytorch_metric_learning.miners import BatchHardMiner
    except ImportError as error:
        raise Skip("this release of pytorch-metric-learning has no such miner (%s)" % error) from error

    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(_SAMPLES) % _CLASSES
    # Behind the mean of all classes, directions of different classes have a cosine below 0.
    directions = torch.eye(_CLASSES)[labels] - 1 / _CLASSES
    embeddings = (directions + 0.01 * torch.randn(directions.shape, generator=generator)).to(device)

    def share(measured_by):
        anchors, _, _, negatives = _four(BatchHardMiner(distance=measured_by)(embeddings, labels.to(device)))
        if parameters.get("plant") and measured_by.is_inverted:
            negatives = anchors
        return float((labels[negatives.cpu()] != labels[anchors.cpu()]).double().mean())

    return {"negative_share": share(CosineSimilarity()), "control": share(LpDistance())}


def _four(mined):
    """A miner of triplets gives three columns, in the form of pairs that is four."""
    if len(mined) == 3:
        anchors, positives, negatives = mined
        return anchors, positives, anchors, negatives
    return mined
